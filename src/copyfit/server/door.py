"""What every request passes on its way in and out: log, numbers, headers."""

import logging
import time
from http import HTTPMethod

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from copyfit.server.metrics import Metrics

GONE = 499
"""What is logged where the client did not wait for an answer."""
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_HEADERS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
_logger = logging.getLogger(__name__)


class Door:
    """Let requests through to an application."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, whatever happens within."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.monotonic()
        status = 0

        async def send_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        scope.setdefault("state", {})
        try:
            await self._app(scope, receive, send_on)
        except ClientDisconnect:
            status = GONE
        except Exception:
            # Answered already, as far as it could be.
            _logger.exception("request failed", extra={"route": _route(scope)})
        self._tell(scope, status, time.monotonic() - begun)

    def _tell(self, scope: Scope, status: int, seconds: float) -> None:
        route = _route(scope)
        self._metrics.answered(route, status, seconds)
        told = {name: scope["state"].get(name) for name in ("client", "texts")}
        fields = {
            "method": scope["method"] if scope["method"] in HTTPMethod.__members__ else "other",
            "route": route,
            "status": status,
            "milliseconds": round(1000 * seconds),
            **{name: value for name, value in told.items() if value is not None},
        }
        _logger.info("request", extra=fields)


def _route(scope: Scope) -> str:
    """Return the pattern that the path matched, never the path: that may hold anything."""
    return getattr(scope.get("route"), "path", "other")
