"""Actions as an environment's `step` takes them. Loads neither torch nor gymnasium."""

from typing import Any

import numpy as np
import numpy.typing as npt

from podracer_core.envs.spaces import SpaceInfo

Array = npt.NDArray[Any]


class NativeActions:
    """Brings actions as vector_env.VectorEnv has them to the space's own dtype, shape, start and bounds.

    Numbers beyond a Box's bounds are clipped to them; those for a Box of integers are first rounded to the nearest.
    """

    def __init__(self, space: SpaceInfo) -> None:
        self._space = space
        dtype = np.dtype(space.dtype)
        self._rounded = space.kind == "box" and dtype.kind != "f"
        self._start: Array | int = np.asarray(space.starts) if space.starts else space.start
        if space.kind == "box":
            self._low, self._high = (np.asarray(bounds, np.float64).astype(dtype) for bounds in (space.low, space.high))

    def __call__(self, actions: Array) -> Array:
        """actions: int64 [n] or [n, entries] counted from 0, or floats [n, action_dim]. Returns [n, *shape]."""
        if self._space.kind == "box":
            values = np.rint(actions) if self._rounded else actions
            native: Array = np.clip(values, self._low, self._high).astype(self._space.dtype)
        else:
            native = (actions + self._start).astype(self._space.dtype, copy=False)
        return native.reshape(len(actions), *self._space.shape)

    def each(self, actions: Array) -> list[Any]:
        """One by one: integers of a Discrete space, else arrays, even those that have no axis."""
        native = self(actions)
        if self._space.kind == "discrete":
            return list(native)
        return [native[index, ...] for index in range(len(native))]
