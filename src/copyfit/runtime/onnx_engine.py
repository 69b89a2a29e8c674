"""The engine that runs exported graphs by ONNX Runtime: small, quick to start, without PyTorch."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from copyfit.checkpoint import GRAPHS, load_graphs
from copyfit.environment import cores
from copyfit.errors import CheckpointError, RequestError
from copyfit.generation.jobs import Counting, Hypothesis, Job, SearchOptions
from copyfit.generation.layout import lay_out, lay_out_sources, room
from copyfit.runtime import graphs
from copyfit.runtime.batches import WORK, hypotheses_of, search_in_batches

Arrays = dict[str, NDArray[Any]]


class Graph:
    """Run one graph with arrays by name; what it has no use for is left out."""

    def __init__(self, content: bytes, *, threads: int, name: str) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        try:
            self._session = onnxruntime.InferenceSession(content, options, ["CPUExecutionProvider"])
        except Exception as problem:
            # The library raises classes of its own for what is wrong with a file, without a common one.
            raise CheckpointError(f"{name} must be an ONNX graph: {_first_line(problem)}") from problem
        self._inputs = [given.name for given in self._session.get_inputs()]
        self._outputs = [made.name for made in self._session.get_outputs()]

    def __call__(self, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
        """Return the outputs by name."""
        made = self._session.run(self._outputs, {name: arrays[name] for name in self._inputs})
        return dict(zip(self._outputs, made, strict=True))


class OnnxEngine:
    """Search by two graphs; threads may share it."""

    def __init__(self, start: Graph, advance: Graph, *, work: int = WORK) -> None:
        self._start = start
        self._advance = advance
        self._work = work

    def search(
        self, jobs: Sequence[Job], counting: Counting, options: SearchOptions
    ) -> list[list[Hypothesis]]:
        """Return the hypotheses of each job, best first; none for a job that no text can keep."""
        if options.sampling is not None:
            raise RequestError("drawing at random needs the engine torch; ask for it, or leave sampling out")

        def search_batch(batch: Sequence[Job]) -> list[list[Hypothesis]]:
            return self._search(batch, counting, options)

        return search_in_batches(jobs, counting, options, work=self._work, search=search_batch)

    def _search(
        self, jobs: Sequence[Job], counting: Counting, options: SearchOptions
    ) -> list[list[Hypothesis]]:
        layout = lay_out(jobs, counting, options)
        fixed: Arrays = dict(zip(graphs.RULES, layout, strict=True))
        state = self._start(fixed | dict(zip(graphs.SOURCES, lay_out_sources(jobs), strict=True)))
        fixed |= _taken(state, graphs.MEMORY)
        history: Arrays = {}
        blank, steps = _taken(state, graphs.ENTRY), len(layout.tokens)
        # One step more than a text has pieces, for its END.
        for step in range(steps + 1):
            _widen(history, blank, room(step, steps))
            made = self._advance(fixed | state | history)
            entry = _taken(made, graphs.ENTRY)
            state = _taken(made, graphs.NEXT)
            if state[graphs.DONE].all() or not any(job.wanted() for job in jobs):
                break
            for name, whole in history.items():
                whole[:, :, step] = entry[name]
        return hypotheses_of(*(state[name] for name in graphs.FOUND))


def open_onnx_engine(directory: Path) -> OnnxEngine:
    """Open the graphs of a checkpoint, to run on all cores this process may use."""
    return engine_of(load_graphs(directory), where=directory)


def engine_of(contents: Mapping[str, bytes], *, where: Path) -> OnnxEngine:
    """Open graphs by their names; `where` is told when one cannot be used."""
    start, advance = (Graph(contents[name], threads=cores(), name=str(where / name)) for name in GRAPHS)
    return OnnxEngine(start, advance)


def _taken(arrays: Arrays, prefix: str) -> Arrays:
    """Return what a name begins with a prefix, without it; memory keeps its own."""
    cut = "" if prefix == graphs.MEMORY else prefix
    return {name.removeprefix(cut): array for name, array in arrays.items() if name.startswith(prefix)}


def _widen(history: Arrays, blank: Arrays, steps: int) -> None:
    """Give a history room for so many steps; what is written stays."""
    for name, entry in blank.items():
        old = history.get(name)
        if old is None or old.shape[2] < steps:
            rows, heads, beams, features = entry.shape
            history[name] = np.zeros((rows, heads, steps, beams, features), dtype=entry.dtype)
            if old is not None:
                history[name][:, :, : old.shape[2]] = old


def _first_line(problem: Exception) -> str:
    return str(problem).strip().splitlines()[0][:200]
