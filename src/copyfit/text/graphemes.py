"""Grapheme clusters, and which of them can stand beside any other without joining it."""

import unicodedata
from functools import lru_cache

from wcwidth import iter_graphemes, wcswidth

_NEIGHBOURS = ("a", "1", "é", "가", "각", "क", "ا", "ก", "漢", "😀", "🇦🇧")
"""One solid cluster of every break class of UAX 29 that a solid cluster can begin or end with."""
_NOWHERE = frozenset({"Cc", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"})
"""General categories that no solid cluster contains."""


def graphemes(text: str) -> list[str]:
    """Split text into its extended grapheme clusters (UAX 29)."""
    if text.isascii() and "\r" not in text:
        return list(text)
    return list(iter_graphemes(text))


def cells(cluster: str, ambiguous_width: int = 1) -> int:
    """Return how many half-width cells one grapheme cluster takes."""
    width = wcswidth(cluster, ambiguous_width=ambiguous_width)
    if width < 1 and unicodedata.category(cluster[0]) == "Mc":
        return 1
    return max(width, 0)


@lru_cache(maxsize=1 << 16)
def is_solid(cluster: str) -> bool:
    """Tell whether a string is one visible cluster in NFC that never joins a neighbour.

    Any concatenation of solid clusters is NFC and segments into exactly those clusters, so what is counted
    cluster by cluster adds up.
    """
    if cluster.isascii():
        return len(cluster) == 1 and cluster.isprintable()
    return _is_visible(cluster) and _stays_apart(cluster)


def _is_visible(cluster: str) -> bool:
    categories = [unicodedata.category(character) for character in cluster]
    return categories[0] != "Cf" and _NOWHERE.isdisjoint(categories) and cells(cluster) > 0


def _stays_apart(cluster: str) -> bool:
    woven = cluster.join(_NEIGHBOURS)
    clusters = graphemes(woven)
    return (
        unicodedata.is_normalized("NFC", woven)
        and tuple(clusters[::2]) == _NEIGHBOURS
        and all(between == cluster for between in clusters[1::2])
    )
