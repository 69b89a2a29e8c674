"""Words, and whether a text ends in a whole one."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Self

from copyfit.text.scripts import is_unspaced

MINIMUM = 5
"""How often a word must occur in the training targets to be known."""

_HYPHENS = re.compile("[-\u2010\u2011]")
_POSSESSIVE = re.compile("['’]s$", re.IGNORECASE)
_APOSTROPHES = "'’"


class WordList:
    """Know the words of the training targets."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._known = frozenset(known)

    @classmethod
    def from_counts(cls, counts: Mapping[str, int], *, minimum: int = MINIMUM) -> Self:
        """Keep the words, as `words` gives them, that occur at least so often."""
        return cls(word for word, number in counts.items() if number >= minimum)

    def __contains__(self, word: object) -> bool:
        return word in self._known

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._known))

    def __len__(self) -> int:
        return len(self._known)

    def to_text(self) -> str:
        """Write one word a line, in order."""
        return "".join(f"{word}\n" for word in self)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read what `to_text` wrote."""
        return cls(text.split())


def words(text: str) -> list[str]:
    """Return the words of a text, folded so that they compare.

    Case is folded but in words of one letter, where "I" is a word and "i" the beginning of one. A possessive
    is its owner; of a word with hyphens only the last part is a word that can stand at an end.
    """
    return [word for token in text.split() for word in _words_of(token)]


def last_word(text: str) -> str:
    """Return the last word of a text, folded like those of `words`; empty when there is none."""
    return next((found[-1] for token in reversed(text.split()) if (found := _words_of(token))), "")


def ends_whole(text: str, source: str, known: WordList) -> bool:
    """Tell whether a text ends in a whole word: one of its source, or one that is known.

    So does a text that ends in punctuation, in a digit, or in a script without spaces.
    """
    if not text or not _is_letter(text[-1]) or is_unspaced(text[-1]):
        return True
    word = last_word(text)
    return word in known or word in words(source)


@lru_cache(maxsize=1 << 16)
def _words_of(token: str) -> tuple[str, ...]:
    """Return the words of what stands between two spaces."""
    if token.isalnum():
        return (_fold(token),)
    end = _HYPHENS.split(token)[-1]
    parts = "".join(part if _is_in_word(part) else " " for part in end).split()
    bare = (_POSSESSIVE.sub("", part.strip(_APOSTROPHES)) for part in parts)
    return tuple(_fold(part) for part in bare if part)


def _fold(word: str) -> str:
    return word if len(word) == 1 else word.casefold()


def _is_in_word(character: str) -> bool:
    return character.isalnum() or character in _APOSTROPHES or unicodedata.category(character)[0] == "M"


def _is_letter(character: str) -> bool:
    return unicodedata.category(character)[0] in "LM"
