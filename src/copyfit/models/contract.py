"""The contract between an architecture and everything around it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

if TYPE_CHECKING:
    Tree = tuple["Tensor | Tree", ...]
else:
    # Checkers at run time look into a recursive type to a fixed depth, which an ensemble's trees exceed.
    Tree = tuple
"""An immutable nested tuple of tensors, the row first in every one of them."""
Memory = Tree
"""What belongs to a source row: computed once, never repeated for a beam, never reordered."""
Cache = Tree
"""What belongs to a hypothesis: [rows, beams, ...] in every tensor."""


def map_tree(function: Callable[[Tensor], Tensor], tree: Tree) -> Tree:
    """Apply a function to every tensor of a tree."""
    return tuple(function(leaf) if isinstance(leaf, Tensor) else map_tree(function, leaf) for leaf in tree)


def reorder(cache: Cache, parents: Int[Tensor, "rows beams"]) -> Cache:
    """Give every new hypothesis the cache of its parent."""
    return map_tree(lambda leaf: inherit(leaf, parents), cache)


def inherit(values: Tensor, parents: Int[Tensor, "rows beams"]) -> Tensor:
    """Give every new hypothesis what is its parent's, [rows, beams, ...]."""
    rows = torch.arange(parents.shape[0], device=parents.device)[:, None]
    return values[rows, parents]


@runtime_checkable
class Seq2Seq(Protocol):
    """What the search needs of a model. Positions are told in budget consumed, not in tokens."""

    def start(
        self,
        source: Int[Tensor, "rows time"],
        source_lengths: Int[Tensor, " rows"],
        budget: Float[Tensor, " rows"],
    ) -> tuple[Memory, Cache]:
        """Read the sources; return their memory and the cache of one empty hypothesis a row."""
        ...

    def step(
        self,
        tokens: Int[Tensor, "rows beams"],
        consumed: Float[Tensor, "rows beams"],
        cache: Cache,
        memory: Memory,
    ) -> tuple[Float[Tensor, "rows beams vocabulary"], Cache]:
        """Feed each hypothesis its last token; return the logits of the next one and the longer cache.

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
        source: Int[Tensor, "rows time"],
        source_lengths: Int[Tensor, " rows"],
        budget: Float[Tensor, " rows"],
    ) -> tuple[Memory, Cache]:
        """Read the sources, as `Seq2Seq` says."""
        raise NotImplementedError

    def step(
        self,
        tokens: Int[Tensor, "rows beams"],
        consumed: Float[Tensor, "rows beams"],
        cache: Cache,
        memory: Memory,
    ) -> tuple[Float[Tensor, "rows beams vocabulary"], Cache]:
        """Write one token more, as `Seq2Seq` says."""
        raise NotImplementedError

    def useful_flops(self, source_tokens: int, target_tokens: int) -> float:
        """Count the work of training on these real tokens: 6 a weight passed, attention scores left out."""
        raise NotImplementedError
