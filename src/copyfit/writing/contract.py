"""What everything that hands out headlines needs of what writes them, here or elsewhere."""

from collections.abc import Sequence
from typing import Protocol

from copyfit.writing.headline import Result
from copyfit.writing.requests import Natural
from copyfit.writing.writer import Effort, Order


class Writes(Protocol):
    """Write headlines."""

    name: str
    natural: Natural

    def fulfil(self, orders: Sequence[Order], effort: Effort) -> list[Result]:
        """Serve many orders together, in their order; one that cannot be served fails alone."""
        ...
