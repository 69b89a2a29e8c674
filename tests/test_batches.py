"""Every pair once, in batches of one shape, the same for any number of processes."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copyfit.data.batches import (
    ALONE,
    IGNORED,
    BatchPlan,
    BatchSection,
    BatchShape,
    PackedBatch,
    Sharding,
    Step,
    fit_shape,
)
from copyfit.data.store import Store
from copyfit.errors import ConfigError
from copyfit.text.automaton import END, START
from support_data import PlainPair, encoded, random_pairs, store_of

SECTION = BatchSection(target_tokens=96)


@pytest.fixture
def make_store(tmp_path: Path) -> Callable[[list[PlainPair]], Store]:
    return lambda pairs: store_of(tmp_path / str(len(list(tmp_path.iterdir()))), [encoded(pairs)])


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return store_of(tmp_path_factory.mktemp("data") / "store", [encoded(random_pairs(7, 300), 2)])


def plan_of(store: Store, *, seed: int = 1, sharding: Sharding = ALONE) -> BatchPlan:
    return BatchPlan(store, fit_shape(SECTION, store), seed=seed, sharding=sharding)


def rows_of(batch: PackedBatch) -> Iterator[PlainPair]:
    """Read the real pairs of a batch, row by row, without numpy's help."""
    for row in range(len(batch.budget)):
        start, stop = batch.target_offsets[row : row + 2].tolist()
        labels = batch.labels[start:stop].tolist()
        if start == stop or labels[0] == IGNORED:
            continue
        inputs, consumed = batch.target[start:stop].tolist(), batch.consumed[start:stop].tolist()
        assert inputs[0] == START
        assert labels[-1] == END
        assert inputs[1:] == labels[:-1]
        assert consumed[0] == 0
        assert consumed[-1] == batch.budget[row]
        assert set(batch.target_row[start:stop].tolist()) == {row}
        assert batch.target_index[start:stop].tolist() == list(range(stop - start))
        first, last = batch.source_offsets[row : row + 2].tolist()
        assert batch.source_index[first:last].tolist() == list(range(last - first))
        costs = [int(after - before) for before, after in pairwise(consumed)]
        yield PlainPair(batch.source[first:last].tolist(), labels[:-1], costs)


def pairs_of(steps: Iterator[Step]) -> list[PlainPair]:
    return [pair for step in steps for batch in step.batches for pair in rows_of(batch)]


def check_tail(batch: PackedBatch, shape: BatchShape) -> None:
    lengths = np.diff(batch.source_offsets), np.diff(batch.target_offsets)
    assert batch.source_offsets[-1] == shape.source_tokens
    assert batch.target_offsets[-1] == shape.target_tokens
    assert lengths[0].max() <= batch.longest_source
    assert lengths[1].max() <= batch.longest_target
    used = (lengths[0] > 0) | (lengths[1] > 0)
    assert (lengths[0][used] > 0).all()
    assert (lengths[1][used] > 0).all()
    assert not used[used.sum() :].any(), "unused rows are the last"
    assert (batch.budget >= 1).all()


def shape_of(batch: PackedBatch) -> list[object]:
    return [part if isinstance(part, int) else (part.shape, part.dtype) for part in batch]


def test_dtypes_and_sizes_are_as_the_models_contract_says(store: Store) -> None:
    shape = fit_shape(SECTION, store)
    batch = plan_of(store).epoch(0)[0].batches[0]
    offsets, places = (batch.source_offsets, batch.target_offsets), (batch.target_index, batch.target_row)
    assert batch.source.shape == batch.source_index.shape == (shape.source_tokens,)
    assert batch.target.shape == batch.labels.shape == batch.consumed.shape == (shape.target_tokens,)
    assert batch.source_offsets.shape == batch.target_offsets.shape == (shape.rows + 1,)
    assert batch.budget.shape == (shape.rows,)
    assert {batch.source.dtype, batch.target.dtype, batch.labels.dtype} == {np.dtype("int64")}
    assert {array.dtype for array in (*offsets, *places, batch.source_index)} == {np.dtype("int32")}
    assert {batch.consumed.dtype, batch.budget.dtype} == {np.dtype("float32")}


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(1, 60),
    section=st.builds(
        BatchSection, target_tokens=st.integers(48, 300), source_tokens=st.sampled_from([0, 64, 100, 400])
    ),
    sizes=st.tuples(st.integers(1, 3), st.integers(1, 3)),
)
def test_every_pair_comes_exactly_once_and_every_batch_keeps_the_rules(
    *, seed: int, count: int, section: BatchSection, sizes: tuple[int, int]
) -> None:
    world, accumulation = sizes
    pairs = random_pairs(seed, count)
    with TemporaryDirectory() as folder:
        store = store_of(Path(folder) / "store", [encoded(pairs)])
        shape = fit_shape(section, store)
        found: list[PlainPair] = []
        shapes = []
        for rank in range(world):
            plan = BatchPlan(store, shape, seed=seed, sharding=Sharding(rank, world, accumulation))
            steps = list(plan.epoch(count))
            assert all(len(step.batches) == accumulation for step in steps)
            for batch in (batch for step in steps for batch in step.batches):
                check_tail(batch, shape)
                shapes.append(shape_of(batch))
            found += pairs_of(iter(steps))
    assert sorted(found) == sorted(pairs)
    assert all(one == shapes[0] for one in shapes)


