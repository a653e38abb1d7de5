"""A policy's steps as a TorchScript module, which C++ and Python load without Podracer."""

import io
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from podracer_core.exporting.steps import (
    Activate,
    Bound,
    Convolve,
    Flatten,
    Largest,
    LargestOfEach,
    LayerNorm,
    Linear,
    Normalise,
    Pixels,
    Step,
)


class PixelsModule(nn.Module):
    def __init__(self, step: Pixels) -> None:
        super().__init__()
        image = step.image
        self.scale, self.channels_last = step.scale, image.channels_last
        self.split: list[int] = [image.frames, image.height, image.width, image.channels // image.frames]
        self.shape: list[int] = list(image.shape)

    def forward(self, rows: Tensor) -> Tensor:
        if self.channels_last:
            rows = rows.reshape([len(rows)] + self.split).permute(0, 1, 4, 2, 3)  # noqa: RUF005 - as below
        return rows.reshape([len(rows)] + self.shape) * self.scale  # noqa: RUF005 - as below


class ConvolveModule(nn.Module):
    def __init__(self, step: Convolve) -> None:
        super().__init__()
        outputs, inputs, *kernel = step.weight.shape
        self.convolution = nn.Conv2d(inputs, outputs, (kernel[0], kernel[1]), step.stride)
        self.convolution.load_state_dict({"weight": torch.tensor(step.weight), "bias": torch.tensor(step.bias)})

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.convolution(x))


class NormaliseModule(nn.Module):
    scale: Tensor
    shift: Tensor

    def __init__(self, step: Normalise) -> None:
        super().__init__()
        self.clip = step.clip
        self.register_buffer("scale", torch.tensor(step.scale))
        self.register_buffer("shift", torch.tensor(step.shift))

    def forward(self, obs: Tensor) -> Tensor:
        return (obs * self.scale + self.shift).clamp(-self.clip, self.clip)


class LargestModule(nn.Module):
    def __init__(self, step: Largest) -> None:
        super().__init__()
        self.start = step.start

    def forward(self, out: Tensor) -> Tensor:
        return out.argmax(1) + self.start


class LargestOfEachModule(nn.Module):
    shape: list[int]
    starts: Tensor

    def __init__(self, step: LargestOfEach) -> None:
        super().__init__()
        self.choices: list[int] = list(step.choices)
        self.shape = list(step.shape)
        self.dtype = getattr(torch, step.dtype)
        self.register_buffer("starts", torch.tensor(step.starts))

    def forward(self, out: Tensor) -> Tensor:
        largest = torch.stack([entry.argmax(1) for entry in torch.split(out, self.choices, 1)], 1)
        return (largest + self.starts).to(self.dtype).reshape([len(out)] + self.shape)  # noqa: RUF005 - as below


class BoundModule(nn.Module):
    shape: list[int]  # declared here, where TorchScript sees the type of an empty one
    centre: Tensor
    half_range: Tensor
    low: Tensor
    high: Tensor

    def __init__(self, step: Bound) -> None:
        super().__init__()
        self.tanh = step.squash == "tanh"
        self.rounded = np.dtype(step.dtype).kind != "f"
        self.shape = list(step.shape)
        self.register_buffer("centre", torch.tensor((step.low + step.high) / 2))
        self.register_buffer("half_range", torch.tensor((step.high - step.low) / 2))
        self.register_buffer("low", torch.tensor(step.low.astype(step.dtype)))
        self.register_buffer("high", torch.tensor(step.high.astype(step.dtype)))

    def forward(self, out: Tensor) -> Tensor:
        squashed = out.tanh() if self.tanh else out.clamp(-1.0, 1.0)
        scaled = self.centre + squashed.to(torch.float64) * self.half_range
        if self.rounded:
            scaled = scaled.round()
        bounded = torch.max(torch.min(scaled.to(self.low.dtype), self.high), self.low)
        return bounded.reshape([len(out)] + self.shape)  # noqa: RUF005 - TorchScript knows no unpacking here


def _linear(step: Linear) -> nn.Module:
    inputs, outputs = step.weight.shape
    layer = nn.Linear(inputs, outputs)
    layer.load_state_dict({"weight": torch.tensor(step.weight.T), "bias": torch.tensor(step.bias)})
    return layer


def _layer_norm(step: LayerNorm) -> nn.Module:
    layer = nn.LayerNorm(len(step.gain), step.epsilon)
    layer.load_state_dict({"weight": torch.tensor(step.gain), "bias": torch.tensor(step.shift)})
    return layer


def _activate(step: Activate) -> nn.Module:
    module: nn.Module = {"tanh": nn.Tanh, "relu": nn.ReLU, "elu": nn.ELU, "silu": nn.SiLU}[step.name]()
    return module


MODULES: dict[type, Callable[[Any], nn.Module]] = {
    Pixels: PixelsModule,
    Convolve: ConvolveModule,
    Flatten: lambda step: nn.Flatten(),
    Normalise: NormaliseModule,
    Linear: _linear,
    LayerNorm: _layer_norm,
    Activate: _activate,
    Largest: LargestModule,
    LargestOfEach: LargestOfEachModule,
    Bound: BoundModule,
}


def build(steps: list[Step], metadata: Mapping[str, str]) -> bytes:
    """The module as a file's bytes; `metadata` are its extra files."""
    modules = nn.Sequential(*(MODULES[type(step)](step) for step in steps)).eval().requires_grad_(False)
    buffer = io.BytesIO()
    with torchscript():
        torch.jit.save(torch.jit.script(modules), buffer, _extra_files=dict(metadata))
    return buffer.getvalue()


@contextmanager
def torchscript() -> Iterator[None]:
    """torch 2.13 calls TorchScript deprecated at each use; it is what the person asked for."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"`torch\.jit\.\w+` is ", category=DeprecationWarning)
        yield
