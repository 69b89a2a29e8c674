"""From a question to its answer: all at once, or as a stream of events."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from starlette.requests import ClientDisconnect, Request

from copyfit.errors import RequestError
from copyfit.server.answers import NOT_MET, refused, result_values
from copyfit.server.batcher import FAILED
from copyfit.server.problems import RefusalError, late
from copyfit.server.question import Question
from copyfit.server.service import Service
from copyfit.server.tickets import Item, Ticket
from copyfit.writing.headline import Result
from copyfit.writing.requests import Wish
from copyfit.writing.writer import Effort

Pair = tuple[Item, Result]


class Exchange:
    """Answer one question; each of its texts and lengths succeeds or fails by itself."""

    def __init__(self, service: Service, question: Question, client: str, *, begun: float) -> None:
        self._service = service
        self._client = client
        self._begun = begun
        self._effort = Effort(
            num_beams=question.num_beams,
            count=question.candidates,
            batch_size=service.settings.batch_size,
        )
        self._texts = len(question.all_texts)
        self._bad: list[Pair] = []
        self._items: list[Item] = []
        for item in _items(question):
            problem = refused(item.text)
            if problem is None:
                self._items.append(item)
            else:
                self._bad.append((item, self._failed(item.wish, problem)))

    async def answer(self, request: Request) -> dict[str, Any]:
        """Return the answer when all of it is there, in the order of texts, then of lengths."""
        with self._under_way(request) as ticket:
            pairs = [pair async for pair in self._results(ticket)]
        pairs.sort(key=lambda pair: pair[0].place)
        return {
            "model": self._service.name,
            "results": [self._values(pair) for pair in pairs],
            "usage": self._usage(pairs),
        }

    async def events(self, request: Request) -> AsyncGenerator[bytes]:
        """Yield an event for each headline, for each text and length, and for the end, batch by batch."""
        pairs: list[Pair] = []
        with self._under_way(request) as ticket:
            # Sent at once, so that a refusal can still be an answer of its own.
            yield b": accepted\n\n"
            try:
                async for pair in self._results(ticket):
                    pairs.append(pair)
                    for event in _events_of(self._values(pair)):
                        yield event
                yield _event("done", {"model": self._service.name, "usage": self._usage(pairs)})
            except RefusalError as problem:
                yield _event("error", problem.body())

    @contextmanager
    def _under_way(self, request: Request) -> Iterator[Ticket]:
        """Put into the queue what can be served; end it when time is up and when the client has gone."""
        ticket = Ticket(self._items)
        loop = asyncio.get_running_loop()
        seconds = self._service.settings.deadline
        with self._service.working():
            if self._items:
                self._service.batcher.submit(self._client, ticket.works(self._effort))
            timer = loop.call_later(self._begun + seconds - time.monotonic(), ticket.end, late(seconds))
            watcher = loop.create_task(_watch(request, ticket))
            try:
                yield ticket
            finally:
                timer.cancel()
                watcher.cancel()
                ticket.end(ClientDisconnect())

    async def _results(self, ticket: Ticket) -> AsyncIterator[Pair]:
        for pair in self._bad:
            self._service.metrics.wrote(pair[1])
            yield pair
        async for item, result in ticket.results():
            told = result
            if result.error not in {None, FAILED}:
                # The writer's own message repeats what was asked.
                told = self._failed(item.wish, NOT_MET)
            self._service.metrics.wrote(told)
            yield item, told

    def _values(self, pair: Pair) -> dict[str, Any]:
        item, result = pair
        return result_values(item, result, model=self._service.name)

    def _failed(self, wish: Wish, error: str) -> Result:
        with suppress(RequestError):
            return Result(wish.resolve(self._service.natural), error=error)
        return Result(None, error=error)

    def _usage(self, pairs: Sequence[Pair]) -> dict[str, int]:
        return {
            "texts": self._texts,
            "headlines": sum(len(result.headlines) for _, result in pairs),
            "milliseconds": round(1000 * (time.monotonic() - self._begun)),
        }


def _items(question: Question) -> Iterator[Item]:
    wishes = question.wishes
    for index, text in enumerate(question.all_texts):
        for number, wish in enumerate(wishes):
            yield Item(index * len(wishes) + number, index, text, wish)


async def _watch(request: Request, ticket: Ticket) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    ticket.end(ClientDisconnect())


def _events_of(values: dict[str, Any]) -> Iterator[bytes]:
    place = {"index": values["index"], "budget": values["budget"]}
    for rank, headline in enumerate(values["headlines"]):
        yield _event("headline", {**place, "rank": rank, "headline": headline})
    yield _event("result", values)


def _event(name: str, values: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(values, ensure_ascii=False)}\n\n".encode()
