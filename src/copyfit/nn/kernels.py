"""Attention within short rows laid end to end: one Triton kernel forward, one backward.

Headlines and their sources have tens of tokens. Kernels made for long rows spend most of their time there on
tiles that are mostly empty, and add up the gradients of queries through memory. Here a row and head belong to
one program, which walks them in small tiles: nothing is padded in memory, nothing is shared between programs.
"""

import math
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.library import custom_op


class Tile(NamedTuple):
    """How many queries and keys a program holds at a time, and with how many warps."""

    queries: int
    keys: int
    warps: int


FORWARD = Tile(128, 64, 4)
BACKWARD = Tile(32, 64, 4)
LOG2_E = math.log2(math.e)
_TYPES = (torch.bfloat16, torch.float16, torch.float32)
_LEAST_FEATURES, _MOST_FEATURES = 16, 128
"""Tiles of fewer are too small for a product, tiles of more too large for what a program may hold."""


def suits(tensor: Tensor) -> bool:
    """Tell whether the kernels can take a tensor's type and its number of features a head, a power of two."""
    features = tensor.shape[-1]
    within = _LEAST_FEATURES <= features <= _MOST_FEATURES
    return tensor.dtype in _TYPES and within and features & (features - 1) == 0


@triton.jit
def _load(tensor, tokens, length, stride, FEATURES: tl.constexpr):
    """Load tokens of a row and head; beyond the row's end they are zero."""
    places = tensor + tokens[:, None].to(tl.int64) * stride + tl.arange(0, FEATURES)[None, :]
    return tl.load(places, mask=(tokens < length)[:, None], other=0.0)


@triton.jit
def _store(tensor, values, tokens, length, stride, FEATURES: tl.constexpr):
    """Store tokens of a row and head, none beyond the row's end."""
    places = tensor + tokens[:, None].to(tl.int64) * stride + tl.arange(0, FEATURES)[None, :]
    tl.store(places, values.to(tensor.dtype.element_ty), mask=(tokens < length)[:, None])


@triton.jit
def _dot(left, right):
    """Multiply without rounding float32 to tf32."""
    return tl.dot(left, right, input_precision="ieee")


