"""Write the tables and figures of a matrix from its records."""

from collections.abc import Mapping
from pathlib import Path

from copyfit.errors import DataError
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
    write_texts(output, {**files, "details.md": details(results)})
    return tables


def write_texts(folder: Path, texts: Mapping[str, str]) -> None:
    """Write files into a folder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as problem:
        raise DataError(f"cannot write to {folder}: {problem.strerror}") from problem
