"""Playing agents in the real Gymnasium environment."""

from typing import Any

import gymnasium
import numpy as np
import pytest

from podracer_core.errors import EnvironmentCrashedError
from podracer_core.player import Agent
from podracer_core.playing import play_episodes


class Faulty(gymnasium.Env[Any, Any]):
    """Fails at `fault`."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (2,))
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, fault: str) -> None:
        self.fault = fault

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        if self.fault == "reset":
            raise RuntimeError("no level left")
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> Any:
        if self.fault == "step":
            raise RuntimeError("the\nfloor broke")
        return np.zeros(2, np.float32), {"nan": float("nan")}.get(self.fault), True, False, {}


def agent_for(env_id: str) -> Agent:
    box = {"kind": "box", "shape": (2,), "low": (-1, -1), "high": (1, 1)}
    discrete = {"kind": "discrete", "n": 2, "dtype": "int64"}
    tensors = {"actor.0.weight": np.ones((2, 2), np.float32), "actor.0.bias": np.zeros(2, np.float32)}
    network = {"hidden_size": 1, "num_layers": 0, "activation": "tanh", "obs_clip": 10.0}
    spaces = {"observation": box, "action": discrete}
    return Agent(tensors, {"env_id": env_id, "algorithm": "ppo", "spaces": spaces, "network": network})


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("reset", "crashed while starting an episode: RuntimeError: no level left"),
        ("step", "crashed at step 1 of an episode, on action 0: RuntimeError: the floor broke"),
        ("nan", r"gave the reward nan at step 1 of an episode, on action 0\."),
        ("reward", "crashed at step 1 of an episode, on action 0: TypeError: float"),
    ],
)
def test_an_environment_that_crashes_is_told_as_in_training(
    fault: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    env_id = f"Faulty-{fault}-v0"
    kwargs = {"fault": fault}
    spec = gymnasium.envs.registration.EnvSpec(env_id, entry_point=Faulty, kwargs=kwargs, disable_env_checker=True)
    monkeypatch.setitem(gymnasium.registry, env_id, spec)
    with pytest.raises(EnvironmentCrashedError, match=f"{env_id} {sentence}"):
        play_episodes(agent_for(env_id), 1, seed=1)
