"""A policy's steps as an ONNX graph, written node by node, so that it holds what the policy does and nothing else."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from podracer_core.exporting.steps import (
    Activate,
    Array,
    Bound,
    Convolve,
    Flatten,
    Largest,
    LargestOfEach,
    LayerNorm,
    Linear,
    Normalise,
    Pixels,
    Step,
)

OPSET, IR_VERSION = 17, 8
"""Old enough for runtimes of 2022 (ONNX 1.12), new enough for everything below."""

INPUT, OUTPUT = "observations", "actions"


class Graph:
    """Nodes and constants so far. `value` names what the next step takes."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self.value = INPUT

    def apply(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Adds a node; returns the name of its output."""
        name = f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], name, **attributes))
        return name

    def constant(self, array: Array) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name


def build(steps: list[Step], observation_dim: int, metadata: Mapping[str, str]) -> bytes:
    """The graph as a file's bytes, checked by onnx: `observations` [n, observation_dim] to `actions`."""
    graph = Graph()
    for step in steps:
        BUILDERS[type(step)](graph, step)
    graph.nodes.append(helper.make_node("Identity", [graph.value], [OUTPUT], "actions"))
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "policy",
            [helper.make_tensor_value_info(INPUT, TensorProto.FLOAT, ["n", observation_dim])],
            [_output(steps[-1])],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="podracer",
    )
    helper.set_model_props(model, dict(metadata))
    onnx.checker.check_model(model, full_check=True)
    return _serialised(model)


def _serialised(model: ModelProto) -> bytes:
    """The same agent gives the same bytes."""
    data: bytes = model.SerializeToString(deterministic=True)
    return data


def _output(end: Step) -> Any:
    if isinstance(end, Bound | LargestOfEach):
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(end.dtype))
        return helper.make_tensor_value_info(OUTPUT, kind, ["n", *end.shape])
    return helper.make_tensor_value_info(OUTPUT, TensorProto.INT64, ["n"])


def _pixels(graph: Graph, step: Pixels) -> None:
    image, value = step.image, graph.value
    if image.channels_last:
        split = np.array([-1, image.frames, image.height, image.width, image.channels // image.frames], dtype=np.int64)
        value = graph.apply("Reshape", value, graph.constant(split))
        value = graph.apply("Transpose", value, perm=[0, 1, 4, 2, 3])
    shaped = graph.apply("Reshape", value, graph.constant(np.array([-1, *image.shape], dtype=np.int64)))
    graph.value = graph.apply("Mul", shaped, graph.constant(np.array(step.scale, dtype=np.float32)))


def _convolve(graph: Graph, step: Convolve) -> None:
    weight, bias = graph.constant(step.weight), graph.constant(step.bias)
    convolved = graph.apply("Conv", graph.value, weight, bias, strides=[step.stride] * 2)
    graph.value = graph.apply("Relu", convolved)


def _flatten(graph: Graph, step: Flatten) -> None:
    graph.value = graph.apply("Flatten", graph.value)


def _normalise(graph: Graph, step: Normalise) -> None:
    scaled = graph.apply("Mul", graph.value, graph.constant(step.scale))
    shifted = graph.apply("Add", scaled, graph.constant(step.shift))
    low, high = (graph.constant(np.array(bound, dtype=np.float32)) for bound in (-step.clip, step.clip))
    graph.value = graph.apply("Clip", shifted, low, high)


def _linear(graph: Graph, step: Linear) -> None:
    graph.value = graph.apply("Gemm", graph.value, graph.constant(step.weight), graph.constant(step.bias))


def _layer_norm(graph: Graph, step: LayerNorm) -> None:
    gain, shift = graph.constant(step.gain), graph.constant(step.shift)
    graph.value = graph.apply("LayerNormalization", graph.value, gain, shift, axis=1, epsilon=step.epsilon)


def _activate(graph: Graph, step: Activate) -> None:
    if step.name == "silu":
        graph.value = graph.apply("Mul", graph.value, graph.apply("Sigmoid", graph.value))
    else:
        graph.value = graph.apply({"tanh": "Tanh", "relu": "Relu", "elu": "Elu"}[step.name], graph.value)


def _largest(graph: Graph, step: Largest) -> None:
    index = graph.apply("ArgMax", graph.value, axis=1, keepdims=0)
    graph.value = graph.apply("Add", index, graph.constant(np.array(step.start, dtype=np.int64)))


def _largest_of_each(graph: Graph, step: LargestOfEach) -> None:
    indices, start = [], 0
    for choices in step.choices:
        start, end = start + choices, np.array([start, start + choices], dtype=np.int64)
        axis = graph.constant(np.array([1], dtype=np.int64))
        outputs = graph.apply("Slice", graph.value, graph.constant(end[:1]), graph.constant(end[1:]), axis)
        indices.append(graph.apply("ArgMax", outputs, axis=1, keepdims=1))
    counted = graph.apply(
        "Add", graph.apply("Concat", *indices, axis=1), graph.constant(np.array(step.starts, dtype=np.int64))
    )
    _shape(graph, counted, step)


def _shape(graph: Graph, actions: str, end: Bound | LargestOfEach) -> None:
    """Brings [n, entries] to the space's own type and shape."""
    narrow = graph.apply("Cast", actions, to=helper.np_dtype_to_tensor_dtype(np.dtype(end.dtype)))
    graph.value = graph.apply("Reshape", narrow, graph.constant(np.array([-1, *end.shape], dtype=np.int64)))


def _bound(graph: Graph, step: Bound) -> None:
    if step.squash == "tanh":
        squashed = graph.apply("Tanh", graph.value)
    else:
        low, high = (graph.constant(np.array(bound, dtype=np.float32)) for bound in (-1.0, 1.0))
        squashed = graph.apply("Clip", graph.value, low, high)
    wide = graph.apply("Cast", squashed, to=TensorProto.DOUBLE)
    scaled = graph.apply("Mul", wide, graph.constant((step.high - step.low) / 2))
    centred = graph.apply("Add", scaled, graph.constant((step.low + step.high) / 2))
    # Bounds that the narrower type can hold, so that rounding cannot leave them.
    low, high = (graph.constant(bound.astype(step.dtype).astype(np.float64)) for bound in (step.low, step.high))
    if np.dtype(step.dtype).kind != "f":
        centred = graph.apply("Round", centred)
    _shape(graph, graph.apply("Max", graph.apply("Min", centred, high), low), step)


BUILDERS: dict[type, Callable[[Graph, Any], None]] = {
    Pixels: _pixels,
    Convolve: _convolve,
    Flatten: _flatten,
    Normalise: _normalise,
    Linear: _linear,
    LayerNorm: _layer_norm,
    Activate: _activate,
    Largest: _largest,
    LargestOfEach: _largest_of_each,
    Bound: _bound,
}
