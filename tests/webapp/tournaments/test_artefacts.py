"""Exports and replays in the database and in the API: asked for, made once, given up with a reason."""

import hashlib
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db.models.functions import Now
from django.test import Client
from pydantic import TypeAdapter

from podracer_core.errors import SpecError
from tests.webapp.tournaments import making
from webapp.tournaments import dispatch, services, storage
from webapp.tournaments.artefacts import artefacts
from webapp.tournaments.artefacts import schemas as artefact_schemas
from webapp.tournaments.artefacts.artefacts import ArtefactClaim, MadeFile
from webapp.tournaments.errors import ArtefactLostError
from webapp.tournaments.models import Artefact

CONTENT = bytes(range(256)) * 40
SHA256 = hashlib.sha256(CONTENT).hexdigest()
REPLAY = {
    "episodes": 20,
    "seed": 7,
    "episodic_return": 12.5,
    "length": 30,
    "fps": 50.0,
    "width": 600,
    "height": 400,
    "poster": {"sha256": SHA256, "size": len(CONTENT)},
}


@pytest.fixture
def agent_id(db: None) -> int:
    """An agent with a checkpoint."""
    making.tournament()
    claimed = making.claim()
    making.finish(claimed, files=making.stored_checkpoint(claimed, b"weights", "ab"))
    return claimed.agent_id


