import threading
from collections.abc import Iterator
from itertools import count, islice

import numpy as np
import pytest
import torch

from copyfit.data.batches import Sharding
from copyfit.training.feeding import AHEAD, Position, ahead, on_device, on_host, shares
from support_training import random_plan, random_store


def test_steps_follow_each_other_over_the_edges_of_epochs() -> None:
    plan = random_plan(random_store(60))
    size = len(plan.epoch(0))
    assert size > 3
    taken = list(islice(shares(plan, Position(), pinned=False), 2 * size + 1))
    assert [share.following for share in taken[: size + 1]] == [
        *(Position(0, step) for step in range(1, size)),
        Position(1, 0),
        Position(1, 1),
    ]
    assert taken[size - 1].epochs == 1.0
    assert taken[2 * size - 1].epochs == 2.0
    assert taken[0].epochs == pytest.approx(1 / size)


@pytest.mark.parametrize("passed", [0, 2, 5, 11])
def test_the_steps_from_a_position_on_are_those_that_follow_it(passed: int) -> None:
    plan = random_plan(random_store(60), sharding=Sharding(1, 2, 2))
    everything = list(islice(shares(plan, Position(), pinned=False), passed + 3))
    position = everything[passed - 1].following if passed else Position()
    for share, again in zip(everything[passed:], shares(plan, position, pinned=False), strict=False):
        assert share[1:] == again[1:]
        for batch, other in zip(share.batches, again.batches, strict=True):
            for one, two in zip(batch, other, strict=True):
                assert torch.equal(torch.as_tensor(one), torch.as_tensor(two))


def test_a_batch_reaches_the_device_as_it_was_packed() -> None:
    packed = random_plan(random_store(20)).epoch(0)[0].batches[0]
    batch = on_device(on_host(packed), torch.device("cpu"))
    assert batch._fields == packed._fields
    for name, value in packed._asdict().items():
        np.testing.assert_array_equal(np.asarray(getattr(batch, name)), value)
    assert batch.longest_source == packed.longest_source


def test_items_come_in_turn_and_are_computed_ahead_but_not_without_end() -> None:
    computed: list[int] = []
    third = threading.Event()

    def items() -> Iterator[int]:
        for number in count():
            computed.append(number)
            if number == AHEAD:
                third.set()
            yield number

    with ahead(items()) as turns:
        assert next(turns) == 0
        assert third.wait(30)
        assert next(turns) == 1
    assert computed == list(range(len(computed)))
    assert len(computed) <= 2 + AHEAD


def test_an_end_ends_and_a_failure_is_raised_where_its_item_was_due() -> None:
    def failing() -> Iterator[int]:
        yield 1
        raise OSError("the disk is gone")

    with ahead(iter([1, 2, 3])) as turns:
        assert list(turns) == [1, 2, 3]
    with ahead(failing()) as turns:
        assert next(turns) == 1
        with pytest.raises(OSError, match="the disk is gone"):
            next(turns)
