"""What is written is what is read; what is damaged is refused."""

import errno
import fcntl
import json
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import TextIO

import numpy as np
import pytest

from copyfit.data.ragged import Ragged, positions_in_rows
from copyfit.data.store import Store, StoreWriter, open_store, whole_folder
from copyfit.errors import DataError
from support_data import MADE_HERE, TYPES, PlainPair, encoded, random_pairs, store_of


def plain(store: Store, segmentation: int = 0) -> list[PlainPair]:
    pairs = store.pairs
    offsets = pairs.targets[segmentation].offsets
    return [
        PlainPair(
            pairs.sources.row(int(pairs.source_of[pair])).tolist(),
            pairs.targets[segmentation].row(pair).tolist(),
            pairs.costs[segmentation][offsets[pair] : offsets[pair + 1]].tolist(),
        )
        for pair in range(len(pairs))
    ]


def test_pairs_written_in_stretches_are_read_as_one_row(tmp_path: Path) -> None:
    pairs = random_pairs(1, 90)
    store = store_of(tmp_path / "a", [encoded(pairs[:40]), encoded(pairs[40:41]), encoded(pairs[41:])])
    assert plain(store) == pairs
    assert store.pairs.budgets.tolist() == [sum(pair.costs) for pair in pairs]
    assert open_store(tmp_path / "a", verify=True).manifest == store.manifest


def test_stretches_leave_no_trace(tmp_path: Path) -> None:
    pairs = random_pairs(2, 30)
    store_of(tmp_path / "a", [encoded(pairs, 1)])
    store_of(tmp_path / "b", [encoded(pairs[:11], 1), encoded(pairs[11:], 1)])
    for file in (tmp_path / "a").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes()


def test_the_manifest_says_what_a_store_holds(tmp_path: Path) -> None:
    pairs = [PlainPair([7, 8], [3], [5]), PlainPair([9], [3, 4, 5], [1, 1, 1]), PlainPair([1], [3], [9])]
    manifest = store_of(tmp_path / "a", [encoded(pairs, 1)]).manifest
    assert (manifest.sources, manifest.pairs, manifest.segmentations) == (3, 3, 1)
    assert (manifest.source_tokens, manifest.target_tokens) == (4, 5)
    assert (manifest.longest_source, manifest.longest_target) == (2, 4)
    assert (manifest.unit, manifest.natural_length) == ("char", 5)
    assert manifest.tokenizers == MADE_HERE.tokenizers


def test_several_targets_share_one_stored_source(tmp_path: Path) -> None:
    three = encoded([PlainPair([5, 6, 7], [3], [1])] * 3)
    shared = replace(three, sources=three.sources.take(np.array([0])), source_of=np.zeros(3, np.int64))
    store = store_of(tmp_path / "a", [shared, shared])
    assert store.manifest.sources == 2
    assert store.manifest.source_tokens == 6
    assert plain(store) == [PlainPair([5, 6, 7], [3], [1])] * 6


def test_selecting_pairs_keeps_their_order_and_drops_sources_nobody_needs(tmp_path: Path) -> None:
    pairs = random_pairs(3, 20)
    kept = np.arange(20) % 3 == 0
    selected = encoded(pairs, 2).select(kept)
    assert len(selected.sources) == 7
    store = store_of(tmp_path / "a", [selected])
    assert plain(store) == pairs[::3]
    doubled = [[pair.target[0], *pair.target] for pair in pairs[::3]]
    assert [pair.target for pair in plain(store, 2)] == doubled


def test_an_empty_store_is_refused_with_the_reasons(tmp_path: Path) -> None:
    with (
        StoreWriter(tmp_path, TYPES, segmentations=0) as writer,
        pytest.raises(DataError, match="all were dropped: 4 duplicate"),
    ):
        writer.finish(MADE_HERE, {"duplicate": 4})


@pytest.fixture
def written(tmp_path: Path) -> Path:
    store_of(tmp_path / "store", [encoded(random_pairs(4, 25))])
    return tmp_path / "store"


@pytest.mark.parametrize("name", ["source.bin", "source_offsets.bin", "budget.bin", "cost-0.bin"])
def test_a_truncated_file_is_refused(written: Path, name: str) -> None:
    content = (written / name).read_bytes()
    (written / name).write_bytes(content[:-1])
    with pytest.raises(DataError, match=rf"{name} must have {len(content)} bytes, it has {len(content) - 1}"):
        open_store(written)


