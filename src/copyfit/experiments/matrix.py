"""What a study consists of: systems, seeds, tests, tables and figures, in one TOML file."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from copyfit import bundled
from copyfit.config import Section, read_toml
from copyfit.errors import ConfigError
from copyfit.evaluation.lengths import Length
from copyfit.writing.overlap import Rerank

MATRICES = Path(__file__).with_name("matrices")
Band = tuple[int, int]
"""The least and the greatest length of a text."""


class SystemSection(Section):
    """Be a row of the tables: what is trained, or which trained models write in another way."""

    name: str = Field(min_length=1)
    """What the system is called everywhere but in the tables."""
    section: str = "Systems"
    """The heading above it in the tables."""
    row: str = ""
    """What the tables call it, and the published ones; the name where it is left out."""
    recipe: str | None = None
    """Its recipe, by name or path; left out, it is the matrix's."""
    set: tuple[str, ...] = ()
    """Keys of the recipe to change, each `key=value`."""
    seeds: tuple[int, ...] | None = Field(default=None, min_length=1)
    """Left out, they are the matrix's."""
    of: str | None = None
    """The system whose models this one writes with; it is not trained itself then."""
    members: tuple[int, ...] = ()
    """Seeds of the models that write together."""
    rerank: Rerank | None = None
    """Which of 20 headlines wins: none chosen, the one with the most words of the source does."""
    tests: tuple[str, ...] | None = None
    """What it is tried on; left out, on everything."""

    @property
    def label(self) -> str:
        """Return what the tables call it."""
        return self.row or self.name

    @model_validator(mode="after")
    def _one_origin(self) -> Self:
        if self.of and (self.recipe or self.set):
            raise ValueError(f"{self.name} writes with the models of {self.of}: leave out recipe and set")
        if len(self.members) == 1:
            raise ValueError(f"members of {self.name} must be two or more seeds")
        return self


class CellSection(Section):
    """Be one way to try a system on the pairs of a test, and so one column of figures."""

    name: str = Field(min_length=1)
    """What tables call for it by."""
    length: Length = "reference"
    """What is asked for: a length, or `reference`, that of each pair's first reference."""
    pairs: Band | None = None
    """Take only pairs whose first reference is so long."""
    references: Band | None = None
    """Take only references that are so long, and no pair without any."""


class TestSection(Section):
    """Be a file of sources with references, and how to write and score for them."""

    __test__ = False

    name: str = Field(min_length=1)
    """What columns and figures call for it by."""
    data: str = Field(min_length=1)
    """The file below the data's folder, without its endings."""
    cells: tuple[CellSection, ...] = Field(min_length=1)
    first: int | None = Field(default=None, ge=1)
    """Take no more than the first so many pairs of each cell."""
    mode: Literal["free", "exact", "max"] = "free"
    """Free shows what the model learnt; the other modes hold by construction."""
    unit: str = "char"
    """What lengths count."""
    num_beams: int = Field(default=5, ge=1, le=100)
    """How wide to search."""
    batch_size: int = Field(default=64, ge=1)
    """How many searches run together, which changes no outcome."""
    cut: Literal["bytes", "characters"] | None = None
    """What all texts (bytes) or all outputs (characters) are cut in for scoring; also scored uncut."""
    cut_at: int | None = Field(default=None, ge=1)
    """Where to cut; left out, at the length of each cell."""
    words: Literal["ascii", "mecab"] = "ascii"
    """What is scored: stems of words, or the words that MeCab finds."""

    @model_validator(mode="after")
    def _can_cut(self) -> Self:
        _distinct("cells", [cell.name for cell in self.cells])
        if self.cut and not self.cut_at and any(cell.length == "reference" for cell in self.cells):
            raise ValueError(f"test {self.name} needs cut_at: the length of references cannot cut")
        return self

    def cut_of(self, cell: CellSection) -> int | None:
        """Return where the texts of a cell are cut for scoring."""
        if self.cut is None:
            return None
        return self.cut_at or (cell.length if isinstance(cell.length, int) else None)


class ColumnSection(Section):
    """Be a column of a table: a cell of a test."""

    title: str
    """Its heading."""
    test: str
    """Where its figures are from."""
    cell: str
    """Of which cell they are."""
    group: str = ""
    """The heading above several columns."""
    published: str = ""
    """The column of the published table that stands beside it."""


class TableSection(Section):
    """Lay out figures as one of the paper's tables does."""

    name: str
    """Its files' name."""
    title: str
    """What is above it."""
    kind: Literal["rouge", "variance"] = "rouge"
    """Recall of ROUGE-1, 2 and L, or the variance of lengths."""
    published: str | None = None
    """The published table: gigaword, duc2004, jamul or variance."""
    columns: tuple[ColumnSection, ...] = Field(min_length=1)
    rows: tuple[str, ...] | None = None
    """Systems in their order; left out, all that are tried on a test of the columns."""
    note: str = ""
    """What a reader must know to compare."""


