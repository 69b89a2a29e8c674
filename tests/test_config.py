"""Recipes are read whole or refused in a line that names the key."""

import math
from pathlib import Path

import pytest

from copyfit.config import Section, read_toml, write_toml
from copyfit.errors import ConfigError
from copyfit.training.recipe import Recipe

HERE = Path(__file__).parents[1]
LEAST = 'name = "least"\n[data]\ntrain = ["a.tsv"]\n[training]\nsteps = 1\n'


def read(tmp_path: Path, content: str, *overrides: str) -> Recipe:
    path = tmp_path / "recipe.toml"
    path.write_text(content, encoding="utf-8")
    return read_toml(path, Recipe, overrides)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the key 'name' must be given"),
        (LEAST.replace("steps = 1", ""), "training: one of steps, epochs and minutes must say when"),
        (LEAST.replace("= 1", "= 0"), "training.steps: Input should be greater than or equal to 1, given 0"),
        (LEAST.replace("= 1", '= "many"'), "training.steps: Input should be a valid integer"),
        (LEAST.replace("steps", "stepz"), r"unknown key 'training.stepz' \(did you mean 'steps'\?\)"),
        ("sead = 1\n" + LEAST, r"unknown key 'sead' \(did you mean 'seed'\?\)"),
        ("zzz = 1\n" + LEAST, "unknown key 'zzz'; known keys are batches, data, model, name"),
        (
            LEAST.replace("[data]", '[data]\nunit = "furlong"'),
            "data.unit: the unit must be .*; given 'furlong'",
        ),
        (LEAST + "[model]\nwidht = 4", r"model: unknown key 'widht' \(did you mean 'width'\?\)"),
        (
            LEAST + "[model]\nwidth = 18\nheads = 4",
            "model: width must be a multiple of heads, given 18 and 4",
        ),
        (LEAST + "[model]\ndropout = 2", "model: dropout: Input should be less than 1, given 2"),
        (LEAST + '[model]\narchitecture = "abacus"', "model.architecture must be one of .*, given 'abacus'"),
        ("model = 3\n" + LEAST, "model: Input should be a valid dictionary .*, given 3"),
        ("name = = 3", "must be TOML: Invalid value"),
    ],
)
def test_a_mistake_is_told_once_in_one_line_with_its_key(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(ConfigError, match=f"recipe.toml:? {message}") as refused:
        read(tmp_path, content)
    assert "\n" not in str(refused.value)
    assert str(refused.value).count("given") <= 1


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "cannot read .*: No such file"), (b"name = '\xff'", "must be UTF-8 text: byte 8 is not")],
)
def test_what_is_no_text_is_refused(tmp_path: Path, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / "recipe.toml").write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        read_toml(tmp_path / "recipe.toml", Recipe)


def test_single_keys_can_be_changed_in_toml_or_in_plain_words(tmp_path: Path) -> None:
    recipe = read(
        tmp_path,
        LEAST,
        "name=other words",
        "training.learning_rate = 5e-4",
        "data.leave_out_lengths=[3, 4]",
        'model.positions="lrpe"',
        "training.tracking=[]",
    )
    assert recipe.name == "other words"
    assert recipe.training.learning_rate == 5e-4
    assert recipe.data.leave_out_lengths == (3, 4)
    assert recipe.model.model_dump()["positions"] == "lrpe"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("seed", "a setting must look like key=value, given 'seed'"),
        ("=3", "a setting must look like key=value, given '=3'"),
        ("name.first=x", "name.first cannot be set: name is not a section"),
    ],
)
def test_a_setting_that_cannot_be_made_is_refused(tmp_path: Path, override: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read(tmp_path, LEAST, override)


@pytest.mark.parametrize("path", sorted((HERE / "recipes").glob("*.toml")), ids=lambda path: path.name)
def test_a_recipe_that_is_written_is_read_as_it_was(tmp_path: Path, path: Path) -> None:
    recipe = read_toml(path, Recipe)
    assert read(tmp_path, write_toml(recipe)) == recipe


class Odd(Section):
    text: str
    number: float
    flag: bool


def test_any_text_and_number_can_be_written(tmp_path: Path) -> None:
    odd = Odd(text='"quoted" \\ \n\t\x00\x7f 見出し 😀', number=math.inf, flag=True)
    path = tmp_path / "odd.toml"
    path.write_text(write_toml(odd), encoding="utf-8")
    assert read_toml(path, Odd) == odd
