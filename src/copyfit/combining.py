"""Several checkpoints as one: what they must share, and the mean of their weights."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from copyfit.checkpoint import Checkpoint, load_weights, open_checkpoint, save_checkpoint
from copyfit.errors import CheckpointError
from copyfit.text.words import WordList

Weights = Mapping[str, NDArray[np.floating]]


class Member(NamedTuple):
    """Hold a checkpoint and the folder that its weights are in."""

    directory: Path
    checkpoint: Checkpoint


def open_members(directories: Iterable[Path]) -> list[Member]:
    """Open several checkpoints, all but their weights."""
    return [Member(directory, open_checkpoint(directory)) for directory in directories]


def combine(members: Sequence[Member]) -> Checkpoint:
    """Return what models are together, whose vocabularies and unit must be the same."""
    first, *others = members
    if not others:
        return first.checkpoint
    for other in others:
        _check_equal(first, other, ("source vocabulary", "target vocabulary", "unit"))
    checkpoints = [member.checkpoint for member in members]
    return replace(
        first.checkpoint,
        name="+".join(checkpoint.name for checkpoint in checkpoints),
        words=WordList(word for checkpoint in checkpoints for word in checkpoint.words),
        natural_length=round(np.mean([checkpoint.natural_length for checkpoint in checkpoints])),
        longest_source=min(checkpoint.longest_source for checkpoint in checkpoints),
        facts={},
    )


def average(directories: Sequence[Path], output: Path) -> None:
    """Write a checkpoint whose weights are the means of those of several others of one shape."""
    members = open_members(directories)
    if len(members) < 2:
        raise CheckpointError(f"an average is of two or more models, given {len(members)}; name more folders")
    combined = combine(members)
    for other in members[1:]:
        _check_equal(members[0], other, ("model section",))
    weights = mean_weights([load_weights(directory) for directory in directories])
    names = dict.fromkeys(member.checkpoint.name for member in members)
    facts = {
        title: value
        for title, value in members[0].checkpoint.facts.items()
        if all(member.checkpoint.facts.get(title) == value for member in members)
    }
    described = replace(combined, name="+".join(names), facts={**facts, "Average of models": len(members)})
    save_checkpoint(output, described, weights)


def mean_weights(models: Sequence[Weights]) -> dict[str, NDArray[np.floating]]:
    """Return the mean of each weight over several models, whatever their order, in the weights' own type."""
    first = models[0]
    for other in models[1:]:
        kinds = [
            {name: (weight.shape, weight.dtype) for name, weight in model.items()} for model in (first, other)
        ]
        if kinds[0] != kinds[1]:
            name = min(set(kinds[0].items()) ^ set(kinds[1].items()), key=str)[0]
            raise CheckpointError(
                f"models to average must have the same weights of the same shapes and types, {name} differs"
            )
    return {name: _mean([model[name] for model in models]) for name in first}


def _mean(weights: Sequence[NDArray[np.floating]]) -> NDArray[np.floating]:
    # Sorted, since a sum of rounded numbers depends on their order.
    ordered = np.sort(np.stack(weights), axis=0)
    mean: NDArray[np.floating] = ordered.mean(axis=0, dtype=np.float64).astype(weights[0].dtype)
    return mean


def _check_equal(first: Member, other: Member, traits: Sequence[str]) -> None:
    """Raise unless two checkpoints agree, naming all in which they do not."""
    here, there = (_traits(member.checkpoint) for member in (first, other))
    differing = [trait for trait in traits if here[trait] != there[trait]]
    if differing:
        raise CheckpointError(
            f"models to work as one must have the same {' and '.join(differing)},"
            f" {first.directory} and {other.directory} differ in this: train them on the same prepared data"
        )


def _traits(checkpoint: Checkpoint) -> dict[str, object]:
    return {
        "source vocabulary": checkpoint.source.to_json(),
        "target vocabulary": checkpoint.target.to_json(),
        "unit": checkpoint.unit,
        "model section": checkpoint.model,
    }
