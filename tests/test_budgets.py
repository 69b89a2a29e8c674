import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copyfit.text.automata import cost_automaton
from copyfit.text.automaton import FIRST_PIECE, FORBIDDEN, CostAutomaton
from copyfit.text.budgets import MAX_BUDGET, UNREACHABLE, longest_steps, nearest_budget, steps_to_finish
from copyfit.text.normal import normalise
from copyfit.text.units import count


@st.composite
def automata(draw: st.DrawFn) -> CostAutomaton:
    """Any automaton at all: up to four states and four tokens, free moves and dead ends included."""
    states, tokens = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    cell = st.tuples(st.integers(FORBIDDEN, 4), st.integers(0, states - 1))
    row = st.lists(cell, min_size=tokens, max_size=tokens)
    table = np.array(draw(st.lists(row, min_size=states, max_size=states)), dtype=np.int16)
    accepts = draw(st.lists(st.booleans(), min_size=states, max_size=states))
    return CostAutomaton(table[..., 0], table[..., 1], np.array(accepts), 0)


def moves(automaton: CostAutomaton, state: int, left: int) -> set[tuple[int, int]]:
    return {
        (int(target), left - int(cost))
        for cost, target in zip(automaton.cost[state], automaton.next_state[state], strict=True)
        if FORBIDDEN != cost <= left
    }


def fewest_pieces(automaton: CostAutomaton, state: int, left: int, slack: int) -> int:
    """Enumerate all texts piece by piece, as sets of (state, left), until one may end."""
    seen: set[tuple[int, int]] = set()
    frontier = {(state, left)}
    pieces = 0
    while frontier:
        if any(automaton.accepts[here] and rest <= slack for here, rest in frontier):
            return pieces
        seen |= frontier
        frontier = {move for here, rest in frontier for move in moves(automaton, here, rest)} - seen
        pieces += 1
    return UNREACHABLE


@given(automata(), st.integers(0, 9), st.integers(0, 4))
@settings(deadline=None)
def test_the_steps_to_the_end_equal_those_found_by_enumeration(
    automaton: CostAutomaton, limit: int, slack: int
) -> None:
    steps = steps_to_finish(automaton, limit=limit, slack=slack)
    states = range(len(automaton.accepts))
    expected = [
        [fewest_pieces(automaton, state, left, slack) for left in range(limit + 1)] for state in states
    ]
    assert steps.tolist() == expected
    assert steps.dtype == np.int16


VOCABULARIES = {
    "wide-only": (["漢", "字", " "], False),
    "characters": (["a", "漢", " ", "é", "😀", "^"], False),
    "subwords": ([" a", "b", " ", " 漢字", "fire", "ж"], True),
}


def texts(pieces: list[str], longest: int, *, prefixed: bool) -> set[str]:
    """Write every well-formed text of up to so many pieces."""
    sequences = ("".join(choice) for size in range(1, longest + 1) for choice in product(pieces, repeat=size))
    bodies = {
        written[1:] if prefixed else written for written in sequences if written[0] == " " or not prefixed
    }
    return {body for body in bodies if body and normalise(body) == body}


@pytest.mark.parametrize("name", VOCABULARIES)
@pytest.mark.parametrize("unit", ["char", "cell", "byte", "utf16", "word", "x", "gsm7"])
def test_the_budgets_that_can_be_spent_are_the_counts_of_the_texts_there_are(name: str, unit: str) -> None:
    pieces, prefixed = VOCABULARIES[name]
    written = texts(pieces, 5, prefixed=prefixed)
    foreign = {body for body in written if unit == "gsm7" and count(body, unit) != count_gsm_only(body)}
    counts = {count(body, unit) for body in written - foreign}
    automaton = cost_automaton(pieces, unit, prefixed=prefixed)
    for budget in range(4):
        expected = max((length for length in counts if length <= budget), default=0)
        assert nearest_budget(automaton, budget) == expected


def count_gsm_only(text: str) -> int:
    return sum({"^": 2}.get(character, 1) if character in "abfire é^" else 99 for character in text)


def test_an_odd_number_of_cells_is_out_of_reach_of_wide_characters() -> None:
    automaton = cost_automaton(["漢", "字"], "cell", prefixed=False)
    assert [nearest_budget(automaton, budget) for budget in (0, 1, 2, 31, 300)] == [0, 0, 2, 30, 300]


