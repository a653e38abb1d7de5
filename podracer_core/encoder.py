"""The convolutional encoder of a checkpoint, played with numpy; `agents.convolution.Encoder` trains it."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from podracer_core.envs.image import Image

Array = npt.NDArray[Any]


class NumpyEncoder:
    """image: what comes in; weights, biases, strides: layer by layer, `weights` [outputs, inputs, height, width]

    layers: (weight, bias, stride) of each
    """

    def __init__(self, image: Image, weights: list[Array], biases: list[Array], strides: Sequence[int]) -> None:
        self.image = image
        self.layers = list(zip(weights, biases, strides, strict=True))

    @classmethod
    def read(cls, tensors: Mapping[str, Array], network: Mapping[str, Any]) -> Self | None:
        """From a checkpoint's tensors and its metadata's "network"; None where that sees vectors."""
        if not network.get("image"):
            return None
        strides = [int(stride) for stride in network["strides"]]
        weights, biases = ([tensors[f"encoder.{i}.{kind}"] for i in range(len(strides))] for kind in ("weight", "bias"))
        return cls(Image(**network["image"]), weights, biases, strides)

    def features(self, pixels: int) -> int:
        """How many it makes of an image of so many pixels. Raises ValueError where its layers do not fit together."""
        image = self.image
        if math.prod(image.shape) != pixels or not image.high > 0 or not self.layers:
            raise ValueError(f"observations of {pixels} numbers are no {image}")
        shape = image.shape
        for index, (weight, bias, stride) in enumerate(self.layers):
            outputs, inputs, *kernel = weight.shape
            sides = [(n - size) // max(stride, 1) + 1 for n, size in zip(shape[1:], kernel, strict=True)]
            if inputs != shape[0] or bias.shape != (outputs,) or min(sides) < 1 or stride < 1:
                raise ValueError(
                    f"layer {index} of the encoder, {weight.shape} with stride {stride}, does not fit images {shape}"
                )
            shape = (outputs, sides[0], sides[1])
        return math.prod(shape)

    def forward(self, rows: Array) -> Array:
        """rows: [batch, pixels], images flattened as the environment gave them. Returns [batch, features]."""
        x = self.image.channels_first(rows) * np.float32(1 / self.image.high)
        for weight, bias, stride in self.layers:
            x = _convolve(x, weight, bias, stride)
        return x.reshape(len(x), -1)


def _convolve(x: Array, weight: Array, bias: Array, stride: int) -> Array:
    """A convolution without padding, and a ReLU. x: [batch, inputs, height, width]"""
    windows = sliding_window_view(x, weight.shape[2:], (2, 3))[:, :, ::stride, ::stride]
    batch, inputs, rows, columns, *kernel = windows.shape
    patches = windows.transpose(0, 2, 3, 1, 4, 5).reshape(batch * rows * columns, inputs * math.prod(kernel))
    out = np.maximum(patches @ weight.reshape(len(weight), -1).T + bias, 0)
    return np.ascontiguousarray(out.reshape(batch, rows, columns, -1).transpose(0, 3, 1, 2))
