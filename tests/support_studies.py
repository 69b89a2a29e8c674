"""A small study of made-up news, records made by hand, and tasks for processes of their own."""

import fcntl
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from copyfit.errors import DataError
from copyfit.experiments.design import Run, recipe_key
from copyfit.experiments.matrix import TestSection
from copyfit.experiments.provenance import Made
from copyfit.experiments.records import CellRecord, Records, TestRecord, TrainingRecord
from copyfit.training.progress import Display

SMALL = """
name = "small"
title = "A small study"
recipe = "tiny"
threads = 1
set = ["model.width=16", "model.heads=2", "model.inner=24", "model.encoder_layers=1",
       "model.decoder_layers=1", "data.leave_out_lengths=[]", "data.workers=1", "source.size=320",
       "training.minutes=30", "training.steps=12", "training.save_every=4", "validation.every=100",
       "validation.decode=0"]

[data]
examples = 300

[[systems]]
name = "Transformer"
section = "Baselines"
set = ["model.positions=pe"]

[[systems]]
name = "Transformer+LDPE"
section = "Proposed method"
seeds = [1, 2]
set = ["model.positions=ldpe"]

[[systems]]
name = "Transformer+LDPE+Re-ranking"
section = "Proposed method"
of = "Transformer+LDPE"
seeds = [1]
rerank = "occurrences"
tests = ["groups"]

[[systems]]
name = "Transformer+LDPE+Ensemble (2 models)"
section = "Proposed method"
of = "Transformer+LDPE"
members = [1, 2]
tests = ["groups"]

[[systems]]
name = "Transformer+LDPE for nothing"
of = "Transformer+LDPE"
tests = ["missing"]

[[tests]]
name = "groups"
data = "test"
first = 5
num_beams = 2
mode = "max"
cut = "bytes"
cells = [{ name = "30", length = 30, pairs = [1, 30] }, { name = "60", length = 60, pairs = [31, 60] }]

[[tests]]
name = "references"
data = "test"
first = 5
num_beams = 2
cells = [{ name = "reference", length = "reference" }]

[[tests]]
name = "missing"
data = "no-such-test"
cells = [{ name = "20", length = 20 }]

[[tables]]
name = "groups"
title = "Groups"
published = "gigaword"
columns = [
    { title = "len = 30", test = "groups", cell = "30", published = "30" },
    { title = "len = 60", test = "groups", cell = "60" },
]

[[tables]]
name = "variance"
title = "Variances"
kind = "variance"
published = "variance"
columns = [
    { group = "Some_news", title = "len = 30", test = "groups", cell = "30", published = "gigaword-30" },
    { group = "Some_news", title = "len = 20", test = "missing", cell = "20" },
]

[[figures]]
name = "differences"
title = "Differences in length"
kind = "difference"
test = "references"
panels = [{ title = "All", systems = ["Transformer", "Transformer+LDPE"] }]

[[figures]]
name = "by-length"
title = "Variance by length"
kind = "variance"
test = "groups"
seen = [12, 60]
unseen = [30, 40]
panels = [
    { title = "Rivals", systems = ["Transformer"] },
    { title = "Proposed", systems = ["Transformer+LDPE"] },
]

[[figures]]
name = "rouge-by-length"
title = "ROUGE by length"
kind = "rouge"
test = "missing"
panels = [{ title = "All", systems = ["Transformer"] }]
"""


def small_matrix(folder: Path) -> Path:
    """Write the small study."""
    path = folder / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


MADE = Made(
    date="2026-01-01T00:00:00+00:00",
    commit="c0ffee",
    clean=True,
    code="",
    copyfit="0",
    versions={},
    hardware={"device": "cpu"},
)


