"""The recipes that come with copyfit say what a run needs, and other systems are one setting away."""

from pathlib import Path

import pytest
import torch

from copyfit.config import read_toml
from copyfit.models.build import build_model
from copyfit.training.recipe import Recipe

RECIPES = Path(__file__).parents[1] / "recipes"


@pytest.mark.parametrize("path", sorted(RECIPES.glob("*.toml")), ids=lambda path: path.stem)
def test_a_recipe_names_itself(path: Path) -> None:
    assert read_toml(path, Recipe).name == path.stem


@pytest.mark.parametrize(
    ("recipe", "setting", "description"),
    [
        ("tiny", "model.architecture=length-bins", "1 length bins"),
        ("paper", "model.architecture=length-bins", "1 length bins"),
        ("paper", "model.positions=pe", "positions pe"),
        ("conv", "model.control=lc", "control lc"),
        ("conv-tiny", "model.control=lc", "control lc"),
        ("lstm", "model.control=leninit", "control leninit"),
        ("lstm-tiny", "model.control=lenemb", "control lenemb"),
    ],
)
def test_a_system_is_one_setting_away(recipe: str, setting: str, description: str) -> None:
    section = read_toml(RECIPES / f"{recipe}.toml", Recipe, [setting]).model
    assert section.describe() == description
    with torch.device("meta"):
        build_model(section, source_size=30, target_size=20)
