"""What bounds the rows of one batch, as tensors."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from copyfit.generation.jobs import Job, Sampling, SearchOptions
from copyfit.generation.layout import Layout, Reading
from copyfit.generation.sampling import uniform_numbers


class Rules(NamedTuple):
    """A layout as tensors, field by field, and what only sampling needs besides."""

    cost: Int[Tensor, "states classes"]
    next_state: Int[Tensor, "states classes"]
    steps: Int[Tensor, "states left"]
    bonus: Float[Tensor, " states"]
    classes: Int[Tensor, "rows vocabulary"]
    start: Int[Tensor, " rows"]
    floor: Int[Tensor, " rows"]
    limit: Int[Tensor, " rows"]
    max_steps: Int[Tensor, " rows"]
    scale: Float[Tensor, " rows"]
    normalised: Bool[Tensor, " rows"]
    prefix: Int[Tensor, "rows places"]
    trained_cost: Float[Tensor, " vocabulary"]
    text_hash: Int[Tensor, "vocabulary 2"]
    penalty: Float[Tensor, ""]
    before: Int[Tensor, " before"]
    fresh: Bool[Tensor, ""]
    beams: Int[Tensor, " beams"]
    kept: Int[Tensor, " kept"]
    tokens: Int[Tensor, " tokens"]
    uniform: Float[Tensor, "rows steps beams"] | None
    """One random number for each token that may be drawn."""
    sampling: Sampling | None
    """How tokens are drawn; None keeps the best instead."""


class Sources(NamedTuple):
    """A reading as tensors, field by field."""

    tokens: Int[Tensor, "sources time"]
    lengths: Int[Tensor, " sources"]
    reads: Int[Tensor, " rows"]
    budget: Float[Tensor, " rows"]


def sources_of(reading: Reading, device: torch.device) -> Sources:
    """Put a reading on a device."""
    return Sources._make(torch.from_numpy(array).to(device) for array in reading)


def rules_of(layout: Layout, jobs: Sequence[Job], options: SearchOptions, device: torch.device) -> Rules:
    """Put a layout on a device, with random numbers where tokens are to be drawn."""
    rules = rules_from(torch.from_numpy(array).to(device) for array in layout)
    if options.sampling is None:
        return rules
    uniform = uniform_numbers(jobs, options.sampling, beams=options.num_beams)
    return rules._replace(uniform=uniform.to(device), sampling=options.sampling)


def rules_from(tensors: Iterable[Tensor]) -> Rules:
    """Name the tensors of a layout, which come in its order."""
    return Rules(**dict(zip(Layout._fields, tensors, strict=True)), uniform=None, sampling=None)
