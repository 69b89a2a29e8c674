"""`copyfit rouge`: score summaries against references, as ROUGE-1.5.5 does."""

import json
from pathlib import Path
from typing import Annotated

import typer

from copyfit.cli import talk
from copyfit.cli.lines import Put, open_output
from copyfit.cli.texts import read_texts
from copyfit.errors import DataError
from copyfit.evaluation.rouge import Rouge, RougeResult


def rouge(
    hypotheses: Annotated[Path, typer.Option(metavar="FILE", help="A file with one summary a line.")],
    references: Annotated[
        list[Path], typer.Option(metavar="FILE", help="A file with a reference for each; repeatable.")
    ],
    limit_bytes: Annotated[
        int | None, typer.Option(metavar="N", help="Cut all texts to so many bytes.")
    ] = None,
    limit_words: Annotated[
        int | None, typer.Option(metavar="N", help="Cut all texts to so many words.")
    ] = None,
    stem: Annotated[bool, typer.Option("--stem", help="Compare stems of words.")] = False,
    formula: Annotated[
        str, typer.Option(metavar="NAME", help="Pool references (average) or take the best one (best).")
    ] = "average",
    confidence: Annotated[
        float, typer.Option(metavar="PERCENT", help="Percent of the confidence interval.")
    ] = 95,
    per_item: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the scores of each item here.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Score summaries against references, equal to ROUGE-1.5.5.pl to the last digit."""
    scorer = Rouge(
        stem=stem,
        limit_bytes=limit_bytes,
        limit_words=limit_words,
        formula=formula,
        confidence=confidence,
    )
    summaries = list(read_texts(hypotheses, lines=True))
    columns = [_aligned(path, len(summaries)) for path in references]
    with open_output(per_item) as put:
        result = scorer.score(summaries, list(zip(*columns, strict=True)))
        if put:
            _write_items(result, put)
    if as_json:
        talk.put_json(result.to_json())
    else:
        talk.put(table(result))


def table(result: RougeResult) -> str:
    """Lay out the averages for people, in percent."""
    lines = [f"{'':8}{'recall':>20}{'precision':>20}{'f1':>20}"]
    for metric, average in result.averages.items():
        three = (
            (average.recall, average.recall_low, average.recall_high),
            (average.precision, average.precision_low, average.precision_high),
            (average.f1, average.f1_low, average.f1_high),
        )
        cells = (f"{100 * mean:.2f} ({100 * low:.2f}-{100 * high:.2f})" for mean, low, high in three)
        lines.append(f"{metric:8}" + "".join(f"{cell:>20}" for cell in cells))
    return "\n".join([*lines, f"{len(result.items)} items, {result.signature}"])


def _aligned(path: Path, summaries: int) -> list[str]:
    lines = list(read_texts(path, lines=True))
    if len(lines) != summaries:
        raise DataError(
            f"{path} must have a line for each of the {summaries} hypotheses, it has {len(lines)}"
        )
    return lines


def _write_items(result: RougeResult, put: Put) -> None:
    for index, scores in enumerate(result.items):
        values = {"index": index, **{metric: score._asdict() for metric, score in scores.items()}}
        put(json.dumps(values))
