"""A result as plain values, in the one shape that programs read."""

from typing import Any

from copyfit.writing.headline import Headline, Result
from copyfit.writing.requests import Wish


def answer(index: int, wish: Wish, result: Result, *, model: str) -> dict[str, Any]:
    """Return what `write --json` prints for one text and one budget."""
    request = result.request
    values: dict[str, Any] = {
        "index": index,
        # A range without an upper bound has no budget; the search stops where it must stop somewhere.
        "budget": request.budget if request and request.bounded else wish.length,
        "unit": request.unit if request else wish.unit,
        "mode": request.mode if request else wish.mode,
        "preset": wish.preset,
        "headlines": [_values(headline) for headline in result.headlines],
        "truncated": result.truncated,
        "model": model,
        "error": result.error,
    }
    if request and request.minimum is not None:
        values["min"] = request.minimum
    return values


def _values(headline: Headline) -> dict[str, Any]:
    return {
        "text": headline.text,
        "length": headline.length,
        "fits": headline.fits,
        "whole_words": headline.whole_words,
        "score": headline.score,
        "aim": headline.aim,
    }
