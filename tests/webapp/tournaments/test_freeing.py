"""Space freed by hand: the preview says what goes, that goes and nothing else, and whatever is needed stays."""

from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.test import Client

from podracer_core.errors import SpecError
from tests.webapp.tournaments import making
from tests.webapp.tournaments.test_api import holds, post, refused
from webapp.accounts.models import AuditEntry
from webapp.tournaments import services, storage
from webapp.tournaments.api.retention import FreedOut, RetentionOut
from webapp.tournaments.artefacts import artefacts, ensembles
from webapp.tournaments.artefacts.artefacts import MadeFile
from webapp.tournaments.endings import StoredFiles
from webapp.tournaments.errors import TournamentError
from webapp.tournaments.keeping import freeing
from webapp.tournaments.models import Agent, Artefact, Event, Tournament

pytestmark = pytest.mark.django_db

CHECKPOINT, STATE, MADE = b"weights", b"a training state", b"an export or a film"


def stored(claimed: Any) -> StoredFiles:
    """Both files of an agent, in storage."""
    folder = storage.agent_folder(claimed.tournament_id, claimed.agent_id)
    checkpoint = default_storage.save(f"{folder}/c.safetensors", ContentFile(CHECKPOINT))
    state = default_storage.save(f"{folder}/s.pt", ContentFile(STATE))
    return StoredFiles(checkpoint, "ab" * 32, len(CHECKPOINT), state, len(STATE))


def race(*scores: float, **parts: Any) -> Tournament:
    """A tournament with two places on its leaderboard, whose pods ended with these scores."""
    given = {"leaderboard": {"size": 2, "eval_episodes": 4}, "generator": {"strategies": {"fresh": 1}}, **parts}
    tournament = making.tournament(pool={"size": 1}, **given)
    for score in scores:
        claimed = making.claim()
        making.finish(claimed, making.result(score), stored(claimed))
    return tournament


def agent(score: float) -> Agent:
    return Agent.objects.get(score=score)


def made(of: Agent, kind: str = "export", name: str = "onnx") -> Artefact:
    artefacts.artefact_request(agent_id=of.pk, kind=kind, name=name)
    claim = artefacts.artefact_claim(worker="w")
    assert claim is not None
    file = default_storage.save(storage.agent_file(of.tournament_id, of.pk, name), ContentFile(MADE))
    artefacts.artefact_finish(claim=claim, made=MadeFile(file, "ab", len(MADE)), details={})
    return Artefact.objects.get(agent=of, kind=kind, name=name)


def going(tournament: Tournament) -> dict[str, tuple[int, int]]:
    """Of each kind how many files go and how many stay."""
    parts = freeing.preview(tournament.pk)["parts"]
    return {part["part"]: (part["files"], part["kept_files"]) for part in parts}


@pytest.mark.django_db(transaction=True)
def test_what_the_preview_says_goes_with_its_files_and_the_record_stays(api: Client) -> None:
    tournament = race(10.0, 20.0, 30.0, 40.0)
    export = made(agent(10.0))
    services.tournament_stop(tournament_id=tournament.pk)
    path = f"/api/tournaments/{tournament.pk}/retention"
    parts = {part["part"]: part for part in holds(RetentionOut, api.get(path))["parts"]}
    assert (parts["checkpoints"]["files"], parts["checkpoints"]["kept_files"]) == (2, 2)
    assert parts["states"]["size"] == parts["states"]["files"] * len(STATE) > 0
    before = {row.score: (row.checkpoint_file, row.state_file) for row in tournament.agents.exclude(score=None)}
    freed = holds(FreedOut, post(api, path, {"parts": ["checkpoints", "states", "exports"]}))
    assert freed["files"] == 2 + parts["states"]["files"] + 1
    assert freed["size"] == 2 * len(CHECKPOINT) + parts["states"]["size"] + len(MADE)
    for score, (checkpoint, state) in before.items():
        assert default_storage.exists(checkpoint) is (score >= 30), score
        assert not state or not default_storage.exists(state)
    assert not default_storage.exists(export.file)
    assert agent(10.0).checkpoint_sha256 == "ab" * 32
    assert len(agent(10.0).returns) == 4
    assert going(tournament) == {"checkpoints": (0, 2), "states": (0, 0), "exports": (0, 0), "replays": (0, 0)}
    said = AuditEntry.objects.get(kind="space_freed").text
    assert said == Event.objects.get(kind="space_freed").text
    assert "2 checkpoints, " in said
    assert holds(FreedOut, post(api, path, {"parts": ["exports"]})) == {"files": 0, "size": 0}
    assert AuditEntry.objects.filter(kind="space_freed").count() == 1


def test_members_of_an_ensemble_keep_their_checkpoints() -> None:
    tournament = race(10.0, 20.0)
    ensembles.ensemble_request(tournament_id=tournament.pk, size=2)
    for score in (30.0, 40.0):
        claimed = making.claim()
        making.finish(claimed, making.result(score), stored(claimed))
    assert going(tournament)["checkpoints"] == (0, 4)


def test_what_an_export_or_a_replay_waits_for_stays() -> None:
    tournament = race(10.0, 20.0, 30.0, 40.0)
    artefacts.artefact_request(agent_id=agent(10.0).pk, kind="replay", name="best")
    assert going(tournament)["checkpoints"] == (1, 3)
    freed = freeing.space_free(tournament_id=tournament.pk, parts=["checkpoints", "replays"])
    assert freed.files == 1
    assert agent(10.0).checkpoint_file
    assert Artefact.objects.get().status == "QUEUED"
    with pytest.raises(TournamentError, match="was removed to free space"):
        artefacts.artefact_request(agent_id=agent(20.0).pk, kind="export", name="onnx")


def test_training_states_wait_for_the_end_and_for_pods_that_may_read_them(api: Client) -> None:
    tournament = race(10.0, 20.0, generator={"strategies": {"exploit": 1}})
    path = f"/api/tournaments/{tournament.pk}/retention"
    assert "stop it first" in refused(post(api, path, {"parts": ["states"]}), 409)[""]
    heir = making.claim()
    donor = Agent.objects.get(pk=heir.agent_id).inherits_from
    assert donor is not None
    services.tournament_stop(tournament_id=tournament.pk)
    there = tournament.agents.exclude(state_file="").count()
    assert going(tournament)["states"] == (there - 1, 1)
    freeing.space_free(tournament_id=tournament.pk, parts=["states"])
    donor.refresh_from_db()
    assert donor.state_file == heir.inherit_files[0]
    making.finish(heir, making.result(5.0), StoredFiles())
    assert going(tournament)["states"] == (1, 0)


@pytest.mark.parametrize("parts", [[], ["curves"], ["checkpoints", "scores"]])
def test_a_kind_that_there_is_not_is_refused_by_name(parts: list[str]) -> None:
    tournament = making.tournament(start=False)
    with pytest.raises(SpecError, match="checkpoints, states, exports, replays"):
        freeing.space_free(tournament_id=tournament.pk, parts=parts)


def test_the_request_is_of_one_shape(api: Client) -> None:
    path = f"/api/tournaments/{making.tournament().pk}/retention"
    assert "parts" in refused(post(api, path, {}))
    assert "there are parts" in refused(post(api, path, {"parts": ["exports"], "force": True}))["force"]
