"""`copyfit prepare`: the data of a recipe, without training."""

from pathlib import Path
from typing import Annotated

import typer

from copyfit.cli import talk


def prepare(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="A TOML file, or a name: base, tiny, ...")],
    output: Annotated[Path, typer.Option(metavar="DIR", help="A new folder for tokenizers and stores.")],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the recipe; repeatable."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Turn a recipe's pairs into the store that training reads; tell what was dropped."""
    from copyfit.cli.recipes import read_recipe
    from copyfit.data.accounts import table, to_json
    from copyfit.data.prepare import prepare as run

    read = read_recipe(recipe, settings)
    data = run(read.data, read.source, read.target, output)
    if as_json:
        talk.put_json({"path": str(output), **to_json(data.accounts())})
        return
    for line in table(data.accounts()):
        talk.put(line)
