"""The service against whatever its own document allows and forbids: no answer may break it."""

import re
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

TESTS = Path(__file__).parents[1] / "tests"
EXAMPLES = 1500


def measure() -> dict[str, Any]:
    """Let schemathesis ask, with all of its checks."""
    sys.path.append(str(TESTS))
    from support_serving import Slow, serving

    writer = Slow()
    writer.open()
    started = perf_counter()
    with serving(writer) as served:
        command = [sys.executable, "-m", "schemathesis.cli", "run", f"{served.url}/openapi.json"]
        flags = [
            "--checks=all",
            "--phases=examples,coverage,fuzzing",
            f"--max-examples={EXAMPLES}",
            "--seed=1",
        ]
        told = subprocess.run([*command, *flags, "--no-color"], capture_output=True, text=True)
    assert told.returncode == 0, told.stdout
    cases = re.search(r"(\d+) generated, (\d+) passed", told.stdout)
    assert cases is not None
    return {"cases": int(cases[1]), "passed": int(cases[2]), "seconds": perf_counter() - started}
