"""Which of the finished texts to give back."""

from collections.abc import Iterable
from typing import NamedTuple


class Candidate(NamedTuple):
    """Hold a finished text and what speaks for it."""

    text: str
    score: float
    spent: int
    aim: int
    """The budget the model was told."""
    missing: int
    """How many of the required words it lacks."""
    whole: bool
    """Whether it ends in a whole word."""


def choose(candidates: Iterable[Candidate], count: int) -> list[Candidate]:
    """Return the best distinct texts: all words that were required, then a whole last word, then the score.

    The scores of one aim compare as they are, those of different aims per unit of cost.
    """
    pool = list(candidates)
    several = len({candidate.aim for candidate in pool}) > 1

    def worth(candidate: Candidate) -> tuple[int, bool, float]:
        score = candidate.score / max(candidate.spent, 1) if several else candidate.score
        return candidate.missing, not candidate.whole, -score

    best: dict[str, Candidate] = {}
    for candidate in sorted(pool, key=worth):
        best.setdefault(candidate.text, candidate)
    return list(best.values())[:count]
