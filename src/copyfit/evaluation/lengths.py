"""How far lengths are from their budgets."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from copyfit.errors import DataError


class LengthError(NamedTuple):
    """The paper's variance, the mean squared distance; the mean distance; the shares on and within budget."""

    variance: float
    mean_absolute: float
    exact: float
    within: float


def length_error(lengths: Sequence[int], budgets: Sequence[int]) -> LengthError:
    """Measure the lengths of outputs against the budget of each."""
    if not lengths or len(lengths) != len(budgets):
        raise DataError(
            f"there must be lengths, each with its budget, given {len(lengths)} and {len(budgets)}"
        )
    # In int64: a unit's counts may be small unsigned integers, whose differences would wrap around.
    over = np.asarray(lengths, dtype=np.int64) - np.asarray(budgets, dtype=np.int64)
    return LengthError(
        variance=float(np.mean(over**2)),
        mean_absolute=float(np.mean(np.abs(over))),
        exact=float(np.mean(over == 0)),
        within=float(np.mean(over <= 0)),
    )
