"""Read pairs from files of many forms, plain or compressed; a bad line is reported, not fatal by itself."""

import csv
import gzip
import io
import json
import lzma
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import islice, repeat, zip_longest
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from copyfit.errors import DataError
from copyfit.text.normal import normalise

BLOCK_ROWS = 2048
"""How many rows of a file travel together."""
_LONGEST_LINE = 1 << 24
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_TARGET_KEYS = ("target", "targets", "references")
_TARGET_COLUMN = re.compile("target[0-9]*")
_TSV_HEADER = b"source\ttarget"


class Pair(NamedTuple):
    """Hold a source and its targets, normalised; most sources have one target."""

    source: str
    targets: tuple[str, ...]


Row = tuple[int, Any]
"""The number of a line or record, and what its form makes of it: not yet understood."""


class Block(NamedTuple):
    """Hold some rows of one file; small enough to hand to another process."""

    path: str
    form: str
    rows: tuple[Row, ...]


class _Form(NamedTuple):
    """Read a file's rows, and a row's fields: the source, then the targets."""

    rows: Callable[[str], Iterator[Row]]
    fields: Callable[[Any], Sequence[Any]]


def stop(problem: DataError) -> None:
    """Treat a bad line as fatal."""
    raise problem


def read_pairs(paths: Iterable[str], on_bad_line: Callable[[DataError], None] = stop) -> Iterator[Pair]:
    """Read the pairs of files of any form, one after the other.

    Forms go by the name: `.tsv`, `.csv`, `.jsonl`, `.parquet`, each but the last also `.gz`, `.xz` or `.zst`;
    `a|b` are two parallel text files. Blank lines at the end of a file are nothing, elsewhere they are bad.
    """
    for block in read_blocks(paths):
        yield from parse(block, on_bad_line)


def read_blocks(paths: Iterable[str]) -> Iterator[Block]:
    """Read files as blocks of rows, without understanding the rows."""
    for path in paths:
        form = form_of(path)
        rows = _FORMS[form].rows(path)
        empty = True
        while taken := tuple(islice(rows, BLOCK_ROWS)):
            empty = False
            yield Block(path, form, taken)
        if empty:
            raise DataError(f"{path} must hold at least one pair, it is empty")


def parse(block: Block, on_bad_line: Callable[[DataError], None]) -> Iterator[Pair]:
    """Understand a block's rows."""
    fields_of = _FORMS[block.form].fields
    for line, raw in block.rows:
        try:
            pair = _pair(fields_of(raw))
        except ValueError as problem:
            reason = "it is not UTF-8" if isinstance(problem, UnicodeDecodeError) else problem
            on_bad_line(DataError(f"{block.path}:{line}: {reason}"))
        else:
            yield pair


def _pair(fields: Sequence[Any]) -> Pair:
    if not all(isinstance(field, str) for field in fields):
        raise ValueError("the source and the targets must be text")
    source, *targets = map(normalise, fields)
    written = tuple(filter(None, targets))
    if not source or not written:
        raise ValueError(f"the {'target' if source else 'source'} must not be empty")
    return Pair(source, written)


def form_of(path: str) -> str:
    """Return which form a file has by its name."""
    if "|" in path:
        return "parallel"
    form = next((suffix[1:] for suffix in reversed(Path(path).suffixes) if suffix not in _OPENERS), "")
    if form not in _FORMS:
        raise DataError(f"{path} must be .tsv, .csv, .jsonl (or these .gz, .xz, .zst), .parquet, or 'a|b'")
    return form


def open_bytes(path: Path) -> BinaryIO:
    """Open a plain or compressed file, by its name; what cannot be read is a DataError, at any point."""
    return io.BufferedReader(_Readable(path), 1 << 20)


@contextmanager
def reading(path: Path | str) -> Iterator[None]:
    """Turn what goes wrong in reading a file into a DataError."""
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as problem:
        raise DataError(f"{path} is damaged or cut off: {problem}") from problem
    except OSError as problem:
        raise DataError(f"{path} must be a readable file: {problem.strerror or problem}") from problem


