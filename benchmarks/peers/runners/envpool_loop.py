"""A plain PPO in eager PyTorch over EnvPool's environments, as a careful person writes it in an afternoon.

The steps of Huang et al. 2022, "The 37 Implementation Details of PPO",
https://iclr-blog-track.github.io/2022/03/25/ppo-implementation-details/: orthogonal weights, Adam with eps 1e-5,
GAE, advantages normalised per minibatch, clipped policy, gradients clipped to 0.5. Nothing is slowed down: buffers are
allocated once, the old log probabilities come from the rollout, and Adam is PyTorch's fused one.
"""

from collections.abc import Callable
from typing import Any

import envpool
import gymnasium
import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Categorical, Independent, Normal

from benchmarks.peers.job import Answer, Job, answer
from benchmarks.peers.runners.warm import warm_up
from benchmarks.peers.training import Evaluator, Rate, Training
from benchmarks.peers.zoo import settings


def main() -> None:
    answer({"to-target": train, "throughput": throughput, "stepping": stepping})


class ActorCritic(nn.Module):
    def __init__(self, observation_dim: int, action_dim: int, continuous: bool) -> None:
        super().__init__()
        self.actor = _mlp(observation_dim, action_dim, 0.01)
        self.critic = _mlp(observation_dim, 1, 1.0)
        self.log_std = nn.Parameter(torch.zeros(action_dim)) if continuous else None

    def policy(self, obs: Tensor) -> Any:
        out = self.actor(obs)
        if self.log_std is None:
            return Categorical(logits=out, validate_args=False)
        return Independent(Normal(out, self.log_std.exp().expand_as(out), validate_args=False), 1, validate_args=False)

    def value(self, obs: Tensor) -> Tensor:
        return self.critic(obs).squeeze(-1)


def _mlp(inputs: int, outputs: int, gain: float) -> nn.Sequential:
    layers = [nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs)]
    for layer in layers[::2]:
        nn.init.orthogonal_(layer.weight, gain if layer is layers[-1] else 2**0.5)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(*layers)


class Loop:
    """Rollout, returns, update.

    episode: hears the return of each training episode that ends
    """

    def __init__(
        self,
        job: Job,
        *,
        num_envs: int,
        num_steps: int,
        minibatch_rows: int,
        num_epochs: int,
        learning_rate: float = 3e-4,
        gamma: float = 0.99,
        gae_lambda: float = 0.95,
        clip_coef: float = 0.2,
        ent_coef: float = 0.0,
        episode: Callable[[float], None] = lambda value: None,
    ) -> None:
        torch.manual_seed(job.seed)
        self.env = make_env(job, num_envs)
        space = self.env.action_space
        self.continuous = isinstance(space, gymnasium.spaces.Box)
        observation_dim = int(np.prod(self.env.observation_space.shape))
        action_dim = int(space.shape[0]) if self.continuous else int(space.n)
        if self.continuous:
            self.low, self.high = np.asarray(space.low), np.asarray(space.high)
        self.network = ActorCritic(observation_dim, action_dim, self.continuous)
        self.optimizer = torch.optim.Adam(self.network.parameters(), learning_rate, eps=1e-5, fused=True)
        self.num_envs, self.num_steps, self.global_step = num_envs, num_steps, 0
        self.minibatch_rows, self.num_epochs = minibatch_rows, num_epochs
        self.learning_rate, self.gamma, self.gae_lambda = learning_rate, gamma, gae_lambda
        self.clip_coef, self.ent_coef, self.episode = clip_coef, ent_coef, episode
        shape = (num_steps, num_envs)
        self.obs = torch.zeros((*shape, observation_dim))
        self.actions = torch.zeros((*shape, action_dim) if self.continuous else shape)
        self.log_probs, self.rewards, self.ended, self.values = (torch.zeros(shape) for _ in range(4))
        self.running = np.zeros(num_envs)
        self.next_obs = torch.as_tensor(self.env.reset()[0], dtype=torch.float32)
        self.next_ended = torch.zeros(num_envs)

    def iterate(self, remaining: float = 1.0) -> None:
        self.optimizer.param_groups[0]["lr"] = self.learning_rate * remaining
        self.rollout()
        self.update(*self.returns(), clip_coef=self.clip_coef)
        self.global_step += self.num_steps * self.num_envs

    @torch.no_grad()
    def rollout(self) -> None:
        for step in range(self.num_steps):
            self.obs[step], self.ended[step] = self.next_obs, self.next_ended
            policy = self.network.policy(self.next_obs)
            action = policy.sample()
            self.actions[step], self.log_probs[step] = action, policy.log_prob(action)
            self.values[step] = self.network.value(self.next_obs)
            obs, reward, terminated, truncated, _ = self.env.step(self.to_env(action.numpy()))
            ended = terminated | truncated
            self.rewards[step] = torch.as_tensor(reward)
            self.next_obs = torch.as_tensor(obs, dtype=torch.float32)
            self.next_ended = torch.as_tensor(ended, dtype=torch.float32)
            self.running += reward
            for i in ended.nonzero()[0]:
                self.episode(self.running[i])
                self.running[i] = 0.0

    def to_env(self, action: np.ndarray) -> np.ndarray:
        return np.clip(action, self.low, self.high) if self.continuous else action

    @torch.no_grad()
    def returns(self) -> tuple[Tensor, Tensor]:
        """Advantages and returns, [num_steps, num_envs]."""
        next_value, advantage = self.network.value(self.next_obs), torch.zeros(self.num_envs)
        going_on, advantages = 1 - self.next_ended, torch.zeros_like(self.rewards)
        for step in reversed(range(self.num_steps)):
            delta = self.rewards[step] + self.gamma * next_value * going_on - self.values[step]
            advantages[step] = advantage = delta + self.gamma * self.gae_lambda * going_on * advantage
            next_value, going_on = self.values[step], 1 - self.ended[step]
        return advantages, advantages + self.values

    def update(self, advantages: Tensor, returns: Tensor, clip_coef: float) -> None:
        columns = [self.obs, self.actions, self.log_probs, advantages, returns]
        batch = [column.flatten(0, 1) for column in columns]
        for _ in range(self.num_epochs):
            for rows in torch.randperm(len(batch[0])).split(self.minibatch_rows):
                obs, action, old_log_prob, advantage, target = (column[rows] for column in batch)
                policy = self.network.policy(obs)
                ratio = (policy.log_prob(action) - old_log_prob).exp()
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                clipped = ratio.clamp(1 - clip_coef, 1 + clip_coef)
                policy_loss = -torch.min(ratio * advantage, clipped * advantage).mean()
                value_loss = 0.5 * (self.network.value(obs) - target).square().mean()
                loss = policy_loss + 0.5 * value_loss - self.ent_coef * policy.entropy().mean()
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.network.parameters(), 0.5)
                self.optimizer.step()

    @torch.no_grad()
    def act(self, obs: np.ndarray) -> np.ndarray:
        """The deterministic policy."""
        out = self.network.actor(torch.as_tensor(obs, dtype=torch.float32))
        return self.to_env((out if self.continuous else out.argmax(-1)).numpy())


