"""One step of training: from batches to changed weights."""

from collections.abc import Mapping
from contextlib import nullcontext

import torch
from torch import Tensor, nn

from copyfit.training.averaging import MovingAverage
from copyfit.training.feeding import Share, on_device
from copyfit.training.ledger import Ledger
from copyfit.training.loss import Objective
from copyfit.training.optimizer import (
    clip,
    guarded_step,
    load_optimizer_state,
    make_optimizer,
    optimizer_state,
)
from copyfit.training.processes import Processes
from copyfit.training.recipe import TrainingSection
from copyfit.training.state import of_prefix, prefixed

COMPILING = {"triton.mix_order_reduction": False}
"""Rows and columns of a layer norm's gradient in one kernel take four times as long here as in two."""


class Stepper:
    """Hold all that a step changes: the weights, their moments and average, and the ledger."""

    def __init__(self, model: nn.Module, section: TrainingSection, processes: Processes) -> None:
        self.model = model
        self.section = section
        self.processes = processes
        mixed = section.precision == "bfloat16"
        self.objective = Objective(model, smoothing=section.label_smoothing, mixed=mixed)
        if section.compile:
            self.objective.compile(dynamic=False, options=COMPILING)
        self.wrapped = processes.wrap(self.objective)
        self.optimizer = make_optimizer(
            model,
            section.optimizer,
            betas=section.betas,
            epsilon=section.epsilon,
            weight_decay=section.weight_decay,
        )
        self.average = MovingAverage(model, section.ema_decay) if section.ema_decay else None
        self.ledger = Ledger(processes.device)

    def take(self, share: Share, rate: float) -> None:
        """Change the weights, unless the loss or the gradient is not finite; the host does not wait."""
        self.model.train()
        loss = self._gradients(share)
        norm = clip(self.model.parameters(), self.section.clip_norm or None)
        sound = self.ledger.add(loss, norm, share.target_tokens)
        guarded_step(self.optimizer, rate=rate, sound=sound)
        self.optimizer.zero_grad()
        if self.average:
            self.average.update()

    def state(self) -> dict[str, Tensor]:
        """Return all that steps change but the weights."""
        tensors = prefixed("optimizer", optimizer_state(self.model, self.optimizer))
        tensors |= prefixed("ledger", self.ledger.state())
        return tensors | (prefixed("average", self.average.state()) if self.average else {})

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Take up what was saved; an average that is new begins with the present weights."""
        load_optimizer_state(self.model, self.optimizer, of_prefix("optimizer", tensors))
        self.ledger.load(of_prefix("ledger", tensors))
        average = of_prefix("average", tensors)
        if self.average and average:
            self.average.load(average)

    def _gradients(self, share: Share) -> Tensor:
        # Gradients are averaged over the processes; the sum over all of them divided by all tokens is wanted.
        weight = self.processes.shard.size / share.target_tokens
        total = torch.zeros((), dtype=torch.float64, device=self.processes.device)
        for number, batch in enumerate(share.batches, 1):
            last = number == len(share.batches)
            with nullcontext() if last else self.processes.alone(self.wrapped):
                loss = self.wrapped(on_device(batch, self.processes.device))
                (loss * weight).backward()
            total += loss.detach()
        return self.processes.total(total)
