"""The engine that runs a PyTorch model: the reference, on a CPU or a GPU."""

from collections.abc import Iterator, Sequence

import torch

from copyfit.generation.beams import NONE, Finished
from copyfit.generation.constraints import feasible
from copyfit.generation.jobs import Counting, Hypothesis, Job, SearchOptions
from copyfit.generation.layout import lay_out, pad
from copyfit.generation.rules import rules_of
from copyfit.generation.search import search
from copyfit.models.contract import Seq2Seq
from copyfit.text.automaton import PADDING


class TorchEngine:
    """Search with a model that is on its device already, in evaluation mode; threads may share it."""

    def __init__(self, model: Seq2Seq, device: torch.device, *, work: int = 1 << 16) -> None:
        """Take at most so much `work` at once: padded tokens of the sources, or of the hypotheses."""
        self._model = model
        self._device = device
        self._work = work

    def search(
        self, jobs: Sequence[Job], counting: Counting, options: SearchOptions
    ) -> list[list[Hypothesis]]:
        """Return the hypotheses of each job, best first; none for a job that no text can keep."""
        results: list[list[Hypothesis]] = [[] for _ in jobs]
        possible = [number for number, job in enumerate(jobs) if feasible(job, counting)]
        possible.sort(key=lambda number: (jobs[number].max_steps, len(jobs[number].source)))
        for batch in self._batches(possible, jobs, options):
            found = self._search([jobs[number] for number in batch], counting, options)
            for number, hypotheses in zip(batch, found, strict=True):
                results[number] = hypotheses
        return results

    def _batches(
        self, order: Sequence[int], jobs: Sequence[Job], options: SearchOptions
    ) -> Iterator[list[int]]:
        batch: list[int] = []
        widest = 0
        for number in order:
            job = jobs[number]
            width = max(len(job.source), options.num_beams * job.max_steps)
            widest = max(widest, width)
            if batch and (len(batch) == options.batch_size or widest * (len(batch) + 1) > self._work):
                yield batch
                batch, widest = [], width
            batch.append(number)
        if batch:
            yield batch

    @torch.inference_mode()
    def _search(
        self, jobs: Sequence[Job], counting: Counting, options: SearchOptions
    ) -> list[list[Hypothesis]]:
        rules = rules_of(lay_out(jobs, counting, options), jobs, options, self._device)
        finished = search(
            self._model,
            rules,
            source=torch.from_numpy(pad([job.source for job in jobs])).to(self._device),
            source_lengths=torch.tensor([len(job.source) for job in jobs], device=self._device),
            budget=torch.tensor([job.aim for job in jobs], dtype=torch.float32, device=self._device),
        )
        return _hypotheses(finished)


def _hypotheses(finished: Finished) -> list[list[Hypothesis]]:
    fields = (finished.tokens, finished.score, finished.spent, finished.rank)
    rows = zip(*(field.tolist() for field in fields), strict=True)
    return [
        [
            Hypothesis(tuple(token for token in tokens if token != PADDING), score, spent)
            for tokens, score, spent, rank in zip(*row, strict=True)
            if rank > NONE
        ]
        for row in rows
    ]
