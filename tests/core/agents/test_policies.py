"""Policies: their closed-form gradients against autograd, and what reaches the environment."""

import pytest
import torch
from torch import Tensor
from torch.distributions import Categorical as TorchCategorical
from torch.distributions import Normal

from podracer_core.agents.policies import Categorical, Gaussian, MultiCategorical, policy_loss

BATCH, CLIP = 64, 0.2


def torch_loss(log_prob: Tensor, entropy: Tensor, old: Tensor, advantage: Tensor, ent_coef: float) -> Tensor:
    """The textbook's, with nothing clever in it."""
    ratio = (log_prob - old).exp()
    clipped = torch.clamp(ratio, 1 - CLIP, 1 + CLIP)
    return torch.max(-advantage * ratio, -advantage * clipped).mean() - ent_coef * entropy.mean()


@pytest.mark.parametrize("ent_coef", [0.0, 0.3])
def test_the_categorical_gradient_equals_autograd_s(ent_coef: float) -> None:
    logits = torch.randn(BATCH, 4, requires_grad=True)
    action, advantage = torch.randint(4, (BATCH,)), torch.randn(BATCH)
    distribution = TorchCategorical(logits=logits)
    old = distribution.log_prob(action).detach() + 0.4 * torch.randn(BATCH)
    torch_loss(distribution.log_prob(action), distribution.entropy(), old, advantage, ent_coef).backward()
    policy = Categorical(4, torch.device("cpu"))
    gradient, log_ratio = policy.gradient(logits.detach(), action, old, advantage, CLIP, ent_coef)
    torch.testing.assert_close(gradient, logits.grad)
    torch.testing.assert_close(log_ratio, distribution.log_prob(action).detach() - old)
    torch.testing.assert_close(policy.entropy(logits.detach()), distribution.entropy().detach())


@pytest.mark.parametrize("ent_coef", [0.0, 0.3])
@pytest.mark.parametrize("nvec", [(3, 1, 4), (2, 2), (5,)])
def test_the_gradient_of_several_choices_equals_autograd_s(nvec: tuple[int, ...], ent_coef: float) -> None:
    logits = torch.randn(BATCH, sum(nvec), requires_grad=True)
    action = torch.stack([torch.randint(n, (BATCH,)) for n in nvec], 1)
    advantage = torch.randn(BATCH)
    each = [TorchCategorical(logits=part) for part in logits.split(nvec, 1)]
    log_prob = torch.stack([one.log_prob(action[:, i]) for i, one in enumerate(each)]).sum(0)
    entropy = torch.stack([one.entropy() for one in each]).sum(0)
    old = log_prob.detach() + 0.4 * torch.randn(BATCH)
    torch_loss(log_prob, entropy, old, advantage, ent_coef).backward()
    policy = MultiCategorical(nvec, torch.device("cpu"))
    gradient, log_ratio = policy.gradient(logits.detach(), action, old, advantage, CLIP, ent_coef)
    torch.testing.assert_close(gradient, logits.grad)
    torch.testing.assert_close(log_ratio, log_prob.detach() - old)
    torch.testing.assert_close(policy.log_prob(logits.detach(), action), log_prob.detach())
    torch.testing.assert_close(policy.entropy(logits.detach()), entropy.detach())
    most_likely = torch.stack([one.logits.argmax(1) for one in each], 1)
    assert torch.equal(policy.mode(logits.detach()), most_likely)


@pytest.mark.parametrize("ent_coef", [0.0, 0.3])
def test_the_gaussian_gradient_equals_autograd_s(ent_coef: float) -> None:
    mean, log_std = torch.randn(BATCH, 3, requires_grad=True), torch.randn(3, requires_grad=True)
    action, advantage = mean.detach() + torch.randn(BATCH, 3), torch.randn(BATCH)
    distribution = Normal(mean, log_std.exp())
    log_prob, entropy = distribution.log_prob(action).sum(1), distribution.entropy().sum(1)
    old = log_prob.detach() + 0.4 * torch.randn(BATCH)
    torch_loss(log_prob, entropy, old, advantage, ent_coef).backward()
    log_std_gradient = torch.full((3,), torch.nan)
    policy = Gaussian(log_std.detach(), log_std_gradient, -torch.ones(3), torch.ones(3))
    gradient, _ = policy.gradient(mean.detach(), action, old, advantage, CLIP, ent_coef)
    torch.testing.assert_close(gradient, mean.grad, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(log_std_gradient, log_std.grad, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(policy.log_prob(mean.detach(), action), log_prob.detach(), atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(policy.entropy(mean.detach()), entropy.detach())


def test_the_policy_loss_is_clipped_on_the_pessimistic_side_only() -> None:
    log_ratio = torch.tensor([2.0, 0.5, 2.0, 0.5]).log()
    advantage = torch.tensor([1.0, 1.0, -1.0, -1.0])
    assert policy_loss(log_ratio, advantage, 0.2).item() == pytest.approx(-(1.2 + 0.5 - 2.0 - 0.8) / 4)


def test_categorical_draws_have_the_softmax_s_frequencies() -> None:
    policy = Categorical(3, torch.device("cpu"))
    noise = policy.noise(1, 40_000, torch.Generator().manual_seed(0))[0]
    logits = torch.tensor([0.0, 1.0, 2.0])
    drawn = policy.sample(logits.expand(40_000, 3), noise)
    torch.testing.assert_close(torch.bincount(drawn) / 40_000, torch.softmax(logits, 0), atol=0.01, rtol=0)


def test_draws_of_several_choices_have_each_softmax_s_frequencies_and_are_independent() -> None:
    policy = MultiCategorical((2, 3), torch.device("cpu"))
    noise = policy.noise(1, 40_000, torch.Generator().manual_seed(0))[0]
    logits = torch.tensor([0.0, 1.0, 0.5, -1.0, 1.0])
    drawn = policy.sample(logits.expand(40_000, 5), noise)
    expected = torch.outer(torch.softmax(logits[:2], 0), torch.softmax(logits[2:], 0)).flatten()
    pairs = torch.bincount(3 * drawn[:, 0] + drawn[:, 1])
    torch.testing.assert_close(pairs / 40_000, expected, atol=0.01, rtol=0)


def test_gaussian_actions_are_clipped_to_the_bounds_only_on_their_way_to_the_environment() -> None:
    policy = Gaussian(torch.zeros(1), torch.zeros(1), torch.tensor([2.0]), torch.tensor([6.0]))
    drawn = policy.sample(torch.tensor([[0.0], [0.5]]), torch.tensor([[5.0], [0.0]]))
    torch.testing.assert_close(drawn, torch.tensor([[5.0], [0.5]]))
    torch.testing.assert_close(policy.to_env(drawn), torch.tensor([[6.0], [5.0]]))
