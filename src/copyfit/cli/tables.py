"""`copyfit tables`: the tables and figures of a study, from its records."""

from pathlib import Path
from typing import Annotated

import typer

from copyfit.cli import studies
from copyfit.errors import DataError


def tables(
    matrix: studies.MatrixName,
    records: studies.RecordsFolder = None,
    output: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where to write them (runs/MATRIX/tables).")
    ] = None,
    settings: studies.Settings = None,
) -> None:
    """Lay out records as the paper's tables and figures, beside what was published."""
    with studies.laboratory():
        from copyfit.experiments.matrix import read_matrix
        from copyfit.experiments.records import open_records
        from copyfit.experiments.results import Results

        read = read_matrix(matrix)
        home = studies.default_output(read.name)
        folder = records or home / "records"
        if not folder.is_dir():
            raise DataError(f"the folder of records must be there, {folder} is not: give it by --records DIR")
        results = Results(read, settings or (), open_records(folder))
        written = output or home / "tables"
        studies.show_tables(results, written)
        studies.draw_figures(results, written)
