"""Write rows to a file as they come, and take up a file that was not finished."""

import csv
import gzip
import io
import json
import lzma
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from math import isnan
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol, Self, cast

from copyfit.data.corpus import open_bytes
from copyfit.environment import standard_output
from copyfit.errors import DataError
from copyfit.writing.rows import STREAM, SURROGATES, form_of

HEADLINE = "headline"
ADDED = (HEADLINE, "headline_length", "fits", "truncated", "error")
SEVERAL = "headlines"


class Sink(Protocol):
    """Take rows in the order they are to stand in the file; a context, closed at its end."""

    def write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write some rows, all with the same columns, so that they survive a stop."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *problem: object) -> None: ...


def open_sink(path: Path) -> Sink:
    """Open a file to write rows to from its start."""
    form = form_of(path)
    return _ParquetSink(path) if form == "parquet" else _TextSink(path, form, _opened(path, append=False))


def resume_sink(path: Path) -> tuple[Sink, int]:
    """Open a file to go on behind its last whole row; return how many rows it has."""
    form = form_of(path)
    if form == "parquet" or path == STREAM:
        raise DataError(f"only .jsonl, .csv, .tsv and .txt files can be resumed, given {path}")
    if not path.is_file():
        return open_sink(path), 0
    records, header = _keep_whole_records(path, form)
    sink = _TextSink(path, form, _opened(path, append=True))
    if form not in DELIMITERS or not records:
        return sink, records
    sink.columns = DELIMITERS[form].split(header)
    return sink, records - 1


def _keep_whole_records(path: Path, form: str) -> tuple[int, str]:
    """Drop what was half written; a stop in the middle of this leaves the file as it was."""
    fresh = path.with_name(f".resumed.{path.name}")
    try:
        with writing(path):
            kept, header = _copy_records(_whole_records(path, form), fresh)
            fresh.replace(path)
    finally:
        with suppress(OSError):
            fresh.unlink()
    return kept, header.decode()


def _copy_records(records: Iterable[bytes], path: Path) -> tuple[int, bytes]:
    """Write records to a file; return how many they are, and the first."""
    kept, header = 0, b""
    with _opened(path, append=False) as target:
        for record in records:
            header = header or record
            target.write(record)
            kept += 1
    return kept, header


def _whole_records(path: Path, form: str) -> Iterator[bytes]:
    record, quotes = b"", 0
    for line in _readable_lines(path):
        record += line
        quotes += line.count(b'"') if form == "csv" else 0
        if line.endswith(b"\n") and quotes % 2 == 0:
            yield record
            record = b""


def _readable_lines(path: Path) -> Iterator[bytes]:
    # The end of a compressed file is missing when its writer was stopped.
    with open_bytes(path) as stream, suppress(DataError):
        yield from stream


class _TextSink:
    """Write lines; where the form has a header, its columns are those of the first rows."""

    def __init__(self, path: Path, form: str, file: BinaryIO) -> None:
        self.columns: list[str] = []
        self._path = path
        self._form = form
        self._file = file

    def write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        lines = "".join(self._lines(rows)).encode()
        with writing(self._path):
            self._file.write(lines)
            self._file.flush()

    def _lines(self, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
        delimited = DELIMITERS.get(self._form)
        if delimited is None:
            yield from map(_json_line if self._form == "jsonl" else _text_line, rows)
            return
        if not self.columns:
            self.columns = _columns(rows)
            yield delimited.join(self.columns)
        for row in rows:
            _check_columns(self._path, row, self.columns)
            yield delimited.join([_cell(row.get(name)) for name in self.columns])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        if self._path != STREAM:
            with closing(self._path, problem[1]):
                self._file.close()


def _columns(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _check_columns(path: Path, row: Mapping[str, Any], columns: Sequence[str]) -> None:
    other = sorted(set(row) - set(columns))
    if other:
        raise DataError(f"{path} must have the columns of its first rows, a later one also has {other[0]!r}")


def _opened(path: Path, *, append: bool) -> BinaryIO:
    if path == STREAM:
        return standard_output().buffer
    with writing(path):
        return _OPENERS.get(path.suffix, _open_plain)(path, "ab" if append else "wb")


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say in one line why a file cannot be written."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as problem:
        raise DataError(f"cannot write {path}: {problem.strerror}") from problem


def closing(path: Path, problem: object = None) -> AbstractContextManager[None]:
    """Let the problem that closes a file be the one that is told."""
    return writing(path) if problem is None else suppress(OSError)


def _open_plain(path: Path, mode: str) -> BinaryIO:
    return cast(BinaryIO, path.open(mode))


def _open_gzip(path: Path, mode: str) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path, mode, compresslevel=6))


