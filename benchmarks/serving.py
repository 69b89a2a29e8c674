"""The service under load, against the same work done in one call."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import perf_counter, sleep
from typing import Any

import numpy as np

from copyfit.checkpoint import save_checkpoint
from copyfit.examples import write_examples
from copyfit.models.config import TransformerSection
from copyfit.runtime.exporting import export, trace_checkpoint
from copyfit.writing.requests import Wish
from copyfit.writing.writer import Effort, Order, Writer

TESTS = Path(__file__).parents[1] / "tests"
SECTION = TransformerSection(width=256, heads=4, inner=1024, encoder_layers=4, decoder_layers=3, dropout=0)
CLIENTS = 32
HEADLINES = 640
SECONDS = 20.0
SHARE = 0.7
OVERLOAD = 10
SIZES = (30, 50, 75)


@dataclass(frozen=True)
class Process:
    """A service that runs."""

    port: int
    process: int

    def asked(self, bodies: Sequence[object], kind: str, **how: float) -> dict[str, Any]:
        """Let other processes ask; return how long it took, and each answer's status and seconds."""
        order = {"port": self.port, "bodies": bodies, "kind": kind, "how": how}
        told = subprocess.run(
            [sys.executable, "-m", "benchmarks.asking"],
            input=json.dumps(order),
            capture_output=True,
            text=True,
        )
        answers: dict[str, Any] = json.loads(told.stdout)
        return answers

    def memory(self) -> float:
        """Return the resident memory in MiB."""
        lines = Path(f"/proc/{self.process}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


@contextmanager
def served(model: Path, *flags: str) -> Iterator[Process]:
    command = [sys.executable, "-m", "copyfit", "serve", "--model", str(model), "--port", "0", *flags]
    log = model.with_suffix(".log")
    with log.open("w") as written, subprocess.Popen(command, stderr=written, text=True) as process:
        try:
            while "listening" not in log.read_text() and process.poll() is None:
                sleep(0.05)
            url = json.loads(log.read_text().splitlines()[0])["url"]
            yield Process(int(url.rstrip("/").rpartition(":")[2]), process.pid)
        finally:
            process.send_signal(signal.SIGTERM)


def measure() -> dict[str, Any]:
    """Load a service from one client at a time to ten times what it can take."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        model, texts = exported(folder, SECTION)
        bodies = mix(texts)
        offline = offline_rate(model, bodies)
        with served(model, "--queue", "64") as process:
            process.asked(bodies, "in-turn", clients=CLIENTS, total=CLIENTS)
            full = process.asked(bodies, "in-turn", clients=CLIENTS, total=HEADLINES)
            rate = HEADLINES / full["seconds"]
            steady = process.asked(bodies, "at-a-rate", rate=SHARE * rate, seconds=SECONDS)
            flood = process.asked(bodies, "at-a-rate", rate=OVERLOAD * rate, seconds=SECONDS / 2)
    return {
        "load_before": os.getloadavg()[0],
        "offline_headlines_per_second": offline,
        "served_headlines_per_second": rate,
        "share": rate / offline,
        "clients": CLIENTS,
        "at_full_load": times(full["answers"], 200),
        "at_70_percent": times(steady["answers"], 200),
        "overloaded_accepted": times(flood["answers"], 200),
        "overloaded_refused": times(flood["answers"], 429),
    }


def exported(folder: Path, section: TransformerSection) -> tuple[Path, list[str]]:
    """Export a model of random weights, which costs what a trained one does, and texts to ask it."""
    sys.path.append(str(TESTS))
    from support_writing import random_weights, tiny_checkpoint

    write_examples(folder / "examples")
    lines = (folder / "examples" / "train.tsv").read_text(encoding="utf-8").splitlines()
    texts = [line.split("\t")[0] for line in lines[:2000]]
    checkpoint = replace(tiny_checkpoint(texts=tuple(texts)), model=section)
    save_checkpoint(folder / "weights", checkpoint, random_weights(checkpoint))
    export(trace_checkpoint(folder / "weights"), folder / "graphs", precision="fp32")
    return folder / "graphs", texts


def mix(texts: Sequence[str]) -> list[dict[str, Any]]:
    """Return what is asked: stories of one to four sentences, one length each."""
    draw = Random(1)
    return [
        {"text": " ".join(draw.sample(texts, draw.randint(1, 4))), "length": draw.choice(SIZES)}
        for _ in range(HEADLINES)
    ]


def offline_rate(model: Path, bodies: Sequence[dict[str, Any]]) -> float:
    """Return the headlines a second of one call that has everything at hand."""
    writer = Writer(model)
    orders = [Order(body["text"], Wish(body["length"])) for body in bodies]
    writer.fulfil(orders[:CLIENTS], Effort())
    started = perf_counter()
    writer.fulfil(orders, Effort())
    return len(orders) / (perf_counter() - started)


def times(answers: Sequence[Sequence[float]], status: int) -> dict[str, float]:
    """Return how long the answers of one status took."""
    seconds = [each for found, each in answers if found == status]
    if not seconds:
        return {"answers": 0}
    median, last = np.percentile(seconds, [50, 99])
    return {"answers": len(seconds), "median_seconds": float(median), "p99_seconds": float(last)}
