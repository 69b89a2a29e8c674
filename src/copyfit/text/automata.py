"""Build the automaton that gives every piece of a vocabulary its cost in a unit."""

from collections.abc import Sequence

from copyfit.text.automaton import CostAutomaton


def cost_automaton(pieces: Sequence[str], unit: str, *, prefixed: bool, ucs2: bool = False) -> CostAutomaton:
    """Build the automaton of a vocabulary in a unit; `pieces[i]` is the text of token FIRST_PIECE + i."""
    raise NotImplementedError


def needs_ucs2(source: str) -> bool:
    """Tell whether more than half of a text's letters are outside the GSM-7 alphabet."""
    raise NotImplementedError
