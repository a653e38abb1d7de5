"""The squashed Gaussian's densities and gradients, against torch's own."""

import torch
from torch.distributions import Normal, TanhTransform, TransformedDistribution

from podracer_core.agents.squashed_gaussian import draw, draw_action, draw_gradient


def test_actions_and_densities_equal_torch_s() -> None:
    out, noise = 0.5 * torch.randn(6, 4), torch.randn(6, 2)
    drawn = draw(out, noise)
    mean, log_std = out.chunk(2, 1)
    before = mean + log_std.exp() * noise
    torch.testing.assert_close(drawn.action, before.tanh())
    torch.testing.assert_close(draw_action(out, noise), before.tanh())
    squashed = TransformedDistribution(Normal(mean, log_std.exp()), TanhTransform(cache_size=1))
    squashed.transforms[0]._cached_x_y = before, before.tanh()
    torch.testing.assert_close(drawn.log_prob, squashed.log_prob(before.tanh()).sum(1))


def test_the_gradient_equals_autograd_s_and_stops_where_the_deviation_is_bounded() -> None:
    out, noise = torch.randn(6, 4), torch.randn(6, 2)
    out[0, 2], out[1, 3] = 5.0, -30.0
    out.requires_grad_()
    ent_coef, slope = torch.tensor([0.3]), torch.randn(6, 2)
    mean, log_std = out.chunk(2, 1)
    log_std = log_std.clamp(-20, 2)
    before = mean + log_std.exp() * noise
    density = -0.5 * noise**2 - log_std - torch.log(1 - before.double().tanh() ** 2)
    ((ent_coef * density.sum(1)).mean() - (slope * before.tanh()).sum()).backward()
    gradient = draw_gradient(draw(out.detach(), noise), -slope, ent_coef)
    torch.testing.assert_close(gradient, out.grad, atol=1e-4, rtol=1e-3)
    assert gradient[0, 2] == gradient[1, 3] == 0


def test_an_action_at_its_bound_has_a_finite_density() -> None:
    drawn = draw(torch.tensor([[60.0, 0.0]]), torch.zeros(1, 1))
    assert drawn.action == 1
    assert torch.isfinite(drawn.log_prob).all()
