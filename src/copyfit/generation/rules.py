"""What bounds the rows of one batch, as tensors."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from copyfit.generation.constraints import Grammar, finishing_steps, grammar_of
from copyfit.generation.jobs import Counting, Job, SearchOptions
from copyfit.generation.sampling import uniform_numbers
from copyfit.text.automaton import END, FORBIDDEN, PADDING
from copyfit.text.budgets import UNREACHABLE

NOWHERE = 0
"""The state of a hypothesis that is no more: nothing can follow in it."""
COVERED_BONUS = 1.0
"""What a cluster of a required word counts in the contest for a place in the beam.

About what writing it later would cost; without it, hypotheses that have yet to pay would always look better.
"""


class Rules(NamedTuple):
    """The grammars of a batch, their states numbered through, and the bounds of its rows."""

    options: SearchOptions
    cost: Int[Tensor, "states classes"]
    next_state: Int[Tensor, "states classes"]
    """`NOWHERE` for what cannot follow, and for END."""
    steps: Int[Tensor, "states left"]
    """How many tokens a text needs to its end, by what is left; the last column, -1, is past the limit."""
    bonus: Float[Tensor, " states"]
    classes: Int[Tensor, "rows vocabulary"]
    """Class of each token; the last one is END's alone."""
    start: Int[Tensor, " rows"]
    floor: Int[Tensor, " rows"]
    limit: Int[Tensor, " rows"]
    max_steps: Int[Tensor, " rows"]
    scale: Float[Tensor, " rows"]
    prefix: Int[Tensor, "rows places"]
    """The tokens that must come first; PADDING behind them."""
    trained_cost: Float[Tensor, " vocabulary"]
    text_hash: Int[Tensor, "vocabulary 2"]
    uniform: Float[Tensor, "rows steps beams"]
    """One random number for each token that may be drawn; no steps when nothing is."""


class _Blocks(NamedTuple):
    """The distinct pairs of grammar and table of a batch, and which one each row has."""

    grammars: list[Grammar]
    tables: list[NDArray[np.int16]]
    first_states: list[int]
    of_rows: list[int]


def lay_out(jobs: Sequence[Job], counting: Counting, options: SearchOptions, device: torch.device) -> Rules:
    """Put the rules of feasible jobs into tensors, a row a job."""
    blocks = _blocks(jobs, counting)
    cost, next_state, steps, bonus = map(torch.from_numpy, _tables(blocks, max(job.limit for job in jobs)))
    rules = Rules(
        options,
        cost=cost,
        next_state=next_state,
        steps=steps,
        bonus=bonus,
        classes=_classes(blocks),
        start=torch.tensor(
            [blocks.first_states[block] + blocks.grammars[block].automaton.start for block in blocks.of_rows]
        ),
        floor=torch.tensor([job.floor for job in jobs]),
        limit=torch.tensor([job.limit for job in jobs]),
        max_steps=torch.tensor([job.max_steps for job in jobs]),
        scale=torch.tensor([job.scale for job in jobs], dtype=torch.float32),
        prefix=pad([job.prefix for job in jobs]),
        trained_cost=torch.from_numpy(counting.trained_cost),
        text_hash=torch.from_numpy(counting.text_hash),
        uniform=uniform_numbers(jobs, options),
    )
    return Rules(options, *(tensor.to(device) for tensor in rules[1:]))


def pad(rows: Sequence[Sequence[int]]) -> Int[Tensor, "rows longest"]:
    """Lay rows of tokens side by side, PADDING behind the shorter ones."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[PADDING] * (longest - len(row))] for row in rows], dtype=torch.long)


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


def _classes(blocks: _Blocks) -> Int[Tensor, "rows vocabulary"]:
    end = max(grammar.automaton.cost.shape[1] for grammar in blocks.grammars)
    classes = np.stack([grammar.classes for grammar in blocks.grammars])
    classes[:, END] = end
    return torch.from_numpy(classes[blocks.of_rows])
