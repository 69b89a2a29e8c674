"""`copyfit evaluate`: say how good and how exact a model's headlines are."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from copyfit.cli import talk
from copyfit.cli.lines import open_output
from copyfit.cli.rouge import table
from copyfit.data.corpus import read_pairs
from copyfit.errors import RequestError
from copyfit.evaluation.evaluate import Evaluation, Settings
from copyfit.evaluation.evaluate import evaluate as run
from copyfit.writing.writer import Writer


def evaluate(
    model: Annotated[str, typer.Option(metavar="DIR", help="The folder of a model.")],
    data: Annotated[
        Path, typer.Option(metavar="FILE", help="Pairs: TSV, or JSONL with source and references.")
    ],
    length: Annotated[
        str, typer.Option(metavar="N", help="A length, or `reference`: that of the reference.")
    ] = "reference",
    unit: Annotated[str, typer.Option(metavar="UNIT", help="What the length counts.")] = "char",
    mode: Annotated[str, typer.Option(metavar="MODE", help="free, exact or max.")] = "free",
    limit_bytes: Annotated[
        int | None, typer.Option(metavar="N", help="Cut all texts to so many bytes for ROUGE.")
    ] = None,
    rerank: Annotated[bool, typer.Option("--rerank", help="Of 20, take the one nearest the source.")] = False,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the headlines here, one a line.")
    ] = None,
    num_beams: Annotated[int, typer.Option(metavar="B", help="How wide to search.")] = 5,
    batch_size: Annotated[int, typer.Option(metavar="N", help="How many searches to run together.")] = 32,
    device: Annotated[str | None, typer.Option(metavar="NAME", help="cpu, cuda or cuda:N.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write a headline for each pair of a file and measure quality and length error."""
    budget = _length(length)
    pairs = list(read_pairs([str(data)]))
    with open_output(output) as put:
        settings = Settings(limit_bytes, rerank, num_beams, batch_size, show_progress_bar=None)
        writer = Writer(model, device=device)
        evaluation = run(writer, pairs, length=budget, unit=unit, mode=mode, settings=settings)
        if put:
            for text in evaluation.headlines:
                put(text)
    if as_json:
        talk.put_json(evaluation.to_json())
    else:
        talk.put(_report(evaluation))


def _length(text: str) -> int | Literal["reference"]:
    if text == "reference":
        return "reference"
    try:
        return int(text)
    except ValueError as problem:
        raise RequestError(f"the length must be a whole number or `reference`, given {text!r}") from problem


def _report(evaluation: Evaluation) -> str:
    error = evaluation.length_error
    return "\n".join(
        [
            table(evaluation.rouge),
            f"length  {evaluation.length} {evaluation.unit}, mode {evaluation.mode}:"
            f" variance {error.variance:.4g}, mean error {error.mean_absolute:.4g},"
            f" exact {error.exact:.1%}, within {error.within:.1%}",
            f"speed   {evaluation.headlines_per_second:.1f} headlines a second",
        ]
    )
