"""Write a checkpoint of graphs, checked against the PyTorch model that they come from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Literal, NamedTuple

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

from copyfit.checkpoint import GRAPHS, Checkpoint, open_checkpoint, read_config, save_exported
from copyfit.errors import CheckpointError
from copyfit.generation.jobs import Counting, Engine, Job, SearchOptions
from copyfit.models.contract import Model
from copyfit.runtime.export import Graphs, quiet, trace
from copyfit.runtime.onnx_engine import engine_of
from copyfit.runtime.simplify import turn_tables
from copyfit.runtime.torch_engine import TorchEngine
from copyfit.runtime.torch_model import open_model
from copyfit.text.automaton import FIRST_PIECE
from copyfit.text.budgets import longest_steps, nearest_budget

Precision = Literal["fp32", "fp16", "int8"]
TRIALS = 12
"""How many searches both engines are compared by."""
SMALL = 1024
"""Arrays of fewer numbers are left as they are."""


class Agreement(NamedTuple):
    """Say how the graphs compare with the model: the share of texts that are the same, and exact lengths."""

    same: float
    exact: float
    score_difference: float
    """The greatest difference of two scores of the same text."""


class Traced(NamedTuple):
    """Hold a checkpoint's model and its graphs."""

    checkpoint: Checkpoint
    parameters: int
    model: Model
    graphs: Graphs


def trace_checkpoint(directory: Path) -> Traced:
    """Trace a checkpoint's model."""
    checkpoint = open_checkpoint(directory)
    model = open_model(directory, checkpoint)
    graphs = trace(model, _trials(checkpoint)[:2], _counting(checkpoint))
    return Traced(checkpoint, read_config(directory).parameters, model, graphs)


def export(traced: Traced, output: Path, *, precision: Precision) -> Agreement:
    """Write a traced model as a checkpoint of its own; refuse graphs that are not the model."""
    checkpoint = traced.checkpoint
    contents = {name: store(graph, precision) for name, graph in zip(GRAPHS, traced.graphs, strict=True)}
    engines = TorchEngine(traced.model, torch.device("cpu")), engine_of(contents, where=output)
    agreement = _compare(engines, _trials(checkpoint), _counting(checkpoint))
    if agreement.exact < 1 or (precision == "fp32" and agreement.same < 1):
        raise CheckpointError(
            f"the graphs must write what the model writes, {agreement.same:.0%} of {TRIALS} texts are the"
            f" same and {agreement.exact:.0%} exact; please report this"
        )
    described = replace(checkpoint, facts={**checkpoint.facts, "Exported in": precision})
    save_exported(output, described, contents, parameters=traced.parameters)
    return agreement


def store(graph: onnx.ModelProto, precision: Precision) -> bytes:
    """Return a graph as a file's content, its numbers stored in some precision."""
    return _STORES[precision](graph)


def _counting(checkpoint: Checkpoint) -> Counting:
    target = checkpoint.target
    automaton = target.automaton(checkpoint.unit)
    nothing = np.zeros(target.size, dtype=np.float32)
    return Counting(automaton, nothing, target.pieces, target.rolling_hash())


def _trials(checkpoint: Checkpoint) -> list[Job]:
    """Draw sources of any tokens, from phrases to articles, and budgets around the natural one."""
    draw = Random(1)
    automaton = checkpoint.target.automaton(checkpoint.unit)
    jobs: list[Job] = []
    while len(jobs) < TRIALS:
        limit = nearest_budget(automaton, draw.randint(2, 2 * checkpoint.natural_length + 2))
        size = draw.randint(2, max(2, min(checkpoint.longest_source, 120)))
        source = tuple(draw.randrange(FIRST_PIECE, checkpoint.source.size) for _ in range(size))
        if limit:
            jobs.append(Job(source, float(limit), limit, limit, longest_steps(automaton, limit)))
    return jobs


def _compare(engines: tuple[Engine, Engine], jobs: Sequence[Job], counting: Counting) -> Agreement:
    reference, graphs = (engine.search(jobs, counting, SearchOptions()) for engine in engines)
    pairs = [(expected[0], found[0]) for expected, found in zip(reference, graphs, strict=True)]
    same = [(expected, found) for expected, found in pairs if expected.tokens == found.tokens]
    return Agreement(
        same=len(same) / len(jobs),
        exact=float(np.mean([found.spent == job.limit for (_, found), job in zip(pairs, jobs, strict=True)])),
        score_difference=max((abs(expected.score - found.score) for expected, found in same), default=0.0),
    )


def _as_traced(graph: onnx.ModelProto) -> bytes:
    return bytes(graph.SerializeToString())


def _in_half(graph: onnx.ModelProto) -> bytes:
    """Store large arrays in half precision, to be widened when the graph is opened: half the size."""
    halved = onnx.ModelProto()
    halved.CopyFrom(graph)
    widened = []
    for array in halved.graph.initializer:
        if array.data_type == TensorProto.FLOAT and np.prod(array.dims) >= SMALL:
            name = array.name
            half = numpy_helper.to_array(array).astype(np.float16)
            array.CopyFrom(numpy_helper.from_array(half, f"{name}.half"))
            widened.append(helper.make_node("Cast", [f"{name}.half"], [name], to=TensorProto.FLOAT))
    nodes = [*widened, *halved.graph.node]
    del halved.graph.node[:]
    halved.graph.node.extend(nodes)
    return bytes(halved.SerializeToString())


def _in_bytes(graph: onnx.ModelProto) -> bytes:
    """Store matrices in whole numbers of eight bits, a scale a column, and multiply them as such."""
    exact, graph = graph, onnx.ModelProto()
    graph.CopyFrom(exact)
    turn_tables(graph.graph)
    arrays = {array.name for array in graph.graph.initializer if array.data_type == TensorProto.FLOAT}
    nodes = [
        node.name
        for node in graph.graph.node
        if (node.op_type == "MatMul" and node.input[1] in arrays)
        or (node.op_type == "Gather" and node.input[0] in arrays)
    ]
    with TemporaryDirectory() as name, quiet():
        path = Path(name) / "graph.onnx"
        quantize_dynamic(
            graph,
            path,
            op_types_to_quantize=["MatMul", "Gather"],
            nodes_to_quantize=nodes,
            weight_type=QuantType.QInt8,
            per_channel=True,
            extra_options={"MatMulConstBOnly": True},
        )
        return path.read_bytes()


_STORES: Mapping[Precision, Callable[[onnx.ModelProto], bytes]] = {
    "fp32": _as_traced,
    "fp16": _in_half,
    "int8": _in_bytes,
}
