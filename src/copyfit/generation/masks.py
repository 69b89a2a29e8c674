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
    favoured = _fit(rules, beams)
    if rules.prefix.shape[1]:
        favoured = _keep_to_prefix(rules, beams.step, favoured)
    if rules.options.no_repeat_ngram:
        repeated = _repetitions(beams, rules.options.no_repeat_ngram, favoured.shape[-1])
        fresh = favoured.masked_fill(repeated, NONE)
        favoured = torch.where((fresh > NONE).any(-1, keepdim=True), fresh, favoured)
    return favoured


def _fit(rules: Rules, beams: Beams) -> Float[Tensor, "rows beams vocabulary"]:
    left = rules.limit[:, None] - beams.spent
    steps_left = (rules.max_steps - beams.step)[:, None, None]
    following = rules.next_state[beams.state].long()
    left_then = (left[..., None] - rules.cost[beams.state]).clamp(min=-1)
    by_class = rules.bonus[following].masked_fill(rules.steps[following, left_then] >= steps_left, NONE)
    may_end = rules.steps[beams.state, left] == 0
    ending = rules.bonus[beams.state].masked_fill(~may_end, NONE)
    choices = torch.cat([by_class[..., :-1], ending[..., None]], dim=-1)
    return choices.gather(-1, rules.classes[:, None].expand(-1, choices.shape[1], -1))


def _keep_to_prefix(
    rules: Rules, step: Int[Tensor, ""], favoured: Float[Tensor, "rows beams vocabulary"]
) -> Float[Tensor, "rows beams vocabulary"]:
    place = step.clamp(max=rules.prefix.shape[1] - 1).reshape(1)
    token = rules.prefix.index_select(1, place)
    token = token.masked_fill(step >= rules.prefix.shape[1], PADDING)
    others = torch.arange(favoured.shape[-1], device=favoured.device) != token
    return favoured.masked_fill((others & (token != PADDING))[:, None], NONE)


def _repetitions(beams: Beams, size: int, vocabulary: int) -> Bool[Tensor, "rows beams vocabulary"]:
    """Mark the tokens that would complete an n-gram which the hypothesis has already."""
    tokens, step = beams.tokens, beams.step
    marks = torch.zeros(*beams.score.shape, vocabulary, dtype=torch.bool, device=tokens.device)
    if tokens.shape[2] < size:
        return marks
    windows = tokens.unfold(2, size, 1)
    recent_places = step - torch.arange(size - 1, 0, -1, device=tokens.device)
    recent = tokens.index_select(2, recent_places.clamp(min=0))
    same = (windows[..., :-1] == recent[:, :, None]).all(dim=-1)
    written = torch.arange(windows.shape[2], device=tokens.device) + size <= step
    return marks.scatter(2, torch.where(same & written, windows[..., -1], PADDING), value=True)
