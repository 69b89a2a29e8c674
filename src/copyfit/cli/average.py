"""`copyfit average`: one model with the mean weights of several."""

from pathlib import Path
from typing import Annotated

import typer

from copyfit.cli import talk


def average(
    directories: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="The folders of two or more models of one shape.")
    ],
    output: Annotated[Path, typer.Option(metavar="DIR", help="The folder of the model to write.")],
) -> None:
    """Write a model whose weights are the means of those of several others."""
    from copyfit.combining import average as write_average

    write_average(directories, output)
    talk.note(f"{output} is the average of {len(directories)} models")
