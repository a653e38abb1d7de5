"""The hyperparameters of each algorithm: name, type, bounds, meaning. One definition for form, API, files, learner."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Value = bool | int | float | str

Activation = Literal["tanh", "relu", "elu", "silu"]
LearningRate = Annotated[float, Field(gt=0, le=1, description="Adam's step size")]
AnnealLR = Annotated[bool, Field(description="lower the learning rate linearly to 0 over the round")]
AnnealClipCoef = Annotated[bool, Field(description="lower clip_coef linearly to 0 over the round")]
AnnealEntCoef = Annotated[bool, Field(description="lower ent_coef linearly to 0 over the round")]
LayerNorm = Annotated[bool, Field(description="normalise what each hidden layer gives, before its activation")]
WeightDecay = Annotated[
    float,
    Field(ge=0, le=100, description="pull of the layers' weights to 0, times the learning rate; biases have none"),
]
Gamma = Annotated[float, Field(ge=0, le=1, description="discount per env step")]
LogStdInit = Annotated[
    float,
    Field(ge=-5, le=1, description="continuous actions: logarithm of their deviation at first, before any is clipped"),
]


class _Algorithm(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=False, allow_inf_nan=False)


class PPOHyperparameters(_Algorithm):
    """Proximal policy optimisation (Schulman et al. 2017, arXiv 1707.06347), the names as in CleanRL."""

    learning_rate: LearningRate = 3e-4
    anneal_lr: AnnealLR = False
    num_steps: int = Field(32, ge=1, le=65_536, description="env steps per environment between two updates")
    num_epochs: int = Field(4, ge=1, le=100, description="passes over each batch")
    num_minibatches: int = Field(4, ge=1, le=65_536, description="minibatches per pass")
    gamma: Gamma = 0.99
    gae_lambda: float = Field(0.95, ge=0, le=1, description="lambda of generalised advantage estimation")
    clip_coef: float = Field(0.2, gt=0, le=10, description="how far the probability ratio may move")
    anneal_clip_coef: AnnealClipCoef = False
    clip_vloss: bool = Field(False, description="clip the value loss like the policy's")
    ent_coef: float = Field(0.0, ge=0, le=1, description="weight of the entropy bonus")
    anneal_ent_coef: AnnealEntCoef = False
    vf_coef: float = Field(0.5, ge=0, le=100, description="weight of the value loss")
    max_grad_norm: float = Field(0.5, gt=0, le=1e6, description="gradients longer than this are scaled down")
    target_kl: float = Field(0.0, ge=0, le=10, description="stop an update's epochs beyond this KL; 0 = never")
    norm_adv: bool = Field(True, description="normalise advantages per minibatch")
    norm_obs: bool = Field(False, description="normalise observations by their running mean and deviation")
    norm_reward: bool = Field(False, description="scale rewards by the running deviation of the return")
    clip_reward: bool = Field(False, description="learn from the sign of each reward alone")
    frame_stack: int = Field(1, ge=1, le=64, description="latest observations that the agent sees at once")
    hidden_size: int = Field(64, ge=1, le=8_192, description="units per hidden layer")
    num_layers: int = Field(2, ge=0, le=16, description="hidden layers")
    activation: Activation = Field("tanh", description="between the layers")
    log_std_init: LogStdInit = 0.0
    layer_norm: LayerNorm = False
    weight_decay: WeightDecay = 0.0


class A2CHyperparameters(_Algorithm):
    """Advantage actor-critic (Mnih et al. 2016, arXiv 1602.01783), synchronous."""

    learning_rate: LearningRate = Field(7e-4, description="the optimizer's step size")
    anneal_lr: AnnealLR = False
    optimizer: Literal["rmsprop", "adam"] = Field("rmsprop", description="what steps the weights")
    num_steps: int = Field(8, ge=1, le=65_536, description="env steps per environment between two updates")
    gamma: Gamma = 0.99
    gae_lambda: float = Field(1.0, ge=0, le=1, description="lambda of generalised advantage estimation; 1 = none")
    ent_coef: float = Field(0.01, ge=0, le=1, description="weight of the entropy bonus")
    anneal_ent_coef: AnnealEntCoef = False
    vf_coef: float = Field(0.5, ge=0, le=100, description="weight of the value loss")
    max_grad_norm: float = Field(0.5, gt=0, le=1e6, description="gradients longer than this are scaled down")
    norm_adv: bool = Field(False, description="normalise advantages per batch")
    norm_obs: bool = Field(False, description="normalise observations by their running mean and deviation")
    norm_reward: bool = Field(False, description="scale rewards by the running deviation of the return")
    clip_reward: bool = Field(False, description="learn from the sign of each reward alone")
    frame_stack: int = Field(1, ge=1, le=64, description="latest observations that the agent sees at once")
    hidden_size: int = Field(64, ge=1, le=8_192, description="units per hidden layer")
    num_layers: int = Field(2, ge=0, le=16, description="hidden layers")
    activation: Activation = Field("tanh", description="between the layers")
    log_std_init: LogStdInit = 0.0
    layer_norm: LayerNorm = False
    weight_decay: WeightDecay = 0.0


class DQNHyperparameters(_Algorithm):
    """Deep Q-learning (Mnih et al. 2015, doi 10.1038/nature14236), the names as in CleanRL."""

    learning_rate: LearningRate = 1e-3
    anneal_lr: AnnealLR = False
    buffer_size: int = Field(100_000, ge=1, le=10_000_000, description="transitions in the replay buffer")
    learning_starts: int = Field(1_000, ge=0, le=10**9, description="env steps before the first update")
    train_freq: int = Field(4, ge=1, le=65_536, description="env steps per environment between two series of updates")
    utd_ratio: float = Field(
        0.25, gt=0, le=100, description="updates per env step, whatever the number of environments"
    )
    batch_size: int = Field(128, ge=1, le=65_536, description="transitions per update")
    gamma: Gamma = 0.99
    target_network_frequency: int = Field(200, ge=1, le=10**9, description="updates between two of the target network")
    tau: float = Field(1.0, gt=0, le=1, description="share of the way that the target network then moves")
    start_e: float = Field(1.0, ge=0, le=1, description="how often actions are random at first")
    end_e: float = Field(0.05, ge=0, le=1, description="how often actions are random in the end")
    exploration_steps: int = Field(10_000, ge=0, le=10**12, description="env steps from start_e to end_e")
    double: bool = Field(True, description="double Q-learning: the network picks the action that the target values")
    dueling: bool = Field(False, description="dueling streams for the state's value and the actions' advantages")
    n_step: int = Field(1, ge=1, le=1_000, description="rewards summed before the target network's value")
    prioritised_replay: bool = Field(False, description="draw transitions by their latest error")
    priority_alpha: float = Field(0.6, ge=0, le=1, description="how much the error counts, 0 = not at all")
    priority_beta: float = Field(
        0.4, ge=0, le=1, description="correction for it at first; it rises to 1 over the round"
    )
    max_grad_norm: float = Field(10.0, gt=0, le=1e6, description="gradients longer than this are scaled down")
    norm_obs: bool = Field(False, description="normalise observations by their running mean and deviation")
    clip_reward: bool = Field(False, description="learn from the sign of each reward alone")
    frame_stack: int = Field(1, ge=1, le=64, description="latest observations that the agent sees at once")
    hidden_size: int = Field(64, ge=1, le=8_192, description="units per hidden layer")
    num_layers: int = Field(2, ge=0, le=16, description="hidden layers")
    activation: Activation = Field("relu", description="between the layers")
    layer_norm: LayerNorm = False
    weight_decay: WeightDecay = 0.0


EXPLORATION_NOISE = "deviation of the noise on actions, where -1 and 1 are their bounds"


class OffPolicyHyperparameters(_Algorithm):
    """What every actor with critics and a replay buffer has; the names as in Stable-Baselines3."""

    learning_rate: LearningRate = 3e-4
    anneal_lr: AnnealLR = False
    buffer_size: int = Field(300_000, ge=1, le=10_000_000, description="transitions in the replay buffer")
    batch_size: int = Field(256, ge=1, le=65_536, description="transitions per update")
    learning_starts: int = Field(1_000, ge=0, le=10**9, description="env steps before the first update")
    utd_ratio: float = Field(1.0, gt=0, le=100, description="updates per env step, whatever the number of environments")
    gamma: Gamma = 0.99
    n_step: int = Field(1, ge=1, le=1_000, description="rewards summed before the target networks' value")
    tau: float = Field(0.005, gt=0, le=1, description="share of the way that the target networks move")
    max_grad_norm: float = Field(0.0, ge=0, le=1e6, description="gradients longer than this are scaled down; 0 = none")
    noise_correlation: float = Field(
        0.0, ge=0, lt=1, description="how much of one env step's exploration noise is in that of the next"
    )
    norm_obs: bool = Field(False, description="normalise observations by their running mean and deviation")
    float32_matmul_precision: Literal["highest", "high", "medium"] = Field(
        "medium", description="of the updates' matrix products; medium: by bfloat16 where that is faster"
    )
    hidden_size: int = Field(256, ge=1, le=8_192, description="units per hidden layer")
    num_layers: int = Field(2, ge=0, le=16, description="hidden layers")
    activation: Activation = Field("relu", description="between the layers")
    layer_norm: LayerNorm = False
    weight_decay: WeightDecay = 0.0


EntCoef = Annotated[
    Annotated[float, Field(ge=0, le=1_000)] | Literal["auto"],
    Field(description="weight of the entropy; auto: so that it nears a target, minus the number of actions"),
]


class SACHyperparameters(OffPolicyHyperparameters):
    """Soft actor-critic (Haarnoja et al. 2018, arXiv 1812.05905), for discrete actions as in arXiv 1910.07207."""

    ent_coef: EntCoef = "auto"
    target_entropy_scale: float = Field(
        0.8, ge=0, le=1, description="discrete actions: what it then nears, as a share of acting uniformly at random"
    )


class REDQHyperparameters(OffPolicyHyperparameters):
    """Randomised ensembled double Q-learning (Chen et al. 2021, arXiv 2101.05982)."""

    utd_ratio: float = Field(
        20.0, gt=0, le=100, description="updates per env step, whatever the number of environments"
    )
    num_critics: int = Field(10, ge=1, le=100, description="critics in the ensemble")
    num_subset: int = Field(2, ge=1, le=100, description="critics drawn for each target, of which the smallest counts")
    policy_delay: int = Field(20, ge=1, le=1_000, description="critic updates for each of the actor")
    ent_coef: EntCoef = "auto"


class DDPGHyperparameters(OffPolicyHyperparameters):
    """Deep deterministic policy gradient (Lillicrap et al. 2016, arXiv 1509.02971)."""

    exploration_noise: float = Field(0.1, ge=0, le=10, description=EXPLORATION_NOISE)


class TD3Hyperparameters(OffPolicyHyperparameters):
    """Twin delayed deep deterministic policy gradient (Fujimoto et al. 2018, arXiv 1802.09477)."""

    exploration_noise: float = Field(0.1, ge=0, le=10, description=EXPLORATION_NOISE)
    policy_noise: float = Field(0.2, ge=0, le=10, description="deviation of the noise on the target actor's actions")
    noise_clip: float = Field(0.5, ge=0, le=10, description="bound of that noise")
    policy_delay: int = Field(2, ge=1, le=1_000, description="critic updates for each of the actor and the targets")


Hyperparameters = (
    PPOHyperparameters
    | A2CHyperparameters
    | DQNHyperparameters
    | DDPGHyperparameters
    | TD3Hyperparameters
    | SACHyperparameters
    | REDQHyperparameters
)
"""Every algorithm's model."""

