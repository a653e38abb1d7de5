"""Every page and operation for each role and kind of sharing: what may not be seen is not there, what may not be
done is refused with a sentence, and no address is without a rule."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.resolvers import RoutePattern
from ninja.operation import PathView

from tests.webapp import people
from tests.webapp.tournaments import making
from webapp import guard
from webapp.accounts.access import Actor, Level, actor_of
from webapp.accounts.middleware import OPEN_PATHS, OPEN_PREFIXES
from webapp.accounts.models import AuditEntry, Role
from webapp.guard import Action, Own
from webapp.tournaments.access import visible
from webapp.tournaments.models import Agent, ShareLink, Tournament
from webapp.tournaments.sharing import sharing

pytestmark = pytest.mark.django_db


class Address(NamedTuple):
    method: str
    route: str
    names: tuple[str, ...]


def addresses() -> Iterator[Address]:
    """All that the URLs lead to; of pages, whose methods are their views' own, GET and POST."""
    for route, pattern in _patterns(get_resolver(), ""):
        if f"/{route}" in OPEN_PATHS or f"/{route}".startswith(OPEN_PREFIXES):
            continue
        names = tuple(pattern.pattern.converters)
        for method in _methods(pattern):
            yield Address(method, route, names)


def _patterns(resolver: URLResolver, prefix: str) -> Iterator[tuple[str, URLPattern]]:
    for entry in resolver.url_patterns:
        route = prefix + str(entry.pattern)
        if isinstance(entry, URLResolver):
            yield from _patterns(entry, route if isinstance(entry.pattern, RoutePattern) else "")
        else:
            yield route, entry


def _methods(pattern: URLPattern) -> list[str]:
    inside = [cell.cell_contents for cell in getattr(pattern.callback, "__closure__", None) or ()]
    for view in (found for found in inside if isinstance(found, PathView)):
        return sorted({method for operation in view.operations for method in operation.methods} - {"HEAD"})
    return ["GET", "POST"]


PAGE_READS = {
    "",
    "tournaments/cards/",
    "tournaments/new/environment/",
    "slots/",
    "metrics",
    "audit/",
    "audit.csv",
    "api/",
    "api/docs",
    "api/openapi.json",
}
"""Pages without an object in their address that take nothing but GET."""

ALL = list(addresses())
OBJECT_ADDRESSES = [
    one for one in ALL if isinstance(guard.rule_of(one.method, one.route, one.names), Action) and one.names
]


def test_the_walk_meets_pages_and_operations() -> None:
    known = {(one.method, one.route) for one in ALL}
    assert ("GET", "tournaments/<int:tournament_id>/") in known
    assert ("POST", "api/tournaments/<tournament_id>/stop") in known
    assert ("POST", "people/") in known
    assert len(OBJECT_ADDRESSES) > 25


def test_every_address_has_a_rule() -> None:
    """A new operation that names neither tournament nor agent needs a line in webapp/guard.py's RULES."""
    ruled = [one for one in ALL if one.method == "GET" or one.route not in PAGE_READS]
    assert [one for one in ruled if guard.rule_of(*one) is None] == []


class World(NamedTuple):
    tournament: Tournament
    agent: Agent

    def path(self, one: Address, **values: str) -> str:
        known = {"tournament_id": str(self.tournament.pk), "agent_id": str(self.agent.pk), "link_id": "1"}
        known |= {"name": "onnx", "format": "onnx", "episode": "best", **values}
        route = one.route
        for name in one.names:
            for text in (f"<int:{name}>", f"<slug:{name}>", f"<{name}>"):
                route = route.replace(text, known.get(name, "1"))
        return f"/{route}"


@pytest.fixture
def world(db: None) -> World:
    """Somebody's tournament with an agent."""
    tournament = making.tournament(owner=people.person("olga", Role.RUNNER), pool={"size": 1})
    agent = tournament.agents.get()
    return World(tournament, agent)


def asked(client: Client, one: Address, world: World) -> Any:
    return ask(client, one.method, world.path(one))


def ask(client: Client, method: str, path: str) -> Any:
    """The answer, read to its end."""
    body = "" if method == "GET" else "{}"
    answer = client.generic(method, path, body, content_type="application/json")
    if answer.streaming:
        b"".join(answer.streaming_content)
    return answer


def by(client: Client, world: World, *methods: str) -> dict[int, list[Address]]:
    """What all object addresses with these methods answer, by status."""
    found: dict[int, list[Address]] = {}
    for one in OBJECT_ADDRESSES:
        if one.method in methods:
            found.setdefault(asked(client, one, world).status_code, []).append(one)
    return found


WRITES = ("POST", "PUT", "PATCH", "DELETE")
SHARING_READS = [one for one in OBJECT_ADDRESSES if one.method == "GET" and "sharing" in one.route]


def strange(role: str) -> Client:
    return people.browser_of(people.person("stranger", role))


