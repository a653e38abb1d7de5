"""Ensembles in the database and in the API: asked for, made once, listed beside the agents, out of their way."""

import hashlib
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db.models.functions import Now
from django.test import Client

from podracer_core.tournament.statistics import summarise
from tests.webapp.tournaments import making
from tests.webapp.tournaments.test_api import holds, post, refused
from webapp.tournaments import endings, exporting, orchestrator, retention, schemas, services, storage
from webapp.tournaments.artefacts import artefacts, ensembles
from webapp.tournaments.artefacts import schemas as artefact_schemas
from webapp.tournaments.artefacts.artefacts import ArtefactClaim, MadeFile
from webapp.tournaments.errors import ArtefactLostError
from webapp.tournaments.models import Agent, Artefact, Tournament

pytestmark = pytest.mark.django_db

CONTENT = bytes(range(256)) * 40
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def ask(tournament: Tournament, size: int) -> Agent:
    return ensembles.ensemble_request(tournament_id=tournament.pk, size=size)


def claim() -> ArtefactClaim:
    claimed = artefacts.artefact_claim(worker="w")
    assert claimed is not None
    return claimed


def finish(claimed: ArtefactClaim, score: float = 100.0) -> None:
    """As a worker does it: the file first."""
    name = storage.agent_file(claimed.tournament_id, claimed.agent_id, f"ensemble-{claimed.attempt}.safetensors")
    made = MadeFile(default_storage.save(name, ContentFile(CONTENT)), SHA256, len(CONTENT))
    evaluation = summarise([score - 2, score, score, score + 2], [10] * 4)
    ensembles.ensemble_finish(claim=claimed, made=made, evaluation=evaluation)


def listed(api: Client, tournament: Tournament, query: str = "") -> list[Any]:
    """(rank, kind, score) of the leaderboard's items."""
    body = holds(schemas.LeaderboardPage, api.get(f"/api/tournaments/{tournament.pk}/leaderboard{query}"))
    return [(item["rank"], item["kind"], item["score"]) for item in body["items"]]


def events(api: Client, tournament: Tournament) -> list[str]:
    items = api.get(f"/api/tournaments/{tournament.pk}/events").json()["items"]
    return [item["text"] for item in items]


def later(**fields: Any) -> None:
    Artefact.objects.update(**{name: Now() - timedelta(seconds=seconds) for name, seconds in fields.items()})


def test_it_is_asked_for_made_and_listed_where_its_score_belongs(api: Client) -> None:
    tournament = making.board(90, 70, 50, 30)
    path = f"/api/tournaments/{tournament.pk}/ensembles"
    answer = post(api, path, {"size": 3})
    assert answer.status_code == 202
    asked = answer.json()
    schemas.EnsembleOut.model_validate_json(answer.content)
    assert (asked["status"], answer["Location"]) == ("QUEUED", f"/api/agents/{asked['agent']}")
    making_now = api.get(f"/api/tournaments/{tournament.pk}/leaderboard").json()["making"]
    assert [(one["name"], one["status"]) for one in making_now] == [("ens-1", "QUEUED")]
    best = [row.agent for row in tournament.leaderboard.select_related("agent")[:3]]
    claimed = claim()
    assert claimed.checkpoint_files == tuple(agent.checkpoint_file for agent in best)
    assert claimed.job["episodes"] == 8, "its members were evaluated twice"
    assert claimed.job["lineage"]["parents"] == [agent.name for agent in best]
    finish(claimed, 80)
    assert listed(api, tournament) == [
        (1, "agent", 90),
        (None, "ensemble", 80),
        (2, "agent", 70),
        (3, "agent", 50),
        (4, "agent", 30),
    ]
    board = api.get(f"/api/tournaments/{tournament.pk}/leaderboard").json()
    item = board["items"][1]
    assert item["parents"] == [str(agent.pk) for agent in best]
    assert item["beats_next"] > 0.99
    assert (board["count"], board["making"]) == (5, [])
    names = f"{best[0].name}, {best[1].name} and {best[2].name}"
    made = "80 (78.5 to 81.5) over 4 episodes; its best member alone has 90."
    assert events(api, tournament)[0] == f"ens-1, an ensemble of {names}: {made}"
    (one,) = holds(artefact_schemas.EnsemblePage, api.get(path))["items"]
    assert (one["status"], one["score"]) == ("FINISHED", 80)