ALGORITHMS: dict[str, type[Hyperparameters]] = {
    "ppo": PPOHyperparameters,
    "a2c": A2CHyperparameters,
    "dqn": DQNHyperparameters,
    "ddpg": DDPGHyperparameters,
    "td3": TD3Hyperparameters,
    "sac": SACHyperparameters,
    "redq": REDQHyperparameters,
}

ACTION_KINDS: dict[str, tuple[str, ...]] = {
    "ppo": ("discrete", "multidiscrete", "continuous"),
    "a2c": ("discrete", "multidiscrete", "continuous"),
    "dqn": ("discrete",),
    "ddpg": ("continuous",),
    "td3": ("continuous",),
    "sac": ("discrete", "continuous"),
    "redq": ("continuous",),
}
"""The kinds of actions that each algorithm can choose."""

ARCHITECTURE = frozenset(
    {
        "hidden_size",
        "num_layers",
        "activation",
        "layer_norm",
        "norm_obs",
        "dueling",
        "optimizer",
        "num_critics",
        "frame_stack",
        "log_std_init",
    }
)
"""Change the network's or the optimizer's tensors, or how they begin: an heir of weights keeps its parent's values."""

DISCOUNTS = frozenset({"gamma", "gae_lambda"})
"""What matters is the distance from 1."""

