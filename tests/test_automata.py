import random
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from copyfit.errors import RequestError
from copyfit.text.automata import cost_automaton, needs_ucs2
from copyfit.text.automaton import END, FIRST_PIECE, FORBIDDEN, PADDING, START, CostAutomaton
from copyfit.text.budgets import MAX_BUDGET
from copyfit.text.normal import normalise
from copyfit.text.units import UNITS, count
from support_text import LOOSE_ZOO, ORACLES, ORDINARY, SOLID, SOLID_ZOO, gsm_septets

CASES = [(unit, False) for unit in UNITS] + [("gsm7", True)]
BY_CASE = pytest.mark.parametrize(("unit", "ucs2"), CASES)
BY_KIND = pytest.mark.parametrize("prefixed", [False, True], ids=["character-like", "subword-like"])
GSM_TEXT = st.sampled_from("abcEÉñß€^{|@Δ1.,")


class Walk(NamedTuple):
    """Tokens drawn at random among those that an automaton permits, one after the other."""

    pieces: list[str]
    prefixed: bool
    automaton: CostAutomaton
    tokens: list[int]

    def text(self, length: int) -> str:
        written = "".join(self.pieces[token - FIRST_PIECE] for token in self.tokens[:length])
        return written[self.prefixed :]


def vocabularies(unit: str) -> st.SearchStrategy[list[str]]:
    """Pieces of solid clusters with a space at any place, some of them with two in a row."""
    # The other counter of cells and of X knows the clusters that people write.
    kinds = ORDINARY if unit in {"cell", "cell-cjk", "x"} else SOLID
    cluster = st.one_of(kinds, GSM_TEXT, st.just(" "))
    pieces = st.lists(st.lists(cluster, min_size=1, max_size=3).map("".join), min_size=1, max_size=6)
    return pieces.map(lambda some: [" ", " the", "n", *some])


@st.composite
def walks(draw: st.DrawFn, *, unit: str, ucs2: bool) -> Walk:
    pieces, prefixed = draw(vocabularies(unit)), draw(st.booleans())
    automaton = cost_automaton(pieces, unit, prefixed=prefixed, ucs2=ucs2)
    tokens: list[int] = []
    state = automaton.start
    for choice in draw(st.lists(st.integers(0, 1000), min_size=1, max_size=12)):
        permitted = np.flatnonzero(automaton.cost[state] != FORBIDDEN)
        tokens.append(int(permitted[choice % len(permitted)]))
        state = int(automaton.next_state[state, tokens[-1]])
    return Walk(pieces, prefixed, automaton, tokens)


def assert_costs_add_up(walk: Walk, *, unit: str, ucs2: bool) -> None:
    consumed = walk.automaton.spend(walk.tokens)
    state = walk.automaton.start
    assert not walk.automaton.accepts[state]
    for length, token in enumerate(walk.tokens, start=1):
        state = int(walk.automaton.next_state[state, token])
        text = walk.text(length)
        whole = bool(text) and not text.endswith(" ")
        assert walk.automaton.accepts[state] == (whole and (not ucs2 or gsm_septets(text) is None))
        if walk.automaton.accepts[state]:
            assert normalise(text) == text
            assert consumed[length] == count(text, unit) == ORACLES[unit](text)


def prove(*, unit: str, ucs2: bool, examples: int) -> None:
    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(walks(unit=unit, ucs2=ucs2))
    def holds(walk: Walk) -> None:
        assert_costs_add_up(walk, unit=unit, ucs2=ucs2)

    holds()


@BY_CASE
def test_the_costs_of_any_permitted_text_add_up_to_its_count(*, unit: str, ucs2: bool) -> None:
    prove(unit=unit, ucs2=ucs2, examples=40)


@pytest.mark.long
@BY_CASE
def test_the_costs_of_thousands_of_permitted_texts_add_up_to_their_counts(*, unit: str, ucs2: bool) -> None:
    prove(unit=unit, ucs2=ucs2, examples=1_000)


@BY_KIND
@BY_CASE
def test_headlines_in_all_scripts_cost_what_they_count(*, unit: str, ucs2: bool, prefixed: bool) -> None:
    chance = random.Random(7)
    clusters = [
        cluster for cluster in SOLID_ZOO if ucs2 or unit != "gsm7" or gsm_septets(cluster) is not None
    ]
    pieces = [" ", *clusters, *(f" {cluster}" for cluster in clusters[::2])]
    automaton = cost_automaton(pieces, unit, prefixed=prefixed, ucs2=ucs2)
    for _ in range(200):
        words = [chance.choices(clusters, k=chance.randint(1, 6)) for _ in range(chance.randint(1, 9))]
        text = " ".join(map("".join, words)) + ("Ж" if ucs2 else "")
        tokens = tokenise(" " * prefixed + text, pieces)
        assert automaton.spend(tokens)[-1] == count(text, unit) == ORACLES[unit](text)


def tokenise(text: str, pieces: list[str]) -> list[int]:
    """Cut from the left, longest piece first."""
    tokens: list[int] = []
    while text:
        longest = max((piece for piece in pieces if text.startswith(piece)), key=len)
        tokens.append(FIRST_PIECE + pieces.index(longest))
        text = text[len(longest) :]
    return tokens


PLAIN_PIECES = [" ", "a", " b", "c d", " e ", "f  g", "   "]


