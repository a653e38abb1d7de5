"""RMSprop over one flat vector, as `adam.Adam` is."""

import torch
from torch import Tensor

from podracer_core.agents.adam import clip_gradients, decay


class RMSprop:
    """Tieleman and Hinton 2012, as A3C used it (Mnih et al. 2016, arXiv 1602.01783): `eps` inside the root, no
    momentum; the running square starts at 1, as TensorFlow's does, so that first steps are small. Weights decay
    apart from the gradient, as in `adam.Adam`.

    parameters, gradients: [n] each, read and written in place
    learning_rate: in effect from the next step on, whatever the running square comes from
    weight_decay, decays: as in `adam.Adam`
    square_avg: [n]
    """

    def __init__(
        self,
        parameters: Tensor,
        gradients: Tensor,
        learning_rate: float,
        *,
        alpha: float = 0.99,
        eps: float = 1e-5,
        weight_decay: float = 0.0,
        decays: Tensor | None = None,
    ) -> None:
        self.parameters, self.gradients = parameters, gradients
        self.learning_rate, self.alpha, self.eps = learning_rate, alpha, eps
        self.weight_decay, self._decays = weight_decay, decays
        self.square_avg = torch.ones_like(parameters)

    def step(self) -> None:
        if self.weight_decay:
            decay(self.parameters, self._decays, self.learning_rate * self.weight_decay)
        self.square_avg.mul_(self.alpha).addcmul_(self.gradients, self.gradients, value=1 - self.alpha)
        self.parameters.addcdiv_(self.gradients, self.square_avg.add(self.eps).sqrt_(), value=-self.learning_rate)

    def clip_gradients(self, max_norm: float) -> None:
        """Scales the gradients down to length `max_norm` where they are longer."""
        clip_gradients(self.gradients, max_norm)

    def state(self) -> dict[str, Tensor]:
        """On the CPU."""
        return {"square_avg": self.square_avg.cpu().clone()}

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Takes over the running square, and nothing else."""
        self.square_avg.copy_(state["square_avg"])
