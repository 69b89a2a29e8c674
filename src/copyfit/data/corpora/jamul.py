"""JAMUL, the Japanese test set with headlines of three lengths: a CSV file."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from copyfit.data.accounts import Account, Screen
from copyfit.data.corpora.folder import CorpusFolder, decoded, pair_of, references_file
from copyfit.data.corpus import open_bytes
from copyfit.errors import DataError, RequestError
from copyfit.text.japanese import mecab_words
from copyfit.text.normal import normalise
from copyfit.text.sentences import japanese_sentences, released_sentences

RULE = "rule"
SPLITTERS: Mapping[str, Callable[[str], list[str]]] = {
    RULE: japanese_sentences,
    "released": released_sentences,
}
"""How sentences are told apart: by the rule, or as the script really does that the paper used."""
LEAD = 3
"""How many sentences of an article are its source."""
SHORTEST = {26: 24, 13: 11, 10: 8}
"""The least length of a headline for each limit."""
_LONG = 2
"""Of so many characters a word must be that a headline shares with its article."""


class _Row(NamedTuple):
    article: str
    headlines: Mapping[int, str]


_NAMES = ("article", "paper", "26", "13", "10")
"""What the columns are, in their order. Their names in the file may be others."""


def write_jamul(source: Path, sentences: str, folder: CorpusFolder) -> list[Account]:
    """Write a test set for each length: the first three sentences of an article, and its headline."""
    if sentences not in SPLITTERS:
        raise RequestError(f"--sentences must be {' or '.join(SPLITTERS)}, given {sentences!r}")
    split = SPLITTERS[sentences]
    leads = (row._replace(article="".join(split(row.article)[:LEAD])) for row in _read(source))
    screen = Screen("articles")
    kept = list(screen.passing(leads, _objection))
    for length in sorted(SHORTEST):
        folder.write(references_file(length), (pair_of(row.article, row.headlines[length]) for row in kept))
    return [screen.account()]


def _objection(row: _Row) -> str | None:
    if not (row.article and all(row.headlines.values())):
        return "empty"
    for length, headline in row.headlines.items():
        if len(headline) < SHORTEST[length]:
            return f"short_headline_{length}"
    if "=" in row.article:
        return "equals_sign"
    words = _long_words(row.article)
    for length, headline in row.headlines.items():
        if words.isdisjoint(_long_words(headline)):
            return f"no_shared_word_{length}"
    return None


def _long_words(text: str) -> set[str]:
    return {word.lower() for word in mecab_words(text) if len(word) >= _LONG}


def _read(path: Path) -> Iterator[_Row]:
    names: list[str] = []
    for line, fields in _records(path):
        if len(fields) != len(_NAMES):
            raise DataError(
                f"{path}:{line}: it must have the columns {', '.join(_NAMES)}, it has {len(fields)} columns"
            )
        texts = list(map(normalise, fields))
        if not names:
            names = _names(texts)
            # A first line without a sentence is a header, whatever it calls the columns.
            if "。" not in "".join(texts):
                continue
        values = dict(zip(names, texts, strict=True))
        yield _Row(values["article"], {length: values[str(length)] for length in SHORTEST})


def _names(header: list[str]) -> list[str]:
    named = list(map(str.casefold, header))
    return named if sorted(named) == sorted(_NAMES) else list(_NAMES)


def _records(path: Path) -> Iterator[tuple[int, list[str]]]:
    # What is no UTF-8 is found row by row, so that its line can be told.
    with io.TextIOWrapper(open_bytes(path), "utf-8-sig", "surrogateescape", newline="") as stream:
        reader = csv.reader(stream, strict=True)
        try:
            for fields in reader:
                where = f"{path}:{reader.line_num}"
                if any(map(str.strip, fields)):
                    yield (
                        reader.line_num,
                        [decoded(each.encode("utf-8", "surrogateescape"), where) for each in fields],
                    )
        except csv.Error as problem:
            raise DataError(f"{path}:{reader.line_num}: it is not CSV: {problem}") from problem
