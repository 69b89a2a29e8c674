"""Target texts to ids of characters or subwords whose costs add up."""

from collections.abc import Iterable, Sequence
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from copyfit.config import Section
from copyfit.errors import DataError
from copyfit.text.alphabet import frequent_clusters
from copyfit.text.automata import cost_automaton
from copyfit.text.automaton import FIRST_PIECE, CostAutomaton
from copyfit.text.graphemes import graphemes
from copyfit.text.subwords import SubwordEncoder, train_subwords
from copyfit.text.target_file import Pieces, read_pieces, write_pieces

_MULTIPLIER = 0x9E3779B97F4A7C15
_WORD = (1 << 64) - 1


class TargetSection(Section):
    """Say what targets are written in."""

    kind: Literal["character", "subword"] = "character"
    """Whether a token is one character (grapheme cluster), or may be several."""
    size: int = Field(default=8_000, ge=16, le=65_535)
    """The most tokens, the three reserved ones among them."""
    minimum: int = Field(default=5, ge=1)
    """How often a grapheme cluster, or a piece, must occur to become a token."""
    sample: int = Field(default=1_000_000, ge=1)
    """How many rows, drawn evenly from all training files, to train on; all targets of a row count."""


class TargetVocabulary:
    """Hold the pieces that targets are written in: solid clusters, and for subwords longer pieces too.

    Every frequent cluster is a piece of its own. Texts are expected in the form of `normalise`. Training
    subwords uses all cores: start worker processes by `spawn`, not by `fork`, afterwards.
    """

    def __init__(self, pieces: Sequence[str], merges: Sequence[tuple[str, str]] | None = None) -> None:
        self.pieces = tuple(pieces)
        self.prefixed = merges is not None
        self._file = Pieces(self.pieces, None if merges is None else tuple(merges))
        self._texts = ("",) * FIRST_PIECE + self.pieces
        self._ids = {piece: token for token, piece in enumerate(self.pieces, FIRST_PIECE)}
        self._subwords = SubwordEncoder(self._file) if self.prefixed else None

    def __reduce__(self) -> tuple[type[Self], Pieces]:
        return type(self), self._file

    @classmethod
    def train(cls, texts: Iterable[str], section: TargetSection) -> Self:
        """Find the pieces of texts; the same texts give the same ones."""
        sample = list(texts)
        most = section.size - FIRST_PIECE
        clusters = frequent_clusters(sample, minimum=section.minimum, most=most)
        if not clusters:
            raise DataError(
                f"a target vocabulary needs a character that occurs {section.minimum} times, "
                f"{len(sample)} texts have none; give more texts or a smaller minimum"
            )
        if section.kind == "character":
            return cls(sorted(clusters))
        atoms = sorted({" ", *clusters[: most - 1]})
        return cls(*train_subwords(sample, atoms, size=section.size, minimum=section.minimum))

    @property
    def size(self) -> int:
        """Return the number of tokens, the reserved ones included."""
        return len(self._texts)

    def encode(self, text: str) -> list[int]:
        """Return the canonical ids of a text, without start and end."""
        ids = self._encode(text)
        if ids is None:
            outside = sorted({repr(cluster) for cluster in graphemes(text) if cluster not in self._ids})
            raise DataError(
                f"every character must be in the target vocabulary, {', '.join(outside)} are not; "
                "leave them out or train with them"
            )
        return ids

    def encode_batch(
        self, texts: Sequence[str], *, dropout: float = 0.0, seed: int = 0
    ) -> list[list[int] | None]:
        """Return the ids of many texts, None for one with a cluster outside the vocabulary.

        With `dropout` subwords are cut by byte-pair encoding with this share of the merges left out, drawn
        for each text; the same texts and seed give the same. A text of characters is always cut into these.
        """
        if dropout and self._subwords:
            return self._subwords.sample(texts, dropout=dropout, seed=seed)
        return [self._encode(text) for text in texts]

    def _encode(self, text: str) -> list[int] | None:
        if self._subwords:
            return self._subwords.encode(text)
        # characters that are pieces are solid, so if all of them are, they are the clusters
        characters = list(map(self._ids.get, text))
        clusters = list(map(self._ids.get, graphemes(text))) if None in characters else characters
        known = [token for token in clusters if token is not None]
        return known if len(known) == len(clusters) else None

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of ids, leaving out reserved ones."""
        text = "".join(map(self._texts.__getitem__, ids))
        return text.removeprefix(" ") if self.prefixed else text

    def automaton(self, unit: str, *, ucs2: bool = False) -> CostAutomaton:
        """Return what each token costs in a unit, given what was written before."""
        return cost_automaton(self.pieces, unit, prefixed=self.prefixed, ucs2=ucs2)

    def rolling_hash(self) -> NDArray[np.int64]:
        """Return a multiplier and an addend for each token: `hash * multiplier + addend`, wrapping around.

        Two ways to cut one text end in the same hash.
        """
        return np.array([_hash_step(text) for text in self._texts], dtype=np.uint64).view(np.int64)

    def to_json(self) -> str:
        """Write a file for `from_json`; `tokenizers.Tokenizer.from_str` reads it too and gives the same ids.

        There a cluster outside the vocabulary has the id 0.
        """
        return write_pieces(self._file)

    @classmethod
    def from_json(cls, content: str) -> Self:
        """Read what `to_json` wrote."""
        return cls(*read_pieces(content))


def _hash_step(text: str) -> tuple[int, int]:
    multiplier, addend = 1, 0
    for character in text:
        multiplier = multiplier * _MULTIPLIER & _WORD
        addend = (addend * _MULTIPLIER + _scramble(ord(character))) & _WORD
    return multiplier, addend


def _scramble(number: int) -> int:
    """Spread a number over 64 bits (the finisher of splitmix64)."""
    number = (number + 1) * _MULTIPLIER & _WORD
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    number = (number ^ number >> 27) * 0x94D049BB133111EB & _WORD
    return number ^ number >> 31
