"""A table before it is rendered: rows under headings, figures beside the published ones."""

from collections.abc import Iterable, Iterator, Sequence
from statistics import mean, stdev
from typing import NamedTuple

from copyfit.experiments.matrix import ColumnSection, SystemSection, TableSection
from copyfit.experiments.published import PublishedRow, published, source
from copyfit.experiments.results import (
    Measure,
    Result,
    Results,
    merged_signature,
    recall,
    signature_of,
    variance,
)

MEASURES: dict[str, dict[str, tuple[str, Measure]]] = {
    "rouge": {"R1": ("R-1", recall("R1")), "R2": ("R-2", recall("R2")), "RL": ("R-L", recall("RL"))},
    "variance": {"variance": ("", variance)},
}
"""What each kind of table shows of a cell: by its published name, a heading and where it is found."""
DIGITS = {"rouge": 2, "variance": 3}


class Figure(NamedTuple):
    """Be a figure of ours, from one seed or several, and the published one; None where there is none."""

    seeds: tuple[float, ...] = ()
    published: float | None = None

    @property
    def mean(self) -> float | None:
        """Return the mean over the seeds."""
        return mean(self.seeds) if self.seeds else None

    @property
    def spread(self) -> float | None:
        """Return the standard deviation over the seeds, where there are several."""
        return stdev(self.seeds) if len(self.seeds) > 1 else None


class Row(NamedTuple):
    """Be a system with its figures."""

    section: str
    label: str
    figures: tuple[Figure, ...]


class Grid(NamedTuple):
    """Be a table."""

    name: str
    title: str
    caption: str
    columns: tuple[ColumnSection, ...]
    measures: tuple[str, ...]
    """The headings below that of each column."""
    digits: int
    rows: tuple[Row, ...]
    best: tuple[str, ...]
    """The best of ours in each place, as it is shown."""

    def is_best(self, place: int, figure: Figure) -> bool:
        """Tell whether no other figure of ours in this place is better, as far as the digits show."""
        return figure.mean is not None and f"{figure.mean:.{self.digits}f}" == self.best[place]

    def sections(self) -> Iterator[tuple[str, list[Row]]]:
        """Yield the rows under each heading; what extends a row above it is called by what it adds."""
        for section in dict.fromkeys(row.section for row in self.rows):
            rows = [row for row in self.rows if row.section == section]
            labels = {row.label for row in rows}
            yield section, [row._replace(label=_shown(row.label, labels)) for row in rows]


def _shown(label: str, others: Iterable[str]) -> str:
    stem, plus, rest = label.rpartition("+")
    return f"+{rest}" if plus and stem in others else label


def grid_of(table: TableSection, results: Results) -> Grid:
    """Fill a table in."""
    systems = [results.matrix.system(name) for name in table.rows or _tried(table, results)]
    known = {(row.section, row.row): row for row in published(table.published)}
    ours = [
        _row(system, table, results, known.pop((system.section, system.label), None)) for system in systems
    ]
    others = [_published_row(row, table) for row in known.values()]
    digits = DIGITS[table.kind]
    return Grid(
        name=table.name,
        title=table.title,
        caption=_caption(table, results, systems),
        columns=table.columns,
        measures=tuple(heading for heading, _ in MEASURES[table.kind].values()),
        digits=digits,
        rows=(*ours, *others),
        best=tuple(
            _best(place, table.kind, digits) for place in zip(*(row.figures for row in ours), strict=True)
        ),
    )


def _best(figures: Iterable[Figure], kind: str, digits: int) -> str:
    means = [figure.mean for figure in figures if figure.mean is not None]
    best = (min if kind == "variance" else max)(means, default=None)
    return "" if best is None else f"{best:.{digits}f}"


def _tried(table: TableSection, results: Results) -> list[str]:
    tests = {column.test for column in table.columns}
    matrix = results.matrix
    return [
        system.name
        for system in matrix.systems
        if tests.intersection(test.name for test in matrix.tests_of(system))
    ]


def _row(system: SystemSection, table: TableSection, results: Results, known: PublishedRow | None) -> Row:
    figures = []
    for column in table.columns:
        found = results.of(system.name, column.test, column.cell)
        beside = known.columns.get(column.published, {}) if known else {}
        figures += [
            Figure(tuple(measure(result.cell) for result in found), beside.get(name))
            for name, (_, measure) in MEASURES[table.kind].items()
        ]
    return Row(system.section, system.label, tuple(figures))


def _published_row(row: PublishedRow, table: TableSection) -> Row:
    figures = (
        Figure((), row.columns.get(column.published, {}).get(name))
        for column in table.columns
        for name in MEASURES[table.kind]
    )
    return Row(row.section, row.row, tuple(figures))


def _caption(table: TableSection, results: Results, systems: Sequence[SystemSection]) -> str:
    """Say what the figures are, of how many items, and what decides on them."""
    found: list[list[Result]] = [
        [result for system in systems for result in results.of(system.name, column.test, column.cell)]
        for column in table.columns
    ]
    counts = [sorted({result.cell.n for result in column}) for column in found]
    items = ", ".join(dict.fromkeys("/".join(map(str, each)) or "none" for each in counts))
    signatures = [signature_of(result.cell) for column in found for result in column]
    what = "Variance of lengths" if table.kind == "variance" else "Recall-oriented ROUGE in percent"
    sentences = [
        f"{table.title}. {what}; n = {items}.",
        "Of several seeds the mean ± the standard deviation.",
        f"In brackets what was published ({source()})" if table.published else "",
        table.note,
        f"Signature: {merged_signature(signatures)}" if signatures else "Nothing is recorded yet.",
    ]
    return " ".join(sentence for sentence in sentences if sentence)
