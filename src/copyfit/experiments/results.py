"""What the records say of each run of a matrix."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from copyfit.errors import DataError
from copyfit.experiments.design import Run, recipe_key, runs_of
from copyfit.experiments.files import Inputs
from copyfit.experiments.matrix import Matrix
from copyfit.experiments.records import CellRecord, Content, Records, TestRecord, TrainingRecord

Measure = Callable[[CellRecord], float]


class Result(NamedTuple):
    """Be what one run wrote for one cell."""

    seeds: tuple[int, ...]
    cell: CellRecord
    record: TestRecord


class Results:
    """Find what was recorded of the present systems, tests and files; all else counts as absent.

    Where the files are not known, the records must all be of the same.
    """

    def __init__(
        self, matrix: Matrix, settings: Sequence[str], records: Records, *, inputs: Inputs | None = None
    ) -> None:
        self.matrix = matrix
        self.runs = runs_of(matrix, settings)
        self._records = records
        self._inputs = inputs
        if inputs is None:
            self._check_files()

    def _check_files(self) -> None:
        keys = (run.trial_key(test) for run in self.runs for test in self.matrix.tests_of(run.system))
        for name in self._records.ambiguous(keys):
            raise DataError(
                f"the records in {self._records.folder} are of several versions of {name}: "
                "put the old ones away"
            )

    def unused(self) -> int:
        """Count the records that belong to other recipes, tests or files."""
        return self._records.unused([*self.trainings(), *(record for _, record in self.everything())])

    def of(self, system: str, test: str, cell: str) -> list[Result]:
        """Return what was recorded of a system's runs for a cell, seed by seed."""
        found = ((run, self._find(run, test)) for run in self.runs if run.system.name == system)
        return [Result(run.seeds, record.cells[cell], record) for run, record in found if record is not None]

    def _find(self, run: Run, test: str) -> TestRecord | None:
        section = self.matrix.test(test)
        if section not in self.matrix.tests_of(run.system):
            return None
        content = self._inputs.content(test) if self._inputs else Content()
        return self._records.test(run.trial_key(section), content) if content else None

    def everything(self) -> Iterator[tuple[Run, TestRecord]]:
        """Yield all that was recorded, in the order of the matrix."""
        for run in self.runs:
            for test in self.matrix.tests_of(run.system):
                record = self._find(run, test.name)
                if record is not None:
                    yield run, record

    def versions(self) -> int:
        """Count the versions of the package's code that the records were made by."""
        made = [record.made for record in self.trainings()]
        made += [record.made for _, record in self.everything()]
        return len({each.code for each in made})

    def trainings(self) -> list[TrainingRecord]:
        """Return how the models were trained, in the order of the matrix."""
        keys = dict.fromkeys(recipe_key(recipe) for run in self.runs for recipe in run.recipes)
        pairs = self._inputs.pairs if self._inputs else None
        found = (self._records.training(key, pairs) for key in keys)
        return [record for record in found if record is not None]


def recall(metric: str) -> Measure:
    """Measure recall in percent, of cut texts where a test cuts them."""
    return lambda cell: 100 * _scored(cell)[metric]["recall"]


def variance(cell: CellRecord) -> float:
    """Measure the mean squared distance from the length."""
    return cell.length_error["variance"]


def _scored(cell: CellRecord) -> dict[str, dict[str, float]]:
    return cell.rouge.get("cut", cell.rouge["whole"])


def signature_of(cell: CellRecord) -> str:
    """Return what decides on the scores that tables show."""
    return cell.signatures.get("cut", cell.signatures["whole"])


def merged_signature(signatures: Iterable[str]) -> str:
    """Write several signatures as one; where they differ, a part has all its values."""
    parts: dict[str, dict[str, None]] = {}
    for signature in signatures:
        for part in signature.split("|"):
            name, _, value = part.partition(":")
            parts.setdefault(name, {})[value] = None
    return "|".join(name + (f":{','.join(values)}" if any(values) else "") for name, values in parts.items())


def differences(results: Iterable[Result]) -> Counter[int]:
    """Add up how far outputs were from what was wanted, over seeds."""
    total = Counter[int]()
    for result in results:
        total.update(result.cell.differences)
    return total
