"""`copyfit evaluate`: say how good and how exact a model's headlines are."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from copyfit.cli import scoring, talk
from copyfit.cli.headlines import ANY
from copyfit.cli.lines import open_output
from copyfit.data.corpus import read_pairs
from copyfit.errors import RequestError
from copyfit.evaluation.evaluate import Evaluation, Settings
from copyfit.evaluation.evaluate import evaluate as run
from copyfit.evaluation.lengths import Length
from copyfit.evaluation.rouge import Rouge
from copyfit.writing.requests import Wish
from copyfit.writing.writer import Effort, Writer

Limit = Annotated[
    str | None,
    typer.Option(metavar="N", help="For ROUGE, cut all texts to so many bytes; `length` is the length."),
]
LimitCharacters = Annotated[
    str | None,
    typer.Option(
        metavar="N", help="For ROUGE, cut headlines, not references, to so many characters, or to `length`."
    ),
]

_FIGURES = (("variance", ".4g"), ("mean error", ".4g"), ("exact", ".1%"), ("within", ".1%"))
"""How the figures of lengths are shown, in their order."""


def evaluate(
    model: Annotated[
        list[str], typer.Option(metavar="DIR", help="The folder of a model; several write together.")
    ],
    data: Annotated[
        Path, typer.Option(metavar="FILE", help="Pairs: TSV, or JSONL with source and references.")
    ],
    length: Annotated[
        list[str] | None,
        typer.Option(metavar="N", help="A length, or `reference`: that of the reference; repeatable."),
    ] = None,
    unit: Annotated[str, typer.Option(metavar="UNIT", help="What the length counts.")] = "char",
    mode: Annotated[str, typer.Option(metavar="MODE", help="free, exact or max.")] = "free",
    limit_bytes: Limit = None,
    limit_words: scoring.LimitWords = None,
    limit_characters: LimitCharacters = None,
    no_stem: Annotated[bool, typer.Option("--no-stem", help="Compare words, not their stems.")] = False,
    japanese: scoring.Japanese = False,
    formula: scoring.Formula = "average",
    confidence: scoring.Confidence = 95,
    rerank: Annotated[
        bool, typer.Option("--rerank", help="Of 20, take the one with the most words of the source.")
    ] = False,
    rerank_once: Annotated[
        bool, typer.Option("--rerank-once", help="The same, but count each word once.")
    ] = False,
    no_repeat_ngram_size: Annotated[
        int, typer.Option(metavar="N", help="Write no N tokens in a row twice; 0 is off.")
    ] = 0,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also write the headlines here, one a line; {length} in the name stands for each length.",
        ),
    ] = None,
    num_beams: Annotated[int, typer.Option(metavar="B", help="How wide to search.")] = 5,
    batch_size: Annotated[int, typer.Option(metavar="N", help="How many searches to run together.")] = 32,
    device: Annotated[str | None, typer.Option(metavar="NAME", help="cpu, cuda or cuda:N.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object for each length.")] = False,
) -> None:
    """Write a headline for each pair of a file and measure quality and length error."""
    lengths = [scoring.parse_length(text) for text in dict.fromkeys(length or ["reference"])]
    _check(lengths, unit, mode)
    effort = Effort(
        num_beams=num_beams,
        batch_size=batch_size,
        show_progress_bar=None,
        no_repeat_ngram_size=no_repeat_ngram_size,
        rerank="once" if rerank_once else "occurrences" if rerank else None,
    )
    scorers = [
        Rouge(
            stem=not (no_stem or japanese),
            limit_bytes=_limit(limit_bytes, wanted),
            limit_words=limit_words,
            limit_characters=_limit(limit_characters, wanted),
            formula=formula,
            confidence=confidence,
            words=scoring.words_of(japanese=japanese),
        )
        for wanted in lengths
    ]
    outputs = _outputs(output, lengths)
    pairs = list(read_pairs([str(data)]))
    writer = Writer(model, device=device)
    for wanted, scorer, path in zip(lengths, scorers, outputs, strict=True):
        settings = Settings(effort, scorer)
        with open_output(path) as put:
            evaluation = run(writer, pairs, length=wanted, unit=unit, mode=mode, settings=settings)
            if put:
                for text in evaluation.headlines:
                    put(text)
        if as_json:
            talk.put_json(evaluation.to_json())
        else:
            talk.put("\n".join(_report(evaluation)))


def _check(lengths: Sequence[Length], unit: str, mode: str) -> None:
    """Tell mistakes of the flags before a model is opened, and not as those of some pair."""
    for length in lengths:
        Wish(1 if length == "reference" else length, unit=unit, mode=mode).resolve(ANY)


def _limit(text: str | None, length: Length) -> int | None:
    """Read a limit, or `length`."""
    if text is None:
        return None
    if text == "length" and isinstance(length, int):
        return length
    try:
        return int(text)
    except ValueError as problem:
        raise RequestError(
            f"a limit must be a whole number, or `length` where that is one, given {text!r} and {length}"
        ) from problem


def _outputs(path: Path | None, lengths: Sequence[Length]) -> list[Path | None]:
    """Name the file of each length."""
    if path is None or len(lengths) == 1 or "{length}" in str(path):
        return [path and Path(str(path).replace("{length}", str(length))) for length in lengths]
    raise RequestError(
        f"with several lengths the output must have {{length}} in its name, given {path}: for each a file"
    )


def _report(evaluation: Evaluation) -> Iterator[str]:
    yield f"{evaluation.model}: length {evaluation.length} {evaluation.unit}, mode {evaluation.mode}"
    yield scoring.table(evaluation.rouge)
    figures = zip(evaluation.length_error, *evaluation.length_limits, strict=True)
    for (title, form), (mean, low, high) in zip(_FIGURES, figures, strict=True):
        yield f"{title:12}{mean:{form}} ({low:{form}}-{high:{form}})"
    yield f"{'speed':12}{evaluation.headlines_per_second:.1f} headlines a second"
    yield f"{len(evaluation.headlines)} items, {evaluation.signature}"