def test_a_missing_file_is_refused(written: Path) -> None:
    (written / "target-0.bin").unlink()
    with pytest.raises(DataError, match=r"target-0\.bin must have"):
        open_store(written)


def test_a_flipped_bit_is_found_when_asked_for(written: Path) -> None:
    content = bytearray((written / "target-0.bin").read_bytes())
    content[10] ^= 4
    (written / "target-0.bin").write_bytes(content)
    open_store(written)
    with pytest.raises(DataError, match=r"target-0\.bin must be as it was written"):
        open_store(written, verify=True)


def test_a_folder_without_a_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="must be a folder of prepared pairs"):
        open_store(tmp_path)


@pytest.mark.parametrize("content", ["", "{", '{"unit": "char"}', "[]"])
def test_a_damaged_manifest_is_refused(written: Path, content: str) -> None:
    (written / "manifest.json").write_text(content)
    with pytest.raises(DataError, match="damaged or of another version"):
        open_store(written)


def test_another_format_is_refused(written: Path) -> None:
    manifest = json.loads((written / "manifest.json").read_text())
    (written / "manifest.json").write_text(json.dumps({**manifest, "format": 9}))
    with pytest.raises(DataError, match="must be of format 1, it is of 9"):
        open_store(written)


def test_a_manifest_that_forgets_a_file_is_refused(written: Path) -> None:
    manifest = json.loads((written / "manifest.json").read_text())
    del manifest["files"]["source_of.bin"]
    (written / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(DataError, match=r"must hold 'source_of.bin'"):
        open_store(written)


def test_a_folder_appears_only_when_it_is_whole(tmp_path: Path) -> None:
    with whole_folder(tmp_path / "a") as folder:
        (folder / "part").write_text("whole")
        assert not (tmp_path / "a").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a" / "part").read_text() == "whole"


def test_nothing_is_left_of_a_folder_whose_writing_failed(tmp_path: Path) -> None:
    def fail() -> None:
        with whole_folder(tmp_path / "a") as folder:
            (folder / "part").write_text("half")
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_a_users_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(DataError, match=r"cannot write .*: Not a directory"),
        whole_folder(tmp_path / "file" / "a"),
    ):
        pass


def test_what_a_killed_process_left_of_a_folder_is_removed(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        with whole_folder(tmp_path / "a") as folder:
            (folder / "part").write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert not (tmp_path / "a").exists()
    assert list(tmp_path.glob(".a.*"))
    with whole_folder(tmp_path / "a") as folder:
        assert list(folder.iterdir()) == []
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_folder_is_written_by_one_process_at_a_time(tmp_path: Path) -> None:
    with whole_folder(tmp_path / "a") as folder:
        (folder / "part").write_text("whole")
        with (
            pytest.raises(DataError, match=r"cannot write .*a: another process is writing it; wait"),
            whole_folder(tmp_path / "a"),
        ):
            pass
        with whole_folder(tmp_path / "b"):
            pass
    assert (tmp_path / "a" / "part").read_text() == "whole"


def test_a_lock_that_its_holder_has_just_taken_away_is_not_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[Path] = []
    flock = fcntl.flock

    def take_away(file: TextIO, operation: int) -> None:
        if not taken:
            taken.append(Path(file.name))
            taken[0].unlink()
        flock(file, operation)

    monkeypatch.setattr(fcntl, "flock", take_away)
    with whole_folder(tmp_path / "a"):
        assert taken[0].exists()


def test_a_folder_that_is_not_on_the_disk_does_not_appear(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(DataError, match="Input/output error"), whole_folder(tmp_path / "a") as folder:
        (folder / "part").write_text("whole")
    assert list(tmp_path.iterdir()) == []


def test_rows_end_to_end_are_counted_from_their_beginnings() -> None:
    rows = Ragged.of(np.array([5, 6, 7, 8]), np.array([1, 0, 3]))
    assert [rows.row(row).tolist() for row in range(len(rows))] == [[5], [], [6, 7, 8]]
    assert rows.take(np.array([2, 1, 2])).values.tolist() == [6, 7, 8, 6, 7, 8]
    assert positions_in_rows(rows.lengths()).tolist() == [0, 0, 1, 2]
