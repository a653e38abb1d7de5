"""Workers: what they say of themselves, what runs on them, and how they are drained, resumed and forgotten."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Q
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.webapp import people
from tests.webapp.tournaments import making
from tests.webapp.tournaments.test_api import holds, refused
from webapp.accounts.models import Role
from webapp.tournaments import dispatch, orchestrator, services
from webapp.tournaments.artefacts import artefacts
from webapp.tournaments.errors import TournamentError
from webapp.tournaments.models import Pod, Worker
from webapp.tournaments.workers import schemas as worker_schemas
from webapp.tournaments.workers import selectors as worker_selectors
from webapp.tournaments.workers import services as worker_services

pytestmark = pytest.mark.django_db

FACTS = {
    "host": "rack-7",
    "cpu": "A Processor",
    "cores": 8,
    "threads": 1,
    "memory": 16_000_000_000,
    "gpus": [{"name": "A GPU", "memory": 80_000_000_000}],
}
USAGE = {
    "every": 5.0,
    "cpu": [0.25, 0.5],
    "memory": [1_000, 2_000],
    "gpus": [{"busy": [None, 0.9], "memory": [None, 5_000]}],
}


def seen(name: str = "w", *, slots: int = 2, device_kind: str = "cpu", **parts: Any) -> str:
    return services.worker_seen(name=name, device_kind=device_kind, slots=slots, **parts)


def silent(name: str, seconds: int = 60) -> None:
    Worker.objects.filter(name=name).update(seen_at=Now() - timedelta(seconds=seconds))


def claimed_by(worker: str) -> bool:
    return orchestrator.pod_claim(worker=worker, slot=0, device_kind="cpu") is not None


def state(name: str) -> str:
    return str(worker_selectors.worker_get(name, visible=Q())["state"])


def test_a_worker_is_listed_with_its_host_and_what_runs_on_it(api: Client) -> None:
    seen(facts=FACTS, usage=USAGE)
    tournament = making.tournament(name="race", round={"env_steps": 1000})
    claimed = making.claim(worker="w", slot=1)
    making.progress(claimed, making.point(250))
    (worker,) = holds(worker_schemas.SlotsOut, api.get("/api/workers"))["workers"]
    assert {name: worker[name] for name in FACTS} == FACTS
    assert worker["usage"] == USAGE
    assert (worker["state"], worker["env_steps_per_second"]) == ("online", 1000.0)
    (running,) = worker["running"]
    assert (running["slot"], running["pod"], running["tournament"]) == (1, str(claimed.pod_id), str(tournament.pk))
    assert (running["tournament_name"], running["progress"], running["env_steps"]) == ("race", 0.25, 250)


def test_of_a_tournament_that_one_does_not_see_only_the_load_shows(api: Client) -> None:
    seen()
    tournament = making.tournament(name="secret race")
    making.claim(worker="w")
    stranger = people.program_of(people.person("stranger", Role.RUNNER))
    (worker,) = holds(worker_schemas.SlotsOut, stranger.get("/api/workers"))["workers"]
    (running,) = worker["running"]
    assert {running[name] for name in ("pod", "agent", "agent_name", "tournament", "tournament_name")} == {None}
    page = people.browser_of(User.objects.get(username="stranger")).get("/workers/").content.decode()
    assert "secret race" not in page
    assert "of a tournament that is not shared with you" in page
    assert refused(stranger.get("/api/compare", {"t": tournament.pk}), 404)
    assert stranger.post("/api/workers/w/drain").status_code == 403


def test_a_round_of_seconds_progresses_by_its_seconds() -> None:
    seen()
    making.tournament(round={"seconds": 40})
    making.progress(making.claim(worker="w"), making.point(10_000))
    assert worker_selectors.worker_get("w", visible=Q())["running"][0]["progress"] == 0.25


def test_reading_many_workers_takes_as_many_queries_as_one() -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            worker_selectors.worker_list(visible=Q())
        return len(captured)

    making.tournament(pool={"size": 6})
    seen("w0")
    making.claim(worker="w0")
    few = queries()
    for number in range(1, 6):
        seen(f"w{number}")
        making.claim(worker=f"w{number}")
    assert queries() == few


def test_a_drained_worker_is_given_nothing_and_others_are(api: Client) -> None:
    making.tournament(pool={"size": 2})
    seen("w"), seen("other", slots=3)
    body = holds(worker_schemas.WorkerOut, api.post("/api/workers/w/drain", b"", content_type="application/json"))
    assert (body["state"], body["drain"]) == ("drained", "after")
    assert seen("w") == "after", "its sign of life tells it"
    assert not claimed_by("w")
    assert claimed_by("other")
    assert worker_selectors.slots_online()["cpu"] == 3
    assert api.get("/api/workers").json()["cpu"] == 3
    body = holds(worker_schemas.WorkerOut, api.post("/api/workers/w/resume", b"", content_type="application/json"))
    assert (body["state"], seen("w")) == ("online", "")
    assert claimed_by("w")


def test_what_runs_on_a_drained_worker_ends_there(api: Client) -> None:
    making.tournament()
    seen()
    claimed = making.claim(worker="w")
    worker = Worker.objects.get()
    answer = api.post(f"/api/workers/{worker.pk}/drain", b"", content_type="application/json")
    assert holds(worker_schemas.WorkerOut, answer)["state"] == "draining"
    making.progress(claimed, making.point(100))
    making.finish(claimed)
    assert state("w") == "drained"
    assert Pod.objects.get(pk=claimed.pod_id).status == "FINISHED"


def test_it_can_be_told_to_drain_now_and_the_messages_ring_only_it(
    api: Client, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    sent: list[tuple[str, dict[str, list[str]]]] = []
    monkeypatch.setattr(dispatch._broker.control, "broadcast", lambda command, **to: sent.append((command, to)))
    seen("gpu/1:7")
    with django_capture_on_commit_callbacks(execute=True):
        body = api.post("/api/workers/gpu/1:7/drain", {"now": True}, content_type="application/json").json()
    assert (body["drain"], seen("gpu/1:7")) == ("now", "now")
    assert sent == [("read_orders", {"destination": ["podracer@gpu/1:7"]})]


@pytest.mark.parametrize("body", ['{"now": "yes"}', '{"soon": true}', '{"now": NaN}', "[]"])
def test_a_wish_that_is_none_is_refused_by_name(api: Client, body: str) -> None:
    seen()
    refused(api.post("/api/workers/w/drain", body, content_type="application/json"), 422)
    assert Worker.objects.get().drain == ""


def test_a_drained_worker_makes_no_exports_and_nobody_waits_for_it() -> None:
    making.tournament()
    seen()
    claimed = making.claim(worker="w")
    making.finish(claimed, files=making.stored_checkpoint(claimed, b"weights", "0" * 64))
    artefacts.artefact_request(agent_id=claimed.agent_id, kind="export", name="onnx")
    worker_services.worker_drain(name="w")
    assert artefacts.artefact_claim(worker="w") is None
    assert not artefacts.workers_online()
    worker_services.worker_resume(name="w")
    assert artefacts.artefact_claim(worker="w") is not None
    assert worker_selectors.worker_get("w", visible=Q())["making"][0]["name"] == "onnx"


def test_pods_go_to_cpu_slots_while_the_gpus_are_drained() -> None:
    seen("gpu", device_kind="cuda"), seen("cpu")
    assert making.tournament(name="before", pool={"size": 1}).pods.get().device_kind == "cuda"
    worker_services.worker_drain(name="gpu")
    assert making.tournament(name="after", pool={"size": 1}).pods.get().device_kind == "cpu"


def test_a_drained_worker_stays_so_over_a_restart_and_another_that_ends_is_struck_off() -> None:
    seen("drained"), seen("plain")
    worker_services.worker_drain(name="drained")
    for name in ("drained", "plain"):
        services.worker_gone(name=name)
    assert [(item["name"], item["state"]) for item in worker_selectors.worker_list(visible=Q())] == [
        ("drained", "offline")
    ]
    services.worker_started(name="drained")
    assert seen("drained") == "after"
    assert state("drained") == "drained"


def test_only_a_worker_that_is_offline_can_be_forgotten(api: Client) -> None:
    seen("lost"), seen("here")
    silent("lost")
    assert [worker["name"] for worker in api.get("/api/workers").json()["workers"]] == ["here"]
    everyone = holds(worker_schemas.SlotsOut, api.get("/api/workers?offline=true"))
    assert [(worker["name"], worker["state"]) for worker in everyone["workers"]] == [
        ("here", "online"),
        ("lost", "offline"),
    ]
    assert everyone["cpu"] == 2
    assert "is online" in refused(api.delete("/api/workers/here"), 409)[""]
    assert api.delete("/api/workers/lost").status_code == 204
    with pytest.raises(TournamentError):
        worker_services.worker_forget(name="here")
    assert list(Worker.objects.values_list("name", flat=True)) == ["here"]


@pytest.mark.parametrize("missing", ["nobody", "0", "9" * 30, "²"])
def test_a_worker_that_there_is_not_is_a_404_with_a_sentence(api: Client, missing: str) -> None:
    for path in ("/drain", "/resume"):
        assert (
            "There is no worker"
            in refused(api.post(f"/api/workers/{missing}{path}", content_type="application/json"), 404)[""]
        )
    assert "There is no worker" in refused(api.delete(f"/api/workers/{missing}"), 404)[""]


@pytest.fixture
def browser(owner: User, client: Client) -> Client:
    client.force_login(owner)
    return client


def test_the_page_teaches_how_to_add_a_worker_where_none_is(browser: Client) -> None:
    page = browser.get("/workers/").content.decode()
    assert "No worker is there" in page
    assert "make worker" in page


def test_the_page_shows_what_each_worker_is_and_runs(browser: Client) -> None:
    seen("rack", facts=FACTS, usage=USAGE)
    seen("gone")
    silent("gone", 3600)
    making.tournament(name="<race>", pool={"size": 3}, round={"env_steps": 1000})
    making.progress(making.claim(worker="rack", slot=1), making.point(250))
    for path in ("/workers/", "/workers/cards/"):
        page = " ".join(browser.get(path).content.decode().split())
        for text in ("A Processor, 8 cores", "A GPU, 80 GB", "50 %", "90 %", "&lt;race&gt;", "1 k</b>", "of 1 k"):
            assert text in page, (path, text)
        assert 'aria-valuenow="25"' in page
        assert "1 <small>of 2</small>" in page, "slots busy"
        assert 'aria-label="Drain rack"' in page
        assert 'aria-label="Forget gone"' in page


def test_pods_that_no_slot_takes_are_pointed_out(browser: Client) -> None:
    seen("gpu", device_kind="cuda")
    making.tournament(pool={"size": 1, "device": "cuda"})
    assert "every pod has a slot" not in browser.get("/workers/").content.decode()
    worker_services.worker_drain(name="gpu")
    assert "1 for a CUDA slot, and none takes pods" in browser.get("/workers/").content.decode()
    assert "drained" in browser.get("/slots/").content.decode()
