"""The diary of a run: one JSON object a line."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from copyfit.errors import DataError


class Journal:
    """Append records to a file; a run that goes on from a checkpoint forgets what came after it."""

    def __init__(self, path: Path, *, length: int = 0) -> None:
        """Open the journal and keep its first `length` bytes."""
        size = path.stat().st_size if path.exists() else 0
        if size < length:
            raise DataError(
                f"{path} must hold the {length} bytes it had at the save, it has {size}: put it back"
            )
        self._path = path
        self._file = path.open("ab", buffering=0)
        self._file.truncate(length)

    def write(self, record: Mapping[str, Any]) -> None:
        """Append one record."""
        line = json.dumps(record, ensure_ascii=False, allow_nan=False).encode() + b"\n"
        try:
            # The last room of a disk takes a part of a line without a complaint.
            while line:
                line = line[self._file.write(line) :]
        except OSError as problem:
            raise DataError(f"cannot write {self._path}: {problem.strerror}; make room") from problem

    def sync(self) -> int:
        """Wait until everything written is on the disk; return how many bytes that is."""
        os.fsync(self._file.fileno())
        return os.fstat(self._file.fileno()).st_size

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_journal(path: Path, event: str | None = None) -> list[dict[str, Any]]:
    """Read the records, all or those of one event; a last line that was torn by a stop is left out."""
    whole_lines = path.read_bytes().split(b"\n")[:-1]
    records = [json.loads(line) for line in whole_lines]
    return [record for record in records if event is None or record.get("event") == event]