class _Readable(io.RawIOBase):
    """Read a file through what it is compressed with."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with reading(path):
            self._stream = _OPENERS.get(path.suffix, _open_plain)(path)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with reading(self._path):
            data = self._stream.read(len(buffer)) or b""
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()


def _open_plain(path: Path) -> io.BufferedIOBase:
    return path.open("rb")


def _open_gzip(path: Path) -> io.BufferedIOBase:
    return gzip.open(path)


def _open_xz(path: Path) -> io.BufferedIOBase:
    return lzma.open(path)


def _open_zstandard(path: Path) -> io.BufferedIOBase:
    library = _library("zstandard", path)
    return _Zstandard(path.open("rb"), library)


def _library(name: str, path: Path | str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as problem:
        raise DataError(
            f"{path} can be read only with the package {name.split('.')[0]}: install it"
        ) from problem


class _Zstandard(io.BufferedIOBase):
    """Decompress; unlike the package's own reader, do not take a file that was cut off for a whole one."""

    def __init__(self, compressed: BinaryIO, library: Any) -> None:
        self._compressed = compressed
        self._library = library
        self._frame: Any = None
        self._unread = b""
        self._ready = memoryview(b"")

    def read(self, size: int | None = -1) -> bytes:
        while not self._ready:
            data = self._unread or self._compressed.read(1 << 17)
            if not data and self._frame:
                raise EOFError("the last frame has no end")
            if not data:
                return b""
            self._decompress(data)
        taken, self._ready = self._ready[:size], self._ready[size:]
        return bytes(taken)

    def _decompress(self, data: bytes) -> None:
        frame = self._frame or self._library.ZstdDecompressor().decompressobj()
        try:
            self._ready = memoryview(frame.decompress(data))
        except self._library.ZstdError as problem:
            raise EOFError(str(problem)) from problem
        self._frame = None if frame.eof else frame
        self._unread = frame.unused_data if frame.eof else b""

    def close(self) -> None:
        self._compressed.close()
        super().close()


_OPENERS: Mapping[str, Callable[[Path], io.BufferedIOBase]] = {
    ".gz": _open_gzip,
    ".xz": _open_xz,
    ".zst": _open_zstandard,
}


def _lines(path: str) -> Iterator[bytes]:
    with open_bytes(Path(path)) as stream:
        rest = b""
        data = stream.read(1 << 20).removeprefix(_BYTE_ORDER_MARK)
        while data:
            *whole, rest = (rest + data).split(b"\n")
            yield from whole
            if len(rest) > _LONGEST_LINE:
                raise DataError(f"{path} must be lines of text, one has more than {_LONGEST_LINE} bytes")
            data = stream.read(1 << 20)
        if rest:
            yield rest


def _line_rows(path: str) -> Iterator[Row]:
    return _without_blank_end(enumerate(_lines(path), 1), _is_written)


def _without_blank_end(rows: Iterator[Row], is_written: Callable[[Any], bool]) -> Iterator[Row]:
    blank: list[Row] = []
    for row in rows:
        blank.append(row)
        if is_written(row[1]):
            yield from blank
            blank.clear()


def _is_written(line: bytes | None) -> bool:
    return bool(line and line.strip())


def _tsv_rows(path: str) -> Iterator[Row]:
    return (row for row in _line_rows(path) if row[0] > 1 or row[1].rstrip(b"\r") != _TSV_HEADER)


def _tsv_fields(raw: bytes) -> list[str]:
    fields = raw.decode().split("\t")
    if len(fields) < 2:
        raise ValueError("a tab must divide the source from the target")
    if len(fields) > 2:
        raise ValueError(
            f"it must have one tab, it has {len(fields) - 1};"
            ' several targets of one source go into JSONL as "targets"'
        )
    return fields


