"""Several action-value networks of one shape, computed together: each layer is one batched product.

Like networks.Mlp, over views of flat vectors and with the backward pass written out.
"""

import copy
import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

from podracer_core.agents.networks import ACTIVATIONS, parameter_count
from podracer_core.agents.orthogonal import orthogonal


class Critics:
    """`count` networks from observation and action to one value each.

    parameters, gradients: [count * parameter_count(sizes)]; layer by layer, weights [count, inputs, outputs] of all
        networks, then biases [count, 1, outputs]
    """

    def __init__(self, count: int, sizes: Sequence[int], activation: str, device: torch.device) -> None:
        self.count, self.sizes = count, list(sizes)
        self.activation = ACTIVATIONS[activation]
        self.parameters = torch.zeros(count * parameter_count(sizes), device=device)
        self.gradients = torch.zeros_like(self.parameters)
        self.weights, self.biases = self._views(self.parameters)
        self.weight_gradients, self.bias_gradients = self._views(self.gradients)
        self._transposed = [weight.transpose(1, 2) for weight in self.weights]
        self._kept: list[tuple[Tensor, Tensor]] = []

    def initialise(self, generator: torch.Generator) -> None:
        """Each network for itself, as networks.Mlp does it."""
        for index, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            gain = 1.0 if index == len(self.weights) - 1 else math.sqrt(2)
            for each in weight:
                each.copy_(orthogonal(each.shape, gain, generator))
            bias.zero_()

    def forward(self, x: Tensor) -> Tensor:
        """x: [batch, inputs]. Returns [count, batch]; keeps nothing."""
        x = x.expand(self.count, -1, -1)
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = self.activation.forward(torch.baddbmm(bias, x, weight))
        return torch.baddbmm(self.biases[-1], x, self.weights[-1]).squeeze(2)

    def forward_keep(self, x: Tensor) -> Tensor:
        """As `forward`, keeping what `backward` and `input_gradient` need."""
        x = x.expand(self.count, -1, -1)
        self._kept = [(x, x)]
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            before = torch.baddbmm(bias, x, weight)
            x = self.activation.forward(before)
            self._kept.append((before, x))
        return torch.baddbmm(self.biases[-1], x, self.weights[-1]).squeeze(2)

    def backward(self, gradient: Tensor) -> None:
        """gradient: [count, batch] of the loss by what `forward_keep` returned. Overwrites the gradients."""
        gradient = gradient.unsqueeze(2)
        for index in range(len(self.weights) - 1, -1, -1):
            before, inputs = self._kept[index]
            torch.bmm(inputs.transpose(1, 2), gradient, out=self.weight_gradients[index])
            torch.sum(gradient, 1, keepdim=True, out=self.bias_gradients[index])
            if index:
                through = torch.bmm(gradient, self._transposed[index])
                gradient = self.activation.backward(through, before, inputs)

    def input_gradient(self, gradient: Tensor) -> Tensor:
        """gradient: [count, batch], as in `backward`. Returns that by the input, [batch, inputs], and no other."""
        gradient = gradient.unsqueeze(2)
        for index in range(len(self.weights) - 1, 0, -1):
            before, inputs = self._kept[index]
            through = torch.bmm(gradient, self._transposed[index])
            gradient = self.activation.backward(through, before, inputs)
        return torch.bmm(gradient, self._transposed[0]).sum(0)

    def first(self) -> "Critics":
        """The first network alone, over the same tensors."""
        alone = copy.copy(self)
        alone.count = 1
        for name in ("weights", "biases", "weight_gradients", "bias_gradients", "_transposed"):
            setattr(alone, name, [layer[:1] for layer in getattr(self, name)])
        return alone

    def tensors(self) -> dict[str, Tensor]:
        """Views by name, `N.0.weight` [outputs, inputs] and `N.0.bias` and so on for critic number N."""
        return {
            f"{each}.{index}.{part}": tensor[each].view(-1) if part == "bias" else tensor[each]
            for index, layer in enumerate(zip(self._transposed, self.biases, strict=True))
            for part, tensor in zip(("weight", "bias"), layer, strict=True)
            for each in range(self.count)
        }

    def _views(self, flat: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        weights, biases = [], []
        start = 0
        for inputs, outputs in pairwise(self.sizes):
            middle = start + self.count * inputs * outputs
            end = middle + self.count * outputs
            weights.append(flat[start:middle].view(self.count, inputs, outputs))
            biases.append(flat[middle:end].view(self.count, 1, outputs))
            start = end
        return weights, biases
