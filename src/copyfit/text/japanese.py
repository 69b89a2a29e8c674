"""Japanese words, as MeCab with the IPA dictionary finds them."""

from functools import lru_cache
from typing import Any

from copyfit.errors import DataError


def mecab_words(text: str) -> list[str]:
    """Return the words of a Japanese text, in order; white space is none."""
    return [surface for word in _tagger()(text) if (surface := word.surface.strip())]


@lru_cache(maxsize=1)
def _tagger() -> Any:
    try:
        import fugashi
        import ipadic
    except ModuleNotFoundError as problem:
        raise DataError(f"Japanese words need {problem.name}: pip install 'copyfit[ja]'") from problem
    return fugashi.GenericTagger(ipadic.MECAB_ARGS)
