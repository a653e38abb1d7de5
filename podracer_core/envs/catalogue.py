"""The environments Podracer knows: spaces, limits, solved scores, tuned starts; checks any other id.

The tuned values come from sweeps of our own: `docs/tuning.md` has their commands, results and reasons.
The web process reads this file, so it loads no torch, and Gymnasium only when an id is not in the catalogue.
"""

import difflib
import importlib.util
import math
import re
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from podracer_core.envs.allowed import allowed_packages
from podracer_core.envs.spaces import SpaceInfo, box, check_spaces, discrete
from podracer_core.envs.wrapped import is_atari
from podracer_core.errors import EnvError, UnknownEnvironmentError

Backend = Literal["batched", "mujoco", "mujoco-warp", "atari", "gymnasium"]
"""batched: our own arrays for all environments at once; mujoco: MuJoCo's threaded batch, under Gymnasium's rules;
mujoco-warp: the same on a GPU; atari: the Arcade Learning Environment's threaded batch; gymnasium: the registered
environment, many times."""


ActionKind = Literal["discrete", "multidiscrete", "continuous"]
"""multidiscrete: several discrete choices at once, MultiBinary's being of two values each."""

DEFAULT_NUM_ENVS = 8

REPLAY_NUM_ENVS = {"ddpg": 4, "td3": 4, "sac": 4, "redq": 4}
"""Environments at once for algorithms whose updates, not their env steps, take the time: few, and so fresh, steps.
Not where actions are discrete: SAC is given as few updates there as DQN."""

DEFAULTS: dict[str, dict[str, float | int | bool | str]] = {
    "ppo": {
        "num_steps": 256,
        "num_epochs": 10,
        "num_minibatches": 32,
        "norm_obs": True,
        "norm_reward": True,
    },
    "a2c": {
        "optimizer": "adam",
        "num_steps": 16,
        "gae_lambda": 0.95,
        "norm_adv": True,
        "norm_obs": True,
        "norm_reward": True,
    },
    "dqn": {"n_step": 3, "norm_obs": True},
    "redq": {"utd_ratio": 4.0, "policy_delay": 4, "num_critics": 5},
}
"""Hyperparameters by algorithm for environments that are not in the catalogue."""

IMAGE_DEFAULTS: dict[str, dict[str, float | int | bool | str]] = {
    "ppo": {
        "learning_rate": 5e-4,
        "num_steps": 128,
        "num_epochs": 4,
        "num_minibatches": 8,
        "ent_coef": 0.01,
        "norm_reward": True,
        "hidden_size": 256,
        "num_layers": 1,
        "activation": "relu",
    },
    "a2c": {
        "learning_rate": 7e-4,
        "optimizer": "adam",
        "num_steps": 16,
        "gae_lambda": 0.95,
        "norm_adv": True,
        "norm_reward": True,
        "hidden_size": 256,
        "num_layers": 1,
        "activation": "relu",
    },
    "dqn": {
        "learning_rate": 3e-4,
        "n_step": 3,
        "hidden_size": 256,
        "num_layers": 1,
    },
}
"""The same for environments that observe images."""


PACKAGES = {"locomotion": ("mujoco", "mujoco"), "box2d": ("Box2D", "'gymnasium[box2d]'")}
"""What the kinds of environments that not every installation can run need: the package, and what brings it."""


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
    defaults: dict[str, dict[str, float | int | bool | str]] = {}

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
    ppo = {
        "learning_rate": 3e-4,
        "num_steps": 128,
        "num_epochs": 10,
        "num_minibatches": 32,
        "gamma": 0.99,
        "gae_lambda": 0.95,
        "norm_obs": True,
        "norm_reward": True,
    }
    fields: dict[str, Any] = {
        "kind": "locomotion",
        "backends": ("mujoco", "mujoco-warp", "gymnasium"),
        "max_episode_steps": 1000,
        "solved_score": None,
        "default_env_steps": 1_000_000,
        "default_round_env_steps": 200_000,
        "num_envs": 16,
        "defaults": {
            "ppo": ppo,
            "ddpg": {"learning_rate": 1e-3, "learning_starts": 10_000},
            "td3": {"learning_rate": 1e-3, "learning_starts": 10_000},
            "sac": {"learning_starts": 10_000},
            "redq": {"learning_starts": 5_000} | DEFAULTS["redq"],
        },
    }
    bounds = [-bound] * actions, [bound] * actions
    return CatalogueEntry(id=env_id, observation_space=observation, action_space=box(*bounds), **fields | changes)


