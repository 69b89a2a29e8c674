"""Rows of different lengths, laid end to end in one array."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.integer[Any]]


def offsets_of(lengths: Integers) -> NDArray[np.int64]:
    """Return where each row begins and, last, where the last one ends."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def positions_in_rows(lengths: Integers) -> NDArray[np.int64]:
    """Count 0, 1, 2, ... along every row, the rows end to end."""
    offsets = offsets_of(lengths)
    return np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)


@dataclass(frozen=True)
class Ragged:
    """Hold rows of integers: row i is `values[offsets[i]:offsets[i + 1]]`."""

    values: Integers
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, values: Integers, lengths: Integers) -> "Ragged":
        """Cut values that lie end to end into rows of these lengths."""
        return cls(values, offsets_of(lengths))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def row(self, index: int) -> Integers:
        """Return one row."""
        return self.values[self.offsets[index] : self.offsets[index + 1]]

    def lengths(self, rows: Integers | slice = slice(None)) -> NDArray[np.int64]:
        """Return the lengths of all rows, or of some."""
        return self.offsets[1:][rows] - self.offsets[:-1][rows]

    def places(self, rows: Integers) -> NDArray[np.int64]:
        """Return where the values of these rows are, end to end."""
        starts, lengths = self.offsets[rows], self.lengths(rows)
        return np.arange(lengths.sum()) + np.repeat(starts - offsets_of(lengths)[:-1], lengths)

    def take(self, rows: Integers) -> "Ragged":
        """Copy some rows, in the order given."""
        return Ragged.of(self.values[self.places(rows)], self.lengths(rows))
