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
from podracer_core.agents.layer_norm import LayerNorm
from podracer_core.agents.orthogonal import orthogonal
from podracer_core.agents.precision import round_if_wide
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


def parameter_count(sizes: Sequence[int], layer_norm: bool = False) -> int:
    normalised = 2 * sum(sizes[1:-1]) if layer_norm else 0
    return sum((inputs + 1) * outputs for inputs, outputs in pairwise(sizes)) + normalised


class Views(NamedTuple):
    """Parts of a flat vector, one of each a layer: weight, then bias, then of a normalised one gain and shift."""

    weights: list[Tensor]
    biases: list[Tensor]
    gains: list[Tensor]
    shifts: list[Tensor]


def parameter_views(sizes: Sequence[int], flat: Tensor, layer_norm: bool = False, count: int | None = None) -> Views:
    """Weights [inputs, outputs], all else [outputs]; of `count` networks at once [count, inputs, outputs] and
    [count, 1, outputs]. Hidden layers alone are normalised."""
    several, row = ((), ()) if count is None else ((count,), (count, 1))
    views, start = Views([], [], [], []), 0
    for index, (inputs, outputs) in enumerate(pairwise(sizes)):
        hidden = index < len(sizes) - 2
        for part in views if layer_norm and hidden else views[:2]:
            shape = (*several, inputs, outputs) if part is views.weights else (*row, outputs)
            end = start + math.prod(shape)
            part.append(flat[start:end].view(shape))
            start = end
    return views


