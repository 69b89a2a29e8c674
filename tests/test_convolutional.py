"""The convolutional model: its equations row by row, places without end, LC, and half precision."""

import math
from collections.abc import Mapping
from typing import cast

import pytest
import torch
from torch import Tensor
from torch.nn.functional import conv1d

from copyfit.config import check
from copyfit.models.build import build_model
from copyfit.models.config import ConvolutionalSection
from copyfit.models.conv import Convolutional
from copyfit.nn.convolution import Neighbours
from support_architectures import (
    CONVOLUTIONAL,
    PAIRS,
    START,
    TARGET_SIZE,
    Pair,
    check_half_precision,
    pack,
    stepped,
    tiny,
)
from support_steps import Walk

KERNELS = pytest.mark.parametrize("kernel", [1, 2, 3, 6])


def convolutional(**changes: object) -> Convolutional:
    return cast(Convolutional, tiny(CONVOLUTIONAL | changes))


def rows_of(lengths: list[int], width: int) -> list[Tensor]:
    torch.manual_seed(2)
    return [torch.randn(length, width) for length in lengths]


def convolved(row: Tensor, weights: Tensor, *, left: int, right: int) -> Tensor:
    """Convolve one row by PyTorch's own convolution; `weights` are [outputs, kernel, width]."""
    padded = torch.nn.functional.pad(row.T, (left, right))
    return conv1d(padded[None], weights.transpose(1, 2))[0].T


@KERNELS
@pytest.mark.parametrize("causal", [False, True])
def test_windows_of_rows_end_to_end_are_those_of_each_row(kernel: int, causal: bool) -> None:
    left = kernel - 1 if causal else (kernel - 1) // 2
    right = kernel - 1 - left
    weights = torch.randn(5, kernel, 3)
    rows = rows_of([4, 1, 2, 7], 3)
    places = torch.cat([torch.arange(len(row)) for row in rows])
    window = Neighbours.of(places, range(-left, right + 1)).window(torch.cat(rows))
    expected = torch.cat([convolved(row, weights, left=left, right=right) for row in rows])
    torch.testing.assert_close(window @ weights.flatten(1).T, expected)


@KERNELS
def test_windows_of_padded_rows_do_not_see_the_padding(kernel: int) -> None:
    left, right = (kernel - 1) // 2, kernel // 2
    weights = torch.randn(5, kernel, 3)
    rows = rows_of([4, 1, 7], 3)
    padded = torch.full((3, 7, 3), math.inf)
    places = torch.full((3, 7), -1)
    for number, row in enumerate(rows):
        padded[number, : len(row)] = row
        places[number, : len(row)] = torch.arange(len(row))
    window = Neighbours.of(places, range(-left, right + 1)).window(padded)
    for number, row in enumerate(rows):
        actual = window[number, : len(row)] @ weights.flatten(1).T
        torch.testing.assert_close(actual, convolved(row, weights, left=left, right=right))


