"""How a learner's updates multiply matrices: in float32, or with the factors of wide layers rounded to bfloat16.

A product of rounded factors is summed in float32. Weights, gradients, optimizer and targets stay float32, and so do the
products of narrow layers, those of the outputs among them: rounding saves nothing there, and an output's value counts.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

WIDE = 128
"""Inputs and outputs from which on a layer is faster rounded."""

_rounding = False


@contextmanager
def matmul_precision(precision: str, device: torch.device) -> Iterator[None]:
    """precision: as torch.set_float32_matmul_precision has it, in effect inside alone.

    "medium" on a CPU rounds where the processor has AMX, and there leaves narrow layers out, see `round_if_wide`.
    """
    global _rounding
    before = _rounding, torch.get_float32_matmul_precision()
    if device.type == "cpu" and precision == "medium":
        _rounding = multiplies_bfloat16_faster()
        precision = "medium" if _rounding else "highest"
    torch.set_float32_matmul_precision(precision)
    try:
        yield
    finally:
        _rounding = before[0]
        torch.set_float32_matmul_precision(before[1])


def multiplies_bfloat16_faster() -> bool:
    """Whether this processor has AMX: others do it hardly faster, or many times slower."""
    return bool(torch.cpu.get_capabilities().get("amx_bf16", False))


def round_if_wide(weight: Tensor) -> None:
    """To be called before a layer's products; compiled updates round all of them. weight: [..., inputs, outputs]"""
    if _rounding and not torch.compiler.is_compiling():
        wide = min(weight.shape[-2:]) >= WIDE
        torch.set_float32_matmul_precision("medium" if wide else "highest")
