"""What comes of averaging what several agents learned."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from podracer_core.agents.learner import State
from podracer_core.agents.normaliser import RunningStatistics
from podracer_core.agents.training_state import load_state, save_state
from podracer_core.errors import CheckpointError
from podracer_core.fuse import fuse
from podracer_core.pod import Pod
from podracer_core.progress import Outcome
from tests.core.making import make_plan, run_pod


def learned(plan: Any) -> State:
    """What a finished pod's agent would hand down."""
    _, result = run_pod(plan)
    assert result.state_path is not None
    state = load_state(result.state_path)["learner"]
    pod = Pod(plan)
    list(pod._set_up())
    return {name: state[name] for name in pod.learner.learned()}


def state(**parts: Any) -> State:
    return {"algorithm": "ppo", "shape": {"hidden_size": 2}, **parts}


def flat(part: Any, prefix: str = "") -> dict[str, Any]:
    if not isinstance(part, dict):
        return {prefix: part}
    return {name: leaf for key, value in part.items() for name, leaf in flat(value, f"{prefix}.{key}").items()}


@pytest.mark.parametrize(
    ("algorithm", "env_id", "overrides"),
    [
        ("ppo", "Pendulum-v1", {"norm_obs": True, "norm_reward": True}),
        ("a2c", "CartPole-v1", {"norm_obs": True}),
        ("dqn", "CartPole-v1", {"learning_starts": 100, "norm_obs": True}),
        ("sac", "Pendulum-v1", {"learning_starts": 100, "hidden_size": 16}),
        ("td3", "Pendulum-v1", {"learning_starts": 100, "hidden_size": 16}),
    ],
)
def test_an_agent_fused_with_itself_is_itself_bit_for_bit(
    algorithm: str, env_id: str, overrides: dict[str, Any], tmp_path: Path
) -> None:
    plan = make_plan(tmp_path, env_id, algorithm=algorithm, num_envs=4, env_steps=256, hyperparameters=overrides)
    own = learned(plan)
    before, after = flat(own), flat(fuse([own, own, own]))
    assert before.keys() == after.keys()
    for name, value in before.items():
        same = torch.equal(value, after[name]) if isinstance(value, torch.Tensor) else value == after[name]
        if name.endswith((".mean", ".var")):  # pooled, so equal but for the last bit
            same = torch.allclose(value, after[name], rtol=1e-12)
        assert same, name


def test_weights_and_moments_are_averaged_and_the_order_does_not_matter() -> None:
    one = state(parameters=torch.tensor([1.0, 2.0]), optimizer={"square_avg": torch.tensor([0.0, 4.0])})
    other = state(parameters=torch.tensor([3.0, -2.0]), optimizer={"square_avg": torch.tensor([2.0, 0.0])})
    for merged in (fuse([one, other]), fuse([other, one])):
        assert merged["parameters"].tolist() == [2.0, 0.0]
        assert merged["optimizer"]["square_avg"].tolist() == [1.0, 2.0]


def test_pooled_statistics_are_those_of_all_rows() -> None:
    torch.manual_seed(0)
    rows = [torch.randn(50, 3) * 2 + 1, torch.randn(150, 3) - 4]
    parts = []
    for part in rows:
        statistics = RunningStatistics(3, torch.device("cpu"))
        statistics.update(part)
        parts.append(state(obs_statistics=statistics.state()))
    merged = fuse(parts)["obs_statistics"]
    everything = torch.cat(rows).double()
    assert torch.allclose(merged["mean"], everything.mean(0))
    assert torch.allclose(merged["var"], everything.var(0, correction=0))
    assert float(merged["count"]) == 100


def test_what_only_one_parent_has_is_handed_down() -> None:
    statistics = {"count": torch.tensor(4.0), "mean": torch.ones(1), "var": torch.ones(1)}
    with_, without = state(reward_statistics=statistics), state(reward_statistics=None)
    for parents in ([with_, without], [without, with_]):
        assert fuse(parents)["reward_statistics"]["mean"].tolist() == [1.0]
    assert fuse([without, without])["reward_statistics"] is None


def test_a_fused_optimizer_corrects_its_bias_by_the_mean_of_theirs() -> None:
    def adam(steps: int, second: float) -> State:
        moments = {"exp_avg": torch.zeros(1), "exp_avg_sq": torch.tensor([second])}
        return state(optimizer={**moments, "num_steps": torch.tensor(steps)})

    # Both have seen gradients of square 1 all along; the young one's moment is still biased towards 0.
    young, old = adam(100, 1 - 0.999**100), adam(50_000, 1.0)
    merged = fuse([young, old])["optimizer"]
    correction = 1 - 0.999 ** int(merged["num_steps"])
    assert float(merged["exp_avg_sq"]) / correction == pytest.approx(1.0, rel=1e-3)
    assert int(fuse([old, old])["optimizer"]["num_steps"]) == 50_000
    assert math.isfinite(int(fuse([adam(10**7, 1.0), adam(10**8, 1.0)])["optimizer"]["num_steps"]))


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (state(parameters=torch.zeros(2)) | {"algorithm": "a2c"}, "algorithm"),
        (state(parameters=torch.zeros(2)) | {"shape": {"hidden_size": 3}}, "hidden_size"),
        (state(parameters=torch.zeros(2), target=torch.zeros(2)), "different parts"),
        (state(parameters=torch.tensor([1, 2])), "parameters"),
    ],
)
def test_what_does_not_fit_together_is_refused_by_name(other: State, says: str) -> None:
    one = state(parameters=torch.zeros(2, dtype=other["parameters"].dtype))
    with pytest.raises(CheckpointError, match=says):
        fuse([one, other])


def test_a_pod_starts_from_the_mean_of_its_parents(tmp_path: Path) -> None:
    _, founder = run_pod(make_plan(tmp_path / "founder", env_steps=512))
    states = []
    for seed in (2, 3):
        plan = make_plan(tmp_path / str(seed), seed=seed, env_steps=512, inherit_from=founder.state_path)
        states.append(run_pod(plan)[1].state_path)
    pod = Pod(make_plan(tmp_path / "fused", inherit_from=tuple(states)))
    log = list(pod._set_up())
    assert "mean of 2 parents'" in log[0].text  # type: ignore[union-attr]
    parents = [load_state(str(path))["learner"]["parameters"].double() for path in states]
    mean = ((parents[0] + parents[1]) / 2).float()
    assert torch.equal(pod.learner.learned()["parameters"], mean)


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 not a state"])
def test_a_damaged_parent_is_named_by_its_place(damage: bytes, tmp_path: Path) -> None:
    _, founder = run_pod(make_plan(tmp_path / "founder", env_steps=256))
    broken = tmp_path / "broken.pt"
    broken.write_bytes(damage)
    _, result = run_pod(make_plan(tmp_path / "heir", inherit_from=(founder.state_path, str(broken))))
    assert (result.outcome, result.lost_donor, result.retryable) == (Outcome.FAILED, 1, False)
    assert "broken.pt" in result.reason
    save_state(tmp_path / "other.pt", {"learner": state(parameters=torch.zeros(2))})
    _, result = run_pod(make_plan(tmp_path / "misfit", inherit_from=str(tmp_path / "other.pt")))
    assert (result.outcome, result.lost_donor) == (Outcome.FAILED, None)
