"""`copyfit train`: from a recipe to a model."""

from pathlib import Path
from typing import Annotated

import typer


def train(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="A TOML file, or a name: base, tiny, ...")],
    output: Annotated[
        Path, typer.Option(metavar="DIR", help="Where the run keeps its data, journal and models.")
    ],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the recipe; repeatable."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the last save in the output.")] = False,
    device: Annotated[str | None, typer.Option(metavar="NAME", help="cpu, cuda or cuda:N.")] = None,
) -> None:
    """Train a model by a recipe."""
    from copyfit.cli.recipes import read_recipe
    from copyfit.environment import needing_extra
    from copyfit.errors import ConfigError

    read = read_recipe(recipe, settings)
    with needing_extra("train", "training", ConfigError):
        from copyfit.training.run import train as run

    run(read, output, resume=resume, device=device)
