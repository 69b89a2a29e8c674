import os
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from copyfit.checkpoint import load_weights
from copyfit.errors import CheckpointError, ConfigError
from copyfit.training.folders import (
    complete_or_absent,
    exclusive,
    remove_leftovers,
    rotate,
    set_aside,
    step_folders,
    write_whole,
)
from copyfit.training.keeping import Keeper, Saved, newest_whole
from copyfit.training.state import RunState, Standing
from support_training import checkpoint_of, full_disk, tiny_model


def make(folder: Path, content: str = "here") -> Path:
    folder.mkdir(parents=True)
    (folder / "file").write_text(content, encoding="utf-8")
    return folder


def test_a_folder_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "output"
    with exclusive(folder), pytest.raises(ConfigError, match="being written by another"), exclusive(folder):
        pass
    with exclusive(folder):
        pass


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="must be writable"), exclusive(tmp_path / "file"):
        pass


def test_a_folder_appears_complete_or_not_at_all(tmp_path: Path) -> None:
    with complete_or_absent(tmp_path / "step-1") as folder:
        (folder / "file").write_text("here", encoding="utf-8")
        assert not (tmp_path / "step-1").exists()
    assert (tmp_path / "step-1" / "file").read_text(encoding="utf-8") == "here"
    with pytest.raises(IsADirectoryError), complete_or_absent(tmp_path / "step-2") as folder:
        folder.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["step-1"]


def test_a_file_that_cannot_be_written_stays_as_it_was(tmp_path: Path) -> None:
    write_whole(tmp_path / "recipe.toml", "steps = 1\n")
    with full_disk(5), pytest.raises(ConfigError, match="File too large"):
        write_whole(tmp_path / "recipe.toml", "steps = 2\n")
    assert (tmp_path / "recipe.toml").read_text(encoding="utf-8") == "steps = 1\n"
    assert len(list(tmp_path.iterdir())) == 1


def test_steps_are_ordered_by_number_and_the_newest_are_kept(tmp_path: Path) -> None:
    for name in ("step-2", "step-10", "step-9", "step-x", "damaged-step-3", "step-11b"):
        make(tmp_path / name)
    assert [folder.name for folder in step_folders(tmp_path)] == ["step-10", "step-9", "step-2"]
    rotate(tmp_path, 2)
    assert [folder.name for folder in step_folders(tmp_path)] == ["step-10", "step-9"]
    assert (tmp_path / "step-x").is_dir()
    rotate(tmp_path, 5)
    assert len(step_folders(tmp_path)) == 2


def test_a_damaged_folder_is_kept_under_another_name(tmp_path: Path) -> None:
    make(tmp_path / "damaged-step-1", "older")
    assert set_aside(make(tmp_path / "step-1", "newer")) == tmp_path / "damaged-step-1"
    assert (tmp_path / "damaged-step-1" / "file").read_text(encoding="utf-8") == "newer"


def test_a_model_that_was_being_replaced_comes_back(tmp_path: Path) -> None:
    make(tmp_path / ".best.previous", "old")
    make(tmp_path / ".last.previous", "old")
    make(tmp_path / "last", "new")
    make(tmp_path / ".last.new", "half")
    make(tmp_path / ".config", "not ours")
    remove_leftovers(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".config", "best", "last"]
    assert (tmp_path / "best" / "file").read_text(encoding="utf-8") == "old"
    assert (tmp_path / "last" / "file").read_text(encoding="utf-8") == "new"


def keeper(output: Path, keep: int = 1) -> Keeper:
    return Keeper(output, checkpoint_of(), keep=keep)


def save(output: Path, step: int, keep: int = 1) -> None:
    model = tiny_model(seed=step)
    keeper(output, keep).save(model, RunState(standing=Standing(step=step)), {"number": torch.tensor(step)})


def test_what_is_saved_is_read_and_rotation_keeps_the_newest(tmp_path: Path) -> None:
    for step in (1, 2, 3):
        save(tmp_path, step, keep=2)
    saved = Saved(tmp_path / "checkpoints" / "step-3")
    assert saved.run == RunState(standing=Standing(step=3))
    assert saved.tensors["number"].item() == 3
    for name, weight in tiny_model(seed=3).state_dict().items():
        np.testing.assert_array_equal(saved.weights[name], weight.numpy())
    assert [folder.name for folder in step_folders(tmp_path / "checkpoints")] == ["step-3", "step-2"]


def test_saving_a_step_twice_leaves_the_first(tmp_path: Path) -> None:
    save(tmp_path, 1)
    before = (tmp_path / "checkpoints" / "step-1").stat().st_ino
    save(tmp_path, 1)
    assert (tmp_path / "checkpoints" / "step-1").stat().st_ino == before


def kill_at(event: int, output: Path) -> None:
    """Save in a process of its own, killed at its event-th touch of the file system."""
    left = event

    def count(name: str, _: tuple[Any, ...]) -> None:
        nonlocal left
        if name in {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree"}:
            left -= 1
            if left < 0:
                os.kill(os.getpid(), 9)

    sys.addaudithook(count)
    save(output, 2)


def runs_to_its_end(event: int, output: Path) -> bool:
    with warnings.catch_warnings():
        # A fork of a process with threads may lock up; this one's threads hold nothing that saving takes.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        try:
            kill_at(event, output)
        finally:
            os._exit(0)
    return os.waitpid(child, 0)[1] == 0


@pytest.mark.long
def test_a_save_killed_at_any_touch_of_the_disk_leaves_a_whole_one(tmp_path: Path) -> None:
    event = 0
    seen = set()
    while True:
        output = tmp_path / str(event)
        save(output, 1)
        ended = runs_to_its_end(event, output)
        newest, damaged = newest_whole(output / "checkpoints")
        assert newest is not None
        assert damaged == []
        seen.add(newest.name)
        remove_leftovers(output)
        save(output, 3)
        assert [path.name for path in (output / "checkpoints").iterdir()] == ["step-3"]
        if ended:
            break
        event += 1
    assert event > 20
    assert seen == {"step-1", "step-2"}


def test_a_full_disk_leaves_the_saves_that_there_are(tmp_path: Path) -> None:
    save(tmp_path, 1)
    room = (tmp_path / "checkpoints" / "step-1" / "model.safetensors").stat().st_size
    for room_left in (room, room - 1):
        with full_disk(room_left), pytest.raises(CheckpointError, match="File too large"):
            keeper(tmp_path).save(
                tiny_model(), RunState(standing=Standing(step=2)), {"long": torch.zeros(room)}
            )
        assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["step-1"]


def test_weights_that_are_no_numbers_are_not_saved(tmp_path: Path) -> None:
    save(tmp_path, 1)
    model = tiny_model()
    with torch.no_grad():
        model.target_table.weight[0, 0] = torch.nan
    with pytest.raises(CheckpointError, match="finite"):
        keeper(tmp_path).save(model, RunState(standing=Standing(step=2)), {})
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["step-1"]
    assert load_weights(tmp_path / "checkpoints" / "step-1")
