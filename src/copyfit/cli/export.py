"""`copyfit export`: a model that runs without PyTorch."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from copyfit.cli import talk


def export(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the model.")],
    output: Annotated[Path, typer.Option(metavar="DIR", help="The folder of the exported model.")],
    to: Annotated[Literal["onnx"], typer.Option("--to", help="The form of the graphs.")] = "onnx",  # noqa: ARG001
    precision: Annotated[
        Literal["fp32", "fp16", "int8"],
        typer.Option(help="How numbers are stored; int8 also multiplies so, and is the quickest."),
    ] = "fp32",
) -> None:
    """Write a model as two graphs that run without PyTorch, checked against it."""
    from copyfit.environment import needing_extra
    from copyfit.errors import CheckpointError

    with needing_extra("export", "exporting a model", CheckpointError):
        from copyfit.runtime import exporting
    agreement = exporting.export(exporting.trace_checkpoint(directory), output, precision=precision)
    talk.note(
        f"{output} is {directory} in {precision}: of {exporting.TRIALS} texts {agreement.exact:.0%} fit"
        f" exactly, {agreement.same:.0%} are those of PyTorch,"
        f" whose scores are within {agreement.score_difference:.2g}"
    )
