"""How the learning rate changes from step to step."""

import math
from collections.abc import Callable
from typing import Literal

ScheduleName = Literal["inverse-square-root", "cosine"]


def inverse_square_root(step: int, warmup: int) -> float:
    """Rise linearly to 1 at the end of the warm-up, then fall with the square root of the step."""
    return min(step / warmup, math.sqrt(warmup / step)) if warmup else step**-0.5


def cosine(step: int, warmup: int, *, total: int, floor: float) -> float:
    """Rise linearly to 1 at the end of the warm-up, then fall along half a cosine to `floor` at `total`."""
    if step < warmup:
        return step / warmup
    share = min((step - warmup) / max(total - warmup, 1), 1.0)
    return floor + (1 - floor) * (1 + math.cos(math.pi * share)) / 2


def rate_of_step(
    schedule: ScheduleName, *, peak: float, warmup: int, total: int | None, floor: float
) -> Callable[[int], float]:
    """Return the learning rate as a function of the step, the first step being 1."""
    if schedule == "inverse-square-root":
        return lambda step: peak * inverse_square_root(step, warmup)
    if total is None:
        raise ValueError("a cosine needs to know its last step")
    return lambda step: peak * cosine(step, warmup, total=total, floor=floor)
