"""Gated convolutions over rows of tokens, padded or end to end, and blocks of them (Gehring et al. 2017)."""

import math
from typing import NamedTuple, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import glu

from copyfit.nn.attention import Rows
from copyfit.nn.blocks import working_dtype

HALF = math.sqrt(0.5)
"""Keeps the variance of a sum of two."""


class Neighbours(NamedTuple):
    """Say for every token which of the tokens around it belong to its row."""

    distances: range
    """Where a kernel looks, as seen from a token."""
    own: tuple[Tensor, ...]
    """For each distance whether the token there is of the same row, [*tokens, 1]."""

    @classmethod
    def of(cls, places: Int[Tensor, "*tokens"], distances: range) -> "Neighbours":
        """Tell rows apart by the places of their tokens, counted from 0; negative ones are padding."""
        near = [(distance, places.roll(-distance, -1)) for distance in distances]
        own = (((there == places + distance) & (there >= 0))[..., None] for distance, there in near)
        return cls(distances, tuple(own))

    def window(self, tokens: Float[Tensor, "*tokens width"]) -> Float[Tensor, "*tokens window"]:
        """Lay what a kernel sees from each token side by side, zeros where its row has no token."""
        parts = [
            tokens.roll(-distance, -2).where(own, 0) if distance else tokens
            for distance, own in zip(self.distances, self.own, strict=True)
        ]
        return torch.cat(parts, dim=-1)


class SourceView(NamedTuple):
    """Hold what all attentions of a decoder have in common."""

    embedded: Float[Tensor, "*tokens embedding"]
    """The decoder's own input."""
    rows: Rows
    joined: Float[Tensor, "*others 2 1 embedding"]
    """Keys and values of the source."""
    source_rows: Rows
    source_lengths: Int[Tensor, "*tokens"]
    """How many tokens the source of each token has."""


def linear(features: int, outputs: int, *, gain: float = 1.0) -> nn.Linear:
    """Make a linear map that multiplies the variance of its inputs by `gain`."""
    made = nn.Linear(features, outputs)
    nn.init.normal_(made.weight, std=math.sqrt(gain / features))
    nn.init.zeros_(made.bias)
    return made


class PlacedEmbedding(nn.Module):
    """Embed tokens, each with a learned vector for its place."""

    def __init__(self, size: int, places: int, embedding: int, *, dropout: float) -> None:
        super().__init__()
        self.tokens = nn.Embedding(size, embedding)
        self.places = nn.Embedding(places, embedding)
        self.dropout = nn.Dropout(dropout)
        for table in (self.tokens, self.places):
            nn.init.normal_(table.weight, std=0.1)

    def forward(
        self, tokens: Int[Tensor, "*tokens"], places: Int[Tensor, "*tokens"]
    ) -> Float[Tensor, "*tokens embedding"]:
        """Return the sum of both vectors; places beyond the table share its last vector."""
        placed = self.places(places.clamp(max=self.places.num_embeddings - 1))
        embedded: Tensor = self.dropout(self.tokens(tokens) + placed)
        return embedded.to(working_dtype(embedded))


class GatedConvolution(nn.Module):
    """Map what a kernel sees to a token, by a linear map and a gate (GLU)."""

    def __init__(self, width: int, kernel: int, *, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        # Gates are half open at first, which quarters the variance; dropout enlarges it.
        self.map = linear(kernel * width, 2 * width, gain=4 * (1 - dropout))

    def forward(
        self, tokens: Float[Tensor, "*tokens width"], neighbours: Neighbours
    ) -> Float[Tensor, "*tokens width"]:
        """Convolve all tokens at once."""
        return glu(self.map(neighbours.window(self.dropout(tokens))))

    def step(
        self, tokens: Float[Tensor, "rows beams width"], past: Float[Tensor, "rows beams before"]
    ) -> tuple[Float[Tensor, "rows beams width"], Float[Tensor, "rows beams before"]]:
        """Convolve one more token of every hypothesis; `past` is what the kernel sees before it."""
        window = torch.cat((past, self.dropout(tokens)), dim=-1)
        return glu(self.map(window)), window[..., tokens.shape[-1] :]


class SourceAttention(nn.Module):
    """Let tokens of a target see its source, by what they are as much as by what has become of them."""

    def __init__(self, width: int, embedding: int) -> None:
        super().__init__()
        self.inputs = linear(width, embedding)
        self.outputs = linear(embedding, width)

    def forward(
        self, tokens: Float[Tensor, "*tokens width"], view: SourceView
    ) -> Float[Tensor, "*tokens width"]:
        """Add what is seen to the tokens."""
        query = (self.inputs(tokens) + view.embedded) * HALF
        # Products are not scaled here, so take back what the attention divides them by.
        query = (query * math.sqrt(query.shape[-1]))[..., None, :]
        seen = view.rows.attend_across(query, view.joined, view.source_rows)[..., 0, :]
        # A mean of many has a small variance; their number's root makes up for it.
        seen = seen * view.source_lengths.to(seen.dtype).sqrt()[..., None]
        return cast(Tensor, (self.outputs(seen) + tokens) * HALF)


class EncoderBlock(nn.Module):
    """A convolution around each token."""

    def __init__(self, width: int, kernel: int, *, dropout: float) -> None:
        super().__init__()
        self.convolution = GatedConvolution(width, kernel, dropout=dropout)

    def forward(
        self, tokens: Float[Tensor, "*tokens width"], neighbours: Neighbours
    ) -> Float[Tensor, "*tokens width"]:
        """Encode the tokens once more."""
        return cast(Tensor, (self.convolution(tokens, neighbours) + tokens) * HALF)


class DecoderBlock(nn.Module):
    """A convolution up to each token, then attention to the source."""

    def __init__(self, width: int, kernel: int, embedding: int, *, dropout: float) -> None:
        super().__init__()
        self.convolution = GatedConvolution(width, kernel, dropout=dropout)
        self.attention = SourceAttention(width, embedding)

    def forward(
        self, tokens: Float[Tensor, "*tokens width"], neighbours: Neighbours, view: SourceView
    ) -> Float[Tensor, "*tokens width"]:
        """Decode all tokens of known targets at once."""
        return cast(Tensor, (self.attention(self.convolution(tokens, neighbours), view) + tokens) * HALF)

    def step(
        self, tokens: Float[Tensor, "rows beams width"], past: Tensor, view: SourceView
    ) -> tuple[Float[Tensor, "rows beams width"], Tensor]:
        """Decode one more token of every hypothesis."""
        convolved, grown = self.convolution.step(tokens, past)
        return (self.attention(convolved, view) + tokens) * HALF, grown
