"""`copyfit reproduce`: a whole study, from a matrix to records, tables and figures."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from copyfit.cli import studies, talk
from copyfit.errors import ConfigError, DataError

if TYPE_CHECKING:
    from copyfit.experiments.matrix import Matrix
    from copyfit.experiments.study import Folders

USER_ERROR, BUG = 2, 1


def reproduce(
    matrix: studies.MatrixName,
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The folder of the pairs and tests that it names.")
    ] = None,
    output: studies.Output = None,
    records: studies.RecordsFolder = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="SYSTEM", help="Do only this system; repeatable.")
    ] = None,
    seed: Annotated[
        list[int] | None, typer.Option(metavar="N", help="Do only runs of this seed; repeatable.")
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Train so many models at once (1, or what the cores serve)."),
    ] = None,
    device: Annotated[str | None, typer.Option(metavar="NAME", help="cpu, cuda or cuda:N.")] = None,
    settings: studies.Settings = None,
) -> None:
    """Train, test and record what a matrix lists and is not recorded yet; end with the tables."""
    with studies.laboratory():
        from copyfit.experiments.matrix import read_matrix
        from copyfit.experiments.pool import hands_for
        from copyfit.experiments.records import open_records
        from copyfit.experiments.results import Results
        from copyfit.experiments.study import Choice, carry_out, open_study

        read = read_matrix(matrix)
        folders = _folders(read, data, output, records)
        choice = Choice(tuple(only or ()), tuple(seed or ()), tuple(settings or ()))
        study = open_study(read, choice, folders, device)
        found = open_records(folders.records)
        talk.show(study.told(found))
        tasks = study.tasks(found)
        failures = carry_out(tasks, hands_for(read.threads, jobs, device)) if tasks else []
        # Files may have changed since: records of others must not end what went well.
        results = Results(read, choice.settings, open_records(folders.records), inputs=study.inputs)
        studies.show_tables(results, folders.output / "tables")
        try:
            studies.draw_figures(results, folders.output / "tables")
        except ConfigError as problem:
            talk.note(f"no figures: {problem}")
    if failures:
        talk.note(f"error: {len(failures)} of {len(tasks)} tasks failed, the same command tries them again")
        raise typer.Exit(BUG if any(failure.trace for failure in failures) else USER_ERROR)


def _folders(matrix: "Matrix", data: Path | None, output: Path | None, records: Path | None) -> "Folders":
    from copyfit.experiments.study import Folders, made_up

    written = output or studies.default_output(matrix.name)
    if data is None and matrix.data.examples is None:
        wanted = ", ".join([*matrix.data.train, *matrix.data.validation, *(t.data for t in matrix.tests)])
        raise DataError(f"{matrix.name} needs --data DIR, a folder that has {wanted}")
    try:
        (records or written / "records").mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ConfigError(f"cannot write to {problem.filename}: {problem.strerror}") from problem
    pairs = matrix.data.examples or 0
    return Folders(data or made_up(pairs, written), written, records or written / "records")
