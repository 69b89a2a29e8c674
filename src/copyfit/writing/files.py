"""Write headlines for the rows of a file, as many as it has."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from math import isnan
from pathlib import Path
from typing import Any, NamedTuple

from copyfit.errors import DataError, RequestError
from copyfit.writing.contract import Writes
from copyfit.writing.headline import Result
from copyfit.writing.requests import Wish
from copyfit.writing.rows import STREAM, TEXT_COLUMN, Row, check_file, read_rows
from copyfit.writing.sinks import ADDED, SEVERAL, open_sink, resume_sink
from copyfit.writing.writer import Effort, Order

BATCHES_AHEAD = 8
"""How many batches of rows are read together, so that similar ones can be searched together."""
LENGTH_COLUMN = "length"
NAMES = ("unit", "mode", "preset")
WHOLE = re.compile(r"([+-]?\d{1,18})(?:\.0*)?")
"""A whole number as tables write it, those with gaps as a fraction."""


@dataclass(frozen=True)
class FileJob:
    """Say what to read, where to write, and what is wished for rows that do not say it themselves."""

    input: Path
    output: Path
    wishes: tuple[Wish, ...]
    text_column: str = TEXT_COLUMN
    length_column: str | None = None
    resume: bool = False


class Tally(NamedTuple):
    """Count the rows that were written, and those of them that failed or that do not fit."""

    rows: int = 0
    failed: int = 0
    unfit: int = 0

    def add(self, results: Sequence[Result]) -> "Tally":
        """Return the tally with some more results."""
        failed = sum(result.error is not None for result in results)
        fitting = sum(bool(result.headlines) and result.headlines[0].fits for result in results)
        unfit = len(results) - failed - fitting
        return Tally(self.rows + len(results), self.failed + failed, self.unfit + unfit)


class _Item(NamedTuple):
    """Hold a row to write: an order, or what is wrong with it."""

    values: Mapping[str, Any]
    order: Order | None
    problem: str | None


def check_job(job: FileJob) -> None:
    """Raise where a job cannot be begun; costs little, so that it can be done before a model is opened."""
    check_file(job.input)
    check_file(job.output)
    if job.input != STREAM and not job.input.is_file():
        raise DataError(
            f"{job.input} must be a file, {'a folder' if job.input.is_dir() else 'nothing'} is there"
        )
    if STREAM not in {job.input, job.output} and job.input.resolve() == job.output.resolve():
        raise DataError(f"the output must be another file than the input, given {job.output} for both")


def write_file(writer: Writes, job: FileJob, effort: Effort) -> Tally:
    """Write a row for each row and wish, in their order; flat in memory however long the file is."""
    check_job(job)
    items = _items(job, effort)
    # An output from before is given up only when there is something to write in its place.
    first = next(items, None)
    if first is None:
        raise DataError(f"{job.input} must have at least one row, it is empty")
    tally = Tally()
    sink, done = resume_sink(job.output) if job.resume else (open_sink(job.output), 0)
    with sink:
        left = islice(chain([first], items), done, None)
        while batch := list(islice(left, effort.batch_size * BATCHES_AHEAD)):
            results = _results(writer, batch, effort)
            sink.write([_row(item, result, effort) for item, result in zip(batch, results, strict=True)])
            tally = tally.add(results)
    return tally


def _results(writer: Writes, batch: Sequence[_Item], effort: Effort) -> list[Result]:
    served = iter(writer.fulfil([item.order for item in batch if item.order], effort))
    return [next(served) if item.order else Result(None, error=item.problem) for item in batch]


def _items(job: FileJob, effort: Effort) -> Iterator[_Item]:
    added = (*ADDED, SEVERAL) if effort.count > 1 else ADDED
    for row in read_rows(job.input):
        _check_names(job, row, added)
        try:
            yield from _items_of(job, row)
        except RequestError as problem:
            yield _Item(row.values, None, str(problem))


def _check_names(job: FileJob, row: Row, added: Sequence[str]) -> None:
    taken = [name for name in added if name in row.values]
    if taken:
        raise DataError(
            f"{job.input} must not have a column {taken[0]!r}, which the output gets; give it another name"
        )


def _items_of(job: FileJob, row: Row) -> list[_Item]:
    if row.problem:
        raise RequestError(row.problem)
    if job.text_column not in row.values:
        raise RequestError(f"the row must have a column {job.text_column!r}; name another with --text-column")
    wishes = dict.fromkeys(_override(job, wish, row.values) for wish in job.wishes)
    text = row.values[job.text_column]
    return [_Item(row.values, Order(text, wish), None) for wish in wishes]


def _override(job: FileJob, wish: Wish, values: Mapping[str, Any]) -> Wish:
    """Let a row's own columns take the place of the flags."""
    if job.length_column is not None and job.length_column not in values:
        raise RequestError(f"the row must have the column {job.length_column!r} of --length-column")
    numbers = {job.length_column or LENGTH_COLUMN: "length", "min": "minimum"}
    own: dict[str, Any] = {
        field: _number(values[name]) for name, field in numbers.items() if _given(values, name)
    }
    own |= {name: values[name] for name in NAMES if _given(values, name)}
    return replace(wish, **_given_up(own), **own)


def _given_up(own: Mapping[str, Any]) -> dict[str, Any]:
    """Name the flags that a row's own columns leave no room for."""
    flags: set[str] = set()
    if "preset" in own:
        flags |= {"length", "minimum", "unit", "mode"}
    elif own.keys() & {"length", "minimum"}:
        flags.add("preset")
    if "minimum" in own:
        flags.add("mode")
    elif own.get("mode", "range") != "range":
        flags.add("minimum")
    return dict.fromkeys(flags - own.keys())


def _given(values: Mapping[str, Any], name: str) -> bool:
    value = values.get(name)
    if not isinstance(value, str | int | float | None):
        raise RequestError(f"column {name!r} must hold plain values, given {value!r}")
    if isinstance(value, float):
        return not isnan(value)
    return value is not None and str(value).strip().lower() not in {"", "nan"}


def _number(value: Any) -> Any:
    """Read what tables give as text or as a fraction; what is no whole number is refused later."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    whole = WHOLE.fullmatch(value.strip()) if isinstance(value, str) else None
    return int(whole[1]) if whole else value


def _row(item: _Item, result: Result, effort: Effort) -> dict[str, Any]:
    best = result.headlines[0] if result.headlines else None
    added = (
        best.text if best else None,
        best.length if best else None,
        best.fits if best else None,
        result.truncated,
        result.error,
    )
    row = {**item.values, **dict(zip(ADDED, added, strict=True))}
    if effort.count > 1:
        row[SEVERAL] = [headline.text for headline in result.headlines]
    return row
