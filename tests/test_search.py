from dataclasses import replace
from itertools import product
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from copyfit.generation.beams import Beams, Finished, begin
from copyfit.generation.constraints import feasible
from copyfit.generation.jobs import Hypothesis, Job, Sampling, SearchOptions
from copyfit.generation.layout import lay_out
from copyfit.generation.rules import Rules, rules_of
from copyfit.generation.search import advance
from copyfit.models.contract import Cache, Growth, Memory, Seq2Seq
from copyfit.text.automaton import END, PADDING, START
from copyfit.text.units import count
from support_models import (
    RandomModel,
    World,
    holds_whole,
    log_probabilities,
    make_job,
    make_world,
    teacher_forced,
)

torch.set_num_threads(1)

SUBWORDS = (" ", "a", "b", "c", ".", " a", " b", "ab", " ab", "bc", "abc", " c.", "1")
WORLDS = [
    make_world(tuple("abc .1")),
    make_world(SUBWORDS, prefixed=True),
    make_world(SUBWORDS, "word", prefixed=True),
    make_world(tuple("abc -"), "word"),
    make_world(tuple("aé漢字 。"), "byte"),
    make_world(("漢", "字", "漢字", "a", " ", " a"), "cell"),
    make_world(tuple("a€^ b."), "gsm7"),
    make_world(("😀", "a", "漢", " ", "aa"), "x"),
]
WORDS = ("a", "ab", "abc", "b c", "1", "c.", "b.", "é", "漢", "漢字", "字 a", "aa", "€", "😀")


def prefixes(world: World) -> list[tuple[int, ...]]:
    """Return what a text can begin with: nothing, any one token, any two."""
    tokens = range(3, world.size)
    pairs: list[tuple[int, ...]] = [(), *((token,) for token in tokens), *product(tokens, repeat=2)]
    return [prefix for prefix in pairs if may_follow(world, prefix)]


def may_follow(world: World, prefix: tuple[int, ...]) -> bool:
    try:
        world.counting.automaton.spend(prefix)
    except ValueError:
        return False
    return True


@st.composite
def jobs(draw: st.DrawFn, world: World) -> Job:
    limit = draw(st.integers(1, 16))
    floor = draw(st.one_of(st.just(1), st.just(limit), st.integers(1, limit)))
    words = [word for word in WORDS if set(word) <= set("".join(world.pieces))]
    return Job(
        source=tuple(draw(st.lists(st.integers(3, 9), min_size=1, max_size=4))),
        aim=draw(st.floats(1, 20, width=32)),
        floor=floor,
        limit=limit,
        max_steps=draw(st.integers(1, 20)),
        scale=1.0 if world.unit == "char" else draw(st.sampled_from([0.5, 1.0, 5.25])),
        prefix=draw(st.sampled_from(prefixes(world))) if draw(st.booleans()) else (),
        required=tuple(draw(st.lists(st.sampled_from([*words, "q"]), max_size=2))),
        normalised=draw(st.booleans()),
    )


@st.composite
def searches(draw: st.DrawFn) -> tuple[World, list[Job], SearchOptions, int]:
    world = draw(st.sampled_from(WORLDS))
    options = SearchOptions(
        num_beams=draw(st.integers(1, 6)),
        keep=draw(st.integers(1, 8)),
        no_repeat_ngram=draw(st.sampled_from([0, 0, 1, 2, 3])),
        length_penalty=draw(st.sampled_from([0.0, 1.0, -0.5])),
        batch_size=draw(st.integers(1, 4)),
    )
    return world, draw(st.lists(jobs(world), min_size=1, max_size=4)), options, draw(st.integers(0, 999))


def check_bounds(world: World, job: Job, found: list[Hypothesis]) -> None:
    texts = [world.text(hypothesis.tokens) for hypothesis in found]
    assert len(set(texts)) == len(texts)
    for hypothesis, text in zip(found, texts, strict=True):
        assert world.is_text(hypothesis.tokens)
        assert hypothesis.spent == count(text, world.unit)
        assert job.floor <= hypothesis.spent <= job.limit
        assert len(hypothesis.tokens) <= job.max_steps
        assert hypothesis.tokens[: len(job.prefix)] == job.prefix
        assert all(holds_whole(text, phrase) for phrase in job.required)


