"""Run the searches of many plans together, whatever their units."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from copyfit.generation.jobs import Engine, Hypothesis, Job, SearchOptions
from copyfit.writing.plan import Alphabet, Plan, Planner


class Found(NamedTuple):
    """Hold a finished hypothesis and the budget the model was told, in the unit of the request."""

    aim: int
    hypothesis: Hypothesis


class _Task(NamedTuple):
    plan: int
    aim: int
    job: Job


class Searcher(NamedTuple):
    """Hold what the searches of a call share."""

    engine: Engine
    planner: Planner
    options: SearchOptions
    batch_size: int
    report: Callable[[int], None]

    def run(self, plans: Sequence[Plan]) -> list[list[Found]]:
        """Search for all plans, similar ones together; results are in the order of the plans."""
        found: list[list[Found]] = [[] for _ in plans]
        left = [len(plan.jobs) for plan in plans]
        self.report(left.count(0))
        for alphabet, tasks in _batches(plans, self.batch_size):
            jobs = [task.job for task in tasks]
            counting = self.planner.measure(alphabet).counting
            for task, hypotheses in zip(tasks, self.engine.search(jobs, counting, self.options), strict=True):
                found[task.plan] += [Found(task.aim, hypothesis) for hypothesis in hypotheses]
                left[task.plan] -= 1
            self.report(left.count(0))
        return found


def _batches(plans: Sequence[Plan], size: int) -> Iterator[tuple[Alphabet, list[_Task]]]:
    by_alphabet: defaultdict[Alphabet, list[_Task]] = defaultdict(list)
    for index, plan in enumerate(plans):
        if plan.alphabet is not None:
            pairs = zip(plan.aims, plan.jobs, strict=True)
            by_alphabet[plan.alphabet] += [_Task(index, aim, job) for aim, job in pairs]
    for alphabet, tasks in by_alphabet.items():
        tasks.sort(key=lambda task: (task.job.limit, len(task.job.source)))
        for first in range(0, len(tasks), size):
            yield alphabet, tasks[first : first + size]
