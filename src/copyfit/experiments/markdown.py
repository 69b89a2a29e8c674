"""Tables as Markdown."""

from collections.abc import Iterable, Iterator, Sequence

from copyfit.experiments.grid import Figure, Grid, Row
from copyfit.experiments.records import CellRecord
from copyfit.experiments.results import Results

ABSENT = "–"


def markdown(grid: Grid) -> str:
    """Render a table with its caption below."""
    rows = []
    for section, members in grid.sections():
        rows.append([f"**{section}**"])
        rows += [_cells(row, grid) for row in members]
    headings = [f"{column.group} {column.title}".strip() for column in grid.columns]
    titles = [f"{heading} {measure}".strip() for heading in headings for measure in grid.measures]
    return f"## {grid.title}\n\n{lay_out(['Model', *titles], rows)}\n\n{grid.caption}\n"


def _cells(row: Row, grid: Grid) -> list[str]:
    return [row.label, *(_cell(figure, place, grid) for place, figure in enumerate(row.figures))]


def _cell(figure: Figure, place: int, grid: Grid) -> str:
    """Write a figure of ours, its spread, and the published one in brackets."""
    digits = grid.digits
    ours = ABSENT if figure.mean is None else f"{figure.mean:.{digits}f}"
    shown = f"**{ours}**" if grid.is_best(place, figure) else ours
    spread = "" if figure.spread is None else f" ± {figure.spread:.{digits}f}"
    beside = "" if figure.published is None else f" ({figure.published:.{digits}f})"
    return f"{shown}{spread}{beside}"


def lay_out(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lay out cells as a table; short rows are filled up."""
    lines = [titles, ["---", *["---:"] * (len(titles) - 1)], *rows]
    filled = ([*cells, *[""] * (len(titles) - len(cells))] for cells in lines)
    return "\n".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |" for cells in filled)


def details(results: Results) -> str:
    """Lay out everything that was recorded, with confidence limits, run by run."""
    titles = [
        *("system", "seeds", "test", "cell", "n", "scored", "R-1", "R-2", "R-L"),
        *("variance", "mean error", "exact %", "within %"),
    ]
    rows = [
        [run.system.name, ", ".join(map(str, run.seeds)), str(record.test["name"]), name, *cells]
        for run, record in results.everything()
        for name, cell in record.cells.items()
        for cells in _detailed(cell)
    ]
    signatures = dict.fromkeys(
        signature
        for _, record in results.everything()
        for cell in record.cells.values()
        for signature in cell.signatures.values()
    )
    listed = "\n".join(f"- `{signature}`" for signature in signatures)
    return (
        f"# {results.matrix.title}: all that was recorded\n\n"
        "ROUGE is recall in percent. In brackets the limits between which a figure lies with a confidence"
        f" of 95 percent.\n\n{lay_out(titles, rows)}\n\n## Trainings\n\n{_trainings(results)}\n\n"
        f"## Signatures\n\n{listed}\n"
    )


def _detailed(cell: CellRecord) -> Iterator[list[str]]:
    error = cell.length_error
    lengths = [
        _limited(error, "variance", 1, 3),
        _limited(error, "mean_absolute", 1, 3),
        _limited(error, "exact", 100, 1),
        _limited(error, "within", 100, 1),
    ]
    for name, scores in cell.rouge.items():
        rouge = [_limited(scores[metric], "recall", 100, 2) for metric in ("R1", "R2", "RL")]
        yield [str(cell.n), name, *rouge, *lengths]


def _limited(values: dict[str, float], name: str, times: int, digits: int) -> str:
    mean, low, high = (f"{times * values[name + end]:.{digits}f}" for end in ("", "_low", "_high"))
    return f"{mean} ({low}–{high})"


def _trainings(results: Results) -> str:
    titles = [
        *("system", "seed", "pairs", "parameters", "steps", "epochs", "seconds"),
        *("validation loss", "device", "commit"),
    ]
    rows = []
    for record in results.trainings():
        loss = record.validation.get("loss")
        commit = "unknown" if record.made.commit is None else record.made.commit[:10]
        rows.append(
            [
                record.system,
                str(record.seed),
                f"{record.training_pairs:,}",
                f"{record.parameters:,}",
                f"{record.steps:,}",
                f"{record.epochs:.2f}",
                f"{record.seconds:.0f}",
                f"{loss:.4f}" if isinstance(loss, float) else ABSENT,
                str(record.made.hardware["device"]),
                commit if record.made.clean else f"{commit}, changed",
            ]
        )
    return lay_out(titles, rows)
