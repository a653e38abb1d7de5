"""Deep deterministic policy gradient (Lillicrap et al. 2016, arXiv 1509.02971).

One update, read downwards: target, by the target critic of the target actor's action -> critic -> actor -> target
networks. Exploration is by Gaussian noise, which does as well as the paper's correlated one (Fujimoto et al. 2018).
Computed as in sac.py.
"""

import torch
from torch import Tensor

from podracer_core.agents.off_policy import OffPolicy, numbered
from podracer_core.agents.replay_buffer import Minibatch
from podracer_core.envs.vector_env import VectorEnv
from podracer_core.hyperparameters import DDPGHyperparameters


class DDPG(OffPolicy):
    """A deterministic actor and one critic."""

    algorithm = "ddpg"
    noise_dim = 0

    def __init__(self, env: VectorEnv, hyperparameters: DDPGHyperparameters, seed: int) -> None:
        self.hp = hyperparameters
        super().__init__(env, hyperparameters, seed)

    def build(self, generator: torch.Generator) -> None:
        self.make_networks(generator, actor_outputs=self.env.action_dim, num_critics=1)
        self.target_actor = self.make_target_actor()

    # Acting

    def explore(self, obs: Tensor, noise: Tensor) -> Tensor:
        return self.play(obs).add_(noise, alpha=self.hp.exploration_noise).clamp_(-1.0, 1.0)

    def play(self, obs: Tensor) -> Tensor:
        return self.actor.forward(obs).tanh_()

    # One update

    def update(self, batch: Minibatch, noise: Tensor) -> None:
        self.update_critics(batch, self.target(batch))
        self.update_deterministic_actor(batch.obs, self.critics)
        self.targets.parameters.lerp_(self.critics.parameters, self.hp.tau)
        self.networks["target_actor"].lerp_(self.networks["actor"], self.hp.tau)

    def target(self, batch: Minibatch) -> Tensor:
        """[batch]: what the critic should say."""
        action = self.target_actor.forward(batch.next_obs).tanh_()
        (value,) = self.values(self.targets, batch.next_obs, action)
        return torch.addcmul(batch.reward, batch.discount, value)

    def losses(self, batch: Minibatch, noise: Tensor) -> dict[str, Tensor]:
        chosen = self.values(self.critics, batch.obs, self.play(batch.obs))
        values = self.values(self.critics, batch.obs, batch.action)
        return {
            "policy_loss": -chosen.mean(),
            "value_loss": 0.5 * (values - self.target(batch)).square().mean(),
            "value": values.mean(),
        }

    # What is kept

    def tensors(self) -> dict[str, Tensor]:
        return (
            numbered(self.actor.tensors(), "actor") | numbered(self.critics.tensors(), "critic") | self.seen_tensors()
        )
