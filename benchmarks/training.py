"""How much useful work a finished training run did a second, against what the device's matrix units can do.

    copyfit train recipes/base.toml --set 'data.train=["pairs.tsv"]' --output runs/base
    python -m benchmarks.training runs/base

Useful are 6 operations for each weight of a matrix that a real token passes; attention scores, padding and
optimizer count as nothing. The ceiling is measured on the same device: an 8192 x 8192 bf16 product.
"""

import json
import sys
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import torch

SIZE = 8192
ROUNDS = 20


def main(arguments: list[str]) -> None:
    """Print the figures of a run folder; a second argument is the ceiling in TFLOP/s, if it is known."""
    folder = Path(arguments[0])
    ceiling = float(arguments[1]) * 1e12 if len(arguments) > 1 else measure_ceiling()
    lines = (folder / "journal.jsonl").read_text(encoding="utf-8").splitlines()
    print(json.dumps(figures([json.loads(line) for line in lines], ceiling), indent=2))


def figures(journal: list[dict[str, Any]], ceiling: float) -> dict[str, Any]:
    """Work out the speed of all stretches of a run but the first, in which the model is compiled."""
    start = next(record for record in journal if record["event"] == "start")
    first, *stretches = [record for record in journal if record["event"] == "train"]
    speeds = [record["useful_flops_per_second"] for record in stretches]
    return {
        "device": start["device"],
        "torch": start["torch"],
        "parameters": start["parameters"],
        "steps": stretches[-1]["step"],
        "useful_tflops": median(speeds) / 1e12,
        "useful_tflops_least": min(speeds) / 1e12,
        "useful_tflops_most": max(speeds) / 1e12,
        "ceiling_tflops": ceiling / 1e12,
        "share_of_ceiling": median(speeds) / ceiling,
        "source_tokens_per_second": median(record["source_tokens_per_second"] for record in stretches),
        "target_tokens_per_second": median(record["target_tokens_per_second"] for record in stretches),
        "seconds_to_full_speed": first["seconds"],
        "memory_gib": stretches[-1]["memory_bytes"] / 2**30,
    }


def measure_ceiling() -> float:
    """Return the operations a second of a large bf16 product on random numbers."""
    left, right = (torch.randn(SIZE, SIZE, dtype=torch.bfloat16, device="cuda") for _ in range(2))
    for _ in range(3):
        left @ right
    torch.cuda.synchronize()
    started = perf_counter()
    for _ in range(ROUNDS):
        left @ right
    torch.cuda.synchronize()
    return ROUNDS * 2.0 * SIZE**3 / (perf_counter() - started)


if __name__ == "__main__":
    main(sys.argv[1:])
