"""Several agents as one: what they agree on, in one file that plays like any other agent."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podracer_core.__main__ import main
from podracer_core.checkpoint import load_agent
from podracer_core.ensemble import Ensemble, make_ensemble, save_ensemble
from podracer_core.envs.spaces import SpaceInfo, box, discrete
from podracer_core.errors import CheckpointError, ExportError
from podracer_core.export import make_export
from podracer_core.player import Agent

OBS = box([-1.0], [1.0])


def agent(outputs: list[float], action: SpaceInfo, algorithm: str = "ppo", **metadata: Any) -> Agent:
    """Answers `outputs` whatever it sees."""
    name = "q" if algorithm == "dqn" else "actor"
    tensors = {
        f"{name}.0.weight": np.zeros((len(outputs), 1), np.float32),
        f"{name}.0.bias": np.array(outputs, np.float32),
    }
    fields = {
        "env_id": "x",
        "algorithm": algorithm,
        "hyperparameters": {},
        "spaces": {"observation": OBS.model_dump(), "action": action.model_dump()},
        "network": {"hidden_size": 8, "num_layers": 0, "activation": "tanh", "obs_clip": 10.0},
        "env_kwargs": {},
        "wrappers": [],
        "score": None,
        "lineage": {"agent": f"{algorithm}{outputs[0]:g}"},
    }
    return Agent(tensors, fields | metadata)


def test_continuous_actions_are_the_mean_of_what_each_would_do() -> None:
    space = box([0.0, -2.0], [4.0, 2.0])
    both = make_ensemble([agent([0.5, 5.0], space), agent([0.0, 0.0], space, "td3")])
    np.testing.assert_allclose(both.act([0.3]), [(3.0 + 2.0) / 2, (2.0 + 0.0) / 2])


def test_the_mean_probability_decides_where_all_have_probabilities() -> None:
    # Two lean a little to 0, one is sure of 2: by votes 0 would win, by probability 2 does.
    leaning = [np.log(0.4), np.log(0.3), np.log(0.3)]
    sure = [np.log(0.01), np.log(0.01), np.log(0.98)]
    ensemble = make_ensemble(
        [agent(leaning, discrete(3)), agent(leaning, discrete(3), "a2c"), agent(sure, discrete(3))]
    )
    assert ensemble.act([0.0]) == 2


def test_each_votes_where_one_has_values_and_the_first_decides_a_tie() -> None:
    values = [0.0, 0.1, 900.0]
    members = [agent([2.0, 0.0, 0.0], discrete(3)), agent(values, discrete(3), "dqn")]
    assert make_ensemble(members).act([0.0]) == 0
    assert make_ensemble(members[::-1]).act([0.0]) == 2
    assert make_ensemble([*members, agent([0.0, 0.0, 9.0], discrete(3))]).act([0.0]) == 2


def test_each_entry_of_several_choices_is_agreed_on_by_itself() -> None:
    space = SpaceInfo(kind="multidiscrete", shape=(2,), dtype="int64", nvec=(2, 3), starts=(0, 5))
    first, second = [5.0, 0.0, 0.0, 9.0, 0.0], [0.0, 1.0, 0.0, 0.0, 1.0]
    assert make_ensemble([agent(first, space), agent(second, space)]).act([0.0]).tolist() == [0, 6]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.floats(-5, 5, width=32), min_size=3, max_size=3), min_size=1, max_size=3))
def test_copies_of_one_agent_act_as_it_does(outputs: list[list[float]]) -> None:
    for algorithm in ("ppo", "dqn"):
        for out in outputs:
            one = agent(out, discrete(3), algorithm)
            assert make_ensemble([one, one, one]).act([0.0]) == one.act([0.0])


def test_one_file_holds_all_and_plays(tmp_path: Path) -> None:
    ensemble = make_ensemble([agent([1.0, 0, 0], discrete(3)), agent([0, 4.0, 0], discrete(3), "dqn")])
    nested = make_ensemble([ensemble, agent([0, 4.0, 0], discrete(3), "a2c")])
    save_ensemble(nested, tmp_path / "ensemble.safetensors")
    loaded = load_agent(tmp_path / "ensemble.safetensors")
    assert isinstance(loaded, Ensemble)
    assert [member.metadata["algorithm"] for member in loaded.members] == ["ppo", "dqn", "a2c"]
    assert loaded.metadata["lineage"]["parents"] == ["ppo1", "dqn0", "a2c0"]
    assert loaded.act(np.zeros((4, 1))).tolist() == [1, 1, 1, 1]
    with pytest.raises(ExportError, match="'ensemble' cannot be exported; its members can"):
        make_export(loaded, "onnx")


def test_what_cannot_be_one_policy_is_refused(tmp_path: Path) -> None:
    one = agent([1.0, 0, 0], discrete(3))
    with pytest.raises(CheckpointError, match="at least two"):
        make_ensemble([one])
    with pytest.raises(CheckpointError, match=r"ppo1 plays x and ppo1 y; .* the same environment"):
        make_ensemble([one, agent([1.0, 0, 0], discrete(3), env_id="y")])
    with pytest.raises(CheckpointError, match=r"ppo1 observes Box.* Discrete.*; .* need the same spaces"):
        make_ensemble([one, agent([1.0, 0], discrete(2))])
    broken = make_ensemble([one, one])
    del broken.tensors["members.1.actor.0.bias"]
    save_ensemble(broken, tmp_path / "broken.safetensors")
    with pytest.raises(CheckpointError, match="not a whole Podracer checkpoint"):
        load_agent(tmp_path / "broken.safetensors")


def test_agents_that_see_unlike_numbers_of_frames_are_refused_by_name_and_number() -> None:
    stacked = SpaceInfo(kind="box", shape=(4, 1), low=(-1.0,) * 4, high=(1.0,) * 4)
    spaces = {"observation": stacked.model_dump(), "action": discrete(2).model_dump()}
    one = agent([0.0, 1.0], discrete(2))
    four = agent([1.0, 0.0], discrete(2), hyperparameters={"frame_stack": 4}, spaces=spaces, lineage={})
    sentence = r"ppo0 has a frame_stack of 1 and agent 2 one of 4; the agents of an ensemble have to see the same\."
    with pytest.raises(CheckpointError, match=sentence):
        make_ensemble([one, four])


def test_the_command_makes_one_that_evaluates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = [str(tmp_path / f"{seed}.safetensors") for seed in (1, 2)]
    for seed, algorithm in ((1, "ppo"), (2, "a2c")):
        train = ["train", "--env", "CartPole-v1", "--algorithm", algorithm, "--env-steps", "512", "--seed", str(seed)]
        assert main([*train, "--json", "--out", parts[seed - 1]]) == 0
    out = str(tmp_path / "both.safetensors")
    assert main(["ensemble", *parts, "--out", out]) == 0
    assert "2 agents (ppo, a2c) as one on CartPole-v1" in capsys.readouterr().out
    assert main(["evaluate", out, "--episodes", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["episodes"] == 3
