"""`copyfit corpus`: a corpus as its owners ship it, turned into files to train on and to evaluate on."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from copyfit.cli import talk
from copyfit.errors import RequestError

if TYPE_CHECKING:
    from copyfit.data.corpora.folder import Corpus

CORPORA = ("gigaword", "duc", "jnc", "jamul")
SAMPLE, SEED = 3000, 1
"""How many pairs the paper drew for each length, and what the draw follows from."""


class Choices(NamedTuple):
    """Hold what there is to choose, each for one corpus only; None where nothing was chosen."""

    sample: int | None
    seed: int | None
    sentences: str | None

    def check(self, name: str) -> None:
        """Refuse a choice that another corpus has."""
        for choice, value in self._asdict().items():
            owner = "jamul" if choice == "sentences" else "gigaword"
            if value is not None and name != owner:
                raise RequestError(f"--{choice} is for {owner}: leave it out for {name}")


def corpus(
    name: Annotated[str, typer.Argument(metavar="CORPUS", help="gigaword, duc, jnc or jamul.")],
    inputs: Annotated[list[Path], typer.Argument(metavar="INPUT", help="Its files or folders.")],
    output: Annotated[Path, typer.Option(metavar="DIR", help="A new folder for the files and a report.")],
    sample: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Pairs to draw for each length of Gigaword's test (3000)."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Another seed, another draw (1).")
    ] = None,
    sentences: Annotated[
        str | None,
        typer.Option(metavar="HOW", help="How JAMUL's sentences are told apart: rule or released (rule)."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as one JSON object.")] = False,
) -> None:
    """Turn a corpus as its owners ship it into files to train on and to evaluate on."""
    from copyfit.data.accounts import table
    from copyfit.data.corpora.folder import convert

    report = convert(_corpus(name, inputs, Choices(sample, seed, sentences)), output)
    talk.show(table(report.accounts))
    talk.show(f"{output / file}: {number:,}" for file, number in report.files.items())
    if as_json:
        talk.put_json(report.to_json())


def _corpus(name: str, inputs: list[Path], choices: Choices) -> "Corpus":
    from copyfit.data.corpora import duc, gigaword, jamul, jnc
    from copyfit.data.corpora.folder import Corpus, only

    if name not in CORPORA:
        raise RequestError(f"the corpus must be one of {', '.join(CORPORA)}, given {name!r}")
    choices.check(name)
    facts: dict[str, object] = {"inputs": list(map(str, inputs))}
    match name:
        case "gigaword":
            source = only(inputs, "folder of Gigaword's files")
            draw = gigaword.Draw(choices.sample or SAMPLE, SEED if choices.seed is None else choices.seed)
            return Corpus(name, partial(gigaword.write_gigaword, source, draw), facts | draw._asdict())
        case "jamul":
            source = only(inputs, "CSV file of JAMUL")
            sentences = choices.sentences or jamul.RULE
            write = partial(jamul.write_jamul, source, sentences)
            return Corpus(name, write, facts | {"sentences": sentences})
    return Corpus(name, partial(duc.write_duc if name == "duc" else jnc.write_jnc, inputs), facts)
