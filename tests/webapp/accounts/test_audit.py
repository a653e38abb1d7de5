"""Who did what, when and from where: written with the deed, found again by person and kind."""

import csv
import io
import json

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.webapp import people
from tests.webapp.tournaments import making
from webapp.accounts import audit
from webapp.accounts.models import AuditEntry, Role
from webapp.tournaments import services
from webapp.tournaments.errors import TournamentError

pytestmark = pytest.mark.django_db
SPEC = json.dumps({"env_id": "CartPole-v1", "name": "sprint"})


def kinds() -> list[str]:
    """The eldest first."""
    return list(AuditEntry.objects.order_by("pk").values_list("kind", flat=True))


def test_a_tournament_s_life_is_written_down_with_the_token_that_acted() -> None:
    program = people.program_of(people.person("vera", Role.RUNNER))
    AuditEntry.objects.all().delete()
    number = program.post("/api/tournaments?start=true", SPEC, content_type="application/json").json()["id"]
    path = f"/api/tournaments/{number}"
    for deed in ("pause", "resume"):
        program.post(f"{path}/{deed}")
    program.patch(path, json.dumps({"pool_size": 5}), content_type="application/json")
    program.patch(path, json.dumps({"pool_size": 5}), content_type="application/json")
    program.post(f"{path}/stop")
    b"".join(program.get(f"{path}/export").streaming_content)  # type: ignore[attr-defined]
    program.delete(path)
    deeds = ["created", "started", "paused", "resumed", "changed", "stopped"]
    assert kinds() == [*(f"tournament_{deed}" for deed in deeds), "downloaded", "tournament_deleted"]
    for entry in AuditEntry.objects.all():
        assert (entry.actor_name, entry.token_name, entry.address) == ("vera", "program", "127.0.0.1")
        assert entry.tournament_id == int(number)
    changed = AuditEntry.objects.get(kind="tournament_changed")
    assert changed.text == "Changed the tournament from sprint, pool 2, priority 0 to sprint, pool 5, priority 0."


def test_what_did_not_happen_is_not_written_down() -> None:
    tournament = making.tournament(start=False)
    AuditEntry.objects.all().delete()
    with pytest.raises(TournamentError):
        services.tournament_pause(tournament_id=tournament.pk)
    assert kinds() == []


def test_sign_ins_and_failures_are_written_down_but_no_name_that_nobody_has() -> None:
    User.objects.create_user("vera", password="a long sentence")
    client = Client()
    client.post("/sign-in/", {"username": "my secret passphrase", "password": "vera"})
    client.post("/sign-in/", {"username": "vera", "password": "wrong"}, REMOTE_ADDR="10.1.2.3")
    client.post("/sign-in/", {"username": "vera", "password": "a long sentence"})
    client.post("/sign-out/")
    client.get("/sign-in/link/guess/")
    entries = [(row.kind, row.actor_name, row.address) for row in AuditEntry.objects.order_by("pk")]
    assert entries == [
        ("sign_in_failed", "", "127.0.0.1"),
        ("sign_in_failed", "vera", "10.1.2.3"),
        ("sign_in", "vera", "127.0.0.1"),
        ("sign_out", "vera", "127.0.0.1"),
        ("sign_in_failed", "", "127.0.0.1"),
    ]
    assert "secret" not in str(list(AuditEntry.objects.values()))


def test_who_acts_outside_of_requests_is_the_command_line() -> None:
    people.browser_of(people.person("vera")).get("/")
    audit.record("password_set", "Set a password.")
    assert AuditEntry.objects.get().actor_name == "command line"


def test_entries_outlive_whom_they_are_about() -> None:
    user = people.person("vera")
    people.browser_of(user).post("/projects/", {"name": "team"})
    user.delete()
    assert AuditEntry.objects.get(kind="project_created").actor_name == "vera"


def test_the_page_is_filtered_by_person_and_kind_and_goes_back_by_page() -> None:
    admin = people.browser_of(people.person("ada"))
    for number in range(60):
        audit.record("project_created", f"Made the project p{number}.", actor=None)
    admin.post("/projects/", {"name": "of ada"})
    page = admin.get("/audit/")
    assert [row.text for row in page.context["entries"]][:2] == ["Made the project of ada.", "Made the project p59."]
    assert len(page.context["entries"]) == 50
    older = admin.get(f"/audit/?before={page.context['older']}")
    assert [row.text for row in older.context["entries"]][-1] == "Made the project p0."
    assert older.context["older"] is None
    mine = admin.get("/audit/?person=ada")
    assert [row.text for row in mine.context["entries"]] == ["Made the project of ada."]
    for nonsense in ("person=%00", "kind=nothing", "before=x", "before=" + "9" * 40):
        assert admin.get(f"/audit/?{nonsense}").status_code == 200


def test_the_csv_is_whole_and_no_cell_of_it_is_a_formula() -> None:
    admin = people.browser_of(people.person("ada"))
    for number in range(60):
        audit.record("project_created", f"=HYPERLINK({number})")
    answer = admin.get("/audit.csv?kind=project_created")
    rows = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))  # type: ignore[attr-defined]
    assert len(rows) == 60
    assert rows[0]["text"] == "'=HYPERLINK(59)"
    assert rows[0]["person"] == "command line"


def test_every_write_of_the_api_leaves_an_entry() -> None:
    """Of those that the walk of tests/webapp/test_guard.py can carry out as they stand."""
    browser = people.browser_of(people.person("ada"))
    tournament = making.tournament(start=False)
    path = f"/api/tournaments/{tournament.pk}"
    for method, where, body in [
        ("PUT", "/sharing", {"shared": True}),
        ("POST", "/links", {"name": "reviewers"}),
        ("PATCH", "", {"name": "renamed"}),
        ("POST", "/start", {}),
        ("DELETE", "", {}),
    ]:
        before = AuditEntry.objects.count()
        answer = browser.generic(method, path + where, json.dumps(body), content_type="application/json")
        assert answer.status_code < 300, answer.content
        assert AuditEntry.objects.count() == before + 1, (method, where)
