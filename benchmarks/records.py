"""Records: what was measured, on which commit, with which versions, on what machine; never changed."""

import json
import os
import platform
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

RECORDS = Path(__file__).parent / "records"
LIBRARIES = ("copyfit", "numpy", "tokenizers", "torch")


def write_record(name: str, figures: Mapping[str, Any]) -> Path:
    """Write figures with all that they depend on into a new file; refuse to change an old one."""
    commit = _git("rev-parse", "HEAD")
    content = {
        "name": name,
        "commit": commit,
        "uncommitted": _git("status", "--porcelain", "--untracked-files=no").splitlines(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}},
        "machine": {"processor": _processor(), "cores": os.cpu_count(), "load": os.getloadavg()},
        "figures": dict(figures),
    }
    RECORDS.mkdir(exist_ok=True)
    path = RECORDS / f"{name}-{commit[:10]}.json"
    with path.open("x", encoding="utf-8") as stream:
        json.dump(content, stream, indent=2)
        stream.write("\n")
    return path


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown")


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout.strip()