@BY_KIND
@given(choices=st.lists(st.integers(0, len(PLAIN_PIECES) - 1), min_size=1, max_size=8))
@settings(deadline=None)
def test_exactly_the_singly_spaced_texts_are_permitted(*, choices: list[int], prefixed: bool) -> None:
    automaton = cost_automaton(PLAIN_PIECES, "char", prefixed=prefixed)
    written = "".join(PLAIN_PIECES[choice] for choice in choices)
    body = written[1:] if prefixed else written
    permitted = (not prefixed or written.startswith(" ")) and not body.startswith(" ") and "  " not in body
    tokens = [FIRST_PIECE + choice for choice in choices]
    if permitted:
        assert automaton.spend(tokens)[-1] == len(body)
    else:
        with pytest.raises(ValueError, match="cannot follow"):
            automaton.spend(tokens)


@pytest.mark.parametrize(
    ("pieces", "costs"),
    [
        ([" five", " alarm", " fire"], [1, 1, 1]),
        ([" ", "f", "ive", " ", "al", "arm"], [0, 1, 0, 0, 1, 0]),
        ([" five", "-", "alarm", " fire in"], [1, 0, 0, 2]),
    ],
)
def test_a_word_costs_one_where_it_starts(pieces: list[str], costs: list[int]) -> None:
    known = list(dict.fromkeys(pieces))
    automaton = cost_automaton(known, "word", prefixed=True)
    spent = automaton.spend([FIRST_PIECE + known.index(piece) for piece in pieces])
    assert np.diff(spent).tolist() == costs


@pytest.mark.parametrize(
    ("text", "septets"),
    [("Привет", 14), ("ж" * 70, 160), ("ж" * 71, 163), ("ok 😀", 12), ("a’", 5), ("x" * 69 + "…", 160)],
)
def test_one_foreign_character_makes_a_message_travel_in_16_bit_units(text: str, septets: int) -> None:
    pieces = sorted(set(text))
    automaton = cost_automaton(pieces, "gsm7", prefixed=False, ucs2=True)
    tokens = [FIRST_PIECE + pieces.index(character) for character in text]
    assert automaton.spend(tokens)[-1] == septets


def test_a_message_in_the_gsm_alphabet_is_no_message_in_ucs2() -> None:
    automaton = cost_automaton(["a", "ж"], "gsm7", prefixed=False, ucs2=True)
    after_a = automaton.next_state[automaton.start, FIRST_PIECE]
    after_both = automaton.next_state[after_a, FIRST_PIECE + 1]
    back_in_latin = automaton.next_state[after_both, FIRST_PIECE]
    assert automaton.accepts[[after_a, after_both, back_in_latin]].tolist() == [False, True, True]


def test_foreign_pieces_are_forbidden_in_the_gsm_alphabet() -> None:
    automaton = cost_automaton(["a", "ж", "a’", "€"], "gsm7", prefixed=False)
    forbidden = (automaton.cost == FORBIDDEN).all(axis=0)[FIRST_PIECE:]
    assert forbidden.tolist() == [False, True, True, False]


@BY_CASE
def test_pieces_that_could_join_a_neighbour_are_forbidden(*, unit: str, ucs2: bool) -> None:
    loose = [text for text in LOOSE_ZOO if text != "ab"]
    pieces = [*loose, "a🇯", "a👩\u200d", "aक्", "ᄀa", "\u0301a", "a\u200bb", "ж", " ж"]
    automaton = cost_automaton(pieces, unit, prefixed=True, ucs2=ucs2)
    permitted = {pieces[token - FIRST_PIECE] for token in np.nonzero(automaton.cost != FORBIDDEN)[1]}
    assert permitted == (set() if unit == "gsm7" and not ucs2 else {"ж", " ж"})


@BY_CASE
def test_the_three_tokens_that_are_no_text_are_forbidden(*, unit: str, ucs2: bool) -> None:
    automaton = cost_automaton(["a", " b", "ж"], unit, prefixed=True, ucs2=ucs2)
    assert (automaton.cost[:, [PADDING, START, END]] == FORBIDDEN).all()
    assert automaton.cost.shape == automaton.next_state.shape == (len(automaton.accepts), FIRST_PIECE + 3)
    assert automaton.cost.dtype == np.int16
    assert automaton.next_state.dtype == np.int16


def test_a_piece_beyond_every_budget_is_forbidden() -> None:
    pieces = ["a" * MAX_BUDGET, "a" * (MAX_BUDGET + 1), "a" * 70_000]
    automaton = cost_automaton(pieces, "char", prefixed=False)
    assert automaton.cost[automaton.start, FIRST_PIECE:].tolist() == [MAX_BUDGET, FORBIDDEN, FORBIDDEN]


def test_an_empty_vocabulary_permits_nothing() -> None:
    automaton = cost_automaton([], "cell", prefixed=True)
    assert (automaton.cost == FORBIDDEN).all()
    assert not automaton.accepts.any()


def test_an_unknown_unit_is_refused() -> None:
    with pytest.raises(RequestError, match="the unit must be one of"):
        cost_automaton(["a"], "pixel", prefixed=False)


@pytest.mark.parametrize(
    ("source", "needed"),
    [
        ("", False),
        ("12:30 😀", False),
        ("Fire in Leeds – “all safe”", False),
        ("Großbrand in Köln, señor", False),
        ("Пожар в Лидсе", True),
        ("東京で火災", True),
        ("ab жж", False),
        ("ab жжж", True),
        ("e\u0301\u0302 a\u0300", False),
    ],
)
def test_ucs2_is_for_texts_with_mostly_foreign_letters(*, source: str, needed: bool) -> None:
    assert needs_ucs2(source) == needed
