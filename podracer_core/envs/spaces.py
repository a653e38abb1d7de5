"""Spaces as plain data, and observations flattened to float32. Loads neither torch nor gymnasium."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict

from podracer_core.envs.image import Image, axes_of
from podracer_core.errors import UnsupportedSpaceError

if TYPE_CHECKING:
    import gymnasium

Float32Array = npt.NDArray[np.float32]
SpaceKind = Literal["box", "discrete", "multidiscrete", "multibinary", "tuple", "dict"]

MOST_BOUND = 2.0**53
"""What lies beyond is meant as no bound: the largest float32, or the largest int64."""


class SpaceInfo(BaseModel):
    """What a Gymnasium space is, ready for strict JSON.

    low, high: bounds of a box, flattened; None where there is none; of an image one bound for all
    n: values of a discrete space, counted from `start`
    nvec: values of each entry of a multidiscrete space, counted from `starts`
    parts: (key, space) of a tuple's or dict's parts, in the order in which they are flattened
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    kind: SpaceKind
    shape: tuple[int, ...] = ()
    dtype: str = "float32"
    low: tuple[float | None, ...] | None = None
    high: tuple[float | None, ...] | None = None
    n: int | None = None
    start: int = 0
    nvec: tuple[int, ...] = ()
    starts: tuple[int, ...] = ()
    parts: tuple[tuple[str, "SpaceInfo"], ...] = ()

    @property
    def flat_dim(self) -> int:
        """Length of one observation once flattened; discrete values become one-hot."""
        if self.kind == "discrete":
            assert self.n is not None
            return self.n
        if self.kind == "multidiscrete":
            return sum(self.nvec)
        if self.kind in ("tuple", "dict"):
            return sum(part.flat_dim for _, part in self.parts)
        return math.prod(self.shape)

    @property
    def choices(self) -> tuple[int, ...]:
        """Values of each entry of a multidiscrete or multibinary space; empty for any other."""
        return (2,) * math.prod(self.shape) if self.kind == "multibinary" else self.nvec

    @property
    def action_dim(self) -> int:
        """Outputs of a policy that acts in this space: one a discrete value or, of a box, one a number."""
        return sum(self.choices) or self.flat_dim

    @property
    def bounded(self) -> bool:
        """Whether every entry of a box has a lower and an upper bound that float64 counts exactly up to."""
        bounds = (*(self.low or (None,)), *(self.high or (None,)))
        return all(bound is not None and abs(bound) <= MOST_BOUND for bound in bounds)

    @property
    def is_image(self) -> bool:
        """Whether this is a box of pixels: bytes in rows and columns, or a mask of several channels."""
        axes = len(self.shape)
        return self.kind == "box" and ((self.dtype == "uint8" and axes >= 2) or (self.dtype == "bool" and axes >= 3))

    @property
    def image(self) -> Image | None:
        """What an agent sees of an image; None for vectors, and where the axes can be read in two ways."""
        axes = axes_of(self.shape) if self.is_image else None
        if axes is None:
            return None
        high = max((bound for bound in self.high or () if bound), default=1.0)
        return Image(axes.channels, axes.height, axes.width, axes.channels_last, high, axes.frames)

    @property
    def text(self) -> str:
        """For a sentence: Box(3,), Discrete(2), Tuple(Discrete(32), Discrete(11))."""
        if self.kind == "discrete":
            return f"Discrete({self.n})"
        if self.kind == "multidiscrete":
            return f"MultiDiscrete({list(self.nvec)})"
        if self.kind in ("tuple", "dict"):
            inner = ", ".join(part.text if self.kind == "tuple" else f"{key}: {part.text}" for key, part in self.parts)
            return f"{self.kind.title()}({inner})"
        return f"{'Box' if self.kind == 'box' else 'MultiBinary'}{self.shape}"


def box(low: list[float], high: list[float]) -> SpaceInfo:
    """A float32 box of one axis; infinite bounds become None."""
    return SpaceInfo(kind="box", shape=(len(low),), low=_bounds(np.array(low)), high=_bounds(np.array(high)))


