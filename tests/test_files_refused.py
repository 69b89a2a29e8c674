"""Files of rows that cannot be read or written, each told in one line."""

import sys
from pathlib import Path

import pytest

from copyfit.checkpoint import save_checkpoint
from copyfit.errors import DataError
from copyfit.writing.files import Tally, check_job
from copyfit.writing.requests import Wish
from copyfit.writing.writer import Writer
from support_files import Rows, job, read_rows, refused, run, write_rows, write_text
from support_writing import TEXTS, Stutterer, random_weights, save_tiny, tiny_checkpoint


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Writer:
    folder = tmp_path_factory.mktemp("models") / "tiny"
    return Writer(save_tiny(folder, "character"), engine=Stutterer())


def test_files_that_cannot_be_used_are_named(writer: Writer, tmp_path: Path) -> None:
    good, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    write_rows(good, [{"text": TEXTS[0]}])
    (tmp_path / "folder.csv").mkdir()
    for name in ("empty.jsonl", "empty.csv", "empty.tsv", "empty.txt"):
        (tmp_path / name).touch()
        assert "empty" in refused(writer, job(tmp_path / name, out))
    for source, target, message in (
        (tmp_path / "none.csv", out, "none.csv must be a file, nothing is there"),
        (tmp_path / "folder.csv", out, "folder.csv must be a file, a folder is there"),
        (good, good, "the output must be another file than the input"),
        (good, tmp_path / "no" / "out.csv", "cannot write"),
        (good, tmp_path / "folder.csv", "folder.csv: Is a directory"),
        (good, tmp_path / "out.xlsx", "out.xlsx must be named .jsonl"),
        (tmp_path / "in.pt", out, "in.pt must be named .jsonl"),
        (good, tmp_path / "out.parquet.gz", "must be named"),
        (good, tmp_path / "out", "must be named"),
    ):
        assert message in refused(writer, job(source, target))
    resumed = job(good, tmp_path / "folder.csv", resume=True)
    assert "folder.csv: Is a directory" in refused(writer, resumed)
    assert "only .jsonl, .csv, .tsv and .txt" in refused(
        writer, job(good, tmp_path / "o.parquet", resume=True)
    )
    with pytest.raises(DataError, match="must be a file"):
        check_job(job(tmp_path / "none.csv", out))


@pytest.mark.parametrize(("library", "name"), [("pyarrow", "a.parquet"), ("zstandard", "a.jsonl.zst")])
def test_a_library_that_is_not_there_is_told_before_anything_is_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str, name: str
) -> None:
    write_rows(tmp_path / "in.jsonl", [{"text": TEXTS[0]}])
    (tmp_path / name).write_bytes(b"from before")
    monkeypatch.setitem(sys.modules, library, None)
    for files in (tmp_path / "in.jsonl", tmp_path / name), (tmp_path / name, tmp_path / "out.jsonl"):
        with pytest.raises(DataError) as caught:
            check_job(job(*files))
        assert str(caught.value) == f"{tmp_path / name} needs {library}: pip install 'copyfit[bulk]'"
    assert (tmp_path / name).read_bytes() == b"from before"


def test_damaged_input_is_named(writer: Writer, tmp_path: Path) -> None:
    write_rows(tmp_path / "in.jsonl.gz", [{"text": TEXTS[0]}])
    content = (tmp_path / "in.jsonl.gz").read_bytes()
    (tmp_path / "in.jsonl.gz").write_bytes(content[:-12])
    assert "in.jsonl.gz is damaged or cut off" in refused(
        writer, job(tmp_path / "in.jsonl.gz", tmp_path / "o.csv")
    )
    (tmp_path / "in.parquet").write_bytes(b"PAR1 or not")
    message = refused(writer, job(tmp_path / "in.parquet", tmp_path / "o.csv"))
    assert "in.parquet must be a readable Parquet file" in message


def test_two_columns_of_one_name_are_refused(writer: Writer, tmp_path: Path) -> None:
    write_text(tmp_path / "in.csv", "text,text\na,b\n")
    assert "must have different column names" in refused(writer, job(tmp_path / "in.csv", tmp_path / "o.csv"))


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_a_table_cannot_take_a_column_that_comes_late(writer: Writer, tmp_path: Path, name: str) -> None:
    rows: Rows = [{"text": "A storm"}] * 20 + [{"text": "A storm", "late": 1}]
    write_rows(tmp_path / "in.jsonl", rows)
    assert "a later one also has 'late'" in refused(writer, job(tmp_path / "in.jsonl", tmp_path / name))


