"""A study lists a task for each run that is left, and a training leaves what its record says."""

from pathlib import Path

import pytest

from copyfit.experiments.matrix import read_matrix
from copyfit.experiments.records import Records
from copyfit.experiments.study import Choice, Folders, Study, open_study
from copyfit.experiments.tasks import Trials
from support_studies import SMALL


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
