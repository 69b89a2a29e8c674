"""`copyfit page`: the page with a model beside it, for any server of files."""

from pathlib import Path
from typing import Annotated

import typer

from copyfit.cli import talk


def page(
    output: Annotated[Path, typer.Argument(metavar="DIR", help="The new folder of the page.")],
    model: Annotated[Path, typer.Option(metavar="DIR", help="The folder of an exported model.")],
    runtime: Annotated[
        Path, typer.Option(metavar="DIR", help="The folder dist of the npm package onnxruntime-web.")
    ],
) -> None:
    """Write the page with a model that runs in the browser, for any server of files."""
    from copyfit.server.offline import write_site

    write_site(model, runtime, output)
    talk.note(f"{output} is a page that needs no service; serve it as files, or put it on any host of files")
