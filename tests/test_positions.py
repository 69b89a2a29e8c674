"""Positions: the paper's equations, the released layout, and what each scheme promises."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from copyfit.nn.positions import Place, Scheme, encode_place, sinusoid

WIDTH = 12


def place(number: float, consumed: float, budget: float) -> Place:
    return Place(*(torch.tensor(value, dtype=torch.float64) for value in (number, consumed, budget)))


def paper(position: float, base: float, width: int = WIDTH) -> list[float]:
    """Work the equations out entry by entry."""
    values = []
    for entry in range(width):
        angle = position / base ** (2 * (entry // 2) / width)
        values.append(math.sin(angle) if entry % 2 == 0 else math.cos(angle))
    return values


def check(scheme: Scheme, where: Place, expected: list[float], layout: str = "paper") -> None:
    encoded = encode_place(scheme, where, WIDTH, layout)  # type: ignore[arg-type]
    torch.testing.assert_close(encoded, torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-12)


@given(number=st.integers(0, 500), consumed=st.integers(0, 500), budget=st.integers(1, 500))
def test_schemes_follow_the_equations_of_the_paper(number: int, consumed: int, budget: int) -> None:
    where = place(number, consumed, budget)
    absolute, difference = paper(number, 10000), paper(budget - consumed, 10000)
    ratio = paper(consumed, budget)
    check("pe", where, absolute)
    check("ldpe", where, difference)
    check("lrpe", where, ratio)
    check("ldpe+pe", where, [a + b for a, b in zip(absolute, difference, strict=True)])
    check("lrpe+pe", where, [a + b for a, b in zip(absolute, ratio, strict=True)])


def test_the_released_layout_has_sines_then_cosines_and_begins_at_two() -> None:
    # By hand for width 4: exponents 0 and 1; position 3 + 2, budget 7 counts the end as an eighth unit.
    where = place(3, 3, 7)
    cases: dict[Scheme, list[float]] = {
        "pe": [math.sin(5), math.sin(5 / 10000), math.cos(5), math.cos(5 / 10000)],
        "ldpe": [math.sin(6), math.sin(6 / 10000), math.cos(6), math.cos(6 / 10000)],
        "lrpe": [math.sin(5), math.sin(5 / 8), math.cos(5), math.cos(5 / 8)],
    }
    for scheme, expected in cases.items():
        encoded = encode_place(scheme, where, 4, "released")
        torch.testing.assert_close(encoded, torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-12)


def test_the_released_layout_is_empty_where_the_difference_meets_the_padding() -> None:
    # By hand for width 4 and budget 7: the difference is 2 at the end, then 1, the padding's, then 0.
    cases = {
        7: [math.sin(2), math.sin(2 / 10000), math.cos(2), math.cos(2 / 10000)],
        8: [0.0, 0.0, 0.0, 0.0],
        9: [0.0, 0.0, 1.0, 1.0],
    }
    for consumed, expected in cases.items():
        encoded = encode_place("ldpe", place(consumed, consumed, 7), 4, "released")
        torch.testing.assert_close(encoded, torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-12)


@given(st.integers(1, 300), st.integers(1, 300))
def test_length_difference_ends_alike_whatever_the_budget(one: int, other: int) -> None:
    ends = [encode_place("ldpe", place(length, length, length), WIDTH) for length in (one, other)]
    assert torch.equal(*ends)
    assert ends[0].tolist() == [0.0, 1.0] * (WIDTH // 2)


@given(st.integers(1, 100), st.integers(1, 100), st.integers(1, 5))
def test_progress_ratio_depends_on_the_share_alone(consumed: int, budget: int, factor: int) -> None:
    one = encode_place("pre", place(0, consumed, budget), WIDTH)
    other = encode_place("pre", place(9, factor * consumed, factor * budget), WIDTH)
    torch.testing.assert_close(one, other, rtol=0, atol=1e-9)


def test_length_ratio_nearly_depends_on_the_share_in_its_slowest_entries() -> None:
    wide = 512
    one = encode_place("lrpe", place(5, 5, 10), wide)[-1]
    other = encode_place("lrpe", place(10, 10, 20), wide)[-1]
    assert abs(float(one - other)) < 0.01
    assert one != other


@pytest.mark.parametrize("scheme", ["ldpe", "lrpe", "pre", "pe"])
def test_past_the_budget_positions_are_finite_and_go_on_changing(scheme: Scheme) -> None:
    encoded = [encode_place(scheme, place(40 + past, 40 + past, 40), WIDTH) for past in (1, 2, 3)]
    assert all(one.isfinite().all() for one in encoded)
    assert not torch.equal(encoded[0], encoded[1])


def test_a_budget_of_one_is_finite() -> None:
    assert encode_place("lrpe", place(1, 1, 1), WIDTH).isfinite().all()


def test_any_shape_encodes_entry_by_entry() -> None:
    positions = torch.arange(24, dtype=torch.float64).view(2, 3, 4)
    bases = positions + 2
    encoded = sinusoid(positions, bases, WIDTH)
    expected: Tensor = torch.stack(
        [sinusoid(p, b, WIDTH) for p, b in zip(positions.flatten(), bases.flatten(), strict=True)]
    )
    assert torch.equal(encoded, expected.view(2, 3, 4, WIDTH))