def _open_xz(path: Path, mode: str) -> BinaryIO:
    return cast(BinaryIO, lzma.open(path, mode, preset=1))


def _open_zstandard(path: Path, mode: str) -> BinaryIO:
    import zstandard

    return cast(BinaryIO, zstandard.open(path, mode))


_OPENERS: Mapping[str, Callable[[Path, str], BinaryIO]] = {
    ".gz": _open_gzip,
    ".xz": _open_xz,
    ".zst": _open_zstandard,
}


class _ParquetSink:
    """Write row groups; the columns and their types are those of the first rows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: Any = None
        self._file = _opened(path, append=False)

    def write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        from pyarrow import Table

        fields = (
            self._writer.schema
            if self._writer
            else [_field(self._path, name, rows) for name in _columns(rows)]
        )
        names = [field.name for field in fields]
        for row in rows:
            _check_columns(self._path, row, names)
        table = Table.from_arrays([_array(self._path, field, rows) for field in fields], names)
        with writing(self._path):
            self._writer = self._writer or self._open_writer(table.schema)
            self._writer.write_table(table)

    def _open_writer(self, schema: Any) -> Any:
        from pyarrow import ArrowNotImplementedError
        from pyarrow.parquet import ParquetWriter

        try:
            return ParquetWriter(self._file, schema)
        except ArrowNotImplementedError as problem:
            raise DataError(f"cannot write {self._path}: {problem}") from problem

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        with closing(self._path, problem[1]):
            if self._writer is not None:
                self._writer.close()
            self._file.close()


def _field(path: Path, name: str, rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return the type of a column by its first values."""
    import pyarrow

    text = pyarrow.string()
    added = {
        HEADLINE: text,
        "headline_length": pyarrow.int32(),
        "fits": pyarrow.bool_(),
        "truncated": pyarrow.bool_(),
        "error": text,
        SEVERAL: pyarrow.list_(text),
    }
    with _one_type(path, name):
        kind = added.get(name) or pyarrow.infer_type([_plain(row.get(name)) for row in rows])
    return pyarrow.field(name, text if kind == pyarrow.null() else kind)


def _array(path: Path, field: Any, rows: Sequence[Mapping[str, Any]]) -> Any:
    import pyarrow

    with _one_type(path, field.name):
        return pyarrow.array([_plain(row.get(field.name)) for row in rows], field.type)


@contextmanager
def _one_type(path: Path, name: str) -> Iterator[None]:
    """Say in one line which column has a value that its type cannot hold."""
    from pyarrow import ArrowException

    try:
        yield
    except (ArrowException, TypeError, ValueError, OverflowError) as problem:
        reason = str(problem).partition("\n")[0]
        raise DataError(
            f"{path}: column {name!r} must have one type that holds all its values: {reason}"
        ) from problem


def _plain(value: Any) -> Any:
    return SURROGATES.sub("\ufffd", value) if isinstance(value, str) else value


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return "" if isnan(value) else repr(value)
    return str(_plain(value if isinstance(value, str) else _json(value)))


def _json(value: Any, *, ascii_only: bool = False) -> str:
    try:
        return json.dumps(value, ensure_ascii=ascii_only, default=str, allow_nan=False)
    except ValueError:
        # JSON has no word for what is no finite number.
        finite = json.loads(json.dumps(value, default=str), parse_constant=_nothing)
        return json.dumps(finite, ensure_ascii=ascii_only)


def _nothing(_: str) -> None:
    pass


def _json_line(row: Mapping[str, Any]) -> str:
    line = _json(row)
    # Half of a surrogate pair is legal in JSON only as an escape.
    return f"{_json(row, ascii_only=True) if SURROGATES.search(line) else line}\n"


def _text_line(row: Mapping[str, Any]) -> str:
    return f"{_cell(row[HEADLINE])}\n"


class _Delimited(NamedTuple):
    """Join the fields of a line and split them again."""

    join: Callable[[Sequence[str]], str]
    split: Callable[[str], list[str]]


def _join_csv(fields: Sequence[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(fields)
    return line.getvalue()


def _split_csv(line: str) -> list[str]:
    return next(csv.reader([line]))


def _join_tsv(fields: Sequence[str]) -> str:
    return "\t".join(re.sub(r"[\t\r\n]+", " ", field) for field in fields) + "\n"


def _split_tsv(line: str) -> list[str]:
    return line.removesuffix("\n").split("\t")


DELIMITERS: Mapping[str, _Delimited] = {
    "csv": _Delimited(_join_csv, _split_csv),
    "tsv": _Delimited(_join_tsv, _split_tsv),
}
