"""`copyfit prepare`: the data of a recipe, without training."""

from pathlib import Path
from typing import Annotated

import typer

from copyfit.cli import talk


def prepare(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="A TOML file.")],
    output: Annotated[Path, typer.Option(metavar="DIR", help="A new folder for tokenizers and stores.")],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the recipe; repeatable."),
    ] = None,
) -> None:
    """Turn a recipe's pairs into the store that training reads."""
    from copyfit.cli.recipes import read_recipe
    from copyfit.data.prepare import prepare as run

    read = read_recipe(recipe, settings)
    data = run(read.data, read.source, read.target, output)
    for store in filter(None, (data.train, data.validation)):
        manifest = store.manifest
        talk.put(f"{store.path}: {manifest.pairs:,} pairs of {manifest.sources:,} sources")
        for reason, number in manifest.dropped.items():
            talk.put(f"  {number:,} dropped: {reason}")
