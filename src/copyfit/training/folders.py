"""Folders that stops and other runs may touch: locked, complete or absent, never the last good one lost."""

import fcntl
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from copyfit.errors import ConfigError
from copyfit.folders import sync

_STEP = re.compile(r"step-(\d+)")
_UNFINISHED = ".unfinished-"
# Temporary names of this module, of `checkpoint.save_checkpoint` and of `data.store.whole_folder`.
# No wider pattern: an output folder may be one that holds other hidden folders.
_LEFTOVERS = (
    "checkpoints/.unfinished-step-*",
    "checkpoints/..unfinished-step-*",
    ".best.new",
    ".last.new",
    ".average.new",
    ".data.new",
    ".data.fresh",
    "..data.fresh.new",
)


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Hold a folder for this process alone; the lock ends with the process, however it ends."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / ".lock").open("w")
    except OSError as problem:
        raise ConfigError(f"the output folder {folder} must be writable: {problem.strerror}") from problem
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as problem:
            raise ConfigError(
                f"{folder} is being written by another process: wait for it, or choose another output"
            ) from problem
        yield


@contextmanager
def complete_or_absent(folder: Path) -> Iterator[Path]:
    """Lend an empty folder to fill; it takes its name only when all of it is on the disk."""
    unfinished = folder.with_name(_UNFINISHED + folder.name)
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    try:
        yield unfinished
        for path in (*unfinished.iterdir(), unfinished):
            sync(path)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    unfinished.rename(folder)
    sync(folder.parent)


def write_whole(path: Path, text: str) -> None:
    """Write a file so that a stop on the way leaves what was there before."""
    unfinished = path.with_name(_UNFINISHED + path.name)
    try:
        unfinished.write_text(text, encoding="utf-8")
        sync(unfinished)
        unfinished.replace(path)
    except OSError as problem:
        unfinished.unlink(missing_ok=True)
        raise ConfigError(f"cannot write {path}: {problem.strerror}") from problem


def remove_leftovers(output: Path) -> None:
    """Remove what stopped runs left half done; a folder that was being replaced gets its old content."""
    for pattern in _LEFTOVERS:
        for path in output.glob(pattern):
            shutil.rmtree(path)
    for name in ("best", "last", "average"):
        previous = output / f".{name}.previous"
        if previous.exists() and not (output / name).exists():
            previous.rename(output / name)
        shutil.rmtree(previous, ignore_errors=True)


def step_folders(folder: Path) -> list[Path]:
    """List the folders named step-N, the newest first."""
    numbered = [
        (int(match[1]), path) for path in folder.glob("step-*") if (match := _STEP.fullmatch(path.name))
    ]
    return [path for _, path in sorted(numbered, reverse=True)]


def discard(folder: Path) -> None:
    """Remove a folder; a stop on the way leaves nothing under its name."""
    unwanted = folder.with_name(_UNFINISHED + folder.name)
    folder.rename(unwanted)
    shutil.rmtree(unwanted)


def set_aside(folder: Path) -> Path:
    """Take a damaged folder out of the way, and tell its new name."""
    aside = folder.with_name(f"damaged-{folder.name}")
    shutil.rmtree(aside, ignore_errors=True)
    return folder.rename(aside)


def rotate(folder: Path, keep: int) -> None:
    """Discard the folders named step-N but the `keep` newest."""
    for path in step_folders(folder)[keep:]:
        discard(path)