def cell_record(
    recall: float, variance: float, *, differences: dict[int, int] | None = None, length: int = 30
) -> CellRecord:
    """Make the record of a cell whose metrics all have one recall, and one that is cut twice as much."""

    def scores(mean: float) -> dict[str, dict[str, float]]:
        ends = {"": 0.0, "_low": -0.01, "_high": 0.02}
        values = {
            f"{kind}{end}": mean + shift
            for kind in ("recall", "precision", "f1")
            for end, shift in ends.items()
        }
        return {metric: dict(values) for metric in ("R1", "R2", "RL")}

    error = {
        f"{name}{end}": value + shift
        for name, value in (("variance", variance), ("mean_absolute", 1), ("exact", 0.5), ("within", 0.75))
        for end, shift in (("", 0.0), ("_low", -0.25), ("_high", 0.25))
    }
    return CellRecord(
        n=5,
        length=length,
        rouge={"whole": scores(recall), "cut": scores(2 * recall)},
        signatures={"whole": f"length:{length}|limit:no", "cut": f"length:{length}|limit:{length} bytes"},
        length_error=error,
        differences=differences or {0: 5},
        headlines_per_second=1.0,
    )


def record_test(records: Records, run: Run, test: TestSection, cells: dict[str, CellRecord]) -> TestRecord:
    """Record by hand what a run wrote for a test."""
    record = TestRecord(
        key=run.trial_key(test),
        pairs="pairs",
        file=f"file of {test.data}",
        matrix="small",
        system=run.system.name,
        seeds=run.seeds,
        recipe={},
        recipes=tuple(map(recipe_key, run.recipes)),
        weights=run.weights,
        rerank=run.system.rerank,
        test=test.model_dump(mode="json"),
        cells=cells,
        seconds=1.0,
        made=MADE,
    )
    records.add(record, f"{run.system.name}-{run.seeds}-{test.name}")
    return record


def record_training(records: Records, run: Run) -> TrainingRecord:
    """Record by hand how a run's first model was trained."""
    record = TrainingRecord(
        key=recipe_key(run.recipes[0]),
        pairs="pairs",
        matrix="small",
        system=run.system.name,
        seed=run.seeds[0],
        recipe={},
        files={},
        training_pairs=1234,
        dropped={},
        parameters=5678,
        steps=12,
        epochs=0.5,
        seconds=3.2,
        validation={"loss": 1.25},
        made=MADE,
    )
    records.add(record, f"{run.system.name}-training")
    return record


def run_of(runs: list[Run], system: str, seed: int = 1) -> Run:
    """Find a run."""
    return next(run for run in runs if run.system.name == system and run.seeds[0] == seed)


@dataclass(frozen=True)
class Step:
    """Be a task that leaves a file, or fails in the way of its name."""

    name: str
    folder: Path
    needs: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return f"step {self.name}"

    def perform(self, display: Display) -> None:
        display.tell("begins")
        if self.name.startswith("mistaken"):
            raise DataError("the file must be there")
        if self.name.startswith("broken"):
            raise ZeroDivisionError("a bug")
        if self.name.startswith("killed"):
            os.kill(os.getpid(), signal.SIGKILL)
        missing = [name for name in self.needs if not (self.folder / name).exists()]
        assert not missing
        (self.folder / self.name).touch()
        display.advance(1.0)
        display.note("left a file")


@dataclass(frozen=True)
class Leaver:
    """Be a task whose process dies once it is idle, and holds a lock until then."""

    folder: Path
    name: str = "leaver"
    title: str = "leaver"
    needs: tuple[str, ...] = ()

    def perform(self, display: Display) -> None:
        display.tell("is to leave")
        handle = os.open(self.folder / "lock", os.O_CREAT | os.O_RDWR)
        fcntl.flock(handle, fcntl.LOCK_EX)
        (self.folder / self.name).touch()
        sys.setprofile(_die_idle)


def _die_idle(frame: FrameType, event: str, _: Any) -> None:
    if event == "call" and frame.f_code.co_name == "recv":
        os._exit(7)


@dataclass(frozen=True)
class Watcher:
    """Be a task that ends when the leaver's process is dead."""

    folder: Path
    name: str = "watcher"
    title: str = "watcher"
    needs: tuple[str, ...] = ()

    def perform(self, display: Display) -> None:
        display.tell("watches")
        while not (self.folder / "leaver").exists():
            os.sched_yield()
        with (self.folder / "lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
        (self.folder / self.name).touch()


class Stillborn(int):
    """Be a number that ends the process it is sent to."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (7,)
