"""Remember what frequent words were turned into."""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

LONGEST_WORD = 20
"""Longer words, in scripts without spaces whole sentences, seldom come back."""


class WordCache(dict[str, T]):
    """Look words up as in a dict; what is missing is computed, and kept as long as there is room.

    Texts are read from their beginning and words follow Zipf, so the first come are the most frequent.
    """

    def __init__(self, compute: Callable[[str], T], *, room: int) -> None:
        super().__init__()
        self._compute = compute
        self._room = room

    def __missing__(self, word: str) -> T:
        value = self._compute(word)
        if len(word) <= LONGEST_WORD and len(self) < self._room:
            self[word] = value
        return value
