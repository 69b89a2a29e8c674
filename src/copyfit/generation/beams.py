"""The hypotheses of a search: those that still grow, and those that are finished."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from copyfit.generation.layout import NOWHERE
from copyfit.generation.rules import Rules
from copyfit.models.contract import Tree, inherit, map_tree
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
    place: Int[Tensor, "rows beams"]
    """Where it stands in the grammar."""
    position: Float[Tensor, "rows beams"]
    """What the model is told of the budget consumed."""
    text_hash: Int[Tensor, "rows beams"]
    state: Tree
    """The model's, [rows, beams, ...]."""
    seen: Bool[Tensor, "rows beams steps beams"]
    """What each of them sees of the model's history."""


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


def begin(rules: Rules, state: Tree) -> tuple[Beams, Finished]:
    """Begin with one empty hypothesis a row, or with as many as there are samples, and nothing finished."""
    first = rules.beams == 0 if rules.sampling is None else torch.ones_like(rules.beams).bool()
    rows = torch.zeros_like(rules.start)[:, None]

    def of_beams() -> Tensor:
        return rows + torch.zeros_like(rules.beams)

    def of_kept() -> Tensor:
        return rows + torch.zeros_like(rules.kept)

    growing = Beams(
        step=rules.limit.new_zeros(()),
        tokens=of_beams()[..., None] + torch.full_like(rules.tokens, PADDING),
        last=of_beams() + START,
        score=of_beams().float().masked_fill(~first, NONE),
        spent=of_beams(),
        place=(of_beams() + rules.start[:, None]).masked_fill(~first, NOWHERE),
        position=of_beams().float(),
        text_hash=of_beams(),
        state=map_tree(lambda leaf: inherit(leaf, of_beams()), state),
        seen=(of_beams()[..., None, None] + rules.tokens[:, None] + rules.beams) < 0,
    )
    finished = Finished(
        tokens=of_kept()[..., None] + torch.full_like(rules.tokens, PADDING),
        score=of_kept() + NONE,
        spent=of_kept(),
        text_hash=of_kept(),
        rank=of_kept() + NONE,
        done=torch.zeros_like(rules.start).bool(),
    )
    return growing, finished
