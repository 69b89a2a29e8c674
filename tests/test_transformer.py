"""The Transformer: stepped = teacher-forced, packed = padded = alone, and what gradients depend on."""

import itertools
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from copyfit.config import check
from copyfit.errors import ConfigError
from copyfit.models.build import build_model
from copyfit.models.config import TransformerSection
from copyfit.models.contract import Batch, reorder
from copyfit.models.ensemble import Ensemble
from copyfit.models.transformer import Transformer

SOURCE_SIZE, TARGET_SIZE = 23, 17
START = 1
Pair = tuple[list[int], list[int]]
PAIRS: list[Pair] = [
    ([5, 6, 7, 8], [3, 4, 5]),
    ([9], [6, 7, 8, 9, 10, 11]),
    ([10, 11, 12, 13, 14, 15, 16], [12]),
    ([3, 22], [13, 14, 15, 16, 3, 4, 5]),
]
SCHEMES = ["pe", "ldpe", "ldpe+pe", "lrpe", "lrpe+pe", "pre", "pre+pe"]


def tiny(**changes: object) -> Transformer:
    torch.manual_seed(0)
    values = {"width": 16, "heads": 4, "inner": 24, "encoder_layers": 2, "decoder_layers": 3, "dropout": 0.0}
    section = TransformerSection.model_validate(values | changes)
    return build_model(section, source_size=SOURCE_SIZE, target_size=TARGET_SIZE).double().eval()


def pack(pairs: Sequence[Pair], *, tail: int = 0) -> Batch:
    """Lay pairs end to end by plain Python, with costs of 1 a token and an optional tail row."""
    rows = [(source, [START, *target]) for source, target in pairs]
    if tail:
        rows.append(([0] * tail, [0] * tail))
    sources, targets = zip(*rows, strict=True)

    def offsets(lists: Sequence[list[int]]) -> Tensor:
        return torch.tensor([0, *itertools.accumulate(len(one) for one in lists)], dtype=torch.int32)

    def flat(lists: Sequence[Sequence[int]]) -> Tensor:
        return torch.tensor([item for one in lists for item in one])

    consumed = flat([range(len(one)) for one in targets])
    return Batch(
        source=flat(sources),
        source_offsets=offsets(sources),
        source_index=flat([range(len(one)) for one in sources]),
        target=flat(targets),
        target_offsets=offsets(targets),
        target_index=consumed,
        target_row=flat([[row] * len(one) for row, one in enumerate(targets)]),
        labels=flat([[*one[1:], 2] for one in targets]),
        consumed=consumed.double(),
        budget=torch.tensor([max(len(one) - 1.0, 1.0) for one in targets]).double(),
        longest_source=8,
        longest_target=9,
    )


def stepped(model: Transformer | Ensemble, pair: Pair) -> Tensor:
    source, target = pair
    lengths = torch.tensor([len(source)])
    memory, cache = model.start(torch.tensor([source]), lengths, torch.tensor([float(len(target))]).double())
    rows = []
    for consumed, token in enumerate([START, *target]):
        told = torch.tensor([[float(consumed)]]).double()
        logits, cache = model.step(torch.tensor([[token]]), told, cache, memory)
        rows.append(logits[0, 0])
    return torch.stack(rows)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("scheme", SCHEMES)
@torch.inference_mode()
def test_stepping_gives_the_logits_of_the_whole_batch(scheme: str, norm: str) -> None:
    model = tiny(positions=scheme, norm=norm)
    expected = model(pack(PAIRS, tail=5))
    actual = torch.cat([stepped(model, pair) for pair in PAIRS])
    torch.testing.assert_close(actual, expected[: len(actual)], rtol=0, atol=1e-10)


@pytest.mark.parametrize("layout", ["paper", "released"])
@torch.inference_mode()
def test_a_row_is_the_same_alone_and_in_any_batch(layout: str) -> None:
    model = tiny(positions="lrpe+pe", layout=layout)
    together = model(pack(PAIRS)).split([len(target) + 1 for _, target in PAIRS])
    for pair, logits in zip(PAIRS, together, strict=True):
        torch.testing.assert_close(model(pack([pair])), logits, rtol=0, atol=1e-10)


@torch.inference_mode()
def test_padding_of_a_source_changes_nothing() -> None:
    model = tiny()
    source, budget = torch.tensor([[5, 6, 7]]), torch.tensor([4.0]).double()
    padded = torch.tensor([[5, 6, 7, 9, 9]])
    token, consumed = torch.tensor([[START]]), torch.zeros(1, 1).double()
    logits = []
    for ids in (source, padded):
        memory, cache = model.start(ids, torch.tensor([3]), budget)
        logits.append(model.step(token, consumed, cache, memory)[0])
    torch.testing.assert_close(*logits, rtol=0, atol=1e-10)


@torch.inference_mode()
def test_beams_of_a_row_share_its_memory_and_keep_their_own_past() -> None:
    model = tiny()
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
            torch.testing.assert_close(after[row, beam], logits[0, 0], rtol=0, atol=1e-10)


def test_gradients_agree_with_finite_differences() -> None:
    model = tiny(width=8, heads=2, inner=8, encoder_layers=1, decoder_layers=1)
    batch = pack(PAIRS[:2])
    weights = [model.source_keys.weight, model.target_table.weight]

    def loss(*_: Tensor) -> Tensor:
        total: Tensor = torch.nn.functional.cross_entropy(model(batch), batch.labels)
        return total

    assert torch.autograd.gradcheck(loss, weights, atol=1e-6, fast_mode=True)


def test_no_target_token_sees_a_later_one() -> None:
    model = tiny()
    batch = pack(PAIRS[3:])
    embedded = model.target_table(batch.target).detach().requires_grad_()
    model.target_table.register_forward_hook(lambda *_: embedded)
    model(batch)[2].sum().backward()
    assert embedded.grad is not None
    assert embedded.grad[:3].abs().sum(-1).gt(0).all()
    assert embedded.grad[3:].abs().sum() == 0


def test_tied_tables_are_one_table() -> None:
    tied, separate = tiny(tied=True), tiny(tied=False)
    assert tied.output.weight is tied.target_table.weight
    assert separate.output.weight is not separate.target_table.weight


def test_useful_flops_count_six_per_weight_and_token() -> None:
    model = tiny(encoder_layers=1, decoder_layers=2)
    attention, feed_forward = 4 * 16 * 16, 2 * 16 * 24
    encoder = attention + feed_forward + 2 * 2 * 16 * 16
    decoder = 2 * (attention + 2 * 16 * 16 + feed_forward) + TARGET_SIZE * 16
    assert model.useful_flops(10, 7) == 6 * (10 * encoder + 7 * decoder)


@torch.inference_mode()
def test_an_ensemble_averages_probabilities() -> None:
    models = [tiny(positions="ldpe"), tiny(positions="lrpe+pe", encoder_layers=1)]
    pair = PAIRS[1]
    mean = torch.stack([stepped(model, pair).softmax(-1) for model in models]).mean(0)
    torch.testing.assert_close(stepped(Ensemble(models), pair).exp(), mean)


def test_a_width_that_heads_do_not_divide_is_refused() -> None:
    with pytest.raises(ConfigError, match="width must be a multiple of heads, given 18 and 4"):
        check({"width": 18, "heads": 4}, TransformerSection, where="recipe")
