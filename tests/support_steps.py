"""Feed a model token by token, its past kept by plain concatenation."""

from collections.abc import Sequence

import torch
from torch import Tensor

from copyfit.models.contract import Cache, Seq2Seq, leaves, map_tree


class Walk:
    """Keep the hypotheses of some rows; a row a source, unless `reads` shares them."""

    def __init__(
        self,
        model: Seq2Seq,
        sources: Sequence[Sequence[int]],
        budgets: Sequence[float],
        *,
        reads: Sequence[int] | None = None,
        dtype: torch.dtype = torch.float64,
    ) -> None:
        longest = max(map(len, sources))
        padded = torch.tensor([[*source, *[0] * (longest - len(source))] for source in sources])
        lengths = torch.tensor([len(source) for source in sources])
        rows = torch.tensor(range(len(sources)) if reads is None else reads)
        self.model = model
        self.dtype = dtype
        self.memory, self.state, entry = model.start(
            padded, lengths, rows, torch.tensor(budgets, dtype=dtype)
        )
        self.history = map_tree(lambda leaf: leaf[:, :, None][:, :, :0], entry)
        self.seen = torch.zeros(len(rows), 1, 0, 1, dtype=torch.bool)

    def step(self, tokens: Sequence[Sequence[int]], consumed: float) -> Tensor:
        """Feed every hypothesis a token; return the logits of what follows."""
        beams = len(tokens[0])
        if beams != self.seen.shape[1]:
            self._spread(beams)
        told = torch.full((len(tokens), beams), float(consumed), dtype=self.dtype)
        cache = Cache(self.state, self.history, self.seen)
        logits, growth = self.model.step(torch.tensor(tokens), told, cache, self.memory)
        self.state = growth.state
        new = iter(leaves(growth.entry))
        self.history = map_tree(lambda leaf: torch.cat((leaf, next(new)[:, :, None]), dim=2), self.history)
        itself = torch.eye(beams, dtype=torch.bool).expand(len(tokens), beams, beams)
        self.seen = torch.cat((self.seen, itself[:, :, None]), dim=2)
        return logits

    def go_on_from(self, parents: Sequence[Sequence[int]]) -> None:
        """Replace the hypotheses of every row by copies of some of them."""
        chosen = torch.tensor(parents)
        rows = torch.arange(len(parents))[:, None]
        self.state = map_tree(lambda leaf: leaf[rows, chosen], self.state)
        self.seen = self.seen[rows, chosen]

    def _spread(self, beams: int) -> None:
        assert self.seen.shape[1:3] == (1, 0), "only the first step may widen"
        self.go_on_from([[0] * beams] * len(self.seen))
        self.seen = self.seen.expand(-1, -1, -1, beams)
        self.history = map_tree(lambda leaf: leaf.repeat(1, 1, 1, beams, 1), self.history)
