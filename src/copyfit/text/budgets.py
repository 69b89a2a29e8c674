"""Which budgets can be spent to the last unit, and in how many steps."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from copyfit.text.automaton import FORBIDDEN, CostAutomaton

MAX_BUDGET = 10_000
UNREACHABLE = 32_767
_FREE_STEPS = 16
_FREE_ROOM = 64


class _Moves(NamedTuple):
    """The distinct (cost, next state) pairs of every state."""

    state: NDArray[np.int64]
    cost: NDArray[np.int64]
    next_state: NDArray[np.int64]

    def where(self, mask: NDArray[np.bool_]) -> "_Moves":
        return _Moves(self.state[mask], self.cost[mask], self.next_state[mask])


def steps_to_finish(automaton: CostAutomaton, *, limit: int, slack: int) -> NDArray[np.int16]:
    """Return the least number of pieces after which a text may end, for every state and what is left.

    Entry [state, left] counts the pieces until an accepting state with at most `slack` units left is reached:
    0 where the text may end at once, `UNREACHABLE` where it never can.
    """
    moves = _distinct_moves(automaton)
    paid = moves.where((moves.cost > 0) & (moves.cost <= limit))
    free = moves.where(moves.cost == 0)
    states = len(automaton.accepts)
    hops = _free_hops(free, states)
    margin = int(paid.cost.max(initial=0))
    # One row for each number of units left, behind a margin of rows that nothing reaches; the last column
    # is a state that nothing reaches, for the gaps in the table of moves.
    steps = np.full((margin + limit + 1, states + 1), UNREACHABLE, dtype=np.int32)
    flat = steps.reshape(-1)
    origins = _origins(paid, states, margin)
    may_end = np.where(automaton.accepts, 0, UNREACHABLE)
    for left in range(limit + 1):
        row = flat.take(origins + left * (states + 1)).min(axis=1) + 1
        if left <= slack:
            row = np.minimum(row, may_end)
        if len(free.cost):
            row = (hops + row).min(axis=1)
        steps[margin + left, :states] = row
    return np.minimum(steps[margin:, :states].T, UNREACHABLE).astype(np.int16)


def nearest_budget(automaton: CostAutomaton, budget: int) -> int:
    """Return the greatest budget, at most the given one, that a text can spend exactly; 0 when none."""
    steps = steps_to_finish(automaton, limit=budget, slack=0)[automaton.start]
    return int(np.flatnonzero(steps < UNREACHABLE).max(initial=0))


def longest_steps(automaton: CostAutomaton, limit: int) -> int:
    """Return a safe cap on the number of pieces of a text that spends at most the limit.

    Where pieces can follow each other for ever at no cost (letters of a word, counted in words), the cap
    leaves room for real words instead.
    """
    moves = _distinct_moves(automaton)
    paid = moves.where(moves.cost > 0)
    run = _longest_free_runs(moves.where(moves.cost == 0), len(automaton.accepts))
    if run is None:
        return _FREE_ROOM + _FREE_STEPS * limit
    cheapest = int(paid.cost.min(initial=limit + 1))
    later = int(run[paid.next_state].max(initial=0))
    return int(run[automaton.start]) + limit // cheapest * (1 + later)


def _distinct_moves(automaton: CostAutomaton) -> _Moves:
    """Reduce thousands of tokens a state to its few distinct moves, sorted by state."""
    permitted = automaton.cost != FORBIDDEN
    shape = (len(permitted), max(int(automaton.cost.max()), 0) + 1, len(permitted))
    state = np.nonzero(permitted)[0]
    keys = np.ravel_multi_index((state, automaton.cost[permitted], automaton.next_state[permitted]), shape)
    present = np.zeros(np.prod(shape), dtype=bool)
    present[keys] = True
    return _Moves(*np.unravel_index(np.flatnonzero(present), shape))


def _origins(paid: _Moves, states: int, margin: int) -> NDArray[np.int64]:
    """Return where, in the flat table at 0 units left, each state finds the entries its moves lead to."""
    moves = np.bincount(paid.state, minlength=states)
    column = np.arange(len(paid.state)) - np.repeat(np.cumsum(moves) - moves, moves)
    origins = np.full((states, max(int(moves.max()), 1)), states, dtype=np.int64)
    origins[paid.state, column] = (margin - paid.cost) * (states + 1) + paid.next_state
    return origins


def _free_hops(free: _Moves, states: int) -> NDArray[np.int32]:
    """Return the least number of free pieces that lead from each state to each other."""
    hops = np.full((states, states), UNREACHABLE, dtype=np.int32)
    hops[free.state, free.next_state] = 1
    np.fill_diagonal(hops, 0)
    for middle in np.intersect1d(free.state, free.next_state):
        hops = np.minimum(hops, hops[:, middle, None] + hops[None, middle])
    return hops


def _longest_free_runs(free: _Moves, states: int) -> NDArray[np.int64] | None:
    """Return how many free pieces can follow each other from each state, None where there is no end."""
    step = np.zeros((states, states), dtype=bool)
    step[free.state, free.next_state] = True
    longest = np.zeros(states, dtype=np.int64)
    reached = step
    for length in range(1, states + 1):
        if not reached.any():
            return longest
        longest[reached.any(axis=1)] = length
        reached = reached @ step
    return None
