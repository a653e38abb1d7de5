"""How exactly float32 matrices are multiplied while a learner updates."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def matmul_precision(precision: str) -> Iterator[None]:
    """precision: as torch.set_float32_matmul_precision has it, in effect inside alone.

    With "medium" a processor that multiplies bfloat16 faster (AMX; a GPU's tensor cores) rounds the factors to it and
    sums in float32: three times as fast there for layers of 256. Weights, optimizer and everything else stay float32.
    """
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
