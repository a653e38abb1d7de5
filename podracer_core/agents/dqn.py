"""Deep Q-learning (Mnih et al. 2015, doi 10.1038/nature14236) over many environments at once.

With, as hyperparameters, double Q-learning (van Hasselt et al. 2016, arXiv 1509.06461), dueling streams (Wang et
al. 2016, arXiv 1511.06581), n-step returns (Sutton 1988) and prioritised replay (Schaul et al. 2016, arXiv 1511.05952).

One iteration, read downwards: collect -> update, `utd_ratio` times an env step. The Huber loss itself is
computed only when somebody asks for `metrics`: training needs its gradient, the error clipped to -1 .. 1.
"""

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from podracer_core.agents.adam import Adam
from podracer_core.agents.compilation import compiled
from podracer_core.agents.episodes import Episodes, EpisodeTracker
from podracer_core.agents.frame_store import FrameStore
from podracer_core.agents.learner import State, check_finite, check_fits, check_num_envs, network_shape, steps_within
from podracer_core.agents.normaliser import ObservationNormaliser
from podracer_core.agents.prioritised_replay import PrioritisedReplayBuffer
from podracer_core.agents.q_network import QNetwork
from podracer_core.agents.replay_buffer import Minibatch, ReplayBuffer
from podracer_core.envs.vector_env import Step, VectorEnv
from podracer_core.hyperparameters import DQNHyperparameters

SERIES = 32
"""Minibatches drawn together at most."""


