"""What each token costs in a unit, given what was written before."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FORBIDDEN = -1
PADDING, START, END = 0, 1, 2
"""The ids of the three tokens that are no text; every vocabulary's pieces begin at 3."""
FIRST_PIECE = 3


class CostAutomaton(NamedTuple):
    """Give every token a cost and a next state; the costs along a text add up to its count.

    `cost[state, token]` is `FORBIDDEN` where the token cannot follow (a second space, say), and for the
    three tokens that are no text. A text may end in the states that `accepts`.
    """

    cost: NDArray[np.int16]
    next_state: NDArray[np.int16]
    accepts: NDArray[np.bool_]
    start: int

    def spend(self, tokens: Sequence[int]) -> list[int]:
        """Return the budget consumed before each token and, last, after all of them."""
        state, consumed = self.start, [0]
        for token in tokens:
            cost = int(self.cost[state, token])
            if cost == FORBIDDEN:
                raise ValueError(f"token {token} cannot follow in state {state}")
            consumed.append(consumed[-1] + cost)
            state = int(self.next_state[state, token])
        return consumed
