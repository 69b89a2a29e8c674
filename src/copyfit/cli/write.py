"""`copyfit write`: headlines for a text, for lines or for the rows of a file."""

from pathlib import Path
from typing import Annotated

import typer

Text = Annotated[
    str | None,
    typer.Argument(metavar="TEXT", help="The article. Without it --file or standard input is read."),
]
File = Annotated[
    Path | None, typer.Option(metavar="PATH", help="Read the article from a file; - is standard input.")
]
Lines = Annotated[bool, typer.Option("--lines", help="Take every line for a text of its own.")]
Length = Annotated[
    list[int] | None, typer.Option(metavar="N", help="The budget; may be given several times.")
]
Minimum = Annotated[
    int | None,
    typer.Option(
        "--min",
        metavar="N",
        help="The least length; alone, up to four times as much is written and the JSON budget is null.",
    ),
]
Maximum = Annotated[int | None, typer.Option("--max", metavar="N", help="The greatest length.")]
PresetName = Annotated[
    str | None, typer.Option("--for", metavar="PRESET", help="The budget of a platform; see copyfit presets.")
]
Unit = Annotated[
    str | None, typer.Option(metavar="UNIT", help="What to count: char, cell, byte, word, ... (char).")
]
Mode = Annotated[str | None, typer.Option(metavar="MODE", help="exact, max, range or free.")]
Candidates = Annotated[int, typer.Option(metavar="K", help="How many headlines to write for each length.")]
NumBeams = Annotated[int, typer.Option(metavar="B", help="How wide to search.")]
NoRepeat = Annotated[
    int,
    typer.Option(metavar="N", help="Write no N tokens in a row twice, as far as the fit allows; 0 is off."),
]
Require = Annotated[
    list[str] | None, typer.Option(metavar="WORD", help="A word that must occur; may be given several times.")
]
Start = Annotated[str | None, typer.Option(metavar="TEXT", help="How the headline must begin.")]
Rerank = Annotated[
    bool, typer.Option("--rerank", help="Of 20, prefer those with the most words of the text.")
]
RerankOnce = Annotated[bool, typer.Option("--rerank-once", help="The same, but count each word once.")]
Model = Annotated[
    list[str] | None, typer.Option(metavar="DIR", help="The folder of the model; several write together.")
]
Device = Annotated[str | None, typer.Option(metavar="NAME", help="cpu, cuda or cuda:N.")]
Json = Annotated[bool, typer.Option("--json", help="Write a JSON object for each text and length.")]
Input = Annotated[
    Path | None,
    typer.Option(
        "--input",
        metavar="PATH",
        help="Rows to write for: .jsonl, .csv, .tsv, .txt (also .gz, .xz, .zst) or .parquet.",
    ),
]
Output = Annotated[
    Path | None, typer.Option(metavar="PATH", help="Where to write the rows; - is standard output.")
]
TextColumn = Annotated[str, typer.Option(metavar="NAME", help="The column of the article.")]
LengthColumn = Annotated[str | None, typer.Option(metavar="NAME", help="The column of the budget (length).")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on after the last row of the output.")]
ShowCount = Annotated[bool, typer.Option("--show-count", help="Write the true count behind each headline.")]
BatchSize = Annotated[int, typer.Option(metavar="N", help="How many searches to run together.")]
Server = Annotated[
    str | None, typer.Option(metavar="URL", help="Have it written by copyfit serve, by its model.")
]
KeyFile = Annotated[Path | None, typer.Option(metavar="PATH", help="A file with the API key of the server.")]


def write(
    text: Text = None,
    file: File = None,
    lines: Lines = False,
    length: Length = None,
    minimum: Minimum = None,
    maximum: Maximum = None,
    preset: PresetName = None,
    unit: Unit = None,
    mode: Mode = None,
    candidates: Candidates = 1,
    num_beams: NumBeams = 5,
    no_repeat_ngram_size: NoRepeat = 0,
    rerank: Rerank = False,
    rerank_once: RerankOnce = False,
    require: Require = None,
    start: Start = None,
    model: Model = None,
    device: Device = None,
    as_json: Json = False,
    rows: Input = None,
    output: Output = None,
    text_column: TextColumn = "text",
    length_column: LengthColumn = None,
    resume: Resume = False,
    show_count: ShowCount = False,
    batch_size: BatchSize = 32,
    server: Server = None,
    key_file: KeyFile = None,
) -> None:
    """Write headlines that fit."""
    from copyfit.cli.headlines import Flags, write_headlines

    code = write_headlines(
        Flags(
            text=text,
            file=file,
            lines=lines,
            lengths=tuple(length or ()),
            minimum=minimum,
            maximum=maximum,
            preset=preset,
            unit=unit,
            mode=mode,
            candidates=candidates,
            num_beams=num_beams,
            no_repeat_ngram_size=no_repeat_ngram_size,
            rerank="once" if rerank_once else "occurrences" if rerank else None,
            require=tuple(require or ()),
            start=start,
            models=tuple(model or ()),
            device=device,
            as_json=as_json,
            rows=rows,
            output=output,
            text_column=text_column,
            length_column=length_column,
            resume=resume,
            show_count=show_count,
            batch_size=batch_size,
            server=server,
            key_file=key_file,
        )
    )
    raise typer.Exit(code)
