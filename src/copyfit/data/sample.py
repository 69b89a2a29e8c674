"""Draw pairs evenly from all files, to train tokenizers on."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from copyfit.data.corpus import Pair, parse, read_blocks
from copyfit.errors import DataError


def sample_pairs(
    paths: Sequence[str], size: int, *, seed: int, on_bad_line: Callable[[DataError], None]
) -> Iterator[tuple[int, Pair]]:
    """Read `size` rows of the files, each with the same chance, in their order; only those are understood.

    Each comes with its rank in the draw: those of a rank below n are an even sample of n.
    """
    rows = sum(len(block.rows) for block in read_blocks(paths))
    ranks = np.random.default_rng(seed).permutation(rows)
    start = 0
    for block in read_blocks(paths):
        for place in np.flatnonzero(ranks[start : start + len(block.rows)] < size).tolist():
            one = block._replace(rows=block.rows[place : place + 1])
            for pair in parse(one, on_bad_line):
                yield int(ranks[start + place]), pair
        start += len(block.rows)
