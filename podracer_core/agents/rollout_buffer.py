"""One rollout's worth of experience, in tensors allocated once."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from podracer_core.envs.vector_env import Step


@dataclass(slots=True)
class RolloutBuffer:
    """What `num_steps` steps of `num_envs` environments gave.

    obs: [num_steps + 1, num_envs, *observation], what the policy saw (normalised); the last is what follows
    features: [num_steps + 1, num_envs, num_features], what an encoder made of obs; of vectors obs themselves
    action: [num_steps, num_envs(, action_dim)]
    reward, terminated, truncated: [num_steps, num_envs]
    final_obs: (step index, [num_envs, *observation]) of each step that ended an episode

    Steps are collected as the tensors that the environment gave out, which it never writes to again, and
    copied into place in one operation each.
    """

    obs: Tensor
    features: Tensor
    action: Tensor
    reward: Tensor
    terminated: Tensor
    truncated: Tensor
    final_obs: list[tuple[int, Tensor]] = field(default_factory=list)
    _steps: list[tuple[Tensor, Tensor, Tensor, Step]] = field(default_factory=list)

    @classmethod
    def allocate(
        cls, num_steps: int, obs: Tensor, features: Tensor, action: Tensor, device: torch.device
    ) -> "RolloutBuffer":
        """obs, features, action: examples for one step, [num_envs, ...]; features is obs where there is no encoder."""
        num_envs = len(action)
        seen = _room(num_steps + 1, obs, device)
        return cls(
            obs=seen,
            features=seen if features is obs else _room(num_steps + 1, features, device),
            action=_room(num_steps, action, device),
            reward=torch.empty(num_steps, num_envs, device=device),
            terminated=torch.empty(num_steps, num_envs, dtype=torch.bool, device=device),
            truncated=torch.empty(num_steps, num_envs, dtype=torch.bool, device=device),
        )

    def shortened(self, num_steps: int) -> "RolloutBuffer":
        """One of fewer steps in the same tensors."""
        seen = self.obs[: num_steps + 1]
        return RolloutBuffer(
            obs=seen,
            features=seen if self.features is self.obs else self.features[: num_steps + 1],
            action=self.action[:num_steps],
            reward=self.reward[:num_steps],
            terminated=self.terminated[:num_steps],
            truncated=self.truncated[:num_steps],
        )

    def add(self, obs: Tensor, features: Tensor, action: Tensor, step: Step) -> None:
        if step.final_obs is not step.obs:
            self.final_obs.append((len(self._steps), step.final_obs))
        self._steps.append((obs, features, action, step))

    def finish(self, last_obs: Tensor, last_features: Tensor) -> None:
        """Moves the collected steps into place. `last_...`: as the policy sees what follows the last step."""
        obs, features, action, steps = zip(*self._steps, strict=True)
        torch.stack((*obs, last_obs), out=self.obs)
        if self.features is not self.obs:
            torch.stack((*features, last_features), out=self.features)
        torch.stack(action, out=self.action)
        torch.stack([step.reward for step in steps], out=self.reward)
        torch.stack([step.terminated for step in steps], out=self.terminated)
        torch.stack([step.truncated for step in steps], out=self.truncated)
        self._steps.clear()

    def clear(self) -> None:
        self.final_obs.clear()
        self._steps.clear()


def _room(count: int, example: Tensor, device: torch.device) -> Tensor:
    return torch.empty(count, *example.shape, dtype=example.dtype, device=device)
