"""The LSTM encoder-decoder (Luong et al. 2015), and LenInit and LenEmb (Kikuchi et al. 2016)."""

from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from copyfit.models.config import RecurrentSection
from copyfit.models.contract import Batch, Cache, Memory, Model, map_tree
from copyfit.nn.attention import Packed, Padded
from copyfit.nn.blocks import linear_weights
from copyfit.nn.recurrent import Decoder, Encoder, RemainingBudget, Source, States, Turns


class Recurrent(Model):
    """Map sources to the logits of targets; the decoder's first cells or its inputs may tell the length."""

    def __init__(self, section: RecurrentSection, *, source_size: int, target_size: int) -> None:
        super().__init__()
        self.section = section
        width, embedding, layers = section.width, section.embedding, section.layers
        self.source_table = nn.Embedding(source_size, embedding)
        self.target_table = nn.Embedding(target_size, embedding)
        self.encoder = Encoder(embedding, width, layers, dropout=section.dropout)
        remaining = section.control == "lenemb"
        self.decoder = Decoder((1 + remaining) * embedding, width, layers, dropout=section.dropout)
        self.remaining = RemainingBudget(section.longest, embedding) if remaining else None
        self.first_cells: nn.Parameter | None = None
        if section.control == "leninit":
            self.first_cells = nn.Parameter(torch.randn(layers, width) * width**-0.5)
        self.dropout = nn.Dropout(section.dropout)
        self.output = nn.Linear(width, target_size)

    def forward(self, batch: Batch) -> Float[Tensor, "target_tokens vocabulary"]:
        """Return the logits of every target token's successor."""
        turns = Turns.of(batch.target_offsets)
        tokens = Packed(batch.source_offsets, batch.longest_source).pad(batch.source)
        read = self._read(tokens, batch.source_offsets.diff(), batch.budget)
        source, states = (map_tree(lambda part: part[turns.rows], tree) for tree in read)
        shares = self._shares(batch.target, batch.budget[batch.target_row] - batch.consumed)
        seen = self.decoder(shares[turns.tokens], turns, States._make(states), Source._make(source))
        return self._score(seen[turns.back])

    def start(
        self,
        source: Int[Tensor, "rows time"],
        source_lengths: Int[Tensor, " rows"],
        budget: Float[Tensor, " rows"],
    ) -> tuple[Memory, Cache]:
        """Read the sources; return what the decoder attends to, and its states before the first token."""
        read, states = self._read(source, source_lengths, budget)
        return (budget, read), states

    def step(
        self,
        tokens: Int[Tensor, "rows beams"],
        consumed: Float[Tensor, "rows beams"],
        cache: Cache,
        memory: Memory,
    ) -> tuple[Float[Tensor, "rows beams vocabulary"], Cache]:
        """Feed each hypothesis its last token; return the logits of the next one and the next states."""
        budget, source = cast(tuple[Tensor, Source], memory)
        share = self._shares(tokens, budget[:, None] - consumed)
        states = self.decoder.step(share, States._make(cache), Source._make(source))
        return self._score(states.seen), states

    def useful_flops(self, source_tokens: int, target_tokens: int) -> float:
        """Count the work of training on these real tokens: 6 a weight passed, attention scores left out."""
        encoder = sum(weight.numel() for weight in self.encoder.parameters() if weight.dim() > 1)
        sources = linear_weights(self.decoder.sources)
        decoder = linear_weights(self.decoder) - sources + linear_weights(self.output)
        return 6.0 * (source_tokens * (encoder + sources) + target_tokens * decoder)

    def _read(self, tokens: Tensor, lengths: Tensor, budget: Tensor) -> tuple[Source, States]:
        # Rows without a token are read as if they had one: no state and no attention is left undefined.
        lengths = lengths.clamp(min=1)
        encoded, hidden, cells = self.encoder(self.dropout(self.source_table(tokens)), lengths)
        source = self.decoder.source(encoded, Padded.of(lengths, encoded.shape[1]).mask)
        if self.first_cells is not None:
            cells = self.first_cells[:, None] * budget[:, None]
        cells = cells.to(torch.promote_types(cells.dtype, torch.float32))
        return source, States(
            torch.zeros_like(hidden[0])[:, None],
            *(tuple(layer[:, None] for layer in layers) for layers in (hidden, cells)),
        )

    def _shares(self, tokens: Tensor, remaining: Tensor) -> Tensor:
        embedded = self.target_table(tokens)
        if self.remaining is not None:
            embedded = torch.cat((embedded, self.remaining(remaining)), dim=-1)
        shares: Tensor = self.decoder.inputs(self.dropout(embedded))
        return shares

    def _score(self, seen: Tensor) -> Tensor:
        logits: Tensor = self.output(self.dropout(seen))
        return logits
