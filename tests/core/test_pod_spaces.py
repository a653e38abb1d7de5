"""Every combination of spaces and algorithm through a pod: no NaN, and its checkpoint plays in the real environment."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from podracer_core.agents.learner import Learner
from podracer_core.checkpoint import load_agent
from podracer_core.envs import probe
from podracer_core.envs.actions import NativeActions
from podracer_core.envs.catalogue import CATALOGUE, ActionKind
from podracer_core.envs.known import environment_check
from podracer_core.envs.registered import describe, start
from podracer_core.envs.spaces import flatten_observation, make_single
from podracer_core.hyperparameters import ACTION_KINDS, ALGORITHMS, algorithm_problem, batch_problem, complete
from podracer_core.player import Agent
from podracer_core.pod import Pod
from podracer_core.progress import Outcome, PodResult, Progress
from podracer_core.spec import PodPlan

NUMBERS = itertools.count()
ENV_STEPS = 256
CHEAP = [entry.id for entry in CATALOGUE.values() if "batched" in entry.backends]
TOY_TEXT = ["FrozenLake-v1", "Blackjack-v1"]


class AnySpaces(gymnasium.Env[Any, Any]):
    """Observes what its space samples; ends by chance, in one way or the other or both; takes elements of its action
    space alone."""

    def __init__(self, observation_space: spaces.Space[Any], action_space: spaces.Space[Any]) -> None:
        self.observation_space, self.action_space = observation_space, action_space

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        if seed is not None:
            self.observation_space.seed(seed)
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> Any:
        assert self.action_space.contains(action), action
        terminated, truncated = (bool(end) for end in self.np_random.random(2) < 0.2)
        reward = float(np.sum(action) % 3) + self.np_random.normal()
        return self.observation_space.sample(), reward, terminated, truncated, {}


def boxes(dtypes: list[Any], *, bounded: bool) -> st.SearchStrategy[spaces.Space[Any]]:
    """Of no to three axes; one of uint8 has fewer than two, since more are images."""

    @st.composite
    def build(draw: st.DrawFn) -> spaces.Space[Any]:
        dtype = np.dtype(draw(st.sampled_from(dtypes)))
        shape = tuple(draw(st.lists(st.integers(1, 3), max_size=1 if dtype == np.uint8 else 3)))
        low = draw(st.integers(0 if dtype.kind == "u" else -100, 50))
        high = low + draw(st.integers(1, 60))
        if not bounded and dtype.kind == "f" and draw(st.booleans()):
            return spaces.Box(low, np.inf, shape, dtype.type)
        return spaces.Box(low, high, shape, dtype.type)

    return build()


FLOATS, INTEGERS = [np.float16, np.float32, np.float64], [np.uint8, np.int8, np.int16, np.int32, np.int64]
choices = st.one_of(
    st.builds(lambda n, start: spaces.Discrete(n, start=start), st.integers(1, 5), st.integers(-3, 3)),
    st.lists(st.integers(1, 4), min_size=1, max_size=3).map(lambda nvec: spaces.MultiDiscrete(nvec, np.int16)),
    st.just(spaces.MultiDiscrete([[2, 3], [4, 1]], np.int8, start=[[0, -1], [5, 0]])),
    st.one_of(st.integers(1, 4), st.just((2, 2))).map(spaces.MultiBinary),
)
observation_spaces = st.recursive(
    st.one_of(boxes(FLOATS + INTEGERS, bounded=False), choices),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(spaces.Tuple),
        st.dictionaries(st.sampled_from("dbca"), inner, min_size=1, max_size=3).map(spaces.Dict),
    ),
    max_leaves=5,
)
action_spaces = st.one_of(boxes(FLOATS + INTEGERS, bounded=True), choices)


@pytest.fixture(scope="module", autouse=True)
def _found_here() -> Iterator[None]:
    """Descriptions found in this process: a probe's own does not know what is registered here only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(probe, "_found", {})
        for env_id in TOY_TEXT:
            find(gymnasium.spec(env_id))
        yield


