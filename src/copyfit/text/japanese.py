"""Japanese words, which no space sets apart: those that MeCab finds with the IPA dictionary."""

import re
from functools import cache
from importlib.metadata import version
from typing import Any, NamedTuple

from copyfit.errors import ConfigError
from copyfit.text.normal import normalise

_KANA = re.compile("[\u3041-\u3096\u30a1-\u30fa\uff66-\uff9d]")
_LETTER = re.compile(r"[^\W\d_]")
_CONTENT = frozenset({"名詞", "動詞", "形容詞", "副詞"})
"""Nouns, verbs, adjectives and adverbs."""
_DEPENDENT = frozenset({"非自立", "接尾"})
"""Those of them that only serve another word."""
_UNKNOWN = "*"


class _Word(NamedTuple):
    surface: str
    part: str
    kind: str
    dictionary_form: str


def is_japanese(text: str) -> bool:
    """Tell whether a text has kana, which no other language is written in."""
    return _KANA.search(text) is not None


def mecab_words(text: str) -> list[str]:
    """Return the words of a text as they stand in it, punctuation among them, white space not."""
    return [word.surface for word in _analyse(text)]


def content_words(text: str) -> list[str]:
    """Return the words that say what a text is about, in their dictionary forms.

    These are the nouns, verbs, adjectives and adverbs that stand on their own and have a letter.
    """
    return [
        word.dictionary_form
        for word in _analyse(text)
        if word.part in _CONTENT and word.kind not in _DEPENDENT and _LETTER.search(word.surface)
    ]


def dictionary() -> str:
    """Name what finds the words, with its version."""
    _tagger()
    return f"mecab+ipadic-{version('ipadic')}"


def _analyse(text: str) -> list[_Word]:
    # Only `parse` is safe for threads that share a tagger: it returns text, not pointers into its memory.
    # A null character would end the text there.
    lines = _tagger().parse(normalise(text.replace("\0", " "))).split("\n")
    return [_word(*line.split("\t")) for line in lines if "\t" in line]


def _word(surface: str, features: str) -> _Word:
    part, kind, _, _, _, _, form, *_ = features.split(",")
    return _Word(surface, part, kind, surface if form == _UNKNOWN else form)


@cache
def _tagger() -> Any:
    try:
        import fugashi
        import ipadic
    except ModuleNotFoundError as problem:
        raise ConfigError(
            f"Japanese words need {problem.name}, which is missing: pip install 'copyfit[ja]'"
        ) from problem
    return fugashi.GenericTagger(ipadic.MECAB_ARGS)
