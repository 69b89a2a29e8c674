"""Where required words stand in a text that is read cluster by cluster."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from copyfit.errors import RequestError
from copyfit.text.graphemes import graphemes
from copyfit.text.scripts import is_unspaced

MAX_STATES = 1024
"""How many places in the required words can be told apart: about five words of eight letters."""
GAP, LETTER = 0, 1
"""The symbols of all clusters that are in no phrase."""


class Tracker(NamedTuple):
    """An automaton that reads clusters and knows which phrases have occurred as whole words."""

    symbols: dict[str, int]
    """The clusters of the phrases; every other cluster reads as `GAP` or `LETTER`."""
    next_state: NDArray[np.int64]
    """[states, symbols]; state 0 is the start."""
    accepts: NDArray[np.bool_]
    """Whether a text that ends here holds every phrase."""
    covered: NDArray[np.int64]
    """How many clusters of the phrases the text holds, those of a phrase that is being written included."""

    def symbol(self, cluster: str) -> int:
        """Return what a cluster reads as."""
        return self.symbols.get(cluster, LETTER if joins_words(cluster) else GAP)


class _Phrase(NamedTuple):
    """A phrase as bit masks: bit i stands for its cluster i."""

    places: dict[int, int]
    """For each symbol, where it stands."""
    length: int
    begins_word: bool
    ends_word: bool

    @property
    def last(self) -> int:
        """Return the bit of the last cluster."""
        return 1 << (self.length - 1)


class _State(NamedTuple):
    """What a text holds so far: bit i of `written[p]` is set when its last i + 1 clusters begin phrase p."""

    held: frozenset[int]
    written: tuple[int, ...]
    in_word: bool


def joins_words(cluster: str) -> bool:
    """Tell whether a cluster beside a letter makes one word with it: a letter or digit of a spaced script."""
    if cluster.isascii():
        return cluster.isalnum()
    return cluster[0].isalnum() and not is_unspaced(cluster[0])


@lru_cache(64)
def track(required: tuple[str, ...]) -> Tracker:
    """Build the tracker of some phrases; raise when there are too many to keep apart."""
    clusters = [graphemes(phrase) for phrase in dict.fromkeys(required) if phrase]
    names = dict.fromkeys(cluster for phrase in clusters for cluster in phrase)
    symbols = {cluster: number for number, cluster in enumerate(names, start=LETTER + 1)}
    letters = [False, True, *map(joins_words, symbols)]
    phrases = [_phrase(phrase, symbols) for phrase in clusters]
    found = [_State(frozenset(), (0,) * len(phrases), in_word=False)]
    numbers = {found[0]: 0}
    table = []
    for state in found:
        following = [
            _read(state, phrases, symbol=symbol, letter=letter) for symbol, letter in enumerate(letters)
        ]
        for after in following:
            if numbers.setdefault(after, len(found)) == len(found):
                found.append(after)
        table.append([numbers[after] for after in following])
        if len(found) > MAX_STATES:
            raise RequestError(
                f"required words must be few and short, given {len(clusters)} of"
                f" {sum(map(len, clusters))} characters together; leave some out"
            )
    complete = [_complete(state, phrases) for state in found]
    covered = [sum(phrases[p].length for p in done) for done in complete]
    begun = [_begun(state, done) for state, done in zip(found, complete, strict=True)]
    accepts = [len(done) == len(phrases) for done in complete]
    return Tracker(symbols, np.array(table), np.array(accepts), np.array(covered) + np.array(begun))


def _phrase(clusters: list[str], symbols: dict[str, int]) -> _Phrase:
    places: dict[int, int] = {}
    for place, cluster in enumerate(clusters):
        places[symbols[cluster]] = places.get(symbols[cluster], 0) | 1 << place
    return _Phrase(places, len(clusters), joins_words(clusters[0]), joins_words(clusters[-1]))


def _read(state: _State, phrases: list[_Phrase], *, symbol: int, letter: bool) -> _State:
    ended = {n for n, phrase in enumerate(phrases) if state.written[n] & phrase.last and not letter}
    written = [
        (bits << 1 | (not (phrase.begins_word and state.in_word))) & phrase.places.get(symbol, 0)
        for bits, phrase in zip(state.written, phrases, strict=True)
    ]
    whole = {n for n, phrase in enumerate(phrases) if written[n] & phrase.last and not phrase.ends_word}
    held = state.held | ended | whole
    awaited = any(phrase.begins_word for n, phrase in enumerate(phrases) if n not in held)
    return _State(
        held, tuple(0 if n in held else bits for n, bits in enumerate(written)), in_word=letter and awaited
    )


def _complete(state: _State, phrases: list[_Phrase]) -> frozenset[int]:
    return state.held | {n for n, phrase in enumerate(phrases) if state.written[n] & phrase.last}


def _begun(state: _State, complete: frozenset[int]) -> int:
    return max((bits.bit_length() for n, bits in enumerate(state.written) if n not in complete), default=0)
