"""The LSTM model: its equations row by row, what tells it the length, half precision, and its export."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from jaxtyping import config
from numpy.typing import NDArray
from torch import Tensor

from copyfit.checkpoint import save_checkpoint
from copyfit.config import check
from copyfit.models.build import build_model
from copyfit.models.config import RecurrentSection
from copyfit.models.lstm import Recurrent
from copyfit.nn.recurrent import RemainingBudget, States
from copyfit.runtime.exporting import export, trace_checkpoint
from copyfit.writing.writer import Writer
from support_architectures import (
    CONTROLS,
    PAIRS,
    RECURRENT,
    SOURCE_SIZE,
    START,
    TARGET_SIZE,
    Pair,
    check_half_precision,
    pack,
    tiny,
)
from support_steps import Walk
from support_writing import ARTICLE, TEXTS, random_weights, tiny_checkpoint

EACH_CONTROL = pytest.mark.parametrize("control", CONTROLS)
Array = NDArray[np.float64]
Arrays = Mapping[str, Array]


def recurrent(**changes: object) -> Recurrent:
    return cast(Recurrent, tiny(RECURRENT | changes))


def disturbed(model: Recurrent) -> Recurrent:
    """Leave no weight at what it begins with."""
    with torch.no_grad(), torch.random.fork_rng():
        for weight in model.parameters():
            weight.add_(0.2 * torch.randn_like(weight))
    return model


def sigmoid(numbers: Array) -> Array:
    return 1 / (1 + np.exp(-numbers))


def cell_by_hand(gates: Mapping[str, Array], cell: Array) -> tuple[Array, Array]:
    cell = sigmoid(gates["forget"]) * cell + sigmoid(gates["input"]) * np.tanh(gates["proposal"])
    return sigmoid(gates["output"]) * np.tanh(cell), cell


def named(gates: Array, order: str) -> dict[str, Array]:
    return dict(zip(order.split(), np.split(gates, 4), strict=True))


def read_by_hand(section: RecurrentSection, weights: Arrays, source: list[int]) -> tuple[Array, Array, Array]:
    """Return what is read of one row, and the last hidden states and cells of each layer."""
    tokens = [weights["source_table.weight"][token] for token in source]
    hidden, cells = [], []
    for layer in range(section.layers):
        sides, ends = [], []
        for suffix, places in (("", range(len(source))), ("_reverse", reversed(range(len(source))))):
            inwards, recurrent_weight, bias, other_bias = (
                weights[f"encoder.lstm.{kind}_l{layer}{suffix}"]
                for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            )
            state, cell = np.zeros(section.width // 2), np.zeros(section.width // 2)
            read: dict[int, Array] = {}
            for place in places:
                gates = inwards @ tokens[place] + recurrent_weight @ state + bias + other_bias
                state, cell = cell_by_hand(named(gates, "input forget proposal output"), cell)
                read[place] = state
            sides.append(read)
            ends.append((state, cell))
        tokens = [np.concatenate([side[place] for side in sides]) for place in range(len(source))]
        hidden.append(np.concatenate([state for state, _ in ends]))
        cells.append(np.concatenate([cell for _, cell in ends]))
    return np.array(tokens), np.array(hidden), np.array(cells)


def logits_by_hand(section: RecurrentSection, weights: Arrays, pair: Pair) -> Array:
    """Follow Luong et al. (2015), section 3, for one row in plain steps; lengths as Kikuchi et al. say."""
    source, target = pair
    encoded, hidden, cells = read_by_hand(section, weights, source)
    if section.control == "leninit":
        cells = len(target) * weights["first_cells"]
    general, source_share = np.split(weights["decoder.sources.weight"], 2)
    fed, logits = np.zeros(section.width), []
    for written, token in enumerate([START, *target]):
        inputs = weights["target_table.weight"][token]
        if section.control == "lenemb":
            left = min(max(len(target) - written, 0), section.longest)
            inputs = np.concatenate([inputs, weights["remaining.table.weight"][left]])
        gates = weights["decoder.inputs.weight"] @ inputs + weights["decoder.inputs.bias"]
        below = fed
        for layer in range(section.layers):
            if layer:
                gates = weights[f"decoder.gates.{layer}.bias"]
            gates = gates + weights[f"decoder.gates.{layer}.weight"] @ np.concatenate([below, hidden[layer]])
            hidden[layer], cells[layer] = cell_by_hand(
                named(gates, "input forget output proposal"), cells[layer]
            )
            below = hidden[layer]
        scores = encoded @ (general.T @ below)
        share = np.exp(scores - scores.max())
        context = share / share.sum() @ encoded
        fed = np.tanh(source_share @ context + weights["decoder.mix.weight"] @ below)
        logits.append(weights["output.weight"] @ fed + weights["output.bias"])
    return np.array(logits)


@EACH_CONTROL
@pytest.mark.parametrize("layers", [1, 3])
@torch.inference_mode()
def test_logits_follow_the_equations(control: str, layers: int) -> None:
    model = disturbed(recurrent(control=control, layers=layers))
    weights = {name: weight.numpy() for name, weight in model.named_parameters()}
    together = model(pack(PAIRS)).split([len(target) + 1 for _, target in PAIRS])
    for pair, logits in zip(PAIRS, together, strict=True):
        expected = logits_by_hand(model.section, weights, pair)
        np.testing.assert_allclose(logits.numpy(), expected, rtol=0, atol=1e-10)


@torch.inference_mode()
def test_leninit_begins_with_cells_in_proportion_to_the_length() -> None:
    model = recurrent(control="leninit")
    walk = Walk(model, [[5, 6], [7], [5, 6]], [3, 6, 7.5])
    for cell in States._make(walk.state).cells:
        torch.testing.assert_close(cell[1], 2 * cell[0])
        torch.testing.assert_close(cell[2], 2.5 * cell[0])


@torch.inference_mode()
def test_lengths_are_told_apart_only_where_they_are_told() -> None:
    longer = pack(PAIRS)._replace(budget=torch.tensor([9.0, 9.0, 9.0, 9.0]).double())
    for control in CONTROLS:
        model = recurrent(control=control)
        assert torch.allclose(model(pack(PAIRS)), model(longer)) == (control == "none")


@torch.inference_mode()
def test_what_remains_of_a_budget_is_embedded_whatever_it_is() -> None:
    remaining = RemainingBudget(4, 3)
    table = remaining.table.weight
    given = torch.tensor([0.0, 3.0, 4.0, -7.5, 5.0, 4000.0, 2.25, 3.5])
    between = (0.75 * table[2] + 0.25 * table[3], 0.5 * table[3] + 0.5 * table[4])
    expected = torch.stack((*table[[0, 3, 4, 0, 4, 4]], *between))
    torch.testing.assert_close(remaining(given), expected)


@torch.inference_mode()
def test_lenemb_is_told_what_remains_and_nothing_else() -> None:
    model = recurrent(control="lenemb", longest=9)

    def told(budget: float, consumed: float) -> Tensor:
        return Walk(model, [[5, 6]], [budget]).step([[START]], consumed)

    torch.testing.assert_close(told(6, 1), told(9, 4))
    assert not torch.allclose(told(6, 1), told(6, 4))
    assert not torch.allclose(told(6, 1), told(6, 1.5))
    # What is overdrawn is spent, and what is beyond the table is as much as it holds.
    torch.testing.assert_close(told(6, 6), told(6, 40))
    torch.testing.assert_close(told(9, 0), told(75, 3))


@pytest.mark.parametrize("control", ["leninit", "lenemb"])
@pytest.mark.parametrize("budget", [0.5, 5000.0])
@torch.inference_mode()
def test_budgets_far_outside_of_training_are_taken(control: str, budget: float) -> None:
    model = recurrent(control=control).float()
    walk = Walk(model, [[5, 6]], [budget], dtype=torch.float32)
    for written in range(20):
        assert walk.step([[START]], written).isfinite().all()


def test_lenemb_embeds_what_the_training_budgets_reach_unless_the_recipe_says_how_far() -> None:
    budgets = np.array([30, 75, 12])
    assert section_of(control="lenemb", longest=0).settled(budgets).longest == 75
    assert section_of(control="lenemb", longest=300).settled(budgets).longest == 300
    assert section_of(control="leninit", longest=0).settled(budgets).longest == 0


def section_of(**changes: object) -> RecurrentSection:
    return check({**RECURRENT, **changes}, RecurrentSection, where="test")


@EACH_CONTROL
def test_rows_without_tokens_are_taken_and_learned_from_by_none(control: str) -> None:
    model = recurrent(control=control)
    full = pack(PAIRS)
    unused = full._replace(
        source_offsets=torch.cat((full.source_offsets, full.source_offsets[-1:].expand(3))),
        target_offsets=torch.cat((full.target_offsets, full.target_offsets[-1:].expand(3))),
        budget=torch.cat((full.budget, torch.ones(3).double())),
    )
    gradients = []
    for batch in (full, unused):
        logits = model(batch)
        gradients.append((logits, *torch.autograd.grad(logits.logsumexp(-1).sum(), list(model.parameters()))))
    for expected, actual in zip(*gradients, strict=True):
        torch.testing.assert_close(actual, expected)


@torch.inference_mode()
def test_an_empty_source_is_read_as_some_token() -> None:
    model = recurrent()
    assert Walk(model, [[5, 6], []], [1, 1]).step([[START]] * 2, 0).isfinite().all()


@EACH_CONTROL
def test_half_precision_is_close_and_trains(control: str) -> None:
    model = recurrent(control=control, dropout=0.2).float().train()
    check_half_precision(model)


@torch.inference_mode()
def test_cells_keep_count_in_half_precision() -> None:
    model = recurrent(control="leninit").float()
    with torch.autocast("cpu", torch.bfloat16):
        walk = Walk(model, [[5, 6], [5, 6]], [1000, 1001], dtype=torch.float32)
        walk.step([[START]] * 2, 0)
    assert all(cell.dtype == torch.float32 for cell in States._make(walk.state).cells)


@pytest.mark.parametrize("layers", [1, 2])
def test_dropout_is_drawn_in_training_only(layers: int) -> None:
    torch.manual_seed(3)
    section = section_of(dropout=0.3, layers=layers)
    model = build_model(section, source_size=SOURCE_SIZE, target_size=TARGET_SIZE).double()
    batch = pack(PAIRS)
    assert not torch.allclose(model(batch), model(batch))
    model.eval()
    torch.testing.assert_close(model(batch), model(batch))


def test_useful_flops_count_six_per_weight_and_token() -> None:
    model = recurrent(control="lenemb")
    half, width, embedding = 16, 32, 16
    first, second = (2 * 4 * half * (inputs + half) for inputs in (embedding, width))
    encoder = first + second + width * 2 * width
    inputs, layer, seen = 2 * embedding * 4 * width, 2 * width * 4 * width, width * width
    decoder = inputs + 2 * layer + seen + TARGET_SIZE * width
    assert model.useful_flops(10, 7) == 6 * (10 * encoder + 7 * decoder)


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Leave shapes unchecked: the checks look at sizes, which a trace must take for any."""
    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", False)


@pytest.mark.long
@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("control", ["leninit", "lenemb"])
def test_graphs_write_what_the_model_writes(tmp_path: Path, control: str) -> None:
    checkpoint = replace(tiny_checkpoint(), model=section_of(control=control, longest=40))
    save_checkpoint(tmp_path / "model", checkpoint, random_weights(checkpoint))
    agreement = export(trace_checkpoint(tmp_path / "model"), tmp_path / "graphs", precision="fp32")
    assert agreement.same == agreement.exact == 1
    items: list[tuple[str, dict[str, Any]]] = [
        (text, {"length": length, "mode": mode})
        for text in (*TEXTS, ARTICLE, "x")
        for length, mode in ((5, "exact"), (60, "max"), (20, "free"))
    ]
    model, graphs = Writer(tmp_path / "model"), Writer(tmp_path / "graphs")
    for text, asked in items:
        expected, found = (writer.candidates(text, count=2, **asked) for writer in (model, graphs))
        assert [line.text for line in found] == [line.text for line in expected]
        assert [line.score for line in found] == pytest.approx([line.score for line in expected], abs=1e-3)
