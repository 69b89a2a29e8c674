from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copyfit.errors import RequestError
from copyfit.generation.constraints import feasible, grammar_of
from copyfit.generation.phrases import Tracker, track
from copyfit.text.automata import cost_automaton
from copyfit.text.automaton import FORBIDDEN
from copyfit.text.graphemes import graphemes
from support_models import World, holds_whole, make_job, make_world

ALPHABET = "ab1.東 "
PHRASES = st.text(ALPHABET, min_size=1, max_size=4).filter(lambda phrase: phrase == phrase.strip())

WORLDS = [
    make_world((" ", "a", "b", ".", "ab")),
    make_world((" ", " a", "a", "b", " ab"), prefixed=True),
    make_world((" ", "a", "b.", " b", "a b"), "word"),
    make_world(("東", "a", " ", "東a", "b"), "cell"),
]


def read(tracker: Tracker, text: str) -> int:
    state = 0
    for cluster in graphemes(text):
        state = int(tracker.next_state[state, tracker.symbol(cluster)])
    return state


@given(st.lists(PHRASES, max_size=3), st.text(ALPHABET + "cé", max_size=14))
@settings(max_examples=150, deadline=None)
def test_a_tracker_knows_which_phrases_stand_in_a_text_as_whole_words(phrases: list[str], text: str) -> None:
    tracker = track(tuple(phrases))
    assert tracker.accepts[read(tracker, text)] == all(holds_whole(text, phrase) for phrase in phrases)


@pytest.mark.parametrize(
    ("phrase", "text", "held"),
    [
        ("York", "New York", True),
        ("York", "Yorkshire", False),
        ("York", "Newyork", False),
        ("York", "New-York's", True),
        ("York", "Yo YorYork York", True),
        ("New York", "New New York", True),
        ("AI", "新AI技術", True),
        ("東京", "新東京駅", True),
        ("AI", "ของAIใหม่", True),
        ("AI", "サーバーAI", True),
        ("々", "人々AI", True),
        ("é", "café", False),
        ("के", "क के", True),
        ("क", "के", False),
        ("👍", "👍🏽", False),
        ("$5", "a$5", True),
        ("$5", "a$50", False),
    ],
)
def test_words_are_whole_by_the_customs_of_their_scripts(phrase: str, text: str, *, held: bool) -> None:
    tracker = track((phrase,))
    assert tracker.accepts[read(tracker, text)] == held


def test_a_tracker_counts_what_is_written_of_the_phrases() -> None:
    tracker = track(("New York", "ab"))
    texts = {"": 0, "N": 1, "New ": 4, "New Y": 5, "New York": 8, "New Yorks": 0, "ab": 2, "ab New": 5}
    assert {text: int(tracker.covered[read(tracker, text)]) for text in texts} == texts


def test_one_phrase_twice_is_one_and_an_empty_one_is_none() -> None:
    assert len(track(("ab", "ab", "")).accepts) == len(track(("ab",)).accepts)
    assert track(("",)).accepts.all()


def test_too_many_required_words_are_refused_in_one_line() -> None:
    words = tuple(f"wonderful{letter}" for letter in "abcdefgh")
    with pytest.raises(RequestError, match="given 8 of 80 characters together; leave some out"):
        track(words)


def test_words_that_a_unit_cannot_keep_track_of_are_refused_in_one_line() -> None:
    pieces = tuple(" abcdefghijklmnopqrstuvwxyzж")
    automaton = cost_automaton(pieces, "gsm7", prefixed=False, ucs2=True)
    counting = replace(make_world(pieces).counting, automaton=automaton)
    job = replace(make_job(1, 300), required=("shareholders", "quarter", "revenue"))
    with pytest.raises(RequestError, match="in this unit, given 26 characters together; leave some out"):
        feasible(job, counting)
    assert feasible(replace(job, required=("quarter",)), counting)


@st.composite
def words_of(draw: st.DrawFn, world: World) -> tuple[str, ...]:
    spelled = st.lists(st.sampled_from(world.pieces), min_size=1, max_size=3)
    return tuple(" ".join("".join(word).split()) for word in draw(st.lists(spelled, max_size=2)))


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_a_job_is_feasible_when_any_text_at_all_keeps_it(data: st.DataObject) -> None:
    world = data.draw(st.sampled_from(WORLDS))
    limit = data.draw(st.integers(1, 6))
    job = replace(
        make_job(data.draw(st.integers(1, limit)), limit),
        max_steps=data.draw(st.integers(1, 5)),
        prefix=tuple(data.draw(st.lists(st.integers(3, world.size - 1), max_size=2))),
        required=data.draw(words_of(world)),
    )
    possible = any(
        tokens[: len(job.prefix)] == job.prefix
        and all(holds_whole(world.text(tokens), phrase) for phrase in job.required if phrase)
        for tokens in world.every_text(job)
    )
    assert feasible(job, world.counting) == possible


def test_a_grammar_has_few_classes_and_keeps_every_cost() -> None:
    pieces = tuple(f"{first}{second}" for first in "abcdefgh" for second in ("", "x", "yz", " q", "é"))
    automaton = make_world(pieces, "byte").counting.automaton
    grammar = grammar_of(make_world(pieces, "byte").counting, ())
    assert grammar.automaton.cost.shape[1] <= 6
    assert np.array_equal(grammar.automaton.cost[:, grammar.classes], automaton.cost)
    allowed = automaton.cost != FORBIDDEN
    assert np.array_equal(
        grammar.automaton.next_state[:, grammar.classes][allowed], automaton.next_state[allowed]
    )
