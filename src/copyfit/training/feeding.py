"""Batches on their way to the device: every step's share, assembled ahead of time in the background."""

from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count, islice
from typing import NamedTuple, Protocol, TypeVar

import torch
from torch import Tensor

from copyfit.data.batches import PackedBatch, Step
from copyfit.models.contract import Batch

Item = TypeVar("Item")
AHEAD = 3
"""How many steps' batches wait for the device."""


class Position(NamedTuple):
    """Say which step of which epoch comes next."""

    epoch: int = 0
    step: int = 0


class Epoch(Protocol):
    """What the trainer needs of an epoch: this process's share of its steps."""

    def __len__(self) -> int: ...

    def steps(self, start: int = 0) -> Iterator[Step]:
        """Assemble the steps from one on."""
        ...


class Plan(Protocol):
    """What the trainer needs of `data.batches.BatchPlan`."""

    def epoch(self, epoch: int) -> Epoch:
        """Plan one epoch."""
        ...


class Share(NamedTuple):
    """Hold what this process does in one step, and what all processes do together."""

    batches: tuple[Batch, ...]
    source_tokens: int
    target_tokens: int
    following: Position
    epochs: float
    """How much of the data was seen after the step."""


def shares(plan: Plan, start: Position, *, pinned: bool) -> Iterator[Share]:
    """Assemble step after step, epoch after epoch, without an end."""
    for number in count(start.epoch):
        epoch, first = plan.epoch(number), start.step if number == start.epoch else 0
        size = len(epoch)
        for index, step in enumerate(epoch.steps(first), first + 1):
            following = Position(number, index) if index < size else Position(number + 1, 0)
            batches = tuple(on_host(batch, pinned=pinned) for batch in step.batches)
            yield Share(batches, step.source_tokens, step.target_tokens, following, number + index / size)


def on_host(packed: PackedBatch, *, pinned: bool = False) -> Batch:
    """See arrays as tensors, in pinned memory where they are to be copied while the device works."""
    tensors = {
        name: torch.from_numpy(value).pin_memory() if pinned else torch.from_numpy(value)
        for name, value in packed._asdict().items()
        if not isinstance(value, int)
    }
    return Batch(**tensors, longest_source=packed.longest_source, longest_target=packed.longest_target)


def on_device(batch: Batch, device: torch.device) -> Batch:
    """Copy a batch to the device; the host does not wait."""
    return Batch._make(
        part.to(device, non_blocking=True) if isinstance(part, Tensor) else part for part in batch
    )


@contextmanager
def ahead(items: Iterator[Item], depth: int = AHEAD) -> Iterator[Iterator[Item]]:
    """Compute items in a background thread, at most `depth` of them before they are asked for."""
    with ThreadPoolExecutor(1, thread_name_prefix="batches") as background:
        try:
            yield _in_turn(items, depth, background)
        finally:
            background.shutdown(cancel_futures=True)


def _in_turn(items: Iterator[Item], depth: int, background: ThreadPoolExecutor) -> Generator[Item]:
    def following() -> tuple[Item, ...]:
        return tuple(islice(items, 1))

    waiting = deque(background.submit(following) for _ in range(depth))
    while item := waiting.popleft().result():
        waiting.append(background.submit(following))
        yield item[0]
