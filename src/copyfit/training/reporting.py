"""What a run tells: records in the journal and the trackers, a line for the person who watches."""

import resource
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import nn

from copyfit.training.journal import Journal
from copyfit.training.ledger import Reading
from copyfit.training.processes import Processes
from copyfit.training.progress import Display
from copyfit.training.state import Standing


class Reporter:
    """Pass records on to everyone who wants them; only the first process has something to say."""

    def __init__(self, processes: Processes, journal: Journal | None, bar: Display) -> None:
        self._processes = processes
        self.journal = journal
        self.bar = bar

    def record(self, event: str, values: Mapping[str, Any]) -> None:
        """Write a record, send its numbers to the trackers and show the line."""
        if self.journal:
            self.journal.write({"event": event, **values})
        numbers = {f"{event}/{name}": number for name, number in flat(values).items() if name != "step"}
        self._processes.accelerator.log(numbers, step=values.get("step"))

    def journal_bytes(self) -> int:
        """Put the journal on the disk and return its length."""
        return self.journal.sync() if self.journal else 0


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """Return the numbers of nested values by their paths."""
    numbers: dict[str, float] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            numbers |= flat(value, f"{prefix}{name}/")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            numbers[prefix + name] = value
    return numbers


class Stretch(NamedTuple):
    """Be the part of a run between two records."""

    before: Standing
    now: Standing

    def per_second(self, count: float) -> float:
        """Return the rate of something that was counted over the stretch while the run trained."""
        idle = self.now.idle_seconds - self.before.idle_seconds
        seconds = self.now.seconds - self.before.seconds - idle
        return count / max(seconds, 1e-9)


def training_record(stretch: Stretch, reading: Reading, rate: float, model: nn.Module) -> dict[str, Any]:
    """Say how training went since the last record."""
    now, before = stretch.now, stretch.before
    sources = now.source_tokens - before.source_tokens
    targets = now.target_tokens - before.target_tokens
    record = {
        "step": now.step,
        "epoch": round(now.epochs, 6),
        "loss": reading.loss,
        "learning_rate": rate,
        "gradient_norm": reading.gradient_norm,
        "skipped_steps": reading.skipped,
        "source_tokens_per_second": round(stretch.per_second(sources)),
        "target_tokens_per_second": round(stretch.per_second(targets)),
        "seconds": round(now.seconds, 3),
        "memory_bytes": peak_memory(),
    }
    # A method that a model may have: the work that counts, padding and recomputation left out.
    useful_flops = getattr(model, "useful_flops", None)
    if useful_flops is not None:
        record["useful_flops_per_second"] = round(stretch.per_second(useful_flops(sources, targets)))
    return record


def peak_memory() -> int:
    """Return the most bytes held so far: of the device where there is one, else of this process."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def validation_news(record: Mapping[str, Any]) -> str:
    """Say a record of validation in a few words."""
    loss = "no number" if record["loss"] is None else f"{record['loss']:.4f}"
    lengths = f" · lengths met {record['length_error']['exact']:.0%}" if "length_error" in record else ""
    rouge = f" · ROUGE-1 {record['rouge']['R1']['f1']:.3f}" if "rouge" in record else ""
    return f"step {record['step']:,} · {record['model']} · validation loss {loss}{lengths}{rouge}"


def news(record: Mapping[str, Any]) -> str:
    """Say a record of training in a few words."""
    loss = "no number" if record["loss"] is None else f"{record['loss']:.4f}"
    speed = (record["source_tokens_per_second"] + record["target_tokens_per_second"]) / 1000
    skipped = f" · {record['skipped_steps']} steps skipped" if record["skipped_steps"] else ""
    return f"step {record['step']:,} · loss {loss} · {speed:,.1f}k tokens/s{skipped}"