def test_the_leaderboard_comes_in_pages_with_ensembles_among_the_agents(api: Client) -> None:
    tournament = making.board(90, 70, 50, 30)
    for size, score in ((2, 95.0), (3, 60.0), (4, 20.0)):
        ask(tournament, size)
        finish(claim(), score)
    whole = listed(api, tournament)
    assert [score for *_, score in whole] == [95, 90, 70, 60, 50, 30, 20]
    for limit in (1, 2, 3):
        pages = [listed(api, tournament, f"?limit={limit}&offset={offset}") for offset in range(0, 7, limit)]
        assert [item for page in pages for item in page] == whole
    path = f"/api/tournaments/{tournament.pk}/leaderboard?limit=1"
    assert api.get(path).json()["items"][0]["beats_next"] > 0.99, "the next agent is not on this page"


def test_of_equal_scores_the_agents_go_first(api: Client) -> None:
    tournament = making.board(90, 90, 50)
    ask(tournament, 2)
    finish(claim(), 90)
    assert [kind for _, kind, _ in listed(api, tournament)] == ["agent", "agent", "ensemble", "agent"]


def test_its_checkpoint_and_page_are_an_agents(api: Client) -> None:
    tournament = making.board(90, 70)
    agent = ask(tournament, 2)
    path = f"/api/agents/{agent.pk}"
    waiting = holds(schemas.AgentOut, api.get(path))
    assert (waiting["kind"], waiting["status"], waiting["checkpoint"]) == ("ensemble", "QUEUED", None)
    assert refused(api.get(f"{path}/checkpoint"), 404)
    finish(claim(), 80)
    whole = api.get(f"{path}/checkpoint")
    assert (whole["ETag"], whole["Content-Length"]) == (f'"{SHA256}"', str(len(CONTENT)))
    assert whole["Content-Disposition"] == 'attachment; filename="CartPole-v1-ens-1.safetensors"'
    part = api.get(f"{path}/checkpoint", headers={"range": "bytes=3-5"})
    assert (part.status_code, b"".join(part.streaming_content)) == (206, CONTENT[3:6])
    assert api.get(f"{path}/checkpoint", headers={"if-none-match": f'"{SHA256}"'}).status_code == 304
    shown = holds(schemas.AgentOut, api.get(path))
    assert [(member["rank"], member["score"]) for member in shown["members"]] == [(1, 90), (2, 70)]
    assert shown["beats_best_member"] < 0.01
    assert shown["returns"] == [78, 80, 80, 82]
    assert api.get(f"{path}/curve").json() == {"env_steps": [], "seconds": [], "episodic_return": []}


def test_it_can_be_filmed_and_says_that_it_cannot_be_exported(api: Client) -> None:
    agent = ask(making.board(90, 70), 2)
    early = refused(post(api, f"/api/agents/{agent.pk}/replays", {"episode": "best"}), 409)
    assert early[""] == "ens-1 has no checkpoint: it is not made yet, or could not be."
    finish(claim())
    assert post(api, f"/api/agents/{agent.pk}/replays", {"episode": "best"}).status_code == 202
    said = refused(post(api, f"/api/agents/{agent.pk}/exports", {"format": "onnx"}), 409)
    assert said[""] == "ens-1 is an ensemble and cannot be exported; each of its members can."


def test_asking_again_for_the_same_agents_answers_the_same_ensemble(api: Client) -> None:
    tournament = making.board(90, 70, 50)
    assert ask(tournament, 2).pk == ask(tournament, 2).pk
    assert ask(tournament, 3).name == "ens-2"
    finish(claim())
    assert ask(tournament, 2).name == "ens-1"
    assert Artefact.objects.get(agent__name="ens-1").status == "FINISHED"


@pytest.mark.parametrize(
    ("body", "status", "field", "says"),
    [
        ({"size": 1}, 422, "size", "an ensemble is of 2 to 4 agents here, got 1"),
        ({"size": 5}, 422, "size", "an ensemble is of 2 to 4 agents here, got 5"),
        ({"size": "2"}, 422, "size", "must be a whole number"),
        ({}, 422, "size", "is required"),
        ({"size": 2, "agents": []}, 422, "agents", "there is no such field; there are size"),
        (
            {"size": 3},
            409,
            "",
            "An ensemble of 3 needs 3 agents with a checkpoint; only 2 of them stand on the leaderboard now.",
        ),
    ],
)
def test_what_cannot_be_an_ensemble_is_refused_in_a_sentence(
    api: Client, body: Any, status: int, field: str, says: str
) -> None:
    tournament = making.board(90, 70, leaderboard={"size": 4, "max_per_ancestor": 1})
    assert refused(post(api, f"/api/tournaments/{tournament.pk}/ensembles", body), status) == {field: says}
    assert not Artefact.objects.exists()


