"""Multilayer perceptrons with parameters in one flat vector and a backward pass of their own.

Small networks are bound by the number of operations, not by arithmetic. So there is no autograd graph: the
backward pass is written out (three operations a layer), gradients land in views of one flat vector, and
clipping and Adam are a few operations on that vector, however many layers there are.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from podracer_core.agents.convolution import Encoder, encoder_features, encoder_parameter_count
from podracer_core.agents.orthogonal import orthogonal
from podracer_core.envs.image import Image

_aten = torch.ops.aten


class Activation(NamedTuple):
    """forward(x) -> y, and backward(grad_y, x, y) -> grad_x.

    Where the derivative follows from y alone, y takes x's place and grad_x that of grad_y: large layers cost more
    for fresh memory than for the sums.
    """

    forward: Callable[[Tensor], Tensor]
    backward: Callable[[Tensor, Tensor, Tensor], Tensor]


_tanh_backward = _aten.tanh_backward.grad_input
_relu_backward = _aten.threshold_backward.grad_input
_elu_backward = _aten.elu_backward.default
_silu_backward = _aten.silu_backward.default

ACTIVATIONS: dict[str, Activation] = {
    "tanh": Activation(torch.tanh_, lambda grad, x, y: _tanh_backward(grad, y, grad_input=grad)),
    "relu": Activation(torch.relu_, lambda grad, x, y: _relu_backward(grad, y, 0, grad_input=grad)),
    "elu": Activation(torch.nn.functional.elu, lambda grad, x, y: _elu_backward(grad, 1, 1, 1, False, x)),
    "silu": Activation(torch.nn.functional.silu, lambda grad, x, y: _silu_backward(grad, x)),
}


def mlp_sizes(inputs: int, hidden_size: int, num_layers: int, outputs: int) -> list[int]:
    """Widths from input to output with `num_layers` hidden layers between."""
    return [inputs, *[hidden_size] * num_layers, outputs]


def parameter_count(sizes: Sequence[int]) -> int:
    return sum((inputs + 1) * outputs for inputs, outputs in pairwise(sizes))


class Mlp:
    """Linear layers with an activation between them, over views of flat vectors.

    sizes: widths from input to output
    parameters, gradients: [parameter_count(sizes)] each; layer by layer, weight [inputs, outputs] then bias
    """

    def __init__(self, sizes: Sequence[int], activation: str, parameters: Tensor, gradients: Tensor) -> None:
        self.sizes = list(sizes)
        self.activation = ACTIVATIONS[activation]
        self.weights, self.biases = _views(sizes, parameters)
        self.weight_gradients, self.bias_gradients = _views(sizes, gradients)
        self._transposed = [weight.t() for weight in self.weights]
        self._kept: list[tuple[Tensor, Tensor]] = []

    def initialise(self, output_gain: float, generator: torch.Generator) -> None:
        """Orthogonal weights (Saxe et al. 2014), gain sqrt(2) inside and `output_gain` at the end; biases 0."""
        for index, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            last = index == len(self.weights) - 1
            weight.copy_(orthogonal(weight.shape, output_gain if last else math.sqrt(2), generator))
            bias.zero_()

    def forward(self, x: Tensor) -> Tensor:
        """x: [batch, inputs]. Returns [batch, outputs]; keeps nothing."""
        activate = self.activation.forward
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = activate(torch.addmm(bias, x, weight))
        return torch.addmm(self.biases[-1], x, self.weights[-1])

    def forward_keep(self, x: Tensor) -> Tensor:
        """As `forward`, keeping what `backward` needs."""
        activate = self.activation.forward
        self._kept = [(x, x)]
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            before = torch.addmm(bias, x, weight)
            x = activate(before)
            self._kept.append((before, x))
        return torch.addmm(self.biases[-1], x, self.weights[-1])

    def backward(self, gradient: Tensor) -> Tensor:
        """gradient: [batch, outputs] of the loss by what `forward_keep` returned. Overwrites the gradients.

        Returns the loss's gradient by the first layer's sums [batch, sizes[1]], see `input_gradient`.
        """
        derive = self.activation.backward
        for index in range(len(self.weights) - 1, -1, -1):
            before, inputs = self._kept[index]
            torch.mm(inputs.t(), gradient, out=self.weight_gradients[index])
            torch.sum(gradient, 0, out=self.bias_gradients[index])
            if index:
                gradient = derive(torch.mm(gradient, self._transposed[index]), before, inputs)
        self._kept = []
        return gradient

    def input_gradient(self, gradient: Tensor) -> Tensor:
        """What `backward` returned, carried on to the inputs: [batch, inputs]."""
        return torch.mm(gradient, self._transposed[0])

    def tensors(self) -> dict[str, Tensor]:
        """Views by name, `0.weight` [outputs, inputs] and `0.bias` and so on, as torch's Linear names them."""
        named = {}
        for index, (weight, bias) in enumerate(zip(self._transposed, self.biases, strict=True)):
            named[f"{index}.weight"], named[f"{index}.bias"] = weight, bias
        return named