def find(spec: EnvSpec) -> None:
    env = start(spec)
    probe._found[spec.id] = describe(env)
    env.close()


def fitting(kind: ActionKind) -> list[str]:
    return [name for name, kinds in ACTION_KINDS.items() if kind in kinds]


def train_and_play(env_id: str, algorithm: str, folder: Path, normalised: bool = True) -> None:
    """A short pod, then its checkpoint. normalised: whether what the networks see is scaled."""
    small = {
        "hidden_size": 8,
        "num_steps": 16,
        "num_minibatches": 2,
        "num_epochs": 2,
        "batch_size": 16,
        "buffer_size": 300,
        "learning_starts": 64,
        "utd_ratio": 0.25,
        "norm_obs": normalised,
        "norm_reward": normalised,
    }
    values = {name: value for name, value in small.items() if name in ALGORITHMS[algorithm].model_fields}
    plan = PodPlan(
        env_id=env_id,
        algorithm=algorithm,
        hyperparameters=complete(algorithm, values).model_dump(),
        seed=1,
        num_envs=4,
        env_steps=ENV_STEPS,
        eval_episodes=2,
        directory=str(folder),
    )
    assert batch_problem(plan.hyperparameters, plan.num_envs) is None
    pod = Pod(plan)
    *messages, result = pod.run()
    assert isinstance(result, PodResult)
    assert result.outcome is Outcome.FINISHED, result.reason
    losses = [message.losses for message in messages if isinstance(message, Progress)]
    assert losses
    assert all(np.isfinite(list(each.values())).all() for each in losses)
    assert result.checkpoint_path is not None
    play(load_agent(result.checkpoint_path), pod.learner)


def play(agent: Agent, learner: Learner, steps: int = 20) -> None:
    """Every action is one of the environment's, and the learner's own."""
    env = make_single(agent.env_id, disable_env_checker=True)  # which takes samples of a 0-d box for no element of it
    obs, _ = env.reset(seed=0)
    for _ in range(steps):
        action = agent.act(obs)
        assert env.action_space.contains(action)
        seen = torch.from_numpy(flatten_observation(agent.observation_space, obs))
        (expected,) = NativeActions(agent.action_space).each(learner.act(seen[None]).numpy())
        rounding = 1 if agent.action_space.kind == "box" and action.dtype.kind != "f" else 1e-2
        np.testing.assert_allclose(action.astype(float), expected.astype(float), rtol=1e-2, atol=rounding)
        obs, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            obs, _ = env.reset()
    env.close()


@settings(max_examples=8, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])  # shrinking is slow
@given(observation=observation_spaces, action=action_spaces, normalised=st.booleans())
def test_any_spaces(observation: Any, action: Any, normalised: bool, tmp_path_factory: pytest.TempPathFactory) -> None:
    env_id = f"podracer-tests/AnySpaces{next(NUMBERS)}-v0"
    kwargs = {"observation_space": observation, "action_space": action}
    gymnasium.register(env_id, entry_point=AnySpaces, kwargs=kwargs, max_episode_steps=10)
    try:
        find(gymnasium.spec(env_id))
        for algorithm in fitting(environment_check(env_id).action_kind):
            train_and_play(env_id, algorithm, tmp_path_factory.mktemp(algorithm), normalised)
    finally:
        del gymnasium.registry[env_id]


@pytest.mark.parametrize("env_id", CHEAP + TOY_TEXT)
def test_cheap_environments(env_id: str, tmp_path: Path) -> None:
    for algorithm in fitting(environment_check(env_id).action_kind):
        train_and_play(env_id, algorithm, tmp_path / algorithm)


def test_an_algorithm_that_makes_one_choice_at_a_time_is_refused_several_with_those_that_make_them() -> None:
    problem = algorithm_problem("dqn", "multidiscrete")
    assert problem is not None
    assert problem.startswith(
        "dqn cannot choose multidiscrete actions, which this environment has; those that can: ppo"
    )
