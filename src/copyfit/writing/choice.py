"""Which of the finished texts to give back."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple


class Candidate(NamedTuple):
    """Hold a finished text and what speaks for it."""

    text: str
    score: float
    spent: int
    aim: int
    """The budget the model was told."""
    whole: bool
    """Whether it ends in a whole word."""


def choose(candidates: Iterable[Candidate], count: int) -> list[Candidate]:
    """Return the best distinct texts: those that end in a whole word first, then by score.

    The scores of one aim compare as they are, those of different aims per unit of cost.
    """
    pool = list(candidates)
    several = len({candidate.aim for candidate in pool}) > 1

    def order(candidate: Candidate) -> tuple[bool, float]:
        return not candidate.whole, _by_unit(candidate) if several else -candidate.score

    return _distinct(sorted(pool, key=order), count)


def likeliest(candidates: Iterable[Candidate], count: int) -> list[Candidate]:
    """Return the distinct texts of the highest score per unit: what the model itself decides for."""
    return _distinct(sorted(candidates, key=_by_unit), count)


def rerank(
    candidates: Sequence[Candidate], overlap: Callable[[str], int], *, whole_first: bool
) -> list[Candidate]:
    """Sort candidates by what they share with the source; equals keep their order.

    With `whole_first` those that end in a whole word stay before all others.
    """

    def order(candidate: Candidate) -> tuple[bool, int]:
        return whole_first and not candidate.whole, -overlap(candidate.text)

    return sorted(candidates, key=order)


def _by_unit(candidate: Candidate) -> float:
    return -candidate.score / max(candidate.spent, 1)


def _distinct(candidates: Iterable[Candidate], count: int) -> list[Candidate]:
    best: dict[str, Candidate] = {}
    for candidate in candidates:
        best.setdefault(candidate.text, candidate)
    return list(best.values())[:count]
