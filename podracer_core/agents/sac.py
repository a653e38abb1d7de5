"""Soft actor-critic (Haarnoja et al. 2018, arXiv 1812.05905): twin critics and automatic temperature.

One update, read downwards: target -> critics -> actor -> temperature -> target networks. The twin critics are one
batched product a layer, every network is one flat vector, so that Adam and the target's average are a few
operations each, and all gradients are written out. Losses are computed only when somebody asks for `metrics`;
nothing waits for the device.
"""

import torch
from torch import Tensor

from podracer_core.agents.learner import State
from podracer_core.agents.off_policy import OffPolicy, numbered
from podracer_core.agents.replay_buffer import Minibatch
from podracer_core.agents.squashed_gaussian import draw, draw_action, draw_gradient
from podracer_core.envs.vector_env import VectorEnv
from podracer_core.hyperparameters import SACHyperparameters


class SAC(OffPolicy):
    """ent_coef: [1], the temperature; where it is "auto", it moves so that the entropy nears -action_dim."""

    algorithm = "sac"

    def __init__(self, env: VectorEnv, hyperparameters: SACHyperparameters, seed: int) -> None:
        self.hp = hyperparameters
        self.noise_dim = 2 * env.action_dim
        self.target_entropy = -float(env.action_dim)
        super().__init__(env, hyperparameters, seed)

    def build(self, generator: torch.Generator) -> None:
        self.make_networks(generator, actor_outputs=2 * self.env.action_dim, num_critics=2)
        start = 1.0 if self.hp.ent_coef == "auto" else self.hp.ent_coef
        self.ent_coef = torch.full((1,), start, device=self.device)
        self.log_ent_coef = torch.zeros(1, device=self.device)
        self.networks["log_ent_coef"] = self.log_ent_coef
        self.optimizers["ent_coef"] = self.make_optimizer(self.log_ent_coef, torch.zeros(1, device=self.device))

    # Acting

    def explore(self, obs: Tensor, noise: Tensor) -> Tensor:
        return draw_action(self.actor.forward(obs), noise)

    def play(self, obs: Tensor) -> Tensor:
        return self.actor.forward(obs)[:, : self.env.action_dim].tanh()

    # One update

    def update(self, batch: Minibatch, noise: Tensor) -> None:
        next_noise, actor_noise = noise.chunk(2, 1)
        self.update_critics(batch, self.target(batch, next_noise))
        log_prob = self._update_actor(batch.obs, actor_noise)
        if self.hp.ent_coef == "auto":
            self._update_ent_coef(log_prob)
        self.targets.parameters.lerp_(self.critics.parameters, self.hp.tau)

    def target(self, batch: Minibatch, noise: Tensor) -> Tensor:
        """[batch]: what both critics should say, by the smaller target critic of an action drawn at `next_obs`."""
        drawn = draw(self.actor.forward(batch.next_obs), noise)
        values = self.targets.forward(torch.cat((batch.next_obs, drawn.action), 1))
        soft_value = torch.addcmul(values.amin(0), drawn.log_prob, self.ent_coef, value=-1.0)
        return torch.addcmul(batch.reward, batch.discount, soft_value)

    def _update_actor(self, obs: Tensor, noise: Tensor) -> Tensor:
        """Gradients of mean(ent_coef log_prob - smaller value). Returns log probabilities [batch]."""
        drawn = draw(self.actor.forward_keep(obs), noise)
        values = self.critics.forward_keep(torch.cat((obs, drawn.action), 1))
        smaller = torch.zeros_like(values).scatter_(0, values.argmin(0, keepdim=True), 1.0 / len(obs))
        value_gradient = self.critics.input_gradient(smaller)[:, obs.shape[1] :]
        self.actor.backward(draw_gradient(drawn, value_gradient, self.ent_coef))
        self.clip_and_step(self.optimizers["actor"])
        return drawn.log_prob

    def _update_ent_coef(self, log_prob: Tensor) -> None:
        optimizer = self.optimizers["ent_coef"]
        torch.sub(-self.target_entropy, log_prob.mean(), out=optimizer.gradients[0])
        optimizer.step()
        torch.exp(self.log_ent_coef, out=self.ent_coef)

    def losses(self, batch: Minibatch, noise: Tensor) -> dict[str, Tensor]:
        next_noise, actor_noise = noise.chunk(2, 1)
        drawn = draw(self.actor.forward(batch.obs), actor_noise)
        chosen = self.critics.forward(torch.cat((batch.obs, drawn.action), 1)).amin(0)
        values = self.critics.forward(torch.cat((batch.obs, batch.action), 1))
        return {
            "policy_loss": (self.ent_coef * drawn.log_prob - chosen).mean(),
            "value_loss": 0.5 * (values - self.target(batch, next_noise)).square().mean(),
            "value": values.mean(),
            "entropy": -drawn.log_prob.mean(),
            "ent_coef": self.ent_coef,
        }

    # What is kept

    def tensors(self) -> dict[str, Tensor]:
        """The actor's last layer is split into what gives the mean and what gives the deviation's logarithm."""
        named = numbered(self.actor.tensors(), "actor")
        for part in ("weight", "bias"):
            last = f"actor.{self.hp.num_layers}.{part}"
            named[last], named[f"log_std.{part}"] = named[last].chunk(2, 0)
        return named | numbered(self.critics.tensors(), "critic") | self.seen_tensors()

    def inherit(self, learned: State) -> None:
        super().inherit(learned)
        if self.hp.ent_coef == "auto":
            torch.exp(self.log_ent_coef, out=self.ent_coef)
