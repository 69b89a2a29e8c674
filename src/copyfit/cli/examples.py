"""`copyfit examples`: something to train on."""

from pathlib import Path
from typing import Annotated

import typer


def examples(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Where to write.")],
    pairs: Annotated[int, typer.Option(min=1, metavar="N", help="How many training pairs.")] = 20_000,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Another seed, other news.")] = 1,
) -> None:
    """Write made-up news to train on and an article to try."""
    from copyfit.errors import DataError
    from copyfit.examples import write_examples

    try:
        write_examples(directory, pairs, seed)
    except OSError as problem:
        raise DataError(f"cannot write to {directory}: {problem.strerror}") from problem
