"""Keeps what MuJoCo's compiler finds old-fashioned in Gymnasium's models from stderr, and out of a file in this folder.

Loads MuJoCo only for who needs it.
"""

import contextlib
from collections.abc import Iterator

from gymnasium.envs.registration import EnvSpec


@contextlib.contextmanager
def unwarned() -> Iterator[None]:
    """While a model is compiled. Nothing where MuJoCo is not installed."""
    try:
        import mujoco  # type: ignore[import-untyped]
    except ImportError:
        yield
        return
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda text: None)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(before)


def unwarned_for(spec: EnvSpec) -> contextlib.AbstractContextManager[None]:
    """While an environment is made."""
    return unwarned() if "mujoco" in str(spec.entry_point) else contextlib.nullcontext()
