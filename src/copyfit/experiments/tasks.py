"""What a study is done in: trainings, and runs that write and are scored. Each can be done anywhere."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

import torch

from copyfit.data.corpus import read_pairs
from copyfit.data.prepared import open_prepared
from copyfit.experiments.design import Run, described, recipe_key
from copyfit.experiments.files import content_hash, told_apart
from copyfit.experiments.matrix import TestSection
from copyfit.experiments.measure import measure, pairs_of
from copyfit.experiments.provenance import made_now
from copyfit.experiments.records import Records, TestRecord, TrainingRecord, open_records, write_once
from copyfit.training.journal import read_journal
from copyfit.training.progress import Display
from copyfit.training.recipe import Recipe
from copyfit.training.run import CHECKPOINTS, JOURNAL, train
from copyfit.writing.writer import Writer

FINISHED = "training.json"
"""Stands in the folder of a training that came to its end."""


class Task(Protocol):
    """Be a piece of a study."""

    @property
    def title(self) -> str:
        """Name it for people."""
        ...

    @property
    def name(self) -> str:
        """Name it for other tasks."""
        ...

    @property
    def needs(self) -> tuple[str, ...]:
        """Name the tasks that must be done before."""
        ...

    def perform(self, display: Display) -> None:
        """Do it."""
        ...


@dataclass(frozen=True)
class Setting:
    """Hold what all tasks of a study have in common."""

    matrix: str
    records: Path
    device: str | None
    pairs: str
    """Hash of the content of the files that are trained and validated on."""


@dataclass(frozen=True)
class Training:
    """Train one model, or go on where it was stopped."""

    setting: Setting
    recipe: Recipe
    data: Path
    """The recipe's prepared data."""
    output: Path
    needs: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Name the model."""
        return f"train {self.recipe.name}, seed {self.recipe.seed}"

    @property
    def name(self) -> str:
        """Name the folder, which no other training has."""
        return self.output.name

    def perform(self, display: Display) -> None:
        """Train; of what is left, only what writes and the journal stay."""
        if not (self.output / FINISHED).exists():
            self._train(display)
        if (self.output / CHECKPOINTS).exists():
            shutil.rmtree(self.output / CHECKPOINTS)
        records = open_records(self.setting.records)
        record = TrainingRecord.model_validate_json((self.output / FINISHED).read_bytes())
        if not records.training(record.key, record.pairs):
            records.add(record, f"{self.recipe.name}-{self.recipe.seed}-training")

    def _train(self, display: Display) -> None:
        # A process compiles one model only so often; what it compiled for others would count.
        torch.compiler.reset()
        train(
            self.recipe,
            self.output,
            resume=(self.output / CHECKPOINTS).exists(),
            device=self.setting.device,
            data=self.data,
            display=display,
        )
        record = self._record()
        write_once(self.output / FINISHED, record.model_dump_json(indent=1) + "\n")
        display.note(f"{record.steps:,} steps in {record.seconds:.0f} s")

    def _record(self) -> TrainingRecord:
        journal = read_journal(self.output / JOURNAL)
        start, last = _last(journal, "start"), _last(journal, "train")
        validation = _last(journal, "validation")
        store = open_prepared(self.data).train.manifest
        paths = [Path(path) for path in (*self.recipe.data.train, *self.recipe.data.validation)]
        return TrainingRecord(
            key=recipe_key(self.recipe),
            pairs=self.setting.pairs,
            matrix=self.setting.matrix,
            system=self.recipe.name,
            seed=self.recipe.seed,
            recipe=described(self.recipe),
            files={name: content_hash(path) for name, path in told_apart(paths).items()},
            training_pairs=store.pairs,
            dropped=store.dropped,
            parameters=start["parameters"],
            steps=last["step"],
            epochs=last["epoch"],
            seconds=last["seconds"],
            validation={key: value for key, value in validation.items() if key != "event"},
            made=made_now(start["device"]),
        )


def _last(journal: list[dict[str, Any]], event: str) -> dict[str, Any]:
    return next((record for record in reversed(journal) if record["event"] == event), {})


@dataclass(frozen=True)
class Trials:
    """Let a run's models write for tests, and record what came of it."""

    setting: Setting
    run: Run
    tests: tuple[tuple[TestSection, Path], ...]
    """Each with its file."""
    models: tuple[Path, ...]
    """The folders of the trainings."""

    @property
    def title(self) -> str:
        """Name the run."""
        return f"try {self.run.title}"

    @property
    def name(self) -> str:
        """Name the run as people do: no other has its system and seeds."""
        return self.title

    @property
    def needs(self) -> tuple[str, ...]:
        """Name the trainings."""
        return tuple(model.name for model in self.models)

    def perform(self, display: Display) -> None:
        """Write, score and record, test by test."""
        device = self.setting.device
        writer = Writer([model / self.run.weights for model in self.models], device=device)
        records = Records(self.setting.records)
        cells = sum(len(test.cells) for test, _ in self.tests)
        done = 0
        for test, path in self.tests:
            pairs = list(read_pairs([str(path)]))
            started = perf_counter()
            found = {}
            for cell in test.cells:
                display.tell(f"{test.name} {cell.name}")
                chosen = pairs_of(test, cell, pairs)
                found[cell.name] = measure(writer, chosen, test, cell, rerank=self.run.system.rerank)
                done += 1
                display.advance(done / cells)
            record = self._record(test, path, {"cells": found, "seconds": perf_counter() - started})
            records.add(record, f"{self.run.system.name}-{'-'.join(map(str, self.run.seeds))}-{test.name}")
        display.note(f"recorded {', '.join(test.name for test, _ in self.tests)}")

    def _record(self, test: TestSection, path: Path, outcome: Mapping[str, Any]) -> TestRecord:
        run = self.run
        return TestRecord(
            key=run.trial_key(test),
            pairs=self.setting.pairs,
            file=content_hash(path),
            matrix=self.setting.matrix,
            system=run.system.name,
            seeds=run.seeds,
            recipe=described(run.recipes[0]),
            recipes=tuple(map(recipe_key, run.recipes)),
            weights=run.weights,
            rerank=run.system.rerank,
            test=test.model_dump(mode="json"),
            made=made_now(_device_name(self.setting.device)),
            **outcome,
        )


def _device_name(device: str | None) -> str:
    if device == "cpu" or not torch.cuda.is_available():
        return "cpu"
    return torch.cuda.get_device_name(device or "cuda")
