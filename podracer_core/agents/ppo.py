"""Proximal policy optimisation (Schulman et al. 2017, arXiv 1707.06347), clipped, with GAE.

One iteration, read downwards: rollout -> returns -> update. Two things save most of the time. The critic and
the old probabilities are computed for a whole rollout at once, since the networks stand still while it lasts.
And the losses themselves are computed only when somebody asks for `metrics`: training needs their gradients.
Nothing inside a rollout or an update waits for the device, except `target_kl`, once an epoch, where it is set.
"""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from podracer_core.agents.compilation import compiled
from podracer_core.agents.episodes import Episodes
from podracer_core.agents.learner import check_finite
from podracer_core.agents.on_policy import OnPolicy, annealed, normalise
from podracer_core.agents.policies import policy_loss
from podracer_core.agents.returns import explained_variance, gae
from podracer_core.agents.rollout_buffer import RolloutBuffer
from podracer_core.envs.vector_env import VectorEnv
from podracer_core.hyperparameters import PPOHyperparameters


class Batch(NamedTuple):
    """obs [..., *observation], action [...(, action_dim)], the others [...]; `value` is the old one."""

    obs: Tensor
    action: Tensor
    old_log_prob: Tensor
    advantage: Tensor
    returns: Tensor
    value: Tensor


class PPO(OnPolicy):
    """A learner and the environment it learns from. clip_coef: in effect"""

    algorithm = "ppo"
    hp: PPOHyperparameters

    def __init__(self, env: VectorEnv, hyperparameters: PPOHyperparameters, seed: int) -> None:
        super().__init__(env, hyperparameters, seed)
        self.clip_coef = hyperparameters.clip_coef
        self._batch: Batch | None = None
        self._whole_batch = hyperparameters.num_steps * env.num_envs
        self._descend = self.descend

    def compile(self) -> bool:
        if self.hp.anneal_clip_coef or self.hp.anneal_ent_coef:  # each value would be compiled anew
            return False
        self._descend = partial(compiled(PPO.descend), self)
        return True

    # One iteration

    def iterate(self, remaining: float, env_steps_left: int | None = None) -> Episodes:
        """Trains on one more rollout. `remaining`: of the round, 1 to 0, for annealing.

        env_steps_left: as in Learner. Returns the training episodes that ended.
        Raises DivergedError, EnvironmentCrashedError.
        """
        hp = self.hp
        self.clip_coef = annealed(hp.clip_coef, hp.anneal_clip_coef, remaining)
        self.ent_coef = annealed(hp.ent_coef, hp.anneal_ent_coef, remaining)
        buffer = self.rollout(env_steps_left)
        self._batch = self.returns(buffer)
        self.update(self._batch, annealed(hp.learning_rate, hp.anneal_lr, remaining))
        if self.normaliser:
            self.normaliser.update(self._raw_obs)
        self.global_step += buffer.reward.numel()
        episodes = self.tracker.add(buffer.reward, buffer.terminated | buffer.truncated)
        check_finite(episodes, self.network.parameters, self.global_step, hp.learning_rate)
        return episodes

    def returns(self, buffer: RolloutBuffer) -> Batch:
        """Old values and log probabilities, advantages and returns of a rollout, as one flat batch."""
        num_steps, num_envs = buffer.reward.shape
        values = self.network.value(buffer.features.flatten(0, 1)).view(num_steps + 1, num_envs)
        value, next_value = values[:-1], self._bootstrap(values[1:].clone(), buffer)
        reward = self._reward(buffer)
        advantage, returns = gae(
            reward, value, next_value, buffer.terminated, buffer.truncated, self.hp.gamma, self.hp.gae_lambda
        )
        obs, action = buffer.obs[:-1].flatten(0, 1), buffer.action.flatten(0, 1)
        old_log_prob = self.policy.log_prob(self.network.actor.forward(buffer.features[:-1].flatten(0, 1)), action)
        return Batch(obs, action, old_log_prob, advantage.flatten(), returns.flatten(), value.flatten())

    def update(self, batch: Batch, learning_rate: float) -> None:
        """Passes over the batch, `num_epochs` times or until the policy moved by `target_kl`."""
        self.optimizer.learning_rate = learning_rate
        # A shorter rollout is not worth compiling for.
        descend = self._descend if len(batch.obs) == self._whole_batch else self.descend
        for minibatches in self._epochs(batch):
            for minibatch in minibatches:
                log_ratio = descend(minibatch)
            if self.hp.target_kl and float(approx_kl(log_ratio)) > self.hp.target_kl:
                return

    def descend(self, minibatch: Batch) -> Tensor:
        """One step down the loss. Returns as `compute_gradients`."""
        log_ratio = self.compute_gradients(minibatch)
        self.optimizer.clip_gradients(self.hp.max_grad_norm)
        self.optimizer.step()
        return log_ratio

    def compute_gradients(self, minibatch: Batch) -> Tensor:
        """Overwrites the network's gradients. Returns log ratios [batch] of new to old probability."""
        hp, actor, critic = self.hp, self.network.actor, self.network.critic
        obs, action, old_log_prob, advantage, returns, old_value = minibatch
        features = self.network.encode_keep(obs)
        out = actor.forward_keep(features)
        gradient, log_ratio = self.policy.gradient(out, action, old_log_prob, advantage, self.clip_coef, self.ent_coef)
        by_actor = actor.backward(gradient)
        value = critic.forward_keep(features).squeeze(1)
        clip = self.clip_coef if hp.clip_vloss else None
        by_critic = critic.backward(value_gradient(value, returns, old_value, clip).mul_(hp.vf_coef).unsqueeze(1))
        self.network.backward_encoder(by_actor, by_critic)
        return log_ratio

    def metrics(self) -> dict[str, float]:
        """Losses of the latest batch under the networks as they are now. Waits for the device."""
        assert self._batch is not None
        obs, action, old_log_prob, advantage, returns, _ = self._batch
        features = self.network.encode(obs)
        out, value = self.network.actor.forward(features), self.network.value(features)
        log_ratio = self.policy.log_prob(out, action) - old_log_prob
        advantage = normalise(advantage) if self.hp.norm_adv else advantage
        values = {
            "policy_loss": policy_loss(log_ratio, advantage, self.clip_coef),
            "value_loss": 0.5 * (value - returns).square().mean(),
            "entropy": self.policy.entropy(out).mean(),
            "approx_kl": approx_kl(log_ratio),
            "clip_fraction": ((log_ratio.exp() - 1).abs() > self.clip_coef).float().mean(),
            "explained_variance": explained_variance(value, returns),
        }
        numbers = dict(zip(values, torch.stack(list(values.values())).tolist(), strict=True))
        return numbers | {"learning_rate": self.optimizer.learning_rate}

    # Parts of an iteration

    def _epochs(self, batch: Batch) -> Iterator[list[Batch]]:
        """Each epoch's minibatches; samples that do not fill the last one sit out one epoch, drawn by lot.

        A shorter rollout makes fewer of them, no smaller.
        """
        count = max(1, self.hp.num_minibatches * len(batch.obs) // self._whole_batch)
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
