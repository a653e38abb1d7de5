"""What a checkpoint says of the agent that a pod trained."""

from typing import Any

from podracer_core.agents.convolution import layers_of
from podracer_core.envs.image import Image
from podracer_core.envs.known import environment_check
from podracer_core.envs.spaces import stacked
from podracer_core.envs.wrapped import wrapping_of
from podracer_core.hyperparameters import Hyperparameters
from podracer_core.player import OBS_CLIP
from podracer_core.progress import Evaluation
from podracer_core.spec import PodPlan


def agent_metadata(
    plan: PodPlan, hp: Hyperparameters, evaluation: Evaluation | None, confirmation: Evaluation | None
) -> dict[str, Any]:
    """What a checkpoint says of its agent, as checkpoint.METADATA_KEYS lists it."""
    entry = environment_check(plan.env_id)
    frame_stack = frame_stack_of(hp)
    wrapping = wrapping_of(plan.env_id, frame_stack)
    image = entry.observation_space.image
    score = _score(evaluation)
    if score is not None:
        score["confirmation"] = _score(confirmation)
    return {
        "env_id": plan.env_id,
        "spaces": {
            "observation": stacked(entry.observation_space, frame_stack).model_dump(mode="json"),
            "action": entry.action_space.model_dump(mode="json"),
        },
        "algorithm": plan.algorithm,
        "hyperparameters": hp.model_dump(),
        "network": {
            "hidden_size": hp.hidden_size,
            "num_layers": hp.num_layers,
            "activation": hp.activation,
            "layer_norm": hp.layer_norm,
            "obs_clip": OBS_CLIP,
            **(_encoder(image.stacked(frame_stack)) if image else {}),
        },
        "env_kwargs": wrapping.env_kwargs,
        "wrappers": wrapping.wrappers,
        "score": score,
        "lineage": plan.lineage,
    }


def _encoder(image: Image) -> dict[str, Any]:
    return {"image": image._asdict(), "strides": [layer.stride for layer in layers_of(image)]}


def frame_stack_of(hp: Hyperparameters) -> int:
    return int(getattr(hp, "frame_stack", 1))


def _score(evaluation: Evaluation | None) -> dict[str, Any] | None:
    if evaluation is None:
        return None
    return {name: getattr(evaluation, name) for name in ("score", "score_low", "score_high", "episodes")}
