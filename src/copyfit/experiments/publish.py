"""Write the tables and figures of a matrix from its records."""

from collections.abc import Mapping
from pathlib import Path

from copyfit.environment import needing_extra
from copyfit.errors import ConfigError, DataError
from copyfit.experiments.grid import grid_of
from copyfit.experiments.latex import latex
from copyfit.experiments.markdown import details, markdown
from copyfit.experiments.results import Results


def publish_tables(results: Results, output: Path) -> list[str]:
    """Write each table as Markdown and LaTeX, and all details; return the tables as Markdown."""
    grids = [grid_of(table, results) for table in results.matrix.tables]
    tables = [markdown(grid) for grid in grids]
    files = {f"{grid.name}.tex": latex(grid) for grid in grids}
    files |= {f"{grid.name}.md": table for grid, table in zip(grids, tables, strict=True)}
    files["details.md"] = details(results)
    _write(output, {name: text.encode() for name, text in files.items()})
    return tables


def publish_figures(results: Results, output: Path) -> None:
    """Write each figure as SVG and PNG; those that nothing is recorded for are left out."""
    with needing_extra("plots", "drawing figures", ConfigError):
        from copyfit.experiments.figures import draw
    for figure in results.matrix.figures:
        _write(output, draw(figure, results) or {})


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)
    except OSError as problem:
        raise DataError(f"cannot write to {folder}: {problem.strerror}") from problem
