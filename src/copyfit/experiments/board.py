"""What a person sees of a study, on stderr: one display over all that is done."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from copyfit.training.progress import Display


class Board:
    """Show how much of a study is done, and how far each task is that goes on.

    Where stderr is no terminal, only what begins and what is done is told, a line each.
    """

    def __init__(self, tasks: int) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[news]}"),
            TimeElapsedColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._all = self._bars.add_task("all", total=tasks, news="")

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def begin(self, title: str) -> "Line":
        """Show a task that begins."""
        if not self._console.is_terminal:
            self.note(f"{title} ...")
        return Line(self, self._bars, title)

    def count(self) -> None:
        """Take down that one task more is done, or cannot be."""
        self._bars.advance(self._all)

    def note(self, line: str) -> None:
        """Say something that stays on the screen."""
        self._console.print(line, soft_wrap=True, markup=False)


class Line(Display):
    """Show one task."""

    def __init__(self, board: Board, bars: Progress, title: str) -> None:
        self._board, self._bars, self._title = board, bars, title
        self._task = bars.add_task(title, total=100, news="")

    def advance(self, share: float) -> None:
        """Move the bar to the share of the task that is done."""
        self._bars.update(self._task, completed=round(100 * share))

    def tell(self, news: str) -> None:
        """Say how the task goes."""
        self._bars.update(self._task, news=news)

    def note(self, line: str) -> None:
        """Say something that stays on the screen, on behalf of the task."""
        self._board.note(f"{self._title}: {line}")

    def close(self) -> None:
        """Show the task no more."""
        self._bars.remove_task(self._task)
