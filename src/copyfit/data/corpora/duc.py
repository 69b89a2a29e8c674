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
_SUFFIX = re.compile(r"\.(?:HTML?|SGML?|TXT)$")
_CLUSTER = re.compile(r"(D[0-9]+)[A-Z]*")
"""A document set: its name may end in letters for those who chose and wrote."""
_SUMMARY = re.compile(rf"{_CLUSTER.pattern}\.P\.10\.[A-Z]+\.[A-Z]+\.(.+?)(?:{_SUFFIX.pattern})?")
"""Set, per document, about 10 words, who chose it, who wrote (peers have numbers there), the document."""
_CLEAN = "input.txt", "task1_ref*.txt"


class _Key(NamedTuple):
    """Name a document; one that is in two clusters has summaries in each."""

    cluster: str
    document: str


class _Document(NamedTuple):
    path: Path
    named: _Key
    numbered: _Key
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
    return _write_shipped(documents, models, folder)


def _write_shipped(documents: Path, models: Path, folder: CorpusFolder) -> list[Account]:
    summaries, screen = Screen("model summaries"), Screen("documents")
    paths = _summaries(models, summaries)
    found = screen.passing(_documents(documents), lambda document: None if document.source else "empty")
    pairs = [
        _pair(document, models, paths.pop(document.named, []) or paths.pop(document.numbered, []))
        for document in found
    ]
    summaries.drop("without_document", sum(map(len, paths.values())))
    folder.write(references_file(LENGTH), pairs)
    return [screen.account(), summaries.account()]


def _summaries(folder: Path, screen: Screen) -> dict[_Key, list[Path]]:
    """Find the model summaries of each document by the names of their files."""
    found = defaultdict[_Key, list[Path]](list)
    for path in screen.passing(_files(folder), lambda path: None if _keys(path) else "of_another_task"):
        for key in _keys(path):
            found[key].append(path)
    if not found:
        raise DataError(
            f"{folder} must have model summaries of task 1, named like D30001.P.10.T.A.APW19981016.0240"
        )
    return found


def _keys(path: Path) -> list[_Key]:
    """Return whose summary a file is by its name; nobody's where it is none of task 1."""
    match = _SUMMARY.fullmatch(path.name.upper())
    return [_Key(*match.groups())] if match else []


def _pair(document: _Document, models: Path, summaries: Sequence[Path]) -> Pair:
    if len(summaries) != _REFERENCES:
        names = "".join(f", {path.name}" for path in summaries)
        raise DataError(
            f"{document.path} must have {_REFERENCES} model summaries in {models}, named like"
            f" {document.named.cluster}.P.10.T.A.{document.named.document}; it has {len(summaries)}{names}"
        )
    references = tuple(summary_text(read_text(path)) for path in summaries)
    if not all(references):
        raise DataError(f"{summaries[references.index('')]} must hold a summary, it is empty")
    return Pair(document.source, references)


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
    content = read_text(path)
    if element(content, "DOC", path) is None:
        raise DataError(f"{path}:1: it must be an SGML document, it has no <DOC>")
    text = element(content, "TEXT", path)
    if text is None:
        # Some documents of DUC-2003 are captions.
        text = element(content, "GRAPHIC", path)
    if text is None:
        raise DataError(f"{path}:1: it must have a <TEXT>, it has none")
    name = _SUFFIX.sub("", path.name.upper())
    number = (element(content, "DOCNO", path) or name).strip().upper()
    found = paragraphs(text)
    return _Document(
        path, _Key(cluster, name), _Key(cluster, number), first_sentence(found[0]) if found else ""
    )


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
