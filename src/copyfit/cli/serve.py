"""`copyfit serve`: headlines over HTTP, and a page to write them in."""

from pathlib import Path
from typing import Annotated

import typer

Model = Annotated[
    list[str] | None, typer.Option(metavar="DIR", help="The folder of the model; several write together.")
]
Device = Annotated[str | None, typer.Option(metavar="NAME", help="cpu, cuda or cuda:N.")]
Host = Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen; 0.0.0.0 is everywhere.")]
Port = Annotated[int, typer.Option(metavar="N", help="The port; 0 is any that is free.")]
Workers = Annotated[int, typer.Option(metavar="N", help="How many processes share the port and the cores.")]
Keys = Annotated[
    Path | None, typer.Option("--keys", metavar="PATH", help="A file of API keys, one a line. None: no key.")
]
Proxy = Annotated[
    str,
    typer.Option(metavar="ADDRESSES", help="Whose X-Forwarded-For is believed, by commas; * is everyone's."),
]
BatchSize = Annotated[int, typer.Option(metavar="N", help="How many searches to run together.")]
Queue = Annotated[int, typer.Option(metavar="N", help="How many headlines may wait; more are refused.")]
Deadline = Annotated[float, typer.Option(metavar="SECONDS", help="How long a request may take.")]
Drain = Annotated[float, typer.Option(metavar="SECONDS", help="How long running work has when stopped.")]
MaxBody = Annotated[int, typer.Option(metavar="BYTES", help="How large a request may be.")]


def serve(
    model: Model = None,
    device: Device = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    workers: Workers = 1,
    keys: Keys = None,
    proxy: Proxy = "127.0.0.1",
    batch_size: BatchSize = 32,
    queue: Queue = 512,
    deadline: Deadline = 30.0,
    drain: Drain = 25.0,
    max_body: MaxBody = 1 << 20,
) -> None:
    """Serve headlines over HTTP, and a page to write them in."""
    from copyfit.environment import needing_extra
    from copyfit.errors import ConfigError

    with needing_extra("serve", "serving", ConfigError):
        from copyfit.server import workers as processes
    from copyfit.server.settings import Place, Settings, read_keys

    processes.run(
        Place(
            models=tuple(model or ()),
            device=device,
            host=host,
            port=port,
            workers=workers,
            proxy=proxy,
        ),
        Settings(
            keys=read_keys(keys) if keys else (),
            batch_size=batch_size,
            queue=queue,
            deadline=deadline,
            drain=drain,
            body=max_body,
        ),
    )
