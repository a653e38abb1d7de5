"""Tuned hyperparameters: by algorithm for any environment, and what each of the catalogue's lays over them.

They come from sweeps of our own, whose commands, results and reasons are in `docs/tuning.md`.
"""

Hyperparameters = dict[str, float | int | bool | str]

DEFAULT_NUM_ENVS = 8

REPLAY_NUM_ENVS = {"ddpg": 4, "td3": 4, "sac": 4, "redq": 4}
"""Environments at once for algorithms whose updates, not their env steps, take the time: few, and so fresh, steps.
Not where actions are discrete: SAC is given as few updates there as DQN."""

DEFAULTS: dict[str, Hyperparameters] = {
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

IMAGE_DEFAULTS: dict[str, Hyperparameters] = {
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

_SMALL_ENSEMBLE: Hyperparameters = {"utd_ratio": 2.0, "policy_delay": 2, "num_critics": 5}

_PENDULUM_REPLAY: Hyperparameters = {
    "learning_rate": 2e-3,
    "buffer_size": 100_000,
    "batch_size": 128,
    "learning_starts": 500,
    "gamma": 0.95,
    "tau": 0.01,
    "hidden_size": 64,
}
_MOUNTAIN_CAR_REPLAY: Hyperparameters = {
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

# Stepping is nearly free in classic control, updates are not: few and large minibatches. gamma looks as far as the
# reward lies.

CART_POLE: dict[str, Hyperparameters] = {
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
}

ACROBOT: dict[str, Hyperparameters] = {
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
}

MOUNTAIN_CAR: dict[str, Hyperparameters] = {
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
}

# Paid only at the top: many environments, so that some meet it before the cost of pushing teaches to stand still.
MOUNTAIN_CAR_CONTINUOUS: dict[str, Hyperparameters] = {
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
}

PENDULUM: dict[str, Hyperparameters] = {
    "ppo": {
        "learning_rate": 1e-3,
        "num_steps": 128,
        "num_epochs": 10,
        "num_minibatches": 16,
        "gamma": 0.97,
        "gae_lambda": 0.95,
        "norm_reward": True,
    },
    "ddpg": _PENDULUM_REPLAY,
    "td3": _PENDULUM_REPLAY,
    "sac": _PENDULUM_REPLAY,
    "redq": _PENDULUM_REPLAY | _SMALL_ENSEMBLE,
}

_FAR_SIGHTED: Hyperparameters = {
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
"""Far sight, or hovering until the time limit looks as good as landing; annealed, or what was learned is lost again."""

LUNAR_LANDER = DEFAULTS | {"ppo": _FAR_SIGHTED}

LOCOMOTION: dict[str, Hyperparameters] = {
    "ppo": {
        "learning_rate": 3e-4,
        "num_steps": 128,
        "num_epochs": 10,
        "num_minibatches": 32,
        "gamma": 0.99,
        "gae_lambda": 0.95,
        "norm_obs": True,
        "norm_reward": True,
    },
    "ddpg": {"learning_rate": 1e-3, "learning_starts": 10_000},
    "td3": {"learning_rate": 1e-3, "learning_starts": 10_000},
    "sac": {"learning_starts": 10_000},
    "redq": {"learning_starts": 5_000} | DEFAULTS["redq"],
}

# It falls on its back while it tries large actions, and learns to slide there: it begins with small ones.
HALF_CHEETAH = LOCOMOTION | {
    "ppo": LOCOMOTION["ppo"]
    | {
        "learning_rate": 1e-4,
        "num_steps": 64,
        "num_minibatches": 16,
        "gamma": 0.98,
        "gae_lambda": 0.92,
        "clip_coef": 0.1,
        "log_std_init": -2.0,
        "hidden_size": 128,
    }
}

_ATARI_DEFAULTS: dict[str, Hyperparameters] = {
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

_ATARI_SHARED: Hyperparameters = {
    "frame_stack": 4,
    "clip_reward": True,
    "hidden_size": 512,
    "num_layers": 1,
    "activation": "relu",
}

ATARI = {name: values | _ATARI_SHARED for name, values in _ATARI_DEFAULTS.items()}
