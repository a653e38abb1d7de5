"""The report of a tournament: what its page tells, to whom, and before there is anything to tell."""

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from podracer_core.spec_parse import spec_parse
from tests.webapp import people
from tests.webapp.tournaments import making
from webapp.accounts.access import actor_of
from webapp.accounts.models import Role
from webapp.tournaments import services
from webapp.tournaments.models import Tournament
from webapp.tournaments.reports.figure import report_figure, ticks
from webapp.tournaments.reports.spec_words import spec_words
from webapp.tournaments.sharing import sharing

pytestmark = pytest.mark.django_db


def race() -> Tournament:
    """A stopped tournament: two scored agents with curves, and a pod that failed."""
    space = {"learning_rate": {"loguniform": [1e-4, 1e-2]}}
    tournament = making.tournament(
        name="the race",
        algorithms=[{"name": "ppo", "search_space": space}],
        pool={"size": 1},
        generator={"strategies": {"fresh": 1}},
        stop={"score": 475, "pods": 100},
    )
    for score in (30.0, 50.0):
        claimed = making.claim()
        making.progress(claimed, making.point(100, 10.0), making.point(900, score))
        making.finish(claimed, making.result(score), making.stored_checkpoint(claimed, b"weights", "ab" * 32))
    making.finish(making.claim(), making.failure("The environment broke."))
    services.tournament_stop(tournament_id=tournament.pk)
    return tournament


def page_of(client: Client, tournament: Tournament, base: str = "") -> str:
    answer = client.get(f"{base}/tournaments/{tournament.pk}/report/")
    assert answer.status_code == 200
    return str(answer.content.decode())


def test_it_tells_what_was_searched_what_came_of_it_and_how_to_get_it() -> None:
    tournament = race()
    page = page_of(people.browser_of(people.person()), tournament)
    best, other = tournament.agents.get(score=50), tournament.agents.get(score=30)
    assert "ppo in CartPole-v1, 1 hyperparameter searched." in page
    assert "1.0e-4 to 0.01, loguniform" in page
    assert "Ends at the first of: a score of 475" in page
    assert f"{best.name} · 95&nbsp;% within" in page
    assert page.index(f"<b>{best.name}</b>") < page.index(f"<b>{other.name}</b>")
    assert page.count("<path class=") >= 2
    assert "1 pod: The environment broke." in page
    assert "ab" * 32 in page
    assert f"http://testserver/agents/{best.pk}/" in page
    assert "PyTorch" in page
    main = page.partition("<main")[2].partition("</main>")[0]
    assert main.count("<button") == main.count("data-print>Print</button>") == 1


def test_a_share_link_opens_it_and_leads_to_its_own_addresses() -> None:
    tournament = race()
    owner = actor_of(tournament.owner)
    _, token = sharing.link_create(actor=owner, tournament_id=tournament.pk, name="reviewers", lifetime_days=30)
    base = f"/shared/{token}"
    page = page_of(Client(), tournament, base)
    assert f"http://testserver{base}/agents/" in page
    assert (
        f'href="{base}/tournaments/{tournament.pk}/report/"'
        in Client().get(f"{base}/tournaments/{tournament.pk}/").content.decode()
    )
    stranger = people.browser_of(people.person("vera", Role.VIEWER))
    assert stranger.get(f"/tournaments/{tournament.pk}/report/").status_code == 404


def test_before_anything_has_happened_it_says_so() -> None:
    page = page_of(people.browser_of(people.person()), making.tournament(start=False))
    assert "It has not ended yet" in page
    assert "No agent was scored." in page
    assert "No pod has left a curve." in page


@pytest.mark.parametrize(
    ("generator", "says"),
    [
        ({"strategies": {"fresh": 1, "exploit": 3}}, "25 % fresh and 75 % exploit"),
        ({"mode": "random_search"}, "every agent starts fresh"),
        ({"mode": "successive_halving", "rungs": 3, "reduction_factor": 4}, "over 3 rungs: one agent in 4"),
        ({"mode": "generational", "survivors": 0.25}, "replace the worst 25 %"),
    ],
)
def test_every_mode_is_told_in_words(generator: dict[str, object], says: str) -> None:
    assert says in " ".join(spec_words(spec_parse({"env_id": "CartPole-v1", "generator": generator})))


def test_a_gap_in_a_curve_is_a_gap_in_its_line() -> None:
    columns = {"base_env_steps": 0, "env_steps": [1, 2, 3, 4], "episodic_return": [1.0, None, 3.0, 2.0]}
    figure = report_figure({"7": columns}, [], None)
    assert figure is not None
    (line,) = figure["lines"]
    assert (line["path"].count("M"), line["path"].count("L")) == (2, 1)
    assert report_figure({"7": columns | {"episodic_return": [None] * 4}}, [], None) is None


@given(st.floats(-1e9, 1e9), st.floats(1e-3, 1e9))
def test_ticks_are_few_and_within(low: float, span: float) -> None:
    high = low + span
    found = ticks(low, high)
    assert len(found) <= 6
    rounding = 1e-9 * max(abs(low), abs(high))
    assert all(low - rounding <= tick <= high + rounding for tick in found)
