"""Take out of a traced graph the sums over sizes that a runtime would otherwise do in every step."""

from collections.abc import Iterable, MutableSequence, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

SAME, REST = 0, -1
"""What stands in the shape of a Reshape for the size that its input has there, and for what is left over."""
Size = int | str
"""A number, or the name of one that is known when the graph runs; 0 where the tracer does not say."""


def simplify(graph: onnx.GraphProto) -> None:
    """Let every Reshape take its sizes from its input if possible; drop what nothing needs then."""
    sizes = _sizes(graph)
    for node in graph.node:
        if node.op_type == "Reshape":
            shape = _shape(sizes.get(node.input[0]), sizes.get(node.output[0]))
            if shape is not None:
                node.input[1] = _constant(graph, shape)
                del node.attribute[:]
    _drop_unused(graph)


def turn_tables(graph: onnx.GraphProto) -> None:
    """Store turned already what every step turns: a table that both embeds and scores is there twice."""
    arrays = {array.name: array for array in graph.initializer}
    kept = []
    for node in graph.node:
        if node.op_type == "Transpose" and node.input[0] in arrays:
            turned = numpy_helper.to_array(arrays[node.input[0]]).transpose(_order(node))
            graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(turned), node.output[0]))
        else:
            kept.append(node)
    _replace(graph.node, kept)
    _drop_unused(graph)


def _order(node: onnx.NodeProto) -> list[int] | None:
    return next((list(one.ints) for one in node.attribute if one.name == "perm"), None)


def _sizes(graph: onnx.GraphProto) -> dict[str, list[Size]]:
    values = (*graph.input, *graph.value_info, *graph.output)
    return {
        value.name: [size.dim_param or size.dim_value for size in value.type.tensor_type.shape.dim]
        for value in values
        if value.type.tensor_type.HasField("shape")
    }


def _shape(given: Sequence[Size] | None, made: Sequence[Size] | None) -> list[int] | None:
    """Say the shape without names, if one size at most has to be worked out."""
    if given is None or made is None:
        return None
    shape = []
    for place, size in enumerate(made):
        is_same = bool(size) and given[place : place + 1] == [size]
        shape.append(size if isinstance(size, int) and size else SAME if is_same else REST)
    return shape if shape.count(REST) <= 1 else None


def _constant(graph: onnx.GraphProto, shape: Sequence[int]) -> str:
    name = f"shape.{'.'.join(map(str, shape))}"
    if all(array.name != name for array in graph.initializer):
        graph.initializer.append(numpy_helper.from_array(np.array(shape, dtype=np.int64), name))
    return name


def _drop_unused(graph: onnx.GraphProto) -> None:
    needed = {value.name for value in graph.output}
    kept = []
    for node in reversed(graph.node):
        if needed & set(node.output):
            needed.update(node.input)
            kept.append(node)
    _replace(graph.node, reversed(kept))
    _replace(graph.initializer, [array for array in graph.initializer if array.name in needed])
    made = {name for node in graph.node for name in node.output}
    _replace(graph.value_info, [value for value in graph.value_info if value.name in made])


def _replace(field: MutableSequence[Any], items: Iterable[Any]) -> None:
    kept = list(items)
    del field[:]
    field.extend(kept)
