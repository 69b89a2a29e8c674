"""What commands that score have in common: their flags, the files they read, the tables they print."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from copyfit.cli.texts import read_texts
from copyfit.errors import DataError, RequestError
from copyfit.evaluation.lengths import Length
from copyfit.evaluation.rouge import Average, RougeResult

References = Annotated[
    list[Path], typer.Option(metavar="FILE", help="A file with a reference for each; repeatable.")
]
LimitBytes = Annotated[int | None, typer.Option(metavar="N", help="Cut all texts to so many bytes.")]
LimitWords = Annotated[int | None, typer.Option(metavar="N", help="Cut all texts to so many words.")]
LimitCharacters = Annotated[
    int | None, typer.Option(metavar="N", help="Cut hypotheses, not references, to so many characters.")
]
Stem = Annotated[bool, typer.Option("--stem", help="Compare stems of words.")]
Formula = Annotated[
    str, typer.Option(metavar="NAME", help="Pool references (average) or take the best one (best).")
]
Confidence = Annotated[float, typer.Option(metavar="PERCENT", help="Percent of the confidence intervals.")]
Japanese = Annotated[bool, typer.Option("--ja", help="Score Japanese words, as MeCab finds them.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def words_of(*, japanese: bool) -> Literal["ascii", "mecab"]:
    """Name the words that are scored."""
    return "mecab" if japanese else "ascii"


def parse_length(text: str) -> Length:
    """Read a length, or `reference`."""
    if text == "reference":
        return "reference"
    try:
        return int(text)
    except ValueError as problem:
        raise RequestError(f"the length must be a whole number or `reference`, given {text!r}") from problem


def read_references(paths: Sequence[Path], summaries: int) -> list[tuple[str, ...]]:
    """Read the references of each of so many summaries, one from each file."""
    return list(zip(*(read_aligned(path, summaries) for path in paths), strict=True))


def read_aligned(path: Path, summaries: int) -> list[str]:
    """Read a file that must have a line for each of so many summaries."""
    lines = list(read_texts(path, lines=True))
    if len(lines) != summaries:
        raise DataError(
            f"{path} must have a line for each of the {summaries} hypotheses, it has {len(lines)}"
        )
    return lines


def table(result: RougeResult) -> str:
    """Lay out the averages for people, in percent."""
    lines = [f"{'':8}{'recall':>20}{'precision':>20}{'f1':>20}"]
    for metric, average in result.averages.items():
        lines.append(f"{metric:8}" + "".join(f"{cell:>20}" for cell in _cells(average)))
    return "\n".join(lines)


def _cells(average: Average) -> list[str]:
    three = (
        (average.recall, average.recall_low, average.recall_high),
        (average.precision, average.precision_low, average.precision_high),
        (average.f1, average.f1_low, average.f1_high),
    )
    return [f"{100 * mean:.2f} ({100 * low:.2f}-{100 * high:.2f})" for mean, low, high in three]
