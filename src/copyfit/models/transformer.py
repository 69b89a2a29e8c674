"""The Transformer encoder-decoder whose decoder positions carry the length budget."""

import math
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from copyfit.models.config import TransformerShape
from copyfit.models.contract import Batch, Cache, Growth, Memory, Model, Started, Tree
from copyfit.nn.attention import Packed, Padded, Rows
from copyfit.nn.blocks import (
    DecoderLayer,
    EncoderLayer,
    Keys,
    Shape,
    View,
    hide,
    linear_weights,
    turned,
    working_dtype,
)
from copyfit.nn.positions import Place, absolute, encode_place


class Transformer(Model):
    """Map sources and a budget to the logits of targets: trained on whole batches, decoded step by step."""

    def __init__(self, section: TransformerShape, *, source_size: int, target_size: int) -> None:
        super().__init__()
        self.section = section
        width = section.width
        shape = Shape(width, section.heads, section.inner, section.dropout, section.norm)
        self.source_table = nn.Embedding(source_size, width)
        self.target_table = nn.Embedding(target_size, width)
        self.dropout = nn.Dropout(section.dropout)
        self.encoder = nn.ModuleList(EncoderLayer(shape) for _ in range(section.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(shape) for _ in range(section.decoder_layers))
        self.encoder_norm = nn.LayerNorm(width) if section.norm == "pre" else nn.Identity()
        self.decoder_norm = nn.LayerNorm(width) if section.norm == "pre" else nn.Identity()
        self.source_keys = nn.Linear(width, section.decoder_layers * 2 * width)
        """Keys and values of the source for all decoder layers, in one product."""
        self.output = nn.Linear(width, target_size, bias=False)
        self._initialise()
        if section.tied:
            self.output.weight = self.target_table.weight

    def forward(self, batch: Batch) -> Float[Tensor, "target_tokens vocabulary"]:
        """Return the logits of every target token's successor."""
        source_rows = Packed(batch.source_offsets, batch.longest_source)
        target_rows = Packed(batch.target_offsets, batch.longest_target)
        memory = self._memory(self._encode(batch.source, batch.source_index, source_rows))
        place = Place(
            batch.target_index.to(batch.consumed.dtype), batch.consumed, batch.budget[batch.target_row]
        )
        tokens = self._embed_target(batch.target, place)
        for layer, keys in zip(self.decoder, memory, strict=True):
            tokens = layer(tokens, target_rows, keys, source_rows)
        return self._score(tokens)

    def start(
        self,
        source: Int[Tensor, "sources time"],
        source_lengths: Int[Tensor, " sources"],
        reads: Int[Tensor, " rows"],
        budget: Float[Tensor, " rows"],
    ) -> Started:
        """Read the sources; return what the decoder needs of them, and an empty past."""
        rows = Padded.of(source_lengths, source.shape[1])
        index = torch.arange(source.shape[1], device=source.device).expand_as(source)
        keys = [turned(joined) for joined in self._memory(self._encode(source, index, rows))]
        own: list[Tree] = [Keys(*(part.index_select(0, reads) for part in layer)) for layer in keys]
        number = torch.zeros_like(budget)[:, None]
        shape = (reads.shape[0], self.section.heads, 1, self.section.width // self.section.heads)
        nothing = Keys(*(keys[0].value.new_zeros(shape) for _ in range(2)))
        unseen = hide(rows.mask.index_select(0, reads))
        return Started((unseen, budget, tuple(own)), (number,), tuple(nothing for _ in self.decoder))

    def step(
        self,
        tokens: Int[Tensor, "rows beams"],
        consumed: Float[Tensor, "rows beams"],
        cache: Cache,
        memory: Memory,
    ) -> tuple[Float[Tensor, "rows beams vocabulary"], Growth]:
        """Feed each hypothesis its last token; return the logits of the next one and what is new."""
        unseen, budget, keys = cast(tuple[Tensor, Tensor, tuple[Keys, ...]], memory)
        (number,) = cast(tuple[Tensor], cache.state)
        hidden = self._embed_target(tokens, Place(number, consumed, budget[:, None].expand_as(consumed)))
        view = View(
            *(mask.to(hidden.dtype) for mask in (hide(cache.seen.flatten(2))[:, None], unseen[:, None, None]))
        )
        entry = []
        layers = zip(self.decoder, cast(tuple[Keys, ...], cache.history), keys, strict=True)
        for layer, past, source_keys in layers:
            hidden, new = cast(DecoderLayer, layer).step(hidden, Keys(*past), Keys(*source_keys), view)
            entry.append(new)
        return self._score(hidden), Growth((number + 1,), tuple(entry))

    def useful_flops(self, source_tokens: int, target_tokens: int) -> float:
        """Count the work of training on these real tokens: 6 a weight passed, attention scores left out."""
        encoder = linear_weights(self.encoder) + linear_weights(self.source_keys)
        decoder = linear_weights(self.decoder) + self.output.weight.numel()
        return 6.0 * (source_tokens * encoder + target_tokens * decoder)

    def _initialise(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=self.section.width**-0.5)

    def _encode(self, source: Tensor, index: Tensor, rows: Rows) -> Tensor:
        positions = absolute(index.float(), self.section.width, self.section.layout)
        tokens = self._embed(self.source_table, source, positions)
        for layer in self.encoder:
            tokens = layer(tokens, rows)
        encoded: Tensor = self.encoder_norm(tokens)
        return encoded

    def _memory(self, encoded: Float[Tensor, "*tokens width"]) -> tuple[Tensor, ...]:
        heads = self.section.heads
        joined: Tensor = self.source_keys(encoded)
        shape = (self.section.decoder_layers, 2, heads, -1)
        return joined.view(*joined.shape[:-1], *shape).unbind(-4)

    def _embed_target(self, tokens: Tensor, place: Place) -> Tensor:
        positions = encode_place(self.section.positions, place, self.section.width, self.section.layout)
        return self._embed(self.target_table, tokens, positions)

    def _embed(self, table: nn.Module, tokens: Tensor, positions: Tensor) -> Tensor:
        embedded: Tensor = table(tokens) * math.sqrt(self.section.width)
        return cast(Tensor, self.dropout((embedded + positions).to(working_dtype(embedded))))

    def _score(self, tokens: Tensor) -> Tensor:
        logits: Tensor = self.output(self.decoder_norm(tokens))
        return logits
