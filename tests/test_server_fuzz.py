"""What anybody may send: schemathesis asks by the service's own document, and every answer must keep it.

The whole of it, with thousands of cases, is `python -m benchmarks fuzz`.
"""

import subprocess
import sys

import pytest

from support_serving import Slow, serving

pytestmark = pytest.mark.long
KEY = "a-key-of-some-length"


@pytest.mark.parametrize("keys", [(), (KEY,)], ids=["open", "with keys"])
def test_every_answer_keeps_the_document(keys: tuple[str, ...]) -> None:
    writer = Slow()
    writer.open()
    with serving(writer, keys=keys) as served:
        command = [sys.executable, "-m", "schemathesis.cli", "run", f"{served.url}/openapi.json"]
        flags = ["--checks=all", "--phases=examples,fuzzing", "--max-examples=100", "--seed=1", "--no-color"]
        header = [f"--header=Authorization: Bearer {KEY}"] if keys else []
        told = subprocess.run([*command, *flags, *header], capture_output=True, text=True)
    assert told.returncode == 0, told.stdout
    assert "No issues found" in told.stdout
