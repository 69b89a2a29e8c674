"""Attention of rows of tokens to rows of tokens, laid out padded or end to end."""

from dataclasses import dataclass
from typing import Any, Protocol, cast, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention


@runtime_checkable
class Rows(Protocol):
    """A layout of rows of tokens, [*tokens, ...], in which a query sees keys of its own row only."""

    def attend_within(
        self, joined: Float[Tensor, "*tokens 3 heads features"], *, causal: bool = False
    ) -> Float[Tensor, "*tokens heads features"]:
        """Attend from every token to its row, or only to what is not behind it."""
        ...

    def attend_across(
        self,
        query: Float[Tensor, "*tokens heads features"],
        joined: Float[Tensor, "*others 2 heads features"],
        others: Any,
    ) -> Float[Tensor, "*tokens heads features"]:
        """Attend from every token to the same row of others, which are laid out in the same way."""
        ...


@dataclass(frozen=True)
class Padded(Rows):
    """Rows of one width: tensors are [rows, time, ...], and `mask` tells the real tokens."""

    mask: Bool[Tensor, "rows time"]

    @classmethod
    def of(cls, lengths: Int[Tensor, " rows"], width: int) -> "Padded":
        """Lay out rows of these lengths in a given width."""
        return cls(torch.arange(width, device=lengths.device) < lengths[:, None])

    def attend_within(
        self, joined: Float[Tensor, "rows time 3 heads features"], *, causal: bool = False
    ) -> Float[Tensor, "rows time heads features"]:
        """Attend by PyTorch's own kernel, the padding masked."""
        seen = self.mask[:, None, None, :]
        if causal:
            square = torch.ones(joined.shape[1], joined.shape[1], dtype=torch.bool, device=joined.device)
            seen = seen & square.tril()
        query, key, value = joined.unbind(-3)
        return _attend(query, key, value, seen)

    def attend_across(
        self,
        query: Float[Tensor, "rows time heads features"],
        joined: Float[Tensor, "rows others 2 heads features"],
        others: "Padded",
    ) -> Float[Tensor, "rows time heads features"]:
        """Attend by PyTorch's own kernel, the padding of the others masked."""
        key, value = joined.unbind(-3)
        return _attend(query, key, value, others.mask[:, None, None, :])


@dataclass(frozen=True)
class Packed(Rows):
    """Rows laid end to end: tensors are [tokens, ...], row i from `offsets[i]` to `offsets[i + 1]`.

    Nothing is padded on a GPU where the kernel suits; elsewhere rows are, for the time of the attention.
    """

    offsets: Int[Tensor, " rows_1"]
    longest: int

    def attend_within(
        self, joined: Float[Tensor, "tokens 3 heads features"], *, causal: bool = False
    ) -> Float[Tensor, "tokens heads features"]:
        """Attend within each row."""
        if joined.is_cuda:
            from copyfit.nn import kernels  # Triton comes with PyTorch's CUDA builds only

            if kernels.suits(joined):
                return cast(Tensor, kernels.attend_within(joined, self.offsets, self.longest, causal)[0])
        return self.unpad(self._seen().attend_within(self.pad(joined), causal=causal))

    def attend_across(
        self,
        query: Float[Tensor, "tokens heads features"],
        joined: Float[Tensor, "others 2 heads features"],
        others: "Packed",
    ) -> Float[Tensor, "tokens heads features"]:
        """Attend to the same row of others."""
        if query.is_cuda:
            from copyfit.nn import kernels  # Triton comes with PyTorch's CUDA builds only

            if kernels.suits(query):
                offsets = (self.offsets, others.offsets)
                return cast(Tensor, kernels.attend_across(query, joined, *offsets, self.longest)[0])
        seen = self._seen().attend_across(self.pad(query), others.pad(joined), others._seen())
        return self.unpad(seen)

    def padded(self) -> Padded:
        """Return the same rows as padded ones."""
        return Padded.of(self.offsets.diff(), self.longest)

    def pad(self, packed: Tensor) -> Tensor:
        """Lay packed rows out as [rows, longest, ...]; what pads them repeats some token."""
        slots = self.offsets[:-1, None] + torch.arange(self.longest, device=packed.device)
        chosen = packed.index_select(0, slots.clamp(max=packed.shape[0] - 1).flatten())
        return chosen.view(*slots.shape, *packed.shape[1:])

    def unpad(self, padded: Tensor) -> Tensor:
        """Lay padded rows end to end again."""
        real = self.padded().mask.flatten().nonzero().squeeze(-1)
        return padded.flatten(0, 1).index_select(0, real)

    def _seen(self) -> Padded:
        """Let a token be seen in rows without any: attention to nothing is no number on some devices."""
        return Padded.of(self.offsets.diff().clamp(min=1), self.longest)


def _attend(query: Tensor, key: Tensor, value: Tensor, seen: Tensor) -> Tensor:
    query, key, value = (tensor.transpose(1, 2) for tensor in (query, key, value))
    return scaled_dot_product_attention(query, key, value, attn_mask=seen).transpose(1, 2)
