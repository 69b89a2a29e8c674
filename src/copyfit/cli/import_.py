"""`copyfit import`: a model of the paper's authors as a model folder."""

from pathlib import Path
from typing import Annotated

import typer

from copyfit.cli import talk


def import_(
    checkpoint: Annotated[Path, typer.Argument(metavar="FILE", help="A .pt file of the released code.")],
    source_dictionary: Annotated[Path, typer.Option(metavar="PATH", help="Its dict.SOURCE.txt.")],
    target_dictionary: Annotated[Path, typer.Option(metavar="PATH", help="Its dict.TARGET.txt.")],
    output: Annotated[Path, typer.Option(metavar="DIR", help="A new folder for the model.")],
    source_codes: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="The codes of subword-nmt; without them texts must come cut."),
    ] = None,
) -> None:
    """Convert a checkpoint of the paper's released code, without running anything in it."""
    from copyfit.environment import needing_extra
    from copyfit.errors import CheckpointError

    with needing_extra("train", "importing", CheckpointError):
        from copyfit.released.convert import Released, import_released

    imported = import_released(
        Released(checkpoint, source_dictionary, target_dictionary, source_codes), output
    )
    made = imported.checkpoint
    talk.put(
        f"{output}: {made.model.describe()}, {made.source.size} source and {made.target.size} target tokens"
    )
    for reason, number in imported.left_out.items():
        talk.put(f"  {number:,} target tokens left out: {reason}")
