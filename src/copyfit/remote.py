"""Headlines from a service elsewhere, by the standard library alone."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request as HttpRequest
from urllib.request import urlopen

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
        model = _model(self._checked(self._send("/v1/models", None)).content, url)
        self.name = str(model["name"])
        self.natural = Natural(int(model["natural_length"]), str(model["unit"]))

    def fulfil(self, orders: Sequence[Order], effort: Effort) -> list[Result]:
        """Serve many orders together, in their order; one that cannot be served fails alone."""
        effort.check()
        if effort.rerank is not None or effort.no_repeat_ngram_size:
            raise RequestError(
                "a server neither re-ranks nor forbids to repeat; leave that out, or write with --model"
            )
        results: list[Result | None] = [None] * len(orders)
        for numbers in _portions(orders):
            portion = [orders[number] for number in numbers]
            for number, result in zip(numbers, self._write(portion, effort), strict=True):
                results[number] = result
        return [result for result in results if result is not None]

    def _write(self, orders: Sequence[Order], effort: Effort) -> list[Result]:
        wish = orders[0].wish
        try:
            request = wish.resolve(self.natural)
        except RequestError as problem:
            return [Result(None, error=str(problem))] * len(orders)
        body = {"texts": [normalise(order.text) for order in orders], **_fields(wish, effort)}
        answer = self._send("/v1/headlines", json.dumps(body).encode())
        if answer.status in _OF_THE_ORDER:
            return [Result(request, error=answer.said())] * len(orders)
        return [_result(request, values) for values in self._checked(answer).content["results"]]

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
            with urlopen(request, timeout=TIMEOUT) as response:
                return _Answer(response.status, _object(response.read()), 0)
        except HTTPError as refusal:
            with refusal:
                wait = refusal.headers.get("Retry-After", "")
                seconds = float(wait) if wait.isdecimal() else 1.0
                return _Answer(refusal.code, _object(refusal.read()), seconds)
        except (URLError, HTTPException, OSError, ValueError) as problem:
            reason = getattr(problem, "reason", problem)
            raise RequestError(f"cannot ask the server at {self._url}: {reason}") from problem

    def _checked(self, answer: _Answer) -> _Answer:
        if answer.status != 200:
            raise RequestError(f"the server at {self._url} refuses ({answer.status}): {answer.said()}")
        return answer


def _portions(orders: Sequence[Order]) -> Iterator[list[int]]:
    """Yield the numbers of orders that one request can bring: of one wish, and not too much text."""
    by_wish: dict[Wish, list[int]] = {}
    for number, order in enumerate(orders):
        wish = replace(order.wish, require=tuple(order.wish.require))
        by_wish.setdefault(wish, []).append(number)
    for numbers in by_wish.values():
        portion: list[int] = []
        size = 0
        for number in numbers:
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


def _result(request: Request, values: Mapping[str, Any]) -> Result:
    headlines = tuple(
        Headline(
            text=line["text"],
            length=line["length"],
            unit=request.unit,
            fits=line["fits"],
            whole_words=line["whole_words"],
            score=line["score"],
            truncated=values["truncated"],
            aim=line["aim"],
        )
        for line in values["headlines"]
    )
    return Result(request, headlines, values["truncated"], values["error"])


def _model(content: Mapping[str, Any], url: str) -> Mapping[str, Any]:
    models = content.get("models")
    if not models:
        raise RequestError(f"{url} must be a server that copyfit serve runs, it names no models")
    model: Mapping[str, Any] = models[0]
    return model


def _object(content: bytes) -> Mapping[str, Any]:
    try:
        values = json.loads(content)
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}
