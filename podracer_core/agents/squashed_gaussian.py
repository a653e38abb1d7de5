"""A Gaussian brought between -1 and 1 by tanh (Haarnoja et al. 2018, arXiv 1812.05905, appendix C)."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

LOG_STD_LOW, LOG_STD_HIGH = -20.0, 2.0
_CONSTANT = 0.5 * math.log(2 * math.pi) + 2.0 * math.log(2.0)
_aten = torch.ops.aten


class Draw(NamedTuple):
    """action: [batch, action_dim]; log_prob: [batch]; spread: [batch, action_dim], how far from the mean before tanh;
    raw: [batch, action_dim], logs of the deviations before they are kept in their bounds"""

    action: Tensor
    log_prob: Tensor
    spread: Tensor
    raw: Tensor

    def halves(self) -> Iterator["Draw"]:
        """The first half of the batch and the second, views of this one."""
        return (Draw(*half) for half in zip(*(part.chunk(2) for part in self), strict=True))


def draw_action(out: Tensor, noise: Tensor) -> Tensor:
    """out: [batch, 2 action_dim], means then logs of the deviations; noise: [batch, action_dim], standard normal."""
    mean, log_std = out.chunk(2, 1)
    return torch.addcmul(mean, log_std.clamp(LOG_STD_LOW, LOG_STD_HIGH).exp_(), noise).tanh_()


def draw(out: Tensor, noise: Tensor) -> Draw:
    """As `draw_action`, with the action's log density, in which log(1 - tanh(u)^2) is written so as not to overflow:
    as 2 log 2 - 2 log(exp(u) + exp(-u))."""
    mean, raw = out.chunk(2, 1)
    log_std = raw.clamp(LOG_STD_LOW, LOG_STD_HIGH)
    spread = log_std.exp().mul_(noise)
    before = mean + spread
    surprise = torch.sub(log_std, torch.logaddexp(before, -before), alpha=2.0).addcmul_(noise, noise, value=0.5)
    log_prob = torch.rsub(surprise.sum(1), -_CONSTANT * noise.shape[1])
    return Draw(before.tanh_(), log_prob, spread, raw)


def draw_gradient(drawn: Draw, gradient: Tensor, ent_coef: Tensor) -> Tensor:
    """[batch, 2 action_dim]: of mean(ent_coef log_prob) and what else is lost by `out`.

    gradient: [batch, action_dim], of what else is lost by the actions; ent_coef: [1]
    """
    share = 1.0 / len(gradient)
    by_mean = _aten.tanh_backward.default(gradient, drawn.action).addcmul_(drawn.action, ent_coef, value=2.0 * share)
    by_log_std = by_mean.mul(drawn.spread).sub_(ent_coef, alpha=share)
    by_raw = _aten.hardtanh_backward.default(by_log_std, drawn.raw, LOG_STD_LOW, LOG_STD_HIGH)
    return torch.cat((by_mean, by_raw), 1)


def split_outputs(actor: dict[str, Tensor], num_layers: int) -> dict[str, Tensor]:
    """An actor's tensors by name, its last layer split into what gives the mean and, as `log_std`, the logarithm of
    the deviation."""
    named = {f"actor.{name}": tensor for name, tensor in actor.items()}
    for part in ("weight", "bias"):
        last = f"actor.{num_layers}.{part}"
        named[last], named[f"log_std.{part}"] = named[last].chunk(2, 0)
    return named
