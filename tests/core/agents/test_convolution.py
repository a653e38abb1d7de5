"""The encoder of images, against torch's own layers and autograd."""

import pytest
import torch
from torch import Tensor, nn

from podracer_core.agents.convolution import CHUNK, Encoder, encoder_features, encoder_parameter_count, layers_of
from podracer_core.agents.networks import ActorCritic
from podracer_core.agents.q_network import QNetwork
from podracer_core.envs.image import Image

SHAPES = [(4, 84, 84), (1, 36, 50), (3, 35, 17), (6, 10, 10), (2, 3, 9), (1, 2, 1)]


def image_of(shape: tuple[int, int, int]) -> Image:
    return Image(*shape, channels_last=False, high=255.0)


def pixels(batch: int, image: Image) -> Tensor:
    return torch.randint(256, (batch, *image.shape), dtype=torch.uint8)


def make(image: Image) -> tuple[Encoder, nn.Sequential]:
    """The same encoder twice: ours and torch's."""
    count = encoder_parameter_count(image)
    ours = Encoder(image, torch.zeros(count), torch.full((count,), torch.nan))
    ours.initialise(torch.Generator().manual_seed(3))
    modules: list[nn.Module] = []
    for index, layer in enumerate(layers_of(image)):
        convolution = nn.Conv2d(layer.inputs, layer.outputs, layer.kernel, layer.stride)
        convolution.weight.data = ours.tensors()[f"{index}.weight"].clone()
        convolution.bias.data = ours.tensors()[f"{index}.bias"].normal_().clone()
        modules += [convolution, nn.ReLU()]
    return ours, nn.Sequential(*modules, nn.Flatten())


@pytest.mark.parametrize("shape", SHAPES)
def test_features_and_gradients_equal_autograd_s(shape: tuple[int, int, int]) -> None:
    image = image_of(shape)
    ours, theirs = make(image)
    obs = pixels(3, image)
    features = theirs(obs / 255)
    assert features.shape == (3, encoder_features(image))
    torch.testing.assert_close(ours.forward(obs), features.detach())
    torch.testing.assert_close(ours.forward_keep(obs), features.detach())
    gradient = torch.randn_like(features)
    features.backward(gradient)
    ours.backward(gradient.clone())
    for index, layer in enumerate(module for module in theirs if isinstance(module, nn.Conv2d)):
        torch.testing.assert_close(ours.weight_gradients[index], layer.weight.grad, atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(ours.bias_gradients[index], layer.bias.grad, atol=1e-4, rtol=1e-4)


def test_many_images_are_taken_in_parts_and_none_at_all_make_no_features() -> None:
    image = image_of((1, 3, 3))
    ours, _ = make(image)
    obs = pixels(2 * CHUNK + 5, image)
    torch.testing.assert_close(ours.forward(obs), torch.cat([ours.forward(obs[:700]), ours.forward(obs[700:])]))
    assert ours.forward(obs[:0]).shape == (0, 16)


@pytest.mark.parametrize("num_layers", [0, 2])
def test_the_encoder_learns_from_the_actor_and_the_critic(num_layers: int) -> None:
    image = image_of((2, 5, 6))
    network = ActorCritic(
        observation_dim=60, action_dim=3, continuous=True, hidden_size=7, num_layers=num_layers, activation="tanh",
        device=torch.device("cpu"), image=image,
    )  # fmt: skip
    network.initialise(1)
    assert network.encoder is not None
    obs, by_action, by_value = pixels(6, image), torch.randn(4, 3), torch.randn(6, 1)

    def loss(parameters: Tensor) -> Tensor:
        """Written out with the layers' views of one flat leaf."""
        views = {}
        for part in (network.encoder, network.actor, network.critic):
            for name, view in part.tensors().items():
                where = view.storage_offset(), view.shape, view.stride()
                views[part, name] = torch.as_strided(parameters, where[1], where[2], where[0])
        encoder, actor, critic = network.encoder, network.actor, network.critic
        features = torch.conv2d(obs / 255, views[encoder, "0.weight"], views[encoder, "0.bias"]).relu().flatten(1)

        def mlp(part, x):
            for index in range(num_layers):
                x = torch.tanh(x @ views[part, f"{index}.weight"].t() + views[part, f"{index}.bias"])
            return x @ views[part, f"{num_layers}.weight"].t() + views[part, f"{num_layers}.bias"]

        return (mlp(actor, features[:4]) * by_action).sum() + (mlp(critic, features) * by_value).sum()

    leaf = network.parameters.clone().requires_grad_()
    loss(leaf).backward()
    features = network.encode_keep(obs)
    network.critic.forward_keep(features)
    network.actor.forward_keep(features[:4])
    network.backward_encoder(network.actor.backward(by_action), network.critic.backward(by_value))
    torch.testing.assert_close(network.gradients, leaf.grad, atol=1e-5, rtol=1e-4)
    parts = (network.encoder, network.actor, network.critic)
    named = sum(tensor.numel() for part in parts for tensor in part.tensors().values())
    assert named + 3 == len(network.parameters)  # and the deviations of three actions


@pytest.mark.parametrize("dueling", [False, True])
def test_a_q_network_s_gradients_are_those_of_small_changes(dueling: bool) -> None:
    image = image_of((1, 4, 4))
    network = QNetwork(
        observation_dim=16, num_actions=3, hidden_size=5, num_layers=1, activation="silu", dueling=dueling,
        device=torch.device("cpu"), image=image,
    )  # fmt: skip
    network.initialise(2)
    obs, gradient = pixels(8, image), torch.randn(8, 3)
    torch.testing.assert_close(network.forward(obs), network.target(obs))
    network.forward_keep(obs)
    network.backward(gradient.clone())
    expected, kept = network.gradients.clone(), network.parameters.clone()
    for index in torch.randperm(len(kept))[:40].tolist():
        sides = []
        for step in (1e-3, -1e-3):
            network.parameters.copy_(kept)
            network.parameters[index] += step
            sides.append((network.forward(obs).double() * gradient).sum())
        slope = float(sides[0] - sides[1]) / 2e-3
        if float(expected[index]) != 0:  # weights between the two streams are held at 0
            assert slope == pytest.approx(float(expected[index]), abs=2e-2, rel=2e-2)