def logits_by_hand(section: ConvolutionalSection, weights: Mapping[str, Tensor], pair: Pair) -> Tensor:
    """Follow Gehring et al. (2017), section 3, for one row in plain steps; LC as Liu et al. (2018) say."""

    def linear(name: str, inputs: Tensor) -> Tensor:
        return inputs @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def embed(name: str, tokens: list[int]) -> Tensor:
        return weights[f"{name}.tokens.weight"][tokens] + weights[f"{name}.places.weight"][: len(tokens)]

    def gated(name: str, inputs: Tensor, left: int) -> Tensor:
        kernel = section.kernel
        shaped = weights[f"{name}.convolution.map.weight"].view(-1, kernel, section.width)
        both = convolved(inputs, shaped, left=left, right=kernel - 1 - left)
        first, gate = (both + weights[f"{name}.convolution.map.bias"]).chunk(2, dim=-1)
        return first * gate.sigmoid()

    source, target = pair
    read = embed("source_table", source)
    state = linear("source_inwards", read)
    for block in range(section.encoder_blocks):
        state = (gated(f"encoder.{block}", state, (section.kernel - 1) // 2) + state) * math.sqrt(0.5)
    keys = linear("source_outwards", state)
    values = (keys + read) * math.sqrt(0.5)
    written = embed("target_table", [START, *target])
    state = linear("target_inwards", written)
    if section.control == "lc":
        state = state * len(target) / section.divisor
    for block in range(section.decoder_blocks):
        name = f"decoder.{block}"
        mixed = gated(name, state, section.kernel - 1)
        asked = (linear(f"{name}.attention.inputs", mixed) + written) * math.sqrt(0.5)
        seen = (asked @ keys.T).softmax(dim=-1) @ values * math.sqrt(len(source))
        mixed = (linear(f"{name}.attention.outputs", seen) + mixed) * math.sqrt(0.5)
        state = (mixed + state) * math.sqrt(0.5)
    return linear("output", linear("target_outwards", state))


@pytest.mark.parametrize("control", ["none", "lc"])
@torch.inference_mode()
def test_logits_follow_the_equations(control: str) -> None:
    model = convolutional(control=control, divisor=7)
    with torch.random.fork_rng():
        for weight in model.parameters():
            weight.add_(0.1 * torch.randn_like(weight))
    weights = dict(model.named_parameters())
    together = model(pack(PAIRS)).split([len(target) + 1 for _, target in PAIRS])
    for pair, logits in zip(PAIRS, together, strict=True):
        torch.testing.assert_close(logits, logits_by_hand(model.section, weights, pair), rtol=0, atol=1e-10)


@torch.inference_mode()
def test_places_beyond_the_table_share_its_last_vector() -> None:
    few, many = convolutional(places=3), convolutional(places=9)
    state = few.state_dict()
    for table in ("source_table", "target_table"):
        name = f"{table}.places.weight"
        state[name] = torch.cat((state[name], state[name][-1:].expand(6, -1)))
    many.load_state_dict(state)
    torch.testing.assert_close(few(pack(PAIRS)), many(pack(PAIRS)))
    torch.testing.assert_close(stepped(few, PAIRS[3]), few(pack(PAIRS[3:])))


@pytest.mark.parametrize("budget", [0.5, 5000.0])
@torch.inference_mode()
def test_lc_takes_budgets_far_outside_of_training(budget: float) -> None:
    model = convolutional(control="lc").float()
    walk = Walk(model, [[5, 6]], [budget], dtype=torch.float32)
    for place in range(20):
        assert walk.step([[START]], place).isfinite().all()


@torch.inference_mode()
def test_lc_tells_lengths_apart_and_plain_does_not() -> None:
    longer = pack(PAIRS)._replace(budget=torch.tensor([7.0, 7.0, 7.0, 7.0]).double())
    for control, told in (("none", False), ("lc", True)):
        model = convolutional(control=control)
        assert torch.allclose(model(pack(PAIRS)), model(longer)) != told


def test_half_precision_is_close_and_trains() -> None:
    model = convolutional(control="lc", divisor=5).float().train()
    check_half_precision(model)


def test_dropout_is_drawn_in_training_only() -> None:
    section = check({**CONVOLUTIONAL, "dropout": 0.3}, ConvolutionalSection, where="test")
    torch.manual_seed(3)
    model = build_model(section, source_size=23, target_size=TARGET_SIZE).double()
    batch = pack(PAIRS)
    assert not torch.allclose(model(batch), model(batch))
    model.eval()
    torch.testing.assert_close(model(batch), model(batch))


def test_useful_flops_count_six_per_weight_and_token() -> None:
    model = convolutional(encoder_blocks=1, decoder_blocks=3, kernel=2)
    block, crossing = 2 * 16 * 2 * 16, 12 * 16
    encoder = block + 2 * crossing
    decoder = 3 * (block + 2 * crossing) + 2 * crossing + TARGET_SIZE * 12
    assert model.useful_flops(10, 7) == 6 * (10 * encoder + 7 * decoder)
