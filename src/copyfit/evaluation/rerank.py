"""The paper's re-ranking: of many headlines, take the one with the most words of the source."""

import re
from collections.abc import Sequence

from copyfit.evaluation.porter import stem
from copyfit.writing.headline import Headline

BEST_OF = 20
"""How many headlines the paper chooses from."""


def rerank(headlines: Sequence[Headline], source: str) -> Headline:
    """Return the headline with the most stems of the source, each occurrence counted; the first of equals."""
    told = set(_stems(source))
    return max(headlines, key=lambda headline: sum(word in told for word in _stems(headline.text)))


def _stems(text: str) -> list[str]:
    """Stem the words that have a letter; only those in ASCII letters and digits have other forms."""
    words = re.findall(r"\w*[^\W\d_]\w*", text.lower())
    return [stem(word) if word.isascii() else word for word in words]
