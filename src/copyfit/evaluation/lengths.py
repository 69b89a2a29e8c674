"""How far lengths are from their budgets."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from copyfit.errors import DataError
from copyfit.evaluation.bootstrap import bootstrap
from copyfit.text.units import count

Length = int | Literal["reference"]
"""The budget of every headline, or `reference`: each one's is the length of its first reference."""


class LengthError(NamedTuple):
    """The paper's variance, the mean squared distance; the mean distance; the shares on and within budget."""

    variance: float
    mean_absolute: float
    exact: float
    within: float


class LengthLimits(NamedTuple):
    """The confidence limits of each figure."""

    low: LengthError
    high: LengthError


def budgets_of(length: Length, references: Sequence[str], unit: str) -> list[int]:
    """Return the budget of each item, given its first reference."""
    return [count(reference, unit) if length == "reference" else length for reference in references]


def distances(lengths: Sequence[int], budgets: Sequence[int]) -> NDArray[np.float64]:
    """Lay out what the length of each output adds to the figures, of which they are means: [items, 4]."""
    if not lengths or len(lengths) != len(budgets):
        raise DataError(
            f"there must be lengths, each with its budget, given {len(lengths)} and {len(budgets)}"
        )
    # In int64: a unit's counts may be small unsigned integers, whose differences would wrap around.
    over = np.asarray(lengths, dtype=np.int64) - np.asarray(budgets, dtype=np.int64)
    return np.stack([over**2, np.abs(over), over == 0, over <= 0], axis=1).astype(np.float64)


def length_error(lengths: Sequence[int], budgets: Sequence[int]) -> LengthError:
    """Measure the lengths of outputs against the budget of each."""
    return LengthError(*distances(lengths, budgets).mean(axis=0).tolist())


def length_limits(lengths: Sequence[int], budgets: Sequence[int], confidence: float) -> LengthLimits:
    """Return between which limits the figures lie, by the bootstrap that ROUGE has."""
    limits = bootstrap(distances(lengths, budgets), confidence)
    return LengthLimits(LengthError(*limits.low.tolist()), LengthError(*limits.high.tolist()))


def plain_lengths(error: LengthError, limits: LengthLimits) -> dict[str, Any]:
    """Return the figures as plain values, each with its limits."""
    values: dict[str, Any] = error._asdict()
    for end, figures in limits._asdict().items():
        values |= {f"{name}_{end}": value for name, value in figures._asdict().items()}
    return values
