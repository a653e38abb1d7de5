"""Networks, against torch's own."""

from itertools import pairwise

import pytest
import torch
from torch import nn

from podracer_core.agents.networks import ACTIVATIONS, ActorCritic, Mlp, mlp_sizes, parameter_count

TORCH_ACTIVATIONS = {"tanh": nn.Tanh, "relu": nn.ReLU, "elu": nn.ELU, "silu": nn.SiLU}


def make_mlp(sizes: list[int], activation: str) -> tuple[Mlp, nn.Sequential]:
    """The same network twice: ours and torch's."""
    count = parameter_count(sizes)
    ours = Mlp(sizes, activation, torch.zeros(count), torch.full((count,), torch.nan))
    ours.initialise(1.0, torch.Generator().manual_seed(3))
    layers: list[nn.Module] = []
    for index, (inputs, outputs) in enumerate(pairwise(sizes)):
        layers += [nn.Linear(inputs, outputs), TORCH_ACTIVATIONS[activation]()]
        layers[-2].weight.data = ours.tensors()[f"{index}.weight"].clone()
        layers[-2].bias.data = ours.tensors()[f"{index}.bias"].normal_().clone()
    return ours, nn.Sequential(*layers[:-1])


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("num_layers", [0, 1, 3])
def test_gradients_equal_autograd_s(activation: str, num_layers: int) -> None:
    ours, theirs = make_mlp(mlp_sizes(5, 7, num_layers, 2), activation)
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


def test_weights_start_orthogonal() -> None:
    ours, _ = make_mlp([4, 64, 64, 2], "tanh")
    hidden = ours.weights[1]
    torch.testing.assert_close(hidden @ hidden.t(), 2 * torch.eye(64), atol=1e-5, rtol=0)
    torch.testing.assert_close(ours.weights[0] @ ours.weights[0].t(), 2 * torch.eye(4), atol=1e-5, rtol=0)


def test_actor_and_critic_share_no_parameter_and_together_fill_the_flat_vector() -> None:
    network = ActorCritic(
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
