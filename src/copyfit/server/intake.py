"""Reading the body of a request: never more of it than is allowed, and never for longer."""

import asyncio
import time

from starlette.requests import Request

from copyfit.server.problems import late, malformed, too_large
from copyfit.server.question import Question, parse
from copyfit.server.settings import Settings

JSON = "application/json"
_READ_ON = 8
"""So many times the greatest body is read when it is refused, so that its sender gets to hear why."""


async def read_question(request: Request, settings: Settings, *, deadline: float) -> Question:
    """Return the question of a request, or refuse it."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON:
        # Pages of other sites may send any other type, or none, from a reader's browser without asking first.
        raise malformed(f"the header Content-Type must be {JSON}")
    try:
        async with asyncio.timeout(deadline - time.monotonic()):
            body = await _read(request, settings.body)
    except TimeoutError:
        raise late(settings.deadline) from None
    return parse(body)


async def _read(request: Request, most: int) -> bytes:
    body = bytearray()
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size <= most:
            body += chunk
        elif size > _READ_ON * most:
            break
    if size > most:
        raise too_large(f"a request must have at most {most} bytes; send fewer or shorter texts")
    return bytes(body)
