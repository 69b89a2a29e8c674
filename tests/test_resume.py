import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from copyfit.checkpoint import load_weights
from copyfit.config import write_toml
from copyfit.errors import CheckpointError, ConfigError
from copyfit.training.folders import step_folders
from copyfit.training.journal import read_journal
from copyfit.training.recipe import Recipe
from copyfit.training.run import train
from copyfit.training.state import read_state, write_state
from support_training import small_recipe

LAST = 20
STEPS_AN_EPOCH = 5
SCRIPT = Path(__file__).with_name("run_training.py")

pytestmark = pytest.mark.long


class Runs(NamedTuple):
    """A run that was never stopped and one that was killed after its fourteenth step; both save each step."""

    home: Path
    uninterrupted: Path
    killed: Path


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    home = tmp_path_factory.mktemp("runs")
    made = Runs(home, home / "uninterrupted", home / "killed")
    train(recipe_of(home), made.uninterrupted, device="cpu")
    process = start(recipe_of(home, steps=100_000), made.killed)
    assert signal_after(process, 14, signal.SIGKILL) == -signal.SIGKILL
    return made


def recipe_of(home: Path, **training: Any) -> Recipe:
    values = {"steps": LAST, "save_every": 1, "keep_checkpoints": 10_000, "journal_every": 2}
    return small_recipe(home, **values | training)


def start(recipe: Recipe, output: Path, *flags: str, **options: Any) -> subprocess.Popen[str]:
    path = output.with_suffix(".toml")
    path.write_text(write_toml(recipe), encoding="utf-8")
    command = [sys.executable, str(SCRIPT), str(path), str(output), *flags]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **options)


def signal_after(process: subprocess.Popen[str], step: int, number: int) -> int:
    """Send a signal once a step is reported; return how the process ended."""
    assert process.stderr is not None
    with process.stderr:
        for line in process.stderr:
            if line.startswith(f"step {step} "):
                process.send_signal(number)
                break
        process.stderr.read()
    return process.wait()


def copy_as_of(killed: Path, step: int, output: Path) -> Path:
    """Copy a killed run as if it had been killed before it saved anything after a step."""
    shutil.copytree(killed, output)
    for folder in step_folders(output / "checkpoints"):
        if int(folder.name.removeprefix("step-")) > step:
            shutil.rmtree(folder)
    assert int(step_folders(output / "checkpoints")[0].name.removeprefix("step-")) == step
    return output


def state_at(output: Path, step: int) -> dict[str, bytes]:
    folder = output / "checkpoints" / f"step-{step}"
    _, tensors = read_state(folder)
    # The checks of shapes that only this process makes draw from Python's random state.
    del tensors["randomness0/python"]
    weights = {name: array.tobytes() for name, array in load_weights(folder).items()}
    return weights | {name: tensor.numpy().tobytes() for name, tensor in tensors.items()}


def learned(output: Path) -> list[list[Any]]:
    keys = ("step", "epoch", "loss", "learning_rate", "gradient_norm", "skipped_steps")
    return [[record[key] for key in keys] for record in read_journal(output / "journal.jsonl", "train")]


def validated(output: Path) -> list[list[Any]]:
    records = read_journal(output / "journal.jsonl", "validation")
    return [[record[key] for key in ("step", "model", "loss")] for record in records]


@pytest.mark.parametrize("step", [2 * STEPS_AN_EPOCH, 2 * STEPS_AN_EPOCH + 2])
def test_a_killed_run_goes_on_as_if_it_had_never_stopped(runs: Runs, tmp_path: Path, step: int) -> None:
    output = copy_as_of(runs.killed, step, tmp_path / "resumed")
    state, _ = read_state(output / "checkpoints" / f"step-{step}")
    assert state.standing.epoch_step == step % STEPS_AN_EPOCH
    train(recipe_of(runs.home), output, resume=True, device="cpu")
    assert state_at(output, LAST) == state_at(runs.uninterrupted, LAST)
    assert learned(output) == learned(runs.uninterrupted)
    assert validated(output) == validated(runs.uninterrupted)
    for name in ("best", "last", "average"):
        assert (output / name / "model.safetensors").read_bytes() == (
            runs.uninterrupted / name / "model.safetensors"
        ).read_bytes()


