"""What a policy network's output means: one or several categorical, or a diagonal Gaussian distribution over actions.

Each draws actions from noise made in advance, and gives the gradient of PPO's policy loss in closed form.
"""

import math
from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
_NEVER = -1e30
"""The logit of what is never drawn; finite, so that its share of the entropy is 0 and not NaN."""


class Policy(Protocol):
    """`out`: [batch, action_dim], the network's output. Actions are in the policy's own units, see `to_env`."""

    def noise(self, steps: int, num_envs: int, generator: torch.Generator) -> Tensor:
        """[steps, num_envs, action_dim]: the randomness of a whole rollout, drawn in one operation."""
        ...

    def sample(self, out: Tensor, noise: Tensor) -> Tensor: ...

    def mode(self, out: Tensor) -> Tensor:
        """The most likely action, in the policy's own units."""
        ...

    def to_env(self, action: Tensor) -> Tensor:
        """The action in the environment's units and bounds."""
        ...

    def log_prob(self, out: Tensor, action: Tensor) -> Tensor:
        """[batch]"""
        ...

    def entropy(self, out: Tensor) -> Tensor:
        """[batch]"""
        ...

    def gradient(
        self, out: Tensor, action: Tensor, old_log_prob: Tensor, advantage: Tensor, clip: float, ent_coef: float
    ) -> tuple[Tensor, Tensor]:
        """Of `policy_loss` minus the entropy bonus by `out`, and log ratios [batch] of new to old probability."""
        ...


def policy_loss(log_ratio: Tensor, advantage: Tensor, clip: float) -> Tensor:
    """PPO's clipped surrogate (arXiv 1707.06347, equation 7), negated; a mean over the batch."""
    ratio = log_ratio.exp()
    return -torch.minimum(advantage * ratio, advantage * ratio.clamp(1 - clip, 1 + clip)).mean()


def _log_prob_gradient(log_ratio: Tensor, advantage: Tensor, clip: float) -> Tensor:
    """[batch]: of `policy_loss` by each log probability; 0 where the clipped term is the smaller one."""
    ratio = log_ratio.exp()
    surrogate = advantage * ratio
    active = surrogate <= advantage * ratio.clamp_(1 - clip, 1 + clip)
    return surrogate.mul_(active).mul_(-1.0 / len(advantage))


class Categorical:
    """Actions 0 .. action_dim - 1, int64 [batch]; `out` are logits."""

    def noise(self, steps: int, num_envs: int, generator: torch.Generator) -> Tensor:
        """Negated Gumbel noise: log of a standard exponential."""
        return self._shape.new_empty(steps, num_envs, len(self._shape)).exponential_(generator=generator).log_()

    def __init__(self, action_dim: int, device: torch.device) -> None:
        self._shape = torch.empty(action_dim, device=device)

    def sample(self, out: Tensor, noise: Tensor) -> Tensor:
        """The Gumbel-max trick: argmax of logits plus Gumbel noise is a draw from their softmax."""
        return (out - noise).argmax(1)

    def mode(self, out: Tensor) -> Tensor:
        return out.argmax(1)

    def to_env(self, action: Tensor) -> Tensor:
        return action

    def log_prob(self, out: Tensor, action: Tensor) -> Tensor:
        return torch.log_softmax(out, 1).gather(1, action.unsqueeze(1)).squeeze(1)

    def entropy(self, out: Tensor) -> Tensor:
        log_probs = torch.log_softmax(out, 1)
        return -(log_probs.exp() * log_probs).sum(1)

    def gradient(
        self, out: Tensor, action: Tensor, old_log_prob: Tensor, advantage: Tensor, clip: float, ent_coef: float
    ) -> tuple[Tensor, Tensor]:
        index = action.unsqueeze(1)
        log_probs = torch.log_softmax(out, 1)
        log_ratio = log_probs.gather(1, index).squeeze(1).sub_(old_log_prob)
        weight = _log_prob_gradient(log_ratio, advantage, clip).unsqueeze_(1)
        probs = log_probs.exp()
        gradient = (probs * weight).neg_().scatter_add_(1, index, weight)
        if ent_coef:
            entropy = (probs * log_probs).sum(1, keepdim=True).neg_()
            gradient.addcmul_(probs, log_probs.add_(entropy), value=ent_coef / len(out))
        return gradient, log_ratio


