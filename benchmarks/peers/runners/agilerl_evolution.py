"""AgileRL's evolutionary search: a population of PPO agents, tournament selection and mutations.

The loop is that of its own `train_on_policy` (agilerl/training/train_on_policy.py), with our clock in it. Population,
selection, mutations and PPO's settings are those of its PPO tutorial,
https://docs.agilerl.com/en/latest/tutorials/gymnasium/agilerl_ppo_tutorial.html; for continuous actions the learning
rate that evolution starts from, the batch and the environments are those of its configs/training/ppo/ppo.yaml. What
evolution may change of the hyperparameters is what everyone searches. Networks as in that configuration: 64, a latent
layer of 64, 64; evolution goes on from there. Agents train one after another in one process, on one thread and with
its environments in it: two threads, and one process for each environment as in the tutorial, were slower on two cores.
"""

import time
from typing import Any

import gymnasium
import numpy as np
import torch
from agilerl.algorithms import PPO
from agilerl.algorithms.core.registry import HyperparameterConfig, RLParameter
from agilerl.hpo.mutation import Mutations
from agilerl.hpo.tournament import TournamentSelection
from agilerl.rollouts.on_policy import collect_rollouts

from benchmarks.peers.contests import SEARCHES
from benchmarks.peers.job import Answer, Job, answer
from benchmarks.peers.runners.agilerl import SETTINGS, deterministic
from benchmarks.peers.runners.warm import warm_up
from benchmarks.peers.tally import Looks, Milestone, Report, SlotClock, Tally
from benchmarks.peers.training import Evaluator

POPULATION, TOURNAMENT_SIZE = 4, 2
EVO_STEPS, EVAL_LOOP = 10_000, 3
TUTORIAL: dict[str, Any] = {"num_envs": 8, "lr": 1e-3, "learn_step": 1024, "batch_size": 128}
CONTINUOUS: dict[str, Any] = {"num_envs": 16, "lr": 3e-4, "learn_step": 2048, "batch_size": 128}
MUTATIONS = {
    "no_mutation": 0.4,
    "architecture": 0.2,
    "new_layer_prob": 0.2,
    "parameters": 0.2,
    "activation": 0.2,
    "rl_hp": 0.2,
    "mutation_sd": 0.1,
}


def population(job: Job) -> Answer:
    warm_up(job.threads)
    torch.manual_seed(job.seed)
    np.random.seed(job.seed)  # what AgileRL draws from
    clock, tally = SlotClock(time.time()), Tally(job)
    evolution = _Evolution(job, clock, tally)
    while not tally.over:
        evolution.generation()
    return tally.result(agents=POPULATION, generations=evolution.generations)


class _Evolution:
    """The population between two selections."""

    def __init__(self, job: Job, clock: SlotClock, tally: Tally) -> None:
        self._job, self._clock, self._tally = job, clock, tally
        self.generations = 0
        continuous = isinstance(gymnasium.make(job.env_id).action_space, gymnasium.spaces.Box)
        chosen = dict(CONTINUOUS if continuous else TUTORIAL)
        self._num_envs = int(chosen["num_envs"])
        self._env = gymnasium.make_vec(
            job.env_id,
            self._num_envs,
            vectorization_mode="sync",
            vector_kwargs={"autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP},
        )
        self._agents = PPO.population(
            POPULATION,
            self._env.single_observation_space,
            self._env.single_action_space,
            device="cpu",
            hp_config=_searched(job),
            **SETTINGS | chosen,
        )
        self._looks: dict[int, Looks] = {}
        self._milestone = Milestone(job.env_steps or 0)
        self._selection = TournamentSelection(TOURNAMENT_SIZE, elitism=True, population_size=POPULATION)
        self._mutations = Mutations(rand_seed=job.seed, device="cpu", **MUTATIONS)
        self._agents = self._mutations.mutation(self._agents, pre_training_mut=True)

    def generation(self) -> None:
        """Trains, tests, selects and mutates; ends in the middle of it when the tally is over."""
        for agent in self._agents:
            if self._train(agent):
                return
        began = self._clock.seconds
        for agent in self._agents:
            agent.test(self._env, max_steps=None, loop=EVAL_LOOP)
        self._report(evaluating=self._clock.seconds - began)
        _, agents, _ = self._selection.select(self._agents)
        self._agents = self._mutations.mutation(agents)
        self.generations += 1

    def _train(self, agent: PPO) -> bool:
        """For `EVO_STEPS`. Returns whether the tally is over."""
        agent.set_training_mode(True)
        agent.init_training_step(True)
        looks = self._looks.setdefault(agent.index, Looks(self._job, self._clock, self._num_envs))
        evaluate = Evaluator(deterministic(agent), lambda: gymnasium.make(self._job.env_id))
        running: dict[str, Any] = {}
        scores, steps, n_steps = [], 0, -(agent.learn_step // -self._num_envs)
        for _ in range(-(EVO_STEPS // -agent.learn_step)):
            began = self._clock.seconds
            returns, *left = collect_rollouts(agent, self._env, n_steps=n_steps, **running)
            running = dict(zip(("last_obs", "last_done", "last_scores", "last_info"), left, strict=True))
            agent.learn()
            took = self._clock.seconds - began
            scores += returns
            steps += n_steps * self._num_envs
            looks.episodes([float(value) for value in returns])
            late = self._job.cap is not None and self._clock.seconds >= self._job.cap
            passed = self._milestone.passed(self._tally.env_steps + n_steps * self._num_envs)
            score = looks.look(steps, evaluate, now=late or passed)
            agent.set_training_mode(True)
            if self._report(n_steps * self._num_envs, training=took, score=score):
                return True
        agent.add_scores(scores)
        agent.finalize_training_step(steps)
        return False

    def _report(self, env_steps: int = 0, **rest: Any) -> bool:
        return self._tally.add(Report(self._clock.seconds, env_steps, **{"training": 0.0} | rest))


def _searched(job: Job) -> HyperparameterConfig:
    search = SEARCHES[job.env_id]
    return HyperparameterConfig(
        lr=RLParameter(*search.learning_rate),
        clip_coef=RLParameter(*search.clip_coef),
        ent_coef=RLParameter(*search.ent_coef),
    )


if __name__ == "__main__":
    gymnasium.logger.min_level = gymnasium.logger.ERROR
    answer({"population": population})