def check_results(case: tuple[World, list[Job], SearchOptions, int]) -> None:
    world, batch, options, seed = case
    model = world.model(seed)
    for job, found in zip(batch, world.search(model, batch, options), strict=True):
        assert bool(found) == feasible(job, world.counting)
        assert len(found) <= options.keep
        check_bounds(world, job, found)
        scores = [teacher_forced(model, world, job, hypothesis.tokens) for hypothesis in found]
        assert [hypothesis.score for hypothesis in found] == pytest.approx(scores, abs=1e-9)
        penalty = 1 if job.normalised else options.length_penalty
        ranks = [hypothesis.score / hypothesis.spent**penalty for hypothesis in found]
        assert ranks == sorted(ranks, reverse=True)


@given(searches())
@settings(max_examples=30, deadline=None)
def test_every_result_keeps_its_bounds_and_is_scored_and_sorted_by_the_model_alone(
    case: tuple[World, list[Job], SearchOptions, int],
) -> None:
    check_results(case)


@pytest.mark.long
@given(searches())
@settings(max_examples=300, deadline=None)
def test_every_one_of_many_results_keeps_its_bounds(
    case: tuple[World, list[Job], SearchOptions, int],
) -> None:
    check_results(case)


@given(searches())
@settings(max_examples=20, deadline=None)
def test_a_batch_gives_what_each_of_its_rows_gives_alone(
    case: tuple[World, list[Job], SearchOptions, int],
) -> None:
    world, batch, options, seed = case
    model = world.model(seed)
    alone = [world.search(model, [job], options)[0] for job in batch]
    assert world.search(model, batch, options) == alone


@pytest.mark.parametrize(
    ("unit", "pieces", "bounds", "required"),
    [
        ("char", "ab .", (4, 4), ()),
        ("char", "ab .", (1, 4), ()),
        ("char", "ab .", (2, 3), ()),
        ("char", "ab .", (5, 5), ("a",)),
        ("char", "ab .", (3, 5), ("b", ".a")),
        ("byte", "aé 漢", (5, 5), ()),
        ("byte", "aé 漢", (4, 6), ("é",)),
        ("cell", "a 漢字", (5, 6), ("漢",)),
        ("cell", "漢字", (1, 6), ()),
        ("x", "a漢😀", (3, 4), ()),
        ("word", "ab ", (1, 2), ()),
    ],
)
@pytest.mark.parametrize("penalty", [0.0, 1.0, -0.5])
def test_a_full_width_beam_finds_all_texts_in_the_order_of_their_probabilities(
    unit: str, pieces: str, bounds: tuple[int, int], required: tuple[str, ...], *, penalty: float
) -> None:
    world = make_world(tuple(pieces), unit)
    job = replace(make_job(*bounds), max_steps=5, required=required)
    model = world.model(seed=job.limit)
    expected = sorted(
        (
            Hypothesis(tokens, teacher_forced(model, world, job, tokens), count(world.text(tokens), unit))
            for tokens in world.every_text(job)
            if all(holds_whole(world.text(tokens), phrase) for phrase in required)
        ),
        key=lambda text: -text.score / text.spent**penalty,
    )
    options = SearchOptions(num_beams=700, keep=len(expected) + 3, length_penalty=penalty)
    (found,) = world.search(model, [job], options)
    assert [text.tokens for text in found] == [text.tokens for text in expected]
    assert [text.spent for text in found] == [text.spent for text in expected]
    assert [text.score for text in found] == pytest.approx([text.score for text in expected], abs=1e-9)
    assert world.search(model, [job], replace(options, keep=2)) == [found[:2]]


def write_greedily(model: Seq2Seq, world: World, job: Job) -> tuple[int, ...]:
    """Take the likeliest token again and again, among those that can come."""
    tokens: tuple[int, ...] = ()
    while True:
        answer = log_probabilities(model, world, job, tokens)[-1]
        ways = [token for token in range(3, world.size) if can_go_on(world, job, (*tokens, token))]
        if world.is_text(tokens) and len(tokens) >= job.floor:
            ways.append(END)
        best = max(ways, key=lambda token: float(answer[token]))
        if best == END:
            return tokens
        tokens = (*tokens, best)


