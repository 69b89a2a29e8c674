"""The application: what is served where."""

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.responses import JSONResponse
from fastapi.security import HTTPBearer
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from copyfit import __version__
from copyfit.server import answers
from copyfit.server.document import document_page
from copyfit.server.door import Door
from copyfit.server.headlines import Exchange
from copyfit.server.intake import JSON, read_question
from copyfit.server.pages import add_pages
from copyfit.server.problems import RefusalError
from copyfit.server.question import LONGEST, Question
from copyfit.server.service import Service
from copyfit.server.streams import EVENT_SCHEMA, EVENTS, EventStream
from copyfit.text.presets import PRESETS

_REFUSALS = {
    400: "The body is no JSON object.",
    401: "No key was given, or none that is known.",
    413: "The body or a list is too long.",
    422: "A field cannot be served; the answer names it.",
    429: "The queue is full; Retry-After says when to ask again.",
    503: "The service is stopping.",
    504: "It took longer than a request may take.",
}


def build_app(service: Service) -> ASGIApp:
    """Return the application of a service."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.batcher.start()
        yield
        await run_in_threadpool(service.batcher.stop)

    app = FastAPI(
        title="copyfit",
        summary="Headlines that fit, of an exact length, in any unit",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        exception_handlers={RefusalError: _refuse, HTTPException: _refuse_other, Exception: _own_up},
    )
    app.include_router(_asking(service))
    app.include_router(_watching(service))
    app.add_api_route("/docs", document_page(app), include_in_schema=False)
    add_pages(app)
    return Door(app, service.metrics)


def _asking(service: Service) -> APIRouter:
    """Return what needs a key where there are keys."""
    router = APIRouter(prefix="/v1", dependencies=_key_of(service))

    async def headlines(request: Request) -> Response:
        """Write headlines for one text or several, in one length or several.

        With `stream`, events are sent after each batch: `headline` for each candidate, `result` for each text
        and length, `done` at the end, or `error`.
        """
        begun = time.monotonic()
        client = request.state.client = service.client_of(request)
        service.check_ready()
        question = await read_question(request, service.settings, deadline=begun + service.settings.deadline)
        request.state.texts = len(question.all_texts)
        exchange = Exchange(service, question, client, begun=begun)
        if question.stream:
            return EventStream(exchange.events(request))
        return JSONResponse(await exchange.answer(request))

    async def models(request: Request) -> Response:
        """List the models that are served."""
        service.client_of(request)
        natural = service.natural
        listed = {"name": service.name, "unit": natural.unit, "natural_length": natural.length}
        return JSONResponse({"models": [listed]})

    async def presets(request: Request) -> Response:
        """List the budgets of platforms that can be named."""
        service.client_of(request)
        return JSONResponse(answers.preset_values([preset for preset in PRESETS if preset.limit <= LONGEST]))

    router.add_api_route(
        "/headlines",
        headlines,
        methods=["POST"],
        responses={
            200: {"model": answers.Answer, "content": {EVENTS: {"schema": EVENT_SCHEMA}}},
            **_documented(*_REFUSALS),
        },
        openapi_extra={
            "requestBody": {"required": True, "content": {JSON: {"schema": Question.model_json_schema()}}}
        },
    )
    for path, function, kind in (
        ("/models", models, answers.ModelsAnswer),
        ("/presets", presets, answers.PresetsAnswer),
    ):
        router.add_api_route(path, function, responses={200: {"model": kind}, **_documented(401)})
    return router


def _key_of(service: Service) -> list[Any]:
    """Return what makes the document say that a key is needed; the key itself is looked at elsewhere."""
    return [Depends(HTTPBearer(auto_error=False))] if service.needs_key else []


def _watching(service: Service) -> APIRouter:
    """Return what those ask who run the service."""
    router = APIRouter()

    async def health() -> Response:
        """Tell that the process lives."""
        return JSONResponse({"status": "alive"})

    async def ready() -> Response:
        """Tell whether new work is taken."""
        service.check_ready()
        return JSONResponse({"status": "ready"})

    async def metrics() -> Response:
        """Return numbers for Prometheus."""
        return Response(service.metrics.page(), media_type="text/plain; version=0.0.4")

    state: Mapping[int | str, dict[str, Any]] = {200: {"model": answers.StateAnswer}}
    router.add_api_route("/health", health, responses={**state})
    router.add_api_route("/ready", ready, responses={**state, **_documented(503)})
    router.add_api_route(
        "/metrics", metrics, responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}
    )
    return router


def _documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    model: type[BaseModel] = answers.ErrorAnswer
    return {status: {"model": model, "description": _REFUSALS[status]} for status in statuses}


async def _refuse(_: Request, problem: Exception) -> Response:
    assert isinstance(problem, RefusalError)
    return problem.response()


async def _refuse_other(_: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)
    headers = dict(problem.headers or {})
    return RefusalError(problem.status_code, _said(problem.status_code), headers=headers).response()


async def _own_up(_: Request, __: Exception) -> Response:
    return RefusalError(500, "a bug; the operator of the service finds its cause in the log").response()


def _said(status: int) -> str:
    return {404: "nothing is here; see /docs", 405: "this method is not served here; see /docs"}.get(
        status, "the request cannot be served; see /docs"
    )
