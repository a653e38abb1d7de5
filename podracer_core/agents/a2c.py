"""Advantage actor-critic (Mnih et al. 2016, arXiv 1602.01783), the synchronous form: all environments step together.

One iteration, read downwards: rollout -> returns -> one update from the whole rollout. The critic sees the rollout
once: its values serve the returns, and its backward pass starts from what it kept then.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from podracer_core.agents.adam import Adam
from podracer_core.agents.episodes import Episodes
from podracer_core.agents.learner import check_finite
from podracer_core.agents.on_policy import OnPolicy, annealed, normalise
from podracer_core.agents.returns import explained_variance, gae
from podracer_core.agents.rmsprop import RMSprop
from podracer_core.agents.rollout_buffer import RolloutBuffer
from podracer_core.envs.vector_env import VectorEnv
from podracer_core.hyperparameters import A2CHyperparameters


class Batch(NamedTuple):
    """obs [batch, *observation], action [batch(, action_dim)], the others [batch]."""

    obs: Tensor
    action: Tensor
    advantage: Tensor
    returns: Tensor


class A2C(OnPolicy):
    """A learner and the environment it learns from."""

    algorithm = "a2c"
    hp: A2CHyperparameters

    def __init__(self, env: VectorEnv, hyperparameters: A2CHyperparameters, seed: int) -> None:
        super().__init__(env, hyperparameters, seed)
        self.optimizer = self.make_optimizer({"adam": Adam, "rmsprop": RMSprop}[hyperparameters.optimizer])
        self._batch: Batch | None = None

    def compile(self) -> bool:
        """There is one update a rollout, in which nothing repeats."""
        return False

    # One iteration

    def iterate(self, remaining: float, env_steps_left: int | None = None) -> Episodes:
        """Trains on one more rollout. `remaining`: of the round, 1 to 0, for annealing.

        env_steps_left: as in Learner. Returns the training episodes that ended.
        Raises DivergedError, EnvironmentCrashedError.
        """
        hp = self.hp
        self.ent_coef = annealed(hp.ent_coef, hp.anneal_ent_coef, remaining)
        buffer = self.rollout(env_steps_left)
        self._batch = self.compute_gradients(buffer)
        self.optimizer.learning_rate = annealed(hp.learning_rate, hp.anneal_lr, remaining)
        self.optimizer.clip_gradients(hp.max_grad_norm)
        self.optimizer.step()
        if self.normaliser:
            self.normaliser.update(self._raw_obs)
        self.global_step += buffer.reward.numel()
        episodes = self.tracker.add(buffer.reward, buffer.terminated | buffer.truncated)
        check_finite(episodes, self.network.parameters, self.global_step, hp.learning_rate)
        return episodes

    def compute_gradients(self, buffer: RolloutBuffer) -> Batch:
        """Overwrites the network's gradients. Returns what they were computed from."""
        hp, actor, critic = self.hp, self.network.actor, self.network.critic
        features = self.network.encode_keep(buffer.obs.flatten(0, 1))
        values = critic.forward_keep(features).view(len(buffer.obs), -1)
        batch = self.returns(buffer, values)
        error = torch.zeros_like(values)  # nothing is asked of the value of what follows the last step
        error[:-1] = (values[:-1] - batch.returns.view_as(buffer.reward)).mul_(hp.vf_coef / len(batch.returns))
        by_critic = critic.backward(error.view(-1, 1))
        out = actor.forward_keep(features[: len(batch.obs)])
        # The gradient of PPO's loss where the policy has not moved yet is the policy gradient.
        log_prob = self.policy.log_prob(out, batch.action)
        gradient, _ = self.policy.gradient(out, batch.action, log_prob, batch.advantage, 1.0, self.ent_coef)
        self.network.backward_encoder(actor.backward(gradient), by_critic)
        return batch

    def returns(self, buffer: RolloutBuffer, values: Tensor) -> Batch:
        """Advantages and returns of a rollout. values: [num_steps + 1, num_envs], the critic's of `buffer.obs`."""
        hp, reward = self.hp, self._reward(buffer)
        next_value = self._bootstrap(values[1:].clone(), buffer)
        advantage, returns = gae(
            reward, values[:-1], next_value, buffer.terminated, buffer.truncated, hp.gamma, hp.gae_lambda
        )
        advantage = advantage.flatten()
        if hp.norm_adv:
            advantage = normalise(advantage)
        return Batch(buffer.obs[:-1].flatten(0, 1), buffer.action.flatten(0, 1), advantage, returns.flatten())

    def metrics(self) -> dict[str, float]:
        """Losses of the latest batch under the networks as they are now. Waits for the device."""
        assert self._batch is not None
        obs, action, advantage, returns = self._batch
        features = self.network.encode(obs)
        out, value = self.network.actor.forward(features), self.network.value(features)
        values = {
            "policy_loss": -(self.policy.log_prob(out, action) * advantage).mean(),
            "value_loss": 0.5 * (value - returns).square().mean(),
            "entropy": self.policy.entropy(out).mean(),
            "explained_variance": explained_variance(value, returns),
        }
        numbers = dict(zip(values, torch.stack(list(values.values())).tolist(), strict=True))
        return numbers | {"learning_rate": self.optimizer.learning_rate}

    def _shape(self) -> dict[str, Any]:
        return super()._shape() | {"optimizer": self.hp.optimizer}
