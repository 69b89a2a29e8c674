"""A response that is sent piece by piece."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

EVENTS = "text/event-stream"
EVENT_SCHEMA = {
    "type": "object",
    "properties": {"event": {"enum": ["headline", "result", "done", "error"]}, "data": {"type": "string"}},
    "required": ["event", "data"],
}


class EventStream(Response):
    """Send events as they come; whatever goes wrong before the first is still an answer of its own."""

    def __init__(self, events: AsyncGenerator[bytes]) -> None:
        super().__init__(media_type=EVENTS, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Send the events, and let go of what makes them however it ends."""
        async with aclosing(self._events) as events:
            event = await anext(events)
            await send(
                {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
            )
            await _send(send, event)
            async for event in events:
                await _send(send, event)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _send(send: Send, event: bytes) -> None:
    await send({"type": "http.response.body", "body": event, "more_body": True})
