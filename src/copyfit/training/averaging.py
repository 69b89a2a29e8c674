"""An average of weights over the last steps, kept while training."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn


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
