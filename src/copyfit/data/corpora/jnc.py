"""The Japanese News Corpus: JSON lines of articles and headlines."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from copyfit.data.accounts import Account, Screen
from copyfit.data.corpora.folder import (
    TRAIN,
    VALIDATION,
    CorpusFolder,
    numbered_lines,
    pair_of,
    references_file,
)
from copyfit.data.corpus import Pair
from copyfit.errors import DataError

ARTICLE, HEADLINE, ID = "kiji", "midashi", "kijiid"
_TRAINING_PERCENT = 98


class _Record(NamedTuple):
    id: str | int
    article: str
    headline: str


def write_jnc(inputs: Sequence[Path], folder: CorpusFolder) -> list[Account]:
    """Write the pairs whose article and headline occur once and whose article has no =.

    In the order of their ids, 98 % are for training; the rest is halved, an odd one is for validation.
    """
    records = sorted(_read_all(inputs), key=lambda record: record.id)
    screen = Screen("pairs")
    kept = list(screen.passing(records, _Objection(records)))
    training = len(kept) * _TRAINING_PERCENT // 100
    testing = (len(kept) - training) // 2
    folder.write(TRAIN, map(_pair, kept[:training]))
    folder.write(VALIDATION, map(_pair, kept[training : len(kept) - testing]))
    folder.write(references_file(), map(_pair, kept[len(kept) - testing :]))
    return [screen.account()]


class _Objection:
    """Hold against a pair what the paper does; texts are compared as they were shipped."""

    def __init__(self, records: Sequence[_Record]) -> None:
        self._articles = Counter(record.article for record in records)
        self._headlines = Counter(record.headline for record in records)

    def __call__(self, record: _Record) -> str | None:
        if not (record.article.strip() and record.headline.strip()):
            return "empty"
        if self._articles[record.article] > 1:
            return "repeated_article"
        if self._headlines[record.headline] > 1:
            return "repeated_headline"
        return "equals_sign" if "=" in record.article else None


def _pair(record: _Record) -> Pair:
    return pair_of(record.article, record.headline)


def _read_all(inputs: Iterable[Path]) -> Iterator[_Record]:
    first: _Record | None = None
    for path in inputs:
        for number, line in numbered_lines(path):
            if not line.strip():
                continue
            try:
                record = _understand(line)
                first = first or record
                if type(record.id) is not type(first.id):
                    raise ValueError(f"{ID} must be text in all lines or a number in all")
            except ValueError as problem:
                raise DataError(f"{path}:{number}: {problem}") from problem
            yield record


def _understand(line: str) -> _Record:
    try:
        values = json.loads(line)
    except json.JSONDecodeError as problem:
        raise ValueError(f"it is not JSON: {problem.msg} in column {problem.colno}") from problem
    except RecursionError:
        raise ValueError("its JSON must not be nested so deeply") from None
    missing = [key for key in (ARTICLE, HEADLINE, ID) if not isinstance(values, dict) or key not in values]
    if missing:
        raise ValueError(f"it must be an object with {ARTICLE}, {HEADLINE} and {ID}, without {missing[0]}")
    if not isinstance(values[ID], str | int):
        raise ValueError(f"{ID} must be text or a number, given {values[ID]!r}")
    return _Record(values[ID], _text(values, ARTICLE), _text(values, HEADLINE))


def _text(values: dict[str, Any], key: str) -> str:
    """Return a text, or the sentences of one end to end."""
    value = values[key]
    sentences = value if isinstance(value, list) else [value]
    if not all(isinstance(sentence, str) for sentence in sentences):
        raise ValueError(f"{key} must be text or a list of sentences, given {value!r}")
    return "".join(sentences)
