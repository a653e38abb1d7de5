"""Adam and RMSprop, against torch.optim's."""

import torch

from podracer_core.agents.adam import Adam
from podracer_core.agents.rmsprop import RMSprop


def test_steps_equal_torch_s_adam_with_clipped_gradients() -> None:
    ours = Adam(torch.ones(50), torch.zeros(50), 0.01)
    theirs = torch.ones(50, requires_grad=True)
    optimizer = torch.optim.Adam([theirs], lr=0.01, eps=1e-5)
    for index in range(20):
        gradient = torch.randn(50, generator=torch.Generator().manual_seed(index))
        theirs.grad = gradient.clone()
        torch.nn.utils.clip_grad_norm_([theirs], 3.0)
        optimizer.step()
        ours.gradients.copy_(gradient)
        ours.clip_gradients(3.0)
        ours.step()
    torch.testing.assert_close(ours.parameters, theirs.detach())


def test_loading_takes_the_moments_and_leaves_the_learning_rate() -> None:
    old = Adam(torch.ones(3), torch.ones(3), 0.5)
    old.step()
    new = Adam(torch.ones(3), torch.ones(3), 0.001, betas=(0.8, 0.9), eps=1e-3)
    new.load_state(old.state())
    assert (new.learning_rate, new.betas, new.eps, new.num_steps) == (0.001, (0.8, 0.9), 1e-3, 1)
    torch.testing.assert_close(new.exp_avg_sq, old.exp_avg_sq)


def test_weight_decay_is_adamw_s_and_leaves_out_what_does_not_decay() -> None:
    decays = (torch.arange(50) < 30).float()
    ours = Adam(torch.ones(50), torch.zeros(50), 0.01, weight_decay=0.3, decays=decays)
    theirs = [torch.ones(30, requires_grad=True), torch.ones(20, requires_grad=True)]
    groups = [{"params": theirs[:1], "weight_decay": 0.3}, {"params": theirs[1:], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=0.01, eps=1e-5)
    for index in range(20):
        gradient = torch.randn(50, generator=torch.Generator().manual_seed(index))
        theirs[0].grad, theirs[1].grad = gradient[:30].clone(), gradient[30:].clone()
        optimizer.step()
        ours.gradients.copy_(gradient)
        ours.step()
    torch.testing.assert_close(ours.parameters, torch.cat(theirs).detach())


def test_weight_decay_is_apart_from_the_gradient_in_rmsprop_too() -> None:
    plain, decaying = (RMSprop(torch.full((3,), 2.0), torch.ones(3), 0.01, weight_decay=w) for w in (0.0, 0.5))
    plain.step()
    decaying.step()
    torch.testing.assert_close(plain.parameters - decaying.parameters, torch.full((3,), 2.0 * 0.01 * 0.5))
