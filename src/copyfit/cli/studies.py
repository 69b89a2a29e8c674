"""What the commands of the laboratory have in common."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from copyfit.cli import talk
from copyfit.environment import needing_extra
from copyfit.errors import ConfigError

if TYPE_CHECKING:
    from copyfit.experiments.results import Results

MatrixName = Annotated[
    str, typer.Argument(metavar="MATRIX", help="A TOML file, or a name: tiny, news-en, paper-gigaword, ...")
]
Output = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Where models, records and tables go (runs/MATRIX).")
]
RecordsFolder = Annotated[
    Path | None, typer.Option(metavar="DIR", help="The folder of the records (runs/MATRIX/records).")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a key of every recipe; repeatable."),
]


@contextmanager
def laboratory() -> Iterator[None]:
    """Say what to install where a library is missing."""
    with needing_extra("train", "the laboratory", ConfigError):
        yield


def default_output(name: str) -> Path:
    """Return where a study goes that is given no folder."""
    return Path("runs") / name


def show_tables(results: "Results", output: Path) -> None:
    """Write tables into a folder, print them as Markdown, and tell what was not used."""
    from copyfit.experiments.publish import publish_tables

    for table in publish_tables(results, output):
        talk.put(table)
    unused = results.unused()
    if unused:
        talk.note(f"{unused} records belong to other recipes, tests or files and are not used")
    if results.versions() > 1:
        talk.note(f"the records are of {results.versions()} versions of the code, they name each its own")
    talk.note(f"tables are in {output}")


def draw_figures(results: "Results", output: Path) -> None:
    """Write figures into the folder of the tables."""
    from copyfit.experiments.publish import publish_figures

    publish_figures(results, output)
