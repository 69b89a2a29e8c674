"""What the command line says, as tests read it."""

import pytest

Output = pytest.CaptureFixture[str]


def complaint(capsys: Output) -> str:
    """Return the one line that a command ends with whose user made a mistake; it must be all there is."""
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("copyfit: error: ")
    assert captured.err.count("\n") == 1
    return captured.err
