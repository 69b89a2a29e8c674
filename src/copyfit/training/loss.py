"""What training makes small."""

from contextlib import AbstractContextManager, nullcontext

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from copyfit.data.batches import IGNORED
from copyfit.models.contract import Batch


def summed_loss(
    logits: Float[Tensor, "tokens vocabulary"], labels: Int[Tensor, " tokens"], smoothing: float = 0.0
) -> Float[Tensor, ""]:
    """Sum the cross entropy over the real tokens; `smoothing` of each label is spread over the vocabulary."""
    exact = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return cross_entropy(
        exact, labels.long(), ignore_index=IGNORED, label_smoothing=smoothing, reduction="sum"
    )


class Objective(nn.Module):
    """Be a model and its loss as one module, so that both are compiled and wrapped as one."""

    def __init__(self, model: nn.Module, *, smoothing: float = 0.0, mixed: bool = False) -> None:
        super().__init__()
        self.model = model
        self.smoothing = smoothing
        self.mixed = mixed
        """Whether matrix products are computed in bfloat16."""

    def forward(self, batch: Batch) -> Float[Tensor, ""]:
        """Return the summed loss of a batch; the caller divides it by the tokens of the whole step."""
        with self._products(batch.source.device.type):
            logits = self.model(batch)
        return summed_loss(logits, batch.labels, self.smoothing)

    def _products(self, device: str) -> AbstractContextManager[object]:
        return torch.autocast(device, torch.bfloat16) if self.mixed else nullcontext()