DECISIVE: dict[str, Callable[[Any], Any]] = {
    "num_steps": min,
    "num_minibatches": max,
    "norm_adv": any,
    "buffer_size": min,
    "batch_size": max,
    "num_critics": min,
    "num_subset": max,
}
"""Which end of a search space decides whether every draw from it holds together, see `batch_problem`."""


def complete(algorithm: str, *overrides: Mapping[str, Value]) -> Hyperparameters:
    """The algorithm's defaults with `overrides` laid over them, later ones on top.

    Raises pydantic.ValidationError naming each hyperparameter that does not hold.
    """
    merged: dict[str, Value] = {}
    for override in overrides:
        merged.update(override)
    return ALGORITHMS[algorithm].model_validate(merged)


def algorithm_problem(algorithm: str, action_kind: str) -> str | None:
    """Why `algorithm` cannot choose actions of this kind, with the algorithms that can, or None when it can."""
    if action_kind in ACTION_KINDS[algorithm]:
        return None
    fitting = ", ".join(name for name, kinds in ACTION_KINDS.items() if action_kind in kinds)
    return f"{algorithm} cannot choose {action_kind} actions, which this environment has; those that can: {fitting}"


def sees_images(algorithm: str) -> bool:
    return "frame_stack" in ALGORITHMS[algorithm].model_fields


