"""Twin delayed deep deterministic policy gradient (Fujimoto, van Hoof and Meger 2018, arXiv 1802.09477).

One update, read downwards: target, by the smaller of two target critics of a smoothed action -> critics -> every
`policy_delay` updates the actor and all target networks. Computed as in sac.py.
"""

import torch
from torch import Tensor

from podracer_core.agents.off_policy import OffPolicy, numbered
from podracer_core.agents.replay_buffer import Minibatch
from podracer_core.envs.vector_env import VectorEnv
from podracer_core.hyperparameters import TD3Hyperparameters


class TD3(OffPolicy):
    """A deterministic actor that explores by Gaussian noise on its actions."""

    algorithm = "td3"

    def __init__(self, env: VectorEnv, hyperparameters: TD3Hyperparameters, seed: int) -> None:
        self.hp = hyperparameters
        self.noise_dim = env.action_dim
        super().__init__(env, hyperparameters, seed)

    def build(self, generator: torch.Generator) -> None:
        self.make_networks(generator, actor_outputs=self.env.action_dim, num_critics=2)
        self.target_actor = self.make_target_actor()
        self.first_critic = self.critics.first()

    # Acting

    def explore(self, obs: Tensor, noise: Tensor) -> Tensor:
        return self.play(obs).add_(noise, alpha=self.hp.exploration_noise).clamp_(-1.0, 1.0)

    def play(self, obs: Tensor) -> Tensor:
        return self.actor.forward(obs).tanh_()

    # One update

    def update(self, batch: Minibatch, noise: Tensor) -> None:
        self.update_critics(batch, self.target(batch, noise))
        if self.optimizers["critics"].num_steps % self.hp.policy_delay == 0:
            self.update_deterministic_actor(batch.obs, self.first_critic)
            self.targets.parameters.lerp_(self.critics.parameters, self.hp.tau)
            self.networks["target_actor"].lerp_(self.networks["actor"], self.hp.tau)

    def target(self, batch: Minibatch, noise: Tensor) -> Tensor:
        """[batch]: what both critics should say."""
        clipped = noise.mul(self.hp.policy_noise).clamp_(-self.hp.noise_clip, self.hp.noise_clip)
        action = self.target_actor.forward(batch.next_obs).tanh_().add_(clipped).clamp_(-1.0, 1.0)
        values = self.values(self.targets, batch.next_obs, action)
        return torch.addcmul(batch.reward, batch.discount, values.amin(0))

    def losses(self, batch: Minibatch, noise: Tensor) -> dict[str, Tensor]:
        chosen = self.values(self.first_critic, batch.obs, self.play(batch.obs))
        values = self.values(self.critics, batch.obs, batch.action)
        return {
            "policy_loss": -chosen.mean(),
            "value_loss": 0.5 * (values - self.target(batch, noise)).square().mean(),
            "value": values.mean(),
        }

    # What is kept

    def tensors(self) -> dict[str, Tensor]:
        return (
            numbered(self.actor.tensors(), "actor") | numbered(self.critics.tensors(), "critic") | self.seen_tensors()
        )
