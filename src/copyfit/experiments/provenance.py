"""What a figure was made by: code, versions, machine."""

import hashlib
import os
import platform
import subprocess
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from copyfit import __version__
from copyfit.config import Section
from copyfit.environment import cores

_PACKAGE = Path(__file__).parents[1]
_LIBRARIES = ("accelerate", "numpy", "tokenizers", "torch", "triton")


class Made(Section):
    """Say when, by which code and on what machine something was measured."""

    date: str
    commit: str | None
    """None where the code is no part of a git repository."""
    clean: bool | None
    """Whether all of the package was as it was committed."""
    code: str
    """Hash of the package's source files, which tells code apart wherever it lies."""
    copyfit: str
    versions: dict[str, str]
    hardware: dict[str, str | int]


def made_now(device: str) -> Made:
    """Look around; `device` is what computed."""
    commit, clean = _commit()
    return Made(
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        commit=commit,
        clean=clean,
        code=_code(),
        copyfit=__version__,
        versions={"python": platform.python_version(), **_versions()},
        hardware={"device": device, "processor": _processor(), "cores": cores()},
    )


def _versions() -> dict[str, str]:
    found = {}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


@cache
def _commit() -> tuple[str | None, bool | None]:
    # The package may lie in a repository that knows nothing of it, as in the environment of some project.
    if _git("ls-files", "--error-unmatch", "__init__.py") is None:
        return None, None
    return _git("rev-parse", "HEAD"), not _git("status", "--porcelain", "--", ".")


def _git(*words: str) -> str | None:
    try:
        done = subprocess.run(["git", *words], cwd=_PACKAGE, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


@cache
def _code() -> str:
    found = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        found.update(f"{path.relative_to(_PACKAGE).as_posix()}\0".encode() + path.read_bytes())
    return found.hexdigest()


@cache
def _processor() -> str:
    facts = Path("/proc/cpuinfo")
    lines = facts.read_text(encoding="utf-8").splitlines() if facts.exists() else []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or platform.machine() or os.name)
