"""The paper's re-ranking: of many headlines, the one with the most words of the source."""

import re
from collections.abc import Iterable
from typing import Literal

from copyfit.text.japanese import content_words, dictionary, is_japanese
from copyfit.text.porter import stem

Rerank = Literal["occurrences", "once"]
"""How the words that a headline has of its source are counted: each time, or once however often."""
RERANKS = ("occurrences", "once")
BEST_OF = 20
"""How many headlines the paper chooses from."""


def check_words(sources: Iterable[str]) -> None:
    """Raise where words of sources cannot be found because a library is missing."""
    if any(map(is_japanese, sources)):
        dictionary()


class Overlap:
    """Count the words that headlines share with their source: stems, or Japanese dictionary forms."""

    def __init__(self, source: str, rerank: Rerank) -> None:
        self._words = content_words if is_japanese(source) else _stems
        self._told = frozenset(self._words(source))
        self._rerank = rerank

    def __call__(self, headline: str) -> int:
        """Count what a headline shares with the source."""
        shared = [word for word in self._words(headline) if word in self._told]
        return len(set(shared) if self._rerank == "once" else shared)


def _stems(text: str) -> list[str]:
    """Stem the words that have a letter; only those in ASCII letters and digits have other forms."""
    words = re.findall(r"\w*[^\W\d_]\w*", text.lower())
    return [stem(word) if word.isascii() else word for word in words]
