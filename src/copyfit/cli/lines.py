"""Files to write lines to, `-` being standard output."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from copyfit.cli import talk
from copyfit.writing.rows import STREAM
from copyfit.writing.sinks import closing, writing

Put = Callable[[str], None]
"""Write one line."""


@contextmanager
def open_output(path: Path | None) -> Iterator[Put | None]:
    """Open a file, before the work whose outcome it is to hold; none where no path is given."""
    if path is None or path == STREAM:
        yield talk.put if path else None
        return
    with writing(path):
        file = path.open("w", encoding="utf-8", newline="\n")

    def put(line: str) -> None:
        with writing(path):
            file.write(f"{line}\n")

    try:
        yield put
    except BaseException as problem:
        with closing(path, problem):
            file.close()
        raise
    with closing(path):
        file.close()
