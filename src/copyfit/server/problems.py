"""Every refusal of the service, in one form that never repeats what was sent."""

from http import HTTPStatus
from typing import Any

from starlette.responses import JSONResponse

LONGEST_MESSAGE = 1000
_TYPES = {
    HTTPStatus.BAD_REQUEST: "malformed",
    HTTPStatus.UNAUTHORIZED: "unauthorized",
    HTTPStatus.NOT_FOUND: "not_found",
    HTTPStatus.METHOD_NOT_ALLOWED: "method_not_allowed",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "too_large",
    HTTPStatus.UNPROCESSABLE_ENTITY: "invalid_field",
    HTTPStatus.TOO_MANY_REQUESTS: "overloaded",
    HTTPStatus.SERVICE_UNAVAILABLE: "not_ready",
    HTTPStatus.GATEWAY_TIMEOUT: "deadline",
}


class RefusalError(Exception):
    """End a request with a refusal."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        field: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message[:LONGEST_MESSAGE]
        self.field = field
        self.headers = headers

    def body(self) -> dict[str, Any]:
        """Return the body of the answer."""
        kind = _TYPES.get(HTTPStatus(self.status), "error")
        return {"error": {"message": self.message, "type": kind, "code": self.status, "field": self.field}}

    def response(self) -> JSONResponse:
        """Return the answer."""
        return JSONResponse(self.body(), self.status, self.headers)


def malformed(message: str) -> RefusalError:
    """Refuse a body that is not what it must be as a whole."""
    return RefusalError(HTTPStatus.BAD_REQUEST, message)


def invalid(field: str | None, message: str) -> RefusalError:
    """Refuse a field."""
    return RefusalError(HTTPStatus.UNPROCESSABLE_ENTITY, message, field=field)


def too_large(message: str) -> RefusalError:
    """Refuse a body for its size."""
    return RefusalError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)


def overloaded(seconds: int) -> RefusalError:
    """Refuse what cannot wait in the queue, and say when to come back."""
    return RefusalError(
        HTTPStatus.TOO_MANY_REQUESTS,
        f"the queue is full; ask again in {seconds} s",
        headers={"Retry-After": str(seconds)},
    )


def not_ready() -> RefusalError:
    """Refuse new work of a service that is about to stop."""
    return RefusalError(
        HTTPStatus.SERVICE_UNAVAILABLE, "the service is stopping; ask again", headers={"Retry-After": "1"}
    )


def late(seconds: float) -> RefusalError:
    """Give up a request that took too long."""
    return RefusalError(
        HTTPStatus.GATEWAY_TIMEOUT, f"a request may take {seconds:g} s, this one takes longer; ask for less"
    )


def unauthorized() -> RefusalError:
    """Refuse a request without a key that is known."""
    return RefusalError(
        HTTPStatus.UNAUTHORIZED,
        "a key must be given as Authorization: Bearer KEY, and be one that this service knows",
        headers={"WWW-Authenticate": "Bearer"},
    )