class PanelSection(Section):
    """Be a part of a figure."""

    title: str
    """What is above it."""
    systems: tuple[str, ...] = Field(min_length=1)
    """What is drawn in it; a histogram has a part for each."""


class FigureSection(Section):
    """Draw one measure of a test for several systems."""

    name: str
    """Its files' name."""
    title: str
    """What is above it."""
    kind: Literal["difference", "rouge", "variance"]
    """A histogram of lengths minus what was wanted, or a measure against the length."""
    test: str
    """Where its figures are from."""
    panels: tuple[PanelSection, ...] = Field(min_length=1)
    unseen: tuple[int, ...] = ()
    """Lengths that no training target had, to be marked."""
    seen: Band | None = None
    """The least and the greatest length of training targets."""


class DataFiles(Section):
    """Say which files below the data's folder are trained on; names may have wildcards, and no endings."""

    train: tuple[str, ...] = ("train",)
    """Of these at least one must be there."""
    validation: tuple[str, ...] = ("validation",)
    """Of these too; none needs to be named."""
    examples: int | None = None
    """How many pairs of made-up news to write where no folder is given."""


class Matrix(Section):
    """Be a whole study. Everything in it follows from this file, the recipes it names and the data."""

    name: str = Field(min_length=1)
    """What its folder is called."""
    title: str
    """What it is about."""
    recipe: str
    """What is trained where a system does not say otherwise, by name or path."""
    set: tuple[str, ...] = ()
    """Keys of every recipe to change, each `key=value`."""
    seeds: tuple[int, ...] = Field(default=(1,), min_length=1)
    """With how many seeds, and which, a system is trained where it does not say otherwise."""
    weights: Literal["best", "last", "average"] = "best"
    """Which model of a run writes."""
    threads: int | None = Field(default=None, ge=1)
    """Threads that one training uses well on a CPU; left out, all."""
    data: DataFiles = DataFiles()
    systems: tuple[SystemSection, ...] = Field(min_length=1)
    tests: tuple[TestSection, ...] = ()
    tables: tuple[TableSection, ...] = ()
    figures: tuple[FigureSection, ...] = ()

    @model_validator(mode="after")
    def _names_are_known(self) -> Self:
        systems, tests = [each.name for each in self.systems], [each.name for each in self.tests]
        for kind, given in (
            ("systems", systems),
            ("tests", tests),
            ("tables and figures", [*(t.name for t in self.tables), *(f.name for f in self.figures)]),
        ):
            _distinct(kind, given)
        for system in self.systems:
            _known("system", [system.of] if system.of else [], [each.name for each in self._trained()])
            _known("test", system.tests or (), tests)
        for table in self.tables:
            _known("system", table.rows or (), systems)
            self._check_cells((column.test, column.cell) for column in table.columns)
        for figure in self.figures:
            _known("system", [name for panel in figure.panels for name in panel.systems], systems)
            _known("test", [figure.test], tests)
        return self

    def _trained(self) -> list[SystemSection]:
        return [system for system in self.systems if system.of is None]

    def _check_cells(self, cells: Iterable[tuple[str, str]]) -> None:
        for test, cell in cells:
            _known("test", [test], [each.name for each in self.tests])
            _known(f"cell of {test}", [cell], [each.name for each in self.test(test).cells])

    def system(self, name: str) -> SystemSection:
        """Return a system by its name."""
        return next(system for system in self.systems if system.name == name)

    def test(self, name: str) -> TestSection:
        """Return a test by its name."""
        return next(test for test in self.tests if test.name == name)

    def tests_of(self, system: SystemSection) -> list[TestSection]:
        """Return what a system is tried on."""
        return [test for test in self.tests if system.tests is None or test.name in system.tests]

    def seeds_of(self, system: SystemSection) -> tuple[int, ...]:
        """Return the seeds of a system, which are those of the models it writes with."""
        if system.of and system.seeds is None:
            return self.seeds_of(self.system(system.of))
        return system.seeds or self.seeds


def read_matrix(given: str | Path) -> Matrix:
    """Read a matrix of the package, by name, or one of a path."""
    return read_toml(bundled.find(given, MATRICES, "matrix"), Matrix)


def chosen(known: Iterable[str], wanted: Sequence[str], kind: str) -> tuple[str, ...]:
    """Return what is wanted, all where nothing is; refuse what is not known."""
    names = tuple(known)
    for name in wanted:
        if name not in names:
            raise ConfigError(f"{kind} must be one of {', '.join(names)}, given {name!r}")
    return tuple(name for name in names if name in wanted) if wanted else names


def _known(kind: str, names: Iterable[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            raise ValueError(f"there is no {kind} {name!r}, there are {', '.join(known)}")


def _distinct(kind: str, names: Sequence[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{kind} must have names of their own, {twice[0]!r} occurs twice")
