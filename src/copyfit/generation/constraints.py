"""Which texts a job may write: the unit's automaton and the required words, as one small automaton.

Tokens that behave alike in every state are one class, so its tables stay small, and what is possible after
a token is looked up instead of tried. Needs no PyTorch.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from copyfit.errors import RequestError
from copyfit.generation.jobs import Counting, Job
from copyfit.generation.phrases import MAX_STATES, Tracker, track
from copyfit.text.automaton import FIRST_PIECE, FORBIDDEN, CostAutomaton
from copyfit.text.budgets import steps_to_finish
from copyfit.text.graphemes import graphemes

_LIMIT_STEP = 64
"""Tables are made for limits rounded up to a multiple of this, so that many jobs share one."""
_REMEMBERED = 64


@dataclass(frozen=True, eq=False)
class Grammar:
    """The texts of a unit that hold some required words, as an automaton over classes of tokens."""

    automaton: CostAutomaton
    """Its tables are [states, classes]."""
    classes: NDArray[np.int64]
    """The class of each token of the vocabulary."""
    covered: NDArray[np.int64]
    """How many grapheme clusters of the required words stand in a text, for each state."""


class _Spelling(NamedTuple):
    """The pieces of a vocabulary as rows of cluster numbers, the longest first."""

    clusters: tuple[str, ...]
    numbers: NDArray[np.int64]
    lengths: NDArray[np.int64]
    tokens: NDArray[np.int64]
    """The token of each row."""


def feasible(job: Job, counting: Counting) -> bool:
    """Tell whether any text keeps the bounds of a job and holds its prefix and its required words."""
    grammar = grammar_of(counting, job.required)
    automaton = grammar.automaton
    state, left = automaton.start, job.limit
    for token in grammar.classes[list(job.prefix)]:
        cost = int(automaton.cost[state, token])
        if cost == FORBIDDEN or cost > left:
            return False
        state, left = int(automaton.next_state[state, token]), left - cost
    return int(finishing_steps(grammar, job)[state, left]) <= job.max_steps - len(job.prefix)


def finishing_steps(grammar: Grammar, job: Job) -> NDArray[np.int16]:
    """Return a table of `steps_to_finish` for a job's floor and limit; it may reach beyond the limit."""
    longest = -(-job.limit // _LIMIT_STEP) * _LIMIT_STEP
    # Every text costs at least one unit, so a floor of one bounds nothing, and such jobs share a table.
    return _steps(grammar, longest, longest if job.floor <= 1 else job.limit - job.floor)


@lru_cache(_REMEMBERED)
def _steps(grammar: Grammar, limit: int, slack: int) -> NDArray[np.int16]:
    return steps_to_finish(grammar.automaton, limit=limit, slack=slack)


@lru_cache(_REMEMBERED)
def grammar_of(counting: Counting, required: tuple[str, ...]) -> Grammar:
    """Return the grammar of a unit and required words; raise when they are too many to keep track of."""
    automaton, tracker = counting.automaton, track(required)
    after = _read_pieces(tracker, _spell(counting), automaton.cost.shape[1])
    behaviour = np.concatenate([automaton.cost, automaton.next_state, after])
    numbers: dict[bytes, int] = {}
    classes = np.array([numbers.setdefault(token.tobytes(), len(numbers)) for token in behaviour.T])
    examples = np.unique(classes, return_index=True)[1]
    unit = automaton._replace(cost=automaton.cost[:, examples], next_state=automaton.next_state[:, examples])
    joined, reads = _join(unit, tracker, after[:, examples])
    return Grammar(joined, classes, tracker.covered[reads])


@lru_cache(_REMEMBERED)
def _spell(counting: Counting) -> _Spelling:
    spelled = [graphemes(piece) for piece in counting.pieces]
    names: dict[str, int] = {}
    for clusters in spelled:
        for cluster in clusters:
            names.setdefault(cluster, len(names))
    order = sorted(range(len(spelled)), key=lambda piece: -len(spelled[piece]))
    lengths = np.array([len(spelled[piece]) for piece in order])
    numbers = np.zeros((len(order), lengths.max(initial=0)), dtype=np.int64)
    for row, piece in enumerate(order):
        numbers[row, : lengths[row]] = [names[cluster] for cluster in spelled[piece]]
    return _Spelling(tuple(names), numbers, lengths, np.array(order) + FIRST_PIECE)


def _read_pieces(tracker: Tracker, spelling: _Spelling, vocabulary: int) -> NDArray[np.int16]:
    """Return the tracker's state after each token, [states, vocabulary]."""
    symbols = np.array([tracker.symbol(cluster) for cluster in spelling.clusters])[spelling.numbers]
    after = np.tile(np.arange(len(tracker.accepts))[:, None], len(spelling.tokens))
    for place in range(symbols.shape[1]):
        reading = int(np.count_nonzero(spelling.lengths > place))
        after[:, :reading] = tracker.next_state[after[:, :reading], symbols[:reading, place]]
    states = np.zeros((len(tracker.accepts), vocabulary), dtype=np.int16)
    states[:, spelling.tokens] = after
    return states


def _join(
    unit: CostAutomaton, tracker: Tracker, after: NDArray[np.int16]
) -> tuple[CostAutomaton, NDArray[np.int64]]:
    """Run both automata side by side; return what the start can reach, and the tracker's state in each."""
    width = len(unit.accepts)

    def moves(pairs: NDArray[np.int64]) -> tuple[NDArray[np.int16], NDArray[np.int64]]:
        read, state = np.divmod(pairs, width)
        return unit.cost[state], after[read].astype(np.int64) * width + unit.next_state[state]

    found = new = np.array([unit.start])
    while new.size:
        cost, following = moves(new)
        new = np.setdiff1d(following[cost != FORBIDDEN], found)
        found = np.union1d(found, new)
        if len(found) > MAX_STATES:
            raise RequestError(
                f"required words must be few and short in this unit, given {tracker.covered.max()}"
                " characters together; leave some out"
            )
    cost, following = moves(found)
    next_state = np.where(cost == FORBIDDEN, 0, np.searchsorted(found, following)).astype(np.int16)
    read, state = np.divmod(found, width)
    accepts = tracker.accepts[read] & unit.accepts[state]
    start = int(np.searchsorted(found, unit.start))
    return CostAutomaton(cost, next_state, accepts, start), read
