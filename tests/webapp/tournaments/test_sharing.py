"""Projects, and who sees a tournament."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.webapp import people
from tests.webapp.tournaments import making
from webapp.accounts.models import Project, ProjectMember, Role
from webapp.tournaments.models import ShareLink, Tournament

pytestmark = pytest.mark.django_db


@pytest.fixture
def olga() -> User:
    return people.person("olga", Role.RUNNER)


@pytest.fixture
def tournament(olga: User) -> Tournament:
    return making.tournament(owner=olga, start=False)


def put(client: Client, tournament: Tournament, **body: Any) -> Any:
    path = f"/api/tournaments/{tournament.pk}/sharing"
    return client.put(path, json.dumps(body), content_type="application/json")


def test_a_tournament_is_private_until_it_is_shared(tournament: Tournament, olga: User) -> None:
    sharing = people.browser_of(olga).get(f"/api/tournaments/{tournament.pk}/sharing").json()
    assert sharing == {
        "owner": "olga",
        "project": None,
        "project_name": None,
        "shared": False,
        "links": [],
        "projects": [],
    }


def test_sharing_with_everybody_and_back(tournament: Tournament, olga: User) -> None:
    owner, guest = people.browser_of(olga), people.browser_of(people.person("vera", Role.VIEWER))
    page = f"/tournaments/{tournament.pk}/"
    assert guest.get(page).status_code == 404
    assert put(owner, tournament, shared=True).json()["shared"] is True
    assert guest.get(page).status_code == 200
    put(owner, tournament)
    assert guest.get(page).status_code == 404


def test_a_project_s_members_see_it_and_its_runners_control_it(tournament: Tournament, olga: User) -> None:
    vera, rob = people.person("vera", Role.RUNNER), people.person("rob", Role.RUNNER)
    team = people.project(olga=Role.ADMIN, vera=Role.VIEWER, rob=Role.RUNNER)
    answer = put(people.browser_of(olga), tournament, project=str(team.pk))
    assert answer.json()["project_name"] == "team"
    start = f"/api/tournaments/{tournament.pk}/start"
    assert people.browser_of(vera).post(start).status_code == 403
    assert people.browser_of(rob).post(start).status_code == 200
    assert people.browser_of(rob).get(f"/api/tournaments/{tournament.pk}").json()["project"] == "team"


@pytest.mark.parametrize("kind", ["not a member", "a viewer", "no such", "no id"])
def test_a_tournament_goes_only_into_projects_that_one_runs(tournament: Tournament, olga: User, kind: str) -> None:
    team = people.project(**({"olga": Role.VIEWER} if kind == "a viewer" else {}))
    number = {"no such": "999999", "no id": "team"}.get(kind, str(team.pk))
    answer = put(people.browser_of(olga), tournament, project=number)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "project"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 81}, "name"),
        ({"name": "x", "lifetime_days": 7}, "lifetime_days"),
        ({"name": "x", "for": "y"}, "for"),
        ({}, "name"),
    ],
)
def test_a_link_that_cannot_be_is_refused_beside_its_field(
    tournament: Tournament, olga: User, body: dict[str, Any], field: str
) -> None:
    path = f"/api/tournaments/{tournament.pk}/links"
    answer = people.browser_of(olga).post(path, json.dumps(body), content_type="application/json")
    assert answer.status_code == 422
    assert field in answer.json()["errors"][0]["field"]
    assert not ShareLink.objects.exists()


def test_a_link_is_shown_once_listed_while_open_and_revoked(tournament: Tournament, olga: User) -> None:
    browser, path = people.browser_of(olga), f"/api/tournaments/{tournament.pk}"
    made = browser.post(f"{path}/links", json.dumps({"name": "reviewers"}), content_type="application/json").json()
    address = made.pop("url").removeprefix("http://testserver")
    assert browser.get(f"{path}/sharing").json()["links"] == [made]
    assert address.split("/")[2] not in str(list(ShareLink.objects.values()))
    assert Client().get(address, follow=True).status_code == 200
    assert browser.get(f"{path}/sharing").json()["links"][0]["last_used_at"] is not None
    assert browser.delete(f"{path}/links/{made['id']}").status_code == 204
    assert browser.delete(f"{path}/links/{made['id']}").status_code == 404
    assert browser.get(f"{path}/sharing").json()["links"] == []
    assert Client().get(address).status_code == 404


def test_a_link_is_revoked_only_by_its_own_tournament(tournament: Tournament, olga: User) -> None:
    browser = people.browser_of(olga)
    other = making.tournament(owner=olga, start=False)
    body = json.dumps({"name": "reviewers"})
    made = browser.post(f"/api/tournaments/{tournament.pk}/links", body, content_type="application/json").json()
    assert browser.delete(f"/api/tournaments/{other.pk}/links/{made['id']}").status_code == 404


# Projects


def act(client: Client, project: Project, **values: str) -> Any:
    return client.post(f"/projects/{project.pk}/", values)


def test_whoever_makes_a_project_keeps_its_members(olga: User) -> None:
    rob = people.person("rob", Role.RUNNER)
    browser = people.browser_of(olga)
    page = browser.post("/projects/", {"name": "  walking   robots "})["Location"]
    project = Project.objects.get(name="walking robots")
    assert page == f"/projects/{project.pk}/"
    assert people.browser_of(rob).get(page).status_code == 404
    act(browser, project, action="member", name="rob", role="viewer")
    assert people.browser_of(rob).get(page).status_code == 200
    assert act(people.browser_of(rob), project, action="rename", name="mine").status_code == 403
    act(browser, project, action="member", name="rob", role="admin")
    act(browser, project, action="remove", name="olga")
    assert browser.get(page).status_code == 404
    assert list(project.members.values_list("user__username", "role")) == [("rob", "admin")]


def test_a_project_is_never_without_an_admin(olga: User) -> None:
    team, browser = people.project(olga=Role.ADMIN), people.browser_of(olga)
    for values in ({"action": "remove", "name": "olga"}, {"action": "member", "name": "olga", "role": "viewer"}):
        answer = act(browser, team, **values)
        assert answer.status_code == 409
        assert b"needs an admin" in answer.content
    assert ProjectMember.objects.get().role == Role.ADMIN


def test_deleting_a_project_leaves_its_tournaments_to_their_owners(tournament: Tournament, olga: User) -> None:
    people.person("vera", Role.VIEWER)
    team = people.project(olga=Role.ADMIN, vera=Role.VIEWER)
    Tournament.objects.update(project=team)
    guest = people.browser_of(User.objects.get(username="vera"))
    assert tournament.name.encode() in guest.get(f"/projects/{team.pk}/").content
    act(people.browser_of(olga), team, action="delete")
    assert guest.get(f"/tournaments/{tournament.pk}/").status_code == 404
    assert people.browser_of(olga).get(f"/tournaments/{tournament.pk}/").status_code == 200


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"action": "member", "name": "nobody", "role": "viewer"}, "nobody called"),
        ({"action": "member", "name": "\x00", "role": "viewer"}, "nobody called"),
        ({"action": "member", "name": "olga", "role": "king"}, "viewer, runner, admin"),
        ({"action": "rename", "name": " "}, "1 to 80"),
        ({"action": "rename", "name": "TAKEN"}, "already"),
        ({"action": "conquer"}, "conquer"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(olga: User, values: dict[str, str], says: str) -> None:
    people.project("taken")
    team = people.project(olga=Role.ADMIN)
    answer = act(people.browser_of(olga), team, **values)
    assert answer.status_code == 409
    assert says in answer.context["problem"]


def test_viewers_make_no_projects_and_see_those_that_they_are_in() -> None:
    browser = people.browser_of(people.person("vera", Role.VIEWER))
    people.project("hers", vera=Role.VIEWER)
    people.project("another")
    assert browser.post("/projects/", {"name": "x"}).status_code == 403
    assert [item["name"] for item in browser.get("/api/projects").json()["items"]] == ["hers"]
    assert b"another" not in browser.get("/projects/").content