_ATARI_DEFAULTS: dict[str, dict[str, float | int | bool | str]] = {
    "ppo": {
        "learning_rate": 2.5e-4,
        "anneal_lr": True,
        "num_steps": 128,
        "num_epochs": 4,
        "num_minibatches": 4,
        "clip_coef": 0.1,
        "ent_coef": 0.01,
    },
    "a2c": {"learning_rate": 7e-4, "num_steps": 5, "max_grad_norm": 0.5},
    "dqn": {
        "learning_rate": 1e-4,
        "buffer_size": 100_000,
        "learning_starts": 20_000,
        "batch_size": 32,
        "target_network_frequency": 1_000,
        "exploration_steps": 100_000,
        "end_e": 0.01,
    },
}
"""Schulman et al. 2017 (PPO, table 5), Mnih et al. 2016 (A2C); DQN as Stable-Baselines3's Zoo shortens Mnih et al."""

_ATARI_SHARED: dict[str, float | int | bool | str] = {
    "frame_stack": 4,
    "clip_reward": True,
    "hidden_size": 512,
    "num_layers": 1,
    "activation": "relu",
}


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
        defaults={name: values | _ATARI_SHARED for name, values in _ATARI_DEFAULTS.items()},
    )


def _lander(env_id: str, action_space: SpaceInfo, **changes: Any) -> CatalogueEntry:
    """LunarLander: position, velocity, angle, its rate, and whether each leg touches the ground."""
    bounds = [2.5, 2.5, 10.0, 10.0, 2 * math.pi, 10.0]
    # Far sight, or hovering until the time limit looks as good as landing; annealed, or what was learned is lost again.
    ppo: dict[str, Any] = {
        "learning_rate": 1e-3,
        "anneal_lr": True,
        "num_steps": 128,
        "num_epochs": 4,
        "num_minibatches": 8,
        "gamma": 0.999,
        "gae_lambda": 0.98,
        "ent_coef": 0.01,
        "norm_obs": True,
        "norm_reward": True,
    }
    fields: dict[str, Any] = {
        "kind": "box2d",
        "max_episode_steps": 1000,
        "solved_score": 200.0,
        "default_env_steps": 1_000_000,
        "default_round_env_steps": 300_000,
        "num_envs": 16,
        "defaults": DEFAULTS | {"ppo": ppo},
    }
    observation = box([*(-bound for bound in bounds), 0.0, 0.0], [*bounds, 1.0, 1.0])
    return CatalogueEntry(id=env_id, observation_space=observation, action_space=action_space, **fields | changes)


# Stepping is nearly free here, updates are not: few and large minibatches. gamma looks as far as the reward lies.
_CLASSIC: dict[str, Any] = {"kind": "classic control", "backends": ("batched", "gymnasium")}
_INF = math.inf

_SMALL_ENSEMBLE: dict[str, Any] = {"utd_ratio": 2.0, "policy_delay": 2, "num_critics": 5}

