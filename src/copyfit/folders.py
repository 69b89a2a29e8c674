"""Folders that appear whole or not at all, each written by one process at a time."""

import errno
import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO


@contextmanager
def complete_or_absent(folder: Path) -> Iterator[Path]:
    """Lend an empty folder to fill; it takes its name only when all of it is on the disk.

    Until then it stands beside that name, hidden. What a process that was killed left there is removed.
    """
    folder = folder.resolve()
    if not folder.parent.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished, lock = (folder.with_name(f".{folder.name}.{role}") for role in ("new", "lock"))
    with _held(lock):
        shutil.rmtree(unfinished, ignore_errors=True)
        try:
            unfinished.mkdir()
            yield unfinished
            for path in (*unfinished.rglob("*"), unfinished):
                sync(path)
            unfinished.rename(folder)
            sync(folder.parent)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)


def is_free(folder: Path) -> bool:
    """Tell whether a folder is yet to be made, or empty."""
    return not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _held(lock: Path) -> Iterator[None]:
    """Hold a lock file, which ends with the process, however it ends; it is there only while it is held."""
    with _lock(lock):
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)


def _lock(path: Path) -> TextIO:
    while True:
        file = path.open("w")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise BlockingIOError(
                errno.EAGAIN, "another process is writing it; wait for it, or choose another output"
            ) from None
        # A holder that ended after `open` took the file away: nobody else would find this one.
        if os.fstat(file.fileno()).st_nlink:
            return file
        file.close()
