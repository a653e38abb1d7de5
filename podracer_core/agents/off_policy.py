"""What learners from a replay buffer share: collecting steps, drawing minibatches, and what is kept of an agent.

An iteration is some cycles of: step every environment once, then update `utd_ratio` times for each of these env
steps. An agent from scratch acts at random for its first `learning_starts` env steps; an heir as it has learned to.
"""

from abc import ABC, abstractmethod
from functools import partial

import numpy as np
import torch
from torch import Tensor

from podracer_core.agents.adam import Adam
from podracer_core.agents.compilation import compiled
from podracer_core.agents.critics import Critics
from podracer_core.agents.episodes import Episodes, EpisodeTracker
from podracer_core.agents.exploration import Actions, BoxActions, DiscreteActions
from podracer_core.agents.learner import (
    State,
    check_finite,
    check_fits,
    check_num_envs,
    network_shape,
    step_env,
    steps_within,
)
from podracer_core.agents.networks import Mlp, mlp_sizes, parameter_count
from podracer_core.agents.normaliser import ObservationNormaliser
from podracer_core.agents.precision import matmul_precision
from podracer_core.agents.replay_buffer import Minibatch, ReplayBuffer
from podracer_core.envs.vector_env import VectorEnv
from podracer_core.hyperparameters import OffPolicyHyperparameters

SERIES = 32
"""Minibatches drawn together at most."""

UPDATES_PER_ITERATION, CYCLES_PER_ITERATION = 32, 64
"""At most so many, so that a pod hears soon that it should pause, and looks up seldom enough."""


