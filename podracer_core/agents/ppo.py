"""Proximal policy optimisation (Schulman et al. 2017, arXiv 1707.06347), clipped, with GAE.

One iteration, read downwards: rollout -> returns -> update. Two things save most of the time. The critic and
the old probabilities are computed for a whole rollout at once, since the networks stand still while it lasts.
And the losses themselves are computed only when somebody asks for `metrics`: training needs their gradients.
Nothing inside a rollout or an update waits for the device, except `target_kl`, once an epoch, where it is set.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from podracer_core.agents.adam import Adam
from podracer_core.agents.episodes import Episodes, EpisodeTracker
from podracer_core.agents.networks import ActorCritic
from podracer_core.agents.normaliser import ObservationNormaliser, RewardScaler
from podracer_core.agents.policies import Categorical, Gaussian, Policy, policy_loss
from podracer_core.agents.returns import gae
from podracer_core.agents.rollout_buffer import RolloutBuffer
from podracer_core.envs.vector_env import VectorEnv
from podracer_core.errors import CheckpointError, DivergedError
from podracer_core.hyperparameters import PPOHyperparameters

State = dict[str, Any]


class Batch(NamedTuple):
    """obs [..., observation_dim], action [...(, action_dim)], the others [...]; `value` is the old one."""

    obs: Tensor
    action: Tensor
    old_log_prob: Tensor
    advantage: Tensor
    returns: Tensor
    value: Tensor


class PPO:
    """A learner and the environment it learns from.

    global_step: env steps trained so far, over all environments
    """

    algorithm = "ppo"

    def __init__(self, env: VectorEnv, hyperparameters: PPOHyperparameters, seed: int) -> None:
        self.env, self.hp = env, hyperparameters
        device = env.device
        env_seed, network_seed, noise_seed = (int(s) for s in np.random.SeedSequence(seed).generate_state(3))
        self.network = _network(env, hyperparameters)
        self.network.initialise(network_seed)
        self.policy = _policy(env, self.network)
        self.optimizer = Adam(self.network.parameters, self.network.gradients, self.hp.learning_rate)
        self.generator = torch.Generator(device).manual_seed(noise_seed)
        self.normaliser = ObservationNormaliser(env.observation_dim, device) if self.hp.norm_obs else None
        self.scaler = RewardScaler(env.num_envs, self.hp.gamma, device) if self.hp.norm_reward else None
        self.tracker = EpisodeTracker(env.num_envs)
        self.global_step = 0
        self._obs = env.reset(env_seed)
        example = self.policy.mode(torch.zeros(env.num_envs, env.action_dim, device=device))
        self._buffer = RolloutBuffer.allocate(self.hp.num_steps, env.num_envs, env.observation_dim, example, device)
        self._batch: Batch | None = None

    # One iteration

    def iterate(self, remaining: float) -> Episodes:
        """Trains on one more rollout. `remaining`: of the round, 1 to 0, for learning-rate annealing.

        Returns the training episodes that ended. Raises DivergedError, EnvironmentCrashedError.
        """
        buffer = self.rollout()
        self._batch = self.returns(buffer)
        self.update(self._batch, self.hp.learning_rate * (remaining if self.hp.anneal_lr else 1.0))
        if self.normaliser:
            self.normaliser.update(self._raw_obs)
        self.global_step += buffer.reward.numel()
        episodes = self.tracker.add(buffer.reward, buffer.terminated | buffer.truncated)
        self._check_finite(episodes)
        return episodes

    def rollout(self) -> RolloutBuffer:
        """Steps every environment `num_steps` times with actions drawn from the policy."""
        buffer, actor, policy, env = self._buffer, self.network.actor, self.policy, self.env
        buffer.clear()
        raw, obs = [], self._obs
        for noise in policy.noise(self.hp.num_steps, env.num_envs, self.generator).unbind(0):
            seen = self._see(obs)
            action = policy.sample(actor.forward(seen), noise)
            step = env.step(policy.to_env(action))
            buffer.add(seen, action, step)
            raw.append(obs)
            obs = step.obs
        buffer.finish(self._see(obs))
        self._obs = obs
        if self.normaliser:
            self._raw_obs = torch.cat(raw)
        return buffer

    def returns(self, buffer: RolloutBuffer) -> Batch:
        """Old values and log probabilities, advantages and returns of a rollout, as one flat batch."""
        num_steps, num_envs = buffer.reward.shape
        values = self.network.value(buffer.obs.flatten(0, 1)).view(num_steps + 1, num_envs)
        value, next_value = values[:-1], self._bootstrap(values[1:].clone(), buffer)
        reward = buffer.reward
        if self.scaler:
            reward = self.scaler.apply(reward, buffer.terminated | buffer.truncated)
        advantage, returns = gae(
            reward, value, next_value, buffer.terminated, buffer.truncated, self.hp.gamma, self.hp.gae_lambda
        )
        obs, action = buffer.obs[:-1].flatten(0, 1), buffer.action.flatten(0, 1)
        old_log_prob = self.policy.log_prob(self.network.actor.forward(obs), action)
        return Batch(obs, action, old_log_prob, advantage.flatten(), returns.flatten(), value.flatten())

    def update(self, batch: Batch, learning_rate: float) -> None:
        """Passes over the batch, `num_epochs` times or until the policy moved by `target_kl`."""
        self.optimizer.learning_rate = learning_rate
        for minibatches in self._epochs(batch):
            for minibatch in minibatches:
                log_ratio = self.compute_gradients(minibatch)
                self.optimizer.clip_gradients(self.hp.max_grad_norm)
                self.optimizer.step()
            if self.hp.target_kl and float(approx_kl(log_ratio)) > self.hp.target_kl:
                return

    def compute_gradients(self, minibatch: Batch) -> Tensor:
        """Overwrites the network's gradients. Returns log ratios [batch] of new to old probability."""
        hp, actor, critic = self.hp, self.network.actor, self.network.critic
        obs, action, old_log_prob, advantage, returns, old_value = minibatch
        out = actor.forward_keep(obs)
        gradient, log_ratio = self.policy.gradient(out, action, old_log_prob, advantage, hp.clip_coef, hp.ent_coef)
        actor.backward(gradient)
        value = critic.forward_keep(obs).squeeze(1)
        clip = hp.clip_coef if hp.clip_vloss else None
        critic.backward(value_gradient(value, returns, old_value, clip).mul_(hp.vf_coef).unsqueeze(1))
        return log_ratio

    def act(self, obs: Tensor) -> Tensor:
        """The deterministic policy: obs [batch, observation_dim], not normalised, to environment actions."""
        return self.policy.to_env(self.policy.mode(self.network.actor.forward(self._see(obs))))

    def metrics(self) -> dict[str, float]:
        """Losses of the latest batch under the networks as they are now. Waits for the device."""
        assert self._batch is not None
        obs, action, old_log_prob, advantage, returns, _ = self._batch
        out, value = self.network.actor.forward(obs), self.network.value(obs)
        log_ratio = self.policy.log_prob(out, action) - old_log_prob
        advantage = normalise(advantage) if self.hp.norm_adv else advantage
        values = {
            "policy_loss": policy_loss(log_ratio, advantage, self.hp.clip_coef),
            "value_loss": 0.5 * (value - returns).square().mean(),
            "entropy": self.policy.entropy(out).mean(),
            "approx_kl": approx_kl(log_ratio),
            "clip_fraction": ((log_ratio.exp() - 1).abs() > self.hp.clip_coef).float().mean(),
            "explained_variance": 1 - (returns - value).var() / (returns.var() + 1e-8),
        }
        numbers = dict(zip(values, torch.stack(list(values.values())).tolist(), strict=True))
        return numbers | {"learning_rate": self.optimizer.learning_rate}

    # Parts of an iteration

    def _see(self, obs: Tensor) -> Tensor:
        return self.normaliser.apply(obs) if self.normaliser else obs

    def _bootstrap(self, next_value: Tensor, buffer: RolloutBuffer) -> Tensor:
        """`next_value` with the true last observation's value wherever an episode was truncated."""
        final = buffer.final_obs
        if final and next_value.device.type == "cpu":  # to look costs nothing there
            truncated = buffer.truncated.any(1).tolist()
            final = [(index, obs) for index, obs in final if truncated[index]]
        if final:
            steps, final_obs = zip(*final, strict=True)
            final_values = self.network.value(self._see(torch.cat(final_obs))).view(len(steps), -1)
            index = torch.tensor(steps).to(next_value.device, non_blocking=True)
            ended_value = torch.where(buffer.truncated[index], final_values, next_value[index])
            next_value[index] = ended_value
        return next_value

    def _epochs(self, batch: Batch) -> Iterator[list[Batch]]:
        """Each epoch's minibatches; samples that do not fill the last one sit out one epoch, drawn by lot."""
        count = self.hp.num_minibatches
        if count == 1:
            whole = [self._normalised(batch)]
            for _ in range(self.hp.num_epochs):
                yield whole
            return
        size = len(batch.obs) // count
        for _ in range(self.hp.num_epochs):
            order = torch.randperm(len(batch.obs), generator=self.generator, device=batch.obs.device)
            order = order[: count * size]
            parts = [column.index_select(0, order).view(count, size, *column.shape[1:]) for column in batch]
            shuffled = self._normalised(Batch(*parts))
            yield [Batch(*columns) for columns in zip(*(column.unbind(0) for column in shuffled), strict=True)]

    def _normalised(self, batch: Batch) -> Batch:
        return batch._replace(advantage=normalise(batch.advantage)) if self.hp.norm_adv else batch

    def _check_finite(self, episodes: Episodes) -> None:
        if not np.isfinite(episodes.returns).all():
            raise DivergedError(f"A return became {episodes.returns[~np.isfinite(episodes.returns)][0]}.")
        if not bool(torch.isfinite(self.network.parameters.sum())):
            raise DivergedError(
                f"The networks' weights became NaN or infinite after {self.global_step:,} env steps "
                f"(learning_rate {self.hp.learning_rate:g}); a lower learning rate may hold."
            )

    # What is kept

    def tensors(self) -> dict[str, Tensor]:
        """All that playing needs, by the names it has in a checkpoint."""
        named = {f"actor.{name}": tensor for name, tensor in self.network.actor.tensors().items()}
        named |= {f"critic.{name}": tensor for name, tensor in self.network.critic.tensors().items()}
        if self.network.log_std is not None:
            named["log_std"] = self.network.log_std
        if self.normaliser:
            named |= {"obs.scale": self.normaliser.scale, "obs.shift": self.normaliser.shift}
        return named

    def learned(self) -> State:
        """What another agent can inherit: weights, optimizer and normalisers, on the CPU."""
        return {
            "algorithm": self.algorithm,
            "shape": _shape(self.env, self.hp),
            "parameters": self.network.parameters.cpu().clone(),
            "optimizer": self.optimizer.state(),
            "obs_statistics": self.normaliser.statistics.state() if self.normaliser else None,
            "reward_statistics": self.scaler.statistics.state() if self.scaler else None,
        }

    def inherit(self, learned: State) -> None:
        """Starts from another agent's `learned`; hyperparameters stay this agent's own, the optimizer's too.

        Raises CheckpointError where the networks differ.
        """
        mine, theirs = _shape(self.env, self.hp), learned["shape"]
        if learned["algorithm"] != self.algorithm or mine != theirs:
            differing = ", ".join(
                f"{name} {theirs.get(name)!r} instead of {value!r}"
                for name, value in mine.items()
                if theirs.get(name) != value
            )
            raise CheckpointError(f"The inherited {learned['algorithm']} state does not fit this agent: {differing}.")
        self.network.parameters.copy_(learned["parameters"])
        self.optimizer.load_state(learned["optimizer"])
        if self.normaliser:
            self.normaliser.load_state(learned["obs_statistics"])
        if self.scaler and learned["reward_statistics"]:
            self.scaler.statistics.load_state(learned["reward_statistics"])

    def state(self) -> State:
        """All that `load_state` needs to go on as if never interrupted."""
        return self.learned() | {
            "global_step": self.global_step,
            "generator": self.generator.get_state(),
            "env": self.env.state(),
            "reward_sums": self.scaler.sums.cpu().clone() if self.scaler else None,
            "running_return": torch.from_numpy(self.tracker.running_return.copy()),
            "running_length": torch.from_numpy(self.tracker.running_length.copy()),
        }

    def load_state(self, state: State) -> None:
        """Goes on from `state()`. Raises CheckpointError where it is of another network or number of environments."""
        if len(state["running_return"]) != self.env.num_envs:
            raise CheckpointError(
                f"The saved state has {len(state['running_return'])} environments, the plan {self.env.num_envs}."
            )
        self.inherit(state)
        self.global_step = state["global_step"]
        self.generator.set_state(state["generator"])
        self._obs = self.env.load_state(state["env"])
        if "seed" in state["env"]:  # Gymnasium's own: their episodes cannot be saved, new ones have begun
            return
        if self.scaler and state["reward_sums"] is not None:
            self.scaler.sums.copy_(state["reward_sums"])
        self.tracker.running_return = state["running_return"].numpy().copy()
        self.tracker.running_length = state["running_length"].numpy().copy()


