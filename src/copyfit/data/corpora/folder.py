"""A folder of plain files that a corpus becomes, and the report of what was kept."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from copyfit.data.accounts import Account, to_json
from copyfit.data.corpus import Pair, open_bytes
from copyfit.data.store import whole_folder
from copyfit.errors import DataError
from copyfit.folders import is_free
from copyfit.text.normal import normalise

REPORT = "report.json"
BYTE_ORDER_MARK = "\ufeff"
TRAIN, VALIDATION = "train.tsv", "validation.tsv"
"""Files of pairs, as training reads them."""


def references_file(length: int | None = None) -> str:
    """Name a file of sources with their references, as evaluation reads it: for one length, or for any."""
    return "test.jsonl" if length is None else f"test-{length}.jsonl"


class CorpusFolder:
    """Write files of pairs into a folder and count them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.files: dict[str, int] = {}

    def write(self, name: str, pairs: Iterable[Pair]) -> None:
        """Write pairs as their file's name asks for."""
        line_of = _tsv if name.endswith(".tsv") else _jsonl
        self.files[name] = 0
        with (self._path / name).open("w", encoding="utf-8", newline="\n") as stream:
            for pair in pairs:
                stream.write(f"{line_of(pair)}\n")
                self.files[name] += 1


class Corpus(NamedTuple):
    """Say what a corpus is called, how it is read, and which facts its report names."""

    name: str
    write: Callable[[CorpusFolder], Sequence[Account]]
    facts: dict[str, Any]


@dataclass(frozen=True)
class Report:
    """Tell what became of a corpus."""

    corpus: Corpus
    accounts: tuple[Account, ...]
    files: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        facts = {"corpus": self.corpus.name, **self.corpus.facts}
        return {**facts, "parts": to_json(self.accounts), "files": self.files}


def convert(corpus: Corpus, output: Path) -> Report:
    """Write all of a corpus's files and its report into a new folder, or nothing."""
    if not is_free(output):
        raise DataError(f"{output} must be a new or empty folder: choose another")
    with whole_folder(output) as partial:
        folder = CorpusFolder(partial)
        report = Report(corpus, tuple(corpus.write(folder)), folder.files)
        for account in report.accounts:
            _check_left(account)
        text = json.dumps(report.to_json(), ensure_ascii=False, indent=2)
        (partial / REPORT).write_text(f"{text}\n", encoding="utf-8", newline="")
    return report


def pair_of(source: str, *targets: str) -> Pair:
    """Make a pair of texts as they enter the system; empty ones stay."""
    return Pair(normalise(source), tuple(map(normalise, targets)))


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Read the lines of a file of text, which may be compressed, with their numbers."""
    with open_bytes(path) as stream:
        for number, raw in enumerate(stream, 1):
            mark = BYTE_ORDER_MARK if number == 1 else ""
            yield number, decoded(raw, f"{path}:{number}").removeprefix(mark)


def decoded(raw: bytes, where: str) -> str:
    """Decode UTF-8, or say where it is none."""
    try:
        return raw.decode()
    except UnicodeDecodeError as problem:
        raise DataError(f"{where}: it must be UTF-8: byte {problem.start + 1} is not") from problem


def lacks_text(pair: Pair) -> str | None:
    """Object to a pair of which a text is empty."""
    return None if pair.source and all(pair.targets) else "empty"


def only(inputs: Sequence[Path], what: str) -> Path:
    """Return the one input that there must be."""
    if len(inputs) != 1:
        raise DataError(f"the input must be one {what}, given {len(inputs)}")
    return inputs[0]


def check_folder(path: Path, what: str) -> None:
    """Refuse what is no folder."""
    if not path.is_dir():
        raise DataError(f"{path} must be a folder, {what}")


def _check_left(account: Account) -> None:
    if not account.kept:
        reasons = ", ".join(f"{number} {reason}" for reason, number in account.dropped.items())
        raise DataError(
            f"of the {account.part} at least one must be left, {account.read} were read"
            + (f" and all dropped: {reasons}" if reasons else "")
        )


def _tsv(pair: Pair) -> str:
    return f"{pair.source}\t{pair.targets[0]}"


def _jsonl(pair: Pair) -> str:
    return json.dumps({"source": pair.source, "references": pair.targets}, ensure_ascii=False)
