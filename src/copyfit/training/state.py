"""What a run needs, besides the weights, to go on as if it had never stopped."""

import hashlib
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import safetensors.torch
from pydantic import ValidationError
from torch import Tensor

from copyfit.config import Section
from copyfit.errors import CheckpointError
from copyfit.training.feeding import Position

FORMAT = 1
FACTS, TENSORS = "training.json", "training.safetensors"


@dataclass(frozen=True)
class Standing:
    """Say how far a run has come."""

    step: int = 0
    epoch: int = 0
    epoch_step: int = 0
    """The next step of the epoch."""
    epochs: float = 0.0
    source_tokens: int = 0
    target_tokens: int = 0
    seconds: float = 0.0
    idle_seconds: float = 0.0
    """Seconds spent on validating and saving."""

    @property
    def position(self) -> Position:
        """Return which step of the data comes next."""
        return Position(self.epoch, self.epoch_step)


class RunState(Section):
    """Hold the plain values of a saved run."""

    standing: Standing = Standing()
    recorded: Standing = Standing()
    """The standing when the journal was last written."""
    journal_bytes: int = 0
    best_loss: float | None = None
    processes: int = 1
    data: str = ""
    """The hash of all that the prepared data follow from."""


class _Facts(Section):
    """Be what training.json says."""

    format: int
    run: RunState
    sha256: str


class Clock:
    """Count the seconds of a run over its stops, and those in which it did not train."""

    def __init__(self, seconds: float = 0.0, idle_seconds: float = 0.0) -> None:
        self._begin = time.monotonic() - seconds
        self.idle_seconds = idle_seconds

    @property
    def seconds(self) -> float:
        """Return the seconds until now."""
        return time.monotonic() - self._begin

    @contextmanager
    def idle(self) -> Iterator[None]:
        """Count a stretch as time in which the run did not train."""
        begin = time.monotonic()
        try:
            yield
        finally:
            self.idle_seconds += time.monotonic() - begin


def write_state(folder: Path, run: RunState, tensors: Mapping[str, Tensor]) -> None:
    """Write what a run needs to go on into a folder that is not in use yet."""
    content = safetensors.torch.save({name: tensor.cpu().contiguous() for name, tensor in tensors.items()})
    facts = _Facts(format=FORMAT, run=run, sha256=hashlib.sha256(content).hexdigest())
    (folder / TENSORS).write_bytes(content)
    (folder / FACTS).write_text(facts.model_dump_json(indent=2) + "\n", encoding="utf-8")


def read_state(folder: Path) -> tuple[RunState, dict[str, Tensor]]:
    """Read what was written, whole and unchanged, or not at all."""
    try:
        facts = _Facts.model_validate_json((folder / FACTS).read_bytes())
        content = (folder / TENSORS).read_bytes()
    except OSError as problem:
        raise CheckpointError(f"cannot go on from {folder}: no {problem.filename} can be read") from problem
    except ValidationError as problem:
        raise CheckpointError(
            f"cannot go on from {folder}: {FACTS} is damaged or of another version"
        ) from problem
    if facts.format != FORMAT or hashlib.sha256(content).hexdigest() != facts.sha256:
        raise CheckpointError(f"cannot go on from {folder}: {TENSORS} is damaged or of another version")
    return facts.run, safetensors.torch.load(content)


def prefixed(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Put a prefix before every name."""
    return {f"{prefix}/{name}": tensor for name, tensor in tensors.items()}


def of_prefix(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors whose names have a prefix, without it."""
    return {
        name.removeprefix(f"{prefix}/"): tensor
        for name, tensor in tensors.items()
        if name.startswith(f"{prefix}/")
    }
