"""Records are written whole and never changed; those of other recipes, tests or files are not used."""

from pathlib import Path

import pytest

from copyfit.errors import DataError
from copyfit.experiments.design import runs_of
from copyfit.experiments.files import Files, content_hash
from copyfit.experiments.matrix import Matrix, read_matrix
from copyfit.experiments.records import Content, Records, open_records, write_once
from copyfit.experiments.results import Results
from support_studies import cell_record, record_test, record_training, small_matrix
from support_training import full_disk

CELLS = {"30": cell_record(0.2, 4.0), "60": cell_record(0.3, 5.0)}


@pytest.fixture
def matrix(tmp_path: Path) -> Matrix:
    return read_matrix(small_matrix(tmp_path))


def test_a_record_is_read_as_it_was_written(tmp_path: Path, matrix: Matrix) -> None:
    run = runs_of(matrix)[0]
    written = record_test(Records(tmp_path / "records"), run, matrix.tests[0], CELLS)
    trained = record_training(Records(tmp_path / "records"), run)
    records = open_records(tmp_path / "records")
    assert records.tests == [written]
    assert records.trainings == [trained]
    assert records.training(trained.key, "pairs") == records.training(trained.key, None) == trained
    assert records.training(trained.key, "other pairs") is None


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (Content(), True),
        (Content("pairs", "file of test"), True),
        (Content("other", "file of test"), False),
        (Content("pairs", "other"), False),
    ],
)
def test_a_record_counts_for_its_own_files_only(
    tmp_path: Path, matrix: Matrix, content: Content, found: bool
) -> None:
    records = Records(tmp_path / "records")
    record = record_test(records, runs_of(matrix)[0], matrix.tests[0], CELLS)
    assert (records.test(record.key, content) is not None) is found


def test_a_record_is_never_changed(tmp_path: Path, matrix: Matrix) -> None:
    records = Records(tmp_path / "records")
    run = runs_of(matrix)[0]
    record_test(records, run, matrix.tests[0], CELLS)
    (path,) = (tmp_path / "records").iterdir()
    before = path.read_bytes()
    with pytest.raises(DataError, match="must be a new file, records are not changed"):
        record_test(records, run, matrix.tests[0], {"30": cell_record(0.9, 0.0)})
    assert path.read_bytes() == before
    assert list((tmp_path / "records").iterdir()) == [path]


def test_records_of_names_that_differ_in_signs_only_have_files_of_their_own(
    tmp_path: Path, matrix: Matrix
) -> None:
    records = Records(tmp_path / "records")
    record = record_training(Records(tmp_path / "other"), runs_of(matrix)[0])
    paths = [records.add(record, title) for title in ("LC+-1", "LC-1", "長-1", "短-1")]
    names = [path.name.rpartition("-")[0] for path in paths]
    assert names == ["lc-1", "lc-1", "1", "1"]
    assert len(open_records(tmp_path / "records").trainings) == 4


def test_a_full_disk_leaves_no_part_of_a_record(tmp_path: Path) -> None:
    with full_disk(10), pytest.raises(DataError, match=r"cannot write .*record.json: File too large"):
        write_once(tmp_path / "record.json", "x" * 100)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_record_is_told(tmp_path: Path) -> None:
    (tmp_path / "torn.json").write_text('{"kind": "tes', encoding="utf-8")
    with pytest.raises(DataError, match=r"torn.json is no sound record"):
        open_records(tmp_path)
    (tmp_path / "torn.json").unlink()
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(DataError, match=r"folder.json must be a readable record"):
        open_records(tmp_path)


def test_records_of_another_recipe_are_counted_and_not_used(tmp_path: Path, matrix: Matrix) -> None:
    records = Records(tmp_path / "records")
    changed = runs_of(matrix, ["training.steps=99"])
    record_test(records, changed[0], matrix.tests[0], CELLS)
    record_training(records, changed[0])
    record_training(records, runs_of(matrix)[1])
    results = Results(matrix, (), records)
    assert results.of("Transformer", "groups", "30") == []
    assert results.unused() == 2
    assert len(Results(matrix, ["training.steps=99"], records).of("Transformer", "groups", "30")) == 1


def test_where_the_files_are_known_only_their_records_are_used(tmp_path: Path, matrix: Matrix) -> None:
    for name in ("train", "validation", "test"):
        (tmp_path / f"{name}.tsv").write_text("a source\ta headline\n", encoding="utf-8")
    inputs = Files(tmp_path).of(matrix)
    run, records = runs_of(matrix)[0], Records(tmp_path / "records")
    old = record_test(records, run, matrix.test("groups"), CELLS)
    record_test(records, run, matrix.test("missing"), {"20": CELLS["30"]})
    record_training(records, run)
    present = {"pairs": inputs.pairs, "file": content_hash(inputs.tests["groups"])}
    new = old.model_copy(update=present)
    records.add(new, "new")
    results = Results(matrix, (), records, inputs=inputs)
    assert [result.record for result in results.of("Transformer", "groups", "30")] == [new]
    assert results.of("Transformer", "missing", "20") == []
    assert results.trainings() == []
    assert results.unused() == 3
    with pytest.raises(DataError, match="several versions"):
        Results(matrix, (), records)


def test_records_of_several_versions_of_a_file_are_told(tmp_path: Path, matrix: Matrix) -> None:
    records = Records(tmp_path / "records")
    record = record_test(records, runs_of(matrix)[0], matrix.tests[0], CELLS)
    records.add(record.model_copy(update={"file": "another"}), "again")
    with pytest.raises(DataError, match="several versions of the test groups"):
        Results(matrix, (), records)
