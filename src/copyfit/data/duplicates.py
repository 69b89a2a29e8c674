"""Remember what was there already, by 64-bit hashes."""

from collections import Counter
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from copyfit.data.ragged import Integers

Duplicates = Literal["keep", "pair", "source"]
Hashes = NDArray[np.uint64]


class Seen:
    """Remember hashes in eight bytes each."""

    def __init__(self) -> None:
        self._levels: list[Hashes] = []

    def add(self, hashes: Hashes) -> NDArray[np.bool_]:
        """Remember hashes; tell which were new, the first of equal ones."""
        values, places = np.unique(hashes, return_index=True)
        added = ~self.holds(values)
        new = np.zeros(len(hashes), np.bool_)
        new[places[added]] = True
        self._levels.append(values[added])
        # Sorted runs that at least halve in size: few to search, and each hash is moved only a few times.
        while len(self._levels) > 1 and len(self._levels[-2]) < 2 * len(self._levels[-1]):
            merged = np.concatenate([self._levels.pop(), self._levels.pop()])
            self._levels.append(np.sort(merged, kind="stable"))
        return new

    def holds(self, hashes: Hashes) -> NDArray[np.bool_]:
        """Tell which hashes are remembered."""
        found = np.zeros(len(hashes), np.bool_)
        for level in filter(len, self._levels):
            places = np.minimum(np.searchsorted(level, hashes), len(level) - 1)
            found |= level[places] == hashes
        return found


class PairHashes(NamedTuple):
    """Hold the hashes of a block; `source_of` is each pair's row among the sources."""

    sources: Hashes
    source_of: Integers
    pairs: Hashes


class Gate:
    """Let a pair through once, and keep the sources of validation pairs out of training."""

    def __init__(self, duplicates: Duplicates) -> None:
        self._duplicates = duplicates
        self._held_out = Seen()
        self._seen = Seen()

    def pass_validation(self, block: PairHashes, dropped: Counter[str]) -> NDArray[np.bool_]:
        """Tell which validation pairs pass, and count the others."""
        self._held_out.add(block.sources)
        return self._pass(block, np.zeros(len(block.source_of), np.bool_), dropped)

    def pass_training(self, block: PairHashes, dropped: Counter[str]) -> NDArray[np.bool_]:
        """Tell which training pairs pass, and count the others."""
        return self._pass(block, self._held_out.holds(block.sources)[block.source_of], dropped)

    def _pass(
        self, block: PairHashes, held_out: NDArray[np.bool_], dropped: Counter[str]
    ) -> NDArray[np.bool_]:
        if self._duplicates == "keep":
            return np.ones(len(held_out), np.bool_)
        by_source = self._duplicates == "source"
        new = self._seen.add(block.sources)[block.source_of] if by_source else self._seen.add(block.pairs)
        dropped["held_out"] += int(held_out.sum())
        dropped["duplicate"] += int((~new & ~held_out).sum())
        return new & ~held_out
