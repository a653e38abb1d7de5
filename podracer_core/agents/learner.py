"""What a pod asks of every algorithm, and what they all answer the same way."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from torch import Tensor

from podracer_core.agents.episodes import Episodes
from podracer_core.envs.vector_env import Step, VectorEnv
from podracer_core.errors import CheckpointError, DivergedError, EnvironmentCrashedError
from podracer_core.hyperparameters import Hyperparameters, OffPolicyHyperparameters

State = dict[str, Any]
"""Dicts, lists, numbers, texts and CPU tensors: what `training_state.save_state` can write."""


class Learner(Protocol):
    """An agent that learns from its environment. Built as `PPO(env, hyperparameters, seed)`.

    global_step: env steps trained so far, over all environments
    """

    algorithm: str
    global_step: int

    @property
    def hp(self) -> Hyperparameters: ...

    def iterate(self, remaining: float, env_steps_left: int | None = None) -> Episodes:
        """Trains a little more. `remaining`: of the round, 1 to 0, for schedules.

        env_steps_left: in the round, where those are counted; the latest iterations are cut so that no more are
            trained, in whole steps of all environments
        Returns the training episodes that ended. Raises DivergedError, EnvironmentCrashedError.
        """
        ...

    def compile(self) -> bool:
        """Compiles the update from now on, see `compilation`; False where nothing is to be gained from that."""
        ...

    def act(self, obs: Tensor) -> Tensor:
        """The deterministic policy: obs [batch, observation_dim] to environment actions."""
        ...

    def metrics(self) -> dict[str, float]:
        """The latest losses. Waits for the device, and changes nothing that is learned later."""
        ...

    def tensors(self) -> dict[str, Tensor]:
        """All that playing needs, by the names it has in a checkpoint (see checkpoint.PLAYERS)."""
        ...

    def learned(self) -> State:
        """What another agent can inherit, with "algorithm" and "shape"; on the CPU, unchanged by later training."""
        ...

    def inherit(self, learned: State) -> None:
        """Starts from another agent's `learned`; hyperparameters stay this agent's own, the optimizer's too.

        Raises CheckpointError where the networks differ.
        """
        ...

    def state(self) -> State:
        """`learned` and all else that `load_state` needs to go on as if never interrupted."""
        ...

    def load_state(self, state: State) -> None:
        """Goes on from `state()`. Raises CheckpointError where it is of another network or number of environments."""
        ...


def network_shape(env: VectorEnv, hp: Hyperparameters | OffPolicyHyperparameters) -> dict[str, Any]:
    """What must be equal for one agent's tensors to fit another of its algorithm."""
    return {
        "observation_dim": env.observation_dim,
        "action_kind": env.action_kind,
        "action_dim": list(env.nvec) or env.action_dim,
        "hidden_size": hp.hidden_size,
        "num_layers": hp.num_layers,
        "activation": hp.activation,
        "layer_norm": hp.layer_norm,
        "norm_obs": hp.norm_obs,
    }


def check_fits(algorithm: str, shape: Mapping[str, Any], learned: State) -> None:
    """Raises CheckpointError, naming what differs, unless `learned` is of this algorithm and shape."""
    theirs = learned["shape"]
    if learned["algorithm"] == algorithm and theirs == shape:
        return
    differing = [
        f"{name} {theirs.get(name)!r} instead of {own!r}" for name, own in shape.items() if theirs.get(name) != own
    ]
    if learned["algorithm"] != algorithm:
        differing.insert(0, f"algorithm {learned['algorithm']!r} instead of {algorithm!r}")
    raise CheckpointError(
        f"The inherited {learned['algorithm']} state does not fit this agent: {', '.join(differing)}."
    )


def check_num_envs(saved: int, num_envs: int) -> None:
    """Raises CheckpointError where a state is of another number of environments than the plan."""
    if saved != num_envs:
        raise CheckpointError(f"The saved state has {saved} environments, the plan {num_envs}.")


def step_env(env: VectorEnv, actions: Tensor) -> Step:
    """`env.step`, where an environment that crashes on an action that is no number is not to blame.

    Raises DivergedError, EnvironmentCrashedError.
    """
    try:
        return env.step(actions)
    except EnvironmentCrashedError:
        if actions.isfinite().all():
            raise
        raise DivergedError("The policy's actions became NaN or infinite; a lower learning rate may hold.") from None


def steps_within(most: int, num_envs: int, env_steps_left: int | None) -> int:
    """Steps of all environments: `most`, or as many as are left, a begun one counting whole."""
    return most if env_steps_left is None else min(most, -(-env_steps_left // num_envs))


def check_finite(episodes: Episodes, weights: Tensor, global_step: int, learning_rate: float) -> None:
    """Raises DivergedError for a return or a weight that is NaN or infinite. Waits for the device."""
    if not np.isfinite(episodes.returns).all():
        odd = episodes.returns[~np.isfinite(episodes.returns)][0]
        raise DivergedError(f"An episode's rewards added up to {odd}: the environment gave what is no finite number.")
    if not np.isfinite(float(weights.sum())):
        raise DivergedError(
            f"The networks' weights became NaN or infinite after {global_step:,} env steps "
            f"(learning_rate {learning_rate:g}); a lower learning rate may hold."
        )