@pytest.mark.parametrize("role", [Role.VIEWER, Role.RUNNER])
def test_a_private_tournament_is_not_there_for_others(world: World, role: str) -> None:
    client = strange(role)
    assert set(by(client, world, "GET", *WRITES)) == {404}
    assert client.get("/api/tournaments").json() == {"items": [], "count": 0}
    assert world.tournament.name.encode() not in client.get("/").content
    assert Tournament.objects.filter(pk=world.tournament.pk, status="RUNNING").exists()


@pytest.mark.parametrize("role", [Role.VIEWER, Role.RUNNER])
@pytest.mark.parametrize("way", ["shared", "project"])
def test_who_may_look_can_read_and_change_nothing(world: World, role: str, way: str) -> None:
    client = strange(role)
    if way == "shared":
        Tournament.objects.update(shared=True)
    else:
        Tournament.objects.update(project=people.project(stranger=Role.VIEWER))
    reads, writes = by(client, world, "GET"), by(client, world, *WRITES)
    assert set(writes) == {403}
    assert sorted(reads.pop(403)) == sorted(SHARING_READS)
    # What remains is there, or there is no such file of this agent yet.
    assert set(reads) <= {200, 404}
    assert all("<format>" in one.route or "replays/<" in one.route or "checkpoint" in one.route for one in reads[404])
    assert client.get("/api/tournaments").json()["count"] == 1
    page = client.get(f"/tournaments/{world.tournament.pk}/").content.decode()
    assert "data-stepper" not in page
    assert 'id="sharing"' not in page
    refusal = client.post(f"/api/tournaments/{world.tournament.pk}/stop").json()["errors"][0]["message"]
    assert refusal.startswith("Your role is viewer" if role == Role.VIEWER else "You may look at this tournament")
    deeds = AuditEntry.objects.filter(actor_name="stranger").values_list("kind", flat=True)
    assert set(deeds) == {"downloaded"}


@pytest.mark.parametrize("who", ["project runner", "run token of the owner"])
def test_who_controls_it_is_refused_nothing_but_what_its_state_refuses(world: World, who: str) -> None:
    client = {
        "project runner": lambda: _member(world, Role.RUNNER),
        "run token of the owner": lambda: people.program_of(world.tournament.owner, "run"),
    }[who]()
    for one in OBJECT_ADDRESSES:
        if one.method == "DELETE" or guard.rule_of(*one) is Action.SHARE:
            continue
        assert asked(client, one, world).status_code != 403, one
    assert client.delete(f"/api/tournaments/{world.tournament.pk}").status_code == 204


def _member(world: World, role: str) -> Client:
    person = people.person("mira", Role.RUNNER)
    Tournament.objects.update(project=people.project(mira=role))
    return people.browser_of(person)


@pytest.mark.parametrize(("role", "status"), [(Role.RUNNER, 403), (Role.ADMIN, 200)])
def test_sharing_is_for_the_owner_and_admins_of_the_project(world: World, role: str, status: int) -> None:
    path = f"/api/tournaments/{world.tournament.pk}/sharing"
    assert _member(world, role).get(path).status_code == status
    assert people.browser_of(world.tournament.owner).get(path).status_code == 200


def test_a_viewer_of_the_installation_controls_nothing_even_as_runner_of_a_project_or_owner(world: World) -> None:
    client = _member(world, Role.ADMIN)
    people.person("mira", Role.VIEWER)
    assert set(by(client, world, *WRITES)) == {403}
    owner = people.browser_of(people.person("olga", Role.VIEWER))
    assert owner.get(f"/tournaments/{world.tournament.pk}/").status_code == 200
    assert set(by(owner, world, *WRITES)) == {403}


def test_a_read_token_of_an_admin_sees_all_and_changes_nothing(world: World) -> None:
    client = people.program_of(people.person("root", Role.ADMIN), "read")
    assert client.get(f"/api/tournaments/{world.tournament.pk}").status_code == 200
    assert set(by(client, world, *WRITES)) == {403}
    answer = client.post("/api/tournaments", json.dumps({"env_id": "CartPole-v1"}), content_type="application/json")
    assert answer.status_code == 403
    assert answer.json()["errors"][0]["message"] == "The scope of this API token is read; this needs run."


OBJECTLESS = [one for one in ALL if not isinstance(guard.rule_of(*one), Action) and not one.route.startswith("admin/")]


@pytest.mark.parametrize(
    ("role", "level"), [(Role.VIEWER, Level.LOOK), (Role.RUNNER, Level.RUN), (Role.ADMIN, Level.ADMIN)]
)
def test_pages_without_an_object_are_open_to_the_role_that_their_rule_names(
    world: World, role: str, level: Level
) -> None:
    client = people.browser_of(people.person("someone", role))
    for one in OBJECTLESS:
        if one.route == "sign-out/":
            continue
        rule = guard.rule_of(*one)
        needed = rule if isinstance(rule, Level) else Level.LOOK if isinstance(rule, Own) else Level.ADMIN
        status = asked(client, one, world).status_code
        if level < needed:
            assert status == 403, one
        else:
            assert status != 403 or one.route.startswith("projects/"), one


