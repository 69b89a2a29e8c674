"""`copyfit count`: how long a text is."""

from pathlib import Path
from typing import Annotated

import typer

from copyfit.cli import talk


def count(
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="The text. Without it standard input is read.")
    ] = None,
    unit: Annotated[
        str, typer.Option(metavar="UNIT", help="What to count: char, cell, byte, word, ...")
    ] = "char",
    lines: Annotated[bool, typer.Option("--lines", help="Count every line of standard input.")] = False,
) -> None:
    """Count a text."""
    from copyfit.cli.texts import read_texts
    from copyfit.text.units import check_unit
    from copyfit.text.units import count as count_units

    check_unit(unit)
    if text is not None:
        talk.put(str(count_units(text, unit)))
        return
    for each in read_texts(Path("-"), lines=lines):
        # The last line end is how a shell ends a text, no part of it.
        counted = each if lines else each.removesuffix("\n").removesuffix("\r")
        talk.put(str(count_units(counted, unit)))
