"""Notices of tournaments that end or are in trouble: when, once, to whom, and in which order."""

import json
import threading
from collections.abc import Callable

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.stack import wait_for
from tests.webapp import people
from tests.webapp.tournaments import making
from webapp.accounts.models import AuditEntry, Role
from webapp.tournaments import services
from webapp.tournaments.keeping import disk
from webapp.tournaments.models import Notice, Tournament, Webhook
from webapp.tournaments.notices import notices
from webapp.tournaments.notices.troubles import DISK_AGAIN, EVERY_SECONDS, PATIENCE_SECONDS, Watch

pytestmark = pytest.mark.django_db

URL = "https://chat.example.org/hooks/of-the-team"


GB = 10**9


@pytest.fixture(autouse=True)
def disk_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Sets the gigabytes that are free on the disk, of 100."""

    def free(gigabytes: int) -> None:
        monkeypatch.setattr(disk, "disk_lately", lambda: disk.Disk(100 * GB, gigabytes * GB))

    free(50)
    return free


def told() -> list[tuple[str, str]]:
    return list(Notice.objects.order_by("pk").values_list("kind", "text"))


def fail(reason: str) -> None:
    making.finish(making.claim(), making.failure(reason))


def test_an_end_is_told_with_its_reason_and_the_best_score() -> None:
    making.tournament(name="ant sprint", pool={"size": 1}, stop={"pods": 1})
    making.finish(making.claim(), making.result(4812))
    assert told() == [("ended", "ant sprint has finished. Its one pod finished. Best score 4,812.")]


def test_a_stop_is_told_as_such_and_a_failure_as_a_failure_alone() -> None:
    stopped = making.tournament(name="stopped")
    services.tournament_stop(tournament_id=stopped.pk)
    making.tournament(name="broken", pool={"size": 1})
    for _ in range(3):
        fail("It broke.")
    reason = "3 pods in a row failed for the same reason: It broke."
    assert told() == [("ended", "stopped was stopped. Stopped by hand."), ("failed", f"broken has failed. {reason}")]


def test_pods_that_fail_one_after_another_are_trouble_once_until_one_finishes() -> None:
    making.tournament(name="shaky", pool={"size": 1})
    for reason in ("No memory.", "No device.", "No such file.", "No memory.", "No device."):
        fail(reason)
    expected = ("trouble", "shaky is in trouble. 3 pods in a row failed, the last so: No such file.")
    assert told() == [expected]
    making.finish(making.claim())
    for reason in ("No memory.", "No device.", "No such file."):
        fail(reason)
    assert [kind for kind, _ in told()] == ["trouble", "trouble"]


def test_pods_that_nobody_takes_are_trouble_after_a_while_and_once() -> None:
    tournament = making.tournament(name="waiting", pool={"size": 2})
    watch = Watch()
    watch.sweep(100.0)
    watch.sweep(100.0 + PATIENCE_SECONDS - EVERY_SECONDS)
    assert told() == []
    watch.sweep(100.0 + PATIENCE_SECONDS)
    expected = "waiting is in trouble. 2 pods wait, and no worker that takes CPU pods is online."
    assert told()[0][1].startswith(expected)
    watch.sweep(100.0 + 2 * PATIENCE_SECONDS)
    other = Watch()
    other.sweep(0.0)
    other.sweep(PATIENCE_SECONDS)
    assert len(told()) == 1
    assert tournament.events.filter(kind="no_worker").count() == 1


@pytest.mark.parametrize("way", ["worker", "running", "paused"])
def test_pods_that_will_be_taken_are_no_trouble(way: str) -> None:
    tournament = making.tournament(pool={"size": 2})
    if way == "worker":
        services.worker_seen(name="here", device_kind="cpu", slots=1)
    elif way == "running":
        making.claim()
    else:
        services.tournament_pause(tournament_id=tournament.pk)
    watch = Watch()
    watch.sweep(0.0)
    watch.sweep(PATIENCE_SECONDS)
    assert told() == []


def test_a_disk_that_is_nearly_full_is_told_to_admins_once_a_day(api: Client, disk_of: Callable[[int], None]) -> None:
    Watch().sweep(0.0)
    assert told() == []
    disk_of(4)
    for _ in range(2):
        Watch().sweep(0.0)
    ((kind, text),) = told()
    assert kind == "trouble"
    assert text.startswith("The storage's disk is nearly full: 4.0 GB of 100.0 GB are free.")
    (item,) = api.get("/api/notices").json()["items"]
    assert (item["tournament"], item["tournament_name"], item["mine"]) == (None, None, True)
    assert 'href="/storage/"' in people.browser_of(making.user()).get("/notifications/").content.decode()
    runner = people.browser_of(people.person("olga", Role.RUNNER))
    assert runner.get("/api/notices").json() == {"items": [], "count": 0}
    Notice.objects.update(at=Now() - DISK_AGAIN)
    Watch().sweep(0.0)
    assert len(told()) == 2


@pytest.mark.django_db(transaction=True)
def test_ids_follow_the_order_of_commits() -> None:
    first, second = making.tournament(name="first", start=False), making.tournament(name="second", start=False)

    def stop_second() -> None:
        try:
            services.tournament_stop(tournament_id=second.pk)
        finally:
            connection.close()

    thread = threading.Thread(target=stop_second)
    with transaction.atomic():
        services.tournament_stop(tournament_id=first.pk)
        thread.start()
        wait_for(_somebody_waits, 10, "the second end waiting for the first to commit")
        assert Notice.objects.count() == 1
    thread.join(60)
    assert [text.split()[0] for _, text in told()] == ["first", "second"]


def _somebody_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = %s AND NOT granted"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
            [notices.ORDER_KEY],
        )
        return bool(cursor.fetchone()[0])


def test_each_asks_for_the_notices_of_what_they_see_after_the_last_they_know(api: Client) -> None:
    owner = people.person("olga", Role.RUNNER)
    for name in ("one", "two"):
        services.tournament_stop(tournament_id=making.tournament(name=name, owner=owner, start=False).pk)
    stranger = people.browser_of(people.person("stranger", Role.VIEWER))
    assert stranger.get("/api/notices").json() == {"items": [], "count": 0}
    mine = people.browser_of(owner).get("/api/notices").json()
    assert [(item["tournament_name"], item["mine"]) for item in mine["items"]] == [("two", True), ("one", True)]
    last = mine["items"][0]["id"]
    assert api.get(f"/api/notices?since={last}").json() == {"items": [], "count": 0}
    Tournament.objects.filter(name="one").update(shared=True)
    shared = stranger.get("/api/notices").json()["items"]
    assert [(item["tournament_name"], item["mine"]) for item in shared] == [("one", False)]
    assert api.get("/api/notices?since=x").json()["errors"][0]["field"] == "since"


def test_asking_takes_as_many_queries_however_much_has_happened(api: Client) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            api.get("/api/notices")
            api.get("/api/webhooks")
        return len(captured)

    def happen() -> None:
        services.tournament_stop(tournament_id=making.tournament(start=False).pk)
        body = json.dumps({"name": "chat", "url": URL})
        number = api.post("/api/webhooks", body, content_type="application/json").json()["id"]
        api.post(f"/api/webhooks/{number}/test")

    happen()
    few = queries()
    for _ in range(4):
        happen()
    assert queries() == few
    assert api.get("/api/notices").json()["count"] == 5


def test_a_webhook_is_made_tested_and_deleted_and_shows_its_secret_once(api: Client) -> None:
    body = {"name": "team chat", "url": URL, "events": ["failed", "ended"]}
    answer = api.post("/api/webhooks", json.dumps(body), content_type="application/json")
    made = answer.json()
    assert answer.status_code == 201
    assert len(made["secret"]) > 30
    assert made["events"] == ["ended", "failed"]
    assert made["secret"] not in api.get("/api/webhooks").content.decode()
    assert api.post(f"/api/webhooks/{made['id']}/test").json()["status"] == "QUEUED"
    assert api.get("/api/webhooks").json()["items"][0]["last_delivery"]["test"] is True
    assert api.post(f"/api/webhooks/{made['id']}/enable").status_code == 204
    assert api.delete(f"/api/webhooks/{made['id']}").status_code == 204
    missing = api.delete(f"/api/webhooks/{made['id']}")
    assert missing.json()["errors"][0]["message"] == f"You have no webhook {made['id']}."
    texts = AuditEntry.objects.filter(kind__startswith="webhook").order_by("pk").values_list("text", flat=True)
    assert texts[0] == "Made the webhook team chat to chat.example.org."
    assert texts[2] == "Deleted the webhook team chat."


def test_all_that_is_wrong_with_a_webhook_is_named(api: Client) -> None:
    body = {"name": " ", "url": "ftp://x", "events": ["finished"], "secret": "mine"}
    refused = api.post("/api/webhooks", json.dumps(body), content_type="application/json").json()["errors"]
    assert refused == [{"field": "secret", "message": "there is no such field; there are name, url, events"}]
    del body["secret"]
    refused = api.post("/api/webhooks", json.dumps(body), content_type="application/json").json()["errors"]
    assert [error["field"] for error in refused] == ["name", "url", "events"]


def test_a_token_that_only_runs_does_not_see_addresses() -> None:
    client = people.program_of(people.person("olga", Role.RUNNER), "run")
    assert client.get("/api/webhooks").status_code == 403
    assert client.get("/api/notices").status_code == 200


def test_the_page_makes_a_webhook_and_keeps_what_was_typed_where_it_does_not() -> None:
    client = people.browser_of(people.person("vera", Role.VIEWER))
    form = {"action": "create", "name": "inside", "url": "https://127.0.0.1/hook", "events": ["ended"]}
    refused = client.post("/notifications/", form)
    assert refused.status_code == 400
    assert b"which only admins may name" in refused.content
    assert b'value="https://127.0.0.1/hook"' in refused.content
    made = client.post("/notifications/", {**form, "url": URL})
    assert made.status_code == 201
    webhook = Webhook.objects.get()
    assert webhook.secret in made.content.decode()
    page = client.get("/notifications/").content.decode()
    assert webhook.secret not in page
    assert URL in page
    stranger = people.browser_of(people.person("stranger", Role.ADMIN))
    assert URL not in stranger.get("/notifications/").content.decode()
    assert stranger.post("/notifications/", {"action": "delete", "webhook": webhook.pk}).status_code == 400
    assert client.post("/notifications/", {"action": "delete", "webhook": webhook.pk}).status_code == 302
    assert not Webhook.objects.exists()
