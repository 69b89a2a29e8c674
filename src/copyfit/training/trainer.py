"""The loop: one step after another, and what is due after some of them."""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

from torch import nn

from copyfit.errors import CopyfitError
from copyfit.training import randomness
from copyfit.training.feeding import Plan, Share, ahead, shares
from copyfit.training.keeping import Keeper, put_weights
from copyfit.training.processes import Processes
from copyfit.training.reporting import Reporter, Stretch, news, training_record, validation_news
from copyfit.training.signals import Stop, polite_stop
from copyfit.training.state import Clock, RunState, Standing, prefixed
from copyfit.training.stepper import Stepper

Validate = Callable[[nn.Module, Path, Processes], Mapping[str, Any]]
"""Try a model, which was saved to a folder, on the validation pairs; `loss` is what the best is chosen by."""


class Verdict(IntEnum):
    """Say what is to be done before the next step; the processes agree on the greatest."""

    GO_ON = 0
    DONE = 1
    STOP = 2


class Limits(NamedTuple):
    """Say when a run is done."""

    steps: int | None = None
    epochs: int | None = None
    minutes: float | None = None

    def share_done(self, standing: Standing, seconds: float) -> float:
        """Return how much of the run is behind, 1 when it is done."""
        parts = ((standing.step, self.steps), (standing.epochs, self.epochs), (seconds / 60, self.minutes))
        return min(max(done / limit for done, limit in parts if limit is not None), 1.0)


class Agenda(NamedTuple):
    """Say what a run does when."""

    rate: Callable[[int], float]
    """The learning rate of a step."""
    limits: Limits
    record_every: int
    validate_every: int
    save_every: int
    max_skipped_steps: int
    average_last: int


@dataclass
class Trainer:
    """Run a stepper over the data, from wherever the run stands."""

    stepper: Stepper
    plan: Plan
    agenda: Agenda
    reporter: Reporter
    keeper: Keeper
    validate: Validate | None
    """None where there are no validation pairs: then the latest model counts as the best."""
    state: RunState

    def __post_init__(self) -> None:
        self.standing = self.state.standing
        self.recorded = self.state.recorded
        self.best_loss = self.state.best_loss
        self.clock = Clock(self.standing.seconds, self.standing.idle_seconds)
        self.processes = self.stepper.processes
        self.tried_step = -1

    def run(self) -> None:
        """Train until the run is done; asked to stop by a signal, save and raise KeyboardInterrupt."""
        pinned = self.processes.device.type == "cuda"
        with polite_stop() as stop, ahead(shares(self.plan, self.standing.position, pinned=pinned)) as steps:
            while (verdict := self._verdict(stop)) is Verdict.GO_ON:
                self._step(next(steps))
            if verdict is Verdict.STOP:
                self._save()
                raise KeyboardInterrupt
            self._finish()

    def _verdict(self, stop: Stop) -> Verdict:
        share = self.agenda.limits.share_done(self.standing, self.clock.seconds)
        self.reporter.bar.advance(share)
        verdict = Verdict.STOP if stop.requested else Verdict.DONE if share == 1 else Verdict.GO_ON
        return Verdict(self.processes.greatest(verdict))

    def _step(self, share: Share) -> None:
        step = self.standing.step + 1
        self.stepper.take(share, self.agenda.rate(step))
        self.standing = replace(
            self.standing,
            step=step,
            epoch=share.following.epoch,
            epoch_step=share.following.step,
            epochs=share.epochs,
            source_tokens=self.standing.source_tokens + share.source_tokens,
            target_tokens=self.standing.target_tokens + share.target_tokens,
        )
        if step % self.agenda.record_every == 0:
            self._record()
        if step % self.agenda.validate_every == 0:
            self._try("last")
        if step % self.agenda.save_every == 0:
            self._save()

    def _finish(self) -> None:
        if self.standing.step > self.recorded.step:
            self._record()
        if self.tried_step != self.standing.step:
            self._try("last")
        self._save()
        if self.stepper.average:
            with self._shown_weights():
                self._publish("average")
        else:
            self._average_the_last()
        self.reporter.bar.note(f"the best model is in {self.keeper.output / 'best'}")

    def _average_the_last(self) -> None:
        if self.processes.first:
            put_weights(self.stepper.model, self.keeper.mean_of_last(self.agenda.average_last))
        self.processes.spread(self.stepper.model)
        self._try("average")

    def _record(self) -> None:
        reading = self.stepper.ledger.read()
        stretch = Stretch(self.recorded, self._now())
        rate = self.agenda.rate(self.standing.step)
        record = training_record(stretch, reading, rate, self.stepper.model)
        self.recorded = stretch.now
        self.reporter.record("train", record)
        self.reporter.bar.tell(news(record))
        if reading.longest_skip >= self.agenda.max_skipped_steps:
            raise CopyfitError(
                f"the loss and its gradient must be finite, {reading.longest_skip} steps in a row had others:"
                " train with a lower learning rate, more warm-up steps or another precision"
            )

    def _try(self, name: str) -> None:
        with self._idle(), randomness.untouched(), self._shown_weights():
            self._publish(name)
            model, folder = self.stepper.model, self.keeper.output / name
            found = self.validate(model, folder, self.processes) if self.validate else {}
            loss = found.get("loss")
            if self.validate is None or (loss is not None and loss < self._loss_to_beat()):
                self.best_loss = loss
                self._publish("best")
        self.tried_step = self.standing.step
        if found:
            record = {"step": self.standing.step, "model": name, **found}
            self.reporter.record("validation", record)
            self.reporter.bar.note(validation_news(record))

    def _loss_to_beat(self) -> float:
        return math.inf if self.best_loss is None else self.best_loss

    def _save(self) -> None:
        with self._idle():
            states = self.processes.gather(randomness.capture())
            if self.processes.first:
                random_states = [prefixed(f"randomness{rank}", state) for rank, state in enumerate(states)]
                tensors = {name: tensor for state in random_states for name, tensor in state.items()}
                self.keeper.save(self.stepper.model, self._run_state(), self.stepper.state() | tensors)
            # A process that leaves early would have the others killed in the middle of it.
            self.processes.wait()

    def _publish(self, name: str) -> None:
        if self.processes.first:
            self.keeper.publish(name, self.stepper.model, self.standing.step)

    def _run_state(self) -> RunState:
        return RunState(
            standing=self._now(),
            recorded=self.recorded,
            journal_bytes=self.reporter.journal_bytes(),
            best_loss=self.best_loss,
            processes=self.processes.shard.size,
            data=self.state.data,
        )

    def _now(self) -> Standing:
        return replace(self.standing, seconds=self.clock.seconds, idle_seconds=self.clock.idle_seconds)

    @contextmanager
    def _idle(self) -> Iterator[None]:
        self.processes.settle()
        with self.clock.idle():
            yield

    def _shown_weights(self) -> AbstractContextManager[None]:
        return self.stepper.average.in_place() if self.stepper.average else nullcontext()
