"""AgileRL's PPO without its population, with the settings of its own configuration.

https://github.com/AgileRL/AgileRL/blob/main/configs/training/ppo/ppo.yaml, which is for LunarLander; it has none for
smaller environments.
"""

from typing import Any

import gymnasium
import numpy as np
import torch
from agilerl.algorithms import PPO
from agilerl.rollouts.on_policy import collect_rollouts

from benchmarks.peers.job import Answer, Job, answer
from benchmarks.peers.runners.warm import warm_up
from benchmarks.peers.training import Evaluator, Training

NUM_ENVS = 16
SETTINGS: dict[str, Any] = {
    "batch_size": 128,
    "lr": 3e-4,
    "learn_step": 2048,
    "gamma": 0.99,
    "gae_lambda": 0.95,
    "action_std_init": 0.6,
    "clip_coef": 0.2,
    "ent_coef": 0.01,
    "vf_coef": 0.5,
    "max_grad_norm": 0.5,
    "update_epochs": 4,
    "share_encoders": True,
    "net_config": {
        "latent_dim": 64,
        "squash_output": False,
        "encoder_config": {"hidden_size": [64], "activation": "Tanh", "layer_norm": True},
        "head_config": {"hidden_size": [64], "activation": "Tanh", "output_vanish": True, "layer_norm": True},
    },
}


def train(job: Job) -> Answer:
    warm_up(job.threads)
    torch.manual_seed(job.seed)
    np.random.seed(job.seed)  # what AgileRL draws from
    training = Training(job, NUM_ENVS)
    env = gymnasium.make_vec(
        job.env_id,
        NUM_ENVS,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP},
    )
    agent = PPO(env.single_observation_space, env.single_action_space, num_envs=NUM_ENVS, device="cpu", **SETTINGS)
    evaluate = Evaluator(deterministic(agent), lambda: gymnasium.make(job.env_id))
    env_steps, running = 0, dict[str, Any]()
    while not training.ended:
        agent.set_training_mode(True)
        returns, *left = collect_rollouts(agent, env, **running)
        running = dict(zip(("last_obs", "last_done", "last_scores", "last_info"), left, strict=True))
        for value in returns:
            training.episode(value)
        agent.learn()
        env_steps += -(SETTINGS["learn_step"] // -NUM_ENVS) * NUM_ENVS
        training.look(env_steps, evaluate)
    return training.result(evaluate)


def deterministic(agent: PPO) -> Any:
    space = agent.action_space
    continuous = isinstance(space, gymnasium.spaces.Box)

    def act(obs: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            seen = agent.preprocess_observation(obs)
            agent.actor.forward_head(agent.actor.extract_features(seen), sample=False)
            found = agent.actor.head_net.dist
            action = (found.mu if continuous else found.logits.argmax(-1)).numpy()
        return np.clip(action, space.low, space.high) if continuous else action

    return act


if __name__ == "__main__":
    answer({"to-target": train})
