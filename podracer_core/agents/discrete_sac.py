"""Soft actor-critic for discrete actions (Christodoulou 2019, arXiv 1910.07207).

As sac.py, with critics that value every action at once: what SAC estimates from one action drawn is here summed over
all of them, weighted by their probabilities.
"""

import math

import torch
from torch import Tensor

from podracer_core.agents.learner import State
from podracer_core.agents.off_policy import OffPolicy, numbered
from podracer_core.agents.replay_buffer import Minibatch
from podracer_core.agents.temperature import Temperature
from podracer_core.envs.vector_env import VectorEnv
from podracer_core.hyperparameters import SACHyperparameters


class DiscreteSAC(OffPolicy):
    """The entropy that an automatic temperature aims at is `target_entropy_scale` of the largest, log(action_dim)."""

    algorithm = "sac"
    noise_dim = 0

    def __init__(self, env: VectorEnv, hyperparameters: SACHyperparameters, seed: int) -> None:
        self.hp = hyperparameters
        super().__init__(env, hyperparameters, seed)

    def build(self, generator: torch.Generator) -> None:
        self.make_networks(generator, actor_outputs=self.env.action_dim, num_critics=2)
        target_entropy = self.hp.target_entropy_scale * math.log(self.env.action_dim)
        self.temperature = Temperature(self.hp.ent_coef, target_entropy, self.device, self.make_optimizer)
        self.networks["log_ent_coef"] = self.temperature.log_ent_coef
        self.optimizers["ent_coef"] = self.temperature.optimizer

    # Acting

    def explore(self, obs: Tensor, noise: Tensor) -> Tensor:
        return (self.actor.forward(obs) - noise).argmax(1, keepdim=True)

    def play(self, obs: Tensor) -> Tensor:
        return self.actor.forward(obs).argmax(1, keepdim=True)

    # One update

    def update(self, batch: Minibatch, noise: Tensor) -> None:
        self._update_critics(batch, self.target(batch))
        self.temperature.update(self._update_actor(batch.obs))
        self.targets.parameters.lerp_(self.critics.parameters, self.hp.tau)

    def target(self, batch: Minibatch) -> Tensor:
        """[batch]: what both critics should say, by the smaller target critic's expectation at `next_obs`."""
        log_probs = torch.log_softmax(self.actor.forward(batch.next_obs), 1)
        soft_values = (
            self.targets.forward(batch.next_obs).amin(0).addcmul_(log_probs, self.temperature.ent_coef, value=-1.0)
        )
        expected = soft_values.mul_(log_probs.exp_()).sum(1)
        return torch.addcmul(batch.reward, batch.discount, expected)

    def _update_critics(self, batch: Minibatch, target: Tensor) -> None:
        """One step down half the squared error of the value of the action that was taken, summed over the critics."""
        values = self.critics.forward_keep(batch.obs)
        action = batch.action.long().expand(len(values), -1, -1)
        error = values.gather(2, action).sub_(target.unsqueeze(1)).mul_(1.0 / len(target))
        self.critics.backward(torch.zeros_like(values).scatter_(2, action, error))
        self.clip_and_step(self.optimizers["critics"])

    def _update_actor(self, obs: Tensor) -> Tensor:
        """One step down the mean of sum pi (ent_coef log pi - smaller value). Returns sum pi log pi, [batch]."""
        log_probs = torch.log_softmax(self.actor.forward_keep(obs), 1)
        probs = log_probs.exp()
        cost = torch.addcmul(-self.critics.forward(obs).amin(0), log_probs, self.temperature.ent_coef)
        expected = (probs * cost).sum(1, keepdim=True)
        self.actor.backward(cost.sub_(expected).mul_(probs).mul_(1.0 / len(obs)))
        self.clip_and_step(self.optimizers["actor"])
        return (probs * log_probs).sum(1)

    def losses(self, batch: Minibatch, noise: Tensor) -> dict[str, Tensor]:
        log_probs = torch.log_softmax(self.actor.forward(batch.obs), 1)
        probs, values = log_probs.exp(), self.critics.forward(batch.obs)
        taken = values.gather(2, batch.action.long().expand(len(values), -1, -1)).squeeze(2)
        return {
            "policy_loss": (probs * (self.temperature.ent_coef * log_probs - values.amin(0))).sum(1).mean(),
            "value_loss": 0.5 * (taken - self.target(batch)).square().mean(),
            "value": taken.mean(),
            "entropy": -(probs * log_probs).sum(1).mean(),
            "ent_coef": self.temperature.ent_coef,
        }

    # What is kept

    def tensors(self) -> dict[str, Tensor]:
        actor, critics = numbered(self.actor.tensors(), "actor"), numbered(self.critics.tensors(), "critic")
        return actor | critics | self.seen_tensors()

    def inherit(self, learned: State) -> None:
        super().inherit(learned)
        self.temperature.refresh()