def value_gradient(value: Tensor, returns: Tensor, old_value: Tensor, clip: float | None) -> Tensor:
    """[batch]: of the mean of half the squared error by each value; with `clip` of the clipped value loss."""
    error = value - returns
    if clip is not None:
        clipped_error = old_value + (value - old_value).clamp_(-clip, clip) - returns
        error.mul_(error.abs() >= clipped_error.abs())
    return error.mul_(1.0 / len(value))


def approx_kl(log_ratio: Tensor) -> Tensor:
    """Schulman's low-variance estimate of KL(old, new), http://joschu.net/blog/kl-approx.html."""
    return (log_ratio.exp() - 1 - log_ratio).mean()


def normalise(advantage: Tensor) -> Tensor:
    """[..., batch] to mean 0 and deviation 1 along the last axis."""
    std, mean = torch.std_mean(advantage, -1, keepdim=True)
    return (advantage - mean).div_(std.add_(1e-8))


def _network(env: VectorEnv, hp: PPOHyperparameters) -> ActorCritic:
    return ActorCritic(
        observation_dim=env.observation_dim,
        action_dim=env.action_dim,
        continuous=env.action_kind == "continuous",
        hidden_size=hp.hidden_size,
        num_layers=hp.num_layers,
        activation=hp.activation,
        device=env.device,
    )


def _policy(env: VectorEnv, network: ActorCritic) -> Policy:
    if network.log_std is None or network.log_std_gradient is None:
        return Categorical(env.action_dim, env.device)
    assert env.action_low is not None
    assert env.action_high is not None
    return Gaussian(network.log_std, network.log_std_gradient, env.action_low, env.action_high)


def _shape(env: VectorEnv, hp: PPOHyperparameters) -> dict[str, Any]:
    """What must be equal for one agent's tensors to fit another."""
    return {
        "observation_dim": env.observation_dim,
        "action_kind": env.action_kind,
        "action_dim": env.action_dim,
        "hidden_size": hp.hidden_size,
        "num_layers": hp.num_layers,
        "activation": hp.activation,
        "norm_obs": hp.norm_obs,
    }
