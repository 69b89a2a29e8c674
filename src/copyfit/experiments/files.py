"""The files that a study reads: found by name below one folder, known by their content."""

import os
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

from copyfit.data.store import sha256_of
from copyfit.errors import DataError
from copyfit.experiments.design import hash_of
from copyfit.experiments.matrix import Matrix
from copyfit.experiments.records import Content

_ENDINGS = [
    *map("".join, product((".tsv", ".csv", ".jsonl"), ("", ".gz", ".xz", ".zst"))),
    ".parquet",
]


class Inputs(NamedTuple):
    """Hold the files of a study that are there."""

    train: tuple[Path, ...]
    validation: tuple[Path, ...]
    tests: Mapping[str, Path]
    """The file of each test, of those that have one."""

    @property
    def pairs(self) -> str:
        """Hash what is trained and validated on."""
        return hash_of([[content_hash(path) for path in paths] for paths in (self.train, self.validation)])

    def content(self, test: str) -> Content | None:
        """Hash what a test's figures follow from; None where its file is not there."""
        path = self.tests.get(test)
        return Content(self.pairs, content_hash(path)) if path else None


class Files:
    """Find files of pairs by their names without endings."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise DataError(f"the folder of the data must be there, {folder} is not: give it by --data DIR")
        self.folder = folder

    def of(self, matrix: Matrix) -> Inputs:
        """Find the files of a study; tests may be without theirs."""
        tests = {test.name: self._one(test.data) for test in matrix.tests}
        return Inputs(
            self._some(matrix.data.train),
            self._some(matrix.data.validation),
            {name: path for name, path in tests.items() if path},
        )

    def _one(self, name: str) -> Path | None:
        found = self._find(name)
        if len(found) > 1:
            raise DataError(f"{self.folder} must have one {name}, it has {' and '.join(map(str, found))}")
        return found[0] if found else None

    def _some(self, names: tuple[str, ...]) -> tuple[Path, ...]:
        found = [path for name in names for path in self._find(name)]
        if names and not found:
            endings = "tsv, csv, jsonl, parquet, or these compressed"
            raise DataError(f"{self.folder} must have {' or '.join(names)} ({endings}), it has none")
        return tuple(found)

    def _find(self, name: str) -> list[Path]:
        *folders, file = Path(name).parts or ("",)
        if Path(name).is_absolute() or "**" in file or any("**" in part for part in folders if part != "**"):
            raise DataError(
                f"data must be names below the data's folder, with ** for folders only, given {name!r}"
            )
        return sorted(path for ending in _ENDINGS for path in self.folder.glob(name + ending))


def told_apart(paths: Sequence[Path]) -> dict[str, Path]:
    """Name files by where they lie in the innermost folder that has all of them."""
    common = os.path.commonpath([path.parent for path in paths])
    return {path.relative_to(common).as_posix(): path for path in paths}


def content_hash(path: Path) -> str:
    """Hash a file, once as long as it is not written again."""
    try:
        state = path.stat()
        return _hashed(path, state.st_mtime_ns, state.st_size)
    except OSError as problem:
        raise DataError(f"{path} must be a readable file: {problem.strerror}") from problem


@cache
def _hashed(path: Path, *_state: int) -> str:
    return sha256_of(path)
