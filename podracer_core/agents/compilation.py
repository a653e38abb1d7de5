"""`torch.compile` for a learner's update: the same lines, fused by the compiler. Uncompiled they are its twin, and the
default.

On a CPU the gradients that networks.py writes out are about as fast as what the compiler makes of them: PPO's faster
from 256 rows on, by a quarter at 4,096, and a tenth slower at 64; SAC's about as fast. And they need no compiling
first, which takes 3 to 4 s for every new set of hyperparameters. See `python -m benchmarks.compiled_update`.
"""

from collections.abc import Callable
from typing import TypeVar, cast

import torch

Update = TypeVar("Update", bound=Callable[..., object])

MOST_VARIANTS = 256
"""Compiled forms of one update that a process keeps: one for each combination of shapes and hyperparameters."""


def compiled(update: Update) -> Update:
    """update: a learner's method as a function of its class, so that later learners in this process find it compiled.

    It is compiled when it is first called, in some seconds, and again with other hyperparameters. What the compiler
    makes is kept on the disk, too.
    """
    torch._dynamo.config.recompile_limit = MOST_VARIANTS
    torch._dynamo.config.accumulated_recompile_limit = MOST_VARIANTS
    return cast(Update, torch.compile(update))


def missing_compiler(device: torch.device) -> str | None:
    """What is missing on this machine to compile for `device`, as a sentence's end, or None."""
    if device.type == "cuda":
        from torch.utils._triton import has_triton

        return None if has_triton() else "Triton does not work here"
    from torch._inductor import cpp_builder, exc

    try:
        cpp_builder.get_cpp_compiler()
    except exc.InvalidCxxCompiler:
        return "no C++ compiler is installed"
    return None