def discrete(n: int, start: int = 0, dtype: str = "int64") -> SpaceInfo:
    return SpaceInfo(kind="discrete", dtype=dtype, n=n, start=start)


def _bounds(values: npt.NDArray[Any]) -> tuple[float | None, ...]:
    return tuple(float(value) if math.isfinite(value) else None for value in values.ravel())


def stacked(space: SpaceInfo, count: int) -> SpaceInfo:
    """A box as gymnasium.wrappers.FrameStackObservation makes of it: the latest `count` observations, newest last."""
    if count == 1:
        return space
    times = 1 if space.is_image else count
    bounds = {
        name: None if bound is None else bound * times for name, bound in (("low", space.low), ("high", space.high))
    }
    return space.model_copy(update={"shape": (count, *space.shape), **bounds})


def describe_space(space: "gymnasium.Space[Any]", env_id: str = "This environment") -> SpaceInfo:
    """`space` as data. Raises UnsupportedSpaceError for the kinds that cannot be flattened."""
    from gymnasium import spaces

    if isinstance(space, spaces.Box):
        low = _bounds(np.where(space.bounded_below, space.low, -np.inf))  # without a bound, integers have their type's
        high = _bounds(np.where(space.bounded_above, space.high, np.inf))
        info = SpaceInfo(kind="box", shape=space.shape, dtype=str(space.dtype), low=low, high=high)
        if not info.is_image:
            return info
        return info.model_copy(update={"low": (float(space.low.min()),), "high": (float(space.high.max()),)})
    if isinstance(space, spaces.Discrete):
        return discrete(int(space.n), int(space.start), str(space.dtype))
    if isinstance(space, spaces.MultiDiscrete):
        nvec, starts = (tuple(int(v) for v in values.ravel()) for values in (space.nvec, space.start))
        return SpaceInfo(kind="multidiscrete", shape=space.shape, dtype=str(space.dtype), nvec=nvec, starts=starts)
    if isinstance(space, spaces.MultiBinary):
        return SpaceInfo(kind="multibinary", shape=space.shape, dtype="int8")
    if isinstance(space, spaces.Tuple):
        parts = tuple((str(i), describe_space(part, env_id)) for i, part in enumerate(space.spaces))
        return SpaceInfo(kind="tuple", parts=parts)
    if isinstance(space, spaces.Dict):
        if any(not isinstance(key, str) for key in space.spaces):
            raise UnsupportedSpaceError(f"{env_id} has a Dict space with keys {list(space.spaces)}; use texts.")
        parts = tuple((key, describe_space(part, env_id)) for key, part in space.spaces.items())
        return SpaceInfo(kind="dict", parts=parts)
    raise UnsupportedSpaceError(
        f"{env_id} has a {type(space).__name__} space, which no agent here can use; "
        "supported are Box, Discrete, MultiDiscrete, MultiBinary, and Tuple or Dict of these."
    )


def check_spaces(env_id: str, observation: SpaceInfo, action: SpaceInfo) -> None:
    """Raises UnsupportedSpaceError, naming the space, where an agent could not see or act in `env_id`."""
    _check_images(env_id, observation)
    if not observation.flat_dim:
        raise UnsupportedSpaceError(f"{env_id} observes nothing, {observation.text}; an agent needs a number to see.")
    if action.kind in ("tuple", "dict"):
        raise UnsupportedSpaceError(
            f"{env_id} has the action space {action.text}; "
            "agents act in Discrete, MultiDiscrete, MultiBinary and bounded Box spaces."
        )
    if not action.action_dim:
        raise UnsupportedSpaceError(f"{env_id} has the action space {action.text}, in which there is nothing to do.")
    if action.kind == "box" and not action.bounded:
        raise UnsupportedSpaceError(
            f"{env_id} has an unbounded action space, {action.text}; "
            "a Box of actions needs finite bounds, between -2**53 and 2**53."
        )


def _check_images(env_id: str, space: SpaceInfo) -> None:
    if any(_has_image(part) for _, part in space.parts):
        raise UnsupportedSpaceError(
            f"{env_id} observes {space.text}, of which a part is an image; agents see an image alone, or vectors. "
            "Register it with a Gymnasium wrapper that keeps the one or flattens all."
        )
    if space.is_image and space.image is None:
        raise UnsupportedSpaceError(
            f"{env_id} observes images, {space.text}, and nothing tells which axis holds their channels: that must be "
            "the last or the first of three, and shorter than the other two; a fourth in front counts stacked frames."
        )


