"""Several processes behind one socket, each with its share of the cores; those that die are replaced."""

import logging
import multiprocessing
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from tempfile import TemporaryDirectory
from types import FrameType

from prometheus_client.multiprocess import mark_process_dead

from copyfit.errors import ConfigError, CopyfitError
from copyfit.server.logs import log_as_json
from copyfit.server.metrics import SHARED_FOLDER
from copyfit.server.running import listen, serve
from copyfit.server.settings import Place, Settings
from copyfit.writing.writer import Writer

USER_ERROR = 2
_YOUNG = 5.0
"""A worker that ends before so many seconds have passed would do so again."""
_AFTER_DRAIN = 10.0
_logger = logging.getLogger(__name__)


def run(place: Place, settings: Settings) -> None:
    """Serve a model with one process or several until told to stop."""
    if place.workers < 1:
        raise ConfigError(f"workers must be at least 1, given {place.workers}")
    log_as_json()
    with listen(place.host, place.port) as listening:
        if place.workers == 1:
            serve(Writer(place.models or None, device=place.device), settings, listening, proxy=place.proxy)
        else:
            _supervise(place, settings, listening)


def _supervise(place: Place, settings: Settings, listening: socket.socket) -> None:
    with TemporaryDirectory() as folder:
        # Read by the library of metrics in every worker, when it is loaded there.
        os.environ[SHARED_FOLDER] = folder
        try:
            supervisor = _Supervisor(place, settings, listening)
            with supervisor.stopping_on_signals():
                supervisor.watch()
        finally:
            del os.environ[SHARED_FOLDER]


class _Supervisor:
    def __init__(self, place: Place, settings: Settings, listening: socket.socket) -> None:
        self._given = place, settings, listening
        self._stopping = False
        self._workers: dict[int, tuple[BaseProcess, float]] = {}

    def watch(self) -> None:
        """Keep all workers alive until told to stop, then let them end."""
        for number in range(self._given[0].workers):
            self._start(number)
        try:
            while not self._stopping:
                # A signal does not end this wait, so it is a short one.
                wait([worker.sentinel for worker, _ in self._workers.values()], timeout=0.5)
                self._replace_dead()
        finally:
            self._end()

    @contextmanager
    def stopping_on_signals(self) -> Iterator[None]:
        def stop(_: int, __: FrameType | None) -> None:
            self._stopping = True

        before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _start(self, number: int) -> None:
        worker = multiprocessing.get_context("spawn").Process(
            target=_work, args=(*self._given, number), name=f"copyfit-worker-{number}"
        )
        worker.start()
        self._workers[number] = worker, time.monotonic()

    def _replace_dead(self) -> None:
        for number, (worker, started) in list(self._workers.items()):
            if worker.is_alive() or self._stopping:
                continue
            mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]
            if time.monotonic() - started < _YOUNG:
                raise ConfigError(
                    f"a worker must run, worker {number} ended at once with code {worker.exitcode};"
                    " what it said stands above"
                )
            _logger.error("worker died", extra={"worker": number, "code": worker.exitcode})
            self._start(number)

    def _end(self) -> None:
        for worker, _ in self._workers.values():
            worker.terminate()
        last = time.monotonic() + self._given[1].drain + _AFTER_DRAIN
        for worker, _ in self._workers.values():
            worker.join(max(last - time.monotonic(), 0))
            if worker.is_alive():
                worker.kill()


def _work(place: Place, settings: Settings, listening: socket.socket, number: int) -> None:
    """Be one worker."""
    log_as_json()
    # An interrupt from a keyboard reaches all processes; the supervisor tells this one to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _take_share(number, place.workers)
    try:
        serve(Writer(place.models or None, device=place.device), settings, listening, proxy=place.proxy)
    except CopyfitError as problem:
        _logger.error("worker cannot start", extra={"reason": str(problem)})
        sys.exit(USER_ERROR)


def _take_share(number: int, workers: int) -> None:
    """Keep to some of the cores, so that workers do not fight for them; engines use as many threads."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        share = cores[number % len(cores) :: workers]
        with suppress(OSError):
            os.sched_setaffinity(0, share)
