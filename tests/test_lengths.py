"""The distance of lengths from their budgets, against plain arithmetic."""

from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.errors import DataError
from copyfit.evaluation.lengths import LengthError, length_error

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
