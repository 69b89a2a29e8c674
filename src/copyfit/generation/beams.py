"""The hypotheses of a search: those that still grow, and those that are finished."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from copyfit.generation.rules import NOWHERE, Rules
from copyfit.models.contract import Cache, reorder
from copyfit.text.automaton import PADDING, START

NONE = -torch.inf
"""The score of a hypothesis that is no more, or not yet."""


class Beams(NamedTuple):
    """The hypotheses that grow by one token a step; a score of `NONE` marks an empty place."""

    step: Int[Tensor, ""]
    """How many tokens each of them has."""
    tokens: Int[Tensor, "rows beams steps"]
    """PADDING where nothing is written yet."""
    last: Int[Tensor, "rows beams"]
    """The token that the model is fed next."""
    score: Float[Tensor, "rows beams"]
    spent: Int[Tensor, "rows beams"]
    state: Int[Tensor, "rows beams"]
    position: Float[Tensor, "rows beams"]
    """What the model is told of the budget consumed."""
    text_hash: Int[Tensor, "rows beams"]
    cache: Cache


class Finished(NamedTuple):
    """The best distinct finished texts of each row, best first; a rank of `NONE` marks an empty place."""

    tokens: Int[Tensor, "rows keep steps"]
    score: Float[Tensor, "rows keep"]
    spent: Int[Tensor, "rows keep"]
    text_hash: Int[Tensor, "rows keep"]
    rank: Float[Tensor, "rows keep"]
    """What they compare by."""
    done: Bool[Tensor, " rows"]
    """Whether nothing that still grows can get in."""


class Choice(NamedTuple):
    """How hypotheses go on: by which tokens, and which of them end here."""

    parents: Int[Tensor, "rows beams"]
    tokens: Int[Tensor, "rows beams"]
    score: Float[Tensor, "rows beams"]
    """Of the hypotheses that go on, their new tokens included."""
    ended: Float[Tensor, "rows beams"]
    """Of the old hypotheses that end, their END included; `NONE` for the others."""


def begin(rules: Rules, cache: Cache) -> tuple[Beams, Finished]:
    """Begin with one empty hypothesis a row, or with as many as there are samples, and nothing finished."""
    options = rules.options
    beams, keep = options.num_beams, options.keep
    rows, steps = rules.limit.shape[0], int(rules.max_steps.max())
    device = rules.limit.device
    empty = torch.arange(beams, device=device) >= (1 if options.sampling is None else beams)

    def nought(*shape: int) -> Tensor:
        return torch.zeros(rows, *shape, dtype=torch.long, device=device)

    growing = Beams(
        step=torch.zeros((), dtype=torch.long, device=device),
        tokens=nought(beams, steps) + PADDING,
        last=nought(beams) + START,
        score=nought(beams).float().masked_fill(empty, NONE),
        spent=nought(beams),
        state=rules.start[:, None].masked_fill(empty, NOWHERE),
        position=nought(beams).float(),
        text_hash=nought(beams),
        cache=reorder(cache, nought(beams)),
    )
    finished = Finished(
        tokens=nought(keep, steps) + PADDING,
        score=nought(keep) + NONE,
        spent=nought(keep),
        text_hash=nought(keep),
        rank=nought(keep) + NONE,
        done=nought().bool(),
    )
    return growing, finished
