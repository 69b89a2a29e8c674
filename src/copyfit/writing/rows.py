"""Read rows from a file: JSON lines, CSV, TSV, Parquet or a text a line, plain or compressed."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from copyfit.data.corpus import open_bytes
from copyfit.environment import standard_input
from copyfit.errors import DataError

STREAM = Path("-")
"""Standard input or output; its rows are JSON lines."""
COMPRESSED = frozenset({".gz", ".xz", ".zst"})
TEXT_COLUMN = "text"
LIBRARIES = {".parquet": "pyarrow", ".zst": "zstandard"}
"""What a file needs besides Python, by the end of its name."""
LONGEST_FIELD = 1 << 26
PARQUET_ROWS = 512
SURROGATES = re.compile("[\ud800-\udfff]")
"""What bytes that are not UTF-8 are read as."""


class Row(NamedTuple):
    """Hold the columns of a row, or what is wrong with it."""

    values: dict[str, Any]
    problem: str | None = None


def form_of(path: Path) -> str:
    """Return what kind of rows a file has, by its name."""
    if path == STREAM:
        return "jsonl"
    form = next((suffix[1:] for suffix in reversed(path.suffixes) if suffix not in COMPRESSED), "")
    if form not in READERS or (form == "parquet" and path.suffix in COMPRESSED):
        raise DataError(f"{path} must be named .jsonl, .csv, .tsv, .txt (also .gz, .xz, .zst) or .parquet")
    return form


def check_file(path: Path) -> None:
    """Raise unless a file, by its name, is of a form that can be read and written here."""
    form_of(path)
    library = LIBRARIES.get(path.suffix)
    if library is None:
        return
    try:
        import_module(library)
    except ModuleNotFoundError as problem:
        raise DataError(f"{path} needs {library}: pip install 'copyfit[bulk]'") from problem


def read_rows(path: Path) -> Iterator[Row]:
    """Yield the rows of a file one by one; a bad one says so and does not end the reading."""
    return READERS[form_of(path)](path)


def open_input(path: Path) -> AbstractContextManager[BinaryIO]:
    """Open a plain or compressed file, or lend standard input."""
    return nullcontext(standard_input().buffer) if path == STREAM else open_bytes(path)


def _read_lines(path: Path) -> Iterator[str]:
    """Yield lines without their ends; bytes that are not UTF-8 become surrogates."""
    with open_input(path) as stream:
        for number, line in enumerate(stream):
            text = line.decode("utf-8-sig" if number == 0 else "utf-8", "surrogateescape")
            yield text.removesuffix("\n").removesuffix("\r")


def _json_rows(path: Path) -> Iterator[Row]:
    return (_json_row(number, line) for number, line in enumerate(_read_lines(path), 1))


def _json_row(number: int, line: str) -> Row:
    if SURROGATES.search(line):
        return Row({}, f"line {number} must be UTF-8")
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        return Row({}, f"line {number} must be JSON")
    return Row(values) if isinstance(values, dict) else Row({}, f"line {number} must be a JSON object")


def text_rows(path: Path) -> Iterator[Row]:
    """Yield each line of a file as a row with one text."""
    for number, line in enumerate(_read_lines(path), 1):
        bad = SURROGATES.search(line)
        yield Row({}, f"line {number} must be UTF-8") if bad else Row({TEXT_COLUMN: line})


def _tsv_rows(path: Path) -> Iterator[Row]:
    """Yield rows of fields between tabs; nothing is quoted, so that quotation marks are just text."""
    lines = _read_lines(path)
    header = next(lines, "").split("\t")
    _check_header(path, header)
    for number, line in enumerate(lines, 2):
        yield _named(header, line.split("\t"), number)


def _csv_rows(path: Path) -> Iterator[Row]:
    csv.field_size_limit(LONGEST_FIELD)
    with io.TextIOWrapper(open_bytes(path), "utf-8-sig", "surrogateescape", newline="") as stream:
        reader = csv.reader(stream)
        header = next(reader, [])
        _check_header(path, header)
        while (fields := _next_record(reader)) is not None:
            yield _named(header, fields, reader.line_num)


def _next_record(reader: Iterator[list[str]]) -> list[str] | None:
    try:
        return next(reader, None)
    except csv.Error:
        return []


def _check_header(path: Path, header: list[str]) -> None:
    if not any(header):
        raise DataError(f"{path} must begin with a line of column names, it is empty")
    if SURROGATES.search("".join(header)):
        raise DataError(f"{path}: line 1 must be UTF-8")
    if len(set(header)) < len(header):
        raise DataError(f"{path} must have different column names, given {', '.join(header)}")


def _named(header: list[str], fields: list[str], number: int) -> Row:
    values = dict(zip_longest(header, fields[: len(header)]))
    if SURROGATES.search("".join(fields)):
        return Row(values, f"line {number} must be UTF-8")
    if len(fields) != len(header):
        return Row(values, f"line {number} must have {len(header)} columns, it has {len(fields)}")
    return Row(values)


def _parquet_rows(path: Path) -> Iterator[Row]:
    for batch in open_parquet(path).iter_batches(batch_size=PARQUET_ROWS):
        yield from map(Row, batch.to_pylist())


def open_parquet(path: Path) -> Any:
    """Open a Parquet file for reading."""
    check_file(path)
    import pyarrow
    from pyarrow import parquet

    try:
        return parquet.ParquetFile(path)
    except (OSError, pyarrow.ArrowException) as problem:
        raise DataError(
            f"{path} must be a readable Parquet file: {str(problem).splitlines()[0]}"
        ) from problem


READERS: Mapping[str, Callable[[Path], Iterator[Row]]] = {
    "jsonl": _json_rows,
    "csv": _csv_rows,
    "tsv": _tsv_rows,
    "parquet": _parquet_rows,
    "txt": text_rows,
}
