"""Which axis of an image is which, and pixels in the order that convolutions take."""

import numpy as np
import pytest
from gymnasium import spaces

from podracer_core.envs.image import axes_of
from podracer_core.envs.spaces import check_spaces, describe_space, discrete, see, stacked
from podracer_core.errors import UnsupportedSpaceError


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((96, 96, 3), (3, 96, 96, True, 1)),
        ((3, 96, 80), (3, 96, 80, False, 1)),
        ((84, 84), (1, 84, 84, False, 1)),
        ((10, 10, 7), (7, 10, 10, True, 1)),
        ((4, 84, 84), (4, 84, 84, False, 1)),
        ((4, 84, 80, 3), (12, 84, 80, True, 4)),
        ((4, 1, 84, 84), (4, 84, 84, False, 4)),
        ((10, 10, 10), None),
        ((3, 64, 3), None),
        ((64, 3, 64), None),
        ((2, 2, 64, 64, 3), None),
        ((0, 64, 64), None),
    ],
)
def test_the_shorter_outer_axis_holds_the_channels(shape: tuple[int, ...], expected: object) -> None:
    axes = axes_of(shape)
    assert (axes and tuple(axes)) == expected


def space(shape: tuple[int, ...], dtype: type = np.uint8, high: int = 255) -> spaces.Box:
    return spaces.Box(0, high, shape, dtype)


def test_pixels_come_channels_first_and_frame_after_frame() -> None:
    box = space((4, 5, 6, 3))
    obs = box.sample()
    seen = see(describe_space(box), obs)
    assert (seen.shape, seen.dtype) == ((12, 5, 6), np.uint8)
    for channel in range(12):
        np.testing.assert_array_equal(seen[channel], obs[channel // 3, :, :, channel % 3])
    first = space((3, 5, 6))
    obs = first.sample()
    np.testing.assert_array_equal(see(describe_space(first), obs), obs)
    with pytest.raises(ValueError, match=r"shape \(5, 6\)"):
        see(describe_space(first), obs[0])


def test_the_brightest_value_is_the_space_s_own() -> None:
    image = describe_space(space((10, 10, 4), high=1)).image
    assert image is not None
    assert image.high == 1
    mask = describe_space(spaces.Box(0, 1, (10, 10, 4), bool)).image
    assert mask is not None
    assert (mask.shape, mask.high) == ((4, 10, 10), 1)


def test_the_bounds_of_an_image_stay_short_however_many_frames_are_stacked() -> None:
    info = stacked(describe_space(space((96, 96, 3))), 4)
    assert (info.shape, info.low, info.high) == ((4, 96, 96, 3), (0.0,), (255.0,))
    vector = stacked(describe_space(spaces.Box(-1, 1, (2,))), 3)
    assert (vector.shape, vector.low) == ((3, 2), (-1.0,) * 6)


@pytest.mark.parametrize(
    ("observation", "message"),
    [
        (space((10, 10, 10)), r"Box\(10, 10, 10\), and nothing tells which axis holds their channels"),
        (spaces.Dict({"camera": space((8, 8, 3)), "speed": spaces.Box(0, 1, (1,))}), "of which a part is an image"),
        (spaces.Tuple([spaces.Tuple([space((8, 8))])]), "of which a part is an image"),
    ],
)
def test_images_that_cannot_be_seen_are_refused_by_name(observation: spaces.Space, message: str) -> None:
    with pytest.raises(UnsupportedSpaceError, match=message) as caught:
        check_spaces("Camera-v0", describe_space(observation), discrete(2))
    assert str(caught.value).startswith("Camera-v0 observes")
