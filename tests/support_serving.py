"""A service on a port of its own, and what asks it."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from typing import Any

from copyfit.errors import RequestError
from copyfit.server.running import Server, listen
from copyfit.server.service import Service
from copyfit.server.settings import Settings
from copyfit.writing.contract import Writes
from copyfit.writing.headline import Headline, Result
from copyfit.writing.requests import Natural
from copyfit.writing.writer import Effort, Order

KEYS = ("a-first-key-of-some-length", "another-key-of-some-length")
JSON = {"Content-Type": "application/json"}

PATIENCE = 30.0
"""How long a test waits for what must happen."""


class Slow:
    """Write nothing until told to, and stop as soon as an order is not wanted any more."""

    name = "slow"
    natural = Natural(24, "char")

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.withdrawn: list[str] = []
        self._changed = threading.Condition()
        self._permitted = 0
        self._open = False

    def fulfil(self, orders: Sequence[Order], effort: Effort) -> list[Result]:
        """Wait for the permission of one batch, looking at every order in the meantime."""
        with self._changed:
            self.batches.append([order.text for order in orders])
            self._changed.notify_all()
            while not (self._open or self._permitted) and any(order.wanted() for order in orders):
                self._changed.wait(0.01)
            self._permitted = max(self._permitted - 1, 0)
            self.withdrawn += [order.text for order in orders if not order.wanted()]
            self._changed.notify_all()
        return [self._result(order, effort) for order in orders]

    def permit(self) -> None:
        """Let one batch be written."""
        with self._changed:
            self._permitted += 1
            self._changed.notify_all()

    def open(self) -> None:
        """Let everything be written."""
        with self._changed:
            self._open = True
            self._changed.notify_all()

    def wait_until(self, holds: Callable[["Slow"], bool]) -> None:
        """Wait until something holds."""
        with self._changed:
            assert self._changed.wait_for(lambda: holds(self), PATIENCE)

    def _result(self, order: Order, effort: Effort) -> Result:
        try:
            request = order.wish.resolve(self.natural)
        except RequestError as problem:
            return Result(None, error=str(problem))
        if order.text == "bug":
            raise ZeroDivisionError(order.text)
        lines = tuple(
            Headline("x" * request.budget, request.budget, request.unit, True, True, -1.0 - rank, False, 1)
            for rank in range(effort.count)
        )
        return Result(request, lines)


@dataclass
class Served:
    """Ask a service."""

    port: int
    server: Server
    service: Service
    _open: list[HTTPConnection] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def send(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> HTTPResponse:
        """Send a request and return its answer, with its body still to be read."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        self._open.append(connection)
        connection.request(method, path, body, headers or {})
        return connection.getresponse()

    def get(self, path: str, headers: dict[str, str] | None = None) -> tuple[int, Any]:
        response = self.send("GET", path, None, headers)
        content = response.read()
        return response.status, json.loads(content)

    def post(self, values: object, headers: dict[str, str] | None = None) -> tuple[int, Any]:
        """Ask for headlines."""
        return self.post_bytes(json.dumps(values).encode(), headers)

    def post_bytes(self, body: bytes, headers: dict[str, str] | None = None) -> tuple[int, Any]:
        given = {"Content-Type": "application/json", **(headers or {})}
        response = self.send("POST", "/v1/headlines", body, given)
        content = response.read()
        assert len(content) < 2048 or response.status == 200
        return response.status, json.loads(content)

    def close(self) -> None:
        for connection in self._open:
            connection.close()

    def numbers(self) -> dict[str, float]:
        """Return the metrics by name."""
        lines = self.send("GET", "/metrics").read().decode().splitlines()
        pairs = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        return {name: float(value) for name, value in pairs}


@contextmanager
def serving(writer: Writes, **settings: Any) -> Iterator[Served]:
    """Run a service in a thread."""
    with listen("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        service = Service(writer, Settings(**settings))
        server = Server(service, proxy="127.0.0.1")
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        served = Served(port, server, service)
        try:
            yield served
        finally:
            if isinstance(writer, Slow):
                writer.open()
            served.close()
            server.should_exit = True
            thread.join(PATIENCE)
            assert not thread.is_alive()
