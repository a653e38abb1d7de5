"""The weight of the entropy in soft actor-critic, and its gradient descent (Haarnoja et al. 2018, arXiv 1812.05905)."""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from podracer_core.agents.adam import Adam

LEAST_HANDED_DOWN = 1e-4
"""An heir whose temperature is automatic begins no lower, also where its parent's was fixed at 0."""


class Temperature:
    """ent_coef: [1], in effect; where it was given as "auto", it moves so that the entropy nears `target_entropy`.

    log_ent_coef: [1], what is learned then; starts at 0. Of a fixed one it is what heirs begin with that learn theirs
    optimizer: made by `make_optimizer` from parameters and gradients
    """

    def __init__(
        self,
        ent_coef: float | Literal["auto"],
        target_entropy: float,
        device: torch.device,
        make_optimizer: Callable[[Tensor, Tensor], Adam],
    ) -> None:
        self.automatic, self.target_entropy = ent_coef == "auto", target_entropy
        self.ent_coef = torch.full((1,), 1.0 if ent_coef == "auto" else ent_coef, device=device)
        self.log_ent_coef = torch.zeros(1, device=device)
        self.optimizer = make_optimizer(self.log_ent_coef, torch.zeros(1, device=device))
        self.refresh()

    def update(self, log_prob: Tensor) -> None:
        """One step where it moves. log_prob: [batch], of the actions drawn, or its mean over them."""
        if not self.automatic:
            return
        self.optimizer.gradients.fill_(-self.target_entropy).sub_(log_prob.sum(), alpha=1.0 / log_prob.numel())
        self.optimizer.step()
        self.refresh()

    def refresh(self) -> None:
        """To be called when `log_ent_coef` was written to."""
        if self.automatic:
            torch.exp(self.log_ent_coef, out=self.ent_coef)
        else:
            torch.log(self.ent_coef.clamp(min=LEAST_HANDED_DOWN), out=self.log_ent_coef)
