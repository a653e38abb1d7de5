"""Soft actor-critic (Haarnoja et al. 2018, arXiv 1812.05905): twin critics and automatic temperature.

One update, read downwards: target -> critics -> actor -> temperature -> target networks. The twin critics are one
batched product a layer, every network is one flat vector, so that Adam and the target's average are a few
operations each, and all gradients are written out. Losses are computed only when somebody asks for `metrics`;
nothing waits for the device.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from podracer_core.agents.learner import State
from podracer_core.agents.off_policy import OffPolicy, numbered
from podracer_core.agents.replay_buffer import Minibatch
from podracer_core.agents.squashed_gaussian import Draw, draw, draw_action, draw_gradient, split_outputs
from podracer_core.agents.temperature import Temperature
from podracer_core.envs.vector_env import VectorEnv
from podracer_core.hyperparameters import SACHyperparameters


class SAC(OffPolicy):
    """For continuous actions; the entropy that an automatic temperature aims at is -action_dim."""

    algorithm = "sac"

    def __init__(self, env: VectorEnv, hyperparameters: SACHyperparameters, seed: int) -> None:
        self.hp = hyperparameters
        self.noise_dim = 2 * env.action_dim
        super().__init__(env, hyperparameters, seed)

    def build(self, generator: torch.Generator) -> None:
        self.make_networks(generator, actor_outputs=2 * self.env.action_dim, num_critics=2)
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
        drawn, drawn_next = self.draws(batch, noise)
        self.update_critics(batch, self.target(batch, drawn_next))
        self.temperature.update(self._update_actor(batch.obs, drawn))
        self.targets.parameters.lerp_(self.critics.parameters, self.hp.tau)

    def draws(self, batch: Minibatch, noise: Tensor) -> Iterator[Draw]:
        """At `obs` and at `next_obs`, by one pass of the actor, which keeps what its gradient at `obs` needs."""
        out = self.actor.forward_keep(torch.cat((batch.obs, batch.next_obs)))
        self.actor.keep_first(len(batch.obs))
        return draw(out, noise.view(len(out), -1)).halves()

    def target(self, batch: Minibatch, drawn: Draw) -> Tensor:
        """[batch]: what both critics should say, by the smaller target critic of what was drawn at `next_obs`."""
        value = self.values(self.targets, batch.next_obs, drawn.action).amin(0)
        soft_value = value.addcmul_(drawn.log_prob, self.temperature.ent_coef, value=-1.0)
        return torch.addcmul(batch.reward, batch.discount, soft_value)

    def _update_actor(self, obs: Tensor, drawn: Draw) -> Tensor:
        """One step down mean(ent_coef log_prob - smaller value). Returns log probabilities [batch]."""
        values = self.critics.forward_keep(torch.cat((obs, drawn.action), 1))
        smaller = values.argmin(0, keepdim=True)
        upwards = torch.zeros_like(values).scatter_(0, smaller, -1.0 / len(obs))
        gradient = self.critics.input_gradient(upwards, obs.shape[1])
        self.actor.backward(draw_gradient(drawn, gradient, self.temperature.ent_coef))
        self.clip_and_step(self.optimizers["actor"])
        return drawn.log_prob

    def losses(self, batch: Minibatch, noise: Tensor) -> dict[str, Tensor]:
        drawn, drawn_next = self.draws(batch, noise)
        chosen = self.values(self.critics, batch.obs, drawn.action).amin(0)
        values = self.values(self.critics, batch.obs, batch.action)
        return {
            "policy_loss": (self.temperature.ent_coef * drawn.log_prob - chosen).mean(),
            "value_loss": 0.5 * (values - self.target(batch, drawn_next)).square().mean(),
            "value": values.mean(),
            "entropy": -drawn.log_prob.mean(),
            "ent_coef": self.temperature.ent_coef,
        }

    # What is kept

    def tensors(self) -> dict[str, Tensor]:
        actor = split_outputs(self.actor.tensors(), self.hp.num_layers)
        return actor | numbered(self.critics.tensors(), "critic") | self.seen_tensors()

    def inherit(self, learned: State) -> None:
        super().inherit(learned)
        self.temperature.refresh()
