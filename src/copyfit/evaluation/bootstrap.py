"""Confidence limits as ROUGE-1.5.5 computes them, its random numbers included."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 1_000

# The linear congruential generator that POSIX calls drand48, which is Perl's.
MULTIPLIER = np.uint64(0x5DEECE66D)
INCREMENT = np.uint64(0xB)
STATE_BITS = 48
SEED_LOW_BITS = np.uint64(0x330E)


class Limits(NamedTuple):
    """The mean of the resampled means, and the limits between which the confidence's share of them lies."""

    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def bootstrap(scores: NDArray[np.float64], confidence: float) -> Limits:
    """Resample the items of `scores` [items, columns] and return the limits of every column."""
    return limits_of(resampled_means(scores), confidence)


def limits_of(means: NDArray[np.float64], confidence: float) -> Limits:
    """Return the limits of resampled means [resamples, columns]."""
    ranked = np.sort(means, axis=0)
    outside = RESAMPLES * ((100 - confidence) / 2) / 100
    upper, lower = int(RESAMPLES - outside - 1), int(outside)
    # The script uses the upper limit's remainder for the lower limit too.
    remainder = RESAMPLES - outside - 1 - upper
    # Sums run from the first to the last: a pairwise sum would differ in the last bits.
    return Limits(
        mean=np.add.accumulate(ranked, axis=0)[-1] / RESAMPLES,
        low=_between(ranked, lower, remainder),
        high=_between(ranked, upper, remainder),
    )


def _between(ranked: NDArray[np.float64], index: int, remainder: float) -> NDArray[np.float64]:
    above = ranked[min(index + 1, RESAMPLES - 1)]
    values: NDArray[np.float64] = ranked[index] + (above - ranked[index]) * remainder
    return values


def resampled_means(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the means of every column in each resample [resamples, columns].

    Which items a resample draws depends on their number alone, so that scores of two systems stay paired.
    """
    items = len(scores)
    ordered = scores[_script_order(items)]
    seeds = np.arange(RESAMPLES, dtype=np.uint64)
    state = (seeds << np.uint64(16)) + SEED_LOW_BITS
    mask = np.uint64((1 << STATE_BITS) - 1)
    totals = np.zeros((RESAMPLES, scores.shape[1]))
    for _ in range(items):
        state = (state * MULTIPLIER + INCREMENT) & mask
        drawn = (items * np.ldexp(state.astype(np.float64), -STATE_BITS)).astype(np.intp)
        totals += ordered[drawn]
    return totals / items


def _script_order(items: int) -> list[int]:
    """Order the items as the script does: by their numbers 1, 2, 3 ... as strings."""
    return sorted(range(items), key=lambda index: str(index + 1))