@pytest.mark.parametrize(
    "lost", ["randomness0/torch", "optimizer/exp_avg.source_table.weight", "ledger/sums"]
)
def test_a_run_that_lost_part_of_its_state_is_another_run(runs: Runs, tmp_path: Path, lost: str) -> None:
    output = copy_as_of(runs.killed, 13, tmp_path / "resumed")
    folder = output / "checkpoints" / "step-13"
    state, tensors = read_state(folder)
    tensors[lost] = torch.Generator().get_state() if lost.startswith("random") else tensors[lost] * 0
    write_state(folder, state, tensors)
    train(recipe_of(runs.home), output, resume=True, device="cpu")
    assert learned(output)[:6] == learned(runs.uninterrupted)[:6]
    assert learned(output)[6:] != learned(runs.uninterrupted)[6:]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_asked_to_stop_saves_and_goes_on_later(
    runs: Runs, tmp_path: Path, number: signal.Signals
) -> None:
    output = tmp_path / "stopped"
    process = start(recipe_of(runs.home, steps=100_000, save_every=100_000), output)
    assert signal_after(process, 4, number) == 130
    (folder,) = step_folders(output / "checkpoints")
    last = int(folder.name.removeprefix("step-")) + 3
    train(recipe_of(runs.home, steps=last), output, resume=True, device="cpu")
    train(recipe_of(runs.home, steps=last), tmp_path / "uninterrupted", device="cpu")
    assert state_at(output, last) == state_at(tmp_path / "uninterrupted", last)


@pytest.mark.parametrize("too_large", ["model.safetensors", "training.safetensors"])
def test_a_full_disk_ends_the_run_with_one_line_and_loses_nothing(
    runs: Runs, tmp_path: Path, too_large: str
) -> None:
    output = copy_as_of(runs.killed, 12, tmp_path / "full")
    room = (output / "checkpoints" / "step-12" / too_large).stat().st_size - 1

    def fill_the_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    process = start(recipe_of(runs.home), output, "--resume", preexec_fn=fill_the_disk)
    told = process.communicate()[1]
    assert process.returncode == 2
    assert "File too large" in told.splitlines()[-1]
    assert [path.name for path in output.rglob(".*")] == [".lock"]
    train(recipe_of(runs.home), output, resume=True, device="cpu")
    assert state_at(output, LAST) == state_at(runs.uninterrupted, LAST)


