"""What a policy does to a batch of flat observations, step by step, as plain data.

Each format has one builder a kind of step (onnx_graph.BUILDERS, torch_module.MODULES). A policy with something that
is not told here is refused by name, never exported without it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from podracer_core.encoder import NumpyEncoder
from podracer_core.envs.image import Image
from podracer_core.errors import ExportError
from podracer_core.player import ACTIVATIONS, LAYER_NORM_EPSILON, OBS_CLIP, PLAYERS, Agent

Array = npt.NDArray[Any]


class Pixels(NamedTuple):
    """Flat images to [n, channels, height, width], each pixel times `scale`. image: how they lie in a row."""

    image: Image
    scale: float


class Convolve(NamedTuple):
    """A convolution without padding, and a ReLU. weight: [outputs, inputs, height, width]; bias: [outputs]"""

    weight: Array
    bias: Array
    stride: int


class Flatten(NamedTuple):
    """[n, ...] to [n, features]"""


class Normalise(NamedTuple):
    """clip(obs * scale + shift, -clip, clip). scale, shift: [observation_dim]"""

    scale: Array
    shift: Array
    clip: float


class Linear(NamedTuple):
    """weight: [inputs, outputs]; bias: [outputs]"""

    weight: Array
    bias: Array


class LayerNorm(NamedTuple):
    """(x - mean) / sqrt(variance + epsilon) * gain + shift over each row. gain, shift: [outputs]"""

    gain: Array
    shift: Array
    epsilon: float


class Activate(NamedTuple):
    """One of checkpoint.ACTIVATIONS."""

    name: str


class Largest(NamedTuple):
    """The index of the largest output, the first of equals, counted from `start`: int64 [n]."""

    start: int


class LargestOfEach(NamedTuple):
    """For each entry the index of the largest of its own outputs, which follow one another: [n, *shape] of `dtype`.

    choices: outputs of each entry; starts: what each entry is counted from
    """

    choices: tuple[int, ...]
    starts: tuple[int, ...]
    dtype: str
    shape: tuple[int, ...]


class Bound(NamedTuple):
    """Outputs brought to -1 .. 1 by `squash` ("clip" or "tanh"), then to `low` .. `high`, float64 [action_dim].

    The result is [n, *shape] of `dtype`, rounded where that is one of integers; the scaling is done in float64.
    """

    squash: str
    low: Array
    high: Array
    dtype: str
    shape: tuple[int, ...]


Step = Pixels | Convolve | Flatten | Normalise | Linear | LayerNorm | Activate | Largest | LargestOfEach | Bound

SQUASHES: dict[Callable[[Array], Array], str] = {np.tanh: "tanh", PLAYERS["ppo"].squash: "clip"}
NETWORK_SETTINGS = frozenset({"hidden_size", "num_layers", "activation", "layer_norm", "obs_clip", "image", "strides"})
"""What of the metadata's `network` the steps here tell of."""


def policy_steps(agent: Agent) -> list[Step]:
    """From flat float32 observations [n, observation_dim] to what Gymnasium's `step` takes.

    Raises ExportError naming what cannot be exported.
    """
    if agent.metadata["algorithm"] not in PLAYERS:
        raise ExportError(f"An agent of kind {agent.metadata['algorithm']!r} cannot be exported; its members can.")
    network = agent.metadata["network"]
    unknown = [f"{name} = {value!r}" for name, value in network.items() if name not in NETWORK_SETTINGS and value]
    if unknown:
        raise ExportError(f"A network with {', '.join(unknown)} cannot be exported yet; its .safetensors file can.")
    steps = _encoder(agent)
    if "obs.scale" in agent.tensors:
        steps.append(Normalise(agent.tensors["obs.scale"], agent.tensors["obs.shift"], OBS_CLIP))
    name = PLAYERS[agent.metadata["algorithm"]].network
    for index in range(network["num_layers"] + 1):
        layer = f"{name}.{index}"
        steps.append(Linear(agent.tensors[f"{layer}.weight"].T, agent.tensors[f"{layer}.bias"]))
        if index == network["num_layers"]:
            break
        if network.get("layer_norm"):
            gain, shift = agent.tensors[f"{layer}.norm.weight"], agent.tensors[f"{layer}.norm.bias"]
            steps.append(LayerNorm(gain, shift, LAYER_NORM_EPSILON))
        steps.append(_activation(network["activation"]))
    return [*steps, _end(agent)]


def _encoder(agent: Agent) -> list[Step]:
    """Of images, what makes features of them."""
    encoder = NumpyEncoder.read(agent.tensors, agent.metadata["network"])
    if encoder is None:
        return []
    layers = [Convolve(weight, bias, stride) for weight, bias, stride in encoder.layers]
    return [Pixels(encoder.image, 1 / encoder.image.high), *layers, Flatten()]


def _activation(name: str) -> Activate:
    if name not in ACTIVATIONS:
        raise ExportError(f"The activation {name!r} cannot be exported; {', '.join(ACTIVATIONS)} can.")
    return Activate(name)


def _end(agent: Agent) -> Largest | LargestOfEach | Bound:
    """What makes an action of the network's output."""
    space, algorithm = agent.action_space, agent.metadata["algorithm"]
    if space.kind == "discrete":
        return Largest(space.start)
    if space.choices:
        return LargestOfEach(space.choices, space.starts or (0,) * len(space.choices), space.dtype, space.shape)
    if space.kind != "box":
        raise ExportError(f"Actions of {space.text} cannot be exported.")
    squash = SQUASHES.get(PLAYERS[algorithm].squash)
    if squash is None:
        raise ExportError(f"The way in which {algorithm} bounds its actions cannot be exported yet.")
    low, high = np.array(space.low, dtype=np.float64), np.array(space.high, dtype=np.float64)
    return Bound(squash, low, high, space.dtype, space.shape)
