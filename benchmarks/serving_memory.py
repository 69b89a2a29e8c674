"""The memory of a service over very many requests for very little; it must not grow."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.serving import CLIENTS, TESTS, exported, served

REQUESTS = 50_000
PARTS = 10


def measure() -> dict[str, Any]:
    """Ask a tiny model for a few characters, and look at the memory after each part."""
    sys.path.append(str(TESTS))
    from support_writing import SECTION

    with TemporaryDirectory() as name:
        model, texts = exported(Path(name), SECTION)
        lengths = (1 + number % 9 for number in range(len(texts)))
        bodies = [
            {"text": text, "length": length, "num_beams": 1}
            for text, length in zip(texts, lengths, strict=True)
        ]
        with served(model) as process:
            memory = []
            for _ in range(PARTS):
                told = process.asked(bodies, "in-turn", clients=CLIENTS, total=REQUESTS // PARTS)
                assert {status for status, _ in told["answers"]} == {200}
                memory.append(process.memory())
    return {"requests": REQUESTS, "mebibytes_after_each_part": memory, "growth": memory[-1] / memory[0] - 1}
