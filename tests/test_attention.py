"""Attention: padded, packed and the Triton kernel agree with the definition, row by row."""

import itertools
from collections.abc import Sequence
from types import ModuleType

import pytest
import torch
from torch import Tensor

from copyfit.nn.attention import Packed, Padded

HEADS, FEATURES = 2, 16


def by_definition(query: Tensor, key: Tensor, value: Tensor, *, causal: bool) -> Tensor:
    """Attend within one row by loops and exponentials."""
    seen = torch.zeros_like(query)
    for head, place in itertools.product(range(HEADS), range(len(query))):
        last = place + 1 if causal else len(key)
        weights = (key[:last, head] @ query[place, head] / FEATURES**0.5).exp()
        seen[place, head] = weights @ value[:last, head] / weights.sum()
    return seen


def packed(lengths: Sequence[int]) -> Packed:
    offsets = torch.tensor([0, *itertools.accumulate(lengths)], dtype=torch.int32)
    return Packed(offsets, max(lengths))


def tokens(lengths: Sequence[int], parts: int, dtype: torch.dtype = torch.float64) -> Tensor:
    generator = torch.Generator().manual_seed(sum(lengths) + parts)
    shape = (sum(lengths), parts, HEADS, FEATURES)
    return torch.randn(shape, generator=generator, dtype=dtype).requires_grad_()


def expected_within(joined: Tensor, lengths: Sequence[int], *, causal: bool) -> Tensor:
    rows = torch.split(joined, list(lengths))
    return torch.cat([by_definition(*row.unbind(1), causal=causal) for row in rows])


def expected_across(query: Tensor, joined: Tensor, lengths: Sequence[int], others: Sequence[int]) -> Tensor:
    rows = zip(torch.split(query, list(lengths)), torch.split(joined, list(others)), strict=True)
    return torch.cat([by_definition(one, *other.unbind(1), causal=False) for one, other in rows])


@pytest.mark.parametrize("causal", [False, True])
def test_packed_rows_attend_as_defined(causal: bool) -> None:
    lengths = [3, 1, 7]
    joined = tokens(lengths, 3)
    seen = packed(lengths).attend_within(joined, causal=causal)
    torch.testing.assert_close(seen, expected_within(joined, lengths, causal=causal))


def test_packed_rows_attend_across_as_defined() -> None:
    lengths, others = [3, 1, 7], [2, 5, 4]
    query, joined = tokens(lengths, 1)[:, 0], tokens(others, 2)
    seen = packed(lengths).attend_across(query, joined, packed(others))
    torch.testing.assert_close(seen, expected_across(query, joined, lengths, others))


def test_padded_rows_attend_as_packed_ones() -> None:
    lengths = [3, 1, 7]
    rows, joined = packed(lengths), tokens(lengths, 3)
    padded = Padded.of(torch.tensor(lengths), 9)
    wide = torch.nn.functional.pad(rows.pad(joined), (0, 0, 0, 0, 0, 0, 0, 2))
    torch.testing.assert_close(
        padded.attend_within(wide, causal=True)[padded.mask], rows.attend_within(joined, causal=True)
    )


def test_rows_without_tokens_change_neither_attention_nor_its_gradients() -> None:
    lengths, others = [3, 1, 7], [2, 5, 4]
    found = []
    for empty in ([], [0, 0]):
        query, joined = tokens(lengths, 1), tokens(others, 2)
        seen = packed([*lengths, *empty]).attend_across(query[:, 0], joined, packed([*others, *empty]))
        found.append((seen, *torch.autograd.grad(seen.square().sum(), [query, joined])))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)


def test_padding_and_unpadding_are_inverse() -> None:
    rows, joined = packed([3, 1, 7]), tokens([3, 1, 7], 3)
    assert torch.equal(rows.unpad(rows.pad(joined)), joined)


@pytest.fixture
def kernels() -> ModuleType:
    """Load the kernels only where they are tried, since Triton is slow to import."""
    from copyfit.nn import kernels

    return kernels


@pytest.mark.parametrize(("lengths", "causal"), [([5, 33, 1, 0, 140], True), ([9, 0, 150], False)])
def test_the_kernel_attends_within_rows_as_defined(
    kernels: ModuleType, lengths: list[int], causal: bool
) -> None:
    joined = tokens(lengths, 3, torch.float32)
    seen, _ = kernels.attend_within(joined, packed(lengths).offsets, max(lengths), causal)
    exact = joined.detach().double().requires_grad_()
    compare(seen, packed(lengths).attend_within(exact, causal=causal), [joined], [exact])


def test_the_kernel_attends_across_rows_as_defined(kernels: ModuleType) -> None:
    lengths, others = [5, 70, 1], [66, 3, 140]
    query, joined = tokens(lengths, 1, torch.float32), tokens(others, 2, torch.float32)
    rows = packed(lengths)
    seen, _ = kernels.attend_across(query[:, 0], joined, rows.offsets, packed(others).offsets, 70)
    exact = [part.detach().double().requires_grad_() for part in (query, joined)]
    expected = rows.attend_across(exact[0][:, 0], exact[1], packed(others))
    compare(seen, expected, [query, joined], exact)


def compare(seen: Tensor, expected: Tensor, inputs: Sequence[Tensor], exact: Sequence[Tensor]) -> None:
    """Compare outputs and, for random wishes, the gradients of all inputs."""
    torch.testing.assert_close(seen.double(), expected, rtol=1e-4, atol=1e-5)
    wish = torch.randn(seen.shape, generator=torch.Generator().manual_seed(5))
    slopes = torch.autograd.grad(seen, inputs, wish)
    for slope, truth in zip(slopes, torch.autograd.grad(expected, exact, wish.double()), strict=True):
        torch.testing.assert_close(slope.double(), truth, rtol=1e-3, atol=1e-4)
