"""The contract between an architecture and everything around it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

if TYPE_CHECKING:
    Tree = tuple["Tensor | Tree", ...]
else:
    # Checkers at run time look into a recursive type to a fixed depth, which an ensemble's trees exceed.
    Tree = tuple
"""An immutable nested tuple of tensors, the row first in every one of them."""
Memory = Tree
"""What belongs to a row's source: computed once, never repeated for a beam, never reordered."""


class Started(NamedTuple):
    """What a model makes of its sources, before a token is written."""

    memory: Memory
    state: Tree
    """Of one empty hypothesis a row, [rows, 1, ...]."""
    entry: Tree
    """Zeros, of the shape of what one empty hypothesis a row would add to the history."""


class Cache(NamedTuple):
    """What belongs to hypotheses: a state that every step replaces, and a history that every step adds to."""

    state: Tree
    """[rows, beams, ...]: goes with its hypothesis."""
    history: Tree
    """[rows, heads, steps, beams, features]: stays where it was written; `seen` tells whose it is."""
    seen: Bool[Tensor, "rows beams steps beams"]
    """Which beam of which earlier step each hypothesis goes on from."""


class Growth(NamedTuple):
    """What a step makes of a cache."""

    state: Tree
    """The new state."""
    entry: Tree
    """What the step adds to the history, [rows, heads, beams, features]."""


def map_tree(function: Callable[[Tensor], Tensor], tree: Tree) -> Tree:
    """Apply a function to every tensor of a tree."""
    return tuple(function(leaf) if isinstance(leaf, Tensor) else map_tree(function, leaf) for leaf in tree)


def blank(entry: Tree, *, steps: int, beams: int) -> Tree:
    """Return a history of so many steps in which nothing is written yet."""

    def blank_leaf(leaf: Tensor) -> Tensor:
        rows, heads, _, features = leaf.shape
        return leaf.new_zeros(rows, heads, steps, beams, features)

    return map_tree(blank_leaf, entry)


def write_down(history: Tree, entry: Tree, step: int) -> None:
    """Write what a step adds into its place of a history: the one thing that is ever changed in place."""
    for whole, part in zip(leaves(history), leaves(entry), strict=True):
        whole[:, :, step] = part


def descend(
    seen: Bool[Tensor, "rows beams steps beams"], parents: Int[Tensor, "rows beams"], step: Int[Tensor, ""]
) -> Bool[Tensor, "rows beams steps beams"]:
    """Let every new hypothesis see what its parent saw, and at this step the parent."""
    _, _, steps, beams = seen.shape
    now = torch.arange(steps, device=seen.device) == step
    own = torch.arange(beams, device=seen.device) == parents[..., None]
    return inherit(seen, parents) | (now[:, None] & own[:, :, None, :])


def leaves(tree: Tree) -> list[Tensor]:
    """Return the tensors of a tree in their order."""
    return [tensor for leaf in tree for tensor in ([leaf] if isinstance(leaf, Tensor) else leaves(leaf))]


def inherit(values: Tensor, parents: Int[Tensor, "rows beams"]) -> Tensor:
    """Give every new hypothesis what is its parent's, [rows, beams, ...]."""
    if values.dim() == parents.dim():
        return values.gather(1, parents)
    rows = torch.arange(parents.shape[0], device=parents.device)[:, None]
    return values[rows, parents]


@runtime_checkable
class Seq2Seq(Protocol):
    """What the search needs of a model. Positions are told in budget consumed, not in tokens."""

    def start(
        self,
        source: Int[Tensor, "sources time"],
        source_lengths: Int[Tensor, " sources"],
        reads: Int[Tensor, " rows"],
        budget: Float[Tensor, " rows"],
    ) -> Started:
        """Read the sources, each once; `reads` tells which of them each row has, with a budget of its own."""
        ...

    def step(
        self,
        tokens: Int[Tensor, "rows beams"],
        consumed: Float[Tensor, "rows beams"],
        cache: Cache,
        memory: Memory,
    ) -> tuple[Float[Tensor, "rows beams vocabulary"], Growth]:
        """Feed each hypothesis its last token; return the logits of the next one and what is new.

        `consumed` is the budget spent so far, that of the fed token included.
        """
        ...


class Batch(NamedTuple):
    """Pairs laid end to end: no padding inside, a filled-up tail at the end of each side.

    The tail belongs to extra rows with label `data.batches.IGNORED`, so that every batch has one fixed shape.
    """

    source: Int[Tensor, " source_tokens"]
    source_offsets: Int[Tensor, " rows_1"]
    source_index: Int[Tensor, " source_tokens"]
    """Position of each token in its row."""
    target: Int[Tensor, " target_tokens"]
    """Decoder input: begins with START."""
    target_offsets: Int[Tensor, " rows_1"]
    target_index: Int[Tensor, " target_tokens"]
    target_row: Int[Tensor, " target_tokens"]
    labels: Int[Tensor, " target_tokens"]
    """The token to predict: the row's next one, END at its end, IGNORED in the tail."""
    consumed: Float[Tensor, " target_tokens"]
    """Budget consumed by the input tokens so far, that of the input token included."""
    budget: Float[Tensor, " rows"]
    """The budget of each row: what its whole target costs."""
    longest_source: int
    longest_target: int


class Model(nn.Module):
    """An architecture: trained on whole batches, decoded as a `Seq2Seq`, built by `(section, sizes)`."""

    def forward(self, batch: Batch) -> Float[Tensor, "target_tokens vocabulary"]:
        """Return the logits of every target token's successor."""
        raise NotImplementedError

    def start(
        self,
        source: Int[Tensor, "sources time"],
        source_lengths: Int[Tensor, " sources"],
        reads: Int[Tensor, " rows"],
        budget: Float[Tensor, " rows"],
    ) -> Started:
        """Read the sources, as `Seq2Seq` says."""
        raise NotImplementedError

    def step(
        self,
        tokens: Int[Tensor, "rows beams"],
        consumed: Float[Tensor, "rows beams"],
        cache: Cache,
        memory: Memory,
    ) -> tuple[Float[Tensor, "rows beams vocabulary"], Growth]:
        """Write one token more, as `Seq2Seq` says."""
        raise NotImplementedError

    def useful_flops(self, source_tokens: int, target_tokens: int) -> float:
        """Count the work of training on these real tokens: 6 a weight passed, attention scores left out."""
        raise NotImplementedError
