"""Do tasks, in this process or several at once in processes of their own."""

import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import torch

from copyfit.environment import cores
from copyfit.errors import CopyfitError
from copyfit.experiments.board import Board, Line
from copyfit.experiments.tasks import Task

_PATIENCE = 60.0
"""Seconds that a process gets to save what it does when it is asked to stop."""


class Failure(NamedTuple):
    """Tell why a task is not done."""

    title: str
    reason: str
    trace: str | None = None
    """Where it broke; None where a user can mend it."""


class Hands(NamedTuple):
    """Say how many tasks are done at once, and with how many threads each."""

    jobs: int
    threads: int | None = None


def hands_for(threads: int | None, jobs: int | None, device: str | None) -> Hands:
    """Share the cores out: `threads` is what one training uses well, `jobs` what was asked for."""
    if device != "cpu" and torch.cuda.is_available():
        return Hands(jobs or 1)
    count = jobs or max(1, cores() // (threads or cores()))
    share = max(1, cores() // count)
    return Hands(count, min(threads or share, share) if count > 1 or threads else None)


def perform_all(tasks: Sequence[Task], hands: Hands, board: Board) -> list[Failure]:
    """Do all tasks, each after those it needs; one that fails stops only those that need it."""
    work = _Work(tasks, board)
    if hands.jobs == 1:
        with _threads(hands.threads):
            while task := work.take():
                work.close(task, _attempt(task, work.lines[task.name]))
    else:
        _Crew(work, hands).run()
    return work.failures


class _Work:
    """Know what is to be done, what goes on, and what failed."""

    def __init__(self, tasks: Sequence[Task], board: Board) -> None:
        self.board = board
        self.failures: list[Failure] = []
        self.lines: dict[str, Line] = {}
        self._waiting = list(tasks)
        self._open = {task.name for task in tasks}
        self._failed: set[str] = set()

    def take(self) -> Task | None:
        """Begin the first task that needs nothing more; None where there is none at present."""
        self._give_up()
        for task in self._waiting:
            if not self._open.intersection(task.needs):
                self._waiting.remove(task)
                self.lines[task.name] = self.board.begin(task.title)
                return task
        return None

    def _give_up(self) -> None:
        """Leave out what needs something that failed."""
        for task in [task for task in self._waiting if self._failed.intersection(task.needs)]:
            self._waiting.remove(task)
            self._fail(task, Failure(task.title, "what it needs could not be done"))

    def close(self, task: Task, failure: Failure | None) -> None:
        """Take down how a task ended."""
        self.lines.pop(task.name).close()
        if failure:
            self._fail(task, failure)
        else:
            self._open.remove(task.name)
            self.board.count()

    def _fail(self, task: Task, failure: Failure) -> None:
        self._failed.add(task.name)
        self.failures.append(failure)
        self.board.note(f"{failure.title}: {failure.reason}")
        if failure.trace:
            self.board.note(failure.trace)
        self.board.count()


def _attempt(task: Task, display: Any) -> Failure | None:
    try:
        task.perform(display)
    except CopyfitError as problem:
        return Failure(task.title, str(problem))
    except Exception as problem:  # noqa: BLE001 a bug in one run must not cost the others
        return Failure(task.title, repr(problem), traceback.format_exc())
    return None


class _Member(NamedTuple):
    """Be a process that does tasks, one after the other."""

    process: Any
    line: Connection


class _Crew:
    """Keep several processes busy."""

    def __init__(self, work: _Work, hands: Hands) -> None:
        self._work = work
        self._hands = hands
        self._idle: list[_Member] = []
        self._busy: dict[Connection, tuple[_Member, Task]] = {}

    def run(self) -> None:
        try:
            while self._hand_out():
                for line in connection.wait(list(self._busy)):
                    assert isinstance(line, Connection)
                    self._hear(line)
        except BaseException:
            self._stop()
            raise
        for member in self._idle:
            _dismiss(member)

    def _hand_out(self) -> bool:
        """Give tasks to who has none; tell whether anything goes on."""
        while len(self._busy) < self._hands.jobs and (task := self._work.take()):
            member = self._given(task)
            self._busy[member.line] = member, task
        return bool(self._busy)

    def _given(self, task: Task) -> _Member:
        """Send a task to an idle process, or to a new one where none is left alive."""
        while self._idle:
            member = self._idle.pop()
            with suppress(ConnectionError):
                member.line.send(task)
                return member
            member.process.join()
        member = _engage(self._hands.threads)
        # One that is gone already is found out where it is heard.
        with suppress(ConnectionError):
            member.line.send(task)
        return member

    def _hear(self, line: Connection) -> None:
        member, task = self._busy[line]
        try:
            word, said = line.recv()
        except (EOFError, OSError):
            member.process.join()
            code = member.process.exitcode
            self._close(line, Failure(task.title, f"its process ended with code {code}: try fewer --jobs"))
            return
        if word != "end":
            getattr(self._work.lines[task.name], word)(said)
            return
        self._close(line, said)
        # After an error a device may be in any state: the next task gets a new process.
        if said is None:
            self._idle.append(member)
        else:
            _dismiss(member)

    def _close(self, line: Connection, failure: Failure | None) -> None:
        _, task = self._busy.pop(line)
        self._work.close(task, failure)

    def _stop(self) -> None:
        members = [*self._idle, *(member for member, _ in self._busy.values())]
        for member in members:
            member.process.terminate()
        for member in members:
            member.process.join(_PATIENCE)
            member.process.kill()


def _engage(threads: int | None) -> _Member:
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=serve, args=(there, threads), daemon=True)
    process.start()
    there.close()
    return _Member(process, here)


def _dismiss(member: _Member) -> None:
    with suppress(ConnectionError):
        member.line.send(None)
    member.process.join()


class Wire:
    """Tell another process how a task goes; where that is gone, the task ends with an error."""

    def __init__(self, line: Connection) -> None:
        self._line = line

    def advance(self, share: float) -> None:
        """Tell how much is done."""
        self._line.send(("advance", share))

    def tell(self, news: str) -> None:
        """Tell how it goes."""
        self._line.send(("tell", news))

    def note(self, line: str) -> None:
        """Tell something that is to stay in sight."""
        self._line.send(("note", line))


def serve(line: Connection, threads: int | None) -> None:
    """Do the tasks that come over a line until there is none."""
    if threads:
        torch.set_num_threads(threads)
    with suppress(EOFError, ConnectionError), _quiet_stop():
        while task := line.recv():
            line.send(("end", _attempt(task, Wire(line))))


@contextmanager
def _quiet_stop() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        sys.exit(130)


@contextmanager
def _threads(threads: int | None) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(threads or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def terminable() -> Iterator[None]:
    """Take a termination for an interrupt, so that it can be obeyed in order."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
