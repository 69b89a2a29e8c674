"""From a recipe to an output folder with models."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import torch

from copyfit import __version__
from copyfit.checkpoint import Checkpoint
from copyfit.config import read_toml, write_toml
from copyfit.data.accounts import table
from copyfit.data.batches import BatchPlan, Sharding, fit_shape
from copyfit.data.prepare import prepare
from copyfit.data.prepared import PreparedData, open_prepared
from copyfit.errors import ConfigError, DataError
from copyfit.models.build import build_model
from copyfit.models.config import ModelSection
from copyfit.training import randomness
from copyfit.training.folders import exclusive, remove_leftovers, set_aside, step_folders, write_whole
from copyfit.training.journal import Journal
from copyfit.training.keeping import Keeper, Saved, newest_whole, put_weights
from copyfit.training.processes import Processes, start_processes
from copyfit.training.progress import Display, ProgressBar
from copyfit.training.recipe import Recipe, changed_key
from copyfit.training.reporting import Reporter, flat
from copyfit.training.schedule import rate_of_step
from copyfit.training.state import RunState, of_prefix
from copyfit.training.stepper import Stepper
from copyfit.training.trainer import Agenda, Limits, Trainer
from copyfit.training.validation import Validator

RECIPE, JOURNAL, CHECKPOINTS, DATA = "recipe.toml", "journal.jsonl", "checkpoints", "data"


def train(
    recipe: Recipe,
    output: Path,
    *,
    resume: bool = False,
    device: str | None = None,
    data: Path | None = None,
    display: Display | None = None,
) -> None:
    """Train a recipe's model into a folder; `resume` goes on from the last save there, if there is one.

    A run that goes on on the same device, with as many threads, equals one that never stopped bit for bit.
    With another number of processes it sees the same data in the same steps, only dropout is drawn anew.
    Started by torchrun, all processes train one model; they must see the same folder. Asked to stop by a
    signal, the run finishes its step, saves and raises KeyboardInterrupt. `data` is a folder of the recipe's
    prepared data, which several runs may share; `display` is told how the run goes in place of a person.
    """
    processes = start_processes(device, recipe.training.tracking, output)
    with (
        exclusive(output) if processes.first else nullcontext(),
        _repeatable(on=recipe.training.deterministic),
        nullcontext(display) if display else ProgressBar(shown=processes.first) as bar,
    ):
        run = Run(recipe, output, processes, bar)
        saved = None
        if resume:
            saved = run.take_up()
        else:
            run.begin()
        prepared = run.take_data(data, saved) if data else run.prepare(saved)
        with run.reporter(saved) as reporter:
            run.trainer(prepared, saved, reporter).run()


@contextmanager
def _repeatable(*, on: bool) -> Iterator[None]:
    before = torch.are_deterministic_algorithms_enabled()
    if on:
        # cuBLAS gives the same bits every time only with a workspace of its own.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(mode=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)


class Run:
    """Put the parts of a run together."""

    def __init__(self, recipe: Recipe, output: Path, processes: Processes, bar: Display) -> None:
        self.recipe = recipe
        self.output = output
        self.processes = processes
        self.bar = bar
        share, left = divmod(recipe.training.batches_per_step, processes.shard.size)
        if left or not share:
            raise ConfigError(
                f"training.batches_per_step must be a multiple of the {processes.shard.size} processes,"
                f" given {recipe.training.batches_per_step}"
            )
        self.sharding = Sharding(*processes.shard, accumulation=share)

    def begin(self) -> None:
        """Begin anew, in a folder without saves of another run."""
        if self.processes.first:
            remove_leftovers(self.output)
            if step_folders(self.output / CHECKPOINTS):
                raise ConfigError(f"{self.output} holds a run: go on with --resume, or choose another output")
            self._write_recipe()
        self.processes.wait()

    def take_up(self) -> Saved | None:
        """Find the newest whole save and read it; begin anew where there is none."""
        step = 0
        if self.processes.first:
            remove_leftovers(self.output)
            step = self._newest_step()
            self._write_recipe()
        step = self.processes.of_first(step)
        if not step:
            self.bar.note("no save to go on from: beginning anew")
            return None
        self.bar.note(f"going on from step {step:,}")
        return Saved(self.output / CHECKPOINTS / f"step-{step}")

    def _newest_step(self) -> int:
        newest, damaged = newest_whole(self.output / CHECKPOINTS)
        for folder in damaged:
            self.bar.note(f"{folder} is damaged and set aside as {set_aside(folder).name}")
        if newest is None:
            return 0
        key = changed_key(read_toml(self.output / RECIPE, Recipe), self.recipe)
        if key is not None:
            raise ConfigError(f"{key} must be as it was for the run in {self.output} to go on")
        return int(newest.name.removeprefix("step-"))

    def _write_recipe(self) -> None:
        write_whole(self.output / RECIPE, write_toml(self.recipe))

    def prepare(self, saved: Saved | None = None) -> PreparedData:
        """Prepare the data, unless that was done; the first process does it for all.

        A run that goes on needs the data it began with: other pairs would make other tokens.
        """
        folder = self.output / DATA
        if self.processes.first:
            self._prepare_alone(folder, saved)
        self.processes.wait()
        data = self._opened(folder, saved)
        if not saved:
            for line in table(data.accounts()):
                self.bar.note(line)
        return data

    def take_data(self, folder: Path, saved: Saved | None = None) -> PreparedData:
        """Take data that was prepared for several runs, from the files and by the sections of this one."""
        sections = self.recipe.data, self.recipe.source, self.recipe.target
        if self.processes.first:
            prepare(*sections, folder)
        self.processes.wait()
        return self._opened(folder, saved)

    def _opened(self, folder: Path, saved: Saved | None) -> PreparedData:
        data = open_prepared(folder)
        if saved and data.train.manifest.recipe != saved.run.data:
            raise self._changed_pairs()
        return data

    def _changed_pairs(self) -> ConfigError:
        return ConfigError(
            f"the files of pairs must be as they were for the run in {self.output} to go on, they have"
            " changed: put them back, or train into another folder"
        )

    def _prepare_alone(self, folder: Path, saved: Saved | None) -> None:
        sections = self.recipe.data, self.recipe.source, self.recipe.target
        try:
            prepare(*sections, folder)
        except DataError:
            if not folder.exists():
                raise
            # Data of another recipe is replaced; a folder that is something else is not ours to remove.
            open_prepared(folder)
            if saved:
                raise self._changed_pairs() from None
            fresh = folder.with_name(f".{DATA}.fresh")
            prepare(*sections, fresh)
            shutil.rmtree(folder)
            fresh.rename(folder)

    @contextmanager
    def reporter(self, saved: Saved | None) -> Iterator[Reporter]:
        """Open the journal, as long as it was at the save, and the trackers."""
        accelerator = self.processes.accelerator
        accelerator.init_trackers("copyfit", config=flat(self.recipe.model_dump()))
        try:
            if self.processes.first:
                length = saved.run.journal_bytes if saved else 0
                with Journal(self.output / JOURNAL, length=length) as journal:
                    yield Reporter(self.processes, journal, self.bar)
            else:
                yield Reporter(self.processes, None, self.bar)
        finally:
            accelerator.end_training()

    def trainer(self, data: PreparedData, saved: Saved | None, reporter: Reporter) -> Trainer:
        """Build the model and all that trains it, as it was at the save."""
        stepper = self._stepper(data, saved)
        plan, validator = self._plans(data)
        trainer = Trainer(
            stepper=stepper,
            plan=plan,
            agenda=self._agenda(plan),
            reporter=reporter,
            keeper=Keeper(self.output, self._described(data), keep=self.recipe.training.keep_checkpoints),
            validate=validator,
            state=saved.run if saved else RunState(data=data.train.manifest.recipe),
        )
        reporter.record("start", self._facts(trainer))
        self._randomness(saved)
        return trainer

    def _stepper(self, data: PreparedData, saved: Saved | None) -> Stepper:
        recipe = self.recipe
        randomness.start(recipe.seed)
        sizes = data.tokenizers.source.size, data.tokenizers.target.size
        model = build_model(self._settled_model(data), source_size=sizes[0], target_size=sizes[1])
        if recipe.training.precision == "float64":
            model.double()
        if saved:
            put_weights(model, saved.weights)
        stepper = Stepper(model, recipe.training, self.processes)
        if saved:
            stepper.load(saved.tensors)
        return stepper

    def _plans(self, data: PreparedData) -> tuple[BatchPlan, Validator | None]:
        batches, seed, shard = self.recipe.batches, self.recipe.seed, self.processes.shard
        stores = [store for store in (data.train, data.validation) if store]
        shape = fit_shape(batches, *stores)
        plan = BatchPlan(
            data.train, shape, seed=seed, sharding=self.sharding, length_bands=batches.length_bands
        )
        if data.validation is None:
            return plan, None
        trial = BatchPlan(data.validation, shape, seed=seed, sharding=Sharding(*shard))
        mixed = self.recipe.training.precision == "bfloat16"
        return plan, Validator(data, trial, self.recipe.validation, mixed=mixed)

    def _agenda(self, plan: BatchPlan) -> Agenda:
        section = self.recipe.training
        epochs = section.epochs * len(plan.epoch(0)) if section.epochs else None
        ends = [end for end in (section.steps, epochs) if end is not None]
        return Agenda(
            rate=rate_of_step(
                section.schedule,
                peak=section.learning_rate,
                warmup=section.warmup_steps,
                total=min(ends) if ends else None,
                floor=section.final_rate,
            ),
            limits=Limits(section.steps, section.epochs, section.minutes),
            record_every=section.journal_every,
            validate_every=self.recipe.validation.every,
            save_every=section.save_every,
            max_skipped_steps=section.max_skipped_steps,
            average_last=section.average_last,
        )

    def _settled_model(self, data: PreparedData) -> ModelSection:
        return self.recipe.model.settled(data.train.pairs.budgets)

    def _described(self, data: PreparedData) -> Checkpoint:
        recipe = self.recipe
        return Checkpoint(
            name=recipe.name,
            model=self._settled_model(data),
            unit=recipe.data.unit,
            source=data.tokenizers.source,
            target=data.tokenizers.target,
            words=data.words,
            natural_length=max(1, data.train.manifest.natural_length),
            longest_source=recipe.data.longest_source,
            facts={"Training pairs": data.train.manifest.pairs, "Seed": recipe.seed},
        )

    def _facts(self, trainer: Trainer) -> dict[str, str | int]:
        device = self.processes.device
        return {
            "step": trainer.standing.step,
            "copyfit": __version__,
            "torch": torch.__version__,
            "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
            "processes": self.processes.shard.size,
            "parameters": sum(weight.numel() for weight in trainer.stepper.model.parameters()),
        }

    def _randomness(self, saved: Saved | None) -> None:
        rank, size = self.processes.shard
        if saved and saved.run.processes == size:
            randomness.restore(of_prefix(f"randomness{rank}", saved.tensors))
            return
        step = saved.run.standing.step if saved else 0
        randomness.start(self.recipe.seed, rank, step)
        if saved:
            self.bar.note(
                f"saved by {saved.run.processes} processes, going on with {size}: same data, other dropout"
            )
