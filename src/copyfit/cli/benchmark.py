"""`copyfit benchmark`: how fast a model writes on this machine."""

from typing import Annotated

import typer

from copyfit.cli import talk


def benchmark(
    model: Annotated[
        list[str] | None, typer.Option(metavar="DIR", help="The folder of a model; several write together.")
    ] = None,
    length: Annotated[
        list[int] | None, typer.Option(metavar="N", help="A length, in turn with others; repeatable.")
    ] = None,
    num_beams: Annotated[int, typer.Option(metavar="B", help="How wide to search.")] = 5,
    batch_size: Annotated[int, typer.Option(metavar="N", help="How many headlines a batch has.")] = 32,
    seconds: Annotated[float, typer.Option(metavar="S", help="How long to write alone, and in batches.")] = 5,
    device: Annotated[str | None, typer.Option(metavar="NAME", help="cpu, cuda or cuda:N.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say how fast headlines of made-up news are written here, one by one and in batches."""
    from copyfit.environment import cores
    from copyfit.evaluation.speed import LENGTHS, measure
    from copyfit.examples import articles
    from copyfit.writing.writer import Effort, Writer

    speed = measure(
        lambda: Writer(model, device=device),
        articles(batch_size),
        lengths=length or LENGTHS,
        effort=Effort(num_beams=num_beams, batch_size=batch_size),
        seconds=seconds,
    )
    if as_json:
        talk.put_json({**speed.to_json(), "cores": cores(), "num_beams": num_beams})
        return
    talk.put(f"{speed.model} on {cores()} cores, {num_beams} beams")
    for title, value in (
        ("opening", f"{speed.opening_seconds:.2f} s"),
        ("first headline", f"{speed.first_milliseconds:.0f} ms"),
        ("one headline", f"{speed.milliseconds:.0f} ms (at most {speed.slowest_milliseconds:.0f})"),
        (f"batches of {speed.batch_size}", f"{speed.headlines_per_second:.1f} headlines a second"),
    ):
        talk.put(f"{title:<16}{value}")
