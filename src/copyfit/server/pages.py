"""The page in which a person writes headlines: files that are served as they are."""

from pathlib import Path

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles

FOLDER = Path(__file__).with_name("page")
_FRESH = {"Cache-Control": "no-cache"}
"""A browser asks each time whether a file is still the same; the answer is short when it is."""


def add_pages(app: FastAPI) -> None:
    """Serve the page at the root, and its files below /page."""

    async def page(_: Request) -> Response:
        return FileResponse(FOLDER / "index.html", headers=_FRESH)

    app.add_api_route("/", page, methods=["GET", "HEAD"], include_in_schema=False)
    app.mount("/page", _Files(directory=FOLDER))


class _Files(StaticFiles):
    def file_response(self, *given: object, **named: object) -> Response:
        response = super().file_response(*given, **named)  # type: ignore[arg-type]
        response.headers.update(_FRESH)
        return response
