"""What a person sees of a run, on stderr."""

from types import TracebackType
from typing import Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

SMOOTHING = 600.0
"""Seconds over which the speed is averaged to tell the time left."""


class Display(Protocol):
    """Be what a run reports to."""

    def advance(self, share: float) -> None:
        """Take the share of the run that is done."""
        ...

    def tell(self, news: str) -> None:
        """Take how the run goes."""
        ...

    def note(self, line: str) -> None:
        """Take something that is to stay in sight."""
        ...


class ProgressBar:
    """Show one line that says how far a run is, its loss, its speed and the time left.

    Where stderr is no terminal the same is printed, a line each time there is news.
    """

    def __init__(self, *, shown: bool = True) -> None:
        self._console = Console(stderr=True, quiet=not shown, highlight=False)
        self._live = self._console.is_terminal and shown
        self._bar = Progress(
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.description}"),
            TimeRemainingColumn(compact=True),
            TextColumn("left"),
            console=self._console,
            speed_estimate_period=SMOOTHING,
            disable=not self._live,
        )
        self._task = self._bar.add_task("starting", total=1.0)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def advance(self, share: float) -> None:
        """Move the bar to the share of the run that is done."""
        self._bar.update(self._task, completed=share)

    def tell(self, news: str) -> None:
        """Say how the run goes."""
        self._bar.update(self._task, description=news)
        if not self._live:
            self._console.print(news, soft_wrap=True)

    def note(self, line: str) -> None:
        """Say something that stays on the screen."""
        self._console.print(line, soft_wrap=True)