def _json_fields(raw: bytes) -> list[Any]:
    try:
        record = json.loads(raw.decode())
    except json.JSONDecodeError as problem:
        raise ValueError(f"it is not JSON: {problem.msg} in column {problem.colno}") from problem
    except RecursionError:
        raise ValueError("its JSON must not be nested so deeply") from None
    if not isinstance(record, dict):
        raise ValueError('it must be an object like {"source": "...", "target": "..."}')
    return _record_fields(record)


def _record_fields(record: Mapping[str, Any]) -> list[Any]:
    targets = next((record[key] for key in _TARGET_KEYS if record.get(key) is not None), None)
    if targets is None or "source" not in record:
        raise ValueError('it must have "source" and one of "target", "targets", "references"')
    return [record["source"], *(targets if isinstance(targets, list) else [targets])]


def _parallel_rows(path: str) -> Iterator[Row]:
    sides = path.split("|")
    if len(sides) != 2:
        raise DataError(f"parallel files must be two, as in 'a|b', given {path!r}")
    rows = enumerate(zip_longest(*map(_lines, sides)), 1)
    for line, both in _without_blank_end(rows, lambda both: any(map(_is_written, both))):
        if None in both:
            ended = sides[both.index(None)]
            raise DataError(f"{' and '.join(sides)} must have as many lines, {ended} ends before line {line}")
        yield line, both


def _parallel_fields(raw: tuple[bytes, bytes]) -> list[str]:
    return [side.decode() for side in raw]


def _csv_rows(path: str) -> Iterator[Row]:
    # Text that is no UTF-8 must not end the reading: the rows around it are good.
    with io.TextIOWrapper(open_bytes(Path(path)), "utf-8-sig", "surrogateescape", newline="") as stream:
        csv.field_size_limit(_LONGEST_LINE)
        reader = csv.reader(stream)
        header = next(reader, [])
        columns = [header.index("source")] if "source" in header else []
        columns += [index for index, name in enumerate(header) if _TARGET_COLUMN.fullmatch(name)]
        if header and (len(columns) < 2 or header[columns[0]] != "source"):
            raise DataError(f"{path} must have the columns 'source' and 'target', it has {', '.join(header)}")
        records = ((reader.line_num, record) for record in _csv_records(reader))
        for line, record in _without_blank_end(records, lambda record: any(map(str.strip, record))):
            yield line, _pick(record, columns)


def _csv_records(reader: Iterator[list[str]]) -> Iterator[list[str] | str]:
    for _ in repeat(None):
        try:
            yield next(reader)
        except StopIteration:
            return
        except csv.Error as problem:
            yield f"it is not CSV: {problem}"


def _pick(fields: list[str] | str, columns: Sequence[int]) -> list[str] | str:
    if isinstance(fields, str):
        return fields
    if len(fields) <= columns[1]:
        return "it has too few columns"
    return [fields[column] for column in columns if column < len(fields)]


def _csv_fields(raw: list[str] | str) -> list[str]:
    if isinstance(raw, str):
        raise ValueError(raw)
    for field in raw:
        field.encode("utf-8", "surrogateescape").decode()
    return raw


def _parquet_rows(path: str) -> Iterator[Row]:
    library, parquet = _library("pyarrow", path), _library("pyarrow.parquet", path)
    with reading(path), Path(path).open("rb") as stream:
        try:
            file = parquet.ParquetFile(stream)
            names = [name for name in ("source", *_TARGET_KEYS) if name in file.schema_arrow.names]
            batches = file.iter_batches(batch_size=BLOCK_ROWS, columns=names, use_threads=False)
            yield from enumerate((record for batch in batches for record in batch.to_pylist()), 1)
        except library.ArrowException as problem:
            raise DataError(f"{path} must be a whole Parquet file: {problem}") from problem


_FORMS: Mapping[str, _Form] = {
    "tsv": _Form(_tsv_rows, _tsv_fields),
    "csv": _Form(_csv_rows, _csv_fields),
    "jsonl": _Form(_line_rows, _json_fields),
    "parquet": _Form(_parquet_rows, _record_fields),
    "parallel": _Form(_parallel_rows, _parallel_fields),
}
