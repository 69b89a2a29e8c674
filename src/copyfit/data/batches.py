"""Packed batches of one fixed shape, planned an epoch at a time."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from copyfit.config import Section
from copyfit.data.ragged import Integers, offsets_of, positions_in_rows
from copyfit.data.store import Store
from copyfit.errors import ConfigError
from copyfit.text.automaton import END, PADDING, START

IGNORED = -100
"""The label of a token that nothing is to be learned from."""
_SHUFFLE, _BANDS = 1, 2
"""Keep the random streams of one seed apart."""


class BatchSection(Section):
    """Say how large batches are and how an epoch is drawn."""

    target_tokens: int = Field(default=32_768, ge=2)
    """Target tokens a batch, its filled-up tail included."""
    source_tokens: int = Field(default=0, ge=0)
    """Source tokens a batch; 0 fits them to the data, so that both sides fill up together."""
    length_bands: tuple[int, ...] = ()
    """Greatest budget of each band, rising; what lies above makes one more. An epoch draws all evenly."""


class BatchShape(NamedTuple):
    """Fix the sizes of every array of a batch."""

    source_tokens: int
    target_tokens: int
    rows: int
    longest_source: int
    longest_target: int

    def tail_rows(self, source_left: int, target_left: int) -> int:
        """Return how many extra rows it takes to fill what is left, each with a token on both sides."""
        return max(-(-source_left // self.longest_source), -(-target_left // self.longest_target))

    def closes(self, rows: int, source_left: int, target_left: int) -> bool:
        """Return whether a batch with so many rows and so much left can be filled up by the rules."""
        extra = self.tail_rows(source_left, target_left)
        return extra <= min(source_left, target_left) and rows + extra <= self.rows


class Sharding(NamedTuple):
    """Say which share of each optimizer step is one process's."""

    rank: int = 0
    world: int = 1
    accumulation: int = 1


ALONE = Sharding()


class PackedBatch(NamedTuple):
    """Hold a batch as `models.contract.Batch` describes it, in numpy."""

    source: NDArray[np.int64]
    source_offsets: NDArray[np.int32]
    source_index: NDArray[np.int32]
    target: NDArray[np.int64]
    target_offsets: NDArray[np.int32]
    target_index: NDArray[np.int32]
    target_row: NDArray[np.int32]
    labels: NDArray[np.int64]
    consumed: NDArray[np.float32]
    budget: NDArray[np.float32]
    longest_source: int
    longest_target: int


class Step(NamedTuple):
    """Hold one process's batches of an optimizer step, and the real tokens of the whole step.

    `target_tokens` counts the labels that are not `IGNORED` over all processes.
    """

    batches: tuple[PackedBatch, ...]
    source_tokens: int
    target_tokens: int


def fit_shape(section: BatchSection, first: Store, *others: Store) -> BatchShape:
    """Choose sizes that both sides of the first store fill up together and that hold any pair of all."""
    longest_source = max(store.manifest.longest_source for store in (first, *others))
    longest_target = max(store.manifest.longest_target for store in (first, *others)) + 1
    source = float(first.pairs.sources.lengths(first.pairs.source_of).mean())
    target = float(first.pairs.targets[0].lengths().mean()) + 1
    source_tokens = section.source_tokens or _round_up(section.target_tokens * source / target)
    rows = min(section.target_tokens / target, source_tokens / source)
    shape = BatchShape(source_tokens, section.target_tokens, 0, longest_source, longest_target)
    tail = shape.tail_rows(source_tokens, section.target_tokens)
    return shape._replace(rows=max(tail + 1, int(1.08 * rows) + 16))


