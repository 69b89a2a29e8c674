"""DUC task 1: documents with four headlines each, of DUC-2003 or DUC-2004."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from copyfit.data.accounts import Account, Screen
from copyfit.data.corpora.folder import (
    CorpusFolder,
    check_folder,
    lacks_text,
    numbered_lines,
    pair_of,
    references_file,
)
from copyfit.data.corpora.sgml import element, paragraphs, read_text, summary_text
from copyfit.data.corpus import Pair
from copyfit.errors import DataError
from copyfit.text.sentences import first_sentence

LENGTH = 75
"""How many bytes of a headline count in task 1."""
_REFERENCES = 4
_SUFFIX = r"(?:\.(?:html?|txt|sgml?))?"
_CLUSTER = re.compile(r"(D[0-9]+)[A-Z]*")
"""A document set: its name may end in letters for those who chose and wrote."""
_SUMMARY = re.compile(rf"{_CLUSTER.pattern}\.P\.10\.[A-Z]+\.[A-Z]+\.(.+?){_SUFFIX}")
"""Set, per document, about 10 words, who chose it, who wrote (peers have numbers there), the document."""
_DOCUMENT = re.compile(rf"(.+?){_SUFFIX}")
_CLEAN = "input.txt", "task1_ref*.txt"


class _Key(NamedTuple):
    """Name a document; one that is in two clusters has summaries in each."""

    cluster: str
    document: str


class _Document(NamedTuple):
    path: Path
    names: tuple[_Key, ...]
    source: str


def write_duc(inputs: Sequence[Path], folder: CorpusFolder) -> list[Account]:
    """Write the test set of task 1.

    The inputs are the folder of documents and the folder of model summaries, as NIST ships them; or the one
    folder that the scripts of NAMAS make of both.
    """
    for path in inputs:
        check_folder(path, "of documents or of model summaries")
    if len(inputs) == 1:
        return _write_clean(inputs[0], folder)
    if len(inputs) != 2:
        raise DataError(
            f"the inputs must be two folders, of documents and of model summaries, given {len(inputs)}"
        )
    documents, models = inputs
    summaries = Screen("model summaries")
    references = _Summaries(models, summaries)
    screen = Screen("documents")
    found = screen.passing(_documents(documents), lambda document: None if document.source else "empty")
    folder.write(references_file(LENGTH), [references.pair(document) for document in found])
    references.count_rest(summaries)
    return [screen.account(), summaries.account()]


class _Summaries:
    """Find the model summaries of each document by the names of their files."""

    def __init__(self, folder: Path, screen: Screen) -> None:
        self._folder = folder
        self._paths = defaultdict[_Key, list[Path]](list)
        self._used = set[_Key]()
        for path in screen.passing(_files(folder), lambda path: None if _key(path) else "of_another_task"):
            self._paths[_key(path) or _Key("", "")].append(path)
        if not self._paths:
            raise DataError(
                f"{folder} must have model summaries of task 1, named like D30001.P.10.T.A.APW19981016.0240"
            )

    def pair(self, document: _Document) -> Pair:
        """Return the source of a document with its references."""
        key = next((name for name in document.names if name in self._paths), document.names[0])
        self._used.add(key)
        paths = self._paths.get(key, [])
        if len(paths) != _REFERENCES:
            names = ": " + ", ".join(path.name for path in paths) if paths else ""
            raise DataError(
                f"{document.path} must have {_REFERENCES} model summaries in {self._folder},"
                f" it has {len(paths)}{names}"
            )
        pair = Pair(document.source, tuple(summary_text(read_text(path)) for path in paths))
        for path, reference in zip(paths, pair.targets, strict=True):
            if not reference:
                raise DataError(f"{path} must hold a summary, it is empty")
        return pair

    def count_rest(self, screen: Screen) -> None:
        """Count the summaries that no document asked for."""
        rest = [paths for key, paths in self._paths.items() if key not in self._used]
        screen.drop("without_document", sum(map(len, rest)))


def _key(path: Path) -> _Key | None:
    named = _SUMMARY.fullmatch(path.name.upper())
    return _Key(*named.groups()) if named else None


def _files(folder: Path) -> list[Path]:
    """List all files in a folder and below, but for hidden ones."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return sorted(
        path for path in found if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )


def _documents(folder: Path) -> Iterator[_Document]:
    files = _files(folder)
    if not files:
        raise DataError(f"{folder} must have documents, in a folder for each cluster; it is empty")
    for path in files:
        cluster = _CLUSTER.fullmatch(path.parent.name.upper())
        if cluster is None:
            raise DataError(f"{path} must lie in the folder of a cluster, named like d30001t")
        yield _document(path, cluster.group(1))


def _document(path: Path, cluster: str) -> _Document:
    whole = element(read_text(path), "DOC", path)
    if whole is None:
        raise DataError(f"{path}:1: it must be an SGML document, it has no <DOC>")
    text = element(whole, "TEXT", path)
    if text is None:
        # Some documents of DUC-2003 are captions.
        text = element(whole, "GRAPHIC", path)
    if text is None:
        raise DataError(f"{path}:1: it must have a <TEXT>, it has none")
    number = " ".join((element(whole, "DOCNO", path) or "").split()).upper()
    name = _DOCUMENT.fullmatch(path.name.upper())
    names = tuple(_Key(cluster, each) for each in (number, name.group(1) if name else "") if each)
    found = paragraphs(text)
    return _Document(path, names, first_sentence(found[0]) if found else "")


def _write_clean(source: Path, folder: CorpusFolder) -> list[Account]:
    inputs = [path for where in ("", "*/") for path in sorted(source.glob(f"{where}{_CLEAN[0]}"))]
    references = [path for where in ("", "*/") for path in sorted(source.glob(f"{where}{_CLEAN[1]}"))]
    if len(inputs) != 1 or len(references) != _REFERENCES:
        raise DataError(
            f"{source} must have one {_CLEAN[0]} and {_REFERENCES} files {_CLEAN[1]}, it has"
            f" {len(inputs)} and {len(references)}; or give two folders, of documents and of model summaries"
        )
    screen = Screen("documents")
    pairs = _aligned(inputs[0], references)
    folder.write(references_file(LENGTH), screen.passing(pairs, lacks_text))
    return [screen.account()]


def _aligned(source: Path, references: Sequence[Path]) -> Iterator[Pair]:
    paths = (source, *references)
    for lines in zip_longest(*map(numbered_lines, paths)):
        if None in lines:
            ended = paths[lines.index(None)]
            line = next(line[0] for line in lines if line is not None)
            raise DataError(f"the files must have as many lines, {ended} ends before line {line}")
        yield pair_of(*(text for _, text in lines))
