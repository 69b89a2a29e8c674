from pathlib import Path

import pytest

from copyfit.errors import DataError
from copyfit.training.journal import Journal, read_journal
from support_training import full_disk


def test_what_is_written_is_read(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.jsonl") as journal:
        journal.write({"event": "train", "loss": 0.1 + 0.2})
        journal.write({"event": "validation", "name": "ü"})
    assert read_journal(tmp_path / "journal.jsonl") == [
        {"event": "train", "loss": 0.1 + 0.2},
        {"event": "validation", "name": "ü"},
    ]
    assert read_journal(tmp_path / "journal.jsonl", "validation") == [{"event": "validation", "name": "ü"}]


def test_every_record_is_on_the_disk_before_the_next_is_written(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.jsonl") as journal:
        for step in range(3):
            journal.write({"step": step})
            assert len(read_journal(tmp_path / "journal.jsonl")) == step + 1


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b'{"step": 1}\n{"step": 2')
    assert read_journal(path) == [{"step": 1}]


def test_a_run_that_goes_on_forgets_what_came_after_the_save(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with Journal(path) as journal:
        journal.write({"step": 1})
        saved = journal.sync()
        journal.write({"step": 2, "lost": True})
    assert saved == len(b'{"step": 1}\n')
    with Journal(path, length=saved) as journal:
        journal.write({"step": 2})
        assert journal.sync() == path.stat().st_size
    assert read_journal(path) == [{"step": 1}, {"step": 2}]


def test_a_new_run_begins_a_new_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text('{"step": 9}\n', encoding="utf-8")
    with Journal(path):
        pass
    assert read_journal(path) == []


def test_a_journal_that_lost_lines_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"must hold the 40 bytes it had at the save, it has 0: put it back"):
        Journal(tmp_path / "journal.jsonl", length=40)


@pytest.mark.parametrize("room", [0, 3])
def test_a_full_disk_is_told_in_one_line(tmp_path: Path, room: int) -> None:
    with Journal(tmp_path / "journal.jsonl") as journal:
        journal.write({"step": 1})
        with (
            full_disk(12 + room),
            pytest.raises(DataError, match=r"cannot write .*: File too large; make room"),
        ):
            journal.write({"step": 2})


def test_a_number_that_is_none_is_no_journal_entry(tmp_path: Path) -> None:
    with (
        Journal(tmp_path / "journal.jsonl") as journal,
        pytest.raises(ValueError, match="not JSON compliant"),
    ):
        journal.write({"loss": float("nan")})
