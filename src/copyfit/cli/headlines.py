"""What `copyfit write` does with its flags."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from copyfit.cli import talk
from copyfit.cli.texts import read_texts
from copyfit.errors import ConfigError, RequestError
from copyfit.remote import RemoteWriter
from copyfit.writing.answers import answer
from copyfit.writing.contract import Writes
from copyfit.writing.files import BATCHES_AHEAD, FileJob, check_job, write_file
from copyfit.writing.headline import Headline, Result
from copyfit.writing.overlap import Rerank
from copyfit.writing.requests import Natural, Wish
from copyfit.writing.rows import STREAM, form_of
from copyfit.writing.writer import Effort, Order, Writer

FAILED = 2
ANY = Natural(1, "char")


@dataclass(frozen=True)
class Flags:
    """Hold the flags of `copyfit write` as they were given."""

    text: str | None
    file: Path | None
    lines: bool
    lengths: tuple[int, ...]
    minimum: int | None
    maximum: int | None
    preset: str | None
    unit: str | None
    mode: str | None
    candidates: int
    num_beams: int
    no_repeat_ngram_size: int
    rerank: Rerank | None
    require: tuple[str, ...]
    start: str | None
    models: tuple[str, ...]
    device: str | None
    as_json: bool
    rows: Path | None
    output: Path | None
    text_column: str
    length_column: str | None
    resume: bool
    show_count: bool
    batch_size: int
    server: str | None
    key_file: Path | None

    @property
    def effort(self) -> Effort:
        """Return how hard to search."""
        return Effort(
            num_beams=self.num_beams,
            count=self.candidates,
            batch_size=self.batch_size,
            no_repeat_ngram_size=self.no_repeat_ngram_size,
            rerank=self.rerank,
        )


def write_headlines(flags: Flags) -> int:
    """Write what was asked for; return the exit code."""
    wishes = _wishes(flags)
    flags.effort.check()
    if flags.rows is not None:
        return _write_file(flags, flags.rows, wishes)
    if flags.output is not None or flags.resume or flags.length_column is not None:
        raise RequestError("--output, --resume and --length-column go with --input; name a file of rows")
    return _write_texts(flags, wishes)


def _wishes(flags: Flags) -> tuple[Wish, ...]:
    if flags.lengths and flags.maximum is not None:
        raise RequestError("a length is given by --length or by --max, not by both")
    mode = flags.mode
    if mode is None and flags.maximum is not None and flags.minimum is None:
        mode = "max"
    return tuple(
        Wish(length, flags.minimum, flags.unit, mode, flags.preset, flags.require, flags.start)
        for length in flags.lengths or (flags.maximum,)
    )


def _write_file(flags: Flags, rows: Path, wishes: tuple[Wish, ...]) -> int:
    if flags.text is not None or flags.file is not None or flags.lines:
        raise RequestError("--input brings its own texts; leave out TEXT, --file and --lines")
    job = FileJob(rows, flags.output or STREAM, wishes, flags.text_column, flags.length_column, flags.resume)
    check_job(job)
    if form_of(rows) == "txt":
        writer = _open_writer(flags, wishes)
    else:
        for wish in wishes:
            _completed(wish).resolve(ANY)
        writer = _find_writer(flags)
    tally = write_file(writer, job, flags.effort)
    if tally.unfit:
        talk.note(f"note: {tally.unfit} of {tally.rows} rows do not fit, see their column `fits`")
    if tally.failed:
        talk.note(f"error: {tally.failed} of {tally.rows} rows failed, see their column `error`")
        return FAILED
    return 0


def _completed(wish: Wish) -> Wish:
    """Fill in what the rows of a file may bring, so that the flags can be checked without them."""
    if wish.preset is not None:
        return wish
    minimum = 1 if wish.minimum is None and wish.mode == "range" else wish.minimum
    return replace(wish, minimum=minimum, length=(minimum or 1) if wish.length is None else wish.length)


def _find_writer(flags: Flags) -> Writes:
    if flags.server is None:
        if flags.key_file is not None:
            raise RequestError("--key-file goes with --server; leave it out, or name a server")
        return Writer(flags.models, device=flags.device)
    if flags.models or flags.device is not None:
        raise RequestError("a server has its own model and device; leave out --model and --device")
    return RemoteWriter(flags.server, key=_key(flags.key_file))


def _key(path: Path | None) -> str | None:
    if path is None:
        return None
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as problem:
        raise ConfigError(f"{path} must be a readable text file with a key: {problem}") from problem


def _open_writer(flags: Flags, wishes: Sequence[Wish]) -> Writes:
    for wish in wishes:
        # Mistakes are told before a model is opened, as far as they can be.
        if not wish.is_natural:
            wish.resolve(ANY)
    writer = _find_writer(flags)
    for wish in wishes:
        wish.resolve(writer.natural)
    return writer


def _write_texts(flags: Flags, wishes: tuple[Wish, ...]) -> int:
    texts = _texts(flags)
    first = list(islice(texts, 1))
    writer = _open_writer(flags, wishes)
    failed = written = 0
    for chunk in _chunks(first, texts, flags.batch_size * BATCHES_AHEAD):
        orders = [Order(text, wish) for text in chunk for wish in wishes]
        for number, result in enumerate(writer.fulfil(orders, flags.effort)):
            index, place = divmod(number, len(wishes))
            _show(flags, written + index, wishes[place], result, writer.name)
            failed += result.error is not None
        written += len(chunk)
        talk.flush()
    return FAILED if failed else 0


def _texts(flags: Flags) -> Iterator[str]:
    if flags.text is None:
        if flags.file is None and sys.stdin is not None and sys.stdin.isatty():
            raise RequestError("a text must be given: as an argument, by --file or on standard input")
        return read_texts(flags.file or STREAM, lines=flags.lines)
    if flags.file is not None or flags.lines:
        raise RequestError("the text is given twice; leave out TEXT, or --file and --lines")
    return iter([flags.text])


def _chunks(first: list[str], texts: Iterator[str], size: int) -> Iterator[list[str]]:
    chunk = first + list(islice(texts, size - len(first)))
    while chunk:
        yield chunk
        chunk = list(islice(texts, size))


def _show(flags: Flags, index: int, wish: Wish, result: Result, model: str) -> None:
    where = f"line {index + 1}: " if flags.lines else ""
    if result.error is not None:
        talk.note(f"error: {where}{result.error}")
    elif result.request is not None and result.request.mode != "free" and not result.headlines[0].fits:
        talk.note(f"note: {where}no headline is {result.request}; this one is {result.headlines[0].length}")
    if flags.as_json:
        talk.put_json(answer(index, wish, result, model=model))
    elif result.headlines or flags.lines or len(flags.lengths) > 1:
        # Lines can be told apart by their number only if no text has fewer.
        lines = _plain(flags, result.headlines)
        for line in lines + [""] * (flags.candidates - len(lines)):
            talk.put(line)


def _plain(flags: Flags, headlines: Iterable[Headline]) -> list[str]:
    if flags.show_count:
        return [f"{headline.text}\t{headline.length} {headline.unit}" for headline in headlines]
    return [headline.text for headline in headlines]
