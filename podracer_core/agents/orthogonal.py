"""Weights to begin with (Saxe et al. 2014, arXiv 1312.6120)."""

import torch
from torch import Tensor


def orthogonal(shape: torch.Size, gain: float, generator: torch.Generator) -> Tensor:
    """[rows, columns] with orthonormal rows or columns, whichever are fewer, times `gain`; on the CPU."""
    rows, columns = shape
    drawn = torch.randn(max(rows, columns), min(rows, columns), generator=generator)
    q, r = torch.linalg.qr(drawn)
    q = torch.mul(q, r.diagonal().sign())  # makes the draw uniform over orthogonal matrices
    return torch.mul(q if rows >= columns else q.t(), gain)
