"""What bounds the rows of one batch, as arrays. Needs no PyTorch."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from copyfit.generation.constraints import Grammar, finishing_steps, grammar_of
from copyfit.generation.jobs import Counting, Job, SearchOptions
from copyfit.text.automaton import END, FORBIDDEN, PADDING
from copyfit.text.budgets import UNREACHABLE

NOWHERE = 0
"""The state of a hypothesis that is no more: nothing can follow in it."""
COVERED_BONUS = 1.0
"""What a cluster of a required word counts in the contest for a place in the beam.

About what writing it later would cost; without it, hypotheses that have yet to pay would always look better.
"""


LOT = 16
"""By how many steps the part of a history that is looked at grows."""


class Layout(NamedTuple):
    """The grammars of a batch, their states numbered through, and the bounds of its rows."""

    cost: NDArray[np.int16]
    """[states, classes]"""
    next_state: NDArray[np.int32]
    """[states, classes]; `NOWHERE` for what cannot follow, and for END."""
    steps: NDArray[np.int16]
    """[states, left]: how many tokens a text needs to its end; the last column, -1, is past the limit."""
    bonus: NDArray[np.float32]
    """[states]"""
    classes: NDArray[np.int64]
    """[rows, vocabulary]: the class of each token; the last one is END's alone."""
    start: NDArray[np.int64]
    """[rows], as are the next four."""
    floor: NDArray[np.int64]
    limit: NDArray[np.int64]
    max_steps: NDArray[np.int64]
    scale: NDArray[np.float32]
    prefix: NDArray[np.int64]
    """[rows, places]: the tokens that must come first; PADDING behind them."""
    trained_cost: NDArray[np.float32]
    """[vocabulary]"""
    text_hash: NDArray[np.int64]
    """[vocabulary, 2]"""
    penalty: NDArray[np.float32]
    """[]: finished texts compare by score / spent ** penalty."""
    before: NDArray[np.int64]
    """How far before the last token of an n-gram its tokens stand, down to 0, itself."""
    fresh: NDArray[np.bool_]
    """[]: whether no such n-gram may come twice."""
    beams: NDArray[np.int64]
    """A place for each hypothesis that grows, as the next two have one for each finished text and token."""
    kept: NDArray[np.int64]
    tokens: NDArray[np.int64]


OF_ROWS = ("classes", "start", "floor", "limit", "max_steps", "scale", "prefix")
"""The fields of a layout that have rows first."""


class Reading(NamedTuple):
    """What a model reads for the rows of a batch: every distinct source once."""

    tokens: NDArray[np.int64]
    """[sources, time]"""
    lengths: NDArray[np.int64]
    """[sources]"""
    reads: NDArray[np.int64]
    """[rows]: the source of each row."""
    budget: NDArray[np.float32]
    """[rows]: what the model is told."""


class _Blocks(NamedTuple):
    """The distinct pairs of grammar and table of a batch, and which one each row has."""

    grammars: list[Grammar]
    tables: list[NDArray[np.int16]]
    first_states: list[int]
    of_rows: list[int]


def lay_out(jobs: Sequence[Job], counting: Counting, options: SearchOptions) -> Layout:
    """Put the rules of feasible jobs into arrays, a row a job."""
    blocks = _blocks(jobs, counting)
    cost, next_state, steps, bonus = _tables(blocks, max(job.limit for job in jobs))
    starts = [blocks.first_states[block] + blocks.grammars[block].automaton.start for block in blocks.of_rows]
    return Layout(
        cost=cost,
        next_state=next_state,
        steps=steps,
        bonus=bonus,
        classes=_classes(blocks),
        start=np.array(starts, dtype=np.int64),
        floor=np.array([job.floor for job in jobs], dtype=np.int64),
        limit=np.array([job.limit for job in jobs], dtype=np.int64),
        max_steps=np.array([job.max_steps for job in jobs], dtype=np.int64),
        scale=np.array([job.scale for job in jobs], dtype=np.float32),
        # One place more than tokens, so that there is always one to look at.
        prefix=pad([(*job.prefix, PADDING) for job in jobs]),
        trained_cost=counting.trained_cost,
        text_hash=counting.text_hash,
        penalty=np.array(options.length_penalty, dtype=np.float32),
        before=np.arange(max(options.no_repeat_ngram, 1) - 1, -1, -1, dtype=np.int64),
        fresh=np.array(options.no_repeat_ngram > 0),
        beams=np.arange(options.num_beams, dtype=np.int64),
        kept=np.arange(options.keep, dtype=np.int64),
        tokens=np.arange(max(job.max_steps for job in jobs), dtype=np.int64),
    )


