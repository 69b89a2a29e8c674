"""A polite stop: the run ends when it is ready."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Stop:
    """Say whether somebody asked the run to stop."""

    def __init__(self) -> None:
        self.requested = False

    def request(self, *_: object) -> None:
        """Take down the wish."""
        self.requested = True


@contextmanager
def polite_stop() -> Iterator[Stop]:
    """Take down interrupts and terminations instead of obeying them at once; only the main thread can."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    previous = {number: signal.signal(number, stop.request) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
