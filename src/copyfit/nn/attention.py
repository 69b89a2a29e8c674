"""Attention of rows of tokens to rows of tokens, laid out padded or end to end."""

from dataclasses import dataclass
from typing import Protocol

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.attention.varlen import varlen_attn
from torch.nn.functional import scaled_dot_product_attention


class Rows(Protocol):
    """A layout of rows of tokens. `attend` lets the queries of a row see the keys of the same row."""

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, keys: "Rows", *, causal: bool = False
    ) -> Tensor:
        """Return one vector a query and head; tensors are [*layout, heads, features]."""
        ...


@dataclass(frozen=True)
class Padded(Rows):
    """Rows of equal width: tensors are [rows, time, ...], and `mask` tells the real tokens."""

    mask: Bool[Tensor, "rows time"]

    @classmethod
    def of(cls, lengths: Int[Tensor, " rows"], width: int) -> "Padded":
        """Lay out rows of these lengths in a given width."""
        return cls(torch.arange(width, device=lengths.device) < lengths[:, None])

    def attend(
        self,
        query: Float[Tensor, "rows queries heads features"],
        key: Float[Tensor, "rows time heads features"],
        value: Float[Tensor, "rows time heads features"],
        keys: Rows,
        *,
        causal: bool = False,
    ) -> Float[Tensor, "rows queries heads features"]:
        """Attend by PyTorch's own kernel, the padding of the keys masked."""
        assert isinstance(keys, Padded)
        seen = keys.mask[:, None, None, :]
        if causal:
            square = torch.ones(query.shape[1], key.shape[1], dtype=torch.bool, device=query.device)
            seen = seen & square.tril()
        query, key, value = (tensor.transpose(1, 2) for tensor in (query, key, value))
        return scaled_dot_product_attention(query, key, value, attn_mask=seen).transpose(1, 2)


@dataclass(frozen=True)
class Packed(Rows):
    """Rows laid end to end: tensors are [tokens, ...], row i from `offsets[i]` to `offsets[i + 1]`."""

    offsets: Int[Tensor, " rows_1"]
    longest: int

    def attend(
        self,
        query: Float[Tensor, "queries heads features"],
        key: Float[Tensor, "tokens heads features"],
        value: Float[Tensor, "tokens heads features"],
        keys: Rows,
        *,
        causal: bool = False,
    ) -> Float[Tensor, "queries heads features"]:
        """Attend without padding where there is a kernel for it (CUDA); else by way of padded rows."""
        assert isinstance(keys, Packed)
        if query.is_cuda:
            window = (-1, 0) if causal else (-1, -1)
            return varlen_attn(  # type: ignore[return-value]
                query, key, value, self.offsets, keys.offsets, self.longest, keys.longest, window_size=window
            )
        padded = self.padded().attend(
            self.pad(query), keys.pad(key), keys.pad(value), keys.padded(), causal=causal
        )
        return self.unpad(padded)

    def padded(self) -> Padded:
        """Return the same rows as padded ones."""
        return Padded.of(self.offsets.diff(), self.longest)

    def pad(self, packed: Tensor) -> Tensor:
        """Lay packed rows out as [rows, longest, ...]; what pads them repeats some token."""
        slots = self.offsets[:-1, None] + torch.arange(self.longest, device=packed.device)
        return packed[slots.clamp(max=packed.shape[0] - 1)]

    def unpad(self, padded: Tensor) -> Tensor:
        """Lay padded rows end to end again."""
        return padded[self.padded().mask]
