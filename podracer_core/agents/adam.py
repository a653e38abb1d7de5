"""Adam over one flat vector: one fused operation a step, where torch.optim spends more on bookkeeping than on sums."""

import torch
from torch import Tensor


class Adam:
    """Kingma and Ba 2015 (arXiv 1412.6980), equal to torch.optim.Adam; with `weight_decay` to torch.optim.AdamW
    (Loshchilov and Hutter 2019, arXiv 1711.05101) that has the rest in a group without.

    parameters, gradients: [n] each, read and written in place
    learning_rate: in effect from the next step on, whatever the moments come from
    weight_decay: share of the decaying parameters that a step of learning rate 1 would take away
    decays: [n], 1 for parameters that decay and 0 for others; all do unless told
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
        weight_decay: float = 0.0,
        decays: Tensor | None = None,
    ) -> None:
        self.parameters, self.gradients = parameters, gradients
        self.learning_rate, self.betas, self.eps = learning_rate, betas, eps
        self.weight_decay, self._decays = weight_decay, decays
        self.exp_avg, self.exp_avg_sq = torch.zeros_like(parameters), torch.zeros_like(parameters)
        self.num_steps = 0
        self._num_steps = torch.zeros((), device=parameters.device)

    def step(self) -> None:
        self.num_steps += 1
        self._num_steps.fill_(self.num_steps)
        if self.weight_decay:
            decay(self.parameters, self._decays, self.learning_rate * self.weight_decay)
        torch._fused_adam_(
            [self.parameters],
            [self.gradients],
            [self.exp_avg],
            [self.exp_avg_sq],
            [],
            [self._num_steps],
            lr=self.learning_rate,
            beta1=self.betas[0],
            beta2=self.betas[1],
            weight_decay=0.0,
            eps=self.eps,
            amsgrad=False,
            maximize=False,
        )

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


def decay(parameters: Tensor, decays: Tensor | None, share: float) -> None:
    """Takes `share` of themselves away from the parameters for which `decays` is 1, from all where it is None."""
    if decays is None:
        parameters.mul_(1 - share)
    else:
        parameters.addcmul_(parameters, decays, value=-share)
