"""Several models as one."""

import math
from collections.abc import Sequence
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from copyfit.models.contract import Cache, Memory, Seq2Seq


class Ensemble:
    """Average the probabilities of models that share their vocabularies; itself a `Seq2Seq`."""

    def __init__(self, models: Sequence[Seq2Seq]) -> None:
        self.models = tuple(models)

    def start(
        self,
        source: Int[Tensor, "rows time"],
        source_lengths: Int[Tensor, " rows"],
        budget: Float[Tensor, " rows"],
    ) -> tuple[Memory, Cache]:
        """Let every model read the sources."""
        started = [model.start(source, source_lengths, budget) for model in self.models]
        return tuple(memory for memory, _ in started), tuple(cache for _, cache in started)

    def step(
        self,
        tokens: Int[Tensor, "rows beams"],
        consumed: Float[Tensor, "rows beams"],
        cache: Cache,
        memory: Memory,
    ) -> tuple[Float[Tensor, "rows beams vocabulary"], Cache]:
        """Return the logarithm of the models' mean probabilities."""
        parts = zip(
            self.models, cast(tuple[Cache, ...], cache), cast(tuple[Memory, ...], memory), strict=True
        )
        stepped = [model.step(tokens, consumed, past, source) for model, past, source in parts]
        logs = torch.stack([logits.log_softmax(-1) for logits, _ in stepped])
        return logs.logsumexp(0) - math.log(len(self.models)), tuple(grown for _, grown in stepped)