def test_agents_without_checkpoint_and_those_that_see_otherwise_are_refused(api: Client) -> None:
    tournament = making.board(90, 70)
    path = f"/api/tournaments/{tournament.pk}/ensembles"
    Agent.objects.filter(score=70).update(hyperparameters={"frame_stack": 4})
    assert "one of 4; the agents of an ensemble have to see the same." in refused(post(api, path, {"size": 2}), 409)[""]
    Agent.objects.filter(score=70).update(checkpoint_file="", checkpoint_sha256="")
    assert "only 1 of them stands on the leaderboard now." in refused(post(api, path, {"size": 2}), 409)[""]
    narrow = making.board(leaderboard={"size": 1})
    said = refused(post(api, f"/api/tournaments/{narrow.pk}/ensembles", {"size": 2}), 409)
    assert said[""] == "An ensemble needs at least two agents, and this leaderboard has one place."
    assert refused(post(api, "/api/tournaments/999/ensembles", {"size": 2}), 404)


def test_it_stands_beside_the_agents_and_never_among_them(api: Client) -> None:
    """Nothing that decides about agents may take it for one."""
    board = {"size": 2, "max_per_ancestor": 1}
    tournament = making.board(90, 70, leaderboard=board, generator={"strategies": {"exploit": 1}})
    with orchestrator.changing(tournament.pk) as locked:
        before = endings.standing(locked)
    ask(tournament, 2)
    finish(claim(), 9_000)
    with orchestrator.changing(tournament.pk) as locked:
        assert replace(endings.standing(locked), seconds=before.seconds) == before
    shown = api.get(f"/api/tournaments/{tournament.pk}").json()
    assert (shown["best_score"], shown["pods"]["FINISHED"]) == (90, 2)
    ensemble = Agent.every.get(kind="ensemble")
    assert ensemble not in tournament.agents.all()
    for score in (80.0, 60.0, 40.0):
        claimed = making.claim()
        child = Agent.objects.get(pk=claimed.agent_id)
        assert ensemble.pk not in child.parents.values_list("pk", flat=True)
        making.finish(claimed, making.result(score))
    assert [agent.index for agent in tournament.agents.order_by("index")] == [0, 1, 2, 3, 4, 5]
    assert [(rank, score) for rank, _, score in listed(api, tournament)] == [(None, 9_000), (1, 90), (2, 80)]


def test_the_rungs_of_successive_halving_neither_count_nor_promote_it() -> None:
    halving = {"mode": "successive_halving", "reduction_factor": 2, "rungs": 2}
    tournament = making.board(90, 70, generator=halving, leaderboard={"size": 8, "max_per_ancestor": 1})
    ask(tournament, 2)
    finish(claim(), 9_000)
    Agent.objects.filter(score=70).update(state_file="kept")
    tournament.leaderboard.filter(agent__score=70).delete()
    retention.states_release(tournament)
    assert Agent.objects.get(score=70).state_file == "kept", "an ensemble of it is no promotion"


def test_a_failure_is_told_and_can_be_tried_again(api: Client) -> None:
    tournament = making.board(90, 70)
    agent = ask(tournament, 2)
    path = f"/api/tournaments/{tournament.pk}/ensembles/{agent.pk}"
    assert refused(post(api, f"{path}/retry"), 409)[""].startswith("ens-1 has not failed")
    ensembles.ensemble_fail(claim=claim(), reason="Hopper-v5 does not start: no\x00 MuJoCo.")
    (failed,) = api.get(f"/api/tournaments/{tournament.pk}/leaderboard").json()["making"]
    assert (failed["status"], "no\N{REPLACEMENT CHARACTER} MuJoCo" in failed["reason"]) == ("FAILED", True)
    assert "could not be made: Hopper-v5 does not start" in events(api, tournament)[0]
    assert post(api, f"{path}/retry").json()["status"] == "QUEUED"
    finish(claim())
    assert api.get(f"/api/agents/{agent.pk}").json()["status"] == "FINISHED"
    assert refused(post(api, f"/api/tournaments/{tournament.pk}/ensembles/99999/retry"), 404)


