"""What every system holds: stepped = teacher-forced, batch = singles, full-width beam = enumeration."""

import random
from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from copyfit.generation.jobs import SearchOptions
from copyfit.models.contract import Cache, Memory, Model, reorder
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
    budget = torch.tensor([4.0]).double()
    token, consumed = torch.tensor([[START]]), torch.zeros(1, 1).double()
    logits = []
    for ids in ([[5, 6, 7]], [[5, 6, 7, 9, 9]]):
        memory, cache = model.start(torch.tensor(ids), torch.tensor([3]), budget)
        logits.append(model.step(token, consumed, cache, memory)[0])
    close(*logits)


@EACH_SYSTEM
@torch.inference_mode()
def test_beams_of_a_row_share_its_memory_and_keep_their_own_past(system: str) -> None:
    model = tiny(SYSTEMS[system])
    sources, lengths = torch.tensor([[5, 6, 7], [8, 9, 0]]), torch.tensor([3, 2])
    memory, cache = model.start(sources, lengths, torch.tensor([4.0, 6.0]).double())
    cache = reorder(cache, torch.zeros(2, 3, dtype=torch.long))
    tokens = torch.tensor([[3, 4, 5], [6, 7, 8]])
    first = torch.full((2, 3), START)
    _, cache = model.step(first, torch.zeros(2, 3).double(), cache, memory)
    _, cache = model.step(tokens, torch.ones(2, 3).double(), cache, memory)
    parents = torch.tensor([[2, 2, 0], [1, 0, 0]])
    after, _ = model.step(first, 2 * torch.ones(2, 3).double(), reorder(cache, parents), memory)
    for row, (source, length, budget) in enumerate([([5, 6, 7], 3, 4.0), ([8, 9], 2, 6.0)]):
        for beam in range(3):
            past = int(tokens[row, parents[row, beam]])
            alone, own = model.start(
                torch.tensor([source]), torch.tensor([length]), torch.tensor([budget]).double()
            )
            for number, token in enumerate([START, past, START]):
                told = torch.tensor([[float(number)]]).double()
                logits, own = model.step(torch.tensor([[token]]), told, own, alone)
            close(after[row, beam], logits[0, 0])


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

    def start(self, source: Tensor, source_lengths: Tensor, budget: Tensor) -> tuple[Memory, Cache]:
        return self.inner.start(source, source_lengths, budget.double())

    def step(self, tokens: Tensor, consumed: Tensor, cache: Cache, memory: Memory) -> tuple[Tensor, Cache]:
        return self.inner.step(tokens, consumed.double(), cache, memory)
