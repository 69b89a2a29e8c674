"""What a unit means for a vocabulary: what tokens cost, and which lengths can be written at all."""

import numpy as np
from numpy.typing import NDArray

from copyfit.generation.jobs import Counting
from copyfit.text.automaton import CostAutomaton
from copyfit.text.budgets import longest_steps, nearest_budget
from copyfit.text.vocabulary import TargetVocabulary


class Measure:
    """Hold what one unit costs in one vocabulary, and remember what budgets mean in it."""

    def __init__(self, target: TargetVocabulary, unit: str, trained_unit: str, *, ucs2: bool) -> None:
        trained = target.automaton(trained_unit)
        self._automaton = target.automaton(unit, ucs2=ucs2)
        self._nearest: dict[int, int] = {}
        self._steps: dict[int, int] = {}
        self.counting = Counting(
            automaton=self._automaton,
            trained_cost=_free_moves(trained) * np.float32(unit != trained_unit),
            pieces=target.pieces,
            text_hash=target.rolling_hash(),
        )

    def nearest(self, budget: int) -> int:
        """Return the greatest budget, at most the given one, that some text spends exactly; 0 when none."""
        if budget not in self._nearest:
            self._nearest[budget] = nearest_budget(self._automaton, budget)
        return self._nearest[budget]

    def longest_steps(self, limit: int) -> int:
        """Return a safe cap on the number of tokens of a text that spends at most the limit."""
        if limit not in self._steps:
            self._steps[limit] = longest_steps(self._automaton, limit)
        return self._steps[limit]


def _free_moves(trained: CostAutomaton) -> NDArray[np.float32]:
    costs: NDArray[np.float32] = np.maximum(trained.cost, 0).max(axis=0).astype(np.float32)
    return costs