def can_go_on(world: World, job: Job, tokens: tuple[int, ...]) -> bool:
    """Tell whether letters, spaces and full stops, a unit each, can still become a text."""
    text = world.text(tokens)
    room = job.limit - len(text)
    return text.lstrip() == text and "  " not in text and room >= text.endswith(" ")


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("floor", [1, 4, 7])
def test_one_beam_is_the_greedy_choice(seed: int, floor: int) -> None:
    world = make_world(tuple("abc ."))
    job, model = make_job(floor, 7), world.model(seed)
    (found,) = world.search(model, [job], SearchOptions(num_beams=1, keep=1))
    assert [hypothesis.tokens for hypothesis in found] == [write_greedily(model, world, job)]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_token_sequence_comes_twice_where_something_else_is_possible(size: int) -> None:
    world = make_world(tuple("abcdefgh"))
    for seed in range(4):
        model, options = world.model(seed), SearchOptions(no_repeat_ngram=size)
        for texts in world.search(model, [make_job(8, 8), make_job(1, 30)], options):
            for tokens in (text.tokens for text in texts):
                sequences = [tokens[start : start + size] for start in range(len(tokens) - size + 1)]
                assert len(set(sequences)) == len(sequences)


def test_what_has_to_be_repeated_is_repeated() -> None:
    world = make_world(tuple("ab"))
    jobs = [make_job(9, 9), replace(make_job(8, 8), required=("aaabaaab",))]
    free, required = world.search(world.model(0), jobs, SearchOptions(no_repeat_ngram=1))
    assert {len(text.tokens) for text in free} == {9}
    assert [world.text(text.tokens) for text in required] == ["aaabaaab"]


def test_a_sequence_longer_than_any_text_forbids_nothing() -> None:
    world, model = make_world(tuple("ab")), make_world(tuple("ab")).model(4)
    (expected,) = world.search(model, [make_job(3, 3)])
    (found,) = world.search(model, [make_job(3, 3)], SearchOptions(no_repeat_ngram=9))
    assert found == expected


class Scripted(RandomModel):
    """Answer by the last token alone: likings by (last piece, next piece), "" for the start and the end.

    PADDING, which never comes, is liked too.
    """

    def __init__(self, world: World, likings: dict[tuple[str, str], float]) -> None:
        super().__init__(world.size, seed=0)
        self.table = torch.full((world.size, world.size), -20.0)
        self.table[:, PADDING] = 0.0
        for (last, following), liking in likings.items():
            fed = world.tokens([last])[0] if last else START
            self.table[fed, world.tokens([following])[0] if following else END] = liking

    def step(self, tokens: Tensor, consumed: Tensor, cache: Cache, memory: Memory) -> tuple[Tensor, Growth]:
        return self.table[tokens], super().step(tokens, consumed, cache, memory)[1]


LATE = {("", "b"): 0, ("", "a"): -2, ("b", ""): 4, ("a", "a"): 8, ("a", ""): 6}
EARLY = {("", "b"): -1, ("", "a"): 0, ("b", ""): 4, ("a", "c"): 5, ("c", ""): 5}


@pytest.mark.parametrize(
    ("likings", "penalty", "best"),
    [(LATE, 0.0, "b"), (LATE, 1.0, "a" * 12), (EARLY, 0.0, "ac"), (EARLY, -0.5, "ac"), (EARLY, -2.0, "b")],
)
def test_the_search_goes_on_while_a_longer_text_may_still_rank_higher(
    likings: dict[tuple[str, str], float], penalty: float, best: str
) -> None:
    world = make_world(tuple("abc"))
    options = SearchOptions(num_beams=2, keep=1, length_penalty=penalty)
    (found,) = world.search(Scripted(world, likings), [make_job(1, 12)], options)
    assert world.text(found[0].tokens) == best


def test_texts_compare_per_unit_where_the_model_decides_on_the_length() -> None:
    world, job = make_world(tuple("ab")), make_job(1, 2)
    texts = list(world.every_text(job))
    options = SearchOptions(num_beams=len(texts), keep=len(texts))
    differing = 0
    for seed in range(9):
        model = world.model(seed)
        summed, normalised = world.search(model, [job, replace(job, normalised=True)], options)
        assert {text.tokens for text in normalised} == set(texts)
        assert normalised == sorted(normalised, key=lambda text: -text.score / text.spent)
        differing += summed[0].tokens != normalised[0].tokens
    assert differing


def test_a_search_for_the_models_own_length_ends_when_all_places_are_taken() -> None:
    world = make_world(tuple("abc"))
    model = Counted(world.size, seed=3)
    world.search(model, [replace(make_job(1, 500), normalised=True)], SearchOptions(num_beams=2, keep=2))
    assert model.steps < 50


