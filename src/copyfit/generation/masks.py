"""What speaks for each next token besides the model: most of all, whether it may come at all."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from copyfit.generation.beams import NONE, Beams
from copyfit.generation.rules import Rules
from copyfit.text.automaton import PADDING


def favour(rules: Rules, beams: Beams) -> Float[Tensor, "rows beams vocabulary"]:
    """Return `NONE` for each token that may not come next, for the others the bonus of what is covered then.

    A token may come when the text can still end within the bounds and in time, so there is always one.
    """
    favoured = _keep_to_prefix(rules, beams.step, _fit(rules, beams))
    fresh = favoured.masked_fill(_repetitions(rules, beams, favoured.shape[-1]), NONE)
    return torch.where(fresh.amax(-1, keepdim=True) > NONE, fresh, favoured)


def _fit(rules: Rules, beams: Beams) -> Float[Tensor, "rows beams vocabulary"]:
    left = rules.limit[:, None] - beams.spent
    steps_left = (rules.max_steps - beams.step)[:, None, None]
    following = rules.next_state[beams.place].long()
    left_then = (left[..., None] - rules.cost[beams.place]).clamp(min=-1)
    by_class = rules.bonus[following].masked_fill(rules.steps[following, left_then] >= steps_left, NONE)
    may_end = rules.steps[beams.place, left] == 0
    ending = rules.bonus[beams.place].masked_fill(~may_end, NONE)
    choices = torch.cat([by_class[..., :-1], ending[..., None]], dim=-1)
    return choices.gather(-1, rules.classes[:, None].expand(-1, choices.shape[1], -1))


def _keep_to_prefix(
    rules: Rules, step: Int[Tensor, ""], favoured: Float[Tensor, "rows beams vocabulary"]
) -> Float[Tensor, "rows beams vocabulary"]:
    place = step.clamp(max=rules.prefix.shape[1] - 1).reshape(1)
    token = rules.prefix.index_select(1, place)
    others = torch.arange(favoured.shape[-1], device=favoured.device) != token
    return favoured.masked_fill((others & (token != PADDING))[:, None], NONE)


def _repetitions(rules: Rules, beams: Beams, vocabulary: int) -> Bool[Tensor, "rows beams vocabulary"]:
    """Mark the tokens that would complete an n-gram which the hypothesis has already."""
    earlier = rules.tokens[:, None] - rules.before
    recent = torch.minimum(beams.step - rules.before, rules.tokens[-1:]).clamp(min=0)
    others = beams.tokens[:, :, earlier.clamp(min=0)]
    differing = ((others != beams.tokens[:, :, recent][:, :, None]) & (rules.before > 0)).sum(dim=-1)
    # What stands before the first token is the first token here, so such places do not count.
    whole = (rules.tokens < beams.step) & ((earlier < 0).sum(dim=-1) == 0) & rules.fresh
    marked = torch.where(whole & (differing == 0), beams.tokens, PADDING)
    return torch.zeros(*marked.shape[:2], vocabulary, device=marked.device).scatter(2, marked, 1.0) > 0
