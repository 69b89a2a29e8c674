"""The blocks a Transformer is made of, each a residual branch around an attention or a feed-forward net."""

from collections.abc import Callable
from typing import Literal, NamedTuple, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import relu, scaled_dot_product_attention

from copyfit.nn.attention import Padded, Rows

Norm = Literal["pre", "post"]


class Past(NamedTuple):
    """The keys and values of a hypothesis so far, [rows, beams, heads, time, features] each."""

    key: Tensor
    value: Tensor


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
        if self.before:
            return cast(Tensor, inputs + self.dropout(branch(self.norm(inputs))))
        return cast(Tensor, self.norm(inputs + self.dropout(branch(inputs))))


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
        self, inputs: Float[Tensor, "rows beams width"], past: Past
    ) -> tuple[Float[Tensor, "rows beams width"], Past]:
        """Attend from one new token a hypothesis to its past and itself."""
        query, key, value = (part[..., None, :] for part in self._split(inputs).unbind(-3))
        grown = Past(torch.cat((past.key, key), dim=-2), torch.cat((past.value, value), dim=-2))
        query, key, value = (tensor.flatten(0, 1) for tensor in (query, *grown))
        seen = scaled_dot_product_attention(query, key, value)
        return self.outputs(seen.reshape(inputs.shape)), grown

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
        """Attend from every token to the memory of its row, [..., 2, heads, features].

        Beams of a row are just queries of it.
        """
        query = self.inputs(inputs).view(*inputs.shape[:-1], self.heads, -1)
        return cast(Tensor, self.outputs(rows.attend_across(query, memory, memory_rows).flatten(-2)))


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
        return self._after_self(tokens, rows, memory, memory_rows)

    def step(
        self, tokens: Float[Tensor, "rows beams width"], past: Past, memory: Tensor, memory_rows: Padded
    ) -> tuple[Float[Tensor, "rows beams width"], Past]:
        """Decode one more token of every hypothesis."""
        grown = past

        def attend(inputs: Tensor) -> Tensor:
            nonlocal grown
            seen, grown = self.attention.step(inputs, past)
            return seen

        tokens = self.residuals[0](tokens, attend)
        return self._after_self(tokens, memory_rows, memory, memory_rows), grown

    def _after_self(self, tokens: Tensor, rows: Rows, memory: Tensor, memory_rows: Rows) -> Tensor:
        tokens = self.residuals[1](
            tokens, lambda inputs: self.source_attention(inputs, rows, memory, memory_rows)
        )
        return cast(Tensor, self.residuals[2](tokens, self.feed_forward))


def linear_weights(module: nn.Module) -> int:
    """Count the weights of a module's linear maps, which every token passes."""
    return sum(part.weight.numel() for part in module.modules() if isinstance(part, nn.Linear))


def working_dtype(tensor: Tensor) -> torch.dtype:
    """Return the type to carry between layers: autocast's own, which halves the memory traffic."""
    device = tensor.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else tensor.dtype