@triton.jit
def _attend(
    query, key, value, output, log_sum, query_offsets, key_offsets, query_stride, key_stride, heads,
    SCALE: tl.constexpr, CAUSAL: tl.constexpr, FEATURES: tl.constexpr,
    QUERIES: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    """Attend from one tile of queries to all keys of its row; `SCALE` is in powers of two."""
    head, row, tile = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    query_start = tl.load(query_offsets + row).to(tl.int64)
    query_length = tl.load(query_offsets + row + 1) - query_start
    if tile * QUERIES >= query_length:
        return
    key_start = tl.load(key_offsets + row).to(tl.int64)
    key_length = tl.load(key_offsets + row + 1) - key_start
    query += query_start * query_stride + head * FEATURES
    key += key_start * key_stride + head * FEATURES
    value += key_start * key_stride + head * FEATURES
    output += (query_start * heads + head) * FEATURES
    log_sum += query_start * heads + head

    query_tokens = tile * QUERIES + tl.arange(0, QUERIES)
    queries = _load(query, query_tokens, query_length, query_stride, FEATURES)
    highest = tl.full((QUERIES,), float("-inf"), tl.float32)
    total = tl.zeros((QUERIES,), tl.float32)
    mixed = tl.zeros((QUERIES, FEATURES), tl.float32)
    end = tl.minimum(key_length, (tile + 1) * QUERIES) if CAUSAL else key_length
    for begin in range(0, end, KEYS):
        key_tokens = begin + tl.arange(0, KEYS)
        keys = _load(key, key_tokens, key_length, key_stride, FEATURES)
        values = _load(value, key_tokens, key_length, key_stride, FEATURES)
        seen = (key_tokens < key_length)[None, :]
        if CAUSAL:
            seen = seen & (key_tokens[None, :] <= query_tokens[:, None])
        scores = tl.where(seen, _dot(queries, tl.trans(keys)) * SCALE, float("-inf"))
        higher = tl.maximum(highest, tl.max(scores, 1))
        shares = tl.exp2(scores - higher[:, None])
        shrink = tl.exp2(highest - higher)
        total = total * shrink + tl.sum(shares, 1)
        mixed = mixed * shrink[:, None] + _dot(shares.to(values.dtype), values)
        highest = higher
    _store(output, mixed / total[:, None], query_tokens, query_length, heads * FEATURES, FEATURES)
    tl.store(log_sum + query_tokens * heads, highest + tl.log2(total), mask=query_tokens < query_length)


@triton.jit
def _attend_backward(
    query, key, value, output, log_sum, wanted, query_slope, key_slope, value_slope,
    query_offsets, key_offsets, query_stride, key_stride, query_slope_stride, key_slope_stride, heads,
    SCALE: tl.constexpr, SLOPE_SCALE: tl.constexpr, CAUSAL: tl.constexpr, FEATURES: tl.constexpr,
    QUERIES: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    """Work out the gradients (slopes) of one row and head, keys by keys; tiles are [keys, queries]."""
    head, row = tl.program_id(0), tl.program_id(1)
    query_start = tl.load(query_offsets + row).to(tl.int64)
    query_length = tl.load(query_offsets + row + 1) - query_start
    key_start = tl.load(key_offsets + row).to(tl.int64)
    key_length = tl.load(key_offsets + row + 1) - key_start
    query += query_start * query_stride + head * FEATURES
    query_slope += query_start * query_slope_stride + head * FEATURES
    output += (query_start * heads + head) * FEATURES
    wanted += (query_start * heads + head) * FEATURES
    log_sum += query_start * heads + head
    key += key_start * key_stride + head * FEATURES
    value += key_start * key_stride + head * FEATURES
    key_slope += key_start * key_slope_stride + head * FEATURES
    value_slope += key_start * key_slope_stride + head * FEATURES

    for key_begin in range(0, key_length, KEYS):
        key_tokens = key_begin + tl.arange(0, KEYS)
        keys = _load(key, key_tokens, key_length, key_stride, FEATURES)
        values = _load(value, key_tokens, key_length, key_stride, FEATURES)
        key_sum = tl.zeros((KEYS, FEATURES), tl.float32)
        value_sum = tl.zeros((KEYS, FEATURES), tl.float32)
        for begin in range(0, query_length, QUERIES):
            tokens = begin + tl.arange(0, QUERIES)
            queries = _load(query, tokens, query_length, query_stride, FEATURES)
            asked = _load(wanted, tokens, query_length, heads * FEATURES, FEATURES)
            outputs = _load(output, tokens, query_length, heads * FEATURES, FEATURES)
            log_sums = tl.load(log_sum + tokens * heads, mask=tokens < query_length, other=float("inf"))
            seen = (key_tokens < key_length)[:, None]
            if CAUSAL:
                seen = seen & (key_tokens[:, None] <= tokens[None, :])
            scores = _dot(keys, tl.trans(queries)) * SCALE - log_sums[None, :]
            shares = tl.where(seen, tl.exp2(scores), 0.0)
            common = tl.sum(asked.to(tl.float32) * outputs.to(tl.float32), 1)
            slopes = shares * (_dot(values, tl.trans(asked)) - common[None, :])
            slopes = slopes.to(queries.dtype)
            value_sum += _dot(shares.to(asked.dtype), asked)
            key_sum += _dot(slopes, queries)
            query_sum = tl.trans(_dot(tl.trans(keys), slopes)) * SLOPE_SCALE
            if key_begin > 0:  # the row has more keys than a tile: add to what the tile before has left
                tl.debug_barrier()
                query_sum += _load(query_slope, tokens, query_length, query_slope_stride, FEATURES)
            _store(query_slope, query_sum, tokens, query_length, query_slope_stride, FEATURES)
        _store(key_slope, key_sum * SLOPE_SCALE, key_tokens, key_length, key_slope_stride, FEATURES)
        _store(value_slope, value_sum, key_tokens, key_length, key_slope_stride, FEATURES)


class _Sides(NamedTuple):
    """The tensors of one attention, [tokens, heads, features]; a token's heads lie side by side."""

    query: Tensor
    key: Tensor
    value: Tensor

    @property
    def scale(self) -> float:
        return 1 / math.sqrt(self.query.shape[-1])


def _forward(
    sides: _Sides, offsets: tuple[Tensor, Tensor], longest: int, causal: bool
) -> tuple[Tensor, Tensor]:
    tokens, heads, features = sides.query.shape
    output = sides.query.new_empty((tokens, heads, features))
    log_sum = sides.query.new_empty((tokens, heads), dtype=torch.float32)
    grid = (heads, offsets[0].shape[0] - 1, triton.cdiv(longest, FORWARD.queries))
    _attend[grid](
        *sides, output, log_sum, *offsets, sides.query.stride(0), sides.key.stride(0), heads,
        SCALE=sides.scale * LOG2_E, CAUSAL=causal, FEATURES=features,
        QUERIES=FORWARD.queries, KEYS=FORWARD.keys, num_warps=FORWARD.warps,
    )  # fmt: skip
    return output, log_sum


def _backward(
    sides: _Sides,
    slopes: _Sides,
    saved: tuple[Tensor, Tensor, Tensor],
    offsets: tuple[Tensor, Tensor],
    causal: bool,
) -> None:
    _, heads, features = sides.query.shape
    _attend_backward[heads, offsets[0].shape[0] - 1](
        *sides, *saved, *slopes, *offsets,
        sides.query.stride(0), sides.key.stride(0), slopes.query.stride(0), slopes.key.stride(0), heads,
        SCALE=sides.scale * LOG2_E, SLOPE_SCALE=sides.scale, CAUSAL=causal, FEATURES=features,
        QUERIES=BACKWARD.queries, KEYS=BACKWARD.keys, num_warps=BACKWARD.warps,
    )  # fmt: skip


@custom_op("copyfit::attend_within", mutates_args={})
def attend_within(joined: Tensor, offsets: Tensor, longest: int, causal: bool) -> tuple[Tensor, Tensor]:
    """Attend within each row; `joined` is [tokens, 3, heads, features]. Also return the sums' logarithms."""
    return _forward(_Sides(*joined.unbind(1)), (offsets, offsets), longest, causal)


@custom_op("copyfit::attend_within_backward", mutates_args={})
def _attend_within_backward(
    wanted: Tensor, joined: Tensor, output: Tensor, log_sum: Tensor, offsets: Tensor, causal: bool
) -> Tensor:
    slopes = torch.empty(joined.shape, dtype=joined.dtype, device=joined.device)
    sides = _Sides(*joined.unbind(1))
    _backward(sides, _Sides(*slopes.unbind(1)), (output, log_sum, wanted), (offsets, offsets), causal)
    return slopes


@custom_op("copyfit::attend_across", mutates_args={})
def attend_across(
    query: Tensor, joined: Tensor, query_offsets: Tensor, key_offsets: Tensor, longest: int
) -> tuple[Tensor, Tensor]:
    """Attend from each query to the same row of `joined`, [tokens, 2, heads, features]."""
    return _forward(_Sides(query, *joined.unbind(1)), (query_offsets, key_offsets), longest, causal=False)


@custom_op("copyfit::attend_across_backward", mutates_args={})
def _attend_across_backward(
    wanted: Tensor, query: Tensor, joined: Tensor, output: Tensor, log_sum: Tensor,
    query_offsets: Tensor, key_offsets: Tensor,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    query_slopes = torch.empty(query.shape, dtype=query.dtype, device=query.device)
    slopes = torch.empty(joined.shape, dtype=joined.dtype, device=joined.device)
    sides = _Sides(query, *joined.unbind(1))
    offsets = (query_offsets, key_offsets)
    _backward(
        sides, _Sides(query_slopes, *slopes.unbind(1)), (output, log_sum, wanted), offsets, causal=False
    )
    return query_slopes, slopes


@attend_within.register_fake
def _(joined, offsets, longest, causal):
    tokens, _, heads, features = joined.shape
    return joined.new_empty((tokens, heads, features)), joined.new_empty((tokens, heads), dtype=torch.float32)


@_attend_within_backward.register_fake
def _(wanted, joined, output, log_sum, offsets, causal):
    return torch.empty(joined.shape, dtype=joined.dtype, device=joined.device)


@attend_across.register_fake
def _(query, joined, query_offsets, key_offsets, longest):
    return query.new_empty(query.shape), query.new_empty(query.shape[:2], dtype=torch.float32)


@_attend_across_backward.register_fake
def _(wanted, query, joined, output, log_sum, query_offsets, key_offsets):
    empty = (torch.empty(part.shape, dtype=part.dtype, device=part.device) for part in (query, joined))
    return tuple(empty)


def _remember_within(ctx, inputs, output):
    joined, offsets, _, causal = inputs
    ctx.save_for_backward(joined, *output, offsets)
    ctx.causal = causal


def _within_backward(ctx, wanted, _):
    slopes = _attend_within_backward(wanted.contiguous(), *ctx.saved_tensors, ctx.causal)
    return slopes, None, None, None


def _remember_across(ctx, inputs, output):
    query, joined, query_offsets, key_offsets, _ = inputs
    ctx.save_for_backward(query, joined, *output, query_offsets, key_offsets)


def _across_backward(ctx, wanted, _):
    return *_attend_across_backward(wanted.contiguous(), *ctx.saved_tensors), None, None, None


attend_within.register_autograd(_within_backward, setup_context=_remember_within)
attend_across.register_autograd(_across_backward, setup_context=_remember_across)