class Mlp:
    """Linear layers with an activation between them, over views of flat vectors.

    sizes: widths from input to output
    parameters, gradients: [parameter_count(sizes, layer_norm)] each, as `parameter_views` has them
    layer_norm: normalise what each hidden layer gives, before its activation
    streams: equal parts of the last hidden layer that are normalised apart
    """

    def __init__(
        self,
        sizes: Sequence[int],
        activation: str,
        parameters: Tensor,
        gradients: Tensor,
        *,
        layer_norm: bool = False,
        streams: int = 1,
    ) -> None:
        self.sizes, self.layer_norm = list(sizes), layer_norm
        self.activation = ACTIVATIONS[activation]
        self.parameters = parameters
        self.weights, self.biases, gains, shifts = parameter_views(sizes, parameters, layer_norm)
        self.weight_gradients, self.bias_gradients, *by_norm = parameter_views(sizes, gradients, layer_norm)
        self.norms = layer_norms(gains, shifts, by_norm, streams)
        self._transposed = [weight.t() for weight in self.weights]
        self._kept: list[tuple[Tensor, Tensor]] = []

    def initialise(self, output_gain: float, generator: torch.Generator) -> None:
        """Orthogonal weights (Saxe et al. 2014), gain sqrt(2) inside and `output_gain` at the end; biases 0."""
        for index, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            last = index == len(self.weights) - 1
            weight.copy_(orthogonal(weight.shape, output_gain if last else math.sqrt(2), generator))
            bias.zero_()
        for norm in self.norms:
            norm.gain.fill_(1.0)
            norm.shift.zero_()

    def forward(self, x: Tensor) -> Tensor:
        """x: [batch, inputs]. Returns [batch, outputs]; keeps nothing."""
        activate = self.activation.forward
        for index in range(len(self.weights) - 1):
            round_if_wide(self.weights[index])
            before = torch.addmm(self.biases[index], x, self.weights[index])
            if self.norms:
                before = self.norms[index].forward(before)
            x = activate(before)
        round_if_wide(self.weights[-1])
        return torch.addmm(self.biases[-1], x, self.weights[-1])

    def forward_keep(self, x: Tensor) -> Tensor:
        """As `forward`, keeping what `backward` needs."""
        activate = self.activation.forward
        self._kept = [(x, x)]
        for index in range(len(self.weights) - 1):
            round_if_wide(self.weights[index])
            before = torch.addmm(self.biases[index], x, self.weights[index])
            if self.norms:
                before = self.norms[index].forward_keep(before)
            x = activate(before)
            self._kept.append((before, x))
        round_if_wide(self.weights[-1])
        return torch.addmm(self.biases[-1], x, self.weights[-1])

    def keep_first(self, rows: int) -> None:
        """Of what `forward_keep` kept, that of the first `rows` alone, so that `backward` is for these."""
        self._kept = [(before[:rows], x[:rows]) for before, x in self._kept]
        for norm in self.norms:
            norm.keep_first(rows)

    def backward(self, gradient: Tensor) -> Tensor:
        """gradient: [batch, outputs] of the loss by what `forward_keep` returned. Overwrites the gradients.

        Returns the loss's gradient by the first layer's sums [batch, sizes[1]], see `input_gradient`.
        """
        derive = self.activation.backward
        for index in range(len(self.weights) - 1, -1, -1):
            before, inputs = self._kept[index]
            round_if_wide(self.weights[index])
            torch.mm(inputs.t(), gradient, out=self.weight_gradients[index])
            torch.sum(gradient, 0, out=self.bias_gradients[index])
            if index:
                gradient = derive(torch.mm(gradient, self._transposed[index]), before, inputs)
                if self.norms:
                    gradient = self.norms[index - 1].backward(gradient)
        self._kept = []
        return gradient

    def input_gradient(self, gradient: Tensor) -> Tensor:
        """What `backward` returned, carried on to the inputs: [batch, inputs]."""
        round_if_wide(self.weights[0])
        return torch.mm(gradient, self._transposed[0])

    def weight_mask(self) -> Tensor:
        """[parameter_count]: 1 for weights, 0 for biases and normalisation, which weight decay leaves alone."""
        mask = torch.zeros_like(self.parameters)
        for weight in parameter_views(self.sizes, mask, self.layer_norm).weights:
            weight.fill_(1.0)
        return mask

    def tensors(self) -> dict[str, Tensor]:
        """Views by name, `0.weight` [outputs, inputs] and `0.bias` and so on, as torch's Linear names them; where
        the layer is normalised, `0.norm.weight` and `0.norm.bias`, as torch's LayerNorm does."""
        named = {}
        for index, (weight, bias) in enumerate(zip(self._transposed, self.biases, strict=True)):
            named[f"{index}.weight"], named[f"{index}.bias"] = weight, bias
        for index, norm in enumerate(self.norms):
            named[f"{index}.norm.weight"], named[f"{index}.norm.bias"] = norm.gain, norm.shift
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
        layer_norm: bool = False,
        image: Image | None = None,
    ) -> None:
        self.num_features = encoder_features(image) if image else observation_dim
        actor_sizes = mlp_sizes(self.num_features, hidden_size, num_layers, action_dim)
        critic_sizes = mlp_sizes(self.num_features, hidden_size, num_layers, 1)
        lengths = [parameter_count(sizes, layer_norm) for sizes in (actor_sizes, critic_sizes)]
        lengths += [action_dim if continuous else 0, encoder_parameter_count(image) if image else 0]
        self.parameters = torch.zeros(sum(lengths), device=device)
        self.gradients = torch.zeros_like(self.parameters)
        actor, critic, log_std, encoder = torch.split(self.parameters, lengths)
        actor_grad, critic_grad, log_std_grad, encoder_grad = torch.split(self.gradients, lengths)
        self.encoder = Encoder(image, encoder, encoder_grad) if image else None
        self.actor = Mlp(actor_sizes, activation, actor, actor_grad, layer_norm=layer_norm)
        self.critic = Mlp(critic_sizes, activation, critic, critic_grad, layer_norm=layer_norm)
        self.log_std = log_std if continuous else None
        self.log_std_gradient = log_std_grad if continuous else None

    def initialise(self, seed: int, log_std: float = 0.0) -> None:
        """The same weights for the same seed on every device; the policy starts near uniform, or around 0."""
        generator = torch.Generator().manual_seed(seed)
        if self.encoder:
            self.encoder.initialise(generator)
        self.actor.initialise(0.01, generator)
        self.critic.initialise(1.0, generator)
        if self.log_std is not None:
            self.log_std.fill_(log_std)

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

    def weight_mask(self) -> Tensor:
        """1 for what weight decay is for: the layers' weights, no bias, no normalisation, no `log_std`."""
        masks = [self.actor.weight_mask(), self.critic.weight_mask()]
        if self.log_std is not None:
            masks.append(torch.zeros_like(self.log_std))
        if self.encoder:
            masks.append(self.encoder.weight_mask())
        return torch.cat(masks)


def layer_norms(
    gains: Sequence[Tensor], shifts: Sequence[Tensor], gradients: Sequence[Sequence[Tensor]], streams: int = 1
) -> list[LayerNorm]:
    """One a hidden layer, none where there are no gains. gradients: of the gains, of the shifts."""
    parts = zip(gains, shifts, zip(*gradients, strict=True), strict=True)
    return [
        LayerNorm(gain, shift, by, streams if index == len(gains) - 1 else 1)
        for index, (gain, shift, by) in enumerate(parts)
    ]
