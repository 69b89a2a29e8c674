"""The distance of lengths from their budgets, against plain arithmetic."""

import random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.errors import DataError
from copyfit.evaluation.lengths import (
    LengthError,
    budgets_of,
    length_error,
    length_limits,
    plain_lengths,
)

PAIRS = st.lists(st.tuples(st.integers(0, 10_000), st.integers(1, 10_000)), min_size=1, max_size=50)


def test_one_under_one_over_and_two_exact() -> None:
    assert length_error([28, 33, 30, 30], [30, 30, 30, 30]) == LengthError(
        variance=(4 + 9) / 4, mean_absolute=5 / 4, exact=0.5, within=0.75
    )


@given(PAIRS)
def test_all_figures_follow_their_definitions(pairs: list[tuple[int, int]]) -> None:
    lengths, budgets = [length for length, _ in pairs], [budget for _, budget in pairs]
    error = length_error(lengths, budgets)
    assert error.variance == pytest.approx(fmean((length - budget) ** 2 for length, budget in pairs))
    assert error.mean_absolute == pytest.approx(fmean(abs(length - budget) for length, budget in pairs))
    assert error.exact == pytest.approx(fmean(length == budget for length, budget in pairs))
    assert error.within == pytest.approx(fmean(length <= budget for length, budget in pairs))


@pytest.mark.parametrize(("lengths", "budgets"), [([], []), ([1], []), ([1, 2], [1])])
def test_lengths_without_budgets_are_refused(lengths: list[int], budgets: list[int]) -> None:
    with pytest.raises(DataError):
        length_error(lengths, budgets)


def test_limits_enclose_what_resampled_items_mostly_give() -> None:
    draw = random.Random(0)
    budgets = [30] * 200
    lengths = [30 + draw.choice([-4, -1, 0, 0, 0, 2]) for _ in budgets]
    low, high = length_limits(lengths, budgets, 90)
    resampled = []
    for _ in range(2000):
        drawn = draw.choices(lengths, k=len(lengths))
        resampled.append(length_error(drawn, budgets))
    for name, bottom, top in zip(LengthError._fields, low, high, strict=True):
        values = sorted(getattr(error, name) for error in resampled)
        spread = values[1899] - values[100]
        assert bottom == pytest.approx(values[100], abs=0.15 * spread)
        assert top == pytest.approx(values[1899], abs=0.15 * spread)


def test_lengths_that_are_all_exact_leave_no_doubt() -> None:
    low, high = length_limits([7] * 9, [7] * 9, 95)
    assert low == high == LengthError(0, 0, 1, 1)


def test_plain_values_name_every_figure_with_its_limits() -> None:
    lengths, budgets = [28, 30, 33], [30, 30, 30]
    limits = length_limits(lengths, budgets, 95)
    plain = plain_lengths(length_error(lengths, budgets), limits)
    assert plain["variance"] == 13 / 3
    assert plain["mean_absolute_low"] == limits.low.mean_absolute
    assert plain["within_high"] == limits.high.within
    assert len(plain) == 12


def test_budgets_are_one_length_or_those_of_the_references_in_any_unit() -> None:
    assert budgets_of(12, ["one", "three"], "char") == [12, 12]
    assert budgets_of("reference", ["one two", "大雨"], "byte") == [7, 6]
    assert budgets_of("reference", ["one two", "大雨"], "cell") == [7, 4]
    assert budgets_of("reference", ["one two", "大雨"], "word") == [2, 1]
