"""Several models as one."""

import math
from collections.abc import Sequence
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from copyfit.models.contract import Cache, Growth, Memory, Seq2Seq, Started, Tree


class Ensemble:
    """Average the probabilities of models that share their vocabularies; itself a `Seq2Seq`."""

    def __init__(self, models: Sequence[Seq2Seq]) -> None:
        self.models = tuple(models)

    def start(
        self,
        source: Int[Tensor, "sources time"],
        source_lengths: Int[Tensor, " sources"],
        reads: Int[Tensor, " rows"],
        budget: Float[Tensor, " rows"],
    ) -> Started:
        """Let every model read the sources."""
        started = [model.start(source, source_lengths, reads, budget) for model in self.models]
        memories, states, entries = zip(*started, strict=True)
        return Started(memories, states, entries)

    def step(
        self,
        tokens: Int[Tensor, "rows beams"],
        consumed: Float[Tensor, "rows beams"],
        cache: Cache,
        memory: Memory,
    ) -> tuple[Float[Tensor, "rows beams vocabulary"], Growth]:
        """Return the logarithm of the models' mean probabilities."""
        trees = zip(
            *(cast(tuple[Tree, ...], tree) for tree in (cache.state, cache.history, memory)), strict=True
        )
        stepped = [
            model.step(tokens, consumed, Cache(state, history, cache.seen), own)
            for model, (state, history, own) in zip(self.models, trees, strict=True)
        ]
        logs = torch.stack([logits.log_softmax(-1) for logits, _ in stepped])
        states, entries = zip(*(growth for _, growth in stepped), strict=True)
        return logs.logsumexp(0) - math.log(len(self.models)), Growth(states, entries)
