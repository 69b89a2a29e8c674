"""The blocks a Transformer is made of, each a residual branch around an attention or a feed-forward net."""

from collections.abc import Callable
from typing import Literal, NamedTuple, cast

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import relu

from copyfit.nn.attention import Rows

Norm = Literal["pre", "post"]


class Keys(NamedTuple):
    """Keys and values of the tokens that a query may see: [rows, heads, ..., features] each.

    Those of sources have their keys turned and scaled beforehand, [rows, heads, features, time].
    """

    key: Tensor
    value: Tensor


class View(NamedTuple):
    """What a new token may not see, as minus infinity in the place of 0."""

    past: Float[Tensor, "rows 1 beams slots"]
    """Places of the history, steps and beams in one."""
    source: Float[Tensor, "rows 1 1 time"]


class Shape(NamedTuple):
    """What the layers of a Transformer have in common."""

    width: int
    heads: int
    inner: int
    dropout: float
    norm: Norm


class Residual(nn.Module):
    """Add a branch to its input, normalising before the branch or after the sum."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(shape.width)
        self.dropout = nn.Dropout(shape.dropout)
        self.before = shape.norm == "pre"

    def forward(
        self, inputs: Float[Tensor, "*tokens width"], branch: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "*tokens width"]:
        """Return inputs + branch(inputs), normalised."""
        return self.close(inputs, branch(self.open(inputs)))

    def open(self, inputs: Float[Tensor, "*tokens width"]) -> Float[Tensor, "*tokens width"]:
        """Return what the branch is given."""
        return cast(Tensor, self.norm(inputs)) if self.before else inputs

    def close(
        self, inputs: Float[Tensor, "*tokens width"], branched: Float[Tensor, "*tokens width"]
    ) -> Float[Tensor, "*tokens width"]:
        """Add what the branch made."""
        total: Tensor = inputs + self.dropout(branched)
        return total if self.before else cast(Tensor, self.norm(total))


class FeedForward(nn.Module):
    """Two linear maps with a rectifier between them."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.inner = nn.Linear(width, inner)
        self.outer = nn.Linear(inner, width)

    def forward(self, inputs: Float[Tensor, "*tokens width"]) -> Float[Tensor, "*tokens width"]:
        """Map every token by itself."""
        return cast(Tensor, self.outer(relu(self.inner(inputs))))


class SelfAttention(nn.Module):
    """Let the tokens of a row see each other, or a new token the ones before it."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.inputs = nn.Linear(width, 3 * width)
        self.outputs = nn.Linear(width, width)

    def forward(
        self, inputs: Float[Tensor, "*tokens width"], rows: Rows, *, causal: bool = False
    ) -> Float[Tensor, "*tokens width"]:
        """Attend within each row, all tokens at once."""
        return cast(Tensor, self.outputs(rows.attend_within(self._split(inputs), causal=causal).flatten(-2)))

    def step(
        self,
        inputs: Float[Tensor, "rows beams width"],
        past: Keys,
        unseen: Float[Tensor, "rows 1 beams slots"],
    ) -> tuple[Float[Tensor, "rows beams width"], Keys]:
        """Attend from one new token a hypothesis to itself and to what it sees of the past of all beams."""
        query, key, value = self._split(inputs).permute(2, 0, 3, 1, 4).unbind(0)
        query = query * query.shape[-1] ** -0.5
        before = query @ past.key.flatten(2, 3).transpose(-1, -2) + unseen
        itself = (query * key).sum(dim=-1, keepdim=True)
        weights = torch.cat((before, itself), dim=-1).softmax(dim=-1)
        seen = weights[..., :-1] @ past.value.flatten(2, 3) + weights[..., -1:] * value
        return self.outputs(seen.transpose(1, 2).flatten(2)), Keys(key, value)

    def _split(self, inputs: Tensor) -> Tensor:
        joined: Tensor = self.inputs(inputs)
        return joined.view(*joined.shape[:-1], 3, self.heads, -1)


class CrossAttention(nn.Module):
    """Let the tokens of a target see the tokens of its source, whose keys are worked out beforehand."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.inputs = nn.Linear(width, width)
        self.outputs = nn.Linear(width, width)

    def forward(
        self, inputs: Float[Tensor, "*tokens width"], rows: Rows, memory: Tensor, memory_rows: Rows
    ) -> Float[Tensor, "*tokens width"]:
        """Attend from every token to the memory of its row, [..., 2, heads, features]."""
        query = self.inputs(inputs).view(*inputs.shape[:-1], self.heads, -1)
        return cast(Tensor, self.outputs(rows.attend_across(query, memory, memory_rows).flatten(-2)))

    def step(
        self, inputs: Float[Tensor, "rows beams width"], memory: Keys, unseen: Float[Tensor, "rows 1 1 time"]
    ) -> Float[Tensor, "rows beams width"]:
        """Attend from one new token a hypothesis to the source of its row."""
        query = self.inputs(inputs).view(*inputs.shape[:-1], self.heads, -1).transpose(1, 2)
        weights = (query @ memory.key + unseen).softmax(dim=-1)
        return cast(Tensor, self.outputs((weights @ memory.value).transpose(1, 2).flatten(2)))


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.attention = SelfAttention(shape.width, shape.heads)
        self.feed_forward = FeedForward(shape.width, shape.inner)
        self.residuals = nn.ModuleList(Residual(shape) for _ in range(2))

    def forward(self, tokens: Float[Tensor, "*tokens width"], rows: Rows) -> Float[Tensor, "*tokens width"]:
        """Encode the tokens once more."""
        around_attention, around_feed_forward = self.residuals
        tokens = around_attention(tokens, lambda inputs: self.attention(inputs, rows))
        return cast(Tensor, around_feed_forward(tokens, self.feed_forward))


