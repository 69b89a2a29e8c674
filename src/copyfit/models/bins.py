"""Length bins (Fan et al. 2018): a Transformer whose sources begin with a marker for the budget's bin."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from copyfit.models.config import LengthBinsSection
from copyfit.models.contract import Batch, Started
from copyfit.models.transformer import Transformer


class LengthBins(Transformer):
    """Put a marker before every source, a token like any other; leave the rest to the Transformer."""

    def __init__(self, section: LengthBinsSection, *, source_size: int, target_size: int) -> None:
        markers = len(section.edges) + 1
        super().__init__(section, source_size=source_size + markers, target_size=target_size)
        self.first_marker = source_size
        # They follow from the section, and a wider type keeps the bins of budgets near an edge.
        self.register_buffer("edges", torch.tensor(section.edges, dtype=torch.float64), persistent=False)
        self.edges: Tensor

    def forward(self, batch: Batch) -> Float[Tensor, "target_tokens vocabulary"]:
        """Return the logits of every target token's successor."""
        return super().forward(self._marked(batch))

    def start(
        self,
        source: Int[Tensor, "sources time"],
        source_lengths: Int[Tensor, " sources"],
        reads: Int[Tensor, " rows"],
        budget: Float[Tensor, " rows"],
    ) -> Started:
        """Read the sources behind their markers, for every row anew, since its budget chooses the marker."""
        marked = torch.cat((self._markers(budget)[:, None], source.index_select(0, reads)), dim=1)
        rows = torch.arange(reads.shape[0], device=reads.device)
        return super().start(marked, source_lengths.index_select(0, reads) + 1, rows, budget)

    def _markers(self, budget: Tensor) -> Tensor:
        return self.first_marker + (budget[:, None] > self.edges).sum(dim=-1)

    def _marked(self, batch: Batch) -> Batch:
        """Make every row of a batch, one without tokens too, longer by its marker: shapes stay fixed."""
        offsets, tokens = batch.source_offsets, len(batch.source)
        rows = torch.arange(len(offsets), dtype=offsets.dtype, device=offsets.device)
        moved = offsets + rows
        here = torch.arange(tokens, dtype=offsets.dtype, device=offsets.device)
        # A token moves on by the markers of the rows before its own, and of its own.
        there = here + torch.searchsorted(offsets[1:], here, right=True) + 1
        source = batch.source.new_empty(tokens + len(offsets) - 1)
        source[moved[:-1]] = self._markers(batch.budget)
        source[there] = batch.source
        index = batch.source_index.new_zeros(len(source))
        index[there] = batch.source_index + 1
        return batch._replace(
            source=source, source_offsets=moved, source_index=index, longest_source=batch.longest_source + 1
        )
