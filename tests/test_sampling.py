from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from copyfit.errors import RequestError
from copyfit.generation.jobs import Sampling, SearchOptions
from copyfit.generation.sampling import draw, uniform_numbers
from support_models import holds_whole, make_job, make_world, teacher_forced

torch.set_num_threads(1)

SUBWORDS = (" ", "a", "b", "c", ".", " a", " b", "ab", " ab", "bc", "abc", " c.", "1")
DRAWS = 20_000


def shares(logits: Tensor, sampling: Sampling) -> Tensor:
    """Draw by evenly spread numbers, so that the shares of the tokens are their probabilities."""
    uniform = (torch.arange(DRAWS) + 0.5) / DRAWS
    tokens = draw(logits.expand(1, DRAWS, -1), uniform[None], sampling)
    return torch.bincount(tokens.flatten(), minlength=logits.shape[-1]) / DRAWS


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_tokens_are_drawn_by_their_probabilities_at_a_temperature(temperature: float) -> None:
    logits = torch.randn(12, generator=torch.Generator().manual_seed(1))
    expected = torch.exp(logits / temperature) / torch.exp(logits / temperature).sum()
    assert torch.allclose(shares(logits, Sampling(temperature)), expected, atol=1e-3)


def test_only_the_likeliest_tokens_are_drawn() -> None:
    logits = torch.tensor([0.1, 0.4, 0.05, 0.2, 0.25]).log()
    assert torch.allclose(
        shares(logits, Sampling(top_k=2)), torch.tensor([0, 0.4, 0, 0, 0.25]) / 0.65, atol=1e-3
    )
    assert torch.allclose(
        shares(logits, Sampling(top_p=0.7)), torch.tensor([0, 0.4, 0, 0.2, 0.25]) / 0.85, atol=1e-3
    )
    both = shares(logits, Sampling(top_k=3, top_p=0.75))
    assert torch.allclose(both, torch.tensor([0, 0.4, 0, 0, 0.25]) / 0.65, atol=1e-3)
    assert torch.allclose(shares(logits, Sampling(top_k=99)), logits.exp(), atol=1e-3)
    assert torch.allclose(shares(logits, Sampling(top_p=0.01)), torch.tensor([0, 1.0, 0, 0, 0]))


def test_what_may_not_come_is_never_drawn() -> None:
    logits = torch.full((6,), -torch.inf)
    logits[[1, 4]] = torch.tensor([-300.0, -300.0])
    assert torch.allclose(shares(logits, Sampling()), torch.tensor([0, 0.5, 0, 0, 0.5, 0]), atol=1e-3)


def test_samples_keep_all_bounds_and_are_scored_by_the_model() -> None:
    world = make_world(SUBWORDS, "word", prefixed=True)
    model = world.model(5)
    jobs = [
        make_job(3, 3),
        replace(make_job(1, 6), required=("abc",), scale=4.5),
        replace(make_job(2, 4), prefix=world.tokens([" b", "bc"])),
    ]
    options = SearchOptions(num_beams=8, keep=8, sampling=Sampling(temperature=1.5, seed=3))
    for job, found in zip(jobs, world.search(model, jobs, options), strict=True):
        texts = [world.text(hypothesis.tokens) for hypothesis in found]
        assert texts
        assert len(set(texts)) == len(texts)
        for hypothesis, text in zip(found, texts, strict=True):
            assert world.is_text(hypothesis.tokens)
            assert job.floor <= len(text.split()) == hypothesis.spent <= job.limit
            assert all(holds_whole(text, phrase) for phrase in job.required)
            assert hypothesis.tokens[: len(job.prefix)] == job.prefix
            assert hypothesis.score == pytest.approx(
                teacher_forced(model, world, job, hypothesis.tokens), abs=1e-9
            )


def test_a_row_draws_the_same_alone_and_in_any_batch() -> None:
    world = make_world(SUBWORDS, prefixed=True)
    model = world.model(6)
    jobs = [replace(make_job(floor, 9), source=(floor, 7)) for floor in (9, 1, 5, 2)]
    options = SearchOptions(num_beams=4, keep=4, sampling=Sampling(seed=1))
    alone = [world.search(model, [job], options)[0] for job in jobs]
    assert world.search(model, jobs, options) == alone
    assert world.search(model, jobs[::-1], replace(options, batch_size=3)) == alone[::-1]
    others = world.search(model, jobs, replace(options, sampling=Sampling(seed=2)))
    assert all(found != other for found, other in zip(alone, others, strict=True))


def test_every_draw_has_its_own_number() -> None:
    job = make_job(1, 98)
    numbers = uniform_numbers([job, replace(job, source=(1,))], Sampling(), beams=50)
    assert numbers.shape == (2, 101, 50)
    assert 0 <= numbers.min() < 0.01 < 0.99 < numbers.max() < 1
    assert len(set(numbers.flatten().tolist())) > 0.99 * numbers.numel()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sampling(temperature=0.0), "temperature must be above 0, given 0.0"),
        (lambda: Sampling(top_p=0.0), "top_p must be above 0 and at most 1, given 0.0"),
        (lambda: Sampling(top_p=1.5), "top_p must be above 0 and at most 1, given 1.5"),
        (lambda: Sampling(top_k=-1), "top_k must be 0"),
    ],
)
def test_sampling_that_cannot_be_is_refused(make: Callable[[], Sampling], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        make()
