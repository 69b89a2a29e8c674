"""Files to write text to, `-` being standard output."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from copyfit.errors import DataError
from copyfit.writing.rows import STREAM


@contextmanager
def open_output(path: Path | None) -> Iterator[TextIO | None]:
    """Open a file, before the work whose outcome it is to hold; none where no path is given."""
    if path is None or path == STREAM:
        yield sys.stdout if path else None
        return
    try:
        stream = path.open("w", encoding="utf-8", newline="\n")
    except OSError as problem:
        raise DataError(f"{path} must be a file that can be written: {problem.strerror}") from problem
    with stream:
        yield stream
