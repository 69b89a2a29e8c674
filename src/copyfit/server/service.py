"""What all requests of one service share, and how it comes to its end."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.requests import Request

from copyfit.server.batcher import Batcher
from copyfit.server.keys import Keys
from copyfit.server.metrics import Metrics
from copyfit.server.problems import not_ready
from copyfit.server.settings import Settings
from copyfit.writing.contract import Writes


class Service:
    """Hold the model, the queue in front of it, the keys to it, and whether new work is taken."""

    def __init__(self, writer: Writes, settings: Settings) -> None:
        self.name = writer.name
        self.natural = writer.natural
        self.settings = settings
        self.metrics = Metrics()
        self.batcher = Batcher(writer, self.metrics, capacity=settings.queue, batch_size=settings.batch_size)
        self._keys = Keys(settings.keys)
        self._running = 0
        self._stopping = False
        self._idle = asyncio.Event()

    @property
    def needs_key(self) -> bool:
        """Tell whether requests must bring a key."""
        return self._keys.some

    def client_of(self, request: Request) -> str:
        """Return who asks, by key or else by address; refuse who must have a key and has none."""
        if self._keys.some:
            return self._keys.holder(request.headers.get("authorization", ""))
        return request.client.host if request.client else "unknown"

    def check_ready(self) -> None:
        """Refuse new work when the service is about to stop."""
        if self._stopping:
            raise not_ready()

    @contextmanager
    def working(self) -> Iterator[None]:
        """Count a request as running, so that the end waits for it."""
        self.check_ready()
        self._running += 1
        self.metrics.running.inc()
        try:
            yield
        finally:
            self._running -= 1
            self.metrics.running.dec()
            self._tell_idle()

    async def drain(self) -> None:
        """Take no new work, and wait until what runs has ended."""
        self._stopping = True
        self._tell_idle()
        await self._idle.wait()

    def _tell_idle(self) -> None:
        if self._stopping and not self._running:
            self._idle.set()
