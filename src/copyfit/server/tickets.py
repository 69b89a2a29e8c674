"""One request on its way through the batcher: what it waits for, and until when it is wanted."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from copyfit.server.waiting import Work
from copyfit.writing.headline import Result
from copyfit.writing.requests import Wish
from copyfit.writing.writer import Effort, Order


@dataclass(frozen=True)
class Item:
    """Name one text and one length of a request."""

    place: int
    """Which of the items of its request it is."""
    index: int
    """Which of the texts."""
    text: str
    wish: Wish


class Ticket:
    """Collect the results of one request, in the order in which they come."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = items
        self._ended = False
        self._loop = asyncio.get_running_loop()
        self._results: asyncio.Queue[tuple[Item, Result] | Exception] = asyncio.Queue()

    def works(self, effort: Effort) -> list[Work]:
        """Return what is to be done; all of it stops when the ticket ends."""
        now = time.monotonic()
        return [
            Work(Order(item.text, item.wish, self.wanted), effort, partial(self._deliver, item), now)
            for item in self._items
        ]

    def wanted(self) -> bool:
        """Tell whether anyone still waits for the results."""
        return not self._ended

    def end(self, why: Exception) -> None:
        """Let all work on it stop; who waits for results gets the reason."""
        self._ended = True
        self._results.put_nowait(why)

    async def results(self) -> AsyncIterator[tuple[Item, Result]]:
        """Yield each result with its item as it comes; raise the reason when the ticket ends before."""
        for _ in self._items:
            result = await self._results.get()
            if isinstance(result, Exception):
                raise result
            yield result

    def _deliver(self, item: Item, result: Result) -> None:
        # The service may be gone before the work that it gave up has ended.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._results.put_nowait, (item, result))
