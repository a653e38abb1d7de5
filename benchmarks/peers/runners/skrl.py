"""skrl's PPO: its own example's settings for Pendulum-v1, the Zoo's (see zoo.py) where it has no example for PPO.

https://github.com/Toni-SM/skrl/blob/main/docs/source/examples/gymnasium/torch_gymnasium_pendulum_ppo.py
"""

import tempfile
from typing import Any

import gymnasium
import numpy as np
import torch
from skrl.agents.torch.ppo import PPO, PPO_CFG
from skrl.envs.wrappers.torch import wrap_env
from skrl.memories.torch import RandomMemory
from skrl.models.torch import CategoricalMixin, DeterministicMixin, GaussianMixin, Model
from skrl.resources.preprocessors.torch import RunningStandardScaler
from skrl.resources.schedulers.torch import KLAdaptiveLR
from skrl.trainers.torch import SequentialTrainerCfg
from torch import nn

from benchmarks.peers import zoo
from benchmarks.peers.job import Answer, Job, answer
from benchmarks.peers.runners.warm import warm_up
from benchmarks.peers.training import Evaluator, Training

NEVER = 10**9


def train(job: Job) -> Answer:
    warm_up(job.threads)
    torch.manual_seed(job.seed)
    chosen = _settings(job.env_id)
    num_envs = chosen.pop("num_envs")
    with tempfile.TemporaryDirectory() as folder:
        training = Training(job, num_envs)
        env = wrap_env(
            gymnasium.make_vec(
                job.env_id,
                num_envs,
                vectorization_mode="sync",
                vector_kwargs={"autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP},
            )
        )
        agent = _agent(env, chosen, folder)
        return _train(training, env, agent, chosen["rollouts"])


def _settings(env_id: str) -> dict[str, Any]:
    """PPO_CFG's fields, and num_envs."""
    if env_id == "Pendulum-v1":
        return {
            "num_envs": 4,
            "rollouts": 1024,
            "learning_epochs": 10,
            "mini_batches": 32,
            "discount_factor": 0.9,
            "gae_lambda": 0.95,
            "learning_rate": 1e-3,
            "learning_rate_scheduler": KLAdaptiveLR,
            "learning_rate_scheduler_kwargs": {"kl_threshold": 0.008},
            "value_loss_scale": 0.5,
            "observation_preprocessor": RunningStandardScaler,
            "value_preprocessor": RunningStandardScaler,
        }
    chosen = zoo.settings("ppo", env_id)
    num_envs, num_steps = chosen["n_envs"], chosen.get("n_steps", 2048)
    settings = {
        "num_envs": num_envs,
        "rollouts": num_steps,
        "learning_epochs": chosen.get("n_epochs", 10),
        "mini_batches": max(1, num_envs * num_steps // chosen.get("batch_size", 64)),
        "discount_factor": chosen.get("gamma", 0.99),
        "gae_lambda": chosen.get("gae_lambda", 0.95),
        "learning_rate": float(str(chosen.get("learning_rate", 3e-4)).removeprefix("lin_")),
        "entropy_loss_scale": chosen.get("ent_coef", 0.0),
        "value_loss_scale": chosen.get("vf_coef", 0.5),
        "value_clip": 0.0,
    }
    if chosen.get("normalize"):
        settings["observation_preprocessor"] = settings["value_preprocessor"] = RunningStandardScaler
    return settings


class Policy(Model):
    """Two layers of 64."""

    def __init__(self, observation_space: Any, action_space: Any) -> None:
        Model.__init__(self, observation_space=observation_space, action_space=action_space, device="cpu")
        self.network = _mlp(self.num_observations, self.num_actions)

    def compute(self, inputs: Any, role: str) -> Any:
        return self.network(inputs["observations"]), {}


class Discrete(CategoricalMixin, Policy):
    def __init__(self, observation_space: Any, action_space: Any) -> None:
        Policy.__init__(self, observation_space, action_space)
        CategoricalMixin.__init__(self)


class Continuous(GaussianMixin, Policy):
    def __init__(self, observation_space: Any, action_space: Any) -> None:
        Policy.__init__(self, observation_space, action_space)
        GaussianMixin.__init__(self)
        self.log_std = nn.Parameter(torch.zeros(self.num_actions))

    def compute(self, inputs: Any, role: str) -> Any:
        return self.network(inputs["observations"]), {"log_std": self.log_std}


class Value(DeterministicMixin, Model):
    def __init__(self, observation_space: Any, action_space: Any) -> None:
        Model.__init__(self, observation_space=observation_space, action_space=action_space, device="cpu")
        DeterministicMixin.__init__(self)
        self.network = _mlp(self.num_observations, 1)

    def compute(self, inputs: Any, role: str) -> Any:
        return self.network(inputs["observations"]), {}


def _mlp(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs))


def _agent(env: Any, chosen: dict[str, Any], folder: str) -> PPO:
    spaces = env.observation_space, env.action_space
    policy = Discrete if isinstance(env.action_space, gymnasium.spaces.Discrete) else Continuous
    config = dict(chosen)
    for name, size in (("observation_preprocessor", env.observation_space), ("value_preprocessor", 1)):
        if name in config:
            config[f"{name}_kwargs"] = {"size": size, "device": "cpu"}
    config["experiment"] = {"directory": folder, "write_interval": 0, "checkpoint_interval": 0}
    agent = PPO(
        models={"policy": policy(*spaces), "value": Value(*spaces)},
        memory=RandomMemory(memory_size=chosen["rollouts"], num_envs=env.num_envs, device="cpu"),
        observation_space=env.observation_space,
        action_space=env.action_space,
        device="cpu",
        cfg=PPO_CFG(**config),
    )
    agent.init(trainer_cfg=SequentialTrainerCfg(timesteps=NEVER, disable_progressbar=True))
    agent.enable_training_mode(True)
    return agent


def _train(training: Training, env: Any, agent: PPO, rollouts: int) -> Answer:
    """skrl's sequential trainer, step by step, so that it can be looked at in between."""
    evaluate = Evaluator(_deterministic(agent, env), lambda: gymnasium.make(training.job.env_id))
    bound = zoo.settings("ppo", training.job.env_id)["n_timesteps"]
    running, timestep = np.zeros(env.num_envs), 0
    observations, _ = env.reset()
    while not training.ended and timestep * env.num_envs < bound:
        agent.pre_interaction(timestep=timestep, timesteps=NEVER)
        with torch.no_grad():
            actions, _ = agent.act(observations, None, timestep=timestep, timesteps=NEVER)
            following, rewards, terminated, truncated, infos = env.step(_clipped(actions, env))
            agent.record_transition(
                observations=observations,
                states=None,
                actions=actions,
                rewards=rewards,
                next_observations=following,
                next_states=None,
                terminated=terminated,
                truncated=truncated,
                infos=infos,
                timestep=timestep,
                timesteps=NEVER,
            )
        agent.post_interaction(timestep=timestep, timesteps=NEVER)
        observations, timestep = following, timestep + 1
        running += rewards.view(-1).numpy()
        for i in (terminated | truncated).view(-1).nonzero().view(-1).tolist():
            training.episode(running[i])
            running[i] = 0.0
        if timestep % rollouts == 0:
            training.look(timestep * env.num_envs, evaluate)
    return training.result(evaluate)


def _clipped(actions: torch.Tensor, env: Any) -> torch.Tensor:
    if isinstance(env.action_space, gymnasium.spaces.Discrete):
        return actions
    return actions.clamp(torch.as_tensor(env.action_space.low), torch.as_tensor(env.action_space.high))


def _deterministic(agent: PPO, env: Any) -> Any:
    discrete = isinstance(env.action_space, gymnasium.spaces.Discrete)

    def act(obs: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            _, outputs = agent.act(torch.as_tensor(obs, dtype=torch.float32), None, timestep=0, timesteps=NEVER)
        if discrete:
            return outputs["net_output"].argmax(-1).numpy()
        return _clipped(outputs["mean_actions"], env).numpy()

    return act


if __name__ == "__main__":
    answer({"to-target": train})