def make_env(job: Job, num_envs: int) -> Any:
    return envpool.make_gymnasium(job.env_id, num_envs=num_envs, num_threads=job.threads, seed=job.seed)


def train(job: Job) -> Answer:
    """The Zoo's settings, as far as this loop has them: no gSDE and no normalisers."""
    warm_up(job.threads)
    chosen = settings("ppo", job.env_id)
    training = Training(job, chosen["n_envs"])
    rate, clip = (str(chosen.get(name, value)) for name, value in (("learning_rate", 3e-4), ("clip_range", 0.2)))
    loop = Loop(
        job,
        num_envs=chosen["n_envs"],
        num_steps=chosen.get("n_steps", 2048),
        minibatch_rows=chosen.get("batch_size", 64),
        num_epochs=chosen.get("n_epochs", 10),
        learning_rate=float(rate.removeprefix("lin_")),
        gamma=chosen.get("gamma", 0.99),
        gae_lambda=chosen.get("gae_lambda", 0.95),
        clip_coef=float(clip.removeprefix("lin_")),
        ent_coef=chosen.get("ent_coef", 0.0),
        episode=training.episode,
    )
    evaluate = Evaluator(loop.act, lambda: gymnasium.make(job.env_id))
    bound = chosen["n_timesteps"]
    while loop.global_step < bound and not training.ended:
        loop.iterate(1 - loop.global_step / bound if rate.startswith("lin_") else 1.0)
        training.look(loop.global_step, evaluate)
    return training.result(evaluate)


def throughput(job: Job) -> Answer:
    warm_up(job.threads)
    loop = Loop(
        job,
        num_envs=job.num_envs,
        num_steps=job.num_steps,
        minibatch_rows=job.minibatch_rows,
        num_epochs=job.num_epochs,
    )
    rate = Rate(job.seconds)
    while True:
        loop.iterate()
        if rate.look(loop.global_step):
            return rate.result("env_steps")


def stepping(job: Job) -> Answer:
    """EnvPool alone, under uniformly random actions."""
    env, steps = make_env(job, job.num_envs), 0
    space, rng = env.action_space, np.random.default_rng(job.seed)
    if isinstance(space, gymnasium.spaces.Box):
        drawn = rng.uniform(space.low, space.high, (64, job.num_envs, *space.shape)).astype(space.dtype)
    else:
        drawn = rng.integers(0, space.n, (64, job.num_envs))
    env.reset()
    rate = Rate(job.seconds)
    while True:
        for actions in drawn:
            env.step(actions)
        steps += drawn.shape[0] * job.num_envs
        if rate.look(steps):
            return rate.result("env_steps")


if __name__ == "__main__":
    main()
