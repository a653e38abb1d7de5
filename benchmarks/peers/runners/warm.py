"""PyTorch imports half of itself on an optimizer's first step: imports count for nobody, so it does that beforehand."""

import torch


def warm_up(threads: int) -> None:
    """One step of a network of a single weight, on so many threads from then on."""
    torch.set_num_threads(threads)
    weight = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.Adam([weight])
    weight.sum().backward()
    optimizer.step()
