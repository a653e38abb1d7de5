"""What the on-policy learners share: rollouts, the critic's bootstrap, playing, and what is kept of an agent."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from podracer_core.agents.adam import Adam
from podracer_core.agents.episodes import EpisodeTracker
from podracer_core.agents.learner import State, check_fits, check_num_envs, network_shape, step_env, steps_within
from podracer_core.agents.networks import ActorCritic
from podracer_core.agents.normaliser import ObservationNormaliser, RewardScaler
from podracer_core.agents.policies import Categorical, Gaussian, MultiCategorical, Policy
from podracer_core.agents.rmsprop import RMSprop
from podracer_core.agents.rollout_buffer import RolloutBuffer
from podracer_core.envs.vector_env import VectorEnv
from podracer_core.hyperparameters import A2CHyperparameters, PPOHyperparameters

OnPolicyHyperparameters = PPOHyperparameters | A2CHyperparameters


class OnPolicy:
    """An actor, a critic and the environment they learn from; `PPO` and `A2C` say how.

    global_step: env steps trained so far, over all environments
    ent_coef: in effect
    """

    algorithm: str
    hp: OnPolicyHyperparameters

    def __init__(self, env: VectorEnv, hyperparameters: OnPolicyHyperparameters, seed: int) -> None:
        self.env, self.hp = env, hyperparameters
        self.ent_coef = hyperparameters.ent_coef
        device = env.device
        env_seed, network_seed, noise_seed = (int(s) for s in np.random.SeedSequence(seed).generate_state(3))
        self.network = _network(env, hyperparameters)
        self.network.initialise(network_seed, hyperparameters.log_std_init)
        self.policy = _policy(env, self.network)
        self.optimizer: Adam | RMSprop = self.make_optimizer(Adam)
        self.generator = torch.Generator(device).manual_seed(noise_seed)
        self.normaliser = ObservationNormaliser(env.observation_dim, device) if self.hp.norm_obs else None
        self.scaler = RewardScaler(env.num_envs, self.hp.gamma, device) if self.hp.norm_reward else None
        self.tracker = EpisodeTracker(env.num_envs)
        self.global_step = 0
        self._obs = env.reset(env_seed)
        example = self.policy.mode(torch.zeros(env.num_envs, env.action_dim, device=device))
        seen = self._see(self._obs)
        self._buffer = RolloutBuffer.allocate(self.hp.num_steps, seen, self.network.encode(seen), example, device)

    def make_optimizer(self, kind: type[Adam] | type[RMSprop]) -> Adam | RMSprop:
        """One of `kind` for the network."""
        network, hp = self.network, self.hp
        return kind(
            network.parameters,
            network.gradients,
            hp.learning_rate,
            weight_decay=hp.weight_decay,
            decays=network.weight_mask(),
        )

    # Acting

    def rollout(self, env_steps_left: int | None = None) -> RolloutBuffer:
        """Steps every environment `num_steps` times, fewer towards the end, with actions drawn from the policy."""
        buffer, network, policy, env = self._buffer, self.network, self.policy, self.env
        num_steps = rollout_steps(self.hp, env.num_envs, env_steps_left)
        if num_steps < self.hp.num_steps:
            buffer = buffer.shortened(num_steps)
        buffer.clear()
        raw, obs = [], self._obs
        for noise in policy.noise(num_steps, env.num_envs, self.generator).unbind(0):
            seen = self._see(obs)
            features = network.encode(seen)
            action = policy.sample(network.actor.forward(features), noise)
            step = step_env(env, policy.to_env(action))
            buffer.add(seen, features, action, step)
            raw.append(obs)
            obs = step.obs
        seen = self._see(obs)
        buffer.finish(seen, network.encode(seen))
        self._obs = obs
        if self.normaliser:
            self._raw_obs = torch.cat(raw)
        return buffer

    def act(self, obs: Tensor) -> Tensor:
        """The deterministic policy: obs [batch, *observation], not normalised, to environment actions."""
        features = self.network.encode(self._see(obs))
        return self.policy.to_env(self.policy.mode(self.network.actor.forward(features)))

    def _see(self, obs: Tensor) -> Tensor:
        return self.normaliser.apply(obs) if self.normaliser else obs

    def _reward(self, buffer: RolloutBuffer) -> Tensor:
        """[num_steps, num_envs]: what is learned from, clipped and scaled where hyperparameters say so."""
        reward = buffer.reward.sign() if self.hp.clip_reward else buffer.reward
        return self.scaler.apply(reward, buffer.terminated | buffer.truncated) if self.scaler else reward

    def _bootstrap(self, next_value: Tensor, buffer: RolloutBuffer) -> Tensor:
        """`next_value` with the true last observation's value wherever an episode was truncated."""
        final = buffer.final_obs
        if final and next_value.device.type == "cpu":  # to look costs nothing there
            truncated = buffer.truncated.any(1).tolist()
            final = [(index, obs) for index, obs in final if truncated[index]]
        if final:
            steps, final_obs = zip(*final, strict=True)
            features = self.network.encode(self._see(torch.cat(final_obs)))
            final_values = self.network.value(features).view(len(steps), -1)
            index = torch.tensor(steps).to(next_value.device, non_blocking=True)
            ended_value = torch.where(buffer.truncated[index], final_values, next_value[index])
            next_value[index] = ended_value
        return next_value

    # What is kept

    def tensors(self) -> dict[str, Tensor]:
        """All that playing needs, by the names it has in a checkpoint."""
        named = {f"actor.{name}": tensor for name, tensor in self.network.actor.tensors().items()}
        named |= {f"critic.{name}": tensor for name, tensor in self.network.critic.tensors().items()}
        if self.network.encoder:
            named |= {f"encoder.{name}": tensor for name, tensor in self.network.encoder.tensors().items()}
        if self.network.log_std is not None:
            named["log_std"] = self.network.log_std
        if self.normaliser:
            named |= {"obs.scale": self.normaliser.scale, "obs.shift": self.normaliser.shift}
        return named

    def learned(self) -> State:
        """What another agent can inherit: weights, optimizer and normalisers, on the CPU."""
        return {
            "algorithm": self.algorithm,
            "shape": self._shape(),
            "parameters": self.network.parameters.cpu().clone(),
            "optimizer": self.optimizer.state(),
            "obs_statistics": self.normaliser.statistics.state() if self.normaliser else None,
            "reward_statistics": self.scaler.statistics.state() if self.scaler else None,
        }

    def inherit(self, learned: State) -> None:
        """Starts from another agent's `learned`; hyperparameters stay this agent's own, the optimizer's too.

        Raises CheckpointError where the networks differ.
        """
        check_fits(self.algorithm, self._shape(), learned)
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
            **self.tracker.state(),
        }

    def load_state(self, state: State) -> None:
        """Goes on from `state()`. Raises CheckpointError where it is of another network or number of environments."""
        check_num_envs(len(state["running_return"]), self.env.num_envs)
        self.inherit(state)
        self.global_step = state["global_step"]
        self.generator.set_state(state["generator"])
        self._obs = self.env.load_state(state["env"])
        if "seed" in state["env"]:  # Gymnasium's own: their episodes cannot be saved, new ones have begun
            return
        if self.scaler and state["reward_sums"] is not None:
            self.scaler.sums.copy_(state["reward_sums"])
        self.tracker.load_state(state)

    def _shape(self) -> dict[str, Any]:
        return network_shape(self.env, self.hp)