_PENDULUM_REPLAY: dict[str, Any] = {
    "learning_rate": 2e-3,
    "buffer_size": 100_000,
    "batch_size": 128,
    "learning_starts": 500,
    "gamma": 0.95,
    "tau": 0.01,
    "hidden_size": 64,
}
_MOUNTAIN_CAR_REPLAY: dict[str, Any] = {
    "learning_rate": 1e-3,
    "buffer_size": 100_000,
    "batch_size": 256,
    "learning_starts": 1_000,
    "gamma": 0.99,
    "n_step": 5,
    "tau": 0.01,
    "noise_correlation": 0.93,  # pushes about as long as the car takes to roll through the valley
    "hidden_size": 64,
}

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
        defaults={
            "ppo": {
                "learning_rate": 2e-3,
                "anneal_lr": True,
                "num_steps": 32,
                "num_epochs": 10,
                "num_minibatches": 2,
                "gamma": 0.98,
                "gae_lambda": 0.8,
            },
            "a2c": {
                "learning_rate": 3e-3,
                "optimizer": "adam",
                "num_steps": 16,
                "gae_lambda": 0.9,
                "ent_coef": 0.0,
                "norm_adv": True,
            },
            "dqn": {
                "learning_rate": 1e-3,
                "train_freq": 8,
                "utd_ratio": 0.25,
                "batch_size": 128,
                "gamma": 0.97,
                "n_step": 3,
                "tau": 0.02,
                "target_network_frequency": 1,
                "exploration_steps": 8_000,
                "end_e": 0.04,
                "hidden_size": 128,
            },
            "sac": {
                "learning_rate": 1e-3,
                "batch_size": 128,
                "learning_starts": 500,
                "utd_ratio": 0.25,
                "gamma": 0.97,
                "n_step": 3,
                "tau": 0.02,
                "hidden_size": 64,
            },
        },
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
        defaults={
            "ppo": {
                "learning_rate": 1e-3,
                "num_steps": 64,
                "num_epochs": 4,
                "num_minibatches": 4,
                "gamma": 0.98,
                "gae_lambda": 0.9,
                "norm_obs": True,
            },
            "a2c": {
                "learning_rate": 3e-3,
                "optimizer": "adam",
                "num_steps": 16,
                "gae_lambda": 0.9,
                "norm_adv": True,
                "norm_obs": True,
            },
            "dqn": {
                "learning_rate": 1e-3,
                "train_freq": 4,
                "utd_ratio": 0.0625,
                "batch_size": 128,
                "n_step": 4,
                "tau": 0.03,
                "target_network_frequency": 1,
                "exploration_steps": 20_000,
                "norm_obs": True,
            },
            "sac": {
                "learning_rate": 1e-3,
                "batch_size": 128,
                "learning_starts": 10_000,
                "utd_ratio": 0.25,
                "n_step": 4,
                "tau": 0.02,
                "noise_correlation": 0.8,
                "norm_obs": True,
                "hidden_size": 64,
            },
        },
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
        defaults={
            "ppo": {
                "learning_rate": 2e-3,
                "num_steps": 128,
                "num_epochs": 4,
                "num_minibatches": 8,
                "gamma": 0.999,
                "gae_lambda": 0.98,
                "ent_coef": 0.02,
                "norm_obs": True,
                "norm_reward": True,
            }
        },
    ),
    # Paid only at the top: many environments, so that some meet it before the cost of pushing teaches to stand still.
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
        defaults={
            "ppo": {
                "learning_rate": 3e-4,
                "num_steps": 64,
                "num_epochs": 10,
                "num_minibatches": 4,
                "gamma": 0.9999,
                "gae_lambda": 0.9,
                "clip_coef": 0.1,
                "ent_coef": 0.005,
                "vf_coef": 0.2,
                "max_grad_norm": 5.0,
                "norm_obs": True,
                "norm_reward": True,
            },
            "ddpg": _MOUNTAIN_CAR_REPLAY | {"exploration_noise": 1.0},
            "td3": _MOUNTAIN_CAR_REPLAY | {"learning_starts": 2_000, "exploration_noise": 1.0, "layer_norm": True},
            "sac": _MOUNTAIN_CAR_REPLAY | {"ent_coef": 0.1},
            "redq": _MOUNTAIN_CAR_REPLAY | _SMALL_ENSEMBLE | {"batch_size": 128},
        },
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
        defaults={
            "ppo": {
                "learning_rate": 1e-3,
                "num_steps": 128,
                "num_epochs": 10,
                "num_minibatches": 16,
                "gamma": 0.9,
                "gae_lambda": 0.95,
                "norm_reward": True,
            },
            "ddpg": _PENDULUM_REPLAY,
            "td3": _PENDULUM_REPLAY,
            "sac": _PENDULUM_REPLAY,
            "redq": _PENDULUM_REPLAY | _SMALL_ENSEMBLE,
        },
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
    "HalfCheetah-v5": _locomotion("HalfCheetah-v5", 17, 6, solved_score=4800.0),
    "Hopper-v5": _locomotion("Hopper-v5", 11, 3, solved_score=3800.0),
    "Walker2d-v5": _locomotion("Walker2d-v5", 17, 6),
    "Swimmer-v5": _locomotion("Swimmer-v5", 8, 2, solved_score=360.0),
    "Ant-v5": _locomotion("Ant-v5", 105, 8, solved_score=6000.0, default_env_steps=2_000_000),
    "Humanoid-v5": _locomotion("Humanoid-v5", 348, 17, 0.4, default_env_steps=3_000_000),
    "HalfCheetah-v4": _locomotion("HalfCheetah-v4", 17, 6, solved_score=4800.0),
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


def default_hyperparameters(env_id: str, algorithm: str) -> dict[str, float | int | bool | str]:
    """What to lay over the algorithm's own defaults: tuned for the catalogue's ids, careful for others.

    Others observe vectors, as far as their id tells; see `image_hyperparameters`.
    """
    entry = CATALOGUE.get(env_id) or (atari_entry(env_id, 18) if is_atari(env_id) else None)
    return dict((entry.defaults if entry else DEFAULTS).get(algorithm, {}))


def image_hyperparameters(entry: CatalogueEntry, algorithm: str) -> dict[str, float | int | bool | str]:
    """What to lay over `default_hyperparameters` where `entry`, outside the catalogue, turned out to observe images;
    else nothing."""
    if entry.defaults or entry.observation_space.image is None:
        return {}
    unfit: dict[str, float | int | bool | str] = (
        {"norm_obs": False} if DEFAULTS.get(algorithm, {}).get("norm_obs") else {}
    )
    return unfit | IMAGE_DEFAULTS.get(algorithm, {})


