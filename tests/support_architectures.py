"""One tiny model of every system, and batches packed by plain Python."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from copyfit.config import check
from copyfit.models.build import build_model
from copyfit.models.config import ARCHITECTURES
from copyfit.models.contract import Batch, Model, Seq2Seq
from support_steps import Walk

SOURCE_SIZE, TARGET_SIZE = 23, 17
START, END = 1, 2
Pair = tuple[list[int], list[int]]
PAIRS: list[Pair] = [
    ([5, 6, 7, 8], [3, 4, 5]),
    ([9], [6, 7, 8, 9, 10, 11]),
    ([10, 11, 12, 13, 14, 15, 16], [12]),
    ([3, 22], [13, 14, 15, 16, 3, 4, 5]),
]
SCHEMES = ("pe", "ldpe", "ldpe+pe", "lrpe", "lrpe+pe", "pre", "pre+pe")
TRANSFORMER = {"width": 16, "heads": 4, "inner": 24, "encoder_layers": 2, "decoder_layers": 3}
CONVOLUTIONAL = {
    "architecture": "convolutional",
    "divisor": 3,
    "width": 16,
    "embedding": 12,
    "encoder_blocks": 2,
    "decoder_blocks": 2,
}
CONTROLS = ("none", "leninit", "lenemb")
RECURRENT = {"architecture": "recurrent", "width": 32, "embedding": 16, "longest": 5}
SYSTEMS: dict[str, Mapping[str, Any]] = {
    **{f"transformer {scheme}": {"positions": scheme, **TRANSFORMER} for scheme in SCHEMES},
    "transformer ldpe+pe, post-norm": {"positions": "ldpe+pe", "norm": "post", **TRANSFORMER},
    "length bins": {"architecture": "length-bins", "edges": (1, 2, 4), **TRANSFORMER},
    **{f"convolutional {control}": {"control": control, **CONVOLUTIONAL} for control in ("none", "lc")},
    **{f"recurrent {control}": {"control": control, **RECURRENT} for control in CONTROLS},
}
"""What a recipe says of a tiny model of each system, dropout left out."""
UNTOLD = {"transformer pe", "convolutional none", "recurrent none"}
"""The systems that are not told the budget."""


def tiny(system: Mapping[str, Any], *, target_size: int = TARGET_SIZE) -> Model:
    """Build a model without dropout, in float64 so that no rounding hides a difference."""
    torch.manual_seed(0)
    kind = ARCHITECTURES[system.get("architecture", "transformer")].section
    section = check({**system, "dropout": 0.0}, kind, where="test")
    return build_model(section, source_size=SOURCE_SIZE, target_size=target_size).double().eval()


def pack(pairs: Sequence[Pair], *, tail: int = 0) -> Batch:
    """Lay pairs end to end by plain Python, with costs of 1 a token and an optional tail row."""
    rows = [(source, [START, *target]) for source, target in pairs]
    if tail:
        rows.append(([0] * tail, [0] * tail))
    sources, targets = zip(*rows, strict=True)

    def offsets(lists: Sequence[list[int]]) -> Tensor:
        return torch.tensor([0, *itertools.accumulate(len(one) for one in lists)], dtype=torch.int32)

    def flat(lists: Sequence[Sequence[int]]) -> Tensor:
        return torch.tensor([item for one in lists for item in one])

    consumed = flat([range(len(one)) for one in targets])
    return Batch(
        source=flat(sources),
        source_offsets=offsets(sources),
        source_index=flat([range(len(one)) for one in sources]),
        target=flat(targets),
        target_offsets=offsets(targets),
        target_index=consumed,
        target_row=flat([[row] * len(one) for row, one in enumerate(targets)]),
        labels=flat([[*one[1:], END] for one in targets]),
        consumed=consumed.double(),
        budget=torch.tensor([max(len(one) - 1.0, 1.0) for one in targets]).double(),
        longest_source=8,
        longest_target=9,
    )


def stepped(model: Seq2Seq, pair: Pair) -> Tensor:
    """Return the logits of a target fed token by token."""
    source, target = pair
    walk = Walk(model, [source], [len(target)])
    return torch.stack(
        [walk.step([[token]], consumed)[0, 0] for consumed, token in enumerate([START, *target])]
    )


def check_half_precision(model: Model) -> None:
    """Check that a model in single precision learns from rounded products, and answers nearly the same."""
    batch = pack(PAIRS, tail=3)
    batch = batch._replace(consumed=batch.consumed.float(), budget=batch.budget.float())
    exact = model(batch)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = model(batch)
    assert rounded.dtype == torch.bfloat16
    torch.testing.assert_close(rounded.float(), exact, rtol=0.1, atol=0.05)
    rounded.float().logsumexp(-1).sum().backward()
    assert all(weight.grad is not None and weight.grad.isfinite().all() for weight in model.parameters())