class ActorCritic:
    """A policy network and a value network of the same shape that share nothing but their flat vectors, and of images
    the convolutional encoder, whose features then are their inputs.

    log_std: [action_dim], a parameter of a continuous policy, or None
    """

    def __init__(
        self,
        *,
        observation_dim: int,
        action_dim: int,
        continuous: bool,
        hidden_size: int,
        num_layers: int,
        activation: str,
        device: torch.device,
        image: Image | None = None,
    ) -> None:
        self.num_features = encoder_features(image) if image else observation_dim
        actor_sizes = mlp_sizes(self.num_features, hidden_size, num_layers, action_dim)
        critic_sizes = mlp_sizes(self.num_features, hidden_size, num_layers, 1)
        lengths = [parameter_count(actor_sizes), parameter_count(critic_sizes), action_dim if continuous else 0]
        lengths.append(encoder_parameter_count(image) if image else 0)
        self.parameters = torch.zeros(sum(lengths), device=device)
        self.gradients = torch.zeros_like(self.parameters)
        actor, critic, log_std, encoder = torch.split(self.parameters, lengths)
        actor_grad, critic_grad, log_std_grad, encoder_grad = torch.split(self.gradients, lengths)
        self.encoder = Encoder(image, encoder, encoder_grad) if image else None
        self.actor = Mlp(actor_sizes, activation, actor, actor_grad)
        self.critic = Mlp(critic_sizes, activation, critic, critic_grad)
        self.log_std = log_std if continuous else None
        self.log_std_gradient = log_std_grad if continuous else None

    def initialise(self, seed: int) -> None:
        """The same weights for the same seed on every device; the policy starts near uniform."""
        generator = torch.Generator().manual_seed(seed)
        if self.encoder:
            self.encoder.initialise(generator)
        self.actor.initialise(0.01, generator)
        self.critic.initialise(1.0, generator)
        if self.log_std is not None:
            self.log_std.zero_()

    def encode(self, obs: Tensor) -> Tensor:
        """What actor and critic see of obs: [batch, num_features]; of vectors themselves."""
        return self.encoder.forward(obs) if self.encoder else obs

    def encode_keep(self, obs: Tensor) -> Tensor:
        """As `encode`, keeping what `backward_encoder` needs."""
        return self.encoder.forward_keep(obs) if self.encoder else obs

    def backward_encoder(self, actor: Tensor, critic: Tensor) -> None:
        """actor, critic: what their `backward` returned, of the same or, the actor's, fewer first observations."""
        if self.encoder:
            gradient = self.critic.input_gradient(critic)
            gradient[: len(actor)] += self.actor.input_gradient(actor)
            self.encoder.backward(gradient)

    def value(self, features: Tensor) -> Tensor:
        """features: [batch, num_features]. Returns [batch]."""
        return self.critic.forward(features).squeeze(1)


def _views(sizes: Sequence[int], flat: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    weights, biases = [], []
    start = 0
    for inputs, outputs in pairwise(sizes):
        middle, end = start + inputs * outputs, start + (inputs + 1) * outputs
        weights.append(flat[start:middle].view(inputs, outputs))
        biases.append(flat[middle:end])
        start = end
    return weights, biases
