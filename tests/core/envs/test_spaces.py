"""Spaces as data, and observations flattened as Gymnasium flattens them."""

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.spaces.utils import flatdim, flatten
from gymnasium.vector.utils import concatenate, create_empty_array
from hypothesis import given
from hypothesis import strategies as st

from podracer_core.envs.spaces import (
    SpaceInfo,
    describe_space,
    flatten_observation,
    flatten_observations,
    make_single,
)
from podracer_core.envs.vector_env import make_vector_env

simple = st.one_of(
    st.lists(st.integers(1, 3), max_size=3).map(lambda shape: spaces.Box(-2.0, 3.0, tuple(shape), np.float64)),
    st.integers(1, 4).map(lambda n: spaces.Box(0, 255, (n,), np.uint8)),
    st.builds(lambda n, start: spaces.Discrete(n, start=start), st.integers(1, 6), st.integers(-3, 3)),
    st.lists(st.integers(1, 4), min_size=1, max_size=3).map(lambda nvec: spaces.MultiDiscrete(nvec)),
    st.integers(1, 4).map(spaces.MultiBinary),
)
any_space = st.recursive(
    simple,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: spaces.Tuple(parts)),
        st.dictionaries(st.sampled_from("dbca"), inner, min_size=1, max_size=3).map(spaces.Dict),
    ),
    max_leaves=6,
)


@given(space=any_space, seed=st.integers(0, 1000))
def test_observations_are_flattened_as_gymnasium_does(space: spaces.Space[Any], seed: int) -> None:
    space.seed(seed)
    obs, info = space.sample(), describe_space(space)
    flat = flatten_observation(info, obs)
    assert flat.dtype == np.float32
    assert flat.shape == (info.flat_dim,) == (flatdim(space),)
    np.testing.assert_array_equal(flat, flatten(space, obs).astype(np.float32))


@given(space=any_space, seed=st.integers(0, 1000))
def test_a_batch_is_flattened_like_its_observations(space: spaces.Space[Any], seed: int) -> None:
    space.seed(seed)
    obs, info = [space.sample() for _ in range(3)], describe_space(space)
    batch = concatenate(space, obs, create_empty_array(space, 3))
    flat, batched = flatten_observations(info, batch)
    assert batched
    np.testing.assert_array_equal(flat, np.stack([flatten_observation(info, one) for one in obs]))
    single, batched = flatten_observations(info, obs[0])
    assert not batched
    np.testing.assert_array_equal(single, flat[:1])


def test_a_played_environment_is_seen_as_the_vectorised_one_sees_it() -> None:
    env = make_single("Blackjack-v1")
    obs, _ = env.reset(seed=np.random.SeedSequence([3]).generate_state(1).tolist()[0])
    flat = flatten_observation(describe_space(env.observation_space), obs)
    np.testing.assert_array_equal(make_vector_env("Blackjack-v1", 1).reset(3).numpy(), [flat])
    env.close()


@given(space=any_space)
def test_a_space_survives_json(space: spaces.Space[Any]) -> None:
    info = describe_space(space)
    assert SpaceInfo.model_validate_json(info.model_dump_json()) == info


@pytest.mark.parametrize(
    ("space", "obs"),
    [
        (spaces.Discrete(3), 3),
        (spaces.Discrete(3), -1),
        (spaces.Box(0, 1, (2,)), np.zeros(3)),
        (spaces.Tuple([spaces.Discrete(2), spaces.Discrete(2)]), (1,)),
    ],
)
def test_an_observation_of_another_space_is_refused(space: spaces.Space[Any], obs: Any) -> None:
    with pytest.raises(ValueError):
        flatten_observation(describe_space(space), obs)