def annealed(value: float, anneal: bool, remaining: float) -> float:
    """`value` as it is, or lowered linearly. remaining: of the round, 1 to 0"""
    return value * remaining if anneal else value


def rollout_steps(hp: OnPolicyHyperparameters, num_envs: int, env_steps_left: int | None) -> int:
    """Steps of every environment in the next rollout. What is left for the last two they share: an update from a few
    samples would undo more than it adds."""
    left = steps_within(2 * hp.num_steps, num_envs, env_steps_left)
    if left % hp.num_steps == 0:
        return hp.num_steps
    least = 2 if hp.norm_adv and num_envs == 1 else 1
    return max(least, left if left < hp.num_steps else -(-left // 2))


def normalise(advantage: Tensor) -> Tensor:
    """[..., batch] to mean 0 and deviation 1 along the last axis."""
    std, mean = torch.std_mean(advantage, -1, keepdim=True)
    return (advantage - mean).div_(std.add_(1e-8))


def _network(env: VectorEnv, hp: OnPolicyHyperparameters) -> ActorCritic:
    return ActorCritic(
        observation_dim=env.observation_dim,
        action_dim=env.action_dim,
        continuous=env.action_kind == "continuous",
        hidden_size=hp.hidden_size,
        num_layers=hp.num_layers,
        activation=hp.activation,
        device=env.device,
        layer_norm=hp.layer_norm,
        image=env.image,
    )


def _policy(env: VectorEnv, network: ActorCritic) -> Policy:
    if network.log_std is None or network.log_std_gradient is None:
        return MultiCategorical(env.nvec, env.device) if env.nvec else Categorical(env.action_dim, env.device)
    assert env.action_low is not None
    assert env.action_high is not None
    return Gaussian(network.log_std, network.log_std_gradient, env.action_low, env.action_high)
