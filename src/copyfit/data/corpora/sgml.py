"""Documents and summaries of DUC: SGML that is not always XML, and text that has lost its tags."""

import html
import re
from pathlib import Path

from copyfit.data.corpora.folder import decoded
from copyfit.data.corpus import open_bytes
from copyfit.errors import DataError
from copyfit.text.normal import normalise

_PARAGRAPH = re.compile(r"</?P(?:\s[^>]*)?>", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z!][^>]*>")
_ENTITY = re.compile(r"&(?:[A-Za-z][A-Za-z0-9]*|#[0-9]+);")
_MARKED_UP = re.compile(r"<(?:html|body|sum)\b", re.IGNORECASE)
_ASIDE = re.compile(r"<head\b.*?</head\s*>|<title\b.*?</title\s*>|<a\s+name=[^>]*>.*?</a\s*>", re.I | re.S)
"""What a marked up summary has besides its text: a head, and numbers of its sentences."""


def read_text(path: Path) -> str:
    """Read a file of text."""
    with open_bytes(path) as stream:
        raw = stream.read()
    # The line is told, since that is where an editor goes.
    return "".join(
        decoded(line, f"{path}:{number}") for number, line in enumerate(raw.splitlines(keepends=True), 1)
    )


def element(text: str, tag: str, where: Path) -> str | None:
    """Return what is inside the first element of a name; None where there is none."""
    opening = re.search(rf"<{tag}(?:\s[^>]*)?>", text, re.IGNORECASE)
    if opening is None:
        return None
    closing = re.compile(rf"</{tag}\s*>", re.IGNORECASE).search(text, opening.end())
    if closing is None:
        line = text.count("\n", 0, opening.start()) + 1
        raise DataError(f"{where}:{line}: the <{tag}> that opens here must be closed, is the file whole?")
    return text[opening.end() : closing.start()]


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs that have text, without their tags."""
    return [found for piece in _PARAGRAPH.split(text) if (found := plain(piece))]


def summary_text(text: str) -> str:
    """Return a summary's text, which may be marked up: as HTML, or as an element SUM."""
    return plain(_ASIDE.sub(" ", text)) if _MARKED_UP.search(text) else normalise(text)


def plain(text: str) -> str:
    """Return text without tags; entities become characters, those of typesetting nothing."""
    return normalise(_ENTITY.sub(_character, _TAG.sub(" ", text)))


def _character(entity: "re.Match[str]") -> str:
    character = html.unescape(entity.group())
    return "" if character == entity.group() else character
