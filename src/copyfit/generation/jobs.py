"""What a writer asks of an engine and what it gets back. Plain values, no tensors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from copyfit.errors import RequestError
from copyfit.text.automaton import CostAutomaton


def always() -> bool:
    """Say that something is wanted to its end."""
    return True


@dataclass(frozen=True)
class Job:
    """One row of a search: a source, what the decoder is told, and the bounds that must hold.

    `floor <= spent <= limit` holds for every headline of the job, counted by the automaton's costs.
    `aim` is the budget the decoder is told, in the unit the model was trained in; `scale` turns units of the
    automaton into units of the model (1.0 when they are the same).
    """

    source: tuple[int, ...]
    aim: float
    floor: int
    limit: int
    max_steps: int
    scale: float = 1.0
    prefix: tuple[int, ...] = ()
    """The tokens that the text must begin with."""
    required: tuple[str, ...] = ()
    """Words or phrases, normalised, that must stand in the text as whole words, in any segmentation."""
    normalised: bool = False
    """Whether texts compare by their score per unit spent, and the search ends with as many as it has beams.

    For texts whose length the model decides: by plain sums an early end beats any long text.
    """
    wanted: Callable[[], bool] = field(default=always, compare=False, repr=False)
    """Asked between two steps, perhaps by another thread; once it is false, the job ends without results."""


@dataclass(frozen=True)
class Sampling:
    """Draw tokens at random instead of keeping the best: `num_beams` independent samples a job.

    Samples that are the same string are one hypothesis. The same job and seed give the same samples.
    """

    temperature: float = 1.0
    top_k: int = 0
    """Draw among this many likeliest tokens; 0 is among all."""
    top_p: float = 1.0
    """Draw among the likeliest of these that together have this share of their probability."""
    seed: int = 0

    def __post_init__(self) -> None:
        _check(self.temperature > 0, "temperature must be above 0", self.temperature)
        _check(self.top_k >= 0, "top_k must be 0 (all tokens) or above", self.top_k)
        _check(0 < self.top_p <= 1, "top_p must be above 0 and at most 1", self.top_p)


@dataclass(frozen=True)
class SearchOptions:
    """How to search, the same for all jobs of a call."""

    num_beams: int = 5
    keep: int = 5
    """How many finished hypotheses to return a job, best first."""
    no_repeat_ngram: int = 0
    """No token n-gram of this size twice, as far as the fit and the required words allow; 0 is off."""
    length_penalty: float = 0.0
    """Finished hypotheses compare by score / spent ** length_penalty; 0 is the plain sum."""
    sampling: Sampling | None = None
    batch_size: int = 32
    """How many jobs are searched together, at most. Results do not depend on it."""

    def __post_init__(self) -> None:
        _check(self.num_beams >= 1, "num_beams must be at least 1", self.num_beams)
        _check(self.keep >= 1, "keep must be at least 1", self.keep)
        _check(self.batch_size >= 1, "batch_size must be at least 1", self.batch_size)
        _check(self.no_repeat_ngram >= 0, "no_repeat_ngram must be 0 (off) or above", self.no_repeat_ngram)


@dataclass(frozen=True, eq=False)
class Counting:
    """The rules all jobs of one call share: the unit's automaton and the costs the model was trained on.

    Keep one object a unit: what is derived from it is remembered by its identity.
    """

    automaton: CostAutomaton
    trained_cost: NDArray[np.float32]
    """How far a token that is free in the automaton's unit moves the position, in the model's own unit.

    The token's cost there regardless of context (0 for the three special ones); all zeros where both units
    are the same, since then what is free does not move the position.
    """
    pieces: tuple[str, ...]
    """The text of each token from `FIRST_PIECE` on, to find required words in."""
    text_hash: NDArray[np.int64]
    """Two numbers a token, [vocabulary, 2]: (multiplier, addend) of the rolling hash of its characters."""


class Hypothesis(NamedTuple):
    """A finished token sequence (no start or end token), its summed log-probability and what it spent."""

    tokens: tuple[int, ...]
    score: float
    spent: int


def _check(holds: object, rule: str, given: float) -> None:
    if not holds:
        raise RequestError(f"{rule}, given {given}")


class Engine(Protocol):
    """Run a model for the search."""

    def search(
        self, jobs: Sequence[Job], counting: Counting, options: SearchOptions
    ) -> list[list[Hypothesis]]:
        """Return the hypotheses of each job, in the order of the jobs, best first.

        Every hypothesis keeps its job's bounds, prefix and required words. A job that no text can keep has
        no hypotheses (`generation.constraints.feasible` tells beforehand), nor has one that is no longer
        wanted; any other has at least one.
        """
        ...