def test_every_budget_is_in_reach_of_single_cells() -> None:
    automaton = cost_automaton([" a", "b", " "], "cell", prefixed=True)
    assert [nearest_budget(automaton, budget) for budget in range(20)] == list(range(20))


def test_a_message_of_70_units_is_the_nearest_to_160_septets() -> None:
    automaton = cost_automaton(["ж", "я"], "gsm7", prefixed=False, ucs2=True)
    assert [nearest_budget(automaton, budget) for budget in (2, 3, 159, 160, 162)] == [0, 3, 158, 160, 160]


def test_no_budget_can_be_spent_when_nothing_may_be_written() -> None:
    assert nearest_budget(cost_automaton([], "char", prefixed=True), 50) == 0
    assert nearest_budget(cost_automaton([" "], "word", prefixed=True), 50) == 0


def test_the_end_is_as_near_as_the_longest_pieces_allow() -> None:
    automaton = cost_automaton([" a", "b", "cde", " "], "char", prefixed=True)
    steps = steps_to_finish(automaton, limit=8, slack=0)
    assert steps[automaton.start].tolist() == [UNREACHABLE, 1, 2, 2, 2, 3, 3, 3, 4]
    inside = automaton.next_state[automaton.start, FIRST_PIECE]
    assert steps[inside].tolist() == [0, 1, 1, 1, 2, 2, 2, 3, 3]
    slack = steps_to_finish(automaton, limit=8, slack=2)
    assert slack[inside].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_the_greatest_budget_there_is_can_be_spent_letter_by_letter() -> None:
    automaton = cost_automaton(["a", " "], "word", prefixed=False)
    steps = steps_to_finish(automaton, limit=MAX_BUDGET, slack=0)
    assert steps[automaton.start, MAX_BUDGET] == 2 * MAX_BUDGET - 1
    assert nearest_budget(automaton, MAX_BUDGET) == MAX_BUDGET


def most_pieces(automaton: CostAutomaton, limit: int) -> float:
    """Follow every text to its last piece; infinite where free pieces run in a circle."""
    longest: dict[tuple[int, int], float] = {}

    def follow(state: int, left: int) -> float:
        if (state, left) not in longest:
            longest[state, left] = math.inf  # what a circle finds when it comes back here
            longest[state, left] = max(
                (1 + follow(*move) for move in moves(automaton, state, left)), default=0
            )
        return longest[state, left]

    return follow(automaton.start, limit)


@given(automata(), st.integers(0, 9))
@settings(deadline=None)
def test_the_cap_on_steps_is_finite_and_never_in_the_way(automaton: CostAutomaton, limit: int) -> None:
    cap = longest_steps(automaton, limit)
    longest = most_pieces(automaton, limit)
    assert longest <= cap or longest == math.inf
    needed = steps_to_finish(automaton, limit=limit, slack=limit)[automaton.start].astype(int)
    assert all(steps <= cap for steps in needed if steps != UNREACHABLE)


@pytest.mark.parametrize(
    ("pieces", "unit", "prefixed", "cap"),
    [
        (["a", " "], "char", False, 75),
        (["a", " a", " "], "char", True, 76),
        ([" ab", "ab"], "char", True, 37),
        (["漢"], "cell", False, 37),
        (["漢", "a"], "byte", False, 75),
    ],
)
def test_the_cap_is_no_more_than_the_longest_text_when_pieces_cost(
    *, pieces: list[str], unit: str, prefixed: bool, cap: int
) -> None:
    assert longest_steps(cost_automaton(pieces, unit, prefixed=prefixed), 75) == cap


def test_words_have_room_to_be_spelled_out() -> None:
    automaton = cost_automaton([*"abcdefghijklmnopqrstuvwxyz", " "], "word", prefixed=False)
    assert longest_steps(automaton, 1) > len("donaudampfschifffahrtsgesellschaftskapitän")
    sentence = (
        "internationally acclaimed conservationists unexpectedly rediscovered supposedly extinct butterflies"
    )
    assert longest_steps(automaton, 8) > len(sentence)
    assert longest_steps(automaton, MAX_BUDGET) < 20 * MAX_BUDGET
