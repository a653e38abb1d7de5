"""Adam, against torch.optim's."""

import torch

from podracer_core.agents.adam import Adam


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
