"""Stable-Baselines3, and what SBX shares with it: the same interface over other networks."""

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np
import stable_baselines3
import torch
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize

from benchmarks.peers.job import Answer, Job, answer
from benchmarks.peers.runners.warm import warm_up
from benchmarks.peers.training import Evaluator, Rate, Training
from benchmarks.peers.zoo import settings

Algorithms = Mapping[str, Any]

ALGORITHMS: Algorithms = {
    "ppo": stable_baselines3.PPO,
    "sac": stable_baselines3.SAC,
    "td3": stable_baselines3.TD3,
}
ACTIVATIONS = {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh}

UPDATES_AT_ONCE = 32


def main(algorithms: Algorithms, activations: Mapping[str, Any]) -> None:
    def with_algorithms(measure: Callable[..., Answer]) -> Callable[[Job], Answer]:
        def measured(job: Job) -> Answer:
            warm_up(job.threads)
            return measure(job, algorithms, activations)

        return measured

    answer(
        {
            "to-target": with_algorithms(train),
            "return-at-steps": with_algorithms(train),
            "throughput": with_algorithms(throughput),
            "updates": with_algorithms(updates),
        }
    )


# Training with the Zoo's settings


def train(job: Job, algorithms: Algorithms, activations: Mapping[str, Any]) -> Answer:
    chosen = settings(job.algorithm, job.env_id)
    num_envs, normalize = chosen.pop("n_envs", 1), chosen.pop("normalize", False)
    env_steps = job.env_steps or int(chosen.pop("n_timesteps"))
    chosen.pop("n_timesteps", None)
    training = Training(job, num_envs)
    env: Any = make_vec_env(job.env_id, n_envs=num_envs, seed=job.seed)
    if normalize:
        env = VecNormalize(env, gamma=chosen.get("gamma", 0.99))
    model = algorithms[job.algorithm]("MlpPolicy", env, seed=job.seed, **made(chosen, activations), device="cpu")

    def act(obs: np.ndarray) -> np.ndarray:
        seen = env.normalize_obs(obs) if normalize else obs
        return np.asarray(model.predict(seen, deterministic=True)[0])

    evaluate = Evaluator(act, lambda: gymnasium.make(job.env_id))
    model.learn(env_steps, callback=_Watch(training, evaluate))
    training.look(model.num_timesteps, evaluate)
    return training.result(evaluate)


def made(chosen: dict[str, Any], activations: Mapping[str, Any]) -> dict[str, Any]:
    """The Zoo's texts as the objects that they stand for."""
    made = {
        name: _linear(float(value[4:])) if isinstance(value, str) and value.startswith("lin_") else value
        for name, value in chosen.items()
    }
    policy = dict(made.get("policy_kwargs", {}))
    if "activation_fn" in policy:
        policy["activation_fn"] = activations[policy["activation_fn"]]
    return made | ({"policy_kwargs": policy} if policy else {})


def _linear(start: float) -> Callable[[float], float]:
    return lambda remaining: remaining * start


class _Watch(BaseCallback):
    """Tells `training` what ends, and looks after each update."""

    def __init__(self, training: Training, evaluate: Evaluator) -> None:
        super().__init__()
        self._training, self._evaluate = training, evaluate

    def _on_rollout_start(self) -> None:
        self._training.look(self.num_timesteps, self._evaluate)

    def _on_step(self) -> bool:
        for info in self.locals["infos"]:
            if "episode" in info:
                self._training.episode(info["episode"]["r"])
        return not self._training.ended


# Speed alone


def throughput(job: Job, algorithms: Algorithms, activations: Mapping[str, Any]) -> Answer:
    env = make_vec_env(job.env_id, n_envs=job.num_envs, seed=job.seed)
    model = algorithms["ppo"](
        "MlpPolicy",
        env,
        n_steps=job.num_steps,
        batch_size=job.minibatch_rows,
        n_epochs=job.num_epochs,
        policy_kwargs={"net_arch": [64, 64], "activation_fn": activations["tanh"]},
        seed=job.seed,
        device="cpu",
    )
    rate = Rate(job.seconds)
    model.learn(10**9, callback=_UntilMeasured(rate))
    return rate.result("env_steps")


class _UntilMeasured(BaseCallback):
    """Ends training once `rate` has seen enough iterations."""

    def __init__(self, rate: Rate) -> None:
        super().__init__()
        self._rate, self._enough = rate, False

    def _on_rollout_start(self) -> None:
        if self.num_timesteps:
            self._enough = self._rate.look(self.num_timesteps)

    def _on_step(self) -> bool:
        return not self._enough


def updates(job: Job, algorithms: Algorithms, activations: Mapping[str, Any]) -> Answer:
    """Gradient updates alone, sampling from the replay buffer included, as many in a row as suits the library."""
    env = make_vec_env(job.env_id, n_envs=1, seed=job.seed)
    model = algorithms[job.algorithm](
        "MlpPolicy",
        env,
        batch_size=256,
        learning_starts=5_000,
        buffer_size=100_000,
        policy_kwargs={"net_arch": [256, 256], "activation_fn": activations["relu"]},
        seed=job.seed,
        device="cpu",
    )
    model.learn(5_000)
    rate, count = Rate(job.seconds), 0
    while True:
        model.train(gradient_steps=UPDATES_AT_ONCE, batch_size=256)
        count += UPDATES_AT_ONCE
        if rate.look(count):
            return rate.result("updates")


if __name__ == "__main__":
    main(ALGORITHMS, ACTIVATIONS)
