"""Read a recipe from the command line."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from copyfit import bundled
from copyfit.config import read_toml
from copyfit.environment import needing_extra
from copyfit.errors import ConfigError

if TYPE_CHECKING:
    from copyfit.training.recipe import Recipe


def read_recipe(given: Path, settings: Sequence[str] | None) -> "Recipe":
    """Read a recipe, by name or path, with some keys changed; say so where nothing can be trained."""
    with needing_extra("train", "training", ConfigError):
        from copyfit.training.recipe import Recipe
    return read_toml(bundled.find(given, bundled.RECIPES, "recipe"), Recipe, settings or ())
