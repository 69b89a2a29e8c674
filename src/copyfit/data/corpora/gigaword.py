"""English Gigaword as the scripts of NAMAS write it: files of articles and of titles, line by line."""

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from copyfit.data.accounts import Account, Screen
from copyfit.data.corpora.folder import (
    TRAIN,
    VALIDATION,
    CorpusFolder,
    check_folder,
    lacks_text,
    numbered_lines,
    pair_of,
    references_file,
)
from copyfit.data.corpus import Pair
from copyfit.data.filters import fingerprint
from copyfit.errors import DataError
from copyfit.text.units import count

LENGTHS = (30, 50, 75)
"""The lengths of the test: each group has the headlines up to its length and above that of the one before."""
_FILES = {
    "train": ("train.{}.txt",),
    "validation": ("valid.{}.filter.txt", "valid.{}.txt"),
    "test": ("test.{}.txt", "test.{}.filter.txt"),
}
"""The files of each part, of articles and of titles; the first that are there are taken."""


class _Files(NamedTuple):
    articles: Path
    titles: Path


class Draw(NamedTuple):
    """Say how many pairs of each group are drawn, and from what the draw follows."""

    sample: int
    seed: int

    def of(self, pairs: list[Pair]) -> list[Pair]:
        """Draw pairs, and keep them in their order.

        A pair's place in the draw follows from its own texts, so that copies of the corpus that differ a
        little, or in their order, give nearly the same sample.
        """
        ranks = [fingerprint("\t".join((pair.source, *pair.targets)), self.seed) for pair in pairs]
        drawn = sorted(range(len(pairs)), key=ranks.__getitem__)[: self.sample]
        return [pairs[place] for place in sorted(drawn)]


def write_gigaword(source: Path, draw: Draw, folder: CorpusFolder) -> list[Account]:
    """Write the training and validation pairs, and of each group of the test an even sample.

    Parts that are not there are left out, but at least one must be.
    """
    check_folder(source, "with train.article.txt, train.title.txt and so on")
    parts = {part: files for part, names in _FILES.items() if (files := _find(source, names))}
    if not parts:
        raise DataError(
            f"{source} must have files as NAMAS names them, such as train.article.txt and train.title.txt,"
            " valid.article.filter.txt or test.article.txt; it has none"
        )
    accounts = []
    for part, files in parts.items():
        screen = Screen(f"{part} pairs")
        if part == "test":
            _write_groups(screen.passing(_pairs(files), _objection_to_test), folder, screen, draw)
        else:
            name = TRAIN if part == "train" else VALIDATION
            folder.write(name, screen.passing(_pairs(files), lacks_text))
        accounts.append(screen.account())
    return accounts


def _find(source: Path, patterns: tuple[str, ...]) -> _Files | None:
    for pattern in patterns:
        sides = [_find_one(source, pattern.format(side)) for side in ("article", "title")]
        if any(sides):
            articles, titles = sides
            if not (articles and titles):
                missing, there = pattern.format("article" if titles else "title"), articles or titles
                raise DataError(f"{there} must have a {missing} beside it: it is not there")
            return _Files(articles, titles)
    return None


def _find_one(source: Path, name: str) -> Path | None:
    """Find the file of a name, plain or compressed, in a folder or in one right below it."""
    names = [f"{where}{name}{ending}" for where in ("", "*/") for ending in ("", ".gz", ".xz", ".zst")]
    found = [path for pattern in names for path in sorted(source.glob(pattern))]
    if len(found) > 1:
        raise DataError(f"{source} must have one {name}, it has {' and '.join(map(str, found))}")
    return found[0] if found else None


def _pairs(files: _Files) -> Iterator[Pair]:
    for article, title in zip_longest(*map(numbered_lines, files)):
        if article is None or title is None:
            ended, line = (files.articles, title[0]) if article is None else (files.titles, article[0])
            raise DataError(
                f"{files.articles} and {files.titles} must have as many lines,"
                f" {ended} ends before line {line}"
            )
        yield pair_of(article[1], title[1])


def _objection_to_test(pair: Pair) -> str | None:
    return lacks_text(pair) or ("longer_than_groups" if _length(pair) > LENGTHS[-1] else None)


def _write_groups(pairs: Iterator[Pair], folder: CorpusFolder, screen: Screen, draw: Draw) -> None:
    groups: dict[int, list[Pair]] = {length: [] for length in LENGTHS}
    for pair in pairs:
        groups[next(length for length in LENGTHS if _length(pair) <= length)].append(pair)
    for length, group in groups.items():
        drawn = draw.of(group)
        screen.drop("not_sampled", len(group) - len(drawn))
        folder.write(references_file(length), drawn)


def _length(pair: Pair) -> int:
    return count(pair.targets[0], "char")