def test_the_admin_site_is_for_admins() -> None:
    assert people.browser_of(people.person("v", Role.RUNNER)).get("/admin/").status_code == 403
    assert people.browser_of(people.person("a", Role.ADMIN)).get("/admin/").status_code == 302  # its own sign-in


def link_of(world: World, lifetime_days: int | None = None) -> str:
    actor, number = actor_of(world.tournament.owner), world.tournament.pk
    return sharing.link_create(actor=actor, tournament_id=number, name="reviewers", lifetime_days=lifetime_days)[1]


def test_a_share_link_shows_its_tournament_and_nothing_else(world: World) -> None:
    other = World(*_other())
    base, client = f"/shared/{link_of(world)}", Client()
    assert client.get(f"{base}/")["Location"] == f"{base}/tournaments/{world.tournament.pk}/"
    assert client.get(base)["Location"] == f"{base}/"
    for one in ALL:
        answer = ask(client, one.method, base + world.path(one))
        if one.route == "":
            assert answer.status_code == 302, one
        elif guard.rule_of(*one) is Action.SEE:
            assert answer.status_code in (200, 404), one
            hidden = ask(client, one.method, base + other.path(one))
            assert hidden.status_code == 404, one
            assert b"no agent" in hidden.content or b"no tournament" in hidden.content, one
        else:
            assert answer.status_code in (403, 404), one


def test_the_pages_of_a_share_link_lead_to_its_own_addresses_and_have_no_controls(world: World) -> None:
    base = f"/shared/{link_of(world)}"
    for client in (Client(), strange(Role.ADMIN)):
        page = client.get(f"{base}/tournaments/{world.tournament.pk}/")
        text = page.content.decode()
        assert "data-stepper" not in text
        assert 'id="sharing"' not in text
        assert "js/choose.js" not in text, "what is compared is not of one tournament"
        assert f'data-prefix="{base}"' in text
        assert f'href="{base}/api/tournaments/{world.tournament.pk}/export"' in text
        assert page["X-Robots-Tag"] == "noindex"
        assert client.get(f"{base}/people/").status_code == 404
        assert client.post(f"{base}/api/tournaments/{world.tournament.pk}/stop").status_code == 403
        agent = client.get(f"{base}/agents/{world.agent.pk}/").content.decode()
        assert f'href="{base}/tournaments/{world.tournament.pk}/"' in agent
        assert "js/choose.js" not in agent
        assert client.get(f"{base}/api/agents/{world.agent.pk}/curve").status_code == 200


def _other() -> tuple[Tournament, Agent]:
    tournament = making.tournament(owner=people.person("otto"), pool={"size": 1}, name="another")
    return tournament, tournament.agents.get()


def test_a_share_link_ends_when_it_is_revoked_or_expires(world: World) -> None:
    base, page = f"/shared/{link_of(world, 30)}", f"/tournaments/{world.tournament.pk}/"
    client = Client()
    assert client.get(base + page).status_code == 200
    link = ShareLink.objects.get()
    assert link.last_used_at is not None
    ShareLink.objects.update(expires_at=link.created_at)
    assert client.get(base + page).status_code == 404
    ShareLink.objects.update(expires_at=None)
    assert client.get(base + page).status_code == 200
    assert sharing.link_revoke(tournament_id=world.tournament.pk, link_id=link.pk)
    gone = client.get(base + page)
    assert gone.status_code == 404
    assert b"it was revoked" in gone.content
    assert client.get(page)["Location"].startswith("/sign-in/")


def test_the_list_takes_as_many_queries_however_many_there_are(world: World) -> None:
    client = strange(Role.RUNNER)
    Tournament.objects.update(project=people.project(stranger=Role.VIEWER))
    with CaptureQueriesContext(connection) as few:
        client.get("/api/tournaments")
    for number in range(4):
        making.tournament(owner=people.person("olga", Role.RUNNER), name=f"more {number}", start=False)
    Tournament.objects.update(shared=True)
    with CaptureQueriesContext(connection) as many:
        assert client.get("/api/tournaments").json()["count"] == 5
    assert len(many) == len(few)


def test_run_again_reads_no_tournament_that_one_may_not_see(world: World) -> None:
    client = strange(Role.RUNNER)
    assert client.get(f"/tournaments/new/?from={world.tournament.pk}").status_code == 404
    Tournament.objects.update(shared=True)
    assert client.get(f"/tournaments/new/?from={world.tournament.pk}").status_code == 200


def test_nobody_sees_what_no_condition_names() -> None:
    making.tournament()
    assert not Tournament.objects.filter(visible(Actor())).exists()
