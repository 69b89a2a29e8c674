"""The queue: bounded, and fair to every client."""

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from copyfit.writing.headline import Result
from copyfit.writing.writer import Effort, Order


@dataclass(frozen=True, eq=False)
class Work:
    """Hold one order on its way: how hard to search, and what to do with what comes of it."""

    order: Order
    effort: Effort
    deliver: Callable[[Result], None]
    offered: float
    """When it began to wait, by the monotonic clock."""


class FairQueue:
    """Let works wait; threads may share it.

    A client may have as many waiting as places are free, so that one alone takes half of them and leaves the
    others for others, and every client is served in turn. A queue with nothing in it takes any one request.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._lines: OrderedDict[str, deque[Work]] = OrderedDict()
        self._size = 0
        self._closed = False
        self._changed = threading.Condition()

    def __len__(self) -> int:
        return self._size

    def offer(self, client: str, works: Sequence[Work]) -> bool:
        """Let all works of a request wait, or none; tell whether they do."""
        with self._changed:
            if not self._has_room(client, len(works)):
                self._drop_unwanted()
            if self._closed or not self._has_room(client, len(works)):
                return False
            self._lines.setdefault(client, deque()).extend(works)
            self._size += len(works)
            self._changed.notify()
            return True

    def take(self, most: int) -> list[Work]:
        """Wait for works and return some that can be searched together; none when the queue is closed."""
        with self._changed:
            while True:
                self._drop_unwanted()
                if self._size or self._closed:
                    return self._collect(most)
                self._changed.wait()

    def close(self) -> None:
        """Take no more works; let who waits for some go on."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _has_room(self, client: str, count: int) -> bool:
        free = self._capacity - self._size
        return not self._size or len(self._lines.get(client, ())) + count <= free

    def _drop_unwanted(self) -> None:
        for client in list(self._lines):
            self._keep(client, deque(work for work in self._lines[client] if work.order.wanted()))

    def _keep(self, client: str, line: deque[Work]) -> None:
        self._size += len(line) - len(self._lines[client])
        self._lines[client] = line
        if not line:
            del self._lines[client]

    def _collect(self, most: int) -> list[Work]:
        """Take a work of each client in turn, all of the effort of the first."""
        works: list[Work] = []
        while len(works) < most:
            client = next((name for name, line in self._lines.items() if self._joins(works, line[0])), None)
            if client is None:
                break
            line = self._lines[client]
            works.append(line.popleft())
            self._size -= 1
            self._lines.move_to_end(client)
            if not line:
                del self._lines[client]
        return works

    @staticmethod
    def _joins(works: Sequence[Work], other: Work) -> bool:
        return not works or works[0].effort == other.effort
