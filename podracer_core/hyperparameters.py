"""The hyperparameters of each algorithm: name, type, bounds, meaning. One definition for form, API, files, learner."""

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Value = bool | int | float | str


class PPOHyperparameters(BaseModel):
    """Proximal policy optimisation (Schulman et al. 2017, arXiv 1707.06347), the names as in CleanRL."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=False, allow_inf_nan=False)

    learning_rate: float = Field(3e-4, gt=0, le=1, description="Adam's step size")
    anneal_lr: bool = Field(False, description="lower the learning rate linearly to 0 over the round")
    num_steps: int = Field(32, ge=1, le=65_536, description="env steps per environment between two updates")
    num_epochs: int = Field(4, ge=1, le=100, description="passes over each batch")
    num_minibatches: int = Field(4, ge=1, le=65_536, description="minibatches per pass")
    gamma: float = Field(0.99, ge=0, le=1, description="discount per env step")
    gae_lambda: float = Field(0.95, ge=0, le=1, description="lambda of generalised advantage estimation")
    clip_coef: float = Field(0.2, gt=0, le=10, description="how far the probability ratio may move")
    clip_vloss: bool = Field(False, description="clip the value loss like the policy's")
    ent_coef: float = Field(0.0, ge=0, le=1, description="weight of the entropy bonus")
    vf_coef: float = Field(0.5, ge=0, le=100, description="weight of the value loss")
    max_grad_norm: float = Field(0.5, gt=0, le=1e6, description="gradients longer than this are scaled down")
    target_kl: float = Field(0.0, ge=0, le=10, description="stop an update's epochs beyond this KL; 0 = never")
    norm_adv: bool = Field(True, description="normalise advantages per minibatch")
    norm_obs: bool = Field(False, description="normalise observations by their running mean and deviation")
    norm_reward: bool = Field(False, description="scale rewards by the running deviation of the return")
    hidden_size: int = Field(64, ge=1, le=8_192, description="units per hidden layer")
    num_layers: int = Field(2, ge=0, le=16, description="hidden layers")
    activation: Literal["tanh", "relu", "elu", "silu"] = Field("tanh", description="between the layers")


Hyperparameters = PPOHyperparameters
"""Every algorithm's model; a union from the second algorithm on."""

ALGORITHMS: dict[str, type[Hyperparameters]] = {"ppo": PPOHyperparameters}

NOT_BUILT = ("a2c", "dqn", "ddpg", "td3", "sac", "redq")
"""Algorithms that Podracer names and does not have yet."""

ARCHITECTURE = frozenset({"hidden_size", "num_layers", "activation", "norm_obs"})
"""Change the network's tensors, so an agent that inherits weights keeps its parent's values."""

DISCOUNTS = frozenset({"gamma", "gae_lambda"})
"""What matters is the distance from 1."""


def complete(algorithm: str, *overrides: Mapping[str, Value]) -> Hyperparameters:
    """The algorithm's defaults with `overrides` laid over them, later ones on top.

    Raises pydantic.ValidationError naming each hyperparameter that does not hold.
    """
    merged: dict[str, Value] = {}
    for override in overrides:
        merged.update(override)
    return ALGORITHMS[algorithm].model_validate(merged)


def batch_problem(values: Mapping[str, Value], num_envs: int) -> str | None:
    """Why these hyperparameters make no batch with `num_envs` environments, or None when they do."""
    batch = num_envs * int(values["num_steps"])
    minibatches = int(values["num_minibatches"])
    smallest = batch // minibatches
    if smallest >= (2 if values["norm_adv"] else 1):
        return None
    return (
        f"{minibatches} minibatches are too many for a batch of {batch} samples "
        f"({num_envs} environments x {values['num_steps']} steps); "
        f"at most {batch // 2 if values['norm_adv'] else batch} leave each minibatch enough samples"
    )
