"""Whether one system is better than another on the same items: a paired bootstrap."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from copyfit.evaluation.bootstrap import RESAMPLES, limits_of, resampled_means
from copyfit.evaluation.lengths import Length, LengthError, budgets_of, distances
from copyfit.evaluation.rouge import DIGITS, METRICS, Rouge, RougeResult, Score
from copyfit.text.units import count

Systems = tuple[Sequence[str], Sequence[str]]
"""What a first and a second system wrote."""
Columns = NDArray[np.float64]

_BETTER = LengthError(variance=-1, mean_absolute=-1, exact=1, within=1)
"""The sign of what is better: less distance, greater shares."""
_EQUAL = 12
"""Digits to which resampled means are rounded: equal sums in another order must count as equal."""


class Difference(NamedTuple):
    """What the second system has more than the first by one measure.

    `low` and `high` limit the difference. `wins` is the share of resamples in which the second is better,
    which is to be less far from the budget, where that is the measure. `p` is how often resamples are at
    least as far from their mean as the difference is from zero: small where chance hardly explains it.
    """

    first: float
    second: float
    difference: float
    low: float
    high: float
    wins: float
    p: float


class Budgets(NamedTuple):
    """The length that was asked of both systems, and what it counts."""

    length: Length
    unit: str


@dataclass(frozen=True)
class Comparison:
    """The differences by metric and value, those of lengths where these were asked for."""

    rouge: Mapping[str, Mapping[str, Difference]]
    length_error: Mapping[str, Difference] | None
    items: int
    signature: str

    def to_json(self) -> dict[str, Any]:
        """Return all as plain values."""
        values: dict[str, Any] = {metric: _plain(scores) for metric, scores in self.rouge.items()}
        if self.length_error is not None:
            values["length_error"] = _plain(self.length_error)
        return {**values, "n": self.items, "signature": self.signature}


def compare(
    systems: Systems,
    references: Sequence[Sequence[str]],
    scorer: Rouge,
    *,
    budgets: Budgets | None = None,
) -> Comparison:
    """Compare what two systems wrote for the same items, both drawn by the same resamples."""
    first, second = (scorer.score(texts, references) for texts in systems)
    signature = f"{first.signature}|paired bootstrap"
    rouge = _rouge(first, second, scorer.confidence)
    if budgets is None:
        return Comparison(rouge, None, len(references), signature)
    return Comparison(
        rouge,
        _lengths(systems, references, budgets, scorer.confidence),
        len(references),
        f"length:{budgets.length}|unit:{budgets.unit}|{signature}",
    )


def _rouge(first: RougeResult, second: RougeResult, confidence: float) -> dict[str, dict[str, Difference]]:
    # The printed averages are means of resamples too, and of the very same ones.
    means = [
        np.array([result.averages[metric][:3] for metric in METRICS]).ravel() for result in (first, second)
    ]
    gains = second.table() - first.table()
    found = iter(_differences(gains, (means[0], means[1]), np.ones(gains.shape[1]), confidence))
    return {metric: {value: next(found) for value in Score._fields} for metric in METRICS}


def _lengths(
    systems: Systems, references: Sequence[Sequence[str]], budgets: Budgets, confidence: float
) -> dict[str, Difference]:
    wanted = budgets_of(budgets.length, [texts[0] for texts in references], budgets.unit)
    first, second = (distances([count(text, budgets.unit) for text in texts], wanted) for texts in systems)
    means = first.mean(axis=0), second.mean(axis=0)
    found = _differences(second - first, means, np.array(_BETTER), confidence)
    return dict(zip(LengthError._fields, found, strict=True))


def _differences(
    gains: Columns, means: tuple[Columns, Columns], signs: Columns, confidence: float
) -> list[Difference]:
    """Compare each column of what the second system has more [items, columns]; a sign says what is better."""
    difference = np.round(means[1] - means[0], _EQUAL)
    drawn = np.round(resampled_means(gains), _EQUAL)
    limits = limits_of(drawn, confidence)
    wins = (drawn * signs > 0).mean(axis=0)
    as_far = (np.abs(drawn - drawn.mean(axis=0)) >= np.abs(difference)).sum(axis=0)
    chances = (as_far + 1) / (RESAMPLES + 1)
    columns = np.stack([*means, difference, limits.low, limits.high, wins, chances], axis=1).tolist()
    return [Difference(*(round(value, DIGITS) for value in column)) for column in columns]


def _plain(differences: Mapping[str, Difference]) -> dict[str, dict[str, float]]:
    return {name: difference._asdict() for name, difference in differences.items()}