def test_a_parquet_column_has_one_type(writer: Writer, tmp_path: Path) -> None:
    write_rows(tmp_path / "in.jsonl", [{"text": "A storm", "x": 1}, {"text": "A storm", "x": "one"}])
    assert "column 'x' must have one type" in refused(
        writer, job(tmp_path / "in.jsonl", tmp_path / "o.parquet")
    )


@pytest.mark.parametrize("value", [2**70, [2**70], ["\ud800"], {}])
def test_a_value_that_parquet_cannot_hold_is_told_with_its_column(
    writer: Writer, tmp_path: Path, value: object
) -> None:
    write_rows(tmp_path / "in.jsonl", [{"text": "A storm", "x": value}])
    message = refused(writer, job(tmp_path / "in.jsonl", tmp_path / "o.parquet"))
    assert f"{tmp_path / 'o.parquet'}" in message
    assert "'x'" in message


def test_a_column_that_the_length_is_to_come_from_must_be_there(writer: Writer, tmp_path: Path) -> None:
    write_rows(tmp_path / "in.jsonl", [{"text": "A storm", "limit": 4}, {"text": "A storm", "length": 4}])
    tally = run(writer, tmp_path / "in.jsonl", tmp_path / "out.jsonl", length_column="limit")
    assert (tally.rows, tally.failed) == (2, 1)
    first, second = read_rows(tmp_path / "out.jsonl")
    assert first["headline_length"] == 4
    assert "the row must have the column 'limit' of --length-column" in second["error"]


def test_headlines_that_do_not_fit_are_counted(tmp_path: Path) -> None:
    checkpoint = tiny_checkpoint("character", texts=("東京大雨", "電車新橋"))
    save_checkpoint(tmp_path / "model", checkpoint, random_weights(checkpoint))
    write_rows(tmp_path / "in.jsonl", [{"text": "東京", "length": length} for length in (1, 2, 3, 0)])
    writer = Writer(tmp_path / "model", device="cpu")
    tally = run(writer, tmp_path / "in.jsonl", tmp_path / "out.jsonl", Wish(unit="cell"))
    assert tally == Tally(rows=4, failed=1, unfit=2)
    assert [row["fits"] for row in read_rows(tmp_path / "out.jsonl")] == [False, True, False, None]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("name", ["out.jsonl", "out.csv.gz", "out.tsv.xz", "out.txt.zst", "out.parquet"])
def test_a_full_disk_is_told_in_one_line(writer: Writer, tmp_path: Path, name: str) -> None:
    write_rows(tmp_path / "in.jsonl", [{"text": "A storm"}] * 3)
    (tmp_path / name).symlink_to("/dev/full")
    message = refused(writer, job(tmp_path / "in.jsonl", tmp_path / name))
    assert f"cannot write {tmp_path / name}: No space left on device" in message


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("name", ["out.jsonl", "out.csv.gz", "out.tsv.xz", "out.txt.zst"])
def test_a_disk_that_is_full_at_a_resume_is_told_in_one_line_and_leaves_the_output_alone(
    writer: Writer, tmp_path: Path, name: str
) -> None:
    write_rows(tmp_path / "in.jsonl", [{"text": "A storm"}] * 3)
    run(writer, tmp_path / "in.jsonl", tmp_path / name)
    written = (tmp_path / name).read_bytes()
    (tmp_path / f".resumed.{name}").symlink_to("/dev/full")
    message = refused(writer, job(tmp_path / "in.jsonl", tmp_path / name, resume=True))
    assert f"cannot write {tmp_path / name}: No space left on device" in message
    assert (tmp_path / name).read_bytes() == written
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", name]


@pytest.mark.parametrize("value", ["one", 2**70])
def test_what_a_column_cannot_hold_is_told_and_what_was_written_before_stays(
    writer: Writer, tmp_path: Path, value: object
) -> None:
    rows: Rows = [{"text": "A storm", "x": 1}] * 16 + [{"text": "A storm", "x": value}]
    write_rows(tmp_path / "in.jsonl", rows)
    assert "column 'x' must have one type" in refused(
        writer, job(tmp_path / "in.jsonl", tmp_path / "o.parquet")
    )
    assert len(read_rows(tmp_path / "o.parquet")) == 16
