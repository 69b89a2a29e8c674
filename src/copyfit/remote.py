"""Headlines from a service elsewhere, by the standard library alone."""

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.client import HTTPException, HTTPResponse
from types import NoneType
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, build_opener
from urllib.request import Request as HttpRequest

from copyfit.errors import RequestError
from copyfit.text.normal import normalise
from copyfit.writing.headline import Headline, Result
from copyfit.writing.requests import Natural, Request, Wish
from copyfit.writing.writer import Effort, Order

MOST_TEXTS = 32
MOST_BYTES = 900_000
"""How much of texts goes into one request."""
PATIENCE = 120.0
"""For how many seconds in all a service that is busy is asked again."""
TIMEOUT = 90.0
_BUSY = {429, 503}
_OF_THE_ORDER = {400, 413, 422}
_LATE = 504
_REDIRECTS = range(300, 400)


class _StaysHere(HTTPRedirectHandler):
    """Follow no redirect: the key would go to whichever host it names."""

    def redirect_request(self, *_: object) -> None:
        """Leave the redirect to be told as the refusal that it is."""


class _ForeignError(Exception):
    """Report an answer that is not of the service's form."""


@dataclass(frozen=True)
class _Answer:
    status: int
    content: Mapping[str, Any]
    retry_after: float

    def said(self) -> str:
        """Return what the service said of why it refused."""
        error = self.content.get("error")
        return str(error.get("message")) if isinstance(error, dict) else "nothing that copyfit says"


class RemoteWriter:
    """Write headlines by a service that `copyfit serve` runs."""

    def __init__(self, url: str, *, key: str | None = None) -> None:
        if not url.startswith(("http://", "https://")):
            raise RequestError(f"a server is named as http://HOST:PORT, given {url!r}")
        self._url = url.rstrip("/")
        self._key = key
        self._opener = build_opener(_StaysHere)
        answer = self._checked(self._send("/v1/models", None))
        with self._understood():
            model, *_ = _field(answer.content, "models", list) or [None]
            self.name: str = _field(model, "name", str)
            self.natural = Natural(_field(model, "natural_length", int), _field(model, "unit", str))

    def fulfil(self, orders: Sequence[Order], effort: Effort) -> list[Result]:
        """Serve many orders together, in their order; one that cannot be served fails alone."""
        effort.check()
        if effort.rerank is not None or effort.no_repeat_ngram_size:
            raise RequestError(
                "a server neither re-ranks nor forbids to repeat; leave that out, or write with --model"
            )
        drafts = [self._draft(order) for order in orders]
        sound = [number for number, draft in enumerate(drafts) if isinstance(draft, Request)]
        results = {number: draft for number, draft in enumerate(drafts) if isinstance(draft, Result)}
        for numbers in _portions(orders, sound):
            portion = [orders[number] for number in numbers]
            results |= zip(numbers, self._write(portion, effort), strict=True)
        return [results[number] for number in range(len(orders))]

    def _draft(self, order: Order) -> Request | Result:
        request: Request | None = None
        try:
            request = order.wish.resolve(self.natural)
            if not isinstance(order.text, str):
                raise RequestError(f"a text must be a string, given {type(order.text).__name__}")
        except RequestError as problem:
            return Result(request, error=str(problem))
        return request

    def _write(self, orders: Sequence[Order], effort: Effort) -> list[Result]:
        """Write headlines for texts of one wish, by halves where they take too long together."""
        wish = orders[0].wish
        body = {"texts": [normalise(order.text) for order in orders], **_fields(wish, effort)}
        answer = self._send("/v1/headlines", json.dumps(body).encode())
        if answer.status == _LATE and len(orders) > 1:
            half = len(orders) // 2
            return [*self._write(orders[:half], effort), *self._write(orders[half:], effort)]
        request = wish.resolve(self.natural)
        if answer.status == _LATE:
            return [Result(request, error=self._refusal(answer))]
        if answer.status in _OF_THE_ORDER:
            return [Result(request, error=answer.said())] * len(orders)
        with self._understood():
            return _results(request, self._checked(answer).content, len(orders))

    def _send(self, path: str, body: bytes | None) -> _Answer:
        """Send a request, again and again while the service is busy."""
        last = time.monotonic() + PATIENCE
        while True:
            answer = self._send_once(path, body)
            if answer.status not in _BUSY or time.monotonic() + answer.retry_after > last:
                return answer
            time.sleep(answer.retry_after)

    def _send_once(self, path: str, body: bytes | None) -> _Answer:
        headers = {"Content-Type": "application/json"}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        try:
            request = HttpRequest(f"{self._url}{path}", data=body, headers=headers)
            with self._open(request) as response:
                return self._answer(response)
        except (URLError, HTTPException, OSError, ValueError) as problem:
            reason = getattr(problem, "reason", problem)
            raise RequestError(f"cannot ask the server at {self._url}: {reason}") from problem

    def _open(self, request: HttpRequest) -> HTTPResponse | HTTPError:
        try:
            response: HTTPResponse = self._opener.open(request, timeout=TIMEOUT)
        except HTTPError as refusal:
            return refusal
        return response

    def _answer(self, response: HTTPResponse | HTTPError) -> _Answer:
        status = response.code if isinstance(response, HTTPError) else response.status
        if status in _REDIRECTS:
            place = response.headers.get("Location", "nowhere")
            raise RequestError(
                f"the server at {self._url} must answer itself, it redirects to {place!r};"
                " name the server that answers"
            )
        wait = response.headers.get("Retry-After", "")
        seconds = float(wait) if wait.isdecimal() else 1.0
        return _Answer(status, _object(response.read()), seconds)

    def _checked(self, answer: _Answer) -> _Answer:
        if answer.status != 200:
            raise RequestError(self._refusal(answer))
        return answer

    def _refusal(self, answer: _Answer) -> str:
        return f"the server at {self._url} refuses ({answer.status}): {answer.said()}"

    @contextmanager
    def _understood(self) -> Iterator[None]:
        """Say whose fault it is when an answer cannot be read."""
        try:
            yield
        except _ForeignError as problem:
            raise RequestError(
                f"{self._url} must be a server that copyfit serve runs, its answer has no {problem};"
                " look for a proxy or another program that answers there"
            ) from None


