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
WORTH_LEAVING = 0.25
"""What share of the rows of a batch must be over for the others to go on without them."""


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
        history = _History(_taken(state, graphs.ENTRY, cut=graphs.ENTRY))
        found: list[list[Hypothesis]] = [[] for _ in jobs]
        rows, steps = np.arange(len(jobs)), len(layout.tokens)
        # One step more than a text has pieces, for its END.
        for step in range(steps + 1):
            history.widen(room(step, steps))
            made = self._advance(fixed | state | history.arrays)
            state = _taken(made, graphs.NEXT, cut=graphs.NEXT)
            over = state[graphs.DONE] | [not jobs[row].wanted() for row in rows.tolist()]
            if over.all() or over.mean() >= WORTH_LEAVING:
                _put(found, rows[over], state, over)
                rows = rows[~over]
                if not len(rows):
                    break
                made, state = _kept(made, ~over), _kept(state, ~over)
                fixed = _kept(fixed, ~over)
                history.keep(~over)
            history.write(step, _taken(made, graphs.ENTRY, cut=graphs.ENTRY))
        return found


class _History:
    """The past of all hypotheses of a batch, written once and never moved, with room for some steps."""

    def __init__(self, entry: Arrays) -> None:
        self.arrays: Arrays = {name: array[:, :, None][:, :, :0] for name, array in entry.items()}

    def widen(self, steps: int) -> None:
        """Have room for so many steps; what is written stays."""
        for name, old in self.arrays.items():
            rows, heads, room_before, *rest = old.shape
            if room_before < steps:
                self.arrays[name] = np.zeros((rows, heads, steps, *rest), dtype=old.dtype)
                self.arrays[name][:, :, :room_before] = old

    def write(self, step: int, entry: Arrays) -> None:
        """Write what a step adds into its place."""
        for name, whole in self.arrays.items():
            whole[:, :, step] = entry[name]

    def keep(self, rows: NDArray[np.bool_]) -> None:
        """Let the other rows go."""
        self.arrays = {name: array[rows] for name, array in self.arrays.items()}


def open_onnx_engine(directory: Path) -> OnnxEngine:
    """Open the graphs of a checkpoint, to run on all cores this process may use."""
    return engine_of(load_graphs(directory), where=directory)


def engine_of(contents: Mapping[str, bytes], *, where: Path) -> OnnxEngine:
    """Open graphs by their names; `where` is told when one cannot be used."""
    start, advance = (Graph(contents[name], threads=cores(), name=str(where / name)) for name in GRAPHS)
    return OnnxEngine(start, advance)


def _taken(arrays: Arrays, prefix: str, *, cut: str = "") -> Arrays:
    """Return the arrays whose names begin with a prefix, and take from these what is to be cut."""
    return {name.removeprefix(cut): array for name, array in arrays.items() if name.startswith(prefix)}


def _kept(arrays: Arrays, rows: NDArray[np.bool_]) -> Arrays:
    """Let the other rows go, where an array has any."""
    shared = {
        name: array for name, array in arrays.items() if name.removeprefix(graphs.NEXT) in graphs.SHARED
    }
    return {name: array[rows] for name, array in arrays.items() if name not in shared} | shared


def _put(
    found: list[list[Hypothesis]], rows: NDArray[np.int64], state: Arrays, over: NDArray[np.bool_]
) -> None:
    texts = hypotheses_of(*(state[name][over] for name in graphs.FOUND))
    for row, hypotheses in zip(rows.tolist(), texts, strict=True):
        found[row] = hypotheses


def _first_line(problem: Exception) -> str:
    return str(problem).strip().splitlines()[0][:200]
