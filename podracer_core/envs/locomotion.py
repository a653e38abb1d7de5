"""MuJoCo locomotion on the CPU: many bodies on several threads, under Gymnasium's rules.

Every environment keeps a random generator of its own, seeded and drawn from as Gymnasium does it, and the physics
do not depend on the number of threads. So environment i takes the course of the single Gymnasium environment
that was given the same seed and actions, episode after episode.
"""

import functools
from pathlib import Path
from typing import Any

import gymnasium.envs.mujoco
import mujoco  # type: ignore[import-untyped]
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from podracer_core.envs.backends import refuse_other_state
from podracer_core.envs.catalogue import CATALOGUE
from podracer_core.envs.locomotion_physics import BatchPhysics, FeltPhysics, FloatArray, IntArray, PhysicsError
from podracer_core.envs.locomotion_rules import RULES
from podracer_core.envs.mujoco_warnings import unwarned
from podracer_core.envs.vector_env import Step, VectorEnv
from podracer_core.errors import EnvironmentCrashedError

MODELS = Path(gymnasium.envs.mujoco.__file__).parent / "assets"

PLACES = {"torso": ("xpos",), "mass": ("xipos",), "joint": ()}
"""The field that tells where the bodies are, [num_envs, bodies, 3]."""


class Locomotion(VectorEnv):
    """`num_envs` bodies of one kind, on as many threads as torch has when this is made.

    threads: how many, where it is to be another number
    note: what `notes` tells, once: why no faster backend was taken
    """

    def __init__(
        self,
        env_id: str,
        num_envs: int,
        device: torch.device | str = "cpu",
        threads: int | None = None,
        note: str = "",
    ) -> None:
        entry = CATALOGUE[env_id]
        self.env_id, self.num_envs, self.device = env_id, num_envs, torch.device(device)
        self.observation_dim, self.max_episode_steps = entry.observation_dim, entry.max_episode_steps
        self.action_kind, self.action_dim = "continuous", entry.action_dim
        self.action_low = torch.tensor(entry.action_space.low, device=self.device)
        self.action_high = torch.tensor(entry.action_space.high, device=self.device)
        assert entry.max_episode_steps is not None
        self._limit, self._rules = entry.max_episode_steps, RULES[env_id]
        self._model = load_model(self._rules.model)
        self._seconds_per_step: float = self._model.opt.timestep * self._rules.frame_skip
        self._mass: FloatArray = self._model.body_mass / self._model.body_mass.sum()
        self.threads = min(num_envs, threads or torch.get_num_threads())
        fields = (*(field for field, _ in self._rules.derived), *PLACES[self._rules.forward_of])
        physics = FeltPhysics if "cfrc_ext" in fields else BatchPhysics
        self._physics: FeltPhysics | BatchPhysics = physics(self._model, num_envs, self.threads, fields)
        self._x = np.zeros(num_envs)
        self._obs = np.zeros((num_envs, self.observation_dim), np.float32)
        self._elapsed = np.zeros(num_envs, np.int64)
        self._generators = [np.random.default_rng(0)] * num_envs
        self._notes = [note] if note else []

    def reset(self, seed: int) -> Tensor:
        seeds = np.random.SeedSequence([seed]).generate_state(self.num_envs)
        self._generators = [np.random.Generator(np.random.PCG64(int(word))) for word in seeds]
        self._obs = self._start(np.arange(self.num_envs))
        return self._give(self._obs)

    def step(self, actions: Tensor) -> Step:
        reward, terminated = self._advance(actions.detach().cpu().double().numpy())
        self._elapsed += 1
        truncated = self._elapsed >= self._limit
        final_obs = self._obs = self._rules.observe(self._physics.qpos, self._physics.qvel, self._physics.fields)
        (ended,) = (terminated | truncated).nonzero()
        if ended.size:
            self._obs = final_obs.copy()
            self._obs[ended] = self._start(ended)
        obs, last_obs = self._give(self._obs), self._give(final_obs)
        return Step(obs, self._give(reward), self._give(terminated), self._give(truncated), last_obs)

    def notes(self) -> list[str]:
        notes, self._notes = self._notes, []
        return notes

    def state(self) -> dict[str, Tensor]:
        return {
            "physics": torch.from_numpy(self._physics.state()),
            "x": torch.from_numpy(self._x.copy()),
            "obs": torch.from_numpy(self._obs.copy()),
            "elapsed": torch.from_numpy(self._elapsed.copy()),
            "generators": torch.from_numpy(np.stack([_to_bytes(generator) for generator in self._generators])),
        }

    def load_state(self, state: dict[str, Tensor]) -> Tensor:
        refuse_other_state(state, "physics")
        self._physics.load_state(state["physics"].numpy())
        self._x, self._obs = state["x"].numpy().copy(), state["obs"].numpy().copy()
        self._elapsed = state["elapsed"].numpy().copy()
        self._generators = [_from_bytes(row) for row in state["generators"].numpy()]
        return self._give(self._obs)

    def close(self) -> None:
        self._physics.close()

    def _advance(self, ctrl: FloatArray) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
        """One env step of every body: reward and terminated, [num_envs] each."""
        rules, physics = self._rules, self._physics
        try:
            physics.step(ctrl, rules.frame_skip)
        except PhysicsError as error:
            raise EnvironmentCrashedError(
                f"{self.env_id} (environment {error.index}) crashed at step {self._elapsed[error.index] + 1} of an "
                f"episode, on action {ctrl[error.index]}: {error.text}"
            ) from error
        x = self._forward_x()
        velocity = (x - self._x) / self._seconds_per_step
        self._x = x
        healthy = rules.healthy(physics.qpos, physics.qvel) if rules.healthy else np.ones(self.num_envs, np.bool_)
        reward = rules.reward(velocity, ctrl, healthy, physics.fields.get("cfrc_ext"))
        return reward.astype(np.float32), ~healthy

    def _start(self, which: IntArray) -> npt.NDArray[np.float32]:
        """Begins new episodes of the environments `which`; returns their obs [len(which), observation_dim]."""
        physics, model = self._physics, self._model
        starts = [self._rules.draw_start(self._generators[i], model.qpos0, model.nv) for i in which.tolist()]
        physics.restart(which, *(np.stack(rows) for rows in zip(*starts, strict=True)))
        self._elapsed[which] = 0
        self._x[which] = self._forward_x()[which]
        derived = {field: values[which] for field, values in physics.fields.items()}
        return self._rules.observe(physics.qpos[which], physics.qvel[which], derived)

    def _forward_x(self) -> FloatArray:
        """[num_envs]: of what the forward reward is paid for."""
        if self._rules.forward_of == "joint":
            return np.array(self._physics.qpos[:, 0])
        if self._rules.forward_of == "torso":
            return np.array(self._physics.fields["xpos"][:, 1, 0])
        return np.asarray(self._physics.fields["xipos"][:, :, 0] @ self._mass)

    def _give(self, array: npt.NDArray[Any]) -> Tensor:
        """Every array given out is made anew each step, so on the CPU the tensor may share its memory."""
        return torch.from_numpy(array).to(self.device)


@functools.cache
def load_model(file: str) -> Any:
    """One of Gymnasium's MuJoCo models; nothing here writes into it."""
    with unwarned():
        return mujoco.MjModel.from_xml_path(str(MODELS / file))


def _to_bytes(generator: np.random.Generator) -> npt.NDArray[np.uint8]:
    """The generator's state, 32 bytes."""
    state: Any = generator.bit_generator.state["state"]
    return np.frombuffer(state["state"].to_bytes(16, "little") + state["inc"].to_bytes(16, "little"), np.uint8)


def _from_bytes(row: npt.NDArray[np.uint8]) -> np.random.Generator:
    data, bits = row.tobytes(), np.random.PCG64()
    state: Any = {"state": int.from_bytes(data[:16], "little"), "inc": int.from_bytes(data[16:], "little")}
    bits.state = {"bit_generator": "PCG64", "state": state, "has_uint32": 0, "uinteger": 0}
    return np.random.Generator(bits)
