"""Drawing tokens at random, so that a row draws the same alone and in any batch."""

import hashlib
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from copyfit.generation.jobs import Job, Sampling

_BELOW_ONE = 1 - 2**-20
"""Keeps a random number times a sum below the sum, whatever the rounding."""


def uniform_numbers(
    jobs: Sequence[Job], sampling: Sampling, *, beams: int
) -> Float[Tensor, "rows steps beams"]:
    """Return a random number from 0 to 1 for each token that may be drawn, by the seed and the job alone."""
    steps = 1 + max(job.max_steps for job in jobs)
    numbers = torch.zeros(len(jobs), steps, beams)
    for row, job in enumerate(jobs):
        generator = torch.Generator().manual_seed(_seed(job, sampling))
        drawn = torch.rand(job.max_steps + 1, beams, generator=generator)
        numbers[row, : job.max_steps + 1] = drawn * _BELOW_ONE
    return numbers


def draw(
    logits: Float[Tensor, "rows beams vocabulary"], uniform: Float[Tensor, "rows beams"], sampling: Sampling
) -> Int[Tensor, "rows beams"]:
    """Draw one token a hypothesis from the likeliest ones, each with the probability that is left to it."""
    likeliest, tokens = _likeliest(logits / sampling.temperature, sampling)
    probabilities = likeliest.softmax(dim=-1)
    if sampling.top_p < 1:
        before = probabilities.cumsum(dim=-1) - probabilities
        probabilities = probabilities * (before < sampling.top_p)
    cumulative = probabilities.cumsum(dim=-1)
    place = (cumulative <= uniform[..., None] * cumulative[..., -1:]).sum(dim=-1, keepdim=True)
    return tokens.gather(-1, place).squeeze(-1)


def _likeliest(logits: Tensor, sampling: Sampling) -> tuple[Tensor, Tensor]:
    """Return the logits that may be drawn and their tokens, in falling order where that matters."""
    if sampling.top_k:
        return logits.topk(min(sampling.top_k, logits.shape[-1]))
    if sampling.top_p < 1:
        return logits.sort(dim=-1, descending=True, stable=True)
    return logits, torch.arange(logits.shape[-1], device=logits.device).expand_as(logits)


def _seed(job: Job, sampling: Sampling) -> int:
    source = list(map(int, job.source))
    content = (sampling.seed, source, float(job.aim), int(job.floor), int(job.limit))
    return int.from_bytes(hashlib.blake2b(repr(content).encode(), digest_size=7).digest(), "big")
