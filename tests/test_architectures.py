"""What every system holds: stepped = teacher-forced, batch = singles, full-width beam = enumeration."""

import random
from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from copyfit.generation.jobs import SearchOptions
from copyfit.models.contract import Cache, Growth, Memory, Model, Started
from support_architectures import (
    END,
    PAIRS,
    START,
    SYSTEMS,
    UNTOLD,
    Pair,
    pack,
    stepped,
    tiny,
)
from support_models import make_job, make_world, teacher_forced
from support_steps import Walk

EACH_SYSTEM = pytest.mark.parametrize("system", SYSTEMS)
close = partial(torch.testing.assert_close, rtol=0, atol=1e-10)
COPYING_STEPS = 250


@EACH_SYSTEM
@torch.inference_mode()
def test_stepping_gives_the_logits_of_the_whole_batch(system: str) -> None:
    model = tiny(SYSTEMS[system])
    expected = model(pack(PAIRS, tail=5))
    actual = torch.cat([stepped(model, pair) for pair in PAIRS])
    close(actual, expected[: len(actual)])


@EACH_SYSTEM
@torch.inference_mode()
def test_a_row_is_the_same_alone_and_in_any_batch(system: str) -> None:
    model = tiny(SYSTEMS[system])
    together = model(pack(PAIRS)).split([len(target) + 1 for _, target in PAIRS])
    for pair, logits in zip(PAIRS, together, strict=True):
        close(model(pack([pair])), logits)


@EACH_SYSTEM
@torch.inference_mode()
def test_padding_of_a_source_changes_nothing(system: str) -> None:
    model = tiny(SYSTEMS[system])
    alone, beside = Walk(model, [[5, 6, 7]], [4]), Walk(model, [[5, 6, 7], [9, 9, 8, 7, 6]], [4, 4])
    for consumed, token in enumerate([START, 5, 6]):
        close(beside.step([[token]] * 2, consumed)[:1], alone.step([[token]], consumed))


@EACH_SYSTEM
@torch.inference_mode()
def test_rows_that_share_a_source_are_as_if_each_had_its_own(system: str) -> None:
    model = tiny(SYSTEMS[system])
    sources, budgets = [[5, 6, 7], [8, 9]], [2, 9, 4]
    shared = Walk(model, sources, budgets, reads=[0, 1, 0])
    own = Walk(model, [sources[0], sources[1], sources[0]], budgets)
    for consumed, token in enumerate([START, 5, 6]):
        close(shared.step([[token]] * 3, consumed), own.step([[token]] * 3, consumed))


@EACH_SYSTEM
@torch.inference_mode()
def test_beams_of_a_row_share_its_memory_and_keep_their_own_past(system: str) -> None:
    model = tiny(SYSTEMS[system])
    walk = Walk(model, [[5, 6, 7], [8, 9]], [4, 6])
    tokens, parents = [[3, 4, 5], [6, 7, 8]], [[2, 2, 0], [1, 0, 0]]
    walk.step([[START] * 3] * 2, 0)
    walk.step(tokens, 1)
    walk.go_on_from(parents)
    after = walk.step([[START] * 3] * 2, 2)
    for row, (source, budget) in enumerate([([5, 6, 7], 4), ([8, 9], 6)]):
        for beam in range(3):
            alone = Walk(model, [source], [budget])
            for number, token in enumerate([START, tokens[row][parents[row][beam]], START]):
                expected = alone.step([[token]], number)
            close(after[row, beam], expected[0, 0])


@EACH_SYSTEM
@torch.inference_mode()
def test_a_full_width_beam_finds_all_texts_in_the_order_of_their_probabilities(system: str) -> None:
    world = make_world(tuple("ab."))
    model = tiny(SYSTEMS[system], target_size=world.size)
    job = replace(make_job(2, 3), max_steps=3, aim=3.0)
    double = Doubled(model)
    expected = sorted(
        ((teacher_forced(double, world, job, tokens), tokens) for tokens in world.every_text(job)),
        reverse=True,
    )
    (found,) = world.search(double, [job], SearchOptions(num_beams=60, keep=60))
    assert [text.tokens for text in found] == [tokens for _, tokens in expected]
    assert [text.score for text in found] == pytest.approx([score for score, _ in expected], abs=1e-9)


@EACH_SYSTEM
def test_gradients_agree_with_finite_differences(system: str) -> None:
    model = tiny(SYSTEMS[system])
    batch = pack(PAIRS[:2])
    weights = [weight for weight in model.parameters() if weight.dim() > 1]

    def loss(*_: Tensor) -> Tensor:
        return cross_entropy(model(batch), batch.labels)

    assert torch.autograd.gradcheck(loss, weights, atol=1e-6, fast_mode=True)


@EACH_SYSTEM
def test_no_logits_depend_on_a_later_token_of_the_target(system: str) -> None:
    model = tiny(SYSTEMS[system])
    source, target = PAIRS[3]
    changed = [*target[:3], 8, 9, 10, 11]
    before, after = (model(pack([(source, each)])) for each in (target, changed))
    close(before[:4], after[:4])
    assert not torch.allclose(before[4:], after[4:])


@EACH_SYSTEM
def test_a_system_learns_to_copy_as_much_as_the_budget_allows(system: str) -> None:
    model = tiny(SYSTEMS[system]).train()
    draw = random.Random(1)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(COPYING_STEPS):
        batch = pack(_copies(draw, 32))
        loss: Tensor = cross_entropy(model(batch), batch.labels)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        optimizer.zero_grad()
    batch = pack(_copies(draw, 200))
    guesses = model.eval()(batch).argmax(dim=-1)
    # The first token is copied, whatever the budget; the second may be the end.
    first, ended = batch.consumed == 0, (batch.labels == END)
    assert (guesses == batch.labels)[first].double().mean() > 0.9
    ends = (guesses == END)[ended].double().mean()
    assert ends < 0.7 if system in UNTOLD else ends > 0.95


def _copies(draw: random.Random, rows: int) -> list[Pair]:
    """Draw sources of four tokens, and targets that are their first one to three."""
    sources = [[draw.randrange(3, 9) for _ in range(4)] for _ in range(rows)]
    return [(source, source[: draw.randint(1, 3)]) for source in sources]


class Doubled:
    """Let a model of float64 take the search's float32 budgets."""

    def __init__(self, model: Model) -> None:
        self.inner = model

    def start(self, source: Tensor, source_lengths: Tensor, reads: Tensor, budget: Tensor) -> Started:
        return self.inner.start(source, source_lengths, reads, budget.double())

    def step(self, tokens: Tensor, consumed: Tensor, cache: Cache, memory: Memory) -> tuple[Tensor, Growth]:
        return self.inner.step(tokens, consumed.double(), cache, memory)
