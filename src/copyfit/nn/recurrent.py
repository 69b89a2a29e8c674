"""LSTMs with attention and input feeding (Luong et al. 2015), and an embedding of what is left."""

from typing import NamedTuple, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

GATES = 4
"""An LSTM has an input gate, a forget gate, an output gate and a proposal for its cell."""

ONNX_GATES = [0, 3, 1, 2]
"""Where in PyTorch's LSTM are the gates of ONNX's: input, output, forget, proposal."""


class States(NamedTuple):
    """Hold what a decoder remembers of each hypothesis."""

    seen: Float[Tensor, "rows beams width"]
    """The last output, which is fed back."""
    hidden: tuple[Tensor, ...]
    """The output of each layer, [rows, beams, width]."""
    cells: tuple[Tensor, ...]
    """The cell of each layer, [rows, beams, width], in full precision: it counts."""

    def first(self, rows: int) -> "States":
        """Keep the first rows only."""
        hidden, cells = (tuple(layer[:rows] for layer in layers) for layers in self[1:])
        return States(self.seen[:rows], hidden, cells)


class Source(NamedTuple):
    """Hold what a decoder attends to."""

    keys: Float[Tensor, "rows others width"]
    values: Float[Tensor, "rows others width"]
    mask: Bool[Tensor, "rows others"]
    """Which of the tokens are real."""

    def first(self, rows: int) -> "Source":
        """Keep the first rows only."""
        return Source(*(tensor[:rows] for tensor in self))

    def attend(self, query: Float[Tensor, "rows beams width"]) -> Float[Tensor, "rows beams width"]:
        """Return the mean value of each row's tokens, weighted by how their keys agree with the query."""
        scores = query @ self.keys.transpose(1, 2)
        weights = scores.masked_fill(~self.mask[:, None], -torch.inf).softmax(dim=-1)
        return weights @ self.values


class Turns(NamedTuple):
    """Say in which order a decoder meets the tokens of rows end to end: all first ones, then all second ones.

    Longer rows come first, so that the rows which still have a token are always the first ones.
    """

    rows: Int[Tensor, " rows"]
    counts: list[int]
    """How many rows have a token at each step."""
    tokens: Int[Tensor, " tokens"]
    """Where among the tokens end to end is the one that is met next."""
    back: Int[Tensor, " tokens"]
    """When each token is met."""

    @classmethod
    def of(cls, offsets: Int[Tensor, " rows_1"]) -> "Turns":
        """Order the tokens of rows; the host waits for the offsets once, and for nothing afterwards."""
        starts = offsets.cpu().long()
        lengths, rows = starts.diff().sort(descending=True, stable=True)
        steps = torch.arange(int(lengths[0]))[:, None]
        present = steps < lengths
        tokens = (starts[rows] + steps)[present]
        ordered = (each.to(offsets.device, non_blocking=True) for each in (rows, tokens, tokens.argsort()))
        first, *others = ordered
        return cls(first, present.sum(dim=1).tolist(), *others)


