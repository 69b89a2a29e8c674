"""What was measured: one file each, written whole and never changed."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import JsonValue, ValidationError

from copyfit.config import Section
from copyfit.errors import DataError
from copyfit.evaluation.lengths import Length
from copyfit.experiments.design import hash_of, slug
from copyfit.experiments.provenance import Made
from copyfit.folders import sync

Figures = dict[str, float]


class TrainingRecord(Section):
    """Tell how a model was trained."""

    format: Literal[1] = 1
    kind: Literal["training"] = "training"
    key: str
    """Hash of the recipe, its files and name apart."""
    pairs: str
    """Hash of the content of the files that were trained and validated on."""
    matrix: str
    system: str
    seed: int
    recipe: dict[str, JsonValue]
    files: dict[str, str]
    """Hash of each file by its name, with folders as far as they tell files apart."""
    training_pairs: int
    dropped: dict[str, int]
    """Pairs that were not trained on, by the reason."""
    parameters: int
    steps: int
    epochs: float
    seconds: float
    """Of training and validation, pauses left out."""
    validation: dict[str, JsonValue]
    """What the last validation found."""
    made: Made

    def identity(self) -> tuple[str, ...]:
        """Return the hashes that no other record shares."""
        return self.key, self.pairs


class CellRecord(Section):
    """Tell what a model wrote for one length, or for those of the references."""

    n: int
    length: Length
    rouge: dict[str, dict[str, Figures]]
    """By `cut` and `whole`, then by metric: recall, precision and F1 with their confidence limits."""
    signatures: dict[str, str]
    """What decides on these scores."""
    length_error: Figures
    """Variance, mean absolute error, shares on and within the length, with their confidence limits."""
    differences: dict[int, int]
    """How many outputs were so much longer than wanted."""
    headlines_per_second: float


class TestRecord(Section):
    """Tell what came of a run's test."""

    __test__ = False

    format: Literal[1] = 1
    kind: Literal["test"] = "test"
    key: str
    """Hash of the recipes, of how they write and of the test."""
    pairs: str
    """As of the training."""
    file: str
    """Hash of the content of the test's file."""
    matrix: str
    system: str
    seeds: tuple[int, ...]
    recipe: dict[str, JsonValue]
    recipes: tuple[str, ...]
    """Hash of each model's recipe."""
    weights: str
    rerank: str | None
    test: dict[str, JsonValue]
    cells: dict[str, CellRecord]
    seconds: float
    """Of writing."""
    made: Made

    def identity(self) -> tuple[str, ...]:
        """Return the hashes that no other record shares."""
        return self.key, self.pairs, self.file


class Content(NamedTuple):
    """Be the hashes of the files that a figure follows from; None where they are not known."""

    pairs: str | None = None
    file: str | None = None


class Records:
    """Be a folder of records."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.trainings: list[TrainingRecord] = []
        self.tests: list[TestRecord] = []

    def take(self, record: TrainingRecord | TestRecord) -> None:
        """Have a record among those that are found."""
        if isinstance(record, TrainingRecord):
            self.trainings.append(record)
        else:
            self.tests.append(record)

    def training(self, key: str, pairs: str | None) -> TrainingRecord | None:
        """Find how a model was trained."""
        found = (each for each in self.trainings if each.key == key and pairs in {None, each.pairs})
        return next(found, None)

    def test(self, key: str, content: Content) -> TestRecord | None:
        """Find what came of a test."""
        return next((each for each in self.tests if each.key == key and _is_of(each, content)), None)

    def add(self, record: TrainingRecord | TestRecord, title: str) -> Path:
        """Write a record into a file of its own, named by its title and all that the figures follow from."""
        # Titles that differ in signs only look the same in a file's name, their hashes do not.
        key = hash_of([*record.identity(), title])[:12]
        path = self.folder / f"{slug(f'{title}-{key}')}.json"
        write_once(path, record.model_dump_json(indent=1) + "\n")
        self.take(record)
        return path

    def unused(self, used: Iterable[TrainingRecord | TestRecord]) -> int:
        """Count the records of anything but what those that are used are of."""
        known = {record.identity() for record in used}
        found: list[TrainingRecord | TestRecord] = [*self.trainings, *self.tests]
        return sum(record.identity() not in known for record in found)

    def ambiguous(self, known_keys: Iterable[str]) -> Iterator[str]:
        """Name what was measured on several versions of a file, of which only one can be meant."""
        known = set(known_keys)
        found: dict[str, set[str]] = {}
        for each in self.tests:
            if each.key in known:
                found.setdefault("the training pairs", set()).add(each.pairs)
                found.setdefault(f"the test {each.test['name']}", set()).add(each.file)
        return (name for name, hashes in found.items() if len(hashes) > 1)


def _is_of(record: TestRecord, content: Content) -> bool:
    return content.pairs in {None, record.pairs} and content.file in {None, record.file}


def open_records(folder: Path) -> Records:
    """Read all records of a folder."""
    records = Records(folder)
    for path in sorted(folder.glob("*.json")):
        records.take(_read(path))
    return records


def write_once(path: Path, text: str) -> None:
    """Write a file whole or not at all, and never over another."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_text(text, encoding="utf-8")
        sync(unfinished)
        os.link(unfinished, path)
    except FileExistsError as problem:
        raise DataError(f"{path} must be a new file, records are not changed: remove it first") from problem
    except OSError as problem:
        raise DataError(f"cannot write {path}: {problem.strerror}") from problem
    finally:
        unfinished.unlink(missing_ok=True)


def _read(path: Path) -> TrainingRecord | TestRecord:
    try:
        content = path.read_bytes()
        kind = TrainingRecord if b'"kind": "training"' in content[:200] else TestRecord
        return kind.model_validate_json(content)
    except OSError as problem:
        raise DataError(f"{path} must be a readable record: {problem.strerror}") from problem
    except ValidationError as problem:
        raise DataError(f"{path} is no sound record of this version: put it out of the way") from problem
