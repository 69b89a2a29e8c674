"""Which budgets can be spent to the last unit, and in how many steps."""

import numpy as np
from numpy.typing import NDArray

from copyfit.text.automaton import CostAutomaton

MAX_BUDGET = 10_000
UNREACHABLE = 32_767


def steps_to_finish(automaton: CostAutomaton, *, limit: int, slack: int) -> NDArray[np.int16]:
    """Return the least number of pieces after which a text may end, for every state and what is left.

    Entry [state, left] counts the pieces until an accepting state with at most `slack` units left is reached:
    0 where the text may end at once, `UNREACHABLE` where it never can.
    """
    raise NotImplementedError


def nearest_budget(automaton: CostAutomaton, budget: int) -> int:
    """Return the greatest budget, at most the given one, that a text can spend exactly; 0 when none."""
    raise NotImplementedError


def longest_steps(automaton: CostAutomaton, limit: int) -> int:
    """Return a safe cap on the number of pieces of a text that spends at most the limit."""
    raise NotImplementedError
