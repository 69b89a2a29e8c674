"""What a run leaves on the disk."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from copyfit.checkpoint import Checkpoint, load_weights, save_checkpoint
from copyfit.combining import mean_weights
from copyfit.errors import CheckpointError
from copyfit.training.folders import complete_or_absent, rotate, step_folders
from copyfit.training.state import RunState, read_state, write_state

Arrays = dict[str, NDArray[np.generic]]


def weights_of(model: nn.Module) -> Arrays:
    """Copy a model's weights to the host."""
    return {name: tensor.numpy(force=True) for name, tensor in model.state_dict().items()}


def put_weights(model: nn.Module, weights: Mapping[str, NDArray[np.generic]]) -> None:
    """Give a model weights that were saved."""
    model.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})


class Saved:
    """Be a saved run, read and found whole."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run, self.tensors = read_state(folder)
        self.weights = load_weights(folder)


class Keeper:
    """Save a run and its models under one output folder."""

    def __init__(self, output: Path, checkpoint: Checkpoint, *, keep: int) -> None:
        self.output = output
        self.checkpoints = output / "checkpoints"
        self._checkpoint = checkpoint
        self._keep = keep

    def save(self, model: nn.Module, run: RunState, tensors: Mapping[str, Tensor]) -> None:
        """Save all that the run needs to go on; then the oldest saves may go."""
        folder = self.checkpoints / f"step-{run.standing.step}"
        if folder.exists():
            return
        try:
            with complete_or_absent(folder) as unfinished:
                self._write(unfinished, model, run.standing.step)
                write_state(unfinished, run, tensors)
            rotate(self.checkpoints, self._keep)
        except OSError as problem:
            raise CheckpointError(
                f"cannot save {folder}: {problem.strerror}; make room and go on with --resume"
            ) from problem

    def publish(self, name: str, model: nn.Module, step: int) -> None:
        """Write a model to be used: best, last or average."""
        self._write(self.output / name, model, step)

    def _write(self, folder: Path, model: nn.Module, step: int) -> None:
        described = replace(self._checkpoint, facts={**self._checkpoint.facts, "Steps": step})
        save_checkpoint(folder, described, weights_of(model))

    def mean_of_last(self, count: int) -> Arrays:
        """Return the mean weights of the last saves."""
        return dict(mean_weights([load_weights(folder) for folder in step_folders(self.checkpoints)[:count]]))


def newest_whole(checkpoints: Path) -> tuple[Path | None, list[Path]]:
    """Find the newest save that is whole, and the damaged ones that are newer."""
    folders = step_folders(checkpoints)
    for place, folder in enumerate(folders):
        try:
            return Saved(folder).folder, folders[:place]
        except CheckpointError:
            if folder is folders[-1]:
                raise
    return None, []
