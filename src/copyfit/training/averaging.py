"""Averages of weights: over the last steps while training, over the last checkpoints at the end."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from copyfit.errors import CheckpointError

Weights = Mapping[str, NDArray[np.floating]]


class MovingAverage:
    """Keep an exponential moving average of a model's weights beside it."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.names = [name for name, _ in model.named_parameters()]
        self.weights = [parameter.detach() for parameter in model.parameters()]
        self.averages = [weight.clone() for weight in self.weights]

    def update(self) -> None:
        """Move the average towards the model's present weights."""
        torch._foreach_lerp_(self.averages, self.weights, 1 - self.decay)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Lend the average to the model for a while."""
        kept = [weight.clone() for weight in self.weights]
        torch._foreach_copy_(self.weights, self.averages)
        try:
            yield
        finally:
            torch._foreach_copy_(self.weights, kept)

    def state(self) -> dict[str, Tensor]:
        """Return the averages by the names of their weights."""
        return dict(zip(self.names, self.averages, strict=True))

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Take up averages that were saved."""
        torch._foreach_copy_(self.averages, [state[name] for name in self.names])


def mean_weights(models: Sequence[Weights]) -> dict[str, NDArray[np.floating]]:
    """Return the mean of each weight over several models, whatever their order, in the weights' own type."""
    first = models[0]
    for other in models[1:]:
        shapes = [{name: weight.shape for name, weight in model.items()} for model in (first, other)]
        if shapes[0] != shapes[1]:
            raise CheckpointError("models to average must have the same weights of the same shapes")
    return {name: _mean([model[name] for model in models]) for name in first}


def _mean(weights: Sequence[NDArray[np.floating]]) -> NDArray[np.floating]:
    # Sorted, since a sum of rounded numbers depends on their order.
    ordered = np.sort(np.stack(weights), axis=0)
    mean: NDArray[np.floating] = ordered.mean(axis=0, dtype=np.float64).astype(weights[0].dtype)
    return mean