class DQN:
    """A learner and the environment it learns from.

    global_step: env steps trained so far, over all environments
    num_updates: gradient steps so far
    """

    algorithm = "dqn"

    def __init__(self, env: VectorEnv, hyperparameters: DQNHyperparameters, seed: int) -> None:
        self.env, self.hp = env, hyperparameters
        device = env.device
        env_seed, network_seed, noise_seed = (int(s) for s in np.random.SeedSequence(seed).generate_state(3))
        self.network = _network(env, hyperparameters)
        self.network.initialise(network_seed)
        self.optimizer = Adam(
            self.network.parameters,
            self.network.gradients,
            self.hp.learning_rate,
            weight_decay=self.hp.weight_decay,
            decays=self.network.weight_mask(),
        )
        self.generator = torch.Generator(device).manual_seed(noise_seed)
        self.normaliser = ObservationNormaliser(env.observation_dim, device) if self.hp.norm_obs else None
        self.buffer = _buffer(env, hyperparameters)
        self.frames = _frames(env, hyperparameters)
        self.tracker = EpisodeTracker(env.num_envs)
        self.global_step = self.num_updates = 0
        self._start_e = self.hp.start_e
        self._obs = self._begin(env.reset(env_seed))
        self._minibatch: Minibatch | None = None
        self._descend = self.descend

    def compile(self) -> bool:
        self._descend = partial(compiled(DQN.descend), self)
        return True

    # One iteration

    def iterate(self, remaining: float, env_steps_left: int | None = None) -> Episodes:
        """Takes `train_freq` steps in every environment, then learns from the replay buffer.

        remaining: of the round, 1 to 0, for annealing; env_steps_left: as in Learner. Returns the training episodes
        that ended. Raises DivergedError, EnvironmentCrashedError.
        """
        hp = self.hp
        steps = self.collect(steps_within(hp.train_freq, self.env.num_envs, env_steps_left))
        reward = torch.stack([step.reward for step in steps])
        ended = torch.stack([step.terminated | step.truncated for step in steps])
        updates_before, self.global_step = self._updates_due(), self.global_step + reward.numel()
        if self.global_step >= hp.learning_starts:
            self.optimizer.learning_rate = hp.learning_rate * (remaining if hp.anneal_lr else 1.0)
            self.learn(self._updates_due() - updates_before, 1 - (1 - hp.priority_beta) * remaining)
        episodes = self.tracker.add(reward, ended)
        check_finite(episodes, self.network.parameters, self.global_step, hp.learning_rate)
        return episodes

    def collect(self, count: int) -> list[Step]:
        """Steps every environment `count` times, at random with probability `epsilon`, else greedily."""
        env = self.env
        shape = (count, env.num_envs)
        drawn = torch.rand(shape, generator=self.generator, device=env.device)
        explore = (drawn < self.epsilon).unbind(0)
        chance = torch.randint(env.action_dim, shape, generator=self.generator, device=env.device).unbind(0)
        obs, seen, steps = self._obs, [], []
        for index in range(count):
            action = torch.where(explore[index], chance[index], self.network.best(self._see(obs)))
            step = env.step(action)
            self._remember(obs, action.unsqueeze(1), step)
            seen.append(obs)
            steps.append(step)
            obs = step.obs
        self._obs = obs
        if self.normaliser:
            self.normaliser.update(torch.cat(seen))
        return steps

    def learn(self, count: int, beta: float) -> None:
        """`count` updates. Minibatches that are drawn uniformly are drawn together, those by priority one by one."""
        hp, buffer = self.hp, self.buffer
        if isinstance(buffer, PrioritisedReplayBuffer):
            for _ in range(count):
                minibatch, rows, weight = buffer.draw(hp.batch_size, hp.gamma, hp.n_step, beta, self.generator)
                buffer.update(rows, self.update(self._seen(minibatch), weight))
            return
        for start in range(0, count, SERIES):
            parts = min(SERIES, count - start)
            drawn = buffer.sample(parts * hp.batch_size, hp.gamma, hp.n_step, self.generator)
            drawn = drawn if self.frames else self._seen(drawn)  # images are large: of one minibatch at a time
            for minibatch in drawn.parts(parts):
                self.update(self._seen(minibatch) if self.frames else minibatch)

    def update(self, minibatch: Minibatch, weight: Tensor | None = None) -> Tensor:
        """One gradient step, and the target network's where it is due. Returns as `compute_gradients` does."""
        hp = self.hp
        self._minibatch = minibatch
        error = self._descend(minibatch, weight)
        self.num_updates += 1
        if self.num_updates % hp.target_network_frequency == 0:
            self.network.update_target(hp.tau)
        return error

    def descend(self, minibatch: Minibatch, weight: Tensor | None = None) -> Tensor:
        """One step down the loss. Returns as `compute_gradients` does."""
        error = self.compute_gradients(minibatch, weight)
        self.optimizer.clip_gradients(self.hp.max_grad_norm)
        self.optimizer.step()
        return error

    def compute_gradients(self, minibatch: Minibatch, weight: Tensor | None = None) -> Tensor:
        """Overwrites the network's gradients. minibatch: as the network sees it; weight: [batch].

        Returns the errors [batch] of its values.
        """
        goal = self.goal(minibatch)
        values = self.network.forward_keep(minibatch.obs)
        action = minibatch.action.long()
        error = values.gather(1, action).squeeze(1).sub_(goal)
        slope = error.clamp(-1.0, 1.0).mul_(1.0 / len(error))
        if weight is not None:
            slope.mul_(weight)
        self.network.backward(torch.zeros_like(values).scatter_(1, action, slope.unsqueeze(1)))
        return error

    def goal(self, minibatch: Minibatch) -> Tensor:
        """[batch]: what the values should be. With `double` the network picks the action that the target values."""
        next_obs = minibatch.next_obs
        values = self.network.target(next_obs)
        if self.hp.double:
            next_value = values.gather(1, self.network.best(next_obs).unsqueeze(1)).squeeze(1)
        else:
            next_value = values.amax(1)
        return torch.addcmul(minibatch.reward, minibatch.discount, next_value)

    def act(self, obs: Tensor) -> Tensor:
        """The greedy policy: obs [batch, *observation], not normalised, to environment actions."""
        return self.network.best(self._see(obs))

    @property
    def epsilon(self) -> float:
        """How often actions are random now: from `start_e` down to `end_e` over `exploration_steps` env steps."""
        hp = self.hp
        share = min(1.0, self.global_step / hp.exploration_steps) if hp.exploration_steps else 1.0
        return self._start_e + share * (hp.end_e - self._start_e)

    def metrics(self) -> dict[str, float]:
        """Of the latest minibatch under the networks as they are now, nothing of it before learning has started.
        Waits for the device."""
        numbers = {"epsilon": self.epsilon, "learning_rate": self.optimizer.learning_rate}
        if self._minibatch is None:
            return numbers
        obs, action = self._minibatch.obs, self._minibatch.action.long()
        value = self.network.forward(obs).gather(1, action).squeeze(1)
        loss = torch.nn.functional.huber_loss(value, self.goal(self._minibatch))
        td_loss, q_values = torch.stack((loss, value.mean())).tolist()
        return {"td_loss": td_loss, "q_values": q_values} | numbers

    def _updates_due(self) -> int:
        return int(self.global_step * self.hp.utd_ratio)

    def _see(self, obs: Tensor) -> Tensor:
        return self.normaliser.apply(obs) if self.normaliser else obs

    def _seen(self, minibatch: Minibatch) -> Minibatch:
        """As the network sees it."""
        if self.frames:
            obs, next_obs = (self.frames.take(numbers) for numbers in (minibatch.obs, minibatch.next_obs))
            return minibatch._replace(obs=obs, next_obs=next_obs)
        return minibatch._replace(obs=self._see(minibatch.obs), next_obs=self._see(minibatch.next_obs))

    def _begin(self, obs: Tensor) -> Tensor:
        if self.frames:
            self.frames.start(obs)
        return obs

    def _remember(self, obs: Tensor, action: Tensor, step: Step) -> None:
        if self.hp.clip_reward:
            step = step._replace(reward=step.reward.sign())
        if self.frames:
            obs, step = self.frames.add(step)
        self.buffer.add(obs, action, step)

    # What is kept

    def tensors(self) -> dict[str, Tensor]:
        """All that playing needs, by the names it has in a checkpoint."""
        named = self.network.tensors()
        if self.normaliser:
            named |= {"obs.scale": self.normaliser.scale, "obs.shift": self.normaliser.shift}
        return named

    def learned(self) -> State:
        """What another agent can inherit: weights, the target's too, optimizer, normaliser, and how far it explored."""
        return {
            "algorithm": self.algorithm,
            "shape": self._shape(),
            "parameters": self.network.parameters.cpu().clone(),
            "target_parameters": self.network.target_parameters.cpu().clone(),
            "optimizer": self.optimizer.state(),
            "obs_statistics": self.normaliser.statistics.state() if self.normaliser else None,
            "epsilon": self.epsilon,
        }

    def inherit(self, learned: State) -> None:
        """Starts from another agent's `learned`; hyperparameters stay this agent's own, the optimizer's too.

        It explores no more than its parent did at the end. Its replay buffer fills anew. Raises CheckpointError
        where the networks differ.
        """
        check_fits(self.algorithm, self._shape(), learned)
        self.network.parameters.copy_(learned["parameters"])
        self.network.target_parameters.copy_(learned["target_parameters"])
        self.optimizer.load_state(learned["optimizer"])
        if self.normaliser:
            self.normaliser.load_state(learned["obs_statistics"])
        self._start_e = min(self.hp.start_e, max(self.hp.end_e, learned["epsilon"]))

    def state(self) -> State:
        """All that `load_state` needs to go on as if never interrupted, as far as replay_buffer.MAX_STATE_BYTES go."""
        kept = self.frames.affordable(self.buffer.size) if self.frames else self.buffer.size
        return self.learned() | {
            "global_step": self.global_step,
            "num_updates": self.num_updates,
            "start_e": self._start_e,
            "generator": self.generator.get_state(),
            "env": self.env.state(),
            "buffer": self.buffer.state(kept),
            "frames": self.frames.state(kept) if self.frames else None,
            **self.tracker.state(),
        }

    def load_state(self, state: State) -> None:
        """Goes on from `state()`. Raises CheckpointError where it is of another network or number of environments."""
        check_num_envs(len(state["running_return"]), self.env.num_envs)
        self.inherit(state)
        self.global_step, self.num_updates = state["global_step"], state["num_updates"]
        self._start_e = state["start_e"]
        self.generator.set_state(state["generator"])
        self.buffer.load_state(state["buffer"])
        if self.frames:
            self.frames.load_state(state["frames"])
        self._obs = self.env.load_state(state["env"])
        if "seed" in state["env"]:  # Gymnasium's own: their episodes cannot be saved, new ones have begun
            self._begin(self._obs)
            return
        self.tracker.load_state(state)

    def _shape(self) -> dict[str, Any]:
        return network_shape(self.env, self.hp) | {"dueling": self.hp.dueling}


def _network(env: VectorEnv, hp: DQNHyperparameters) -> QNetwork:
    return QNetwork(
        observation_dim=env.observation_dim,
        num_actions=env.action_dim,
        hidden_size=hp.hidden_size,
        num_layers=hp.num_layers,
        activation=hp.activation,
        dueling=hp.dueling,
        device=env.device,
        layer_norm=hp.layer_norm,
        image=env.image,
    )


def _buffer(env: VectorEnv, hp: DQNHyperparameters) -> ReplayBuffer:
    sizes = hp.buffer_size, env.num_envs, (env.frame_stack if env.image else env.observation_dim,), 1
    if hp.prioritised_replay:
        return PrioritisedReplayBuffer(*sizes, env.device, alpha=hp.priority_alpha)
    return ReplayBuffer(*sizes, env.device)


def _frames(env: VectorEnv, hp: DQNHyperparameters) -> FrameStore | None:
    if env.image is None:
        return None
    return FrameStore(env.image, env.frame_stack, hp.buffer_size // env.num_envs, env.num_envs, env.device)
