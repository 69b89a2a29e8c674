"""Beam search that cannot miss its budget: one pure function of tensors advances all beams by one token."""

from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from copyfit.generation.beams import NONE, Beams, Choice, Finished, begin
from copyfit.generation.jobs import always
from copyfit.generation.layout import NOWHERE, room
from copyfit.generation.masks import favour
from copyfit.generation.rules import Rules, Sources
from copyfit.generation.sampling import draw
from copyfit.models.contract import (
    Cache,
    Memory,
    Seq2Seq,
    Tree,
    blank,
    descend,
    inherit,
    leaves,
    map_tree,
    write_down,
)
from copyfit.text.automaton import END, FIRST_PIECE


def search(
    model: Seq2Seq,
    rules: Rules,
    sources: Sources,
    *,
    wanted: Callable[[], bool] = always,
) -> Finished:
    """Search all rows of a batch to their ends, or until they are no longer wanted."""
    started = model.start(*sources)
    beams, finished = begin(rules, started.state)
    steps = len(rules.tokens)
    history = blank(started.entry, steps=steps, beams=len(rules.beams))
    # One step more than a text has pieces, for its END.
    for step in range(steps + 1):
        written = map_tree(partial(_first_steps, count=room(step, steps)), history)
        beams, finished, entry = advance(
            model, rules, beams, finished, history=written, memory=started.memory
        )
        if bool(finished.done.all()) or not wanted():
            break
        write_down(history, entry, step)
    return finished


def advance(
    model: Seq2Seq, rules: Rules, beams: Beams, finished: Finished, *, history: Tree, memory: Memory
) -> tuple[Beams, Finished, Tree]:
    """Write one more token of every hypothesis; keep the best, and those that end; return the new entry.

    A pure function of tensors: nothing in it depends on their values in Python.
    """
    cache = Cache(beams.state, history, _first_steps(beams.seen, count=_steps_of(history)))
    logits, growth = model.step(beams.last, beams.position, cache, memory)
    log_probabilities = logits.to(torch.promote_types(logits.dtype, torch.float32)).log_softmax(dim=-1)
    choose = _best if rules.sampling is None else _drawn
    choice = choose(rules, beams, log_probabilities, favour(rules, beams))
    finished = _collect(rules, beams, choice, finished)
    beams = _extend(rules, beams, choice, growth.state)
    hopeless = ~(_hopes(rules, beams) > _bar(rules, finished)).any(dim=-1)
    done = finished.done | hopeless | _enough(rules, finished)
    return beams, finished._replace(done=done), growth.entry


def _best(
    rules: Rules,
    beams: Beams,
    log_probabilities: Float[Tensor, "rows beams vocabulary"],
    favoured: Float[Tensor, "rows beams vocabulary"],
) -> Choice:
    """Let the best continuations of a row go on, of those that are one text the best.

    A hypothesis ends where its END is among the row's best continuations, or is all that is left to it.
    """
    width, pieces = beams.score.shape[1], favoured.shape[-1] - FIRST_PIECE
    keys = log_probabilities + favoured + beams.score[..., None]
    ends, going_on = keys[..., END], keys[..., FIRST_PIECE:]
    best, places = going_on.flatten(1).topk(min(2 * width, width * pieces))
    parents = places // pieces
    tokens = places - parents * pieces + FIRST_PIECE
    best = best.masked_fill(_repeated(_hash(rules, beams.text_hash.gather(1, parents), tokens)), NONE)
    best, order = best.topk(width)
    parents, tokens = parents.gather(1, order), tokens.gather(1, order)
    least = torch.cat([ends, best], dim=1).topk(width).values[:, -1:]
    ending = (ends > NONE) & ((ends >= least) | (going_on.amax(dim=-1) == NONE))
    gains = log_probabilities.flatten(1).gather(1, parents * favoured.shape[-1] + tokens)
    return Choice(
        parents,
        tokens,
        score=(beams.score.gather(1, parents) + gains).masked_fill(best == NONE, NONE),
        ended=(beams.score + log_probabilities[..., END]).masked_fill(~ending, NONE),
    )


def _drawn(
    rules: Rules,
    beams: Beams,
    log_probabilities: Float[Tensor, "rows beams vocabulary"],
    favoured: Float[Tensor, "rows beams vocabulary"],
) -> Choice:
    """Let every hypothesis go on by a token that is drawn for it."""
    assert rules.sampling is not None
    assert rules.uniform is not None
    uniform = rules.uniform.index_select(1, beams.step.reshape(1)).squeeze(1)
    tokens = draw(log_probabilities + favoured, uniform, rules.sampling)
    score = beams.score + log_probabilities.gather(-1, tokens[..., None]).squeeze(-1)
    ends = tokens == END
    parents = torch.arange(tokens.shape[1], device=tokens.device).expand_as(tokens)
    return Choice(parents, tokens, score.masked_fill(ends, NONE), score.masked_fill(~ends, NONE))