@pytest.mark.parametrize(("world", "accumulation"), [(2, 1), (1, 2), (2, 2), (4, 1)])
def test_all_processes_take_the_same_number_of_steps_and_know_the_tokens_of_the_whole_step(
    store: Store, world: int, accumulation: int
) -> None:
    epochs = [plan_of(store, sharding=Sharding(rank, world, accumulation)).epoch(3) for rank in range(world)]
    assert len({len(epoch) for epoch in epochs}) == 1
    for steps in zip(*epochs, strict=True):
        batches = [batch for step in steps for batch in step.batches]
        labels = sum(int((batch.labels != IGNORED).sum()) for batch in batches)
        sources = sum(len(pair.source) for batch in batches for pair in rows_of(batch))
        assert {step.target_tokens for step in steps} == {labels}
        assert {step.source_tokens for step in steps} == {sources}


def test_two_processes_take_the_batches_that_one_takes_in_two_turns(store: Store) -> None:
    alone = plan_of(store, sharding=Sharding(0, 1, 2)).epoch(1)
    ranks = [plan_of(store, sharding=Sharding(rank, 2, 1)).epoch(1) for rank in range(2)]
    assert len(alone) == len(ranks[0])
    for whole, *parts in zip(alone, *ranks, strict=True):
        together = [batch for part in parts for batch in part.batches]
        for one, other in zip(whole.batches, together, strict=True):
            for left, right in zip(one, other, strict=True):
                np.testing.assert_array_equal(left, right)


def test_the_last_step_is_filled_up_with_batches_that_teach_nothing(store: Store) -> None:
    world = 7
    batches = len(plan_of(store).epoch(0))
    assert batches % world
    last = [plan_of(store, sharding=Sharding(rank, world)).epoch(0).steps() for rank in range(world)]
    empty = [step for step in (list(steps)[-1] for steps in last) if not pairs_of(iter([step]))]
    assert len(empty) == world - batches % world
    for step in empty:
        check_tail(step.batches[0], fit_shape(SECTION, store))
        assert (step.batches[0].labels == IGNORED).all()
        assert step.target_tokens > 0, "the other processes' tokens count"


def test_a_step_is_the_same_whenever_it_is_asked_for(store: Store) -> None:
    epoch = plan_of(store).epoch(2)
    middle = len(epoch) // 2
    resumed = next(plan_of(store).epoch(2).steps(middle))
    for left, right in zip(epoch[middle].batches[0], resumed.batches[0], strict=True):
        np.testing.assert_array_equal(left, right)
    with pytest.raises(IndexError, match="no step"):
        epoch[len(epoch)]


def test_order_changes_with_the_epoch_and_with_the_seed(store: Store) -> None:
    epochs = [plan_of(store, seed=seed).epoch(epoch) for seed, epoch in ((1, 0), (1, 1), (2, 0))]
    orders = [epoch.packing.order.tolist() for epoch in epochs]
    assert orders[0] != orders[1] != orders[2] != orders[0]
    assert [sorted(order) for order in orders] == [list(range(300))] * 3


def test_epochs_take_the_segmentations_in_turn(store: Store) -> None:
    targets = {
        epoch: {tuple(pair.source): pair.target for pair in pairs_of(plan_of(store).epoch(epoch).steps())}
        for epoch in range(6)
    }
    assert targets[0] == targets[3]
    assert targets[1] == targets[2] == targets[4] == targets[5]
    assert all(targets[1][source] == [target[0], *target] for source, target in targets[0].items())


def test_bands_are_drawn_evenly_and_wholly_used_in_the_course_of_epochs(
    make_store: Callable[..., Store],
) -> None:
    sizes = {5: 60, 12: 9, 40: 30}
    lengths = [length for length, size in sizes.items() for _ in range(size)]
    pairs = [PlainPair([number] * 8, [4], [length]) for number, length in enumerate(lengths)]
    store = make_store(pairs)
    plan = BatchPlan(store, fit_shape(SECTION, store), seed=3, length_bands=(10, 20, 30))
    drawn = [Counter(plan.epoch(epoch).packing.order.tolist()) for epoch in range(20)]
    for counts in drawn:
        by_length = Counter[int]()
        for pair, count in counts.items():
            by_length[lengths[pair]] += count
        assert by_length == {5: 33, 12: 33, 40: 33}
    uses = sum(drawn, Counter[int]())
    for length, size in sizes.items():
        counted = [uses[pair] for pair, own in enumerate(lengths) if own == length]
        assert len(counted) == size
        assert max(counted) - min(counted) <= 1
        assert sum(counted) == 20 * 33


def test_bands_must_rise(store: Store) -> None:
    with pytest.raises(ConfigError, match="length_bands must rise"):
        BatchPlan(store, fit_shape(SECTION, store), seed=1, length_bands=(20, 10))


def test_a_batch_too_small_for_the_longest_pair_is_refused(store: Store) -> None:
    with pytest.raises(ConfigError, match="must have room for its longest pair"):
        BatchPlan(store, fit_shape(BatchSection(target_tokens=20), store), seed=1)


def test_a_shape_has_room_for_the_longest_pair_of_all_stores(make_store: Callable[..., Store]) -> None:
    short, long = make_store(random_pairs(1, 50)), make_store([PlainPair([5] * 41, [6] * 33, [1] * 33)])
    shape = fit_shape(BatchSection(target_tokens=128), short, long)
    assert (shape.longest_source, shape.longest_target) == (41, 34)
    assert pairs_of(BatchPlan(long, shape, seed=1).epoch(0).steps())


def test_both_sides_of_a_fitted_shape_fill_up_together(tmp_path: Path) -> None:
    store = store_of(tmp_path / "store", [encoded(random_pairs(5, 4000))])
    shape = fit_shape(BatchSection(target_tokens=2048), store)
    epoch = BatchPlan(store, shape, seed=1).epoch(0)
    full = [epoch[index] for index in range(len(epoch) - 1)]
    assert np.mean([step.target_tokens for step in full]) > 0.9 * shape.target_tokens
    assert np.mean([step.source_tokens for step in full]) > 0.9 * shape.source_tokens
