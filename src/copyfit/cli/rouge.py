"""`copyfit rouge`: score summaries against references, as ROUGE-1.5.5 does."""

import json
from pathlib import Path
from typing import Annotated

import typer

from copyfit.cli import scoring, talk
from copyfit.cli.lines import Put, open_output
from copyfit.cli.texts import read_texts
from copyfit.evaluation.rouge import Rouge, RougeResult


def rouge(
    hypotheses: Annotated[Path, typer.Option(metavar="FILE", help="A file with one summary a line.")],
    references: scoring.References,
    limit_bytes: scoring.LimitBytes = None,
    limit_words: scoring.LimitWords = None,
    limit_characters: scoring.LimitCharacters = None,
    stem: scoring.Stem = False,
    japanese: scoring.Japanese = False,
    formula: scoring.Formula = "average",
    confidence: scoring.Confidence = 95,
    per_item: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the scores of each item here.")
    ] = None,
    as_json: scoring.Json = False,
) -> None:
    """Score summaries against references, equal to ROUGE-1.5.5.pl to the last digit."""
    scorer = Rouge(
        stem=stem,
        limit_bytes=limit_bytes,
        limit_words=limit_words,
        limit_characters=limit_characters,
        formula=formula,
        confidence=confidence,
        words=scoring.words_of(japanese=japanese),
    )
    summaries = list(read_texts(hypotheses, lines=True))
    wanted = scoring.read_references(references, len(summaries))
    with open_output(per_item) as put:
        result = scorer.score(summaries, wanted)
        if put:
            _write_items(result, put)
    if as_json:
        talk.put_json(result.to_json())
    else:
        talk.put(f"{scoring.table(result)}\n{len(result.items)} items, {result.signature}")


def _write_items(result: RougeResult, put: Put) -> None:
    for index, scores in enumerate(result.items):
        values = {"index": index, **{metric: score._asdict() for metric, score in scores.items()}}
        put(json.dumps(values))
