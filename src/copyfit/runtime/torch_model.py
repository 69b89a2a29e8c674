"""Open a checkpoint as a PyTorch model."""

import re
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray
from torch import nn

from copyfit.checkpoint import AGAIN, CONFIG, WEIGHTS, Checkpoint, load_weights
from copyfit.combining import Member
from copyfit.errors import CheckpointError, RequestError
from copyfit.models.build import build_model
from copyfit.models.contract import Model
from copyfit.models.ensemble import Ensemble
from copyfit.runtime.torch_engine import TorchEngine


def open_torch_engine(members: Sequence[Member], *, device: str | None) -> TorchEngine:
    """Open one checkpoint's model, or those of several as an ensemble, on a device, ready to search."""
    place = pick_device(device)
    models = [open_model(*member).to(place) for member in members]
    return TorchEngine(Ensemble(models) if len(models) > 1 else models[0], place)


def open_model(directory: Path, checkpoint: Checkpoint) -> Model:
    """Open a checkpoint's model on the CPU, ready to decode."""
    weights = load_weights(directory)
    # Fresh weights draw from the global random state, which is not ours to move.
    with torch.random.fork_rng(devices=[]):
        model = build_model(
            checkpoint.model, source_size=checkpoint.source.size, target_size=checkpoint.target.size
        )
    try:
        fill(model, weights)
    except ValueError as problem:
        raise CheckpointError(
            f"{directory / WEIGHTS} must hold the weights of {CONFIG}: {problem}; {AGAIN}"
        ) from problem
    return model.eval().requires_grad_(False)


def fill(model: nn.Module, weights: Mapping[str, NDArray[Any]]) -> None:
    """Give a model its weights by name; raise a ValueError that names one that is wrong."""
    expected = model.state_dict()
    # A tied table has two names and may be saved under either one or both.
    needed = {name for name, _ in chain(model.named_parameters(), model.named_buffers())}
    for problem, names in (
        ("is missing", (needed & set(expected)) - set(weights)),
        ("is unknown", set(weights) - set(expected)),
    ):
        if names:
            raise ValueError(f"{min(names)} {problem}")
    for name, array in weights.items():
        shape = tuple(expected[name].shape)
        if shape != array.shape:
            raise ValueError(f"{name} must have the shape {shape}, it has {array.shape}")
        expected[name].copy_(torch.tensor(array))


def pick_device(name: str | None) -> torch.device:
    """Return a device by name, or the best there is."""
    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    match = re.fullmatch(r"cpu|cuda(?::(\d{1,3}))?", name)
    if not match:
        raise RequestError(f"the device must be cpu, cuda or cuda:N, given {name!r}")
    present = torch.cuda.device_count()
    if name != "cpu" and int(match[1] or 0) >= present:
        raise RequestError(f"the device {name} must be there, PyTorch finds {present} GPUs; use cpu")
    return torch.device(name)
