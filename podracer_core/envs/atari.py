"""Atari games on several threads, by ale-py's own batch of the Arcade Learning Environment.

Environment i takes the course of the single Gymnasium environment behind `wrapping_of` that is given its seed, frame
by frame (a test plays both). The batch takes no negative seeds for its emulators, which half of the seeds lead to:
those are passed over, see `game_seeds`.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from ale_py.vector_env import AtariVectorEnv
from gymnasium.vector import AutoresetMode
from torch import Tensor

from podracer_core.envs.registered import describe, registered_spec, start
from podracer_core.envs.vector_env import Step, VectorEnv
from podracer_core.envs.wrapped import ATARI_FRAME_SKIP
from podracer_core.errors import EnvironmentCrashedError


def game_seeds(entropy: list[int], count: int) -> list[tuple[int, int]]:
    """(seed, the emulator's own seed) of each of `count` environments.

    The latter is what ale_py.AtariEnv draws from the former: the second word of its seed sequence, as int32.
    """
    found: list[tuple[int, int]] = []
    words = 2 * count
    while len(found) < count:
        words *= 2
        seeds = np.random.SeedSequence(entropy).generate_state(words).tolist()
        pairs = [(seed, int(np.random.SeedSequence(seed).generate_state(2)[1].astype(np.int32))) for seed in seeds]
        found = [pair for pair in pairs if pair[1] >= 0][:count]
    return found


class Atari(VectorEnv):
    """`num_envs` of one game, on as many threads as torch has when this is made.

    A state holds a seed, not the games: `load_state` starts new episodes, as Gymnasium's environments do.
    Raises UnknownEnvironmentError, EnvError.
    """

    def __init__(self, env_id: str, num_envs: int, device: torch.device | str = "cpu") -> None:
        spec = registered_spec(env_id)
        single = start(spec)
        entry = describe(single)
        single.close()
        self.env_id, self.num_envs, self.device = env_id, num_envs, torch.device(device)
        self.observation_dim, self.max_episode_steps = entry.observation_dim, entry.max_episode_steps
        self.image = entry.observation_space.image
        self.action_kind, self.action_dim = entry.action_kind, entry.action_dim
        self.action_low = self.action_high = None
        options: dict[str, Any] = {
            name: spec.kwargs[name]
            for name in ("game", "repeat_action_probability", "full_action_space", "max_num_frames_per_episode")
        }
        self._games = AtariVectorEnv(
            **options,
            num_envs=num_envs,
            num_threads=min(num_envs, torch.get_num_threads()),
            autoreset_mode=AutoresetMode.SAME_STEP,
            frameskip=ATARI_FRAME_SKIP,
            stack_num=1,
            noop_max=0,
            use_fire_reset=False,
            reward_clipping=False,
        )
        self._seed, self._num_steps = 0, 0

    def reset(self, seed: int) -> Tensor:
        self._seed, self._num_steps = seed, 0
        return self._start([seed])

    def step(self, actions: Tensor) -> Step:
        try:
            obs, reward, terminated, truncated, info = self._games.step(actions.detach().cpu().numpy())
        except Exception as error:  # whatever the emulators raise is told to its user as what it is
            raise EnvironmentCrashedError(f"{self.env_id} crashed on actions {actions.tolist()}: {error}") from error
        self._num_steps += 1
        seen = final = self._give(obs)
        if "final_obs" in info:  # of games that have not ended it holds anything
            ended = (terminated | truncated).reshape(-1, 1, 1, 1)
            final = self._give(np.where(ended, info["final_obs"], obs))
        return Step(seen, self._give(reward.astype(np.float32)), self._give(terminated), self._give(truncated), final)

    def state(self) -> dict[str, Tensor]:
        return {"seed": torch.tensor(self._seed), "num_steps": torch.tensor(self._num_steps)}

    def load_state(self, state: dict[str, Tensor]) -> Tensor:
        self._seed, self._num_steps = int(state["seed"]), int(state["num_steps"])
        return self._start([self._seed, self._num_steps])

    def close(self) -> None:
        self._games.close()

    def _start(self, entropy: list[int]) -> Tensor:
        seeds = np.array([emulator for _, emulator in game_seeds(entropy, self.num_envs)])
        obs, _ = self._games.reset(seed=seeds)
        return self._give(obs)

    def _give(self, array: npt.NDArray[Any]) -> Tensor:
        return torch.from_numpy(array).to(self.device)