class DecoderLayer(nn.Module):
    """Causal self-attention, attention to the source, then feed-forward."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.attention = SelfAttention(shape.width, shape.heads)
        self.source_attention = CrossAttention(shape.width, shape.heads)
        self.feed_forward = FeedForward(shape.width, shape.inner)
        self.residuals = nn.ModuleList(Residual(shape) for _ in range(3))

    def forward(
        self, tokens: Float[Tensor, "*tokens width"], rows: Rows, memory: Tensor, memory_rows: Rows
    ) -> Float[Tensor, "*tokens width"]:
        """Decode all tokens of known targets at once."""
        tokens = self.residuals[0](tokens, lambda inputs: self.attention(inputs, rows, causal=True))
        tokens = self.residuals[1](
            tokens, lambda inputs: self.source_attention(inputs, rows, memory, memory_rows)
        )
        return cast(Tensor, self.residuals[2](tokens, self.feed_forward))

    def step(
        self, tokens: Float[Tensor, "rows beams width"], past: Keys, memory: Keys, view: View
    ) -> tuple[Float[Tensor, "rows beams width"], Keys]:
        """Decode one more token of every hypothesis; return what it adds to the past."""
        first = cast(Residual, self.residuals[0])
        seen, entry = self.attention.step(first.open(tokens), past, view.past)
        tokens = first.close(tokens, seen)
        tokens = self.residuals[1](
            tokens, lambda inputs: self.source_attention.step(inputs, memory, view.source)
        )
        return cast(Tensor, self.residuals[2](tokens, self.feed_forward)), entry


def turned(joined: Float[Tensor, "rows time 2 heads features"]) -> Keys:
    """Lay the keys and values of sources out for `CrossAttention.step`."""
    key, value = joined.unbind(2)
    scaled = key.permute(0, 2, 3, 1) * key.shape[-1] ** -0.5
    return Keys(scaled.contiguous(), value.transpose(1, 2).contiguous())


def hide(shown: Bool[Tensor, "*places"]) -> Float[Tensor, "*places"]:
    """Return 0 for what is shown, minus infinity for what is not."""
    return torch.zeros_like(shown, dtype=torch.float32).masked_fill(~shown, -torch.inf)


def linear_weights(module: nn.Module) -> int:
    """Count the weights of a module's linear maps, which every token passes."""
    return sum(part.weight.numel() for part in module.modules() if isinstance(part, nn.Linear))


def working_dtype(tensor: Tensor) -> torch.dtype:
    """Return the type to carry between layers: autocast's own, which halves the memory traffic."""
    device = tensor.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else tensor.dtype
