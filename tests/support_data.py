"""Stores and files of pairs made for a test."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from copyfit.data.encode import ragged
from copyfit.data.store import (
    EncodedPairs,
    Provenance,
    Store,
    StoreWriter,
    TokenTypes,
    open_store,
)

TYPES = TokenTypes(np.uint16, np.uint16, np.uint8)
MADE_HERE = Provenance("char", "made in a test", {"source": "one", "target": "two"})


class PlainPair(NamedTuple):
    """Hold a pair as lists: source ids, target ids, and what each target token costs."""

    source: list[int]
    target: list[int]
    costs: list[int]


def encoded(pairs: Sequence[PlainPair], segmentations: int = 0) -> EncodedPairs:
    """Lay pairs end to end; every further segmentation is the target with its first token twice."""
    targets = [ragged([pair.target for pair in pairs], np.uint16)]
    costs = [np.array([cost for pair in pairs for cost in pair.costs], np.uint8)]
    for _ in range(segmentations):
        targets.append(ragged([[pair.target[0], *pair.target] for pair in pairs], np.uint16))
        costs.append(np.array([cost for pair in pairs for cost in (0, *pair.costs)], np.uint8))
    budgets = np.array([sum(pair.costs) for pair in pairs], np.int32)
    sources = ragged([pair.source for pair in pairs], np.uint16)
    return EncodedPairs(sources, np.arange(len(pairs)), budgets, tuple(targets), tuple(costs))


def store_of(folder: Path, stretches: Sequence[EncodedPairs]) -> Store:
    """Write a store into a new folder and open it."""
    folder.mkdir(parents=True)
    with StoreWriter(folder, TYPES, segmentations=len(stretches[0].targets) - 1) as writer:
        for stretch in stretches:
            writer.append(stretch)
        writer.finish(MADE_HERE, {})
    return open_store(folder)


def random_pairs(seed: int, count: int) -> list[PlainPair]:
    """Make pairs up, the first of them as long as any; its number is the first token of a pair's source."""
    generator = np.random.default_rng(seed)
    pairs = []
    for number in range(count):
        source = generator.integers(3, 500, 29 if number == 0 else generator.integers(0, 30))
        target = generator.integers(3, 90, 20 if number == 0 else generator.integers(1, 21))
        costs = generator.integers(1, 6, len(target))
        pairs.append(PlainPair([number, *source.tolist()], target.tolist(), costs.tolist()))
    return pairs