def _round_up(tokens: float) -> int:
    return -(-int(1.01 * tokens) // 128) * 128


class BatchPlan:
    """Plan epochs over a store: every pair once, cut into batches of one shape, shared out to processes.

    What an epoch holds follows from the seed and the epoch alone, so any step of it can be taken up again.
    """

    def __init__(
        self,
        store: Store,
        shape: BatchShape,
        *,
        seed: int,
        sharding: Sharding = ALONE,
        length_bands: Sequence[int] = (),
    ) -> None:
        _check_room(store, shape)
        self._store = store
        self._shape = shape
        self._seed = seed
        self._sharding = sharding
        self._bands = _bands(store.pairs.budgets, length_bands)

    def epoch(self, epoch: int) -> "Epoch":
        """Plan one epoch."""
        pairs = self._store.pairs
        variant = epoch % len(pairs.targets)
        order = self._draw(epoch)
        source_sums = offsets_of(pairs.sources.lengths(pairs.source_of[order]))
        target_sums = offsets_of(pairs.targets[variant].lengths(order) + 1)
        packing = Packing(order, _cut(source_sums, target_sums, self._shape), source_sums, target_sums)
        return Epoch(Assembler(self._store, self._shape, variant), packing, self._sharding)

    def _draw(self, epoch: int) -> NDArray[np.int64]:
        shuffle = np.random.default_rng((self._seed, epoch, _SHUFFLE))
        if not self._bands:
            return shuffle.permutation(len(self._store.pairs))
        share = max(1, sum(map(len, self._bands)) // len(self._bands))
        drawn = [
            members[_turns(len(members), epoch * share, share, seed=(self._seed, band))]
            for band, members in enumerate(self._bands)
        ]
        return shuffle.permutation(np.concatenate(drawn))


def _check_room(store: Store, shape: BatchShape) -> None:
    source, target = store.manifest.longest_source, store.manifest.longest_target + 1
    left = min(shape.source_tokens - shape.longest_source, shape.target_tokens - shape.longest_target)
    tail = shape.tail_rows(shape.source_tokens, shape.target_tokens)
    fits = source <= shape.longest_source and target <= shape.longest_target
    if not (fits and tail <= left and tail < shape.rows):
        raise ConfigError(
            f"a batch of {shape.source_tokens} source and {shape.target_tokens} target tokens must have room"
            f" for its longest pair ({source} and {target}) and a tail on both sides: raise the smaller"
        )


class Packing(NamedTuple):
    """Say which pairs an epoch takes in which order and where one batch ends and the next begins."""

    order: NDArray[np.int64]
    cuts: NDArray[np.int64]
    source_sums: NDArray[np.int64]
    target_sums: NDArray[np.int64]

    def batch(self, index: int) -> NDArray[np.int64]:
        """Return the pairs of one batch; none beyond the last."""
        first, last = self._bounds(index, index + 1)
        return self.order[first:last]

    def tokens(self, start: int, stop: int) -> tuple[int, int]:
        """Return the real source and target tokens of a stretch of batches."""
        first, last = self._bounds(start, stop)
        sources = self.source_sums[last] - self.source_sums[first]
        return int(sources), int(self.target_sums[last] - self.target_sums[first])

    def _bounds(self, start: int, stop: int) -> tuple[int, int]:
        end = len(self.cuts) - 1
        return int(self.cuts[min(start, end)]), int(self.cuts[min(stop, end)])


class Epoch:
    """Be the steps of one epoch for one process; every process has the same number of them."""

    def __init__(self, assembler: "Assembler", packing: Packing, sharding: Sharding) -> None:
        self.packing = packing
        self._assembler = assembler
        self._sharding = sharding

    def __len__(self) -> int:
        return -(-(len(self.packing.cuts) - 1) // self._step_size)

    def __getitem__(self, index: int) -> Step:
        """Assemble one step."""
        if not 0 <= index < len(self):
            raise IndexError(f"an epoch of {len(self)} steps has no step {index}")
        first = index * self._step_size
        mine = range(first + self._sharding.rank, first + self._step_size, self._sharding.world)
        batches = tuple(self._assembler(self.packing.batch(batch)) for batch in mine)
        return Step(batches, *self.packing.tokens(first, first + self._step_size))

    def __iter__(self) -> Iterator[Step]:
        return self.steps()

    def steps(self, start: int = 0) -> Iterator[Step]:
        """Assemble the steps from one on."""
        return (self[index] for index in range(start, len(self)))

    @property
    def _step_size(self) -> int:
        return self._sharding.world * self._sharding.accumulation


def _bands(budgets: Integers, greatest: Sequence[int]) -> list[NDArray[np.int64]]:
    if not greatest:
        return []
    if list(greatest) != sorted(set(greatest)):
        raise ConfigError(f"length_bands must rise, given {list(greatest)}")
    band_of = np.searchsorted(greatest, budgets, side="left")
    bands = [np.flatnonzero(band_of == band) for band in range(len(greatest) + 1)]
    return [band for band in bands if len(band)]


def _turns(size: int, start: int, count: int, *, seed: tuple[int, int]) -> NDArray[np.int64]:
    """Take `count` places of an endless row of shuffles of `size` things, from place `start` on."""
    first, last = start // size, -(-(start + count) // size)
    generators = [np.random.default_rng((*seed, turn, _BANDS)) for turn in range(first, last)]
    begin = start - first * size
    return np.concatenate([generator.permutation(size) for generator in generators])[begin : begin + count]


def _cut(
    source_sums: NDArray[np.int64], target_sums: NDArray[np.int64], shape: BatchShape
) -> NDArray[np.int64]:
    pairs = len(source_sums) - 1
    cuts = [0]
    while cuts[-1] < pairs:
        start = cuts[-1]
        source_end = int(source_sums[start]) + shape.source_tokens
        target_end = int(target_sums[start]) + shape.target_tokens
        stop = min(
            int(np.searchsorted(source_sums, source_end, side="right")) - 1,
            int(np.searchsorted(target_sums, target_end, side="right")) - 1,
            start + shape.rows,
        )
        # What is left may not close by the rules (a token on one side only): give rows back until it does.
        while not shape.closes(
            stop - start, source_end - int(source_sums[stop]), target_end - int(target_sums[stop])
        ):
            stop -= 1
        cuts.append(stop)
    return np.array(cuts)


class Assembler:
    """Lay pairs of a store end to end."""

    def __init__(self, store: Store, shape: BatchShape, variant: int) -> None:
        self._pairs = store.pairs
        self._shape = shape
        self._variant = variant

    def __call__(self, chosen: NDArray[np.int64]) -> PackedBatch:
        """Assemble one batch of these pairs."""
        shape, pairs = self._shape, self._pairs
        sources = pairs.sources.take(pairs.source_of[chosen])
        target_lengths = pairs.targets[self._variant].lengths(chosen) + 1
        source_left = shape.source_tokens - len(sources.values)
        target_left = shape.target_tokens - int(target_lengths.sum())
        extra = shape.tail_rows(source_left, target_left)
        source_lengths = np.concatenate([sources.lengths(), _share(source_left, extra)])
        target_lengths = np.concatenate([target_lengths, _share(target_left, extra)])
        budget = np.ones(shape.rows, np.float32)
        budget[: len(chosen)] = pairs.budgets[chosen]
        target, labels, consumed = self._targets(chosen)
        return PackedBatch(
            source=_filled(sources.values, shape.source_tokens, PADDING, np.int64),
            source_offsets=self._offsets(source_lengths),
            source_index=positions_in_rows(source_lengths).astype(np.int32),
            target=target,
            target_offsets=self._offsets(target_lengths),
            target_index=positions_in_rows(target_lengths).astype(np.int32),
            target_row=np.repeat(np.arange(len(target_lengths), dtype=np.int32), target_lengths),
            labels=labels,
            consumed=consumed,
            budget=budget,
            longest_source=shape.longest_source,
            longest_target=shape.longest_target,
        )

    def _targets(
        self, chosen: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        targets = self._pairs.targets[self._variant]
        stored, lengths = targets.places(chosen), targets.lengths(chosen)
        tokens, costs = targets.values[stored], self._pairs.costs[self._variant][stored]
        size = self._shape.target_tokens
        # Every row is one longer here than in the store: START before its input, END after its labels.
        places = np.arange(len(stored)) + np.repeat(np.arange(len(chosen)), lengths)
        ends = offsets_of(lengths + 1)
        target = np.full(size, PADDING, np.int64)
        target[ends[:-1]] = START
        target[places + 1] = tokens
        labels = np.full(size, IGNORED, np.int64)
        labels[ends[1:] - 1] = END
        labels[places] = tokens
        spent = offsets_of(costs)
        consumed = np.zeros(size, np.float32)
        consumed[places + 1] = spent[1:] - np.repeat(spent[offsets_of(lengths)[:-1]], lengths)
        return target, labels, consumed

    def _offsets(self, lengths: NDArray[np.int64]) -> NDArray[np.int32]:
        unused = self._shape.rows - len(lengths)
        return offsets_of(np.concatenate([lengths, np.zeros(unused, np.int64)])).astype(np.int32)


def _share(tokens: int, rows: int) -> NDArray[np.int64]:
    if not rows:
        return np.zeros(0, np.int64)
    return tokens // rows + (np.arange(rows) < tokens % rows)


def _filled(values: Integers, size: int, filler: int, dtype: Any) -> NDArray[Any]:
    filled = np.full(size, filler, dtype)
    filled[: len(values)] = values
    return filled
