"""Networks, against torch's own."""

from itertools import pairwise

import pytest
import torch
from torch import nn

from podracer_core.agents.networks import ACTIVATIONS, ActorCritic, Mlp, mlp_sizes, parameter_count

TORCH_ACTIVATIONS = {"tanh": nn.Tanh, "relu": nn.ReLU, "elu": nn.ELU, "silu": nn.SiLU}


def make_mlp(sizes: list[int], activation: str, layer_norm: bool = False) -> tuple[Mlp, nn.Sequential]:
    """The same network twice: ours and torch's."""
    parameters, gradients = torch.zeros(2, parameter_count(sizes, layer_norm)).unbind(0)
    ours = Mlp(sizes, activation, parameters, gradients.fill_(torch.nan), layer_norm=layer_norm)
    ours.initialise(1.0, torch.Generator().manual_seed(3))
    layers: list[nn.Module] = []
    for index, (inputs, outputs) in enumerate(pairwise(sizes)):
        layers += [nn.Linear(inputs, outputs), TORCH_ACTIVATIONS[activation]()]
        layers[-2].weight.data = ours.tensors()[f"{index}.weight"].clone()
        layers[-2].bias.data = ours.tensors()[f"{index}.bias"].normal_().clone()
        if layer_norm and index < len(sizes) - 2:
            layers.insert(-1, nn.LayerNorm(outputs))
            layers[-2].weight.data = ours.tensors()[f"{index}.norm.weight"].normal_().clone()
            layers[-2].bias.data = ours.tensors()[f"{index}.norm.bias"].normal_().clone()
    return ours, nn.Sequential(*layers[:-1])


@pytest.mark.parametrize("layer_norm", [False, True])
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("num_layers", [0, 1, 3])
def test_gradients_equal_autograd_s(activation: str, num_layers: int, layer_norm: bool) -> None:
    ours, theirs = make_mlp(mlp_sizes(5, 7, num_layers, 2), activation, layer_norm)
    x, gradient = torch.randn(11, 5), torch.randn(11, 2)
    torch.testing.assert_close(ours.forward(x), theirs(x).detach())
    torch.testing.assert_close(ours.forward_keep(x), theirs(x).detach())
    ours.backward(gradient)
    theirs(x).backward(gradient)
    for weight, bias, layer in zip(
        ours.weight_gradients, ours.bias_gradients, [m for m in theirs if isinstance(m, nn.Linear)], strict=True
    ):
        torch.testing.assert_close(weight.t(), layer.weight.grad)
        torch.testing.assert_close(bias, layer.bias.grad)
    for norm, layer in zip(ours.norms, [m for m in theirs if isinstance(m, nn.LayerNorm)], strict=True):
        torch.testing.assert_close(norm._gain_gradient, layer.weight.grad)
        torch.testing.assert_close(norm._shift_gradient, layer.bias.grad)


def test_streams_are_normalised_apart_with_the_same_gradients_as_two_networks_of_one_stream() -> None:
    """The last of one hidden layer, split in two, is that of two networks side by side."""
    sizes = [3, 8, 2]
    wide, _ = make_mlp(sizes, "tanh", True)
    apart = Mlp(sizes, "tanh", wide.parameters, torch.zeros_like(wide.parameters), layer_norm=True, streams=2)
    x, gradient = torch.randn(6, 3), torch.randn(6, 2)
    hidden = [slice(0, 4), slice(4, 8)]
    tensors = {name: tensor.clone().requires_grad_() for name, tensor in apart.tensors().items()}
    out = tensors["1.bias"]
    for part in hidden:
        y = nn.functional.linear(x, tensors["0.weight"][part], tensors["0.bias"][part])
        y = nn.functional.layer_norm(y, [4], tensors["0.norm.weight"][part], tensors["0.norm.bias"][part])
        out = out + nn.functional.linear(y.tanh(), tensors["1.weight"][:, part])
    out.backward(gradient)
    torch.testing.assert_close(apart.forward_keep(x), out.detach())
    apart.backward(gradient)
    torch.testing.assert_close(apart.weight_gradients[0].t(), tensors["0.weight"].grad)
    torch.testing.assert_close(apart.norms[0]._gain_gradient, tensors["0.norm.weight"].grad)


def test_weights_start_orthogonal() -> None:
    ours, _ = make_mlp([4, 64, 64, 2], "tanh")
    hidden = ours.weights[1]
    torch.testing.assert_close(hidden @ hidden.t(), 2 * torch.eye(64), atol=1e-5, rtol=0)
    torch.testing.assert_close(ours.weights[0] @ ours.weights[0].t(), 2 * torch.eye(4), atol=1e-5, rtol=0)


@pytest.mark.parametrize("layer_norm", [False, True])
def test_actor_and_critic_share_no_parameter_and_together_fill_the_flat_vector(layer_norm: bool) -> None:
    network = ActorCritic(
        layer_norm=layer_norm,
        observation_dim=3,
        action_dim=2,
        continuous=True,
        hidden_size=8,
        num_layers=2,
        activation="tanh",
        device=torch.device("cpu"),
    )
    network.parameters.copy_(torch.arange(len(network.parameters)))
    parts = [*network.actor.tensors().values(), *network.critic.tensors().values(), network.log_std]
    seen = torch.cat([part.reshape(-1) for part in parts if part is not None])
    torch.testing.assert_close(seen.sort().values, network.parameters)
    mask = network.weight_mask()
    network.parameters.copy_(mask)
    for mlp in (network.actor, network.critic):
        for name, tensor in mlp.tensors().items():
            assert (tensor == (name.endswith("weight") and "norm" not in name)).all(), name
    assert (network.log_std == 0).all()
