"""Positions of the decoder: how far along, and how much of the budget is left (equations 1 to 6)."""

from typing import Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

Layout = Literal["paper", "released"]
Scheme = Literal["pe", "ldpe", "ldpe+pe", "lrpe", "lrpe+pe", "pre", "pre+pe"]

PERIOD = 10000.0
"""The base of the ordinary positional encoding."""
RATIO_SPAN = 1000.0
"""What a whole budget is stretched to for PRE, so that many frequencies tell its shares apart."""
RELEASED_PADDING = 1
"""The position that the authors' released code keeps for padding: all zeros there."""
RELEASED_FIRST_POSITION = RELEASED_PADDING + 1
"""Where the authors' released code begins to count."""


class Place(NamedTuple):
    """Where a token stands: its number in the row, the budget consumed up to it, and the row's budget."""

    number: Float[Tensor, "*tokens"]
    consumed: Float[Tensor, "*tokens"]
    budget: Float[Tensor, "*tokens"]


def sinusoid(
    position: Float[Tensor, "*tokens"],
    base: Float[Tensor, "*tokens"] | float,
    dimensions: int,
    layout: Layout = "paper",
) -> Float[Tensor, "*tokens dimensions"]:
    """Return sine and cosine of `position / base ** exponent` for exponents from 0 to nearly 1.

    Layout `paper`: sines and cosines take turns, exponents 2i/d. Layout `released`: all sines, then all
    cosines, exponents i/(d/2 - 1).
    """
    pairs = dimensions // 2
    step = 1 / pairs if layout == "paper" else 1 / max(pairs - 1, 1)
    exponent = torch.arange(pairs, device=position.device, dtype=position.dtype) * step
    log_base = torch.as_tensor(base, device=position.device, dtype=position.dtype).log()
    angle = position[..., None] * torch.exp(-log_base[..., None] * exponent)
    if layout == "paper":
        return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(-2)
    return torch.cat((angle.sin(), angle.cos()), dim=-1)


def absolute(
    number: Float[Tensor, "*tokens"], dimensions: int, layout: Layout
) -> Float[Tensor, "*tokens dimensions"]:
    """Encode the number of a token in its row: PE, equations (1) and (2)."""
    return sinusoid(number + _first(layout), PERIOD, dimensions, layout)


def length_difference(place: Place, dimensions: int, layout: Layout) -> Float[Tensor, "*tokens dimensions"]:
    """Encode the budget that is left: LDPE, equations (3) and (4). Past the budget it is negative.

    One unit past it the released code meets the position of padding.
    """
    left = place.budget - place.consumed + _first(layout)
    encoded = sinusoid(left, PERIOD, dimensions, layout)
    if layout == "paper":
        return encoded
    return encoded.masked_fill((left == RELEASED_PADDING)[..., None], 0.0)


def length_ratio(place: Place, dimensions: int, layout: Layout) -> Float[Tensor, "*tokens dimensions"]:
    """Encode the budget consumed with the budget as the base: LRPE, equations (5) and (6).

    The released code counts the end of the text as a unit of the budget.
    """
    base = place.budget + (1 if layout == "released" else 0)
    return sinusoid(place.consumed + _first(layout), base, dimensions, layout)


def progress_ratio(place: Place, dimensions: int, layout: Layout) -> Float[Tensor, "*tokens dimensions"]:
    """Encode the share of the budget that is consumed: our reading of PRE (arXiv 2512.06938)."""
    return sinusoid(RATIO_SPAN * place.consumed / place.budget, PERIOD, dimensions, layout)


_LENGTH = {"ldpe": length_difference, "lrpe": length_ratio, "pre": progress_ratio}


def encode_place(
    scheme: Scheme, place: Place, dimensions: int, layout: Layout = "paper"
) -> Float[Tensor, "*tokens dimensions"]:
    """Return what is added to the decoder's input: the sum of the encodings that the scheme names."""
    parts = [
        absolute(place.number, dimensions, layout)
        if name == "pe"
        else _LENGTH[name](place, dimensions, layout)
        for name in scheme.split("+")
    ]
    return torch.stack(parts).sum(0)


def _first(layout: Layout) -> int:
    return RELEASED_FIRST_POSITION if layout == "released" else 0