def _portions(orders: Sequence[Order], numbers: Iterable[int]) -> Iterator[list[int]]:
    """Yield the numbers of orders that one request can bring: of one wish, and not too much text."""
    by_wish: dict[Wish, list[int]] = {}
    for number in numbers:
        wish = orders[number].wish
        by_wish.setdefault(replace(wish, require=tuple(wish.require)), []).append(number)
    for alike in by_wish.values():
        portion: list[int] = []
        size = 0
        for number in alike:
            # As JSON writes them: six bytes for a character outside ASCII.
            length = len(json.dumps(orders[number].text))
            if portion and (len(portion) == MOST_TEXTS or size + length > MOST_BYTES):
                yield portion
                portion, size = [], 0
            portion.append(number)
            size += length
        yield portion


def _fields(wish: Wish, effort: Effort) -> dict[str, Any]:
    given = {
        "length": wish.length,
        "min": wish.minimum,
        "unit": wish.unit if wish.preset is None and not wish.is_natural else None,
        "mode": wish.mode,
        "preset": wish.preset,
        "require": list(wish.require),
        "start": wish.start,
        "candidates": effort.count,
        "num_beams": effort.num_beams,
    }
    return {name: value for name, value in given.items() if value is not None}


def _results(request: Request, content: object, count: int) -> list[Result]:
    results = _field(content, "results", list)
    if len(results) != count:
        raise _ForeignError(f"result for each of {count} texts")
    return [_result(request, values) for values in results]


def _result(request: Request, values: object) -> Result:
    truncated = _field(values, "truncated", bool)
    headlines = tuple(
        Headline(
            text=_field(line, "text", str),
            length=_field(line, "length", int),
            unit=request.unit,
            fits=_field(line, "fits", bool),
            whole_words=_field(line, "whole_words", bool),
            score=_field(line, "score", float, int),
            truncated=truncated,
            aim=_field(line, "aim", int),
        )
        for line in _field(values, "headlines", list)
    )
    return Result(request, headlines, truncated, _field(values, "error", str, NoneType))


def _field(values: object, name: str, *kinds: type) -> Any:
    """Return a field of an answer, which must be there and of one of these kinds."""
    if not isinstance(values, dict) or name not in values or not isinstance(values[name], kinds):
        raise _ForeignError(name)
    return values[name]


def _object(content: bytes) -> Mapping[str, Any]:
    try:
        values = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}