class MultiCategorical:
    """Independent choices at once, int64 [batch, entries] counted from 0; `out` are their logits, one after another.

    The logits are laid out as [batch, entries, largest], shorter entries filled up with ones that are never drawn, so
    that the number of operations does not grow with that of entries.
    """

    def __init__(self, nvec: Sequence[int], device: torch.device) -> None:
        """nvec: [entries], the number of values of each."""
        self._layout = len(nvec), max(nvec)
        self._shape = torch.empty(sum(nvec), device=device)
        places = [entry * max(nvec) + value for entry, count in enumerate(nvec) for value in range(count)]
        self._places = torch.tensor(places, device=device)

    def noise(self, steps: int, num_envs: int, generator: torch.Generator) -> Tensor:
        """As Categorical's."""
        return self._shape.new_empty(steps, num_envs, len(self._shape)).exponential_(generator=generator).log_()

    def sample(self, out: Tensor, noise: Tensor) -> Tensor:
        return self._laid_out(out - noise).argmax(2)

    def mode(self, out: Tensor) -> Tensor:
        return self._laid_out(out).argmax(2)

    def to_env(self, action: Tensor) -> Tensor:
        return action

    def log_prob(self, out: Tensor, action: Tensor) -> Tensor:
        log_probs = torch.log_softmax(self._laid_out(out), 2)
        return log_probs.gather(2, action.unsqueeze(2)).sum((1, 2))

    def entropy(self, out: Tensor) -> Tensor:
        log_probs = torch.log_softmax(self._laid_out(out), 2)
        return -(log_probs.exp() * log_probs).sum((1, 2))

    def gradient(
        self, out: Tensor, action: Tensor, old_log_prob: Tensor, advantage: Tensor, clip: float, ent_coef: float
    ) -> tuple[Tensor, Tensor]:
        index = action.unsqueeze(2)
        log_probs = torch.log_softmax(self._laid_out(out), 2)
        log_ratio = log_probs.gather(2, index).sum((1, 2)).sub_(old_log_prob)
        weight = _log_prob_gradient(log_ratio, advantage, clip).view(-1, 1, 1)
        probs = log_probs.exp()
        gradient = (probs * weight).neg_().scatter_add_(2, index, weight.expand_as(index))
        if ent_coef:
            entropy = (probs * log_probs).sum(2, keepdim=True).neg_()
            gradient.addcmul_(probs, log_probs.add_(entropy), value=ent_coef / len(out))
        return gradient.flatten(1).index_select(1, self._places), log_ratio

    def _laid_out(self, out: Tensor) -> Tensor:
        entries, largest = self._layout
        laid_out = out.new_full((len(out), entries * largest), _NEVER)
        return laid_out.index_copy_(1, self._places, out).view(-1, entries, largest)


class Gaussian:
    """Actions float32 [batch, action_dim] around `out`, where -1 and 1 are the environment's bounds.

    An action is clipped only on its way into the environment: its probability is that of the unclipped draw.
    log_std, log_std_gradient: [action_dim], independent of the state; the latter is overwritten by `gradient`
    """

    def __init__(self, log_std: Tensor, log_std_gradient: Tensor, low: Tensor, high: Tensor) -> None:
        self._log_std, self._log_std_gradient = log_std, log_std_gradient
        self._centre, self._half_range = (high + low) / 2, (high - low) / 2

    def noise(self, steps: int, num_envs: int, generator: torch.Generator) -> Tensor:
        return self._log_std.new_empty(steps, num_envs, len(self._log_std)).normal_(generator=generator)

    def sample(self, out: Tensor, noise: Tensor) -> Tensor:
        return torch.addcmul(out, noise, self._log_std.exp())

    def mode(self, out: Tensor) -> Tensor:
        return out

    def to_env(self, action: Tensor) -> Tensor:
        return torch.addcmul(self._centre, action.clamp(-1.0, 1.0), self._half_range)

    def log_prob(self, out: Tensor, action: Tensor) -> Tensor:
        distance = (action - out) * (-self._log_std).exp()
        return distance.square_().sum(1).mul_(-0.5).sub_((self._log_std + _HALF_LOG_2PI).sum())

    def entropy(self, out: Tensor) -> Tensor:
        return (self._log_std + (0.5 + _HALF_LOG_2PI)).sum().expand(len(out))

    def gradient(
        self, out: Tensor, action: Tensor, old_log_prob: Tensor, advantage: Tensor, clip: float, ent_coef: float
    ) -> tuple[Tensor, Tensor]:
        inverse_std = (-self._log_std).exp_()
        distance = (action - out).mul_(inverse_std)
        squared = distance.square()
        log_ratio = squared.sum(1).mul_(-0.5).sub_((self._log_std + _HALF_LOG_2PI).sum()).sub_(old_log_prob)
        weight = _log_prob_gradient(log_ratio, advantage, clip).unsqueeze_(1)
        torch.sum(squared.sub_(1.0).mul_(weight), 0, out=self._log_std_gradient)
        self._log_std_gradient.sub_(ent_coef)
        return distance.mul_(weight).mul_(inverse_std), log_ratio
