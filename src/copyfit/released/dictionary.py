"""Dictionaries of fairseq and codes of subword-nmt, as they lie on the disk."""

import re
from pathlib import Path
from typing import NamedTuple

from copyfit.errors import CheckpointError

UNUSED_ROW, PADDING_ROW, END_ROW, UNKNOWN_ROW = range(4)
"""The symbols that every dictionary begins with and no file lists; no text and no training has the first."""
SPECIAL = 4

_VERSION = re.compile(r"#version: 0\.2(\.0+)*")

Merge = tuple[str, str]


class Dictionary(NamedTuple):
    """Hold the tokens of a dictionary behind the special ones, and how often each was seen."""

    tokens: tuple[str, ...]
    counts: tuple[int, ...]

    @property
    def size(self) -> int:
        """Return the number of rows of a table for it."""
        return SPECIAL + len(self.tokens)


def read_dictionary(path: Path) -> Dictionary:
    """Read a token and its count from every line."""
    counts: dict[str, int] = {}
    for number, line in enumerate(_lines(path), 1):
        token, _, count = line.rpartition(" ")
        if not (token and count.isascii() and count.isdecimal()):
            raise CheckpointError(
                f"{path}:{number}: a line must be a token, a space and its count, given {line!r}"
            )
        if token in counts:
            raise CheckpointError(
                f"{path}:{number}: a token must stand in one line only, {token!r} does in two"
            )
        counts[token] = int(count)
    return Dictionary(tuple(counts), tuple(counts.values()))


def read_codes(path: Path) -> tuple[Merge, ...]:
    """Read which pairs of pieces are joined, the first to be joined first."""
    first, *lines = _lines(path) or [""]
    if not _VERSION.fullmatch(first.rstrip()):
        raise CheckpointError(
            f"{path} must begin with '#version: 0.2', as subword-nmt writes it, it begins with {first[:40]!r}"
        )
    merges: dict[Merge, None] = {}
    for number, line in enumerate(lines, 2):
        left, _, right = line.strip(" ").partition(" ")
        if not (left and right) or " " in right:
            raise CheckpointError(
                f"{path}:{number}: a line must be two pieces with a space between, given {line!r}"
            )
        merges[left, right] = None
    return tuple(merges)


def _lines(path: Path) -> list[str]:
    """Return the lines of a text; characters that Python would also take for line ends may be tokens."""
    try:
        return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except OSError as problem:
        raise CheckpointError(f"cannot read {path}: {problem.strerror}") from problem
    except UnicodeDecodeError as problem:
        raise CheckpointError(f"{path} must be UTF-8 text: byte {problem.start} is not") from problem
