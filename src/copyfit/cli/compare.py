"""`copyfit compare`: tell whether one system is better than another."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from copyfit.cli import scoring, talk
from copyfit.cli.texts import read_texts
from copyfit.errors import RequestError
from copyfit.evaluation.compare import Budgets, Comparison, Difference
from copyfit.evaluation.compare import compare as run
from copyfit.evaluation.rouge import Rouge


def compare(
    hypotheses: Annotated[
        list[Path],
        typer.Option(metavar="FILE", help="A file with one summary a line; given twice, for two systems."),
    ],
    references: scoring.References,
    length: Annotated[
        str | None,
        typer.Option(metavar="N", help="Also compare lengths with this, or with `reference`."),
    ] = None,
    unit: Annotated[str, typer.Option(metavar="UNIT", help="What the length counts.")] = "char",
    limit_bytes: scoring.LimitBytes = None,
    limit_words: scoring.LimitWords = None,
    limit_characters: scoring.LimitCharacters = None,
    stem: scoring.Stem = False,
    japanese: scoring.Japanese = False,
    formula: scoring.Formula = "average",
    confidence: scoring.Confidence = 95,
    as_json: scoring.Json = False,
) -> None:
    """Say how far two systems differ on the same items, and whether by more than chance."""
    if len(hypotheses) != 2:
        raise RequestError(f"two systems are compared, given {len(hypotheses)}: give --hypotheses twice")
    scorer = Rouge(
        stem=stem,
        limit_bytes=limit_bytes,
        limit_words=limit_words,
        limit_characters=limit_characters,
        formula=formula,
        confidence=confidence,
        words=scoring.words_of(japanese=japanese),
    )
    budgets = None if length is None else Budgets(scoring.parse_length(length), unit)
    first = list(read_texts(hypotheses[0], lines=True))
    second = scoring.read_aligned(hypotheses[1], len(first))
    wanted = scoring.read_references(references, len(first))
    comparison = run((first, second), wanted, scorer, budgets=budgets)
    if as_json:
        talk.put_json({**comparison.to_json(), "hypotheses": [str(path) for path in hypotheses]})
    else:
        talk.put("\n".join(_report(comparison)))


def _report(comparison: Comparison) -> Iterator[str]:
    header = f"{'first':>10}{'second':>10}{'difference':>12}  {'limits':<20}{'wins':>7}{'p':>9}"
    yield f"{'':24}{header}"
    for metric, values in comparison.rouge.items():
        for value, difference in values.items():
            yield _line(f"{metric} {value}", difference, percent=True)
    for name, difference in (comparison.length_error or {}).items():
        label = f"length {name.replace('_', ' ')}"
        yield _line(label, difference, percent=name in {"exact", "within"})
    yield f"{comparison.items} items, {comparison.signature}"


def _line(label: str, difference: Difference, *, percent: bool) -> str:
    scale = 100 if percent else 1
    first, second, gained, low, high = (scale * value for value in difference[:5])
    limits = f"({low:+.2f} to {high:+.2f})"
    return (
        f"{label:24}{first:10.2f}{second:10.2f}{gained:+12.2f}  {limits:<20}"
        f"{difference.wins:7.1%}{difference.p:9.4f}"
    )
