"""The commands that prepare and train, and libraries that may be missing."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from copyfit.cli.app import run
from support_cli import Output, complaint, write
from support_writing import ARTICLE, save_tiny


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny(tmp_path_factory.mktemp("models") / "tiny"))


def squeezed(text: str) -> list[str]:
    """Return the lines of a table without its columns."""
    return [" ".join(line.split()) for line in text.splitlines()]


def program_without(library: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    script = f"import sys; sys.modules[{library!r}] = None; from copyfit.__main__ import main; main()"
    return subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True)


RECIPE = """
name = "tiny"
[data]
train = ["{folder}/train.tsv"]
validation = ["{folder}/validation.tsv"]
workers = 1
[source]
size = 300
[target]
minimum = 1
[model]
width = 16
heads = 2
inner = 16
encoder_layers = 1
decoder_layers = 1
[batches]
target_tokens = 512
[training]
steps = 2
save_every = 2
warmup_steps = 1
[validation]
decode = 0
"""


def test_a_recipe_becomes_a_model_that_writes(tmp_path: Path, capsys: Output) -> None:
    recipe, output = tmp_path / "recipe.toml", tmp_path / "run"
    recipe.write_text(RECIPE.format(folder=tmp_path), encoding="utf-8")
    assert run(["examples", str(tmp_path), "--pairs", "200"]) == 0
    assert run(["prepare", str(recipe), "--output", str(tmp_path / "data")]) == 0
    assert "train 200 200 0" in squeezed(capsys.readouterr().out)
    assert run(["train", str(recipe), "--output", str(output), "--set", "training.steps=3"]) == 0
    assert run(["train", str(recipe), "--output", str(output), "--set", "training.steps=3", "--resume"]) == 0
    capsys.readouterr()
    assert write(str(output / "best"), ARTICLE, "--length", "9") == 0
    assert len(capsys.readouterr().out) == 10


def test_prepare_and_train_tell_what_was_dropped(tmp_path: Path, capsys: Output) -> None:
    assert run(["examples", str(tmp_path), "--pairs", "100"]) == 0
    validation = (tmp_path / "validation.tsv").read_text(encoding="utf-8").splitlines()
    # Of pairs without duplicates two are repeated, three are of validation; two of those are repeated too.
    train = list(dict.fromkeys((tmp_path / "train.tsv").read_text(encoding="utf-8").splitlines()))
    train += [*train[:2], *validation[:3]]
    validation += validation[:2]
    for name, lines in (("train", train), ("validation", validation)):
        (tmp_path / f"{name}.tsv").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(RECIPE.format(folder=tmp_path), encoding="utf-8")
    settings = ["--set", "data.filters.duplicates=pair", "--set", "training.steps=1"]
    prepare = ["prepare", str(recipe), *settings, "--output", str(tmp_path / "data")]
    assert run(prepare) == 0
    table = squeezed(capsys.readouterr().out)
    assert run([*prepare, "--json"]) == 0
    parts = json.loads(capsys.readouterr().out)
    assert parts.pop("path") == str(tmp_path / "data")
    assert parts["train"]["read"] == len(train)
    assert parts["train"]["dropped"] == {"duplicate": 2, "held_out": 3}
    assert parts["validation"]["read"] == len(validation)
    assert parts["validation"]["dropped"] == {"duplicate": 2}
    assert parts["total"] == {
        "read": len(train) + len(validation),
        "kept": len(train) + len(validation) - 7,
        "dropped": {"duplicate": 4, "held_out": 3},
    }
    assert table == [
        "read kept dropped",
        f"train {len(train)} {len(train) - 5} 5",
        "duplicate 2 was there before, by data.filters.duplicates",
        "held_out 3 its source is among the validation pairs",
        f"validation {len(validation)} {len(validation) - 2} 2",
        "duplicate 2",
        f"total {parts['total']['read']} {parts['total']['kept']} 7",
        "duplicate 4",
        "held_out 3",
    ]
    assert run(["train", str(recipe), *settings, "--output", str(tmp_path / "run")]) == 0
    assert squeezed(capsys.readouterr().err)[: len(table)] == table
    assert run(["train", str(recipe), *settings, "--output", str(tmp_path / "run"), "--resume"]) == 0
    assert "held_out" not in capsys.readouterr().err


@pytest.mark.parametrize("command", ["train", "prepare"])
def test_a_mistake_in_a_recipe_is_told_in_one_line(tmp_path: Path, capsys: Output, command: str) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(RECIPE.format(folder=tmp_path), encoding="utf-8")
    for arguments, message in (
        ([str(tmp_path / "none.toml")], "cannot read"),
        ([str(recipe), "--set", "training.stepz=3"], "unknown key 'training.stepz'"),
        ([str(recipe), "--set", "training.steps=0"], "training.steps"),
        ([str(recipe), "--set", "seed"], "key=value"),
    ):
        assert run([command, *arguments, "--output", str(tmp_path / "run")]) == 2
        assert message in complaint(capsys)


@pytest.mark.parametrize("command", ["train", "prepare"])
def test_a_missing_file_of_pairs_is_told(tmp_path: Path, capsys: Output, command: str) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(RECIPE.format(folder=tmp_path), encoding="utf-8")
    assert run([command, str(recipe), "--output", str(tmp_path / "output")]) == 2
    assert f"copyfit: error: {tmp_path}/train.tsv" in capsys.readouterr().err


@pytest.mark.parametrize("library", ["torch", "jaxtyping", "accelerate", "rich"])
def test_without_a_library_of_training_it_says_what_to_install(tmp_path: Path, library: str) -> None:
    (tmp_path / "recipe.toml").write_text(RECIPE.format(folder=tmp_path), encoding="utf-8")
    done = program_without(library, "train", str(tmp_path / "recipe.toml"), "--output", str(tmp_path / "run"))
    assert done.returncode == 2
    assert done.stderr == f"copyfit: error: training needs {library}: pip install 'copyfit[train]'\n"


@pytest.mark.parametrize("library", ["torch", "jaxtyping"])
def test_without_a_library_of_models_writing_says_what_to_install(model: str, library: str) -> None:
    done = program_without(library, "write", "A storm", "--length", "9", "--model", model)
    assert done.returncode == 2
    assert done.stderr == f"copyfit: error: running a model needs {library}: pip install 'copyfit[train]'\n"


def test_a_missing_library_that_no_extra_brings_is_a_bug(model: str) -> None:
    done = program_without("tokenizers", "write", "A storm", "--length", "9", "--model", model)
    assert done.returncode == 1
    assert "ModuleNotFoundError" in done.stderr
