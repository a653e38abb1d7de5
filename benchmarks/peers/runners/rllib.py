"""RLlib's PPO (new stack), with the settings of its own examples, in one process: no worker costs a process here.

https://github.com/ray-project/ray/tree/master/rllib/examples/algorithms/ppo: cartpole_ppo.py, pendulum_ppo.py. For
other environments RLlib's defaults stand, with observations normalised.
"""

import logging
import os
from typing import Any

import gymnasium
import numpy as np
import ray
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.connectors.env_to_module import MeanStdFilter
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig

from benchmarks.peers.job import Answer, Job, answer
from benchmarks.peers.runners.ray_looks import act_of
from benchmarks.peers.runners.warm import warm_up
from benchmarks.peers.training import Evaluator, Training

EXAMPLES: dict[str, dict[str, Any]] = {
    "CartPole-v1": {
        "num_envs": 16,
        "training": {"lr": 0.0003, "num_epochs": 6, "vf_loss_coeff": 0.01},
        "model": {"fcnet_hiddens": [32], "fcnet_activation": "linear", "vf_share_layers": True},
    },
    "Pendulum-v1": {
        "num_envs": 20,
        "normalize": True,
        "training": {
            "train_batch_size_per_learner": 1024,
            "minibatch_size": 128,
            "lr": 0.0002,
            "gamma": 0.95,
            "lambda_": 0.5,
        },
        "model": {"fcnet_activation": "relu"},
    },
}
OTHERS: dict[str, Any] = {"num_envs": 16, "normalize": True, "training": {}, "model": {}}


def train(job: Job) -> Answer:
    warm_up(job.threads)
    logging.disable(logging.WARNING)
    ray.init(num_cpus=os.cpu_count(), include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    chosen = EXAMPLES.get(job.env_id, OTHERS)
    training = Training(job, chosen["num_envs"])

    def on_episode_end(*, episode: Any, **rest: Any) -> None:
        training.episode(episode.get_return())

    algorithm = _config(job, chosen).callbacks(on_episode_end=on_episode_end).build_algo()
    # RLlib's own evaluate() would play here with an observation filter that has seen nothing.
    evaluate = Evaluator(act_of(algorithm), lambda: gymnasium.make(job.env_id))
    env_steps = 0
    while not training.ended:
        found = algorithm.train()
        env_steps = int(found["env_runners"]["num_env_steps_sampled_lifetime"])
        training.look(env_steps, evaluate)
    return training.result(evaluate)


def _config(job: Job, chosen: dict[str, Any]) -> Any:
    runners: dict[str, Any] = {"num_env_runners": 0, "num_envs_per_env_runner": chosen["num_envs"]}
    if chosen.get("normalize"):
        runners["env_to_module_connector"] = lambda env, spaces, device: MeanStdFilter()
    return (
        PPOConfig()
        .environment(job.env_id)
        .env_runners(**runners)
        .learners(num_learners=0)
        .training(**chosen["training"])
        .rl_module(model_config=DefaultModelConfig(**chosen["model"]))
        .debugging(seed=int(np.random.SeedSequence(job.seed).generate_state(1)[0]) % 2**31)
    )


if __name__ == "__main__":
    answer({"to-target": train})
