"""Sample Factory, serially in one process, with the settings of its own examples.

https://github.com/alex-petrenko/sample-factory/tree/master/sf_examples: train_gym_env.py for discrete actions, its
batch made the rows of one rollout, as serial sampling asks for; mujoco/mujoco_params.py for continuous ones.
"""

import tempfile
from typing import Any

import gymnasium
import numpy as np
import torch
from sample_factory.algo.runners.runner import AlgoObserver, Runner
from sample_factory.algo.utils.action_distributions import argmax_actions
from sample_factory.algo.utils.rl_utils import prepare_and_normalize_obs
from sample_factory.cfg.arguments import parse_full_cfg, parse_sf_args
from sample_factory.envs.env_utils import register_env
from sample_factory.model.model_utils import get_rnn_size
from sample_factory.train import make_runner
from sf_examples.mujoco.mujoco_params import mujoco_override_defaults

from benchmarks.peers.job import Answer, Job, answer
from benchmarks.peers.runners.warm import warm_up
from benchmarks.peers.training import Evaluator, Training

DISCRETE = [
    "--num_envs_per_worker=20",
    "--recurrence=1",
    "--with_vtrace=False",
    "--batch_size=640",
    "--reward_scale=0.1",
]
SERIAL = [
    "--algo=APPO",
    "--device=cpu",
    "--use_rnn=False",
    "--serial_mode=True",
    "--async_rl=False",
    "--num_workers=1",
    "--worker_num_splits=1",
    "--train_for_env_steps=1000000000",
    "--save_every_sec=100000",
    "--experiment_summaries_interval=100000",
]


def make_env(name: str, cfg: Any = None, env_config: Any = None, render_mode: str | None = None) -> Any:
    return gymnasium.make(name)


def train(job: Job) -> Answer:
    warm_up(job.threads)
    single = gymnasium.make(job.env_id)
    discrete = isinstance(single.action_space, gymnasium.spaces.Discrete)
    register_env(job.env_id, make_env)
    with tempfile.TemporaryDirectory() as folder:
        arguments = [*SERIAL, *(DISCRETE if discrete else []), f"--env={job.env_id}", f"--seed={job.seed}"]
        arguments += [f"--train_dir={folder}", "--experiment=peer"]
        parser, _ = parse_sf_args(argv=arguments)
        if not discrete:
            mujoco_override_defaults(job.env_id, parser)
        config = parse_full_cfg(parser, arguments)
        watch = _Watch(job, single.action_space)
        _, runner = make_runner(config)
        runner.register_observer(watch)
        runner.register_episodic_stats_handler(watch.episodes)
        runner.init()  # starts a process to look at the environment, and so imports all anew
        watch.training = Training(job, config.num_envs_per_worker)
        runner.run()
        return watch.training.result(watch.evaluate)


class _Watch(AlgoObserver):
    """Looks after each training step; ends training through the bound on its env steps."""

    training: Training

    def __init__(self, job: Job, space: gymnasium.Space[Any]) -> None:
        self._space = space
        self._network: Any = None
        self._rnn_size = 1
        self.evaluate = Evaluator(self._act, lambda: gymnasium.make(job.env_id))

    def episodes(self, runner: Runner, message: dict[str, Any], policy_id: int) -> None:
        rewards = message["episodic"]["reward"]
        for value in rewards if isinstance(rewards, list | tuple | np.ndarray) else [rewards]:
            self.training.episode(float(value))

    def on_training_step(self, runner: Runner, training_iteration_since_resume: int) -> None:
        self._network, self._rnn_size = runner.learners[0].learner.actor_critic, get_rnn_size(runner.cfg)
        if self.training.look(runner.env_steps.get(0, 0), self.evaluate):
            runner.cfg.train_for_env_steps = 0

    @torch.no_grad()
    def _act(self, obs: np.ndarray) -> np.ndarray:
        network = self._network
        training = network.training
        network.eval()
        seen = prepare_and_normalize_obs(network, {"obs": torch.as_tensor(obs, dtype=torch.float32)})
        network(seen, torch.zeros(len(obs), self._rnn_size))
        actions = argmax_actions(network.action_distribution()).numpy()
        network.train(training)
        if isinstance(self._space, gymnasium.spaces.Discrete):
            return actions.reshape(len(obs))
        return np.clip(actions, self._space.low, self._space.high)


if __name__ == "__main__":
    answer({"to-target": train})