def test_two_ways_to_cut_one_text_take_one_place_in_the_beam() -> None:
    world = make_world(("ab", "c", "a", "bc"))
    likings = {("", "ab"): 0, ("", "a"): -0.1, ("ab", "c"): 0, ("a", "bc"): 0, ("ab", "a"): -2}
    likings |= {(piece, ""): 0 for piece in world.pieces}
    (found,) = world.search(Scripted(world, likings), [make_job(3, 3)], SearchOptions(num_beams=2))
    assert [world.text(text.tokens) for text in found] == ["abc", "aba"]


def test_a_text_that_can_only_end_does_so_however_unlikely_its_end_is() -> None:
    world = make_world(("a", "b", "bb"))
    likings = {
        ("", "bb"): 0,
        ("", "a"): -0.1,
        ("a", "a"): 0,
        ("a", "b"): -0.1,
        ("bb", ""): -8,
        ("bb", "a"): 0,
    }
    likings |= {("a", ""): 0, ("b", ""): 0}
    (found,) = world.search(Scripted(world, likings), [make_job(2, 2)], SearchOptions(num_beams=2))
    assert {world.text(text.tokens) for text in found} == {"aa", "ab", "bb"}


class SoonTired(RandomModel):
    """Like `a` best and `xyz` nearly as well, but that only in the first three places; then a space."""

    likings = torch.tensor([-9, -9, -1, 0, -1.5, -1.1, -1.2, -1.3, -0.9])

    def step(self, tokens: Tensor, consumed: Tensor, cache: Cache, memory: Memory) -> tuple[Tensor, Growth]:
        tired = (consumed[..., None] >= 3) * torch.tensor([0, 0, 0, 0, 0, 9, 9, 9, 0])
        after_z = (tokens[..., None] == 7) * torch.tensor([0, 0, 0, 0, 0, 0, 0, 0, 2.0])
        return self.likings - tired + after_z, super().step(tokens, consumed, cache, memory)[1]


def test_a_required_word_written_early_is_not_driven_out_by_hypotheses_that_put_it_off() -> None:
    world = make_world(tuple("abxyz "))
    job = replace(make_job(8, 8), required=("xyz",))
    (found,) = world.search(SoonTired(world.size, 0), [job], SearchOptions(num_beams=3))
    assert world.text(found[0].tokens) == "xyz aaaa"


class Counted(RandomModel):
    """Count the steps taken."""

    steps = 0

    def step(self, tokens: Tensor, consumed: Tensor, cache: Cache, memory: Memory) -> tuple[Tensor, Growth]:
        self.steps += 1
        return super().step(tokens, consumed, cache, memory)


def test_the_search_stops_when_nothing_can_get_better() -> None:
    world = make_world(tuple("abc"))
    model = Counted(world.size, seed=3)
    world.search(model, [make_job(1, 500)], SearchOptions(num_beams=2, keep=1))
    assert model.steps < 50


class OneStep(torch.nn.Module):
    """Advance a search by one token, with all its tensors as inputs."""

    def __init__(self, model: Seq2Seq, sampling: Sampling | None) -> None:
        super().__init__()
        self.model, self.sampling = model, sampling

    def forward(self, rules: list[Tensor], beams: Beams, finished: Finished, memory: Memory) -> Any:
        rest = Rules._make([*rules, self.sampling])
        return advance(self.model, rest, beams, finished, history=(), memory=memory)[:2]


@pytest.mark.long
@pytest.mark.parametrize(
    "options",
    [
        SearchOptions(no_repeat_ngram=2, length_penalty=1.0),
        SearchOptions(sampling=Sampling(top_k=4, top_p=0.9)),
    ],
)
def test_a_step_is_one_graph_of_tensors(options: SearchOptions) -> None:
    world = make_world(SUBWORDS, prefixed=True)
    jobs = [make_job(6, 6), replace(make_job(1, 8), required=("abc",), prefix=world.tokens([" b"]))]
    model = world.model(0)
    rules = rules_of(lay_out(jobs, world.counting, options), jobs, options, torch.device("cpu"))
    memory, state, _ = model.start(
        torch.ones(2, 3).long(), torch.full((2,), 3), torch.arange(2), torch.ones(2)
    )
    inputs = (list(rules[:-1]), *begin(rules, state), memory)
    step = OneStep(model, options.sampling)
    graph = torch.export.export(step, inputs, strict=False).module()
    for _ in range(9):
        expected, found = step(*inputs), graph(*inputs)
        assert_close(found, expected, rtol=0, atol=0)
        inputs = (inputs[0], *expected, memory)
    assert bool(expected[1].done.all())
