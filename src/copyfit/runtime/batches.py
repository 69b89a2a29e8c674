"""What every engine does around its searches: batch similar jobs, read what was found. Needs no PyTorch."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from copyfit.generation.constraints import feasible
from copyfit.generation.jobs import Counting, Hypothesis, Job, SearchOptions
from copyfit.text.automaton import PADDING

WORK = 1 << 16
"""How many padded tokens a batch may have, of its sources or of its hypotheses."""

SearchBatch = Callable[[Sequence[Job]], list[list[Hypothesis]]]


def search_in_batches(
    jobs: Sequence[Job], counting: Counting, options: SearchOptions, *, work: int, search: SearchBatch
) -> list[list[Hypothesis]]:
    """Return the hypotheses of each job, best first; none for a job that no text can keep."""
    results: list[list[Hypothesis]] = [[] for _ in jobs]
    possible = [number for number, job in enumerate(jobs) if feasible(job, counting)]
    possible.sort(key=lambda number: (jobs[number].max_steps, len(jobs[number].source)))
    for batch in _batches(possible, jobs, options, work):
        wanted = [number for number in batch if jobs[number].wanted()]
        if wanted:
            for number, hypotheses in zip(wanted, search([jobs[number] for number in wanted]), strict=True):
                results[number] = hypotheses if jobs[number].wanted() else []
    return results


def _batches(
    order: Sequence[int], jobs: Sequence[Job], options: SearchOptions, work: int
) -> Iterator[list[int]]:
    batch: list[int] = []
    widest = 0
    for number in order:
        job = jobs[number]
        width = max(len(job.source), options.num_beams * job.max_steps)
        widest = max(widest, width)
        if batch and (len(batch) == options.batch_size or widest * (len(batch) + 1) > work):
            yield batch
            batch, widest = [], width
        batch.append(number)
    if batch:
        yield batch


def hypotheses_of(
    tokens: NDArray[np.int64],
    score: NDArray[np.floating],
    spent: NDArray[np.int64],
    rank: NDArray[np.floating],
) -> list[list[Hypothesis]]:
    """Read the finished texts of each row; a rank of minus infinity marks an empty place."""
    rows = zip(*(field.tolist() for field in (tokens, score, spent, np.isfinite(rank))), strict=True)
    return [
        [
            Hypothesis(tuple(token for token in tokens if token != PADDING), score, spent)
            for tokens, score, spent, present in zip(*row, strict=True)
            if present
        ]
        for row in rows
    ]
