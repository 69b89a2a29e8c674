"""The grapheme clusters a target vocabulary is made of, and one code point for each of them."""

from collections import Counter
from collections.abc import Iterable, Sequence

from copyfit.text.graphemes import graphemes, is_solid

FIRST_CODE, LAST_CODE = "\U000f0000", "\U000ffffd"
"""Private code points, which no solid cluster contains, stand for clusters of several code points."""
OUTSIDE = "\U0010fffd"
"""Stands for every cluster that is no atom; private too."""


class Alphabet:
    """Hold the atoms of a vocabulary and spell texts with one code point for each cluster.

    Atoms are solid, so a text of atoms has one spelling however it is cut.
    """

    def __init__(self, atoms: Iterable[str]) -> None:
        atoms = list(atoms)
        several = [atom for atom in atoms if len(atom) > 1]
        self.codes = {atom: chr(ord(FIRST_CODE) + place) for place, atom in enumerate(several)}
        self._single = frozenset(atom for atom in atoms if len(atom) == 1)

    def spell(self, text: str) -> str:
        """Write every cluster as one code point."""
        return text if self._single.issuperset(text) else "".join(map(self._code, graphemes(text)))

    def _code(self, cluster: str) -> str:
        return cluster if cluster in self._single else self.codes.get(cluster, OUTSIDE)


def frequent_clusters(texts: Iterable[str], *, minimum: int, most: int) -> list[str]:
    """Return the solid clusters that occur at least so often, the most frequent first."""
    counts = _count_clusters(texts)
    frequent = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    return [cluster for cluster, number in frequent if number >= minimum and is_solid(cluster)][:most]


def _count_clusters(texts: Iterable[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for text in texts:
        clusters: Sequence[str] = text if all(map(is_solid, text)) else graphemes(text)
        counts.update(clusters)
    return counts
