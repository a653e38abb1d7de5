"""Playing an agent, with numpy only: a policy this small needs no torch.

The network sees clip(obs * scale + shift, -10, 10) where observations are normalised. A discrete action is the largest
output, a MultiDiscrete or MultiBinary one the largest of each entry's own outputs, which follow one another.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from podracer_core.encoder import NumpyEncoder
from podracer_core.envs.actions import NativeActions
from podracer_core.envs.spaces import SpaceInfo, flatten_observations

OBS_CLIP, LAYER_NORM_EPSILON = 10.0, 1e-5

Array = npt.NDArray[Any]


def _sigmoid(x: Array) -> Array:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * x)))


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "tanh": lambda x: np.asarray(np.tanh(x)),
    "relu": lambda x: np.asarray(np.maximum(x, 0.0)),
    "elu": lambda x: np.asarray(np.where(x > 0, x, np.expm1(np.minimum(x, 0.0)))),
    "silu": lambda x: np.asarray(x * _sigmoid(x)),
}


class Player(NamedTuple):
    """How an algorithm's policy plays: the network's name among the tensors, and what brings outputs to -1 .. 1."""

    network: str
    squash: Callable[[Array], Array]


def _clip(x: Array) -> Array:
    return np.asarray(np.clip(x, -1.0, 1.0))


PLAYERS: dict[str, Player] = {
    "ppo": Player("actor", _clip),
    "a2c": Player("actor", _clip),
    "dqn": Player("q", _clip),
    "sac": Player("actor", np.tanh),
    "td3": Player("actor", np.tanh),
    "ddpg": Player("actor", np.tanh),
    "redq": Player("actor", np.tanh),
}


class Agent:
    """A trained policy. `metadata` holds what METADATA_KEYS name, parsed."""

    def __init__(self, tensors: Mapping[str, Array], metadata: Mapping[str, Any]) -> None:
        self._describe(tensors, metadata)
        self._activate = ACTIVATIONS[metadata["network"]["activation"]]
        name, self._squash = PLAYERS[metadata["algorithm"]]
        count = metadata["network"]["num_layers"] + 1
        self._layers = [(tensors[f"{name}.{i}.weight"].T, tensors[f"{name}.{i}.bias"]) for i in range(count)]
        normalised = range(count - 1 if metadata["network"].get("layer_norm") else 0)  # version 1 began without
        self._norms = [(tensors[f"{name}.{i}.norm.weight"], tensors[f"{name}.{i}.norm.bias"]) for i in normalised]
        self._scale, self._shift = tensors.get("obs.scale"), tensors.get("obs.shift")
        self._encoder = NumpyEncoder.read(tensors, metadata["network"])

    def _describe(self, tensors: Mapping[str, Array], metadata: Mapping[str, Any]) -> None:
        self.metadata = dict(metadata)
        self.tensors = dict(tensors)
        self.env_id: str = metadata["env_id"]
        self.observation_space = SpaceInfo.model_validate(metadata["spaces"]["observation"])
        self.action_space = SpaceInfo.model_validate(metadata["spaces"]["action"])
        self._native = NativeActions(self.action_space)

    def act(self, obs: Any) -> Any:
        """The most likely action for one observation or a batch, as numpy, ready for Gymnasium's `step`.

        obs: as the environment gives it, numpy, torch or plain numbers; a batch has one more axis in front,
            as a Gymnasium vector environment gives it.
        Raises ValueError where `obs` is not of the observation space.
        """
        rows, batched = flatten_observations(self.observation_space, _to_numpy(obs))
        actions = self.decide(rows)
        return self._native(actions) if batched else self._native.each(actions)[0]

    def outputs(self, rows: Array) -> Array:
        """rows: flat observations [batch, flat_dim]. Returns what the network says, [batch, action_dim]."""
        if self._encoder:
            rows = self._encoder.forward(rows)
        if self._scale is not None and self._shift is not None:
            rows = np.clip(rows * self._scale + self._shift, -OBS_CLIP, OBS_CLIP)
        for index, (weight, bias) in enumerate(self._layers[:-1]):
            rows = rows @ weight + bias
            if self._norms:
                rows = _layer_norm(rows, *self._norms[index])
            rows = self._activate(rows)
        weight, bias = self._layers[-1]
        return np.asarray(rows @ weight + bias)

    def decide(self, rows: Array) -> Array:
        """rows: flat observations [batch, flat_dim]. Returns actions as a VectorEnv takes them."""
        out, space = self.outputs(rows), self.action_space
        if space.kind == "discrete":
            return np.asarray(out.argmax(1))
        if space.choices:
            entries = np.split(out, np.cumsum(space.choices)[:-1], axis=1)
            return np.stack([entry.argmax(1) for entry in entries], axis=1)
        low, high = np.asarray(space.low, dtype=np.float64), np.asarray(space.high, dtype=np.float64)
        return (low + high) / 2 + self._squash(out) * (high - low) / 2


def _layer_norm(rows: Array, gain: Array, shift: Array) -> Array:
    mean, variance = rows.mean(1, keepdims=True), rows.var(1, keepdims=True)
    return np.asarray((rows - mean) / np.sqrt(variance + LAYER_NORM_EPSILON) * gain + shift)


def check_tensors(tensors: Mapping[str, Array], metadata: Mapping[str, Any]) -> None:
    """Raises ValueError or KeyError unless the policy's tensors fit the spaces and hold finite numbers."""
    network, spaces = metadata["network"], metadata["spaces"]
    inputs = SpaceInfo.model_validate(spaces["observation"]).flat_dim
    encoder = NumpyEncoder.read(tensors, network)
    if encoder:
        inputs = encoder.features(inputs)
    outputs = SpaceInfo.model_validate(spaces["action"]).action_dim
    sizes = [inputs, *[network["hidden_size"]] * network["num_layers"], outputs]
    if network["activation"] not in ACTIVATIONS:
        raise ValueError(f"its activation {network['activation']!r} is not one of {', '.join(ACTIVATIONS)}")
    if metadata["algorithm"] not in PLAYERS:
        raise ValueError(f"its algorithm {metadata['algorithm']!r} is not one of {', '.join(PLAYERS)}")
    name = PLAYERS[metadata["algorithm"]].network
    for index in range(len(sizes) - 1):
        expected = (sizes[index + 1], sizes[index])
        if tensors[f"{name}.{index}.weight"].shape != expected or tensors[f"{name}.{index}.bias"].shape != expected[:1]:
            raise ValueError(f"layer {index} of the policy should be {expected[1]} to {expected[0]} wide")
        if network.get("layer_norm") and index < network["num_layers"]:
            for part in ("weight", "bias"):
                if tensors[f"{name}.{index}.norm.{part}"].shape != expected[:1]:
                    raise ValueError(f"the normalisation of layer {index} should be {expected[0]} wide")
    for name, tensor in tensors.items():
        if not np.isfinite(tensor).all():
            raise ValueError(f"tensor {name!r} holds NaN or infinity")


def _to_numpy(obs: Any) -> Any:
    """torch tensors, also inside tuples and mappings, as numpy arrays; anything else as it is."""
    if isinstance(obs, Mapping):
        return {key: _to_numpy(value) for key, value in obs.items()}
    if isinstance(obs, tuple):
        return tuple(_to_numpy(value) for value in obs)
    return obs.detach().cpu().numpy() if hasattr(obs, "detach") else obs
