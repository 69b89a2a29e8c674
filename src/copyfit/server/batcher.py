"""The thread that writes: whatever waits is searched together, whoever asked."""

import logging
import threading
import time
from collections.abc import Sequence
from math import ceil

from copyfit.server.metrics import Metrics
from copyfit.server.problems import overloaded
from copyfit.server.waiting import FairQueue, Work
from copyfit.writing.contract import Writes
from copyfit.writing.headline import Result

LONGEST_RETRY = 60
FAILED = "the headline could not be written; the operator of the service finds the cause in its log"
_LAST_SECONDS = 5.0
"""How long a batch that nobody wants any more has to notice it; the process ends without it then."""
_NEWEST = 0.2
"""The weight of the newest batch in the mean time that a headline takes."""
_logger = logging.getLogger(__name__)


class Batcher:
    """Serve works in batches, in a thread of its own; a batch is delivered when all of it is there."""

    def __init__(self, writer: Writes, metrics: Metrics, *, capacity: int, batch_size: int) -> None:
        self._writer = writer
        self._metrics = metrics
        self._queue = FairQueue(capacity)
        self._batch_size = batch_size
        self._seconds_each = 0.0
        self._thread = threading.Thread(target=self._run, name="copyfit-batcher", daemon=True)

    def start(self) -> None:
        """Begin to serve."""
        self._thread.start()

    def stop(self) -> None:
        """Take nothing more, serve what waits, and end."""
        self._queue.close()
        self._thread.join(_LAST_SECONDS)

    def submit(self, client: str, works: Sequence[Work]) -> None:
        """Let the works of a request wait, or refuse them at once."""
        if not self._queue.offer(client, works):
            self._metrics.refused.inc()
            seconds = ceil(len(self._queue) * self._seconds_each)
            raise overloaded(min(max(seconds, 1), LONGEST_RETRY))
        self._metrics.waiting.set(len(self._queue))

    def _run(self) -> None:
        while works := self._queue.take(self._batch_size):
            begun = time.monotonic()
            self._metrics.began(begun - work.offered for work in works)
            self._metrics.waiting.set(len(self._queue))
            for work, result in zip(works, self._serve(works), strict=True):
                work.deliver(result)
            each = (time.monotonic() - begun) / len(works)
            self._seconds_each += _NEWEST * (each - self._seconds_each) if self._seconds_each else each

    def _serve(self, works: Sequence[Work]) -> list[Result]:
        try:
            return self._writer.fulfil([work.order for work in works], works[0].effort)
        except Exception:
            # A bug that one text brings out must not fail the others of its batch, nor end this thread.
            _logger.exception("batch failed", extra={"orders": len(works)})
            if len(works) == 1:
                return [Result(None, error=FAILED)]
            return [result for work in works for result in self._serve([work])]
