"""Plans and environments that several tests use."""

import importlib.util
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from podracer_core.envs.catalogue import CATALOGUE, ActionKind, default_hyperparameters
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


class GuessBothEnv(GuessEnv):
    """Observes one of three symbols and one of two, and pays a half for naming each."""

    env_id = "GuessBoth"
    action_kind = "multidiscrete"
    observation_dim = action_dim = 5
    nvec = (3, 2)

    def reward(self, actions: Tensor) -> Tensor:
        return (actions == self.answer).float().mean(1)

    def _draw(self) -> Tensor:
        drawn = [torch.randint(n, (self.num_envs,), generator=self.generator) for n in self.nvec]
        self.answer = torch.stack(drawn, 1)
        seen = [torch.nn.functional.one_hot(symbol, n) for symbol, n in zip(drawn, self.nvec, strict=True)]
        self.obs = torch.cat(seen, 1).float()
        return self.obs


class ShareEnv(GuessEnv):
    """What is to be learned is how much of the second of two options to take, by any kind of actions."""

    observation_dim = 3

    def __init__(self, num_envs: int, kind: ActionKind = "discrete") -> None:
        super().__init__(num_envs)
        self.action_kind, self.action_dim = kind, {"discrete": 2, "multidiscrete": 4, "continuous": 1}[kind]
        if kind == "multidiscrete":
            self.nvec = (2, 2)
        if kind == "continuous":
            self.action_low, self.action_high = torch.tensor([8.0]), torch.tensor([16.0])

    def share(self, actions: Tensor) -> Tensor:
        """[num_envs], from 0 to 1."""
        if self.action_kind == "continuous":
            return (actions.squeeze(1) - 8) / 8
        return actions.float() if self.action_kind == "discrete" else actions.float().mean(1)


class CreditEnv(ShareEnv):
    """Two steps an episode: the first option pays 0.3 now, the second 1 in the second step, whatever is done there."""

    env_id = "Credit"

    def step(self, actions: Tensor) -> Step:
        share, first = self.share(actions), self.obs[:, 0] == 1
        reward = torch.where(first, 0.3 * (1 - share), self.obs[:, 2])
        chosen = torch.stack((torch.zeros_like(share), 1 - share, share), 1)
        final_obs = torch.where(first.unsqueeze(1), chosen, self.obs)
        self.obs = torch.where(first.unsqueeze(1), chosen, self._start())
        return Step(self.obs, reward, ~first, torch.zeros_like(first), final_obs)

    def _draw(self) -> Tensor:
        self.obs = self._start()
        return self.obs

    def _start(self) -> Tensor:
        return torch.tensor([1.0, 0, 0]).expand(self.num_envs, 3)


class StayEnv(ShareEnv):
    """Always looks the same: the first option pays 0.5 and goes on, the second pays 1 and ends the episode."""

    env_id = "Stay"

    def step(self, actions: Tensor) -> Step:
        share = self.share(actions)
        terminated = torch.rand(self.num_envs, generator=self.generator) < share
        return Step(
            self.obs, 0.5 + share - 0.5 * share.square(), terminated, torch.zeros_like(terminated), self.obs.clone()
        )

    def _draw(self) -> Tensor:
        self.obs = torch.tensor([1.0, 0, 0]).expand(self.num_envs, 3)
        return self.obs


class LastStepEnv(ShareEnv):
    """One step an episode, which is truncated: `terminated` says whether that is an end too.

    It begins in one of three places. In the first, what pays most is to take four fifths of the second option; the
    first option leads to the second place, the second to the third. The second place pays 2, the third nothing,
    whatever is done there.
    """

    env_id = "LastStep"
    max_episode_steps = 1

    def __init__(self, num_envs: int, kind: ActionKind, *, terminated: bool) -> None:
        super().__init__(num_envs, kind)
        self.terminated = torch.full((num_envs,), terminated)

    def step(self, actions: Tensor) -> Step:
        share, at = self.share(actions), self.obs.argmax(1)
        reward = torch.where(at == 0, -(share - 0.8).square(), 2.0 * (at == 1))
        led_to = torch.stack((torch.zeros_like(share), 1 - share, share), 1)
        final_obs = torch.where((at == 0).unsqueeze(1), led_to, self.obs)
        return Step(self._draw(), reward, self.terminated | (at > 0), torch.full_like(self.terminated, True), final_obs)


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