def suited_num_envs(entry: CatalogueEntry, algorithm: str) -> int:
    """As `default_num_envs`, where `entry` says what was measured of an id outside the catalogue."""
    if entry.id in CATALOGUE or algorithm in REPLAY_NUM_ENVS:
        return default_num_envs(entry.id, algorithm)
    return entry.num_envs


def measured_hyperparameters(entry: CatalogueEntry, algorithm: str) -> dict[str, float | int | bool | str]:
    """What follows from `suited_num_envs` where `entry` is outside the catalogue: batches of the same size."""
    num_steps = DEFAULTS.get(algorithm, {}).get("num_steps")
    if algorithm != "ppo" or entry.id in CATALOGUE or not num_steps:
        return {}
    return {"num_steps": int(num_steps) * DEFAULT_NUM_ENVS // entry.num_envs}


def catalogue_list() -> list[CatalogueEntry]:
    """Every entry, in the order in which a person should see them."""
    return list(CATALOGUE.values())


def refuse_missing_packages(env_id: str) -> None:
    """Raises EnvError where the package that steps a catalogue entry is not installed; imports nothing."""
    if is_atari(env_id):
        refuse_missing_atari(env_id)
    package, install = PACKAGES.get(CATALOGUE[env_id].kind, ("", ""))
    if package and importlib.util.find_spec(package) is None:
        raise EnvError(
            f"{env_id} needs the Python package {package!r}, which is not installed; "
            f"on every machine that runs it: pip install {install}"
        )


def refuse_missing_atari(env_id: str) -> None:
    """Raises EnvError where a package that plays Atari games is not installed; imports nothing."""
    for module, package in (("ale_py", "ale-py"), ("cv2", "opencv-python-headless")):
        if importlib.util.find_spec(module) is None:
            raise EnvError(
                f"{env_id} needs the Python package {package!r}, which is not installed; "
                "`pip install ale-py opencv-python-headless` brings Atari."
            )


def refuse_module_id(env_id: str) -> None:
    """Raises UnknownEnvironmentError for `module:id`, which would have Gymnasium import any module."""
    if ":" in env_id:
        raise UnknownEnvironmentError(
            f"Environment {env_id!r} names a module to import, which is not allowed; give the id alone, "
            f"like {env_id.rsplit(':', 1)[1]!r}."
        )


def environment_check(env_id: str) -> CatalogueEntry:
    """What `env_id` is: at once for the catalogue; any other registered id is probed in a subprocess, once.

    Raises UnknownEnvironmentError (with the nearest ids), UnsupportedSpaceError, EnvError (it does not start,
    for example because a package is missing; the text says which).
    """
    if env_id in CATALOGUE:
        refuse_missing_packages(env_id)
        return CATALOGUE[env_id]
    refuse_odd_id(env_id)
    if is_atari(env_id):
        refuse_missing_atari(env_id)
    elif not allowed_packages():  # else only the probe knows every id: it may import those packages
        refuse_unknown_id(env_id)
    from podracer_core.envs.probe import probe_environment

    entry = probe_environment(env_id)
    check_spaces(env_id, entry.observation_space, entry.action_space)
    return entry


def refuse_odd_id(env_id: str) -> None:
    """Raises UnknownEnvironmentError for what cannot be an id: those are `name` or `namespace/name`."""
    refuse_module_id(env_id)
    if not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", env_id):
        raise UnknownEnvironmentError(f"Environment {env_id!r} is not known. {suggestion(env_id, list(CATALOGUE))}")


def refuse_unknown_id(env_id: str) -> None:
    """Raises UnknownEnvironmentError, with the nearest ids, where nothing is registered under `env_id`."""
    refuse_module_id(env_id)
    known = registered_ids()
    if env_id not in known:
        raise UnknownEnvironmentError(f"Environment {env_id!r} is not known. {suggestion(env_id, known)}")


def registered_ids() -> list[str]:
    """The catalogue's ids and every id that Gymnasium has registered; imports no environment."""
    import gymnasium

    return list(dict.fromkeys([*CATALOGUE, *gymnasium.registry]))


def suggestion(env_id: str, known: list[str]) -> str:
    """A sentence with the ids nearest to `env_id`, or with the catalogue's where none is near."""
    lower = {name.lower(): name for name in known}
    near = [lower[name] for name in difflib.get_close_matches(env_id.lower(), lower, n=3, cutoff=0.6)]
    if near:
        return f"Did you mean {' or '.join(near)}?"
    return f"Known are {', '.join(CATALOGUE)} and every other id that Gymnasium registers."
