"""Any environment that Gymnasium registers, as a VectorEnv: in this process or several, as is faster."""

import pickle
import time
from typing import Any

import numpy as np
import torch
from gymnasium.envs.registration import EnvSpec
from torch import Tensor

from podracer_core.envs.env_group import EnvGroup, Group, GroupProcess, GroupStep, Share
from podracer_core.envs.registered import registered_spec
from podracer_core.envs.vector_env import Step, VectorEnv

ROUND_TRIP = 200e-6
"""Seconds that a step costs more when processes take it: send, wake, answer, on two cores."""

_seconds_per_step: dict[str, float] = {}


class GymnasiumVectorEnv(VectorEnv):
    """Observations but images are flattened, discrete actions counted from 0, continuous ones clipped to their bounds.

    A Box of integers is acted in like one of floats: actions are rounded to the nearest integer within its bounds.

    processes: how many to use; by default chosen from the cost of a step, at most one a torch thread, so that
        a pod stays within its share of the machine. The course of the environments is the same either way.
    Raises UnknownEnvironmentError, UnsupportedSpaceError, EnvError; `step` raises EnvironmentCrashedError.
    """

    def __init__(
        self,
        env_id: str,
        num_envs: int,
        device: torch.device | str = "cpu",
        processes: int | None = None,
    ) -> None:
        spec = registered_spec(env_id)
        first = EnvGroup(Share(spec, 0, 1))
        entry = first.entry
        self.env_id, self.num_envs, self.device = env_id, num_envs, torch.device(device)
        self.observation_dim, self.max_episode_steps = entry.observation_dim, entry.max_episode_steps
        self.image = entry.observation_space.image
        self.action_kind, self.action_dim, self.nvec = entry.action_kind, entry.action_dim, entry.action_space.choices
        self.action_low = self.action_high = None
        if self.action_kind == "continuous":
            self.action_low = torch.tensor(entry.action_space.low, device=self.device)
            self.action_high = torch.tensor(entry.action_space.high, device=self.device)
        if processes is None:
            processes = best_processes(first, num_envs, torch.get_num_threads())
        first.close()
        self.processes = processes if can_travel(spec) else 1
        self._groups = _make_groups(spec, num_envs, self.processes)
        self._seed, self._num_steps = 0, 0

    def reset(self, seed: int) -> Tensor:
        self._seed, self._num_steps = seed, 0
        return self._start([seed])

    def step(self, actions: Tensor) -> Step:
        array = actions.detach().cpu().numpy()
        for group, part in zip(self._groups, self._split(array), strict=True):
            group.send_step(part)
        steps = [group.receive() for group in self._groups]
        self._num_steps += 1
        joined = steps[0] if len(steps) == 1 else GroupStep(*map(np.concatenate, zip(*steps, strict=True)))
        given = Step(*(torch.from_numpy(values).to(self.device) for values in joined))
        none_ended = all(step.obs is step.final_obs for step in steps)
        return given._replace(final_obs=given.obs) if none_ended else given

    def state(self) -> dict[str, Tensor]:
        return {"seed": torch.tensor(self._seed), "num_steps": torch.tensor(self._num_steps)}

    def load_state(self, state: dict[str, Tensor]) -> Tensor:
        self._seed, self._num_steps = int(state["seed"]), int(state["num_steps"])
        return self._start([self._seed, self._num_steps])

    def close(self) -> None:
        for group in self._groups:
            group.close()
        self._groups = []

    def _start(self, entropy: list[int]) -> Tensor:
        """New episodes everywhere, each environment on a seed of its own drawn from `entropy`."""
        seeds = [int(word) for word in np.random.SeedSequence(entropy).generate_state(self.num_envs)]
        for group, part in zip(self._groups, self._split(np.array(seeds)), strict=True):
            group.send_reset(part.tolist())
        obs = np.concatenate([group.receive() for group in self._groups])
        return torch.from_numpy(obs).to(self.device)

    def _split(self, array: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
        return np.array_split(array, len(self._groups))


def _make_groups(spec: EnvSpec, num_envs: int, processes: int) -> list[Group]:
    """Shares as np.array_split makes them."""
    parts = np.array_split(np.arange(num_envs), processes)
    shares = [Share(spec, int(part[0]), len(part)) for part in parts]
    return [GroupProcess(share) for share in shares] if processes > 1 else [EnvGroup(shares[0])]


def can_travel(spec: EnvSpec) -> bool:
    """Whether another interpreter can make this environment: one registered with a lambda stays here."""
    try:
        pickle.dumps(spec)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True


def best_processes(group: EnvGroup, num_envs: int, limit: int) -> int:
    """1 where the steps are cheap; else `limit`, once what it saves outweighs the round trip it costs."""
    processes = min(num_envs, limit)
    if processes == 1:
        return 1
    seconds = _seconds_per_step.get(group.entry.id) or measure_step(group)
    if seconds is None:
        return 1
    _seconds_per_step[group.entry.id] = seconds
    saved = seconds * num_envs * (1 - 1 / processes)
    return processes if saved > 2 * ROUND_TRIP else 1


def measure_step(group: EnvGroup, seconds: float = 0.05, max_steps: int = 300) -> float | None:
    """Mean seconds of one environment's step, episode starts included, under random actions.

    None where it crashes, which training will tell better.
    """
    env = group.envs[0]
    try:
        env.action_space.seed(0)
        env.reset(seed=0)
        began = time.perf_counter()
        for count in range(1, max_steps + 1):  # noqa: B007 - used after the loop
            _, _, terminated, truncated, _ = env.step(env.action_space.sample())
            if terminated or truncated:
                env.reset()
            if time.perf_counter() - began > seconds:
                break
    except Exception:  # an environment may raise anything
        return None
    return (time.perf_counter() - began) / count