def _collect(rules: Rules, beams: Beams, choice: Choice, finished: Finished) -> Finished:
    """Put the hypotheses that end among the finished ones of their rows; keep the best distinct texts.

    A row that is done stays as it is, however long others of its batch go on.
    """
    ended = choice.ended.masked_fill(finished.done[:, None], NONE)
    ranks = torch.cat([finished.rank, _rank(rules, ended, beams.spent)], dim=1)
    order = _falling(ranks)
    hashes = torch.cat([finished.text_hash, beams.text_hash], dim=1).gather(1, order)
    ranks = ranks.gather(1, order).masked_fill(_repeated(hashes), NONE)
    best = _falling(ranks)[:, : finished.rank.shape[1]]
    order = order.gather(1, best)

    def kept(old: Tensor, new: Tensor) -> Tensor:
        return inherit(torch.cat([old, new], dim=1), order)

    return finished._replace(
        tokens=kept(finished.tokens, beams.tokens),
        score=kept(finished.score, ended),
        spent=kept(finished.spent, beams.spent),
        text_hash=kept(finished.text_hash, beams.text_hash),
        rank=ranks.gather(1, best),
    )


def _extend(rules: Rules, beams: Beams, choice: Choice, state: Tree) -> Beams:
    """Give every chosen hypothesis its parent's past and its new token."""
    parents = choice.parents
    place, token_class = inherit(beams.place, parents), rules.classes.gather(1, choice.tokens)
    cost = rules.cost[place, token_class]
    spent = inherit(beams.spent, parents) + cost
    alive = choice.score > NONE
    moved = inherit(beams.position, parents) + rules.trained_cost[choice.tokens]
    tokens = inherit(beams.tokens, parents)
    now = torch.arange(tokens.shape[2], device=tokens.device) == beams.step
    return Beams(
        step=beams.step + 1,
        tokens=torch.where(now, choice.tokens[..., None], tokens),
        last=choice.tokens,
        score=choice.score,
        spent=spent.where(alive, 0),
        place=rules.next_state[place, token_class].long().where(alive, NOWHERE),
        position=torch.where(cost > 0, spent * rules.scale[:, None], moved),
        text_hash=_hash(rules, inherit(beams.text_hash, parents), choice.tokens),
        state=map_tree(lambda leaf: inherit(leaf, parents), state),
        seen=descend(beams.seen, parents, beams.step),
    )


def _first_steps(history: Tensor, *, count: int) -> Tensor:
    return history[:, :, :count]


def _steps_of(history: Tree) -> int:
    """Return how many steps a history has room for; none where the model keeps none."""
    return next((leaf.shape[2] for leaf in leaves(history)), 0)


def _hopes(rules: Rules, beams: Beams) -> Float[Tensor, "rows beams"]:
    """Return a rank that no text which a hypothesis may grow to can surpass, since scores only fall."""
    least = torch.maximum(beams.spent, rules.floor[:, None])
    return _rank(rules, beams.score, torch.where(_penalty(rules) >= 0, rules.limit[:, None], least))


def _rank(
    rules: Rules, score: Float[Tensor, "rows beams"], spent: Int[Tensor, "rows beams"]
) -> Float[Tensor, "rows beams"]:
    return score / spent.clamp(min=1).to(score.dtype) ** _penalty(rules).to(score.dtype)


def _penalty(rules: Rules) -> Float[Tensor, "rows 1"]:
    return torch.where(rules.normalised, 1.0, rules.penalty)[:, None]


def _enough(rules: Rules, finished: Finished) -> Bool[Tensor, " rows"]:
    """Tell where as many texts are finished as grow at a time; samples are all kept in play."""
    if rules.sampling is not None:
        return torch.zeros_like(rules.normalised)
    taken = (finished.rank > NONE).long().sum(dim=-1)
    return rules.normalised & (taken >= min(rules.beams.shape[0], finished.rank.shape[1]))


def _bar(rules: Rules, finished: Finished) -> Float[Tensor, "rows 1"]:
    """Return the rank that a hypothesis must surpass to be kept; samples are all kept in play."""
    worst = finished.rank[:, -1:]
    return worst if rules.sampling is None else torch.full_like(worst, NONE)


def _hash(
    rules: Rules, text_hash: Int[Tensor, "rows beams"], tokens: Int[Tensor, "rows beams"]
) -> Int[Tensor, "rows beams"]:
    step = rules.text_hash[tokens]
    return text_hash * step[..., 0] + step[..., 1]


def _falling(ranks: Float[Tensor, "rows places"]) -> Int[Tensor, "rows places"]:
    """Return the places of a row from the highest rank to the lowest, the first of equals first.

    Counted, since not every runtime that takes this graph has a stable sort; the places are few.
    """
    place = torch.arange(ranks.shape[1], device=ranks.device)
    mine, other = ranks[:, :, None], ranks[:, None]
    before = (other > mine) | ((other == mine) & (place < place[:, None]))
    return torch.zeros_like(ranks, dtype=torch.long).scatter(1, before.sum(-1), place.expand_as(ranks))


def _repeated(hashes: Int[Tensor, "rows places"]) -> Bool[Tensor, "rows places"]:
    """Mark what stands in an earlier place of its row already."""
    return (hashes[:, :, None] == hashes[:, None, :]).tril(diagonal=-1).any(dim=-1)
