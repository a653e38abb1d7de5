"""Layer normalisation (Ba, Kiros and Hinton 2016, arXiv 1607.06450) over views of flat vectors, for one network or
several computed together."""

import copy

import torch
from torch import Tensor

EPSILON = 1e-5
_forward = torch.ops.aten.native_layer_norm.default
_backward = torch.ops.aten.native_layer_norm_backward.default


class LayerNorm:
    """x to gain * (x - mean) / deviation + shift, mean and deviation being over the features of each row.

    gain, shift and their gradients: [features] for x [batch, features]; [count, 1, features] for x
        [count, batch, features]
    groups: equal parts of the features that are normalised apart from each other
    """

    def __init__(self, gain: Tensor, shift: Tensor, gradients: tuple[Tensor, Tensor], groups: int = 1) -> None:
        self.gain, self.shift = gain, shift
        self._gain_gradient, self._shift_gradient = gradients
        self._parts = (groups, gain.shape[-1] // groups)
        self._kept: tuple[Tensor, ...] = ()

    def forward(self, x: Tensor) -> Tensor:
        return torch.addcmul(self.shift, self._normalise(x)[0].view_as(x), self.gain)

    def forward_keep(self, x: Tensor) -> Tensor:
        """As `forward`, keeping what the gradients need."""
        normal, mean, inverse_deviation = self._normalise(x)
        normal = normal.view_as(x)
        self._kept = x, normal, mean, inverse_deviation
        return torch.addcmul(self.shift, normal, self.gain)

    def keep_first(self, rows: int) -> None:
        """Of what `forward_keep` kept, that of the first `rows` of x [batch, features] alone."""
        self._kept = tuple(kept[:rows] for kept in self._kept)

    def backward(self, gradient: Tensor) -> Tensor:
        """gradient: of the loss by what `forward_keep` gave. Overwrites the parameters' and returns that by x."""
        torch.sum(gradient * self._kept[1], -2, keepdim=self.gain.dim() > 1, out=self._gain_gradient)
        torch.sum(gradient, -2, keepdim=self.gain.dim() > 1, out=self._shift_gradient)
        return self.input_gradient(gradient)

    def input_gradient(self, gradient: Tensor) -> Tensor:
        """As `backward` returns it, with no other gradient."""
        x, _, mean, inverse_deviation = self._kept
        apart, by_normal = self._apart(x), self._apart(gradient * self.gain)
        width = [self._parts[1]]
        by_x: Tensor = _backward(by_normal, apart, width, mean, inverse_deviation, None, None, [True, False, False])[0]
        return by_x.view_as(x)

    def chosen(self, index: Tensor | slice) -> "LayerNorm":
        """Those of some networks, for `forward`, `forward_keep` and `input_gradient` alone."""
        few = copy.copy(self)
        few.gain, few.shift = self.gain[index], self.shift[index]
        return few

    def _normalise(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        normal, mean, inverse_deviation = _forward(self._apart(x), [self._parts[1]], None, None, EPSILON)
        return normal, mean, inverse_deviation

    def _apart(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:-1], *self._parts)
