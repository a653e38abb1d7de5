"""Critics: what they say and their gradients, against torch's own."""

import pytest
import torch

from podracer_core.agents.critics import Critics


def make(activation: str = "relu") -> Critics:
    critics = Critics(3, [4, 8, 8, 1], activation, torch.device("cpu"))
    critics.initialise(torch.Generator().manual_seed(1))
    return critics


def by_torch(critics: Critics, parameters: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The same networks one by one, differentiable."""
    activate = critics.activation.forward
    weights, biases = critics._views(parameters)
    values = []
    for each in range(critics.count):
        y = x
        for index, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
            y = y @ weight[each] + bias[each]
            y = activate(y) if index < len(weights) - 1 else y
        values.append(y.squeeze(1))
    return torch.stack(values)


@pytest.mark.parametrize("activation", ["relu", "tanh", "elu", "silu"])
def test_values_and_gradients_equal_torch_s(activation: str) -> None:
    critics, x = make(activation), torch.randn(5, 4, requires_grad=True)
    parameters = critics.parameters.clone().requires_grad_()
    upstream = torch.randn(3, 5)
    expected = by_torch(critics, parameters, x)
    expected.backward(upstream)
    values = critics.forward_keep(x.detach())
    torch.testing.assert_close(values, expected.detach())
    torch.testing.assert_close(critics.forward(x.detach()), values)
    torch.testing.assert_close(critics.input_gradient(upstream), x.grad)
    critics.backward(upstream)
    torch.testing.assert_close(critics.gradients, parameters.grad)


def test_each_starts_with_weights_of_its_own() -> None:
    first, second, _ = make().forward(torch.randn(5, 4))
    assert not torch.allclose(first, second)
