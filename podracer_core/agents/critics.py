"""Several action-value networks of one shape, computed together: each layer is one batched product.

Like networks.Mlp, over views of flat vectors and with the backward pass written out.
"""

import copy
import math
from collections.abc import Sequence

import torch
from torch import Tensor

from podracer_core.agents.networks import ACTIVATIONS, layer_norms, parameter_count, parameter_views
from podracer_core.agents.orthogonal import orthogonal
from podracer_core.agents.precision import round_if_wide


class Critics:
    """`count` networks of one shape.

    parameters, gradients: [count * parameter_count(sizes, layer_norm)], as networks.parameter_views has them
    layer_norm: as in networks.Mlp
    """

    def __init__(
        self, count: int, sizes: Sequence[int], activation: str, device: torch.device, *, layer_norm: bool = False
    ) -> None:
        self.count, self.sizes, self.layer_norm = count, list(sizes), layer_norm
        self.activation = ACTIVATIONS[activation]
        self.parameters = torch.zeros(count * parameter_count(sizes, layer_norm), device=device)
        self.gradients = torch.zeros_like(self.parameters)
        self.weights, self.biases, gains, shifts = parameter_views(sizes, self.parameters, layer_norm, count)
        self.weight_gradients, self.bias_gradients, *by_norm = parameter_views(sizes, self.gradients, layer_norm, count)
        self.norms = layer_norms(gains, shifts, by_norm)
        self._transposed = [weight.transpose(1, 2) for weight in self.weights]
        self._kept: list[tuple[Tensor, Tensor]] = []

    def initialise(self, generator: torch.Generator) -> None:
        """Each network for itself, as networks.Mlp does it."""
        for index, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            gain = 1.0 if index == len(self.weights) - 1 else math.sqrt(2)
            for each in weight:
                each.copy_(orthogonal(each.shape, gain, generator))
            bias.zero_()
        for norm in self.norms:
            norm.gain.fill_(1.0)
            norm.shift.zero_()

    def forward(self, x: Tensor) -> Tensor:
        """x: [batch, inputs]. Returns [count, batch, outputs]; keeps nothing."""
        x = x.expand(self.count, -1, -1)
        for index in range(len(self.weights) - 1):
            round_if_wide(self.weights[index])
            before = torch.baddbmm(self.biases[index], x, self.weights[index])
            if self.norms:
                before = self.norms[index].forward(before)
            x = self.activation.forward(before)
        round_if_wide(self.weights[-1])
        return torch.baddbmm(self.biases[-1], x, self.weights[-1])

    def forward_keep(self, x: Tensor) -> Tensor:
        """As `forward`, keeping what `backward` and `input_gradient` need."""
        x = x.expand(self.count, -1, -1)
        self._kept = [(x, x)]
        for index in range(len(self.weights) - 1):
            round_if_wide(self.weights[index])
            before = torch.baddbmm(self.biases[index], x, self.weights[index])
            if self.norms:
                before = self.norms[index].forward_keep(before)
            x = self.activation.forward(before)
            self._kept.append((before, x))
        round_if_wide(self.weights[-1])
        return torch.baddbmm(self.biases[-1], x, self.weights[-1])

    def backward(self, gradient: Tensor) -> None:
        """gradient: [count, batch, outputs] of the loss by what `forward_keep` returned. Overwrites the gradients."""
        for index in range(len(self.weights) - 1, -1, -1):
            before, inputs = self._kept[index]
            round_if_wide(self.weights[index])
            torch.bmm(inputs.transpose(1, 2), gradient, out=self.weight_gradients[index])
            torch.sum(gradient, 1, keepdim=True, out=self.bias_gradients[index])
            if index:
                through = torch.bmm(gradient, self._transposed[index])
                gradient = self.activation.backward(through, before, inputs)
                if self.norms:
                    gradient = self.norms[index - 1].backward(gradient)

    def input_gradient(self, gradient: Tensor, first: int = 0) -> Tensor:
        """gradient: as in `backward`. Returns that by the inputs from number `first` on, [batch, n], and no other."""
        for index in range(len(self.weights) - 1, 0, -1):
            before, inputs = self._kept[index]
            round_if_wide(self.weights[index])
            through = torch.bmm(gradient, self._transposed[index])
            gradient = self.activation.backward(through, before, inputs)
            if self.norms:
                gradient = self.norms[index - 1].input_gradient(gradient)
        round_if_wide(self.weights[0])
        return torch.bmm(gradient, self._transposed[0].narrow(2, first, self.sizes[0] - first)).sum(0)

    def first(self) -> "Critics":
        """The first network alone, over the same tensors."""
        alone = copy.copy(self)
        alone.count = 1
        for name in ("weights", "biases", "weight_gradients", "bias_gradients", "_transposed"):
            setattr(alone, name, [layer[:1] for layer in getattr(self, name)])
        alone.norms = [norm.chosen(slice(1)) for norm in self.norms]
        return alone

    def subset(self, index: Tensor) -> "Critics":
        """Copies of the networks `index` [n], for `forward` alone."""
        chosen = copy.copy(self)
        chosen.count = len(index)
        chosen.weights, chosen.biases = (
            [layer.index_select(0, index) for layer in layers] for layers in (self.weights, self.biases)
        )
        chosen.norms = [norm.chosen(index) for norm in self.norms]
        return chosen

    def weight_mask(self) -> Tensor:
        """As networks.Mlp's."""
        mask = torch.zeros_like(self.parameters)
        for weight in parameter_views(self.sizes, mask, self.layer_norm, self.count).weights:
            weight.fill_(1.0)
        return mask

    def tensors(self) -> dict[str, Tensor]:
        """Views by name, `N.0.weight` [outputs, inputs] and so on for critic number N, as networks.Mlp names them."""
        named = {}
        for each in range(self.count):
            for index, (weight, bias) in enumerate(zip(self._transposed, self.biases, strict=True)):
                named[f"{each}.{index}.weight"], named[f"{each}.{index}.bias"] = weight[each], bias[each, 0]
            for index, norm in enumerate(self.norms):
                name = f"{each}.{index}.norm"
                named[f"{name}.weight"], named[f"{name}.bias"] = norm.gain[each, 0], norm.shift[each, 0]
        return named
