"""Adam over one flat vector: six operations a step, where torch.optim spends more on bookkeeping than on sums."""

import math

import torch
from torch import Tensor


class Adam:
    """Kingma and Ba 2015 (arXiv 1412.6980), equal to torch.optim.Adam without weight decay.

    parameters, gradients: [n] each, read and written in place
    learning_rate: in effect from the next step on, whatever the moments come from
    exp_avg, exp_avg_sq: [n], the running moments; num_steps: how many they are made of
    """

    def __init__(
        self,
        parameters: Tensor,
        gradients: Tensor,
        learning_rate: float,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-5,
    ) -> None:
        self.parameters, self.gradients = parameters, gradients
        self.learning_rate, self.betas, self.eps = learning_rate, betas, eps
        self.exp_avg, self.exp_avg_sq = torch.zeros_like(parameters), torch.zeros_like(parameters)
        self.num_steps = 0

    def step(self) -> None:
        beta1, beta2 = self.betas
        self.num_steps += 1
        correction1 = 1 - beta1**self.num_steps
        correction2 = math.sqrt(1 - beta2**self.num_steps)
        self.exp_avg.lerp_(self.gradients, 1 - beta1)
        self.exp_avg_sq.mul_(beta2).addcmul_(self.gradients, self.gradients, value=1 - beta2)
        # The corrections are moved out of the vectors: m/c1 / (sqrt(v)/c2 + eps) = c2/c1 m / (sqrt(v) + c2 eps)
        denominator = self.exp_avg_sq.sqrt().add_(self.eps * correction2)
        self.parameters.addcdiv_(self.exp_avg, denominator, value=-self.learning_rate * correction2 / correction1)

    def clip_gradients(self, max_norm: float) -> None:
        """Scales the gradients down to length `max_norm` where they are longer."""
        clip_gradients(self.gradients, max_norm)

    def state(self) -> dict[str, Tensor]:
        """On the CPU."""
        return {
            "exp_avg": self.exp_avg.cpu().clone(),
            "exp_avg_sq": self.exp_avg_sq.cpu().clone(),
            "num_steps": torch.tensor(self.num_steps),
        }

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Takes over the moments, and nothing else."""
        self.exp_avg.copy_(state["exp_avg"])
        self.exp_avg_sq.copy_(state["exp_avg_sq"])
        self.num_steps = int(state["num_steps"])


def clip_gradients(gradients: Tensor, max_norm: float) -> None:
    """Scales `gradients` down to length `max_norm` where they are longer."""
    norm = torch.linalg.vector_norm(gradients)
    gradients.mul_(norm.add_(1e-6).reciprocal_().mul_(max_norm).clamp_(max=1.0))
