"""The convolutional encoder-decoder (Gehring et al. 2017), and LC, which multiplies by the length."""

from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from copyfit.models.config import ConvolutionalSection
from copyfit.models.contract import Batch, Cache, Growth, Memory, Model, Started
from copyfit.nn.attention import Packed, Padded
from copyfit.nn.blocks import linear_weights
from copyfit.nn.convolution import (
    HALF,
    DecoderBlock,
    EncoderBlock,
    Neighbours,
    PlacedEmbedding,
    SourceView,
    linear,
)


class Convolutional(Model):
    """Map sources to the logits of targets; as LC, the desired length scales what the decoder reads."""

    def __init__(self, section: ConvolutionalSection, *, source_size: int, target_size: int) -> None:
        super().__init__()
        self.section = section
        width, kernel, embedding, dropout = section.width, section.kernel, section.embedding, section.dropout
        self.source_table = PlacedEmbedding(source_size, section.places, embedding, dropout=dropout)
        self.source_inwards = linear(embedding, width, gain=1 - dropout)
        self.encoder = nn.ModuleList(
            EncoderBlock(width, kernel, dropout=dropout) for _ in range(section.encoder_blocks)
        )
        self.source_outwards = linear(width, embedding)
        self.target_table = PlacedEmbedding(target_size, section.places, embedding, dropout=dropout)
        self.target_inwards = linear(embedding, width, gain=1 - dropout)
        self.decoder = nn.ModuleList(
            DecoderBlock(width, kernel, embedding, dropout=dropout) for _ in range(section.decoder_blocks)
        )
        self.target_outwards = linear(width, embedding)
        self.dropout = nn.Dropout(dropout)
        self.output = linear(embedding, target_size, gain=1 - dropout)

    def forward(self, batch: Batch) -> Float[Tensor, "target_tokens vocabulary"]:
        """Return the logits of every target token's successor."""
        row = batch.target_row
        embedded = self.target_table(batch.target, batch.target_index)
        view = SourceView(
            embedded,
            Packed(batch.target_offsets, batch.longest_target),
            self._encode(batch.source, batch.source_index, batch.source_index),
            Packed(batch.source_offsets, batch.longest_source),
            source_lengths=batch.source_offsets.diff()[row],
        )
        neighbours = Neighbours.of(batch.target_index, range(1 - self.section.kernel, 1))
        tokens = self._tell(self.target_inwards(embedded), batch.budget[row])
        for block in self.decoder:
            tokens = block(tokens, neighbours, view)
        return self._score(tokens)

    def start(
        self,
        source: Int[Tensor, "sources time"],
        source_lengths: Int[Tensor, " sources"],
        reads: Int[Tensor, " rows"],
        budget: Float[Tensor, " rows"],
    ) -> Started:
        """Read the sources; return their keys and values, and the past of an empty hypothesis."""
        mask = Padded.of(source_lengths, source.shape[1]).mask
        places = torch.arange(source.shape[1], device=source.device).expand_as(source)
        joined = self._encode(source, places, places.masked_fill(~mask, -1)).index_select(0, reads)
        before = joined.new_zeros(joined.shape[0], 1, (self.section.kernel - 1) * self.section.width)
        place = torch.zeros_like(reads)[:, None]
        memory = (mask.index_select(0, reads), budget, joined)
        return Started(memory, (place, *(before for _ in self.decoder)), ())

    def step(
        self,
        tokens: Int[Tensor, "rows beams"],
        consumed: Float[Tensor, "rows beams"],  # noqa: ARG002
        cache: Cache,
        memory: Memory,
    ) -> tuple[Float[Tensor, "rows beams vocabulary"], Growth]:
        """Feed each hypothesis its last token; return the logits of the next one and what is new."""
        mask, budget, joined = cast(tuple[Tensor, ...], memory)
        place, *past = cast(tuple[Tensor, ...], cache.state)
        embedded = self.target_table(tokens, place)
        rows = Padded(mask)
        view = SourceView(embedded, rows, joined, rows, source_lengths=mask.sum(dim=-1, keepdim=True))
        hidden = self._tell(self.target_inwards(embedded), budget[:, None])
        grown = []
        for block, before in zip(self.decoder, past, strict=True):
            hidden, after = cast(DecoderBlock, block).step(hidden, before, view)
            grown.append(after)
        return self._score(hidden), Growth((place + 1, *grown), ())

    def useful_flops(self, source_tokens: int, target_tokens: int) -> float:
        """Count the work of training on these real tokens: 6 a weight passed, attention scores left out."""
        encoder = (self.source_inwards, self.encoder, self.source_outwards)
        decoder = (self.target_inwards, self.decoder, self.target_outwards, self.output)
        return 6.0 * (
            source_tokens * sum(map(linear_weights, encoder))
            + target_tokens * sum(map(linear_weights, decoder))
        )

    def _encode(self, source: Tensor, places: Tensor, own: Tensor) -> Tensor:
        """Return the keys and values of the sources; `own` are the places of what is no padding."""
        embedded = self.source_table(source, places)
        tokens = self.source_inwards(embedded)
        kernel = self.section.kernel
        neighbours = Neighbours.of(own, range(-((kernel - 1) // 2), kernel // 2 + 1))
        for block in self.encoder:
            tokens = block(tokens, neighbours)
        keys = self.source_outwards(tokens)
        return torch.stack((keys, (keys + embedded) * HALF), dim=-2)[..., None, :]

    def _tell(self, tokens: Tensor, budget: Tensor) -> Tensor:
        if self.section.control == "none":
            return tokens
        # In the budget's own type, since the products' may not tell 75 from 76.
        return (tokens * (budget / self.section.divisor)[..., None]).to(tokens.dtype)

    def _score(self, tokens: Tensor) -> Tensor:
        logits: Tensor = self.output(self.dropout(self.target_outwards(tokens)))
        return logits
