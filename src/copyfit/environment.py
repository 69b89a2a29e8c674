"""What the program finds around it, or not: cores, libraries of an extra, and standard streams."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from copyfit.errors import CopyfitError, DataError

_TRAIN = frozenset({"accelerate", "jaxtyping", "pyarrow", "rich", "torch", "zstandard"})
EXTRAS = {
    "train": _TRAIN,
    "export": _TRAIN | {"onnx", "onnxscript"},
    "serve": frozenset({"fastapi", "prometheus_client", "starlette", "uvicorn"}),
    "plots": frozenset({"matplotlib"}),
}
"""The libraries that each extra brings."""


@contextmanager
def needing_extra(extra: str, work: str, kind: type[CopyfitError]) -> Iterator[None]:
    """Say what to install where a library of an extra is missing."""
    try:
        yield
    except ModuleNotFoundError as problem:
        library = (problem.name or "").partition(".")[0]
        if library not in EXTRAS[extra]:
            raise
        raise kind(f"{work} needs {library}: pip install 'copyfit[{extra}]'") from problem


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


def cores() -> int:
    """Count the cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
