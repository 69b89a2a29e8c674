"""Open a file that PyTorch wrote, and let nothing in it run."""

import re
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.serialization import safe_globals

from copyfit.errors import CheckpointError


class _Meter:
    """Stand for the running averages of a training, which nothing here reads."""


_METERS = ("AverageMeter", "StopwatchMeter", "TimeMeter")
"""What fairseq's trainer leaves in every file besides plain values."""
_ALLOWED: list[Any] = [Namespace, *((_Meter, f"fairseq.meters.{name}") for name in _METERS)]
_NAMED = re.compile(r"GLOBAL ([\w.]+)")


class Archive(NamedTuple):
    """Hold what matters of a file: how the model was made, and its weights by their names."""

    arguments: Mapping[str, object]
    weights: Mapping[str, Tensor]


def open_archive(path: Path) -> Archive:
    """Read plain values and tensors; refuse a file that holds anything else, before it can act."""
    content = _load(path)
    if not isinstance(content, dict):
        raise CheckpointError(f"{path} must be a table with args and model, it is {_kind(content)}")
    arguments, weights = content.get("args"), content.get("model")
    if not isinstance(arguments, Namespace):
        raise CheckpointError(f"{path}: args must be an argparse.Namespace, it is {_kind(arguments)}")
    if not isinstance(weights, Mapping):
        raise CheckpointError(f"{path}: model must be a table of weights, it is {_kind(weights)}")
    for name, weight in weights.items():
        if not (isinstance(name, str) and _is_plain(weight)):
            raise CheckpointError(
                f"{path}: model must hold dense tensors of floats by name, {name!r} is none"
            )
    return Archive(vars(arguments), weights)


def _load(path: Path) -> object:
    try:
        with safe_globals(_ALLOWED):
            return torch.load(path, map_location="cpu", weights_only=True)
    except OSError as problem:
        raise CheckpointError(f"cannot read {path}: {problem.strerror or problem}") from problem
    except Exception as problem:  # a pickle that is damaged, or made to harm, fails in any way
        raise CheckpointError(_refusal(path, problem)) from problem


def _refusal(path: Path, problem: Exception) -> str:
    asked = _NAMED.search(str(problem))
    if asked:
        return f"{path} must hold plain values and weights only, it asks for {asked[1]}: nothing was run"
    reason = " ".join(str(problem).split(". ")[0].split()) or type(problem).__name__
    return f"{path} must be a whole file that torch.save wrote: {reason}"


def _is_plain(weight: object) -> bool:
    return (
        isinstance(weight, Tensor)
        and weight.layout == torch.strided
        and weight.is_floating_point()
        and weight.device.type == "cpu"
    )


def _kind(value: object) -> str:
    return "not there" if value is None else f"of the type {type(value).__name__}"
