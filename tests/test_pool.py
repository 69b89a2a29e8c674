"""Tasks are done each after those it needs, here or in processes of their own; a failure stops no other."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from copyfit.environment import cores
from copyfit.experiments.board import Board
from copyfit.experiments.pool import Failure, Hands, hands_for, perform_all
from copyfit.experiments.tasks import Task
from support_studies import Leaver, Step, Stillborn, Watcher

HERE = Hands(1)


def perform(tasks: Sequence[Task], hands: Hands = HERE) -> list[Failure]:
    with Board(len(tasks)) as board:
        return perform_all(tasks, hands, board)


def chain(folder: Path, *bad: str) -> list[Step]:
    """List tasks that need others, some of them before these."""
    return [
        Step("last", folder, ("first", "second")),
        Step("first", folder),
        *(Step(name, folder) for name in bad),
        *(Step(f"after-{name}", folder, (name,)) for name in bad),
        Step("second", folder, ("first",)),
    ]


def left(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_tasks_wait_for_those_they_need(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert perform(chain(tmp_path)) == []
    assert left(tmp_path) == {"first", "second", "last"}
    told = capsys.readouterr().err.splitlines()
    assert told == [
        line
        for name in ("first", "second", "last")
        for line in (f"step {name} ...", f"step {name}: left a file")
    ]


def test_a_failure_stops_only_those_that_need_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failures = {failure.title: failure for failure in perform(chain(tmp_path, "mistaken", "broken"))}
    assert left(tmp_path) == {"first", "second", "last"}
    assert failures["step mistaken"] == Failure("step mistaken", "the file must be there")
    assert failures["step after-mistaken"].reason == "what it needs could not be done"
    assert "ZeroDivisionError: a bug" in str(failures["step broken"].trace)
    told = capsys.readouterr().err
    assert "step mistaken: the file must be there" in told
    assert "Traceback" in told


@pytest.mark.long
def test_processes_do_the_same_and_may_even_be_killed(tmp_path: Path) -> None:
    failures = {f.title: f for f in perform(chain(tmp_path, "mistaken", "broken", "killed"), Hands(2, 1))}
    assert left(tmp_path) == {"first", "second", "last"}
    assert failures["step mistaken"] == Failure("step mistaken", "the file must be there")
    assert "ZeroDivisionError: a bug" in str(failures["step broken"].trace)
    assert failures["step killed"].reason == "its process ended with code -9: try fewer --jobs"
    assert len(failures) == 6


@pytest.mark.long
def test_an_idle_process_may_die_too(tmp_path: Path) -> None:
    tasks: list[Task] = [
        Leaver(tmp_path),
        Watcher(tmp_path),
        Step("one", tmp_path, ("watcher",)),
        Step("two", tmp_path, ("watcher",)),
    ]
    assert perform(tasks, Hands(2, 1)) == []
    assert {"one", "two"} <= left(tmp_path)


@pytest.mark.long
def test_a_process_that_dies_before_it_hears_its_task_is_told(tmp_path: Path) -> None:
    (failure,) = perform([Step("first", tmp_path)], Hands(2, Stillborn()))
    assert failure == Failure("step first", "its process ended with code 7: try fewer --jobs")


def test_threads_are_as_before_once_all_is_done(tmp_path: Path) -> None:
    before = torch.get_num_threads()
    perform([Step("first", tmp_path)], Hands(1, 3))
    assert torch.get_num_threads() == before


def test_cores_are_shared_out() -> None:
    assert hands_for(None, None, "cpu") == Hands(1, None)
    assert hands_for(1, None, "cpu") == Hands(cores(), 1)
    assert hands_for(None, 2 * cores(), "cpu") == Hands(2 * cores(), 1)
    assert hands_for(1, 1, "cpu") == Hands(1, 1)
    assert hands_for(4, 2 * cores(), "cpu") == Hands(2 * cores(), 1)
