"""Critics: what they say and their gradients, against torch's own."""

from itertools import pairwise

import pytest
import torch
from torch import nn

from podracer_core.agents.critics import Critics
from tests.core.agents.test_networks import TORCH_ACTIVATIONS


def make(activation: str = "relu", layer_norm: bool = False) -> Critics:
    critics = Critics(3, [4, 8, 8, 2], activation, torch.device("cpu"), layer_norm=layer_norm)
    critics.initialise(torch.Generator().manual_seed(1))
    for vector in (*critics.biases, *(norm.gain for norm in critics.norms), *(norm.shift for norm in critics.norms)):
        vector.normal_()
    return critics


def by_torch(critics: Critics, number: int, activation: str) -> nn.Sequential:
    """One of the networks, of torch's own layers."""
    tensors = critics.tensors()
    layers: list[nn.Module] = []
    for index, (inputs, outputs) in enumerate(pairwise(critics.sizes)):
        layers.append(nn.Linear(inputs, outputs))
        named = [(f"{number}.{index}", layers[-1])]
        if critics.norms and index < len(critics.norms):
            layers.append(nn.LayerNorm(outputs))
            named.append((f"{number}.{index}.norm", layers[-1]))
        for name, layer in named:
            layer.load_state_dict({part: tensors[f"{name}.{part}"] for part in ("weight", "bias")})
        layers.append(TORCH_ACTIVATIONS[activation]())
    return nn.Sequential(*layers[:-1])


@pytest.mark.parametrize("layer_norm", [False, True])
@pytest.mark.parametrize("activation", ["relu", "tanh", "elu", "silu"])
def test_values_and_gradients_equal_torch_s(activation: str, layer_norm: bool) -> None:
    critics, x = make(activation, layer_norm), torch.randn(5, 4, requires_grad=True)
    theirs = [by_torch(critics, number, activation) for number in range(3)]
    upstream = torch.randn(3, 5, 2)
    expected = torch.stack([network(x) for network in theirs])
    expected.backward(upstream)
    values = critics.forward_keep(x.detach())
    torch.testing.assert_close(values, expected.detach())
    torch.testing.assert_close(critics.forward(x.detach()), values)
    torch.testing.assert_close(critics.input_gradient(upstream), x.grad)
    torch.testing.assert_close(critics.input_gradient(upstream, 3), x.grad[:, 3:])
    critics.backward(upstream)
    critics.parameters.copy_(critics.gradients)  # so that the gradients bear the parameters' names
    for number, network in enumerate(theirs):
        ours = [tensor for name, tensor in critics.tensors().items() if name.startswith(f"{number}.")]
        norms = [p.grad for layer in network if isinstance(layer, nn.LayerNorm) for p in layer.parameters()]
        linear = [p.grad for layer in network if isinstance(layer, nn.Linear) for p in layer.parameters()]
        for mine, gradient in zip(ours, linear + norms, strict=True):
            torch.testing.assert_close(mine, gradient, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("layer_norm", [False, True])
def test_the_first_alone_and_a_subset_say_and_derive_what_they_do_among_all(layer_norm: bool) -> None:
    critics, x, upstream = make(layer_norm=layer_norm), torch.randn(5, 4), torch.randn(1, 5, 2)
    values = critics.forward_keep(x)
    torch.testing.assert_close(critics.subset(torch.tensor([2, 0])).forward(x), values[[2, 0]])
    first = critics.first()
    torch.testing.assert_close(first.forward_keep(x), values[:1])
    torch.testing.assert_close(
        first.input_gradient(upstream), critics.input_gradient(torch.cat((upstream, torch.zeros(2, 5, 2))))
    )


def test_weights_alone_decay() -> None:
    critics = make(layer_norm=True)
    critics.parameters.copy_(critics.weight_mask())
    for name, tensor in critics.tensors().items():
        assert (tensor == (name.endswith("weight") and "norm" not in name)).all(), name


def test_each_starts_with_weights_of_its_own() -> None:
    first, second, _ = make().forward(torch.randn(5, 4))
    assert not torch.allclose(first, second)
