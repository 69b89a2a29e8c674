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
from copyfit.generation.layout import lay_out, pad
from copyfit.generation.rules import Rules, rules_of
from copyfit.generation.search import advance
from copyfit.models.contract import Cache, Memory, Model, Tree
from copyfit.runtime import graphs

OPSET = 18
EXAMPLE = SearchOptions(num_beams=3, keep=4, no_repeat_ngram=3)
"""Every size of what is traced is at least two: the tracer takes a one for something that stays one."""


class Graphs(NamedTuple):
    """Hold both graphs of a model."""

    start: onnx.ModelProto
    advance: onnx.ModelProto


def trace(model: Model, jobs: Sequence[Job], counting: Counting) -> Graphs:
    """Trace a model's search on some jobs, at least two; the graphs take any others too."""
    rules = list(rules_of(lay_out(jobs, counting, EXAMPLE), jobs, EXAMPLE, torch.device("cpu"))[:-2])
    sources = (
        torch.from_numpy(pad([job.source for job in jobs])),
        torch.tensor([len(job.source) for job in jobs]),
        torch.tensor([job.aim for job in jobs], dtype=torch.float32),
    )
    memory, cache = model.start(*sources)
    state = _state(*begin(_rules(rules), cache))
    step = _Advance(model, memory, cache)
    # A past of two tokens, for the same reason.
    for _ in range(2):
        state = step(rules, leaves(memory), state)
    names = _Names.of(memory, cache)
    return Graphs(
        _traced(
            _Start(model),
            (*sources, rules),
            [graphs.SOURCE, graphs.SOURCE_LENGTHS, graphs.BUDGET, *graphs.RULES],
            [*names.memory, *names.state],
        ),
        _traced(
            step,
            (rules, leaves(memory), list(state)),
            [*graphs.RULES, *names.memory, *names.state],
            [f"{graphs.NEXT}{name}" for name in names.state],
        ),
    )


class _Names(NamedTuple):
    memory: list[str]
    state: list[str]

    @classmethod
    def of(cls, memory: Memory, cache: Cache) -> "_Names":
        return cls(
            [f"{graphs.MEMORY}{number}" for number, _ in enumerate(leaves(memory))],
            [
                *(f"{graphs.BEAMS}{name}" for name in Beams._fields[:-1]),
                *(f"{graphs.CACHE}{number}" for number, _ in enumerate(leaves(cache))),
                *(f"{graphs.FINISHED}{name}" for name in Finished._fields),
            ],
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
    return graph


def _free(inputs: Any) -> Any:
    """Let every size of every tensor be any, or the same as another where the trace says so."""
    if isinstance(inputs, Tensor):
        return dict.fromkeys(range(inputs.dim()), torch.export.Dim.AUTO)
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

    def forward(
        self, source: Tensor, source_lengths: Tensor, budget: Tensor, rules: Sequence[Tensor]
    ) -> tuple[Tensor, ...]:
        memory, cache = self.model.start(source, source_lengths, budget)
        return (*leaves(memory), *_state(*begin(_rules(rules), cache)))


class _Advance(nn.Module):
    """Write one token more of every hypothesis."""

    def __init__(self, model: Model, memory: Memory, cache: Cache) -> None:
        super().__init__()
        self.model = model
        self.memory, self.cache = _shape_of(memory), _shape_of(cache)

    def forward(
        self, rules: Sequence[Tensor], memory: Sequence[Tensor], state: Sequence[Tensor]
    ) -> tuple[Tensor, ...]:
        growing = len(Beams._fields) - 1
        finished = Finished._make(state[-len(Finished._fields) :])
        cache = _tree(self.cache, iter(state[growing : -len(Finished._fields)]))
        beams = Beams._make([*state[:growing], cache])
        grown = advance(self.model, _rules(rules), beams, finished, memory=_tree(self.memory, iter(memory)))
        return _state(*grown)


Shape = tuple["Shape | None", ...]
"""A tree with nothing in the place of its tensors."""


def leaves(tree: Tree) -> list[Tensor]:
    """Return the tensors of a tree in their order."""
    return [tensor for leaf in tree for tensor in ([leaf] if isinstance(leaf, Tensor) else leaves(leaf))]


def _shape_of(tree: Tree) -> Shape:
    return tuple(None if isinstance(leaf, Tensor) else _shape_of(leaf) for leaf in tree)


def _tree(shape: Shape, tensors: Iterator[Tensor]) -> Tree:
    return tuple(next(tensors) if part is None else _tree(part, tensors) for part in shape)


def _rules(tensors: Sequence[Tensor]) -> Rules:
    return Rules._make([*tensors, None, None])


def _state(beams: Beams, finished: Finished) -> tuple[Tensor, ...]:
    return (*beams[:-1], *leaves(beams.cache), *finished)
