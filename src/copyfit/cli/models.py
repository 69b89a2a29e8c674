"""`copyfit models`: which models can be named."""

from typing import Annotated

import typer

from copyfit.cli import talk


def models(
    as_json: Annotated[bool, typer.Option("--json", help="Write a JSON object for each.")] = False,
) -> None:
    """List the models that can be named."""
    from copyfit.writing.models import BUNDLED

    for name, folder in BUNDLED.items():
        if as_json:
            talk.put_json({"name": name, "path": str(folder)})
        else:
            talk.put(f"{name}\t{folder}")
    if not BUNDLED:
        talk.note("no model comes with this version; any model folder is a model: --model DIR")
