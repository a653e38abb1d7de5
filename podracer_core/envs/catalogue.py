"""The environments Podracer knows: spaces, limits, solved scores, tuned starts. `known` checks any other id.

The web process reads this file, so it loads no torch and no Gymnasium.
"""

import math
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from podracer_core.envs import tuned
from podracer_core.envs.spaces import SpaceInfo, box, discrete
from podracer_core.envs.tuned import DEFAULT_NUM_ENVS, DEFAULTS, IMAGE_DEFAULTS, REPLAY_NUM_ENVS, Hyperparameters
from podracer_core.envs.wrapped import is_atari

Backend = Literal["batched", "mujoco", "mujoco-warp", "atari", "gymnasium"]
"""batched: our own arrays for all environments at once; mujoco: MuJoCo's threaded batch, under Gymnasium's rules;
mujoco-warp: the same on a GPU; atari: the Arcade Learning Environment's threaded batch; gymnasium: the registered
environment, many times."""

ActionKind = Literal["discrete", "multidiscrete", "continuous"]
"""multidiscrete: several discrete choices at once, MultiBinary's being of two values each."""


class CatalogueEntry(BaseModel):
    """What is known of an environment before it runs.

    max_episode_steps: None where nothing truncates
    solved_score: mean return that counts as solved (Gymnasium's reward_threshold, or our target), or None
    max_score: the highest return that an episode can give, or None where that is not known
    default_env_steps: bound of one training run
    default_round_env_steps: how long one pod of a tournament trains unless told otherwise
    num_envs: environments a pod steps at once unless told otherwise; outside the catalogue, measured by `probe`
    defaults: tuned hyperparameters by algorithm, laid over the algorithm's own defaults
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    id: str
    kind: str
    observation_space: SpaceInfo
    action_space: SpaceInfo
    max_episode_steps: int | None
    solved_score: float | None
    backends: tuple[Backend, ...] = ("gymnasium",)
    max_score: float | None = None
    default_env_steps: int = 1_000_000
    default_round_env_steps: int = 200_000
    num_envs: int = DEFAULT_NUM_ENVS
    defaults: dict[str, Hyperparameters] = {}

    @property
    def observation_dim(self) -> int:
        return self.observation_space.flat_dim

    @property
    def action_kind(self) -> ActionKind:
        if self.action_space.choices:
            return "multidiscrete"
        return "discrete" if self.action_space.kind == "discrete" else "continuous"

    @property
    def action_dim(self) -> int:
        """Number of actions where they are discrete, summed over the entries of several, else length of an action."""
        return self.action_space.action_dim


def _locomotion(env_id: str, observations: int, actions: int, bound: float = 1.0, **changes: Any) -> CatalogueEntry:
    """A MuJoCo body: unbounded float64 observations, actions between -bound and bound, 1,000 steps at most."""
    unbounded = (None,) * observations
    observation = SpaceInfo(kind="box", shape=(observations,), dtype="float64", low=unbounded, high=unbounded)
    fields: dict[str, Any] = {
        "kind": "locomotion",
        "backends": ("mujoco", "mujoco-warp", "gymnasium"),
        "max_episode_steps": 1000,
        "solved_score": None,
        "default_env_steps": 1_000_000,
        "default_round_env_steps": 200_000,
        "num_envs": 16,
        "defaults": tuned.LOCOMOTION,
    }
    bounds = [-bound] * actions, [bound] * actions
    return CatalogueEntry(id=env_id, observation_space=observation, action_space=box(*bounds), **fields | changes)


def atari_entry(env_id: str, actions: int, max_episode_steps: int = 27_000) -> CatalogueEntry:
    """A game of the Arcade Learning Environment, as `wrapping_of` has it seen."""
    return CatalogueEntry(
        id=env_id,
        kind="atari",
        observation_space=SpaceInfo(kind="box", shape=(84, 84), dtype="uint8", low=(0.0,), high=(255.0,)),
        action_space=discrete(actions),
        backends=("atari", "gymnasium"),
        max_episode_steps=max_episode_steps,
        solved_score=None,
        default_env_steps=10_000_000,
        default_round_env_steps=1_000_000,
        defaults=tuned.ATARI,
    )


def _lander(env_id: str, action_space: SpaceInfo, **changes: Any) -> CatalogueEntry:
    """LunarLander: position, velocity, angle, its rate, and whether each leg touches the ground."""
    bounds = [2.5, 2.5, 10.0, 10.0, 2 * math.pi, 10.0]
    fields: dict[str, Any] = {
        "kind": "box2d",
        "max_episode_steps": 1000,
        "solved_score": 200.0,
        "default_env_steps": 1_000_000,
        "default_round_env_steps": 300_000,
        "num_envs": 16,
        "defaults": tuned.LUNAR_LANDER,
    }
    observation = box([*(-bound for bound in bounds), 0.0, 0.0], [*bounds, 1.0, 1.0])
    return CatalogueEntry(id=env_id, observation_space=observation, action_space=action_space, **fields | changes)


_CLASSIC: dict[str, Any] = {"kind": "classic control", "backends": ("batched", "gymnasium")}
_INF = math.inf

_HULL, _JOINT, _LIDAR = [math.pi, 5.0, 5.0, 5.0], [math.pi, 5.0], [1.0] * 10
_WALKER_BOUNDS = (
    [-bound for bound in [*_HULL, *_JOINT, *_JOINT, 0.0, *_JOINT, *_JOINT, 0.0, *_LIDAR]],
    [*_HULL, *_JOINT, *_JOINT, 5.0, *_JOINT, *_JOINT, 5.0, *_LIDAR],
)

CATALOGUE: dict[str, CatalogueEntry] = {
    "CartPole-v1": CatalogueEntry(
        **_CLASSIC,
        id="CartPole-v1",
        observation_space=box([-4.8, -_INF, -math.radians(24), -_INF], [4.8, _INF, math.radians(24), _INF]),
        action_space=discrete(2),
        max_episode_steps=500,
        solved_score=475.0,
        max_score=500.0,
        default_round_env_steps=100_000,
        default_env_steps=500_000,
        num_envs=8,
        defaults=tuned.CART_POLE,
    ),
    "Acrobot-v1": CatalogueEntry(
        **_CLASSIC,
        id="Acrobot-v1",
        observation_space=box(
            [-1.0, -1.0, -1.0, -1.0, -4 * math.pi, -9 * math.pi],
            [1.0, 1.0, 1.0, 1.0, 4 * math.pi, 9 * math.pi],
        ),
        action_space=discrete(3),
        max_episode_steps=500,
        solved_score=-100.0,
        max_score=0.0,
        default_round_env_steps=200_000,
        default_env_steps=1_000_000,
        num_envs=16,
        defaults=tuned.ACROBOT,
    ),
    "MountainCar-v0": CatalogueEntry(
        **_CLASSIC,
        id="MountainCar-v0",
        observation_space=box([-1.2, -0.07], [0.6, 0.07]),
        action_space=discrete(3),
        max_episode_steps=200,
        solved_score=-110.0,
        max_score=0.0,
        default_round_env_steps=300_000,
        default_env_steps=1_000_000,
        num_envs=16,
        defaults=tuned.MOUNTAIN_CAR,
    ),
    "MountainCarContinuous-v0": CatalogueEntry(
        **_CLASSIC,
        id="MountainCarContinuous-v0",
        observation_space=box([-1.2, -0.07], [0.6, 0.07]),
        action_space=box([-1.0], [1.0]),
        max_episode_steps=999,
        solved_score=90.0,
        max_score=100.0,
        default_round_env_steps=200_000,
        default_env_steps=500_000,
        num_envs=16,
        defaults=tuned.MOUNTAIN_CAR_CONTINUOUS,
    ),
    "Pendulum-v1": CatalogueEntry(
        **_CLASSIC,
        id="Pendulum-v1",
        observation_space=box([-1.0, -1.0, -8.0], [1.0, 1.0, 8.0]),
        action_space=box([-2.0], [2.0]),
        max_episode_steps=200,
        solved_score=-200.0,
        max_score=0.0,
        default_round_env_steps=200_000,
        default_env_steps=1_000_000,
        num_envs=16,
        defaults=tuned.PENDULUM,
    ),
    "LunarLander-v3": _lander("LunarLander-v3", discrete(4)),
    "LunarLanderContinuous-v3": _lander("LunarLanderContinuous-v3", box([-1.0] * 2, [1.0] * 2)),
    "BipedalWalker-v3": CatalogueEntry(
        id="BipedalWalker-v3",
        kind="box2d",
        observation_space=box(*_WALKER_BOUNDS),
        action_space=box([-1.0] * 4, [1.0] * 4),
        max_episode_steps=1600,
        solved_score=300.0,
        default_env_steps=3_000_000,
        default_round_env_steps=500_000,
        num_envs=16,
        defaults=DEFAULTS,
    ),
    "HalfCheetah-v5": _locomotion("HalfCheetah-v5", 17, 6, solved_score=4800.0, defaults=tuned.HALF_CHEETAH),
    "Hopper-v5": _locomotion("Hopper-v5", 11, 3, solved_score=3800.0),
    "Walker2d-v5": _locomotion("Walker2d-v5", 17, 6),
    "Swimmer-v5": _locomotion("Swimmer-v5", 8, 2, solved_score=360.0),
    "Ant-v5": _locomotion("Ant-v5", 105, 8, solved_score=6000.0, default_env_steps=2_000_000),
    "Humanoid-v5": _locomotion("Humanoid-v5", 348, 17, 0.4, default_env_steps=3_000_000),
    "HalfCheetah-v4": _locomotion("HalfCheetah-v4", 17, 6, solved_score=4800.0, defaults=tuned.HALF_CHEETAH),
    "Hopper-v4": _locomotion("Hopper-v4", 11, 3, solved_score=3800.0),
    "Walker2d-v4": _locomotion("Walker2d-v4", 17, 6),
    "Swimmer-v4": _locomotion("Swimmer-v4", 8, 2, solved_score=360.0),
    "Ant-v4": _locomotion("Ant-v4", 27, 8, solved_score=6000.0, default_env_steps=2_000_000),
    "Humanoid-v4": _locomotion("Humanoid-v4", 376, 17, 0.4, default_env_steps=3_000_000),
    "ALE/Pong-v5": atari_entry("ALE/Pong-v5", 6).model_copy(update={"solved_score": 18.0, "max_score": 21.0}),
    "ALE/Breakout-v5": atari_entry("ALE/Breakout-v5", 4),
}


def default_num_envs(env_id: str, algorithm: str) -> int:
    """Environments that a pod of `algorithm` steps at once; what an id outside the catalogue gets too."""
    entry = CATALOGUE.get(env_id)
    if algorithm in REPLAY_NUM_ENVS and not (entry and entry.action_kind == "discrete"):
        return REPLAY_NUM_ENVS[algorithm]
    return entry.num_envs if entry else DEFAULT_NUM_ENVS


def default_hyperparameters(env_id: str, algorithm: str) -> Hyperparameters:
    """What to lay over the algorithm's own defaults: tuned for the catalogue's ids, careful for others.

    Others observe vectors, as far as their id tells; see `image_hyperparameters`.
    """
    entry = CATALOGUE.get(env_id) or (atari_entry(env_id, 18) if is_atari(env_id) else None)
    return dict((entry.defaults if entry else DEFAULTS).get(algorithm, {}))


def image_hyperparameters(entry: CatalogueEntry, algorithm: str) -> Hyperparameters:
    """What to lay over `default_hyperparameters` where `entry`, outside the catalogue, turned out to observe images;
    else nothing."""
    if entry.defaults or entry.observation_space.image is None:
        return {}
    unfit: Hyperparameters = {"norm_obs": False} if DEFAULTS.get(algorithm, {}).get("norm_obs") else {}
    return unfit | IMAGE_DEFAULTS.get(algorithm, {})


def suited_num_envs(entry: CatalogueEntry, algorithm: str) -> int:
    """As `default_num_envs`, where `entry` says what was measured of an id outside the catalogue."""
    if entry.id in CATALOGUE or algorithm in REPLAY_NUM_ENVS:
        return default_num_envs(entry.id, algorithm)
    return entry.num_envs


def measured_hyperparameters(entry: CatalogueEntry, algorithm: str) -> Hyperparameters:
    """What follows from `suited_num_envs` where `entry` is outside the catalogue: batches of the same size."""
    num_steps = DEFAULTS.get(algorithm, {}).get("num_steps")
    if algorithm != "ppo" or entry.id in CATALOGUE or not num_steps:
        return {}
    return {"num_steps": int(num_steps) * DEFAULT_NUM_ENVS // entry.num_envs}


def catalogue_list() -> list[CatalogueEntry]:
    """Every entry, in the order in which a person should see them."""
    return list(CATALOGUE.values())
