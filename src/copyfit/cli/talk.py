"""Data on standard output, everything else on standard error."""

import json
import os
import sys
from collections.abc import Iterable
from typing import Any

from copyfit.environment import standard_output
from copyfit.errors import DataError


def put(text: str) -> None:
    """Write a line of data."""
    stream = standard_output()
    try:
        stream.write(f"{text}\n")
    except BrokenPipeError:
        raise
    except OSError as problem:
        raise DataError(f"cannot write to standard output: {problem.strerror}") from problem


def put_json(values: Any) -> None:
    """Write a value as a line of JSON."""
    put(json.dumps(values, ensure_ascii=False))


def flush() -> None:
    """Hand on what was written so far."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as problem:
        raise DataError(f"cannot write to standard output: {problem.strerror}") from problem


def note(message: str) -> None:
    """Tell the user something, in one line."""
    if sys.stderr is not None:
        sys.stderr.write(f"copyfit: {' '.join(message.split())}\n")


def show(lines: Iterable[str]) -> None:
    """Show the user some lines as they are."""
    if sys.stderr is not None:
        sys.stderr.writelines(f"{line}\n" for line in lines)


def hush() -> None:
    """Let nothing more reach a standard output that nobody reads."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