class OffPolicy(ABC):
    """A learner and the environment it learns from. Actions inside are as `actions` has them.

    global_step: env steps trained so far, over all environments
    networks: by name, flat vectors of everything that is learned, target networks included
    optimizers: by name
    noise_dim: standard normal numbers that `update` takes for each sample of a minibatch
    """

    algorithm: str
    networks: dict[str, Tensor]
    optimizers: dict[str, Adam]
    noise_dim: int

    def __init__(self, env: VectorEnv, hyperparameters: OffPolicyHyperparameters, seed: int) -> None:
        self.env, self.device = env, env.device
        self._hp = hyperparameters
        kind = DiscreteActions if env.action_kind == "discrete" else BoxActions
        self.actions: Actions = kind(env, hyperparameters.noise_correlation)
        env_seed, network_seed, noise_seed = (int(s) for s in np.random.SeedSequence(seed).generate_state(3))
        self.build(torch.Generator().manual_seed(network_seed))
        self.generator = torch.Generator(self.device).manual_seed(noise_seed)
        self.normaliser = ObservationNormaliser(env.observation_dim, self.device) if hyperparameters.norm_obs else None
        dims = (env.observation_dim,), self.actions.columns
        self.buffer = ReplayBuffer(hyperparameters.buffer_size, env.num_envs, *dims, self.device)
        self.tracker = EpisodeTracker(env.num_envs)
        self.global_step = 0
        self._random_steps = hyperparameters.learning_starts
        self._obs = env.reset(env_seed)
        self._latest: tuple[Minibatch, Tensor] | None = None
        self._update = self.update

    def compile(self) -> bool:
        self._update = partial(compiled(type(self).update), self)
        return True

    def make_networks(self, generator: torch.Generator, *, actor_outputs: int, num_critics: int) -> None:
        """The actor, the critics and their targets, each with its optimizer, into `networks` and `optimizers`.

        Critics value an action that they are given next to the observation, or all of them where those are discrete.
        """
        hp, env, device = self._hp, self.env, self.device
        sizes = mlp_sizes(env.observation_dim, hp.hidden_size, hp.num_layers, actor_outputs)
        parameters, gradients = (torch.zeros(parameter_count(sizes, hp.layer_norm), device=device) for _ in range(2))
        self.actor = Mlp(sizes, hp.activation, parameters, gradients, layer_norm=hp.layer_norm)
        self.actor.initialise(0.01, generator)
        given, valued = (0, env.action_dim) if env.action_kind == "discrete" else (env.action_dim, 1)
        critic_sizes = mlp_sizes(env.observation_dim + given, hp.hidden_size, hp.num_layers, valued)
        self.critics, self.targets = (
            Critics(num_critics, critic_sizes, hp.activation, device, layer_norm=hp.layer_norm) for _ in range(2)
        )
        self.critics.initialise(generator)
        self.targets.parameters.copy_(self.critics.parameters)
        self.networks = {
            "actor": parameters,
            "critics": self.critics.parameters,
            "targets": self.targets.parameters,
        }
        self.optimizers = {
            "actor": self.make_optimizer(parameters, gradients, self.actor.weight_mask()),
            "critics": self.make_optimizer(self.critics.parameters, self.critics.gradients, self.critics.weight_mask()),
        }

    def make_target_actor(self) -> Mlp:
        """A copy of the actor, "target_actor" among `networks`."""
        hp, parameters = self._hp, self.networks["actor"].clone()
        self.networks["target_actor"] = parameters
        unused = torch.zeros_like(parameters)
        return Mlp(self.actor.sizes, hp.activation, parameters, unused, layer_norm=hp.layer_norm)

    def make_optimizer(self, parameters: Tensor, gradients: Tensor, decays: Tensor | None = None) -> Adam:
        """decays: as in Adam; nothing decays without."""
        weight_decay = 0.0 if decays is None else self._hp.weight_decay
        return Adam(parameters, gradients, self._hp.learning_rate, eps=1e-8, weight_decay=weight_decay, decays=decays)

    # What an algorithm brings

    @abstractmethod
    def build(self, generator: torch.Generator) -> None:
        """Makes the networks, their weights drawn from `generator`, and sets `networks` and `optimizers`."""

    @abstractmethod
    def explore(self, obs: Tensor, noise: Tensor) -> Tensor:
        """obs: as the networks see it; noise: [num_envs, action_dim], of `actions`. Returns [num_envs, columns]."""

    @abstractmethod
    def update(self, batch: Minibatch, noise: Tensor) -> None:
        """One gradient step of every network. noise: [batch, noise_dim], standard normal."""

    @abstractmethod
    def play(self, obs: Tensor) -> Tensor:
        """The deterministic policy, [batch, columns]; obs as the networks see it."""

    @abstractmethod
    def losses(self, batch: Minibatch, noise: Tensor) -> dict[str, Tensor]:
        """Single numbers, of the networks as they are now."""

    @abstractmethod
    def tensors(self) -> dict[str, Tensor]:
        """All that playing needs, by the names it has in a checkpoint."""

    # One iteration

    def iterate(self, remaining: float, env_steps_left: int | None = None) -> Episodes:
        """Some cycles of steps and updates. Returns the training episodes that ended.

        remaining, env_steps_left: as in Learner. Raises DivergedError, EnvironmentCrashedError.
        """
        hp, num_envs = self._hp, self.env.num_envs
        for optimizer in self.optimizers.values():
            optimizer.learning_rate = hp.learning_rate * (remaining if hp.anneal_lr else 1.0)
        cycles = min(max(1, int(UPDATES_PER_ITERATION / (hp.utd_ratio * num_envs))), CYCLES_PER_ITERATION)
        cycles = steps_within(cycles, num_envs, env_steps_left)
        rewards, ended, seen = [], [], []
        for noise in self.actions.noise(cycles, self.generator):
            seen.append(self._obs)
            reward, end = self._step(noise)
            rewards.append(reward)
            ended.append(end)
            if self.global_step >= hp.learning_starts:
                due = int(self.global_step * hp.utd_ratio) - int((self.global_step - num_envs) * hp.utd_ratio)
                self._updates(due)
        if self.normaliser:
            self.normaliser.update(torch.cat(seen))
        episodes = self.tracker.add(torch.stack(rewards), torch.stack(ended))
        weights = torch.stack([network.sum() for network in self.networks.values()])
        check_finite(episodes, weights, self.global_step, hp.learning_rate)
        return episodes

    def _step(self, noise: Tensor) -> tuple[Tensor, Tensor]:
        """One step of every environment into the buffer. Returns rewards and which ended, [num_envs] each."""
        if self.global_step < self._random_steps:
            action = self.actions.random(noise)
        else:
            action = self.explore(self.see(self._obs), noise)
        step = step_env(self.env, self.actions.to_env(action))
        self.buffer.add(self._obs, action, step)
        self._obs = step.obs
        self.global_step += self.env.num_envs
        return step.reward, step.terminated | step.truncated

    def _updates(self, count: int) -> None:
        for start in range(0, count, SERIES):
            self._series(min(SERIES, count - start))

    def _series(self, count: int) -> None:
        """`count` updates from minibatches that are drawn together."""
        hp = self._hp
        drawn = self.buffer.sample(count * hp.batch_size, hp.gamma, hp.n_step, self.generator)
        drawn = drawn._replace(obs=self.see(drawn.obs), next_obs=self.see(drawn.next_obs))
        shape = (count, hp.batch_size, self.noise_dim)
        noises = torch.randn(shape, generator=self.generator, device=self.device)
        with matmul_precision(hp.float32_matmul_precision, self.device):
            for batch, noise in zip(drawn.parts(count), noises, strict=True):
                self._latest = batch, noise
                self._update(batch, noise)

    def see(self, obs: Tensor) -> Tensor:
        return self.normaliser.apply(obs) if self.normaliser else obs

    def values(self, critics: Critics, obs: Tensor, action: Tensor) -> Tensor:
        """What each of `critics` says of continuous actions: [count, batch]."""
        return critics.forward(torch.cat((obs, action), 1)).squeeze(2)

    def update_critics(self, batch: Minibatch, target: Tensor) -> None:
        """One step down half the squared error from `target` [batch], summed over the critics."""
        values = self.critics.forward_keep(torch.cat((batch.obs, batch.action), 1))
        self.critics.backward(values.sub_(target.unsqueeze(1)).mul_(1.0 / len(target)))
        self.clip_and_step(self.optimizers["critics"])

    def update_deterministic_actor(self, obs: Tensor, critics: Critics) -> None:
        """One step up the mean value of what the actor does at `obs`, by the only one of `critics`."""
        action = self.actor.forward_keep(obs).tanh_()
        critics.forward_keep(torch.cat((obs, action), 1))
        upwards = torch.full((1, len(obs), 1), -1.0 / len(obs), device=obs.device)
        gradient = critics.input_gradient(upwards, obs.shape[1])
        self.actor.backward(torch.ops.aten.tanh_backward.default(gradient, action))
        self.clip_and_step(self.optimizers["actor"])

    def clip_and_step(self, optimizer: Adam) -> None:
        if self._hp.max_grad_norm:
            optimizer.clip_gradients(self._hp.max_grad_norm)
        optimizer.step()

    def act(self, obs: Tensor) -> Tensor:
        """The deterministic policy: obs [batch, observation_dim], not normalised, to environment actions."""
        return self.actions.to_env(self.play(self.see(obs)))

    def metrics(self) -> dict[str, float]:
        """Losses of the latest minibatch under the networks as they are now; none before the first update."""
        if self._latest is None:
            return {}
        values = self.losses(*self._latest)
        numbers = dict(zip(values, torch.stack([value.reshape(()) for value in values.values()]).tolist(), strict=True))
        return numbers | {"learning_rate": self.optimizers["critics"].learning_rate}

    # What is kept

    def seen_tensors(self) -> dict[str, Tensor]:
        """The observation normaliser's, by their names in a checkpoint."""
        if not self.normaliser:
            return {}
        return {"obs.scale": self.normaliser.scale, "obs.shift": self.normaliser.shift}

    def learned(self) -> State:
        """What another agent can inherit, on the CPU: all networks, optimizers and the normaliser, but no experience.

        A parent's replay buffer stays behind: it is large, and its rewards may be of another discount or number of
        steps ago; the heir collects `learning_starts` env steps of its own, acting as its parent would.
        """
        return {
            "algorithm": self.algorithm,
            "shape": network_shape(self.env, self._hp) | self.extra_shape(),
            "networks": {name: network.cpu().clone() for name, network in self.networks.items()},
            "optimizers": {name: optimizer.state() for name, optimizer in self.optimizers.items()},
            "obs_statistics": self.normaliser.statistics.state() if self.normaliser else None,
        }

    def extra_shape(self) -> dict[str, int]:
        """What must be equal beyond `network_shape`."""
        return {}

    def inherit(self, learned: State) -> None:
        """Starts from another agent's `learned`; hyperparameters stay this agent's own, the optimizers' too.

        Raises CheckpointError where the networks differ.
        """
        check_fits(self.algorithm, network_shape(self.env, self._hp) | self.extra_shape(), learned)
        for name, network in self.networks.items():
            network.copy_(learned["networks"][name])
        for name, optimizer in self.optimizers.items():
            optimizer.load_state(learned["optimizers"][name])
        if self.normaliser:
            self.normaliser.load_state(learned["obs_statistics"])
        self._random_steps = 0

    def state(self) -> State:
        """All that `load_state` needs to go on as if never interrupted, as far as replay_buffer.MAX_STATE_BYTES go."""
        return self.learned() | {
            "global_step": self.global_step,
            "random_steps": self._random_steps,
            "generator": self.generator.get_state(),
            "env": self.env.state(),
            "actions": self.actions.state(),
            "buffer": self.buffer.state(),
            **self.tracker.state(),
        }

    def load_state(self, state: State) -> None:
        """Goes on from `state()`. Raises CheckpointError where it is of another network or number of environments."""
        check_num_envs(len(state["running_return"]), self.env.num_envs)
        self.inherit(state)
        self.global_step, self._random_steps = state["global_step"], state["random_steps"]
        self.generator.set_state(state["generator"])
        self.actions.load_state(state["actions"])
        self.buffer.load_state(state["buffer"])
        self._obs = self.env.load_state(state["env"])
        if "seed" in state["env"]:  # Gymnasium's own: their episodes cannot be saved, new ones have begun
            return
        self.tracker.load_state(state)


def numbered(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {f"{prefix}.{name}": tensor for name, tensor in tensors.items()}