def lay_out_sources(jobs: Sequence[Job]) -> Reading:
    """Put the sources of jobs into arrays; jobs with one source share it."""
    numbers: dict[tuple[int, ...], int] = {}
    reads = [numbers.setdefault(job.source, len(numbers)) for job in jobs]
    return Reading(
        pad(list(numbers)),
        np.array([len(source) for source in numbers], dtype=np.int64),
        np.array(reads, dtype=np.int64),
        np.array([job.aim for job in jobs], dtype=np.float32),
    )


def room(step: int, steps: int) -> int:
    """Return how much of a history of so many steps is looked at in a step; a few sizes serve all steps."""
    return min(steps, LOT * (step // LOT + 1))


def pad(rows: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """Lay rows of tokens side by side, PADDING behind the shorter ones."""
    longest = max(map(len, rows))
    return np.array([[*row, *[PADDING] * (longest - len(row))] for row in rows], dtype=np.int64)


def _blocks(jobs: Sequence[Job], counting: Counting) -> _Blocks:
    blocks, numbers = _Blocks([], [], [], []), dict[tuple[int, int], int]()
    states = NOWHERE + 1
    for job in jobs:
        grammar = grammar_of(counting, job.required)
        table = finishing_steps(grammar, job)
        block = numbers.setdefault((id(grammar), id(table)), len(numbers))
        if block == len(blocks.grammars):
            blocks.grammars.append(grammar)
            blocks.tables.append(table)
            blocks.first_states.append(states)
            states += len(table)
        blocks.of_rows.append(block)
    return blocks


def _tables(
    blocks: _Blocks, limit: int
) -> tuple[NDArray[np.int16], NDArray[np.int32], NDArray[np.int16], NDArray[np.float32]]:
    """Return costs, next states, steps and bonuses of all states of the blocks, behind `NOWHERE`."""
    states = blocks.first_states[-1] + len(blocks.tables[-1])
    width = 1 + max(grammar.automaton.cost.shape[1] for grammar in blocks.grammars)
    cost = np.zeros((states, width), dtype=np.int16)
    next_state = np.full((states, width), NOWHERE, dtype=np.int32)
    steps = np.full((states, limit + 2), UNREACHABLE, dtype=np.int16)
    bonus = np.zeros(states, dtype=np.float32)
    for grammar, table, first in zip(blocks.grammars, blocks.tables, blocks.first_states, strict=True):
        automaton = grammar.automaton
        rows = slice(first, first + len(table))
        classes = automaton.cost.shape[1]
        permitted = automaton.cost != FORBIDDEN
        cost[rows, :classes] = np.where(permitted, automaton.cost, 0)
        next_state[rows, :classes] = np.where(permitted, automaton.next_state + np.int32(first), NOWHERE)
        reach = min(limit + 1, table.shape[1])
        steps[rows, :reach] = table[:, :reach]
        bonus[rows] = COVERED_BONUS * grammar.covered
    return cost, next_state, steps, bonus


def _classes(blocks: _Blocks) -> NDArray[np.int64]:
    end = max(grammar.automaton.cost.shape[1] for grammar in blocks.grammars)
    classes = np.stack([grammar.classes for grammar in blocks.grammars])
    classes[:, END] = end
    rows: NDArray[np.int64] = classes[blocks.of_rows]
    return rows
