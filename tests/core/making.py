"""Plans and environments that several tests use."""

import importlib.util
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from podracer_core.envs.catalogue import CATALOGUE, default_hyperparameters
from podracer_core.envs.image import Image
from podracer_core.envs.vector_env import Step, VectorEnv
from podracer_core.envs.wrapped import is_atari
from podracer_core.hyperparameters import complete
from podracer_core.pod import Pod
from podracer_core.progress import PodMessage, PodResult
from podracer_core.spec import PodPlan

INSTALLED = [env_id for env_id in CATALOGUE if not is_atari(env_id) or importlib.util.find_spec("ale_py")]
"""The catalogue's ids that can be played here; Atari is an extra."""


def make_plan(folder: Path, env_id: str = "CartPole-v1", **changes: Any) -> PodPlan:
    """A short CartPole pod; hyperparameters among `changes` are laid over the tuned ones."""
    overrides, algorithm = changes.pop("hyperparameters", {}), changes.get("algorithm", "ppo")
    tuned = default_hyperparameters(env_id, algorithm)
    fields: dict[str, Any] = {
        "env_id": env_id,
        "algorithm": "ppo",
        "hyperparameters": complete(algorithm, tuned, overrides).model_dump(),
        "seed": 1,
        "num_envs": 8,
        "env_steps": 2048,
        "eval_episodes": 4,
        "directory": str(folder),
    }
    return PodPlan(**fields | changes)


def run_pod(plan: PodPlan, **kwargs: Any) -> tuple[list[PodMessage], PodResult]:
    """All messages of a pod, and the result that is the last of them and the only one."""
    messages = list(Pod(plan, **kwargs).run())
    assert [isinstance(message, PodResult) for message in messages].count(True) == 1
    assert isinstance(messages[-1], PodResult)
    return messages, messages[-1]


class GuessEnv(VectorEnv):
    """Observes one of three symbols and pays 1 for naming it. Episodes are truncated after 8 steps."""

    env_id = "Guess"
    action_kind = "discrete"
    observation_dim = action_dim = 3
    action_low = action_high = None
    max_episode_steps = 8

    def __init__(self, num_envs: int) -> None:
        self.num_envs, self.device = num_envs, torch.device("cpu")
        self.generator = torch.Generator()
        self.elapsed = 0

    def reset(self, seed: int) -> Tensor:
        self.generator.manual_seed(seed)
        self.elapsed = 0
        return self._draw()

    def step(self, actions: Tensor) -> Step:
        reward = self.reward(actions)
        self.elapsed += 1
        truncated = torch.full((self.num_envs,), self.elapsed % self.max_episode_steps == 0)
        obs = self._draw()
        return Step(obs, reward, torch.zeros(self.num_envs, dtype=torch.bool), truncated, obs.clone())

    def reward(self, actions: Tensor) -> Tensor:
        return (actions == self.obs.argmax(1)).float()

    def _draw(self) -> Tensor:
        symbols = torch.randint(3, (self.num_envs,), generator=self.generator)
        self.obs = torch.nn.functional.one_hot(symbols, 3).float()
        return self.obs

    def state(self) -> dict[str, Tensor]:
        return {"generator": self.generator.get_state(), "obs": self.obs, "elapsed": torch.tensor(self.elapsed)}

    def load_state(self, state: dict[str, Tensor]) -> Tensor:
        self.generator.set_state(state["generator"])
        self.obs, self.elapsed = state["obs"], int(state["elapsed"])
        return self.obs

    def close(self) -> None:
        pass


class PointEnv(GuessEnv):
    """Observes a number x from -1 to 1 and pays for answering 12 + 2 x, which lies well inside 8 to 16."""

    env_id = "Point"
    action_kind = "continuous"
    observation_dim = action_dim = 1
    action_low, action_high = torch.tensor([8.0]), torch.tensor([16.0])

    def reward(self, actions: Tensor) -> Tensor:
        return -(actions - 12 - 2 * self.obs).square().squeeze(1)

    def _draw(self) -> Tensor:
        self.obs = torch.rand(self.num_envs, 1, generator=self.generator) * 2 - 1
        return self.obs


class CreditEnv(GuessEnv):
    """Two steps an episode: action 0 pays 0.3 now, action 1 pays 1 in the second step, whatever is done there."""

    env_id = "Credit"
    observation_dim, action_dim = 3, 2

    def step(self, actions: Tensor) -> Step:
        at = self.obs.argmax(1)
        first = at == 0
        reward = torch.where(first, 0.3 * (actions == 0), (at == 2).float())
        final_obs = self._see(torch.where(first, 1 + actions, at))
        self.obs = self._see(torch.where(first, 1 + actions, 0))
        return Step(self.obs, reward, ~first, torch.zeros_like(first), final_obs)

    def _draw(self) -> Tensor:
        self.obs = self._see(torch.zeros(self.num_envs, dtype=torch.int64))
        return self.obs

    def _see(self, at: Tensor) -> Tensor:
        return torch.nn.functional.one_hot(at, 3).float()


class SideEnv(GuessEnv):
    """Shows a bright square, left or right of the middle, on a noisy ground, and pays 1 for naming the side."""

    env_id = "Side"
    action_dim = 2
    image = Image(1, 12, 12, channels_last=False, high=255.0)
    observation_dim = 144

    def reward(self, actions: Tensor) -> Tensor:
        return (actions == self._side).float()

    def _draw(self) -> Tensor:
        draw = lambda high: torch.randint(high, (self.num_envs,), generator=self.generator)  # noqa: E731
        self._side, row, column = draw(2), draw(9), draw(4)
        self.obs = torch.randint(100, (self.num_envs, *self.image.shape), dtype=torch.uint8, generator=self.generator)
        for index in range(self.num_envs):
            left = int(column[index] + 6 * self._side[index])
            self.obs[index, :, row[index] : row[index] + 3, left : left + 3] = 255
        return self.obs

    def state(self) -> dict[str, Tensor]:
        return super().state() | {"side": self._side}

    def load_state(self, state: dict[str, Tensor]) -> Tensor:
        self._side = state["side"]
        return super().load_state(state)
