"""Plan a study against what is recorded, and do what is left."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from copyfit.data.prepare import prepare
from copyfit.data.store import whole_folder
from copyfit.examples import write_examples
from copyfit.experiments.board import Board
from copyfit.experiments.design import Run, hash_of, recipe_key, runs_of, slug, with_files
from copyfit.experiments.files import Files, Inputs
from copyfit.experiments.matrix import Matrix, TestSection, chosen
from copyfit.experiments.pool import Failure, Hands, perform_all, terminable
from copyfit.experiments.records import Records
from copyfit.experiments.tasks import FINISHED, Setting, Task, Training, Trials
from copyfit.training.processes import check_device
from copyfit.training.recipe import Recipe


class Folders(NamedTuple):
    """Say where a study reads and writes."""

    data: Path
    output: Path
    records: Path


class Choice(NamedTuple):
    """Say which part of a matrix is meant; where nothing is named, all."""

    systems: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    settings: tuple[str, ...] = ()
    """Keys of every recipe to change."""

    def runs(self, matrix: Matrix) -> list[Run]:
        """List the runs that are meant; those of several models only where all their seeds are."""
        systems = chosen((system.name for system in matrix.systems), self.systems, "a system")
        runs = [run for run in runs_of(matrix, self.settings) if run.system.name in systems]
        known = sorted({seed for run in runs for seed in run.seeds})
        wanted = chosen(map(str, known), list(map(str, self.seeds)), "a seed")
        return [run for run in runs if set(map(str, run.seeds)) <= set(wanted)]


@dataclass(frozen=True)
class Study:
    """Be the runs of a matrix that are meant, over files that there are."""

    matrix: Matrix
    runs: tuple[Run, ...]
    inputs: Inputs
    folders: Folders
    device: str | None = None

    def absent(self) -> list[TestSection]:
        """List the tests whose files are not there."""
        return [test for test in self.matrix.tests if test.name not in self.inputs.tests]

    def pending(self, run: Run, records: Records) -> list[TestSection]:
        """List the tests of a run that are not recorded."""
        return [
            test
            for test in self.matrix.tests_of(run.system)
            if (content := self.inputs.content(test.name)) and not records.test(run.trial_key(test), content)
        ]

    def tasks(self, records: Records) -> list[Task]:
        """List what is left to do: each run's trainings, unless an earlier run has them, and its tests."""
        tasks: dict[str, Task] = {}
        for run in self.runs:
            pending = self.pending(run, records)
            trainings = [self._training(recipe) for recipe in run.recipes]
            for training in trainings:
                recorded = records.training(recipe_key(training.recipe), self.inputs.pairs)
                there = (training.output / FINISHED).exists()
                if (pending and not there) or (run.is_trained and not recorded):
                    tasks.setdefault(training.name, training)
            if pending:
                trials = self._trials(run, pending, trainings)
                tasks[trials.name] = trials
        return list(tasks.values())

    def _training(self, recipe: Recipe) -> Training:
        whole = with_files(recipe, self.inputs.train, self.inputs.validation)
        data = hash_of(
            [whole.model_dump(mode="json", include={"data", "source", "target"}), self._setting.pairs]
        )
        key = hash_of([recipe_key(recipe), self._setting.pairs])
        output = self.folders.output / "trainings" / slug(f"{recipe.name}-{recipe.seed}-{key[:12]}")
        return Training(self._setting, whole, self.folders.output / "data" / data[:12], output)

    def _trials(self, run: Run, tests: Iterable[TestSection], trainings: Iterable[Training]) -> Trials:
        files = tuple((test, self.inputs.tests[test.name]) for test in tests)
        return Trials(self._setting, run, files, tuple(training.output for training in trainings))

    @property
    def _setting(self) -> Setting:
        return Setting(self.matrix.name, self.folders.records, self.device, self.inputs.pairs)

    def told(self, records: Records) -> Iterator[str]:
        """Say what is recorded of each run, and what is left."""
        for run in self.runs:
            tests = [test for test in self.matrix.tests_of(run.system) if test.name in self.inputs.tests]
            pending = self.pending(run, records)
            state = "recorded" if tests else "no test of its is there"
            yield f"{run.title}: {f'{len(pending)} of {len(tests)} tests to do' if pending else state}"
        for test in self.absent():
            yield f"test {test.name} will be absent: there is no {self.folders.data / test.data}"


def open_study(matrix: Matrix, choice: Choice, folders: Folders, device: str | None) -> Study:
    """Find the files of a study and list its runs."""
    check_device(device)
    inputs = Files(folders.data).of(matrix)
    return Study(matrix, tuple(choice.runs(matrix)), inputs, folders, device)


def made_up(pairs: int, output: Path) -> Path:
    """Write made-up news, unless that was done, and return its folder."""
    folder = output / f"examples-{pairs}"
    if not folder.exists():
        with whole_folder(folder) as partial:
            write_examples(partial, pairs)
    return folder


def carry_out(tasks: list[Task], hands: Hands) -> list[Failure]:
    """Prepare the data that several trainings share, then do all tasks."""
    with terminable(), Board(len(tasks)) as board:
        for training in {task.data: task for task in tasks if isinstance(task, Training)}.values():
            recipe = training.recipe
            if not (training.output / FINISHED).exists():
                board.note(f"prepare the pairs of {training.title.removeprefix('train ')}")
                prepare(recipe.data, recipe.source, recipe.target, training.data, tell=board.note)
        return perform_all(tasks, hands, board)