def test_a_lost_worker_is_followed_by_another_and_then_given_up(api: Client) -> None:
    tournament = making.board(90, 70)
    ask(tournament, 2)
    for attempt in (1, 2, 3):
        lost = claim()
        assert lost.attempt == attempt
        later(lease_until=1)
        artefacts.sweep()
        assert Artefact.objects.get().status == "RUNNING", "which exports would be given up for"
        ensembles.sweep()
        with pytest.raises(ArtefactLostError):
            finish(lost)
    row = Artefact.objects.get()
    assert (row.status, row.reason) == ("FAILED", "Nothing was heard of its worker, w, in the last of 3 attempts.")
    assert row.reason in events(api, tournament)[0]
    assert not Agent.every.get(kind="ensemble").checkpoint_file


def test_one_that_waits_is_not_given_up_while_no_worker_is_there() -> None:
    ask(making.board(90, 70), 2)
    later(requested_at=3_600)
    artefacts.sweep()
    ensembles.sweep()
    assert Artefact.objects.get().status == "QUEUED"


def test_a_tournament_that_finishes_makes_the_one_that_its_specification_asks_for() -> None:
    board = {"size": 4, "eval_episodes": 4, "max_per_ancestor": 1, "ensemble": 3}
    tournament = making.board(90, 70, 50, leaderboard=board, stop={"pods": 3})
    tournament.refresh_from_db()
    assert tournament.status == "FINISHED"
    agent = Agent.every.get(kind="ensemble")
    assert [member.score for member in agent.parents.order_by("-score")] == [90, 70, 50]
    assert claim().agent_id == agent.pk


def test_one_that_is_stopped_makes_none_and_one_with_too_few_agents_says_so(api: Client) -> None:
    board = {"size": 4, "eval_episodes": 4, "ensemble": 2}
    services.tournament_stop(tournament_id=making.board(90, 70, leaderboard=board).pk)
    lone = making.board(90, leaderboard=board, stop={"pods": 1})
    assert not Agent.every.filter(kind="ensemble").exists()
    says = "No ensemble was made: one agent is on the leaderboard, and one needs at least two."
    assert events(api, lone)[0] == says


def test_removing_one_takes_its_files_along_and_leaves_its_members(
    api: Client, django_capture_on_commit_callbacks: Any
) -> None:
    tournament = making.board(90, 70)
    agent = ask(tournament, 2)
    finish(claim())
    stored = Agent.every.get(pk=agent.pk).checkpoint_file
    path = f"/api/tournaments/{tournament.pk}/ensembles/{agent.pk}"
    with django_capture_on_commit_callbacks(execute=True):
        assert api.delete(path).status_code == 204
    assert not default_storage.exists(stored)
    assert listed(api, tournament) == [(1, "agent", 90), (2, "agent", 70)]
    assert refused(api.delete(path), 404)[""] == f"There is no agent {agent.pk}."
    member = Agent.objects.first()
    assert member
    assert refused(api.delete(f"/api/tournaments/{tournament.pk}/ensembles/{member.pk}"), 404)


def test_what_is_made_for_one_that_was_removed_is_refused() -> None:
    tournament = making.board(90, 70)
    agent = ask(tournament, 2)
    claimed = claim()
    ensembles.ensemble_delete(tournament_id=tournament.pk, agent_id=agent.pk)
    with pytest.raises(ArtefactLostError):
        finish(claimed)
    services.tournament_delete(tournament_id=tournament.pk)
    with pytest.raises(ArtefactLostError):
        finish(claimed)


def test_the_whole_tournament_as_a_file_has_it() -> None:
    tournament = making.board(90, 70)
    ask(tournament, 2)
    finish(claim(), 80)
    whole = json.loads("".join(exporting.tournament_json(tournament.pk)))
    (one,) = whole["ensembles"]
    by_score = {agent["score"]: agent["id"] for agent in whole["agents"]}
    assert (one["members"], one["score"], one["status"]) == ([by_score[90], by_score[70]], 80, "FINISHED")
    assert one["checkpoint_sha256"] == SHA256


def test_the_queries_of_the_leaderboard_do_not_grow_with_ensembles(
    api: Client, django_assert_num_queries: Any, django_assert_max_num_queries: Any
) -> None:
    tournament = making.board(90, 80, 70, 60, leaderboard={"size": 8, "max_per_ancestor": 1})
    path = f"/api/tournaments/{tournament.pk}/leaderboard"
    ask(tournament, 2)
    finish(claim(), 85)
    api.get(path)  # which notes when the token was used
    with django_assert_max_num_queries(12) as few:
        api.get(path)
    for size in (3, 4):
        ask(tournament, size)
        finish(claim(), 75)
    with django_assert_num_queries(len(few)):
        api.get(path)
