"""The figures of the paper's tables."""

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from copyfit.errors import ConfigError

_FILE = Path(__file__).with_suffix(".json")


class PublishedRow(NamedTuple):
    """Be a row of a published table."""

    section: str
    row: str
    columns: dict[str, dict[str, float]]
    """By column, then by measure."""


@cache
def _content() -> Any:
    return json.loads(_FILE.read_text(encoding="utf-8"))


def source() -> str:
    """Cite what the figures are from."""
    cited: str = _content()["source"]
    return cited


def published(table: str | None) -> list[PublishedRow]:
    """Return the rows of a published table; none of none."""
    tables = _content()["tables"]
    if table is None:
        return []
    if table not in tables:
        raise ConfigError(f"a published table must be one of {', '.join(tables)}, given {table!r}")
    return [PublishedRow(**row) for row in tables[table]]
