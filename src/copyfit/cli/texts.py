"""Texts from a file or standard input."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from copyfit.errors import DataError
from copyfit.writing.rows import STREAM, open_input, text_rows


def read_texts(path: Path, *, lines: bool) -> Iterator[str]:
    """Yield the one text of a file, or each line of it."""
    if not lines:
        yield _whole(path)
        return
    rows = text_rows(path)
    first = next(rows, None)
    if first is None:
        raise DataError(f"{_name(path)} must have at least one line, it is empty")
    for row in chain([first], rows):
        if row.problem:
            raise DataError(f"{_name(path)}: {row.problem}")
        yield row.values["text"]


def _whole(path: Path) -> str:
    with open_input(path) as stream:
        content = stream.read()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise DataError(f"{_name(path)} must be UTF-8 text: byte {problem.start} is not") from problem


def _name(path: Path) -> str:
    return "standard input" if path == STREAM else str(path)