def _has_image(space: SpaceInfo) -> bool:
    return (
        any(_has_image(part) for _, part in space.parts) if space.parts else space.is_image and space.dtype == "uint8"
    )


def see(space: SpaceInfo, obs: Any) -> npt.NDArray[Any]:
    """One observation as an agent sees it: of an image uint8 [channels, height, width], else float32 [flat_dim].

    Raises ValueError where `obs` is not of this space.
    """
    image = space.image
    if image is None:
        return flatten_observation(space, obs)
    array = np.asarray(obs)
    if array.shape != space.shape:
        raise ValueError(f"an observation of shape {array.shape} is not one of {space.text}")
    pixels: npt.NDArray[np.uint8] = image.channels_first(array[None])[0].astype(np.uint8, copy=False)
    return pixels


def flatten_observation(space: SpaceInfo, obs: Any) -> Float32Array:
    """One observation of `space`, as the environment gives it, as float32 [flat_dim].

    Equal to gymnasium.spaces.utils.flatten: boxes are raveled, discrete values one-hot, parts concatenated.
    Raises ValueError where `obs` is not of this space.
    """
    if space.kind == "discrete":
        return _one_hot(int(obs) - space.start, space.flat_dim)
    if space.kind == "multidiscrete":
        values = np.asarray(obs).ravel() - np.asarray(space.starts)
        return np.concatenate([_one_hot(int(v), n) for v, n in zip(values, space.nvec, strict=True)])
    if space.kind in ("tuple", "dict"):
        values = [obs[key] for key, _ in space.parts] if isinstance(obs, Mapping) else list(obs)
        flat = [flatten_observation(part, value) for (_, part), value in zip(space.parts, values, strict=True)]
        return np.concatenate(flat)
    array = np.asarray(obs, dtype=np.float32)
    if array.shape != space.shape:
        raise ValueError(f"an observation of shape {array.shape} is not one of {space.text}")
    return array.reshape(-1)


def flatten_observations(space: SpaceInfo, obs: Any) -> tuple[Float32Array, bool]:
    """One observation or a batch of them as float32 [n, flat_dim], and whether it was a batch.

    A batch has one leading axis more; of a Tuple or Dict, each part has it, as Gymnasium's vector environments
    give them. Raises ValueError where `obs` is neither.
    """
    if space.kind in ("tuple", "dict"):
        values = [obs[key] for key, _ in space.parts] if isinstance(obs, Mapping) else list(obs)
        pairs = [flatten_observations(part, value) for (_, part), value in zip(space.parts, values, strict=True)]
        return np.concatenate([flat for flat, _ in pairs], axis=1), pairs[0][1]
    array = np.asarray(obs)
    batched = array.ndim == len(space.shape) + 1
    rows = array if batched else array[None]
    if space.kind == "box":
        if rows.shape[1:] != space.shape:
            raise ValueError(f"an observation of shape {array.shape} is neither {space.text} nor a batch of it")
        return np.array(rows, dtype=np.float32).reshape(len(rows), space.flat_dim), batched
    flat = [flatten_observation(space, row) for row in rows]
    return np.stack(flat) if flat else np.empty((0, space.flat_dim), np.float32), batched


def _one_hot(index: int, n: int) -> Float32Array:
    if not 0 <= index < n:
        raise ValueError(f"{index} is outside a discrete space of {n} values")
    row = np.zeros(n, dtype=np.float32)
    row[index] = 1.0
    return row


def make_single(env_id: str, **kwargs: Any) -> "gymnasium.Env[Any, Any]":
    """The real Gymnasium environment, for playing and evaluating. `kwargs` go to gymnasium.make."""
    import gymnasium

    from podracer_core.envs.mujoco_warnings import unwarned_for
    from podracer_core.envs.registered import registered_spec

    spec = registered_spec(env_id)
    with unwarned_for(spec):
        return gymnasium.make(spec, **kwargs)
