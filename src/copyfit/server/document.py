"""`/docs`: the document of the service as a page that needs nothing from anywhere else."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from html import escape
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import HTMLResponse, Response

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>copyfit: the service</title>
<link rel="stylesheet" href="page/docs.css">
</head>
<body>
<main>
<h1>{title}</h1>
<p>{summary}. Version {version}. For programs: <a href="openapi.json">openapi.json</a>; for people:
<a href="./">the page</a>.</p>
{operations}
</main>
</body>
</html>
"""


def document_page(app: FastAPI) -> Callable[[Request], Awaitable[Response]]:
    """Return the function that answers with the page."""

    async def page(_: Request) -> Response:
        document = app.openapi()
        facts = {name: escape(str(document["info"][name])) for name in ("title", "summary", "version")}
        return HTMLResponse(_PAGE.format(operations="\n".join(_operations(document)), **facts))

    return page


def _operations(document: Mapping[str, Any]) -> Iterator[str]:
    schemas = document.get("components", {}).get("schemas", {})
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"<section><h2><code>{method.upper()} {escape(path)}</code></h2>"
            yield "".join(f"<p>{_text(part)}</p>" for part in operation.get("description", "").split("\n\n"))
            body = operation.get("requestBody")
            if body:
                yield "<h3>Body</h3>" + _fields(body["content"]["application/json"]["schema"])
            yield "<h3>Answers</h3><dl>"
            for status, response in operation["responses"].items():
                yield f"<dt>{status}</dt><dd>{_text(response['description'])}{_shape(response, schemas)}</dd>"
            yield "</dl></section>"


def _fields(schema: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><td><code>{escape(name)}</code></td><td>{_kind(field)}</td>"
        f"<td>{_text(field.get('description', ''))}</td></tr>"
        for name, field in schema["properties"].items()
    )
    return f"<table><tr><th>field</th><th>what it may be</th><th></th></tr>{rows}</table>"


def _shape(response: Mapping[str, Any], schemas: Mapping[str, Any]) -> str:
    content = response.get("content", {}).get("application/json", {}).get("schema", {})
    name = content.get("$ref", "").rpartition("/")[2]
    fields = schemas.get(name, {}).get("properties", {})
    return f" <code>{{{escape(', '.join(fields))}}}</code>" if fields else ""


def _kind(field: Mapping[str, Any]) -> str:
    options = [_kind(option) for option in field.get("anyOf", [])]
    if options:
        return " or ".join(options)
    if "enum" in field:
        return ", ".join(f"<code>{escape(str(value))}</code>" for value in field["enum"])
    if field["type"] == "array":
        return f"{field.get('minItems', 0)} to {field['maxItems']} of: {_kind(field['items'])}"
    return escape({"string": "text", "integer": "whole number"}.get(field["type"], field["type"])) + _bounds(
        field
    )


def _bounds(field: Mapping[str, Any]) -> str:
    if "maximum" in field:
        return f" from {field['minimum']:g} to {field['maximum']:g}"
    return f" of at most {field['maxLength']} characters" if "maxLength" in field else ""


def _text(text: str) -> str:
    parts = escape(" ".join(text.split())).split("`")
    return "".join(f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(parts))
