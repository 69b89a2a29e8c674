"""What the command line says, as tests read it."""

import io
import sys

import pytest

from copyfit.cli.app import run

Output = pytest.CaptureFixture[str]


def complaint(capsys: Output) -> str:
    """Return the one line that a command ends with whose user made a mistake; it must be all there is."""
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("copyfit: error: ")
    assert captured.err.count("\n") == 1
    return captured.err


def write(model: str, *arguments: str) -> int:
    return run(["write", "--model", model, "--num-beams", "1", *arguments])


def stdin(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
