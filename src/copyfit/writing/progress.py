"""How far a long piece of work has come, on standard error."""

import sys
from collections.abc import Callable


def reporter(total: int, *, show: bool | None) -> Callable[[int], None]:
    """Return a function to be told how much is done; None shows it on a terminal only."""
    if sys.stderr is None or not (sys.stderr.isatty() if show is None else show):
        return _say_nothing

    def report(done: int) -> None:
        end = "\n" if done >= total else ""
        sys.stderr.write(f"\r{done}/{total} headlines{end}")
        sys.stderr.flush()

    return report


def _say_nothing(_: int) -> None:
    pass
