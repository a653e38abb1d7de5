"""What the axes of an image mean, and pixels in the order that convolutions take. Loads numpy only."""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt


class Axes(NamedTuple):
    """How a space of images is laid out. channels: over all stacked frames; channels_last: in each frame"""

    channels: int
    height: int
    width: int
    channels_last: bool
    frames: int = 1


def axes_of(shape: tuple[int, ...]) -> Axes | None:
    """[height, width]; three axes, of which the first or the last is shorter than the others and so the channels; or
    frames of these in front. None where that leaves two readings."""
    if not all(shape):
        return None
    if len(shape) == 2:
        return Axes(1, *shape, channels_last=False)
    if len(shape) not in (3, 4):
        return None
    frames, (first, middle, last) = math.prod(shape[:-3]), shape[-3:]
    if last < min(first, middle):
        return Axes(frames * last, first, middle, channels_last=True, frames=frames)
    if first < min(middle, last):
        return Axes(frames * first, middle, last, channels_last=False, frames=frames)
    return None


class Image(NamedTuple):
    """What an agent sees: [channels, height, width], frame after frame where they are stacked, oldest first.

    channels_last: whether the environment gives each frame as [height, width, channels]
    high: the brightest value, which a network sees as 1
    frames: how many are stacked in the environment's own order, [frames, height, width, channels / frames]
    """

    channels: int
    height: int
    width: int
    channels_last: bool
    high: float
    frames: int = 1

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.channels, self.height, self.width

    def stacked(self, count: int) -> "Image":
        return self._replace(channels=self.channels * count, frames=self.frames * count)

    def channels_first(self, batch: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """batch: [n, ...] as the environment and its wrappers give them. Returns [n, channels, height, width]."""
        if self.channels_last:
            batch = np.moveaxis(batch.reshape(len(batch), self.frames, self.height, self.width, -1), -1, 2)
        return np.ascontiguousarray(batch).reshape(len(batch), *self.shape)
