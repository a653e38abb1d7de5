"""A convolutional encoder of images: uint8 in, features out, with the same flat vectors and written-out backward as
`networks.Mlp`, which takes its features.

The layers follow the image's shorter side, each a ReLU behind it:

    from 36 pixels up   32 8x8 filters, stride 4; 64 4x4, stride 2; 64 3x3, stride 1 (Mnih et al. 2015,
                        doi 10.1038/nature14236)
    16 to 35            32 4x4, stride 2; 64 3x3, stride 2; 64 3x3, stride 1 (the same, halved)
    up to 15            16 3x3, stride 1 (for MinAtar: Young and Tian 2019, arXiv 1903.03176)

No padding. Where a side is shorter than 3 the filters are as short.
"""

import math
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from podracer_core.agents.orthogonal import orthogonal
from podracer_core.envs.image import Image

CHUNK = 512
"""Images that `forward` takes at once: what lies between the layers is many times as large as they are."""

_convolution_backward = torch.ops.aten.convolution_backward.default
_relu_backward = torch.ops.aten.threshold_backward.grad_input


class Layer(NamedTuple):
    """A convolution without padding. kernel: height and width"""

    inputs: int
    outputs: int
    kernel: tuple[int, int]
    stride: int

    @property
    def weights(self) -> int:
        return self.inputs * self.outputs * math.prod(self.kernel)


def layers_of(image: Image) -> list[Layer]:
    """See the module."""
    side = min(image.height, image.width)
    if side >= 36:
        plan = [(32, 8, 4), (64, 4, 2), (64, 3, 1)]
    elif side >= 16:
        plan = [(32, 4, 2), (64, 3, 2), (64, 3, 1)]
    else:
        plan = [(16, 3, 1)]
    widths = [image.channels, *(outputs for outputs, _, _ in plan)]
    return [
        Layer(inputs, outputs, (min(size, image.height), min(size, image.width)), stride)
        for (inputs, outputs), (_, size, stride) in zip(pairwise(widths), plan, strict=True)
    ]


def encoder_parameter_count(image: Image) -> int:
    return sum(layer.weights + layer.outputs for layer in layers_of(image))


def encoder_features(image: Image) -> int:
    """Numbers that the encoder makes of an image: filters times places, in this order."""
    height, width = image.height, image.width
    for layer in layers_of(image):
        height, width = ((n - size) // layer.stride + 1 for n, size in zip((height, width), layer.kernel, strict=True))
    return layer.outputs * height * width


class Encoder:
    """Images uint8 [batch, channels, height, width] to features [batch, encoder_features(image)].

    parameters, gradients: [encoder_parameter_count(image)] each; layer by layer, weight [outputs, height, width,
        inputs] then bias. Between the layers, too, channels lie innermost: that is 1.5 times as fast as outermost
    """

    def __init__(self, image: Image, parameters: Tensor, gradients: Tensor) -> None:
        self.layers, self._scale = layers_of(image), 1 / image.high
        self.parameters = parameters
        self.weights, self.biases = _views(self.layers, parameters)
        self.weight_gradients, self.bias_gradients = _views(self.layers, gradients)
        self._kept: list[Tensor] = []

    def initialise(self, generator: torch.Generator) -> None:
        """Orthogonal filters (Saxe et al. 2014), gain sqrt(2); biases 0."""
        for weight, bias in zip(self.weights, self.biases, strict=True):
            flat = orthogonal(torch.Size((len(weight), weight[0].numel())), math.sqrt(2), generator)
            weight.copy_(flat.view_as(weight))
            bias.zero_()

    def forward(self, obs: Tensor) -> Tensor:
        """Keeps nothing."""
        parts = [self._layers_forward(part)[-1].flatten(1) for part in torch.split(obs, CHUNK)]
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def forward_keep(self, obs: Tensor) -> Tensor:
        """As `forward`, keeping what `backward` needs."""
        self._kept = self._layers_forward(obs)
        return self._kept[-1].flatten(1)

    def backward(self, gradient: Tensor) -> None:
        """gradient: [batch, features] of the loss by what `forward_keep` returned. Overwrites the gradients."""
        gradient = gradient.view_as(self._kept[-1]).contiguous(memory_format=torch.channels_last)
        for index in range(len(self.layers) - 1, -1, -1):
            inputs, outputs = self._kept[index], self._kept[index + 1]
            gradient = _relu_backward(gradient, outputs, 0, grad_input=gradient)
            stride, outward = [self.layers[index].stride] * 2, [index > 0, True, True]
            weight = self.weights[index]
            gradient, by_weight, by_bias = _convolution_backward(
                gradient, inputs, weight, [len(weight)], stride, [0, 0], [1, 1], False, [0, 0], 1, outward
            )
            self.weight_gradients[index].copy_(by_weight)
            self.bias_gradients[index].copy_(by_bias)
        self._kept = []

    def weight_mask(self) -> Tensor:
        """As networks.Mlp's."""
        mask = torch.zeros_like(self.parameters)
        for weight in _views(self.layers, mask)[0]:
            weight.fill_(1.0)
        return mask

    def tensors(self) -> dict[str, Tensor]:
        """Views by name, `0.weight` [outputs, inputs, height, width] and `0.bias`, as torch's Conv2d names them."""
        named = {}
        for index, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            named[f"{index}.weight"], named[f"{index}.bias"] = weight, bias
        return named

    def _layers_forward(self, obs: Tensor) -> list[Tensor]:
        """The image as the first layer sees it and what each layer makes of it."""
        x = obs.to(torch.float32, memory_format=torch.channels_last).mul_(self._scale)
        kept = [x]
        for layer, weight, bias in zip(self.layers, self.weights, self.biases, strict=True):
            x = torch.conv2d(x, weight, bias, stride=layer.stride).relu_()
            kept.append(x)
        return kept


def _views(layers: list[Layer], flat: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    lengths = [length for layer in layers for length in (layer.weights, layer.outputs)]
    parts = torch.split(flat, lengths)
    weights = [
        part.view(layer.outputs, *layer.kernel, layer.inputs).permute(0, 3, 1, 2)
        for part, layer in zip(parts[::2], layers, strict=True)
    ]
    return weights, list(parts[1::2])
