"""A Gaussian brought between -1 and 1 by tanh (Haarnoja et al. 2018, arXiv 1812.05905, appendix C)."""

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import softplus

LOG_STD_LOW, LOG_STD_HIGH = -20.0, 2.0
_LOG_2 = math.log(2.0)
_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


class Draw(NamedTuple):
    """action: [batch, action_dim]; log_prob: [batch]; spread: [batch, action_dim], how far from the mean before tanh;
    free: [batch, action_dim], whether the deviation is inside its bounds"""

    action: Tensor
    log_prob: Tensor
    spread: Tensor
    free: Tensor


def draw_action(out: Tensor, noise: Tensor) -> Tensor:
    """out: [batch, 2 action_dim], means then logs of the deviations; noise: [batch, action_dim], standard normal."""
    mean, log_std = out.chunk(2, 1)
    return torch.addcmul(mean, log_std.clamp(LOG_STD_LOW, LOG_STD_HIGH).exp_(), noise).tanh_()


def draw(out: Tensor, noise: Tensor) -> Draw:
    """As `draw_action`, with the action's log density, in which log(1 - tanh(u)^2) is written so as not to overflow."""
    mean, raw = out.chunk(2, 1)
    log_std = raw.clamp(LOG_STD_LOW, LOG_STD_HIGH)
    spread = log_std.exp().mul_(noise)
    before = mean + spread
    log_slope = softplus(before.mul(-2.0)).add_(before).sub_(_LOG_2).mul_(2.0)  # -log(1 - tanh^2)
    log_density = log_slope.sub_(log_std).addcmul_(noise, noise, value=-0.5)
    log_prob = log_density.sum(1).sub_(_HALF_LOG_2PI * noise.shape[1])
    return Draw(before.tanh_(), log_prob, spread, raw == log_std)


def draw_gradient(drawn: Draw, value_gradient: Tensor, ent_coef: Tensor) -> Tensor:
    """[batch, 2 action_dim]: of mean(ent_coef log_prob - value) by `out`.

    value_gradient: [batch, action_dim], of the mean value by the actions; ent_coef: [1]
    """
    weight = ent_coef / len(drawn.action)
    slope = torch.addcmul(torch.ones_like(drawn.action), drawn.action, drawn.action, value=-1.0)
    by_mean = drawn.action.mul(weight * 2.0).addcmul_(value_gradient, slope, value=-1.0)
    by_log_std = torch.addcmul(-weight, by_mean, drawn.spread).mul_(drawn.free)
    return torch.cat((by_mean, by_log_std), 1)


def split_outputs(actor: dict[str, Tensor], num_layers: int) -> dict[str, Tensor]:
    """An actor's tensors by name, its last layer split into what gives the mean and, as `log_std`, the logarithm of
    the deviation."""
    named = {f"actor.{name}": tensor for name, tensor in actor.items()}
    for part in ("weight", "bias"):
        last = f"actor.{num_layers}.{part}"
        named[last], named[f"log_std.{part}"] = named[last].chunk(2, 0)
    return named
