"""Share what tests of files need."""

import csv
import gzip
import io
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pytest
import zstandard
from pyarrow import parquet

from copyfit.errors import DataError
from copyfit.writing.files import FileJob, Tally, write_file
from copyfit.writing.requests import Wish
from copyfit.writing.writer import Effort, Writer

EFFORT = Effort(num_beams=1, batch_size=2)
Rows = list[dict[str, Any]]


def write_text(path: Path, text: str) -> None:
    opened: dict[str, Callable[[bytes], bytes]] = {
        ".gz": gzip.compress,
        ".xz": lzma.compress,
        ".zst": zstandard.ZstdCompressor().compress,
    }
    path.write_bytes(opened.get(path.suffix, bytes)(text.encode("utf-8", "surrogateescape")))


def read_text(path: Path) -> str:
    content = path.read_bytes()
    if path.suffix == ".zst":
        return zstandard.ZstdDecompressor().stream_reader(content, read_across_frames=True).read().decode()
    return {".gz": gzip.decompress, ".xz": lzma.decompress}.get(path.suffix, bytes)(content).decode()


def write_rows(path: Path, rows: Rows) -> None:
    if ".jsonl" in path.name:
        write_text(path, "".join(json.dumps(row) + "\n" for row in rows))
    elif ".csv" in path.name:
        text = io.StringIO()
        table = csv.DictWriter(text, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
        write_text(path, text.getvalue())
    elif ".tsv" in path.name:
        lines = [list(rows[0]), *(row.values() for row in rows)]
        write_text(path, "".join("\t".join(map(str, line)) + "\n" for line in lines))
    elif ".parquet" in path.name:
        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    else:
        write_text(path, "".join(row["text"] + "\n" for row in rows))


def read_rows(path: Path) -> Rows:
    if ".jsonl" in path.name:
        return [json.loads(line) for line in read_text(path).splitlines()]
    if ".csv" in path.name:
        return list(csv.DictReader(io.StringIO(read_text(path))))
    if ".tsv" in path.name:
        header, *lines = [line.split("\t") for line in read_text(path).split("\n")[:-1]]
        return [dict(zip(header, line, strict=True)) for line in lines]
    if ".parquet" in path.name:
        rows: Rows = parquet.read_table(path).to_pylist()
        return rows
    return [{"headline": line} for line in read_text(path).split("\n")[:-1]]


def run(writer: Writer, source: Path, target: Path, *wishes: Wish, **job: Any) -> Tally:
    return write_file(writer, FileJob(source, target, wishes or (Wish(9),), **job), EFFORT)


def refused(writer: Writer, job: FileJob) -> str:
    with pytest.raises(DataError) as caught:
        write_file(writer, job, EFFORT)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def job(source: Path, target: Path, **more: Any) -> FileJob:
    return FileJob(source, target, (Wish(9),), **more)
