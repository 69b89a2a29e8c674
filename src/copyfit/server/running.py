"""The process that listens: how it begins, and how it ends without breaking what runs."""

import asyncio
import logging
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

import uvicorn

from copyfit.errors import ConfigError
from copyfit.server.app import build_app
from copyfit.server.service import Service
from copyfit.server.settings import Settings
from copyfit.writing.contract import Writes
from copyfit.writing.requests import Wish
from copyfit.writing.writer import Effort, Order

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_LAST_SECONDS = 1
"""How long connections have to close when all work has ended or was given up."""
_BACKLOG = 2048
_LAST_PORT = 65535
_logger = logging.getLogger(__name__)


class Server(uvicorn.Server):
    """Listen until told to stop; then refuse new work, finish what runs, and end well."""

    def __init__(self, service: Service, *, proxy: str) -> None:
        super().__init__(
            uvicorn.Config(
                build_app(service),
                lifespan="on",
                log_config=None,
                log_level="warning",
                access_log=False,
                server_header=False,
                forwarded_allow_ips=proxy,
                timeout_graceful_shutdown=_LAST_SECONDS,
                backlog=_BACKLOG,
            )
        )
        self._service = service
        self._draining: asyncio.Task[None] | None = None

    def stop(self, number: int = signal.SIGTERM) -> None:
        """Begin to end; a second interrupt ends it at once. To be called in the thread that serves."""
        if self._draining is None:
            self._draining = asyncio.get_running_loop().create_task(self._drain())
        elif number == signal.SIGINT:
            self.should_exit = self.force_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and tell where."""
        await super().startup(sockets)
        for listening in sockets or []:
            host, port = listening.getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            _logger.info("listening", extra={"url": f"http://{shown}:{port}/", "model": self._service.name})

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take the signals to stop while serving; the end is then a good one, of exit code 0."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()

        def stop(number: int, _: FrameType | None) -> None:
            loop.call_soon_threadsafe(self.stop, number)

        heard = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        before = {number: signal.signal(number, stop) for number in heard}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def _drain(self) -> None:
        _logger.info("draining")
        with suppress(TimeoutError):
            async with asyncio.timeout(self._service.settings.drain):
                await self._service.drain()
        self.should_exit = True


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens, or say why there is none."""
    if not 0 <= port <= _LAST_PORT:
        raise ConfigError(f"port must be from 0 (any that is free) to {_LAST_PORT}, given {port}")
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as problem:
        raise ConfigError(f"cannot listen at {host}, port {port}: {problem}; choose others") from problem


def serve(writer: Writes, settings: Settings, listening: socket.socket, *, proxy: str) -> None:
    """Serve one model at a socket until told to stop."""
    # Before anyone waits for it: what is made when a model first writes.
    writer.fulfil([Order("Copy that fits", Wish(length=12, mode="max"))], Effort(num_beams=1))
    Server(Service(writer, settings), proxy=proxy).run(sockets=[listening])
