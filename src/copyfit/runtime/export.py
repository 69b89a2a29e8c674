"""From a PyTorch model to two graphs that ONNX Runtime runs: the same search, traced."""

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import onnx
import torch
from torch import Tensor, nn

from copyfit.generation.beams import Beams, Finished, begin
from copyfit.generation.jobs import Counting, Job, SearchOptions
from copyfit.generation.layout import lay_out, lay_out_sources
from copyfit.generation.rules import rules_from, rules_of, sources_of
from copyfit.generation.search import advance
from copyfit.models.contract import Model, Started, Tree, blank, leaves
from copyfit.runtime import graphs
from copyfit.runtime.simplify import simplify

OPSET = 18
EXAMPLE = SearchOptions(num_beams=5, keep=7, no_repeat_ngram=4)
"""No two sizes of what is traced are equal and none is one: the tracer takes such sizes to stay so."""


_OF_BEAMS = tuple(name for name in Beams._fields if name != "state")


HISTORY_AXES = 5


class Graphs(NamedTuple):
    """Hold both graphs of a model."""

    start: onnx.ModelProto
    advance: onnx.ModelProto


def trace(model: Model, jobs: Sequence[Job], counting: Counting) -> Graphs:
    """Trace a model's search on two jobs with different sources; the graphs take any others too."""
    jobs, cpu = [*jobs, jobs[0]], torch.device("cpu")
    rules = list(rules_of(lay_out(jobs, counting, EXAMPLE), jobs, EXAMPLE, cpu)[:-2])
    sources = sources_of(lay_out_sources(jobs), cpu)
    started = model.start(*sources)
    beams, finished = begin(rules_from(rules), started.state)
    # A past of two steps, for the same reason.
    history = blank(started.entry, steps=2, beams=EXAMPLE.num_beams)
    names = _Names.of(started)
    return Graphs(
        _traced(
            _Start(model),
            (list(sources), rules),
            [*graphs.SOURCES, *graphs.RULES],
            [*names.memory, *names.state, *(f"{graphs.ENTRY}{name}" for name in names.history)],
        ),
        _traced(
            _Advance(model, started),
            (rules, leaves(started.memory), list(_state(beams, finished)), leaves(history)),
            [*graphs.RULES, *names.memory, *names.state, *names.history],
            [
                *(f"{graphs.NEXT}{name}" for name in names.state),
                *(f"{graphs.ENTRY}{name}" for name in names.history),
            ],
        ),
    )


class _Names(NamedTuple):
    memory: list[str]
    state: list[str]
    history: list[str]

    @classmethod
    def of(cls, started: Started) -> "_Names":
        def numbered(prefix: str, tree: Tree) -> list[str]:
            return [f"{prefix}{number}" for number, _ in enumerate(leaves(tree))]

        return cls(
            numbered(graphs.MEMORY, started.memory),
            [
                *(f"{graphs.BEAMS}{name}" for name in _OF_BEAMS),
                *numbered(graphs.STATE, started.state),
                *(f"{graphs.FINISHED}{name}" for name in Finished._fields),
            ],
            numbered(graphs.HISTORY, started.entry),
        )


def _traced(module: nn.Module, inputs: Any, given: list[str], made: list[str]) -> onnx.ModelProto:
    with torch.inference_mode(), quiet():
        program = torch.onnx.export(
            module.eval(),
            inputs,
            input_names=given,
            output_names=made,
            dynamo=True,
            dynamic_shapes=_free(inputs),
            opset_version=OPSET,
            verbose=False,
        )
    assert program is not None
    graph = program.model_proto
    for node in graph.graph.node:
        # Where in this code each came from is of no use later, and more than the rest of a small graph.
        del node.metadata_props[:]
        node.doc_string = ""
    simplify(graph.graph)
    return graph


def _free(inputs: Any) -> Any:
    """Let every size of every tensor be any, or the same as another where the trace says so.

    But for the heads and features of a history, the only tensors of five axes: a model has always as many.
    """
    if isinstance(inputs, Tensor):
        axes = (0, 2, 3) if inputs.dim() == HISTORY_AXES else range(inputs.dim())
        return dict.fromkeys(axes, torch.export.Dim.AUTO)
    return type(inputs)(map(_free, inputs))


@contextmanager
def quiet() -> Iterator[None]:
    """Keep to themselves what tracers say, of their own deprecations and of libraries that are not there."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


class _Start(nn.Module):
    """Read the sources and begin a search."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model

    def forward(self, sources: Sequence[Tensor], rules: Sequence[Tensor]) -> tuple[Tensor, ...]:
        started = self.model.start(*sources)
        beams, finished = begin(rules_from(rules), started.state)
        beside = torch.zeros_like(beams.score)[:, None, :, None]
        entry = [leaf + beside for leaf in leaves(started.entry)]
        return (*leaves(started.memory), *_state(beams, finished), *entry)


class _Advance(nn.Module):
    """Write one token more of every hypothesis."""

    def __init__(self, model: Model, started: Started) -> None:
        super().__init__()
        self.model = model
        self.memory, self.state, self.history = map(_shape_of, started)

    def forward(
        self,
        rules: Sequence[Tensor],
        memory: Sequence[Tensor],
        state: Sequence[Tensor],
        history: Sequence[Tensor],
    ) -> tuple[Tensor, ...]:
        plain, last = len(_OF_BEAMS), len(Finished._fields)
        own = _tree(self.state, iter(state[plain:-last]))
        beams = Beams(**dict(zip(_OF_BEAMS, state[:plain], strict=True)), state=own)
        grown, finished, entry = advance(
            self.model,
            rules_from(rules),
            beams,
            Finished._make(state[-last:]),
            history=_tree(self.history, iter(history)),
            memory=_tree(self.memory, iter(memory)),
        )
        return (*_state(grown, finished), *leaves(entry))


Shape = tuple["Shape | None", ...]
"""A tree with nothing in the place of its tensors."""


def _shape_of(tree: Tree) -> Shape:
    return tuple(None if isinstance(leaf, Tensor) else _shape_of(leaf) for leaf in tree)


def _tree(shape: Shape, tensors: Iterator[Tensor]) -> Tree:
    return tuple(next(tensors) if part is None else _tree(part, tensors) for part in shape)


def _state(beams: Beams, finished: Finished) -> tuple[Tensor, ...]:
    plain = (getattr(beams, name) for name in _OF_BEAMS)
    return (*plain, *leaves(beams.state), *finished)
