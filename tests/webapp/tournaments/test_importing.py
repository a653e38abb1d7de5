"""A tournament that ran without a server, in the dashboard."""

from io import StringIO
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from podracer_core.local.tournament import LocalTournament
from podracer_core.spec_parse import spec_parse
from webapp.tournaments import storage
from webapp.tournaments.models import Tournament


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> LocalTournament:
    spec = {
        "name": "from a laptop",
        "env_id": "CartPole-v1",
        "round": {"env_steps": 2_000},
        "leaderboard": {"eval_episodes": 4, "ensemble": 2},
        "generator": {"strategies": {"exploit": 1}},
        "stop": {"pods": 3},
    }
    tournament = LocalTournament(spec_parse(spec), tmp_path_factory.mktemp("local"), slots=1)
    tournament.run()
    return tournament


def test_it_looks_in_the_dashboard_as_it_was(ran: LocalTournament, owner: User, api: Client) -> None:
    out = StringIO()
    call_command("tournament_import", ran.home.folder, stdout=out)
    tournament = Tournament.objects.get()
    assert f"as tournament {tournament.pk} with 3 agents" in out.getvalue()
    shown = api.get(f"/api/tournaments/{tournament.pk}").json()
    assert (shown["status"], shown["env_steps"]) == ("FINISHED", ran.env_steps)
    listed = api.get(f"/api/tournaments/{tournament.pk}/leaderboard").json()["items"]
    items = [item for item in listed if item["kind"] == "agent"]
    agents = [ran.agents[row.agent] for row in ran.record.leaderboard]
    assert [(item["score"], item["beats_next"]) for item in items] == [
        (agent.score, row.beats_next) for agent, row in zip(agents, ran.record.leaderboard, strict=True)
    ]
    assert [len(item["parents"]) for item in items] == [len(agent.parents) for agent in agents]
    events = api.get(f"/api/tournaments/{tournament.pk}/events").json()["items"]
    assert [event["text"] for event in reversed(events)] == [event.text for event in ran.home.events]
    best = items[0]["agent"]
    curve = api.get(f"/api/agents/{best}/curve?points=all").json()
    assert curve["env_steps"] == [point[0] for point in ran.home.curve(agents[0].index)]
    file = ran.home.checkpoint_file(agents[0].index)
    assert file is not None
    assert b"".join(api.get(f"/api/agents/{best}/checkpoint").streaming_content) == file.read_bytes()
    assert api.get(f"/api/agents/{best}").json()["log"]
    for agent in tournament.agents.select_related("inherits_from"):
        record = ran.agents[agent.index]
        donor = agent.inherits_from.index if agent.inherits_from else None
        assert ([] if donor is None else [donor]) == record.inherits[:1]
        for name in ("num_envs", "origin", "stage", "team", "schedule", "screening", "confirmation", "changes"):
            assert getattr(agent, name) == getattr(record, name), name
    assert (tournament.reevaluations, tournament.reevaluations_changed) == (
        ran.record.reevaluations,
        ran.record.reevaluations_changed,
    )
    (ensemble,) = [item for item in listed if item["kind"] == "ensemble"]
    assert ensemble["parent_names"] == [agent.name for agent in agents[:2]]
    assert ensemble["score"] == ran.home.ensembles[0].score
    stored = b"".join(api.get(f"/api/agents/{ensemble['agent']}/checkpoint").streaming_content)
    assert stored == ran.home.ensemble_file(0).read_bytes()
    assert api.get(f"/api/agents/{ensemble['agent']}").json()["status"] == "FINISHED"


def test_what_goes_wrong_leaves_neither_rows_nor_files(
    ran: LocalTournament, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "store", _refuse)
    with pytest.raises(OSError, match="full"):
        call_command("tournament_import", ran.home.folder, stdout=StringIO())
    assert not Tournament.objects.exists()


def _refuse(*_: object) -> None:
    raise OSError("full")


def test_a_folder_that_holds_none_and_an_unknown_owner_are_refused(tmp_path: Path, owner: User) -> None:
    with pytest.raises(CommandError, match="is not the folder of a tournament"):
        call_command("tournament_import", tmp_path)
    with pytest.raises(CommandError, match="no user 'nobody'"):
        call_command("tournament_import", tmp_path, owner="nobody")
