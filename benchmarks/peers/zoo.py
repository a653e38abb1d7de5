"""Hyperparameters that others publish for their libraries, as data: name, value, source.

STABLE_BASELINES3 and SBX: RL Baselines3 Zoo, https://github.com/DLR-RM/rl-baselines3-zoo, hyperparams/ppo.yml and
hyperparams/sac.yml. `n_envs`, `n_timesteps` and `normalize` (observations and rewards by VecNormalize) mean there what
they mean here; the rest goes to the algorithm as it is; "lin_x" falls linearly from x to 0 over `n_timesteps`. The
values for LunarLander are the Zoo's for -v2, those for the MuJoCo bodies for -v3: it has none that are newer, and
none of PPO's own for Ant-v3 but the defaults.
"""

from typing import Any

Settings = dict[str, Any]

_WIDE: Settings = {"log_std_init": -2, "ortho_init": False, "activation_fn": "relu", "net_arch": [256, 256]}

_LUNAR_LANDER: Settings = {
    "n_envs": 16,
    "n_timesteps": 1_000_000,
    "n_steps": 1024,
    "batch_size": 64,
    "gae_lambda": 0.98,
    "gamma": 0.999,
    "n_epochs": 4,
    "ent_coef": 0.01,
}

PPO: dict[str, Settings] = {
    "CartPole-v1": {
        "n_envs": 8,
        "n_timesteps": 100_000,
        "n_steps": 32,
        "batch_size": 256,
        "gae_lambda": 0.8,
        "gamma": 0.98,
        "n_epochs": 20,
        "ent_coef": 0.0,
        "learning_rate": "lin_0.001",
        "clip_range": "lin_0.2",
    },
    "Pendulum-v1": {
        "n_envs": 4,
        "n_timesteps": 100_000,
        "n_steps": 1024,
        "gae_lambda": 0.95,
        "gamma": 0.9,
        "n_epochs": 10,
        "ent_coef": 0.0,
        "learning_rate": 1e-3,
        "clip_range": 0.2,
        "use_sde": True,
        "sde_sample_freq": 4,
    },
    "Acrobot-v1": {
        "normalize": True,
        "n_envs": 16,
        "n_timesteps": 1_000_000,
        "n_steps": 256,
        "gae_lambda": 0.94,
        "gamma": 0.99,
        "n_epochs": 4,
        "ent_coef": 0.0,
    },
    "MountainCarContinuous-v0": {
        "normalize": True,
        "n_envs": 1,
        "n_timesteps": 20_000,
        "batch_size": 256,
        "n_steps": 8,
        "gamma": 0.9999,
        "learning_rate": 7.77e-5,
        "ent_coef": 0.00429,
        "clip_range": 0.1,
        "n_epochs": 10,
        "gae_lambda": 0.9,
        "max_grad_norm": 5,
        "vf_coef": 0.19,
        "use_sde": True,
        "policy_kwargs": {"log_std_init": -3.29, "ortho_init": False},
    },
    "LunarLander-v3": _LUNAR_LANDER,
    "HalfCheetah-v5": {
        "normalize": True,
        "n_envs": 1,
        "n_timesteps": 1_000_000,
        "batch_size": 64,
        "n_steps": 512,
        "gamma": 0.98,
        "learning_rate": 2.0633e-05,
        "ent_coef": 0.000401762,
        "clip_range": 0.1,
        "n_epochs": 20,
        "gae_lambda": 0.92,
        "max_grad_norm": 0.8,
        "vf_coef": 0.58096,
        "policy_kwargs": _WIDE,
    },
    "Ant-v5": {"normalize": True, "n_envs": 1, "n_timesteps": 1_000_000},
    "Humanoid-v5": {
        "normalize": True,
        "n_envs": 1,
        "n_timesteps": 10_000_000,
        "batch_size": 256,
        "n_steps": 512,
        "gamma": 0.95,
        "learning_rate": 3.56987e-05,
        "ent_coef": 0.00238306,
        "clip_range": 0.3,
        "n_epochs": 5,
        "gae_lambda": 0.9,
        "max_grad_norm": 2,
        "vf_coef": 0.431892,
        "policy_kwargs": _WIDE,
    },
}

_MUJOCO_SAC: Settings = {"n_timesteps": 1_000_000, "learning_starts": 10_000}

SAC: dict[str, Settings] = {
    "Pendulum-v1": {"n_timesteps": 20_000, "learning_rate": 1e-3},
    "MountainCarContinuous-v0": {
        "n_timesteps": 50_000,
        "learning_rate": 3e-4,
        "buffer_size": 50_000,
        "batch_size": 512,
        "ent_coef": 0.1,
        "train_freq": 32,
        "gradient_steps": 32,
        "gamma": 0.9999,
        "tau": 0.01,
        "learning_starts": 0,
        "use_sde": True,
        "policy_kwargs": {"log_std_init": -3.67, "net_arch": [64, 64]},
    },
    "HalfCheetah-v5": _MUJOCO_SAC,
    "Ant-v5": _MUJOCO_SAC,
    "Humanoid-v5": _MUJOCO_SAC | {"n_timesteps": 2_000_000},
}

BY_ALGORITHM = {"ppo": PPO, "sac": SAC, "td3": dict[str, Settings]()}


def settings(algorithm: str, env_id: str) -> Settings:
    """A copy of what the Zoo has for it. Raises SystemExit where it has nothing."""
    known = BY_ALGORITHM[algorithm]
    if env_id not in known:
        raise SystemExit(f"the Zoo has no {algorithm} settings for {env_id}; it has {', '.join(known) or 'none'}")
    return dict(known[env_id])
