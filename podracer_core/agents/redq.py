"""Randomised ensembled double Q-learning (Chen, Wang, Zhou and Ross 2021, arXiv 2101.05982): many updates an env step,
kept from overestimating by an ensemble of critics.

One update, read downwards: target, by the smallest of a few target critics drawn by lot -> critics -> target
networks -> every `policy_delay` updates the actor, by the mean of all critics, and the temperature. Computed as in
sac.py: all critics are one batched product a layer.
"""

import torch
from torch import Tensor

from podracer_core.agents.learner import State
from podracer_core.agents.off_policy import OffPolicy, numbered
from podracer_core.agents.replay_buffer import Minibatch
from podracer_core.agents.squashed_gaussian import draw, draw_action, draw_gradient, split_outputs
from podracer_core.agents.temperature import Temperature
from podracer_core.envs.vector_env import VectorEnv
from podracer_core.hyperparameters import REDQHyperparameters


class REDQ(OffPolicy):
    """The entropy that an automatic temperature aims at is -action_dim, as in SAC."""

    algorithm = "redq"

    def __init__(self, env: VectorEnv, hyperparameters: REDQHyperparameters, seed: int) -> None:
        self.hp = hyperparameters
        self.noise_dim = 2 * env.action_dim
        super().__init__(env, hyperparameters, seed)

    def build(self, generator: torch.Generator) -> None:
        self.make_networks(generator, actor_outputs=2 * self.env.action_dim, num_critics=self.hp.num_critics)
        self.temperature = Temperature(self.hp.ent_coef, -float(self.env.action_dim), self.device, self.make_optimizer)
        self.networks["log_ent_coef"] = self.temperature.log_ent_coef
        self.optimizers["ent_coef"] = self.temperature.optimizer

    # Acting

    def explore(self, obs: Tensor, noise: Tensor) -> Tensor:
        return draw_action(self.actor.forward(obs), noise)

    def play(self, obs: Tensor) -> Tensor:
        return self.actor.forward(obs)[:, : self.env.action_dim].tanh()

    # One update

    def update(self, batch: Minibatch, noise: Tensor) -> None:
        next_noise, actor_noise = noise.chunk(2, 1)
        chance = torch.rand(self.hp.num_critics, generator=self.generator, device=self.device)
        self.update_critics(batch, self.target(batch, next_noise, chance))
        self.targets.parameters.lerp_(self.critics.parameters, self.hp.tau)
        if self.optimizers["critics"].num_steps % self.hp.policy_delay == 0:
            self.temperature.update(self._update_actor(batch.obs, actor_noise))

    def target(self, batch: Minibatch, noise: Tensor, chance: Tensor) -> Tensor:
        """[batch]: what every critic should say. chance: [num_critics], by whose order target critics are picked."""
        drawn = draw(self.actor.forward(batch.next_obs), noise)
        picked = self.targets.subset(chance.topk(self.hp.num_subset).indices)
        value = self.values(picked, batch.next_obs, drawn.action).amin(0)
        soft_value = value.addcmul_(drawn.log_prob, self.temperature.ent_coef, value=-1.0)
        return torch.addcmul(batch.reward, batch.discount, soft_value)

    def _update_actor(self, obs: Tensor, noise: Tensor) -> Tensor:
        """One step down mean(ent_coef log_prob - mean value). Returns log probabilities [batch]."""
        drawn = draw(self.actor.forward_keep(obs), noise)
        values = self.critics.forward_keep(torch.cat((obs, drawn.action), 1))
        upwards = torch.full_like(values, -1.0 / (len(obs) * self.hp.num_critics))
        gradient = self.critics.input_gradient(upwards, obs.shape[1])
        self.actor.backward(draw_gradient(drawn, gradient, self.temperature.ent_coef))
        self.clip_and_step(self.optimizers["actor"])
        return drawn.log_prob

    def losses(self, batch: Minibatch, noise: Tensor) -> dict[str, Tensor]:
        """By the first `num_subset` target critics, so that to look draws no lots."""
        next_noise, actor_noise = noise.chunk(2, 1)
        drawn = draw(self.actor.forward(batch.obs), actor_noise)
        chosen = self.values(self.critics, batch.obs, drawn.action).mean(0)
        values = self.values(self.critics, batch.obs, batch.action)
        target = self.target(batch, next_noise, torch.arange(self.hp.num_critics, 0, -1, device=self.device))
        return {
            "policy_loss": (self.temperature.ent_coef * drawn.log_prob - chosen).mean(),
            "value_loss": 0.5 * (values - target).square().mean(),
            "value": values.mean(),
            "value_spread": values.std(0, correction=0).mean(),
            "entropy": -drawn.log_prob.mean(),
            "ent_coef": self.temperature.ent_coef,
        }

    # What is kept

    def tensors(self) -> dict[str, Tensor]:
        actor = split_outputs(self.actor.tensors(), self.hp.num_layers)
        return actor | numbered(self.critics.tensors(), "critic") | self.seen_tensors()

    def extra_shape(self) -> dict[str, int]:
        return {"num_critics": self.hp.num_critics}

    def inherit(self, learned: State) -> None:
        super().inherit(learned)
        self.temperature.refresh()
