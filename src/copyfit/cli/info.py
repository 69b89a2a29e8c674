"""`copyfit info`: what a model folder is."""

from pathlib import Path
from typing import Annotated

import typer

from copyfit.cli import talk


def info(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the model.")],
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON object.")] = False,
) -> None:
    """Describe a model folder, after checking that it is whole."""
    from copyfit.checkpoint import load_graphs, load_weights, open_checkpoint, read_config

    config = read_config(directory)
    open_checkpoint(directory)
    (load_graphs if config.is_exported else load_weights)(directory)
    if as_json:
        talk.put_json({"path": str(directory), **config.model_dump(mode="json")})
        return
    talk.put(f"{config.name}: {config.parameters:,} parameters, written by copyfit {config.copyfit}")
    model = config.model.model_dump(mode="json")
    for title, value in (
        ("counts", config.unit),
        ("natural length", f"{config.natural_length} {config.unit}"),
        ("longest source", f"{config.longest_source} tokens"),
        ("vocabularies", f"{config.source_size} source tokens, {config.target_size} target tokens"),
        ("model", ", ".join(f"{name} {value}" for name, value in model.items())),
        *config.facts.items(),
        ("files", ", ".join(f"{name} {record.bytes:,} bytes" for name, record in config.files.items())),
    ):
        talk.put(f"{title:<16}{value}")
