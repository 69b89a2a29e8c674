"""How fast a writer is on this machine."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from time import perf_counter
from typing import Any

from copyfit.errors import RequestError
from copyfit.writing.requests import Wish
from copyfit.writing.writer import Effort, Order, Writer

LEAST_ROUNDS = 3
"""So many times is every text or batch timed, however long it takes."""
LENGTHS = (30, 45, 60, 75)
"""The lengths that are asked for in turn, when none are named: budgets are mixed in real work."""


@dataclass(frozen=True)
class Speed:
    """Say how long a headline takes when it is asked for alone, and in batches."""

    model: str
    opening_seconds: float
    """From nothing to a model that is ready."""
    first_milliseconds: float
    """The first headline, when nothing is warm."""
    milliseconds: float
    """The median of one headline asked for alone."""
    slowest_milliseconds: float
    batch_size: int
    headlines_per_second: float
    """In batches of mixed lengths; the best round."""

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return asdict(self)


def measure(
    open_writer: Callable[[], Writer],
    texts: Sequence[str],
    *,
    lengths: Sequence[int] = LENGTHS,
    effort: Effort,
    seconds: float = 5.0,
) -> Speed:
    """Write headlines of some texts for about so many seconds alone, and as many in batches."""
    if seconds <= 0:
        raise RequestError(f"seconds must be above 0, given {seconds:g}")
    effort.check()
    wishes = [Wish(length) for length in lengths]
    orders = [Order(text, wishes[place % len(wishes)]) for place, text in enumerate(texts)]
    started = perf_counter()
    writer = open_writer()
    opening = perf_counter() - started
    for wish in wishes:
        wish.resolve(writer.natural)
    first, *alone = _rounds(lambda turn: _fulfil(writer, [orders[turn % len(orders)]], effort), seconds)
    size = effort.batch_size
    batch = (orders * -(-size // len(orders)))[:size]
    together = _rounds(lambda _: _fulfil(writer, batch, effort), seconds)
    return Speed(
        model=writer.name,
        opening_seconds=opening,
        first_milliseconds=1000 * first,
        milliseconds=1000 * median(alone),
        slowest_milliseconds=1000 * max(alone),
        batch_size=size,
        headlines_per_second=size / min(together),
    )


def _fulfil(writer: Writer, orders: Sequence[Order], effort: Effort) -> None:
    for result in writer.fulfil(orders, effort):
        if result.error is not None:
            raise RequestError(result.error)


def _rounds(work: Callable[[int], None], seconds: float) -> list[float]:
    """Time some work again and again until the time is up."""
    times: list[float] = []
    while len(times) < LEAST_ROUNDS or sum(times) < seconds:
        started = perf_counter()
        work(len(times))
        times.append(perf_counter() - started)
    return times
