"""What can be watched from outside, in the form of Prometheus."""

import os
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from copyfit.writing.headline import Result

SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""How the library is told, and only so, where the workers of one service put their numbers together."""
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """Count what happens."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "copyfit_requests", "Requests answered.", ["route", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "copyfit_request_seconds",
            "How long answers took.",
            ["route"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._headlines = Counter(
            "copyfit_headlines", "Texts and lengths served.", ["outcome"], registry=self._registry
        )
        self._batches = Histogram(
            "copyfit_batch_headlines",
            "How many were searched together.",
            buckets=(1, 2, 4, 8, 16, 32, 64, 128),
            registry=self._registry,
        )
        self._waits = Histogram(
            "copyfit_queue_seconds", "How long works waited.", buckets=_SECONDS, registry=self._registry
        )
        self.waiting = Gauge(
            "copyfit_queue_headlines",
            "How many wait.",
            registry=self._registry,
            multiprocess_mode="livesum",
        )
        self.running = Gauge(
            "copyfit_running_requests",
            "Requests that are being answered.",
            registry=self._registry,
            multiprocess_mode="livesum",
        )
        self.refused = Counter(
            "copyfit_refused_requests",
            "Requests refused because the queue was full.",
            registry=self._registry,
        )

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self._requests.labels(route, status).inc()
        self._seconds.labels(route).observe(seconds)

    def began(self, waits: Iterable[float]) -> None:
        """Count a batch, by how long each of its works waited."""
        seconds = list(waits)
        self._batches.observe(len(seconds))
        for each in seconds:
            self._waits.observe(each)

    def wrote(self, result: Result) -> None:
        """Count what came of one text and one length."""
        if result.error is not None:
            self._headlines.labels("failed").inc()
        else:
            self._headlines.labels("fits" if result.headlines[0].fits else "unfit").inc()

    def page(self) -> bytes:
        """Return all numbers, of all workers where there are several."""
        if SHARED_FOLDER not in os.environ:
            return generate_latest(self._registry)
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)