def observation_problem(
    algorithm: str, values: Mapping[str, Value], *, kind: str, image: bool
) -> tuple[str | None, str] | None:
    """The hyperparameter at fault, None for the algorithm itself, and why it cannot see what the environment shows.

    kind: of the observation space; image: whether it holds images
    """
    if image and not sees_images(algorithm):
        seeing = ", ".join(name for name in ALGORITHMS if sees_images(name))
        return None, f"{algorithm} cannot see images, which this environment shows; those that can: {seeing}"
    if image and values["norm_obs"]:
        return "norm_obs", "is for vectors; images are brought to 0 .. 1 as they are, so leave it off"
    if int(values.get("frame_stack", 1)) > 1 and kind != "box":
        return "frame_stack", f"stacks observations of a Box; this environment shows a {kind.title()}"
    return None


def batch_problem(values: Mapping[str, Value], num_envs: int) -> tuple[str, str] | None:
    """The hyperparameter at fault and why these do not hold together with `num_envs` environments, or None."""
    if "num_minibatches" in values:
        return _minibatch_problem(values, num_envs)
    if "num_steps" in values:
        return _rollout_problem(values, num_envs)
    if "buffer_size" in values:
        return _replay_problem(values, num_envs) or _ensemble_problem(values)
    return None


def _minibatch_problem(values: Mapping[str, Value], num_envs: int) -> tuple[str, str] | None:
    batch = num_envs * int(values["num_steps"])
    minibatches = int(values["num_minibatches"])
    smallest = batch // minibatches
    if smallest >= (2 if values["norm_adv"] else 1):
        return None
    return "num_minibatches", (
        f"{minibatches} minibatches are too many for a batch of {batch} samples "
        f"({num_envs} environments x {values['num_steps']} steps); "
        f"at most {batch // 2 if values['norm_adv'] else batch} leave each minibatch enough samples"
    )


def _rollout_problem(values: Mapping[str, Value], num_envs: int) -> tuple[str, str] | None:
    if num_envs * int(values["num_steps"]) >= (2 if values["norm_adv"] else 1):
        return None
    return "num_steps", "a batch of a single sample has no deviation to normalise advantages by; at least 2"


def _replay_problem(values: Mapping[str, Value], num_envs: int) -> tuple[str, str] | None:
    smallest = max(int(values["batch_size"]), num_envs)
    if int(values["buffer_size"]) >= smallest:
        return None
    return "buffer_size", (
        f"a replay buffer of {values['buffer_size']} transitions is too small for batches of "
        f"{values['batch_size']} from {num_envs} environments; at least {smallest}"
    )


def _ensemble_problem(values: Mapping[str, Value]) -> tuple[str, str] | None:
    if "num_subset" not in values or int(values["num_subset"]) <= int(values["num_critics"]):
        return None
    return "num_subset", f"{values['num_subset']} critics cannot be drawn from {values['num_critics']}; at most so many"
