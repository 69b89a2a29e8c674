"""From a matrix to runs: what is trained, what writes, and the hashes by which their records are known."""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from copyfit import bundled
from copyfit.config import read_toml
from copyfit.experiments.matrix import Matrix, SystemSection, TestSection
from copyfit.training.recipe import Recipe

_NO_PART: Any = {"name": True, "data": {"train", "validation", "workers"}, "training": {"tracking"}}
"""What a recipe says that no outcome follows from; the content of the files is hashed apart."""


@dataclass(frozen=True)
class Run:
    """Be a system with a seed, or with those of several models that write together."""

    system: SystemSection
    seeds: tuple[int, ...]
    recipes: tuple[Recipe, ...]
    """What its models follow from, one for each seed; their files of pairs are not set yet."""
    weights: str

    @property
    def title(self) -> str:
        """Name the run for people."""
        return f"{self.system.name}, {named('seed', self.seeds)}"

    @property
    def is_trained(self) -> bool:
        """Tell whether its model is trained for it, or is one of another system."""
        return not (self.system.of or self.system.members)

    def trial_key(self, test: TestSection) -> str:
        """Hash all that the outcome of a test follows from, but for the content of files."""
        return hash_of(
            [
                [recipe_key(recipe) for recipe in self.recipes],
                self.weights,
                self.system.rerank,
                test.model_dump(mode="json", exclude={"name", "data", "batch_size"}),
            ]
        )


def runs_of(matrix: Matrix, settings: Sequence[str] = ()) -> list[Run]:
    """List the runs of a matrix in its order; settings change keys of every recipe."""
    return [run for system in matrix.systems for run in _runs_of(matrix, system, settings)]


def _runs_of(matrix: Matrix, system: SystemSection, settings: Sequence[str]) -> Iterable[Run]:
    origin = matrix.system(system.of) if system.of else system
    path = bundled.find(origin.recipe or matrix.recipe, bundled.RECIPES, "recipe")
    recipe = read_toml(path, Recipe, [*matrix.set, *origin.set, *settings])
    groups = [system.members] if system.members else [(seed,) for seed in matrix.seeds_of(system)]
    for seeds in groups:
        recipes = (recipe.model_copy(update={"name": origin.name, "seed": seed}) for seed in seeds)
        yield Run(system, seeds, tuple(recipes), matrix.weights)


def with_files(recipe: Recipe, train: Iterable[Path], validation: Iterable[Path]) -> Recipe:
    """Set the files of pairs."""
    files = {"train": tuple(map(str, train)), "validation": tuple(map(str, validation))}
    return recipe.model_copy(update={"data": recipe.data.model_copy(update=files)})


def described(recipe: Recipe) -> dict[str, Any]:
    """Return a recipe as plain values, its files by their names: where they lie is nobody else's business."""
    plain: dict[str, Any] = recipe.model_dump(mode="json")
    for kind in ("train", "validation"):
        plain["data"][kind] = [Path(path).name for path in plain["data"][kind]]
    return plain


def recipe_key(recipe: Recipe) -> str:
    """Hash what a training follows from, but for the content of its files."""
    return hash_of(recipe.model_dump(mode="json", exclude=_NO_PART))


def hash_of(value: Any) -> str:
    """Hash plain values."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def slug(name: str) -> str:
    """Turn a name into part of a file's."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def named(what: str, numbers: Sequence[int]) -> str:
    """Name one or several things by their numbers."""
    return f"{what} {numbers[0]}" if len(numbers) == 1 else f"{what}s {', '.join(map(str, numbers))}"
