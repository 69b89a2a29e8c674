"""Build the automaton that gives every piece of a vocabulary its cost in a unit."""

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from copyfit.text.automaton import FIRST_PIECE, FORBIDDEN, CostAutomaton
from copyfit.text.budgets import MAX_BUDGET
from copyfit.text.graphemes import graphemes, is_solid
from copyfit.text.units import check_unit, septets, weigh

_OPENING, _EMPTY, _SPACE, _INSIDE = range(4)
"""Where a text stands: before its free first space, empty, behind a space, behind anything else."""
_PLACES = 4
_PERIOD = 7
"""Seven UTF-16 units fill sixteen septets to the bit."""


class _Rules(NamedTuple):
    """Transitions over all states, before forbidden and unreachable ones are dropped; [state, piece]."""

    permitted: NDArray[np.bool_]
    cost: NDArray[np.int64]
    next_state: NDArray[np.int64]
    accepts: NDArray[np.bool_]


def cost_automaton(pieces: Sequence[str], unit: str, *, prefixed: bool, ucs2: bool = False) -> CostAutomaton:
    """Build the automaton of a vocabulary in a unit; `pieces[i]` is the text of token `FIRST_PIECE + i`.

    The texts it accepts neither begin nor end with a space and have no two in a row. Pieces that are not
    made of solid clusters are forbidden, since their costs would not add up. In a `prefixed` vocabulary the
    first piece begins with a space that costs nothing. In `gsm7`, `ucs2` asks for texts that travel as
    UCS-2; without it they stay in the GSM-7 alphabet.
    """
    check_unit(unit)
    rules = _structure(pieces)
    if unit == "word":
        rules = _count_words(rules, pieces)
    elif unit == "gsm7" and ucs2:
        rules = _count_ucs2(rules, pieces)
    else:
        rules = _add_weights(rules, [_weigh_piece(piece, unit) for piece in pieces])
    start = (_OPENING if prefixed else _EMPTY) * (len(rules.accepts) // _PLACES)
    return _finish(rules, start)


def needs_ucs2(source: str) -> bool:
    """Tell whether more than half of a text's letters are outside the GSM-7 alphabet."""
    letters = [character for character in unicodedata.normalize("NFC", source) if character.isalpha()]
    outside = sum(septets(letter) is None for letter in letters)
    return 2 * outside > len(letters)


def _structure(pieces: Sequence[str]) -> _Rules:
    writable = np.array([_is_writable(piece) for piece in pieces], dtype=bool)
    leads = np.array([piece.startswith(" ") for piece in pieces], dtype=bool)
    trails = np.array([piece.endswith(" ") for piece in pieces], dtype=bool)
    lone_space = np.array([piece == " " for piece in pieces], dtype=bool)
    permitted = np.empty((_PLACES, len(pieces)), dtype=bool)
    permitted[_OPENING] = writable & leads
    permitted[[_EMPTY, _SPACE]] = writable & ~leads
    permitted[_INSIDE] = writable
    next_place = np.tile(np.where(trails, _SPACE, _INSIDE), (_PLACES, 1))
    next_place[_OPENING, lone_space] = _EMPTY
    accepts = np.arange(_PLACES) == _INSIDE
    return _Rules(permitted, np.zeros_like(next_place), next_place, accepts)


def _is_writable(piece: str) -> bool:
    if piece.isascii():
        return bool(piece) and piece.isprintable() and "  " not in piece
    return "  " not in piece and all(is_solid(cluster) for cluster in graphemes(piece))


def _weigh_piece(piece: str, unit: str) -> int:
    if unit == "gsm7":
        weight = septets(piece)
        return FORBIDDEN if weight is None else weight
    if piece.isascii():
        return len(piece)
    return sum(weigh(cluster, unit) for cluster in graphemes(piece))


def _add_weights(rules: _Rules, weights: Sequence[int]) -> _Rules:
    weight = np.array(weights, dtype=np.int64)
    cost = np.tile(weight, (_PLACES, 1))
    cost[_OPENING] -= 1
    return rules._replace(permitted=rules.permitted & (weight != FORBIDDEN), cost=cost)


def _count_words(rules: _Rules, pieces: Sequence[str]) -> _Rules:
    words = np.array([len(piece.split()) for piece in pieces], dtype=np.int64)
    continues = np.array([not piece.startswith(" ") for piece in pieces], dtype=bool)
    cost = np.tile(words, (_PLACES, 1))
    cost[_INSIDE] -= continues
    return rules._replace(cost=cost)


def _count_ucs2(rules: _Rules, pieces: Sequence[str]) -> _Rules:
    """Add to each place the units written (modulo seven) and whether one of them needs UCS-2."""
    foreign = np.array([septets(piece) is None for piece in pieces], dtype=np.int64)
    units = np.tile([_weigh_piece(piece, "utf16") for piece in pieces], (_PLACES, 1))
    units[_OPENING] -= 1
    before = np.arange(_PERIOD)[:, None]
    after = before + units[:, None, :]
    cost = _septets_of_ucs2(after) - _septets_of_ucs2(before)
    seen = np.arange(2)[:, None] | foreign
    next_state = ((rules.next_state[:, None] * _PERIOD + after % _PERIOD) * 2)[:, :, None] + seen
    shape = (_PLACES * _PERIOD * 2, len(pieces))
    return _Rules(
        np.repeat(rules.permitted, _PERIOD * 2, axis=0),
        np.repeat(cost, 2, axis=1).reshape(shape),
        next_state.reshape(shape),
        np.repeat(rules.accepts, _PERIOD * 2) & (np.arange(shape[0]) % 2 == 1),
    )


def _septets_of_ucs2(units: NDArray[np.int64]) -> NDArray[np.int64]:
    return (16 * units + 6) // 7


def _finish(rules: _Rules, start: int) -> CostAutomaton:
    """Keep the states that a text can reach, the start first, and the tokens that are no text forbidden."""
    permitted = rules.permitted & (rules.cost <= MAX_BUDGET)
    kept = _reachable(permitted, rules.next_state, start)
    new_name = np.zeros(len(rules.accepts), dtype=np.int64)
    new_name[kept] = np.arange(len(kept))
    permitted = permitted[kept]
    width = FIRST_PIECE + permitted.shape[1]
    cost = np.full((len(kept), width), FORBIDDEN, dtype=np.int16)
    cost[:, FIRST_PIECE:] = np.where(permitted, rules.cost[kept], FORBIDDEN)
    next_state = np.zeros((len(kept), width), dtype=np.int16)
    next_state[:, FIRST_PIECE:] = np.where(permitted, new_name[rules.next_state[kept]], 0)
    return CostAutomaton(cost, next_state, rules.accepts[kept], 0)


def _reachable(permitted: NDArray[np.bool_], next_state: NDArray[np.int64], start: int) -> list[int]:
    found = [start]
    for state in found:
        following = np.unique(next_state[state, permitted[state]]).tolist()
        found += [other for other in following if other not in found]
    return found