@pytest.fixture
def rings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was broadcast."""
    heard: list[str] = []
    monkeypatch.setattr(dispatch._broker.control, "broadcast", heard.append)
    return heard


def ask(agent_id: int, name: str = "onnx", kind: str = "export") -> Artefact:
    artefacts.artefact_request(agent_id=agent_id, kind=kind, name=name)
    return Artefact.objects.get(agent_id=agent_id, kind=kind, name=name)


def claim() -> ArtefactClaim:
    claimed = artefacts.artefact_claim(worker="w")
    assert claimed is not None
    return claimed


def finish(claimed: ArtefactClaim, details: dict[str, Any], poster: bool = False) -> None:
    """As a worker does it: the files first."""
    names = [
        default_storage.save(storage.agent_file(claimed.tournament_id, claimed.agent_id, name), ContentFile(CONTENT))
        for name in (claimed.name, f"{claimed.name}.jpg")
    ]
    made = MadeFile(names[0], SHA256, len(CONTENT), names[1] if poster else "")
    artefacts.artefact_finish(claim=claimed, made=made, details=details)


def online() -> None:
    services.worker_seen(name="w", device_kind="cpu", slots=1)


def later(**fields: Any) -> None:
    """Time passes for every artefact."""
    Artefact.objects.update(**{name: Now() - timedelta(seconds=seconds) for name, seconds in fields.items()})


def test_a_request_is_rung_for_once_and_made_by_one_worker(
    agent_id: int, rings: list[str], django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        ask(agent_id)
        ask(agent_id)
    assert rings == ["make_artefacts"]
    claimed = claim()
    assert (claimed.agent_id, claimed.kind, claimed.name) == (agent_id, "export", "onnx")
    with default_storage.open(*claimed.checkpoint_files) as stored:
        assert stored.read() == b"weights"
    assert artefacts.artefact_claim(worker="other") is None
    artefacts.artefact_renew(claim=claimed, progress=0.25)
    assert Artefact.objects.get().progress == 0.25
    finish(claimed, {"observations": 256, "max_difference": 0.0})
    assert ask(agent_id).status == "FINISHED"


def test_the_one_that_waited_longest_comes_first(agent_id: int) -> None:
    for name in ("worst", "best"):
        ask(agent_id, name, "replay")
    assert [claim().name, claim().name] == ["worst", "best"]


def test_a_failed_one_is_made_again_when_asked_for_and_so_is_one_that_storage_lost(agent_id: int) -> None:
    ask(agent_id)
    first = claim()
    artefacts.artefact_fail(claim=first, reason="no\x00 EGL")
    assert Artefact.objects.get().reason == "no\N{REPLACEMENT CHARACTER} EGL"
    assert (ask(agent_id).status, ask(agent_id).reason) == ("QUEUED", "")
    second = claim()
    assert second.attempt == first.attempt + 1
    finish(second, {})
    default_storage.delete(Artefact.objects.get().file)
    assert ask(agent_id).status == "QUEUED"


def test_what_a_lost_attempt_says_is_refused(agent_id: int) -> None:
    ask(agent_id)
    lost = claim()
    later(lease_until=1)
    artefacts.sweep()
    row = Artefact.objects.get()
    assert (row.status, row.reason) == ("FAILED", "Nothing was heard of its worker, w, for 15 seconds.")
    for write in (
        lambda: artefacts.artefact_renew(claim=lost, progress=0.5),
        lambda: artefacts.artefact_fail(claim=lost, reason="late"),
        lambda: artefacts.artefact_requeue(claim=lost),
        lambda: finish(lost, {}),
    ):
        with pytest.raises(ArtefactLostError):
            write()


def test_a_renewed_one_is_left_alone(agent_id: int) -> None:
    ask(agent_id)
    claim()
    artefacts.sweep()
    assert Artefact.objects.get().status == "RUNNING"


def test_one_that_waits_is_rung_for_again_while_a_worker_is_there_and_given_up_where_none_comes(
    agent_id: int, rings: list[str], django_capture_on_commit_callbacks: Any
) -> None:
    ask(agent_id)
    online()
    later(requested_at=300)
    with django_capture_on_commit_callbacks(execute=True):
        artefacts.sweep()
    assert (rings, Artefact.objects.get().status) == (["make_artefacts"], "QUEUED")
    services.worker_gone(name="w")
    artefacts.sweep()
    row = Artefact.objects.get()
    assert (row.status, "No worker came online within 60 seconds" in row.reason) == ("FAILED", True)


def test_one_that_has_just_been_asked_for_waits_for_a_worker(agent_id: int) -> None:
    ask(agent_id)
    later(requested_at=20)
    artefacts.sweep()
    assert Artefact.objects.get().status == "QUEUED"


def test_a_name_that_there_is_not_is_refused(agent_id: int) -> None:
    with pytest.raises(SpecError, match="there is no 'tflite'; there are torchscript, onnx"):
        ask(agent_id, "tflite")


def test_the_api_takes_requests_and_gives_the_file_in_parts(api: Client, agent_id: int) -> None:
    path = f"/api/agents/{agent_id}/exports"
    answer = api.post(path, {"format": "onnx"}, content_type="application/json")
    assert (answer.status_code, answer["Location"]) == (202, f"{path}/onnx")
    TypeAdapter(artefact_schemas.ExportOut).validate_python(answer.json())
    assert (answer.json()["status"], answer.json()["size"]) == ("QUEUED", None)
    assert api.get(f"{path}/onnx").status_code == 404
    finish(claim(), {"observations": 256, "max_difference": 2e-7})
    page = api.get(path).json()
    TypeAdapter(artefact_schemas.ExportPage).validate_python(page)
    (item,) = page["items"]
    assert (item["format"], item["status"], item["size"], item["sha256"]) == ("onnx", "FINISHED", len(CONTENT), SHA256)
    assert (item["observations"], item["max_difference"]) == (256, 2e-7)
    whole = api.get(f"{path}/onnx")
    assert (whole["ETag"], whole["Content-Length"]) == (f'"{SHA256}"', str(len(CONTENT)))
    assert whole["Content-Disposition"] == f'attachment; filename="{item["filename"]}"'
    part = api.get(f"{path}/onnx", headers={"range": "bytes=3-5"})
    assert (part.status_code, b"".join(part.streaming_content)) == (206, CONTENT[3:6])
    assert api.get(f"{path}/onnx", headers={"if-none-match": f'"{SHA256}"'}).status_code == 304


def test_the_api_shows_replays_in_the_page(api: Client, agent_id: int) -> None:
    path = f"/api/agents/{agent_id}/replays"
    assert api.post(path, {"episode": "best"}, content_type="application/json").status_code == 202
    finish(claim(), REPLAY, poster=True)
    page = api.get(path).json()
    TypeAdapter(artefact_schemas.ReplayPage).validate_python(page)
    (item,) = page["items"]
    assert {name: item[name] for name in ("seed", "episodic_return", "length", "fps", "width", "height")} == {
        name: value for name, value in REPLAY.items() if name not in ("episodes", "poster")
    }
    video, picture = api.get(f"{path}/best"), api.get(f"{path}/best/poster")
    assert (video["Content-Type"], picture["Content-Type"]) == ("video/mp4", "image/jpeg")
    assert video["Content-Disposition"].startswith('inline; filename="CartPole-v1-')
    assert video["Accept-Ranges"] == "bytes"
    assert b"".join(picture.streaming_content) == CONTENT


@pytest.mark.parametrize(
    ("path", "body", "status", "says"),
    [
        ("exports", {"format": "tflite"}, 422, "there are torchscript, onnx"),
        ("replays", {"episode": "longest"}, 422, "there are best, median, worst"),
        ("exports", {}, 422, "required"),
        ("exports", {"format": "onnx", "opset": 9}, 422, "there are format"),
    ],
)
def test_the_api_refuses_in_a_sentence(
    api: Client, agent_id: int, path: str, body: dict[str, Any], status: int, says: str
) -> None:
    answer = api.post(f"/api/agents/{agent_id}/{path}", body, content_type="application/json")
    assert answer.status_code == status
    assert says in answer.json()["errors"][0]["message"]


def test_an_agent_that_is_not_there_or_has_no_checkpoint_is_refused(api: Client) -> None:
    assert api.get("/api/agents/99/exports").status_code == 404
    assert api.post("/api/agents/99/exports", {"format": "onnx"}, content_type="application/json").status_code == 404
    making.tournament()
    path = f"/api/agents/{making.claim().agent_id}/replays"
    answer = api.post(path, {"episode": "best"}, content_type="application/json")
    assert answer.status_code == 409
    assert "has no checkpoint" in answer.json()["errors"][0]["message"]


@pytest.fixture
def reader(agent_id: int) -> Client:
    client = Client()
    client.force_login(making.user())
    return client


def test_the_page_offers_what_there_is_and_asks_for_itself_only_while_something_is_made(
    reader: Client, agent_id: int
) -> None:
    page = reader.get(f"/agents/{agent_id}/").content.decode()
    assert "Make ONNX" in page
    assert "Film the median episode" in page
    assert "every 1s" not in page
    waiting = reader.post(f"/agents/{agent_id}/exports/onnx/").content.decode()
    assert "every 1s" in waiting
    assert "No worker is online; it waits." in waiting
    online()
    assert "Waiting for a worker" in reader.get(f"/agents/{agent_id}/exports/onnx/").content.decode()
    finish(claim(), {"observations": 256, "max_difference": 0.0})
    made = reader.get(f"/agents/{agent_id}/exports/onnx/").content.decode()
    assert f'href="/api/agents/{agent_id}/exports/onnx"' in made
    assert "every 1s" not in made


def test_the_page_shows_a_video_with_its_seed_or_the_reason_why_there_is_none(reader: Client, agent_id: int) -> None:
    path = f"/agents/{agent_id}/replays/worst/"
    reader.post(path)
    artefacts.artefact_fail(claim=claim(), reason="Ant-v5 cannot be drawn on this machine: no EGL.")
    failed = reader.get(path).content.decode()
    assert "Ant-v5 cannot be drawn on this machine: no EGL." in failed
    assert "Try again" in failed
    reader.post(path)
    finish(claim(), REPLAY, poster=True)
    shown = reader.get(path).content.decode()
    for part in ("<video controls", 'poster="/api/agents/', "12.5", "30 steps", ">7<", "of 20 episodes"):
        assert part in shown
    assert reader.get(f"/agents/{agent_id}/replays/longest/").status_code == 404
    assert reader.get("/agents/99/replays/best/").status_code == 404


def test_the_queries_of_the_page_do_not_grow_with_what_was_made(
    reader: Client, agent_id: int, django_assert_num_queries: Any, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(40) as before:
        reader.get(f"/agents/{agent_id}/")
    for kind, names in Artefact.NAMES.items():
        for name in names:
            ask(agent_id, name, kind)
            finish(claim(), REPLAY if kind == "replay" else {"observations": 1, "max_difference": 0.0}, poster=True)
    with django_assert_num_queries(len(before)):
        reader.get(f"/agents/{agent_id}/")


def test_deleting_a_tournament_takes_its_exports_along(agent_id: int, django_capture_on_commit_callbacks: Any) -> None:
    ask(agent_id)
    finish(claim(), {})
    row = Artefact.objects.get()
    with django_capture_on_commit_callbacks(execute=True):
        services.tournament_delete(tournament_id=row.agent.tournament_id)
    assert not Artefact.objects.exists()
    assert not default_storage.exists(row.file)
