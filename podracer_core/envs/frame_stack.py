"""The latest observations of every environment side by side, for what a single one does not show, such as motion."""

import torch
from torch import Tensor

from podracer_core.envs.vector_env import Step, VectorEnv


class FrameStack(VectorEnv):
    """Equal to gymnasium.wrappers.FrameStackObservation: an episode begins with copies of its first observation.

    Stacking happens here, on the device, so that environments hand over every frame once.
    """

    def __init__(self, env: VectorEnv, count: int) -> None:
        self._env = env
        for name in VectorEnv.__annotations__:
            setattr(self, name, getattr(env, name))
        self.frame_stack, self.observation_dim = count, env.observation_dim * count
        self.image = env.image.stacked(count) if env.image else None
        self._obs = torch.empty(0)

    def reset(self, seed: int) -> Tensor:
        return self._begin(self._env.reset(seed))

    def step(self, actions: Tensor) -> Step:
        step = self._env.step(actions)
        width = step.obs.shape[1]
        later = self._obs[:, width:]
        final_obs = torch.cat((later, step.final_obs), 1)
        self._obs = final_obs
        if step.final_obs is not step.obs:
            ended = (step.terminated | step.truncated).view(-1, *[1] * (step.obs.dim() - 1))
            self._obs = torch.where(ended, self._repeated(step.obs), final_obs)
        return step._replace(obs=self._obs, final_obs=final_obs)

    def state(self) -> dict[str, Tensor]:
        return self._env.state() | {"frames": self._obs.cpu()}

    def load_state(self, state: dict[str, Tensor]) -> Tensor:
        obs = self._env.load_state({name: value for name, value in state.items() if name != "frames"})
        if "seed" in state:  # new episodes have begun
            return self._begin(obs)
        self._obs = state["frames"].to(self.device)
        return self._obs

    def close(self) -> None:
        self._env.close()

    def _begin(self, obs: Tensor) -> Tensor:
        self._obs = self._repeated(obs)
        return self._obs

    def _repeated(self, obs: Tensor) -> Tensor:
        return torch.cat([obs] * self.frame_stack, 1)
