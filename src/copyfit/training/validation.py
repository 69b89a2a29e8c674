"""How good the model is on pairs it does not learn from."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from copyfit.data.batches import BatchPlan
from copyfit.data.corpus import Pair
from copyfit.data.prepared import PreparedData
from copyfit.evaluation.evaluate import Settings, evaluate
from copyfit.training.feeding import on_device, on_host
from copyfit.training.loss import Objective
from copyfit.training.processes import Processes
from copyfit.training.recipe import ValidationSection
from copyfit.writing.writer import Effort, Writer


class Validator:
    """Try a model on the validation pairs: its loss, and the lengths and words of its headlines."""

    def __init__(
        self, data: PreparedData, plan: BatchPlan, section: ValidationSection, *, mixed: bool
    ) -> None:
        self._plan = plan
        self._mixed = mixed
        self._num_beams = section.num_beams
        self._pairs = _spread(data, section.decode)
        self._unit = data.train.manifest.unit

    def __call__(self, model: nn.Module, folder: Path, processes: Processes) -> dict[str, Any]:
        """Return the loss a token, which all processes work out, and what the first finds in headlines."""
        found: dict[str, Any] = {"loss": mean_loss(model, self._plan, processes, mixed=self._mixed)}
        if processes.first and self._pairs:
            found |= self._headlines(folder, processes.device.type)
        return found

    def _headlines(self, folder: Path, device: str) -> Mapping[str, Any]:
        settings = Settings(Effort(num_beams=self._num_beams))
        evaluation = evaluate(Writer(folder, device=device), self._pairs, unit=self._unit, settings=settings)
        rouge = {
            metric: {"recall": average.recall, "f1": average.f1}
            for metric, average in evaluation.rouge.averages.items()
        }
        return {"length_error": evaluation.length_error._asdict(), "rouge": rouge}


@torch.no_grad()
def mean_loss(model: nn.Module, plan: BatchPlan, processes: Processes, *, mixed: bool) -> float | None:
    """Return the loss of a real token, without smoothing; None where it is no number."""
    objective = Objective(model.eval(), mixed=mixed)
    loss = torch.zeros((), dtype=torch.float64, device=processes.device)
    tokens = 0
    for step in plan.epoch(0).steps():
        for batch in step.batches:
            loss += objective(on_device(on_host(batch), processes.device))
        tokens += step.target_tokens
    mean = processes.total(loss).item() / tokens
    return mean if math.isfinite(mean) else None


def _spread(data: PreparedData, count: int) -> list[Pair]:
    """Take pairs from all over the validation store, as the texts that their tokens stand for."""
    assert data.validation is not None
    pairs = data.validation.pairs
    chosen = np.unique(np.linspace(0, len(pairs) - 1, min(count, len(pairs))).astype(int))
    source, target = data.tokenizers
    return [
        Pair(
            source.decode(pairs.sources.row(int(pairs.source_of[place])).tolist()),
            (target.decode(pairs.targets[0].row(place).tolist()),),
        )
        for place in chosen.tolist()
    ]
