"""SAC's update against autograd's."""

import torch
from torch.distributions import Normal

from podracer_core.agents.replay_buffer import Minibatch
from podracer_core.agents.sac import SAC
from podracer_core.agents.squashed_gaussian import draw
from podracer_core.hyperparameters import SACHyperparameters
from tests.core.agents.test_critics import by_torch
from tests.core.making import PointEnv


def make() -> SAC:
    """With a learning rate so low that an update leaves its gradients and nothing else."""
    hyperparameters = SACHyperparameters(hidden_size=16, ent_coef=0.3, learning_rate=1e-12, layer_norm=True)
    learner = SAC(PointEnv(4), hyperparameters, 1)
    learner.networks["actor"].normal_(0, 0.3)
    return learner


def test_the_actor_s_gradient_is_that_of_its_loss() -> None:
    learner, obs, noise = make(), torch.randn(32, 1), torch.randn(32, 1)
    out = learner.actor.forward(obs).requires_grad_()
    mean, log_std = out.chunk(2, 1)
    before = mean + log_std.exp() * noise
    action = before.tanh()
    log_prob = (Normal(mean, log_std.exp()).log_prob(before) - torch.log1p(-action.square())).sum(1)
    critics = [by_torch(learner.critics, number, "relu") for number in range(2)]
    values = torch.stack([critic(torch.cat((obs, action), 1)).squeeze(1) for critic in critics])
    assert 0 < int((values[0] < values[1]).sum()) < 32  # each is the smaller one somewhere
    (0.3 * log_prob - values.amin(0)).mean().backward()
    drawn = draw(learner.actor.forward_keep(obs), noise)
    torch.testing.assert_close(learner._update_actor(obs, drawn), log_prob.detach(), atol=1e-3, rtol=1e-3)
    torch.testing.assert_close(learner.actor.bias_gradients[-1], out.grad.sum(0), atol=1e-5, rtol=1e-3)


def test_the_target_and_the_critics_gradient_are_those_of_the_loss() -> None:
    learner, obs, noise = make(), torch.randn(32, 1), torch.randn(32, 1)
    reward, discount = torch.randn(32), torch.full((32,), 0.9)
    batch = Minibatch(obs, torch.rand(32, 1), reward, discount, obs)
    mean, log_std = learner.actor.forward(obs).chunk(2, 1)
    before = mean + log_std.exp() * noise
    log_prob = (Normal(mean, log_std.exp()).log_prob(before) - torch.log1p(-before.tanh().square())).sum(1)
    targets = [by_torch(learner.targets, number, "relu") for number in range(2)]
    values = torch.stack([target(torch.cat((obs, before.tanh()), 1)).squeeze(1) for target in targets])
    expected = (reward + 0.9 * (values.amin(0) - 0.3 * log_prob)).detach()
    target = learner.target(batch, draw(learner.actor.forward(obs), noise))
    torch.testing.assert_close(target, expected, atol=1e-4, rtol=1e-4)
    critics = [by_torch(learner.critics, number, "relu") for number in range(2)]
    for critic in critics:
        (0.5 * (critic(torch.cat((obs, batch.action), 1)).squeeze(1) - expected).square().mean()).backward()
    learner.update_critics(batch, target)
    for number, critic in enumerate(critics):
        torch.testing.assert_close(learner.critics.weight_gradients[0][number].t(), critic[0].weight.grad)


def test_one_pass_of_the_actor_serves_the_target_and_its_own_gradient() -> None:
    once, twice, noise = make(), make(), torch.randn(32, 2)
    twice.networks["actor"].copy_(once.networks["actor"])
    obs, action, next_obs = torch.randn(3, 32, 1).unbind()
    batch = Minibatch(obs, action.tanh(), torch.randn(32), torch.full((32,), 0.9), next_obs)
    once.update(batch, noise)
    at_obs, at_next_obs = noise.view(64, 1).chunk(2)
    twice.update_critics(batch, twice.target(batch, draw(twice.actor.forward(batch.next_obs), at_next_obs)))
    twice._update_actor(batch.obs, draw(twice.actor.forward_keep(batch.obs), at_obs))
    for name in ("critics", "actor"):
        torch.testing.assert_close(once.optimizers[name].gradients, twice.optimizers[name].gradients)
