"""What may be missing around the program: libraries of an extra, and standard streams."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from copyfit.errors import CopyfitError, DataError

TRAIN_EXTRA = frozenset({"accelerate", "jaxtyping", "pyarrow", "rich", "torch", "zstandard"})


@contextmanager
def needing_train_extra(work: str, kind: type[CopyfitError]) -> Iterator[None]:
    """Say what to install where a library of the extra `train` is missing."""
    try:
        yield
    except ModuleNotFoundError as problem:
        library = (problem.name or "").partition(".")[0]
        if library not in TRAIN_EXTRA:
            raise
        raise kind(f"{work} needs {library}: pip install 'copyfit[train]'") from problem


def standard_input() -> TextIO:
    """Return standard input, which a shell may have closed."""
    return _opened(sys.stdin, "standard input", "<&-")


def standard_output() -> TextIO:
    """Return standard output, which a shell may have closed."""
    return _opened(sys.stdout, "standard output", ">&-")


def _opened(stream: TextIO | None, name: str, redirection: str) -> TextIO:
    if stream is None:
        raise DataError(f"{name} must be open, it is closed; leave out {redirection}")
    return stream
