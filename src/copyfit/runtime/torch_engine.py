"""The engine that runs a PyTorch model: the reference, on a CPU or a GPU."""

from collections.abc import Sequence

import torch

from copyfit.generation.jobs import Counting, Hypothesis, Job, SearchOptions
from copyfit.generation.layout import lay_out, lay_out_sources
from copyfit.generation.rules import rules_of, sources_of
from copyfit.generation.search import search
from copyfit.models.contract import Seq2Seq
from copyfit.runtime.batches import WORK, hypotheses_of, search_in_batches


class TorchEngine:
    """Search with a model that is on its device already, in evaluation mode; threads may share it."""

    def __init__(self, model: Seq2Seq, device: torch.device, *, work: int = WORK) -> None:
        """Take at most so much `work` at once: padded tokens of the sources, or of the hypotheses."""
        self._model = model
        self._device = device
        self._work = work

    def search(
        self, jobs: Sequence[Job], counting: Counting, options: SearchOptions
    ) -> list[list[Hypothesis]]:
        """Return the hypotheses of each job, best first; none for a job that no text can keep."""

        def search_batch(batch: Sequence[Job]) -> list[list[Hypothesis]]:
            return self._search(batch, counting, options)

        return search_in_batches(jobs, counting, options, work=self._work, search=search_batch)

    @torch.inference_mode()
    def _search(
        self, jobs: Sequence[Job], counting: Counting, options: SearchOptions
    ) -> list[list[Hypothesis]]:
        finished = search(
            self._model,
            rules_of(lay_out(jobs, counting, options), jobs, options, self._device),
            sources_of(lay_out_sources(jobs), self._device),
            wanted=lambda: any(job.wanted() for job in jobs),
        )
        fields = (finished.tokens, finished.score, finished.spent, finished.rank)
        return hypotheses_of(*(field.cpu().numpy() for field in fields))
