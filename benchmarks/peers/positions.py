"""What peers need of our positions: tables of them, baked for one length."""

import torch
from torch import Tensor

from copyfit.models.transformer import Transformer
from copyfit.nn.positions import Place, absolute, encode_place

PLACES = 512
"""How many positions a table holds."""


def source_positions(model: Transformer) -> Tensor:
    """Return the encoder's positions."""
    places = torch.arange(PLACES, dtype=torch.float32)
    return absolute(places, model.section.width, model.section.layout)


def target_positions(model: Transformer, length: int) -> Tensor:
    """Return the decoder's positions for texts of one length, a token a character."""
    places = torch.arange(PLACES, dtype=torch.float32)
    place = Place(places, places, torch.full_like(places, length))
    return encode_place(model.section.positions, place, model.section.width, model.section.layout)