def test_a_damaged_save_is_set_aside_for_an_older_one(
    runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = copy_as_of(runs.killed, 12, tmp_path / "damaged")
    flip(output / "checkpoints" / "step-12" / "training.safetensors")
    flip(output / "checkpoints" / "step-11" / "model.safetensors")
    train(recipe_of(runs.home), output, resume=True, device="cpu")
    assert "going on from step 10" in capsys.readouterr().err
    assert (output / "checkpoints" / "damaged-step-12").is_dir()
    assert (output / "checkpoints" / "damaged-step-11").is_dir()
    assert state_at(output, LAST) == state_at(runs.uninterrupted, LAST)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def spoil_facts(folder: Path) -> None:
    (folder / "training.json").write_text("{", encoding="utf-8")


def lose_facts(folder: Path) -> None:
    (folder / "training.json").unlink()


def age(folder: Path) -> None:
    facts = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    (folder / "training.json").write_text(json.dumps(facts | {"format": 0}), encoding="utf-8")


@pytest.mark.parametrize("harm", [spoil_facts, lose_facts, age])
def test_a_run_without_a_whole_save_is_refused_and_left_as_it_is(
    runs: Runs, tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    output = copy_as_of(runs.killed, 1, tmp_path / "damaged")
    harm(output / "checkpoints" / "step-1")
    with pytest.raises(CheckpointError, match=r"cannot go on from .*step-1"):
        train(recipe_of(runs.home), output, resume=True, device="cpu")
    assert (output / "checkpoints" / "step-1").is_dir()


def test_what_a_stop_left_half_done_is_removed(runs: Runs, tmp_path: Path) -> None:
    output = copy_as_of(runs.killed, 12, tmp_path / "left")
    for name in ("checkpoints/.unfinished-step-13", ".best.new", ".data.new", ".mine"):
        (output / name / "deep").mkdir(parents=True)
    train(recipe_of(runs.home, steps=13), output, resume=True, device="cpu")
    assert sorted(path.name for path in output.rglob(".*")) == [".lock", ".mine"]
    assert load_weights(output / "checkpoints" / "step-13")


def test_resuming_an_empty_folder_begins_anew(
    runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train(recipe_of(runs.home), tmp_path / "new", resume=True, device="cpu")
    assert "beginning anew" in capsys.readouterr().err
    assert state_at(tmp_path / "new", LAST) == state_at(runs.uninterrupted, LAST)


def test_a_finished_run_can_be_prolonged(runs: Runs, tmp_path: Path) -> None:
    output = tmp_path / "prolonged"
    train(recipe_of(runs.home, steps=LAST - 6), output, device="cpu")
    train(recipe_of(runs.home), output, resume=True, device="cpu")
    assert state_at(output, LAST) == state_at(runs.uninterrupted, LAST)
    assert learned(output) == learned(runs.uninterrupted)


def test_a_moving_average_goes_on_too_and_may_begin_late(runs: Runs, tmp_path: Path) -> None:
    recipe = recipe_of(runs.home, ema_decay=0.9)
    train(recipe_of(runs.home, ema_decay=0.9, steps=12), tmp_path / "resumed", device="cpu")
    train(recipe, tmp_path / "resumed", resume=True, device="cpu")
    train(recipe, tmp_path / "uninterrupted", device="cpu")
    assert state_at(tmp_path / "resumed", LAST) == state_at(tmp_path / "uninterrupted", LAST)
    late = copy_as_of(runs.killed, 12, tmp_path / "late")
    train(recipe, late, resume=True, device="cpu")
    for name, weight in load_weights(late / "checkpoints" / f"step-{LAST}").items():
        assert np.array_equal(weight, load_weights(runs.uninterrupted / "last")[name])
        assert not np.array_equal(weight, load_weights(late / "average")[name])


def test_a_run_does_not_go_on_with_other_data(runs: Runs, tmp_path: Path) -> None:
    output = copy_as_of(runs.killed, 3, tmp_path / "changed")
    values = recipe_of(runs.home).model_dump()
    for key, change in {
        "seed": {"seed": 9},
        "model.dropout": {"model": values["model"] | {"dropout": 0.1}},
        "training.batches_per_step": {"training": values["training"] | {"batches_per_step": 2}},
    }.items():
        with pytest.raises(ConfigError, match=f"^{key} must be as it was"):
            train(Recipe.model_validate(values | change), output, resume=True, device="cpu")


def test_a_run_does_not_go_on_with_pairs_that_changed(runs: Runs, tmp_path: Path) -> None:
    output = copy_as_of(runs.killed, 3, tmp_path / "changed")
    recipe = recipe_of(runs.home)
    pairs = Path(recipe.data.train[0])
    before, data = pairs.read_bytes(), sorted((output / "data").rglob("*"))
    try:
        pairs.write_bytes(before + b"one more source\tone more target\n")
        with pytest.raises(ConfigError, match="the files of pairs must be as they were"):
            train(recipe, output, resume=True, device="cpu")
        assert sorted((output / "data").rglob("*")) == data
        shutil.rmtree(output / "data")
        with pytest.raises(ConfigError, match="the files of pairs must be as they were"):
            train(recipe, output, resume=True, device="cpu")
    finally:
        pairs.write_bytes(before)


def test_a_finished_run_is_not_overwritten(runs: Runs) -> None:
    with pytest.raises(ConfigError, match="holds a run: go on with --resume"):
        train(recipe_of(runs.home), runs.uninterrupted, device="cpu")


def test_a_second_process_is_kept_out(runs: Runs, tmp_path: Path) -> None:
    output = tmp_path / "busy"
    first = start(recipe_of(runs.home, steps=100_000, save_every=100_000), output)
    assert first.stderr is not None
    with first.stderr:
        for line in first.stderr:
            if line.startswith("step "):
                break
        with pytest.raises(ConfigError, match="is being written by another process"):
            train(recipe_of(runs.home), output, resume=True, device="cpu")
        os.kill(first.pid, signal.SIGKILL)
        first.stderr.read()
    first.wait()
    train(recipe_of(runs.home, steps=2), output, resume=True, device="cpu")
