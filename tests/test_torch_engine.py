from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from copyfit.errors import RequestError
from copyfit.generation.jobs import SearchOptions
from copyfit.models.contract import Cache, Growth, Memory, Started
from copyfit.runtime.torch_engine import TorchEngine
from support_models import RandomModel, make_job, make_world, teacher_forced

torch.set_num_threads(1)

WORLD = make_world((" ", "a", "b", "c", ".", " a", " b", "ab", " ab"), prefixed=True)
JOBS = [
    replace(make_job(floor, limit), source=tuple(range(3, 4 + limit % 5)))
    for floor, limit in [(9, 9), (1, 4), (3, 12), (2, 2), (1, 9), (7, 8)]
]


class Watched(RandomModel):
    """Remember the shapes of the sources it reads."""

    def __init__(self, vocabulary: int, seed: int) -> None:
        super().__init__(vocabulary, seed)
        self.shapes: list[tuple[int, ...]] = []

    def start(self, source: Tensor, source_lengths: Tensor, reads: Tensor, budget: Tensor) -> Started:
        self.shapes.append((len(reads), source.shape[1]))
        return super().start(source, source_lengths, reads, budget)


def test_results_come_in_the_order_of_the_jobs() -> None:
    model = WORLD.model(1)
    alone = [WORLD.search(model, [job])[0] for job in JOBS]
    assert WORLD.search(model, JOBS) == alone
    assert WORLD.search(model, JOBS[::-1]) == alone[::-1]
    assert WORLD.search(model, []) == []


def test_a_job_that_no_text_can_keep_has_no_results_and_disturbs_no_other() -> None:
    model = WORLD.model(1)
    impossible = [
        replace(JOBS[0], required=("zebra",)),
        replace(JOBS[0], prefix=WORLD.tokens(["a"])),
        replace(JOBS[0], prefix=WORLD.tokens([" a", "b"] * 5)),
        replace(JOBS[0], max_steps=3),
    ]
    found = WORLD.search(model, [*impossible, JOBS[2]])
    assert found[:4] == [[], [], [], []]
    assert found[4] == WORLD.search(model, [JOBS[2]])[0] != []


def test_batches_are_bounded_by_jobs_and_by_work() -> None:
    model = Watched(WORLD.size, 1)
    options = SearchOptions(num_beams=2, batch_size=4)
    TorchEngine(model, torch.device("cpu")).search(JOBS, WORLD.counting, options)
    assert [rows for rows, _ in model.shapes] == [4, 2]
    model.shapes.clear()
    TorchEngine(model, torch.device("cpu"), work=50).search(JOBS, WORLD.counting, options)
    assert sum(rows for rows, _ in model.shapes) == len(JOBS)
    assert max(rows for rows, _ in model.shapes) > 1
    assert all(rows * width <= 50 for rows, width in model.shapes)


def test_threads_share_an_engine() -> None:
    engine = TorchEngine(WORLD.model(2), torch.device("cpu"))
    expected = [engine.search([job], WORLD.counting, SearchOptions()) for job in JOBS]
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda job: engine.search([job], WORLD.counting, SearchOptions()), JOBS * 3)
        assert list(found) == expected * 3


class Stepped(RandomModel):
    """Count the steps."""

    steps = 0

    def step(self, tokens: Tensor, consumed: Tensor, cache: Cache, memory: Memory) -> tuple[Tensor, Growth]:
        self.steps += 1
        return super().step(tokens, consumed, cache, memory)


class Coarse(RandomModel):
    """Answer in bfloat16, as a model does on a GPU."""

    def step(self, tokens: Tensor, consumed: Tensor, cache: Cache, memory: Memory) -> tuple[Tensor, Growth]:
        logits, growth = super().step(tokens, consumed, cache, memory)
        return logits.bfloat16(), growth


class Refined(Coarse):
    """Give the same answers in float64."""

    def step(self, tokens: Tensor, consumed: Tensor, cache: Cache, memory: Memory) -> tuple[Tensor, Growth]:
        logits, growth = super().step(tokens, consumed, cache, memory)
        return logits.double(), growth


def test_the_answers_of_a_coarse_model_are_summed_finely() -> None:
    refined = Refined(WORLD.size, 3)
    for job, found in zip(JOBS, WORLD.search(Coarse(WORLD.size, 3), JOBS), strict=True):
        for text in found:
            assert text.score == pytest.approx(teacher_forced(refined, WORLD, job, text.tokens), abs=1e-4)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SearchOptions(num_beams=0), "num_beams must be at least 1, given 0"),
        (lambda: SearchOptions(keep=0), "keep must be at least 1, given 0"),
        (lambda: SearchOptions(batch_size=-2), "batch_size must be at least 1, given -2"),
        (lambda: SearchOptions(no_repeat_ngram=-1), "no_repeat_ngram must be 0"),
    ],
)
def test_a_search_that_cannot_be_is_refused(make: Callable[[], SearchOptions], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        make()


def test_a_job_that_is_no_longer_wanted_ends_without_results_and_disturbs_no_other() -> None:
    model = WORLD.model(1)
    expected = WORLD.search(model, JOBS)
    given_up = [replace(job, wanted=lambda: False) if number % 2 else job for number, job in enumerate(JOBS)]
    assert WORLD.search(model, given_up) == [
        [] if number % 2 else found for number, found in enumerate(expected)
    ]


def test_a_search_ends_within_a_step_when_nobody_wants_it_any_more() -> None:
    model = Stepped(WORLD.size, 1)
    job = replace(make_job(60, 60), wanted=lambda: model.steps < 3)
    assert WORLD.search(model, [job]) == [[]]
    assert model.steps == 3