class Encoder(nn.Module):
    """Read rows in both directions; what pads them is not read."""

    def __init__(self, features: int, width: int, layers: int, *, dropout: float) -> None:
        super().__init__()
        self.lstm = nn.LSTM(
            features,
            width // 2,
            layers,
            batch_first=True,
            # PyTorch warns of dropout that has no place between layers.
            dropout=dropout if layers > 1 else 0,
            bidirectional=True,
        )
        for name, parameter in self.lstm.named_parameters():
            if name.startswith("bias"):
                nn.init.zeros_(parameter)
            if name.startswith("bias_ih"):
                nn.init.ones_(parameter.data[width // 2 : width])

    def forward(
        self, tokens: Float[Tensor, "rows time features"], lengths: Int[Tensor, " rows"]
    ) -> tuple[Float[Tensor, "rows others width"], Tensor, Tensor]:
        """Return the encoded tokens, then the last hidden states and cells, [layers, rows, width].

        Every row must have a token.
        """
        if torch.onnx.is_in_onnx_export():
            return self._traced(tokens, lengths)
        packed = pack_padded_sequence(tokens, lengths.cpu(), batch_first=True, enforce_sorted=False)
        encoded, last = self.lstm(packed)
        hidden, cells = (_join(*states.unflatten(0, (-1, 2)).unbind(1)) for states in last)
        return pad_packed_sequence(encoded, batch_first=True)[0], hidden, cells

    def _traced(self, tokens: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Read by ONNX's own LSTM, since PyTorch's takes the number of tokens in a trace for a fixed one."""
        rows, time, _ = tokens.shape
        half = self.lstm.hidden_size
        tokens, last = tokens.transpose(0, 1), []
        for layer in range(self.lstm.num_layers):
            shapes = ((time, 2, rows, half), (2, rows, half), (2, rows, half))
            encoded, *states = torch.onnx.ops.symbolic_multi_out(
                "LSTM",
                (tokens, *self._weights_for_onnx(layer), lengths.int()),
                {"hidden_size": half, "direction": "bidirectional"},
                dtypes=(tokens.dtype,) * 3,
                shapes=shapes,
            )
            tokens = _join(*encoded.unbind(1))
            last.append([_join(*state.unbind(0)) for state in states])
        hidden, cells = (torch.stack(states) for states in zip(*last, strict=True))
        return tokens.transpose(0, 1), hidden, cells

    def _weights_for_onnx(self, layer: int) -> list[Tensor]:
        """Return weights of inputs and states and both biases, [directions, ...], gates in ONNX's order."""

        def both(name: str) -> Tensor:
            directions = [getattr(self.lstm, f"{name}_l{layer}{suffix}") for suffix in ("", "_reverse")]
            joined = torch.stack(directions)
            gates = joined.view(2, GATES, self.lstm.hidden_size, -1)
            return gates[:, ONNX_GATES].view(joined.shape)

        return [
            both("weight_ih"),
            both("weight_hh"),
            torch.cat((both("bias_ih"), both("bias_hh")), dim=1),
        ]


class Decoder(nn.Module):
    """Write with layers of LSTMs, the last of which looks at the source; what it saw is fed back."""

    def __init__(self, features: int, width: int, layers: int, *, dropout: float) -> None:
        super().__init__()
        self.inputs = nn.Linear(features, GATES * width)
        """What embedded tokens add to the gates of the first layer, which does not depend on the past."""
        self.gates = nn.ModuleList(
            nn.Linear(2 * width, GATES * width, bias=layer > 0) for layer in range(layers)
        )
        self.sources = nn.Linear(width, 2 * width, bias=False)
        """Keys (the general score), and the sources' share of what is seen."""
        self.mix = nn.Linear(width, width, bias=False)
        self.dropout = nn.Dropout(dropout)
        for bias in (self.inputs.bias, *(cast(nn.Linear, gates).bias for gates in self.gates[1:])):
            nn.init.zeros_(bias)
            nn.init.ones_(bias.data[width : 2 * width])

    def source(
        self, encoded: Float[Tensor, "rows others width"], mask: Bool[Tensor, "rows others"]
    ) -> Source:
        """Work out what every step needs of the sources."""
        keys, values = self.sources(encoded).chunk(2, dim=-1)
        return Source(keys.contiguous(), values.contiguous(), mask)

    def forward(
        self, shares: Float[Tensor, "tokens gates"], turns: Turns, states: States, source: Source
    ) -> Float[Tensor, "tokens width"]:
        """Return the outputs for known targets; shares and rows are in the order of the turns."""
        seen = []
        for share in torch.split(shares, turns.counts):
            if len(share) < len(states.seen):
                states, source = states.first(len(share)), source.first(len(share))
            states = self.step(share[:, None], states, source)
            seen.append(states.seen[:, 0])
        return torch.cat(seen)

    def step(self, share: Float[Tensor, "rows beams gates"], states: States, source: Source) -> States:
        """Write one token more of every hypothesis."""
        hidden: list[Tensor] = []
        cells: list[Tensor] = []
        for gates, before, cell in zip(self.gates, *states[1:], strict=True):
            below = self.dropout(hidden[-1]) if hidden else states.seen
            driven = gates(torch.cat((below, before), dim=-1))
            output, kept = advance(driven if hidden else driven + share, cell)
            hidden.append(output)
            cells.append(kept)
        seen = torch.tanh(self.mix(hidden[-1]) + source.attend(hidden[-1]))
        return States(seen, tuple(hidden), tuple(cells))


class RemainingBudget(nn.Module):
    """Embed what is left of a budget: one vector for each whole number up to the longest."""

    def __init__(self, longest: int, features: int) -> None:
        super().__init__()
        self.longest = longest
        self.table = nn.Embedding(longest + 1, features)

    def forward(self, remaining: Float[Tensor, "*tokens"]) -> Float[Tensor, "*tokens features"]:
        """Mix the vectors of the two nearest whole numbers, none of them below 0 or above the longest."""
        place = remaining.clamp(0, self.longest)
        below, above = self.table(place.floor().long()), self.table(place.ceil().long())
        return torch.lerp(below, above, place.frac()[..., None].to(below.dtype))


def advance(
    gates: Float[Tensor, "*tokens gates"], cell: Float[Tensor, "*tokens width"]
) -> tuple[Float[Tensor, "*tokens width"], Float[Tensor, "*tokens width"]]:
    """Return the output and the next cell of an LSTM; gates are input, forget, output and proposal."""
    width = gates.shape[-1] // GATES
    admit, forget, emit = gates[..., : 3 * width].sigmoid().chunk(3, dim=-1)
    kept = forget * cell + admit * gates[..., 3 * width :].tanh()
    return (emit * kept.tanh()).to(gates.dtype), kept


def _join(forwards: Tensor, backwards: Tensor) -> Tensor:
    return torch.cat((forwards, backwards), dim=-1)
