"""Advantages and returns of a rollout."""

import torch
from torch import Tensor


def gae(
    reward: Tensor,
    value: Tensor,
    next_value: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    gamma: float,
    gae_lambda: float,
) -> tuple[Tensor, Tensor]:
    """Generalised advantage estimation (Schulman et al. 2016, arXiv 1506.02438) over [num_steps, num_envs].

    next_value: of the observation that each step really led to; where an episode was truncated, of its last
        observation, not of the next episode's first. It counts unless the episode terminated.
    Returns advantages and returns (advantage + value), both [num_steps, num_envs].

    A_t = delta_t + c_t A_(t+1) is summed by doubling: after k rounds each entry covers 2^k steps. That takes
    log2(num_steps) rounds of whole-batch operations instead of num_steps small ones.
    """
    advantage = torch.addcmul(reward, next_value, (~terminated).float(), value=gamma).sub_(value)
    carry = (~(terminated | truncated)).float().mul_(gamma * gae_lambda)
    covered = 1
    while covered < len(reward):
        later_advantage, later_carry = advantage[covered:].clone(), carry[covered:].clone()
        advantage[:-covered].addcmul_(carry[:-covered], later_advantage)
        carry[:-covered].mul_(later_carry)
        covered *= 2
    return advantage, advantage + value


def discounted_sums(reward: Tensor, ended: Tensor, start: Tensor, gamma: float) -> Tensor:
    """[num_steps, num_envs]: at each step the discounted sum of the rewards so far in its episode.

    start: [num_envs], the sums before the first step.
    """
    sums = torch.empty_like(reward)
    total = start
    for index, (step_reward, step_ended) in enumerate(zip(reward.unbind(0), ended.unbind(0), strict=True)):
        total = torch.add(step_reward, total, alpha=gamma, out=sums[index])
        total = total * ~step_ended
    return sums


def explained_variance(value: Tensor, returns: Tensor) -> Tensor:
    """How much of the variance of `returns` `value` explains, both [batch]: 1 at most, 0 where none varies."""
    variance, left = returns.var(correction=0), (returns - value).var(correction=0)
    return (1 - left / (variance + 1e-8)) * (variance > 0)
