"""A study lists a task for each run that is left, and a training leaves what its record says."""

from pathlib import Path

import pytest

from copyfit.experiments.board import Board
from copyfit.experiments.files import told_apart
from copyfit.experiments.matrix import read_matrix
from copyfit.experiments.records import Records, open_records
from copyfit.experiments.study import Choice, Folders, Study, open_study
from copyfit.experiments.tasks import FINISHED, Training, Trials
from copyfit.training.run import CHECKPOINTS
from support_studies import SMALL, record_training


def study_of(folder: Path, text: str) -> Study:
    """Open a study whose files all hold one pair."""
    matrix = folder / "small.toml"
    matrix.write_text(text, encoding="utf-8")
    for name in ("train", "validation", "test"):
        (folder / f"{name}.tsv").write_text("a source\ta headline\n", encoding="utf-8")
    folders = Folders(folder, folder / "out", folder / "records")
    return open_study(read_matrix(matrix), Choice(), folders, "cpu")


@pytest.mark.parametrize("names", [("A+B", "A, B"), ("LC+", "LC"), ("長さ", "位置")])
def test_systems_whose_names_differ_in_signs_only_are_tried_each(
    tmp_path: Path, names: tuple[str, str]
) -> None:
    text = SMALL.partition("[[tables]]")[0]
    for name, former in zip(names, ("Transformer", "Transformer+LDPE"), strict=True):
        text = text.replace(f'"{former}"', f'"{name}"')
    tasks = study_of(tmp_path, text).tasks(Records(tmp_path / "records"))
    tried = [(task.run.system.name, task.run.seeds) for task in tasks if isinstance(task, Trials)]
    assert [(names[0], (1,)), (names[1], (1,)), (names[1], (2,))] == tried[:3]
    assert len({task.name for task in tasks}) == len(tasks) == 8


def test_files_are_told_apart_without_saying_where_they_lie(tmp_path: Path) -> None:
    first, second = tmp_path / "news" / "train.tsv", tmp_path / "more" / "train.tsv"
    assert told_apart([first, first.with_name("valid.tsv")]) == {
        "train.tsv": first,
        "valid.tsv": first.with_name("valid.tsv"),
    }
    assert told_apart([first, second]) == {"news/train.tsv": first, "more/train.tsv": second}
    assert told_apart([first]) == {"train.tsv": first}


def test_a_training_that_was_stopped_at_its_very_end_leaves_no_checkpoints(tmp_path: Path) -> None:
    study = study_of(tmp_path, SMALL)
    training = next(task for task in study.tasks(Records(tmp_path)) if isinstance(task, Training))
    (training.output / CHECKPOINTS).mkdir(parents=True)
    made = record_training(Records(tmp_path / "made"), study.runs[0])
    (training.output / FINISHED).write_text(made.model_dump_json(), encoding="utf-8")
    with Board(1) as board:
        training.perform(board.begin(training.title))
    assert [path.name for path in training.output.iterdir()] == [FINISHED]
    assert open_records(study.folders.records).trainings == [made]
