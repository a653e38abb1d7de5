"""Ant, Humanoid, HalfCheetah, Hopper, Walker2d and Swimmer as Gymnasium's ids have them: what is seen, paid, ended.

A rule holds for any number of environments, of numpy arrays and of torch tensors alike: its functions take either,
whose first axis is the environment, and use only methods and operators that both have.
The numbers are the defaults of gymnasium.envs.mujoco, v4 and v5; tests hold every step to Gymnasium's own.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
Array = Any
"""A numpy array or a torch tensor."""
Healthy = Callable[[Array, Array], Array]
"""qpos [n, nq], qvel [n, nv] -> [n]: whether a body stands; an episode ends where it does not."""


@dataclass(frozen=True)
class Rules:
    """One environment id.

    model: file among Gymnasium's MuJoCo models; frame_skip: MuJoCo's steps per env step
    forward_of: whose x the forward reward is of: the first joint's, the torso's, or the centre of mass's
    unseen: leading entries of qpos that are not observed
    velocity_clip: what observed velocities are clipped to; derived: (MjData field, rows left out) observed besides
    healthy: None where nothing terminates; paid_at_the_end: whether the terminating step is paid for, too
    contact_cost: of the squared contact forces, each clipped to `contact_clip`; at most `contact_cost_limit`
    noise: of an episode's start, uniform in -noise .. noise; velocities normal where `normal_velocity`
    """

    model: str
    frame_skip: int
    control_cost: float
    noise: float
    forward_of: Literal["joint", "torso", "mass"] = "joint"
    forward_weight: float = 1.0
    unseen: int = 1
    velocity_clip: float | None = None
    derived: tuple[tuple[str, int], ...] = ()
    healthy: Healthy | None = None
    healthy_reward: float = 0.0
    paid_at_the_end: bool = False
    contact_cost: float = 0.0
    contact_clip: float | None = None
    contact_cost_limit: float = np.inf
    normal_velocity: bool = False

    def draw_start(self, generator: np.random.Generator, qpos: FloatArray, nv: int) -> tuple[FloatArray, FloatArray]:
        """qpos and qvel of one new episode, drawn as Gymnasium draws them. qpos: [nq], the model's own."""
        start = qpos + generator.uniform(-self.noise, self.noise, len(qpos))
        if self.normal_velocity:
            return start, self.noise * generator.standard_normal(nv)
        return start, generator.uniform(-self.noise, self.noise, nv)

    def observe(self, qpos: FloatArray, qvel: FloatArray, derived: dict[str, FloatArray]) -> npt.NDArray[np.float32]:
        """[n, observation_dim]"""
        parts = self.observed(qpos, qvel, derived)
        obs: npt.NDArray[np.float32] = np.concatenate(parts, axis=1, dtype=np.float32, casting="same_kind")
        return obs

    def observed(self, qpos: Array, qvel: Array, derived: dict[str, Array]) -> list[Array]:
        """What an observation is made of, in its order, [n, ...] each."""
        limit = self.velocity_clip
        parts = [qpos[:, self.unseen :], qvel if limit is None else qvel.clip(-limit, limit)]
        for field, left_out in self.derived:
            rows = derived[field][:, left_out:]
            if field == "cfrc_ext" and self.contact_clip is not None:
                rows = rows.clip(-self.contact_clip, self.contact_clip)
            parts.append(rows.reshape(len(qpos), -1))
        return parts

    def reward(self, x_velocity: Array, ctrl: Array, healthy: Array, contacts: Array | None) -> Array:
        """[n]; ctrl [n, action_dim] as given, also beyond the bounds; contacts: cfrc_ext [n, bodies, 6]"""
        reward = self.forward_weight * x_velocity - self.control_cost * (ctrl * ctrl).sum(1)
        if self.healthy_reward:
            reward += self.healthy_reward * (healthy | self.paid_at_the_end)
        if self.contact_cost and contacts is not None:
            if self.contact_clip is not None:
                contacts = contacts.clip(-self.contact_clip, self.contact_clip)
            cost = self.contact_cost * (contacts * contacts).sum((1, 2))
            reward -= cost.clip(None, self.contact_cost_limit)
        return reward


def _ant_stands(qpos: Array, qvel: Array) -> Array:
    finite = (abs(qpos) < np.inf).all(1) & (abs(qvel) < np.inf).all(1)
    return finite & (qpos[:, 2] >= 0.2) & (qpos[:, 2] <= 1.0)


def _humanoid_stands(qpos: Array, qvel: Array) -> Array:
    return _between(qpos[:, 2], 1.0, 2.0)


def _hopper_stands(qpos: Array, qvel: Array) -> Array:
    calm = _between(qpos[:, 2:], -100.0, 100.0).all(1) & _between(qvel, -100.0, 100.0).all(1)
    return calm & _between(qpos[:, 1], 0.7, np.inf) & _between(qpos[:, 2], -0.2, 0.2)


def _walker_stands(qpos: Array, qvel: Array) -> Array:
    return _between(qpos[:, 1], 0.8, 2.0) & _between(qpos[:, 2], -1.0, 1.0)


def _between(values: Array, low: float, high: float) -> Array:
    return (low < values) & (values < high)


_ANT = Rules(
    model="ant.xml",
    frame_skip=5,
    control_cost=0.5,
    noise=0.1,
    normal_velocity=True,
    forward_of="torso",
    unseen=2,
    healthy=_ant_stands,
    healthy_reward=1.0,
)
_HUMANOID = Rules(
    model="humanoid.xml",
    frame_skip=5,
    control_cost=0.1,
    noise=0.01,
    forward_of="mass",
    forward_weight=1.25,
    unseen=2,
    healthy=_humanoid_stands,
    healthy_reward=5.0,
)
_CHEETAH = Rules(model="half_cheetah.xml", frame_skip=5, control_cost=0.1, noise=0.1, normal_velocity=True)
_HOPPER = Rules(
    model="hopper.xml",
    frame_skip=4,
    control_cost=1e-3,
    noise=5e-3,
    velocity_clip=10.0,
    healthy=_hopper_stands,
    healthy_reward=1.0,
)
_WALKER = replace(_HOPPER, model="walker2d.xml", healthy=_walker_stands)
_SWIMMER = Rules(model="swimmer.xml", frame_skip=4, control_cost=1e-4, noise=0.1, unseen=2)


def _older(rules: Rules, **changes: Any) -> Rules:
    """v4 pays for being healthy on the step that ends the episode, too."""
    return replace(rules, paid_at_the_end=True, **changes)


_FELT = (("cinert", 1), ("cvel", 1), ("qfrc_actuator", 6), ("cfrc_ext", 1))

RULES: dict[str, Rules] = {
    "Ant-v5": replace(_ANT, derived=(("cfrc_ext", 1),), contact_cost=5e-4, contact_clip=1.0),
    "Ant-v4": _older(_ANT),
    "HalfCheetah-v5": _CHEETAH,
    "HalfCheetah-v4": _CHEETAH,
    "Hopper-v5": _HOPPER,
    "Hopper-v4": _older(_HOPPER),
    "Humanoid-v5": replace(_HUMANOID, derived=_FELT, contact_cost=5e-7, contact_cost_limit=10.0),
    "Humanoid-v4": _older(_HUMANOID, derived=tuple((field, 0) for field, _ in _FELT)),
    "Swimmer-v5": _SWIMMER,
    "Swimmer-v4": _SWIMMER,
    "Walker2d-v5": replace(_WALKER, model="walker2d_v5.xml"),
    "Walker2d-v4": _older(_WALKER),
}
