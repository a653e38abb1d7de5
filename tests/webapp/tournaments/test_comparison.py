"""Tournaments and agents compared: what is read of them, and what the API says."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import F, Q
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.webapp.tournaments import making
from tests.webapp.tournaments.test_api import holds, refused
from webapp.tournaments import services
from webapp.tournaments.comparing import comparison
from webapp.tournaments.comparing.groups import MOST_GROUPS, groups_find
from webapp.tournaments.comparing.schemas import ComparisonOut
from webapp.tournaments.comparing.spec_table import spec_table
from webapp.tournaments.models import Agent, Event, Tournament
from webapp.tournaments.orchestrator import Claim

pytestmark = pytest.mark.django_db


def played(name: str, *scores: float, **spec: Any) -> tuple[Tournament, list[Claim]]:
    """A tournament whose pods, one after another, ended with `scores` after 1,000 steps each."""
    data = {"pool": {"size": 1}, "generator": {"strategies": {"fresh": 1}}, **spec}
    tournament = making.tournament(name=name, **data)
    claims = []
    for score in scores:
        claims.append(making.claim())
        making.progress(claims[-1], making.point(100, score - 10), making.point(900, score))
        making.finish(claims[-1], making.result(score))
    services.tournament_pause(tournament_id=tournament.pk)
    return tournament, claims


def compared(api: Client, query: str) -> Any:
    return holds(ComparisonOut, api.get(f"/api/compare?{query}"))


def test_two_tournaments_of_one_environment_are_compared_by_their_leaderboards(api: Client) -> None:
    strong, _ = played("strong", 100.0, 120.0)
    weak, _ = played("weak", 20.0, 120.0)
    body = compared(api, f"t={strong.pk}&t={weak.pk}")
    assert [(group["label"], group["agents"], group["episodes"]) for group in body["groups"]] == [
        ("strong", 2, 8),
        ("weak", 2, 8),
    ]
    (environment,) = body["environments"]
    assert environment["env_id"] == "CartPole-v1"
    values = {score["group"]: score["value"] for score in environment["scores"]}
    assert values == {f"t{strong.pk}": 110.0, f"t{weak.pk}": 70.0}
    better = {(pair["better"], pair["than"]): pair["value"] for pair in environment["improvement"]}
    # Of the strong's episodes the half around 120 ties with half of the weak's and beats the other; 100 beats 20 only.
    assert better[f"t{strong.pk}", f"t{weak.pk}"] == pytest.approx((1 + 0.5) / 2 * 0.5 + 0.5 * 0.5)
    assert sum(better.values()) == pytest.approx(1)
    profile = environment["profiles"]["groups"][f"t{strong.pk}"]["share"]
    assert (profile[0], profile[-1]) == (1.0, 0.0)


def test_a_champion_may_stand_for_its_tournament_and_an_agent_for_itself(api: Client) -> None:
    tournament, claims = played("race", 100.0, 120.0)
    body = compared(api, f"t={tournament.pk}&a={claims[0].agent_id}&of=champion")
    champion, agent = body["groups"]
    assert (champion["agents"], agent["agents"]) == (1, 1)
    assert agent["label"] == f"{Agent.objects.get(pk=claims[0].agent_id).name} of race"
    scores = {score["group"]: score["value"] for score in body["environments"][0]["scores"]}
    assert scores == {champion["key"]: 120.0, agent["key"]: 100.0}


def test_environments_are_kept_apart(api: Client) -> None:
    cart, _ = played("cart", 100.0)
    pendulum, _ = played("pendulum", -200.0, env_id="Pendulum-v1")
    body = compared(api, f"t={cart.pk}&t={pendulum.pk}")
    assert [part["groups"] for part in body["environments"]] == [[f"t{cart.pk}"], [f"t{pendulum.pk}"]]
    assert [part["improvement"] for part in body["environments"]] == [[], []]
    assert "env_id" in [row["name"] for row in body["differences"]["rows"]]


def test_the_mean_curve_is_of_the_agents_and_counts_their_ancestors_steps(api: Client) -> None:
    tournament, _ = played("race", 100.0, 120.0)
    curve = compared(api, f"t={tournament.pk}")["environments"][0]["curves"][f"t{tournament.pk}"]
    assert (curve["mean"][0], curve["mean"][-1]) == (100.0, 110.0)
    assert (curve["low"][-1], curve["high"][-1], curve["best"][-1]) == (100.0, 120.0, 120.0)
    assert set(curve["agents"]) == {2}
    assert curve["x"] == sorted(curve["x"])
    assert curve["x"][-1] < 1000
    parent = Agent.objects.filter(tournament=tournament).first()
    Agent.objects.filter(tournament=tournament).exclude(pk=parent and parent.pk).update(base_env_steps=5_000)
    later = compared(api, f"t={tournament.pk}")["environments"][0]["curves"][f"t{tournament.pk}"]
    assert 5_500 < later["x"][-1] < 6_000
    assert later["agents"][-1] == 1


def test_curves_over_time_begin_when_their_pods_did(api: Client) -> None:
    tournament, (_, second) = played("race", 100.0, 120.0)
    pods = tournament.pods.all()
    pods.update(started_at=tournament.started_at)
    pods.filter(agent_id=second.agent_id).update(started_at=F("started_at") + timedelta(seconds=60))
    curve = compared(api, f"a={second.agent_id}&x=seconds")["environments"][0]["curves"][f"a{second.agent_id}"]
    assert 59 < curve["x"][0] < curve["x"][-1] < 63


def test_time_to_target_is_that_of_the_first_agent_that_reached_it_without_the_pauses(api: Client) -> None:
    tournament, claims = played("race", 50.0, 120.0, 130.0, stop={"pods": 9, "score": 110})
    other, _ = played("other", 60.0, stop={"pods": 9, "score": 100})
    start = tournament.started_at
    assert start is not None
    for claimed, seconds in zip(claims, (10, 100, 200), strict=True):
        Agent.objects.filter(pk=claimed.agent_id).update(scored_at=start + timedelta(seconds=seconds))
    Event.objects.filter(tournament=tournament).delete()
    for kind, seconds in (("paused", 20), ("resumed", 50), ("paused", 300)):
        event = Event.objects.create(tournament=tournament, kind=kind, text=kind)
        Event.objects.filter(pk=event.pk).update(at=start + timedelta(seconds=seconds))
    (environment,) = compared(api, f"t={tournament.pk}&t={other.pk}")["environments"]
    assert environment["target"] == 110, "the highest that any aims at"
    reached, missed = environment["times"]
    assert (reached["seconds"], reached["env_steps"], reached["agents"]) == (70.0, 2000, 2)
    assert reached["agent"] == str(claims[1].agent_id)
    assert (missed["reached"], missed["seconds"], missed["best_score"], missed["agents"]) == (False, None, 60.0, 1)
    (environment,) = compared(api, f"t={tournament.pk}&target=55")["environments"]
    assert environment["times"][0]["reached"]


def test_what_has_not_been_scored_is_there_without_scores(api: Client) -> None:
    tournament = making.tournament(name="young")
    claimed = making.claim()
    body = compared(api, f"t={tournament.pk}&a={claimed.agent_id}")
    (environment,) = body["environments"]
    assert (environment["scores"], environment["improvement"]) == ([], [])
    assert environment["profiles"] == {"thresholds": [], "groups": {}}
    assert environment["curves"][f"t{tournament.pk}"]["x"] == []


def test_nothing_chosen_is_an_empty_comparison(api: Client) -> None:
    nothing: dict[str, Any] = {"groups": [], "rows": []}
    assert compared(api, "") == {
        "groups": [],
        "environments": [],
        "differences": nothing,
        "hyperparameters": nothing,
    }


def test_what_there_is_not_or_is_too_much_is_refused_by_name(api: Client) -> None:
    tournament = making.tournament()
    assert "There is no tournament 999" in refused(api.get(f"/api/compare?t={tournament.pk}&t=999"), 404)[""]
    assert "There is no agent 999" in refused(api.get("/api/compare?a=999"), 404)[""]
    agents = "&".join(f"a={number}" for number in range(MOST_GROUPS + 1))
    assert "at most 10" in refused(api.get(f"/api/compare?{agents}"))["t"]
    for query in ("x=depth", "of=all", "target=nan", "target=high"):
        assert query.split("=")[0] in refused(api.get(f"/api/compare?{query}"))


def test_large_tournaments_take_as_many_queries_as_small_ones() -> None:
    def queries(tournament: Tournament) -> int:
        with CaptureQueriesContext(connection) as captured:
            comparison.compare(groups_find([tournament.pk], [], visible=Q()))
        return len(captured)

    small, _ = played("small", 10.0)
    large, _ = played("large", *map(float, range(8)))
    assert queries(small) == queries(large)


def test_differences_are_told_in_the_words_of_the_specification() -> None:
    one, _ = played("one", algorithms=[{"name": "ppo", "search_space": {"gamma": {"choice": [0.9, 0.99]}}}])
    two, _ = played(
        "two",
        algorithms=[{"name": "ppo", "search_space": {"learning_rate": {"loguniform": [1e-4, 3e-3]}}}, {"name": "dqn"}],
        pool={"size": 1, "priority": 3},
    )
    rows = {row["name"]: row["values"] for row in spec_table([one.spec, two.spec])}
    assert rows["algorithms"] == ["ppo", "ppo, dqn"]
    assert rows["pool.priority"] == ["0", "3"]
    assert rows["ppo.gamma"] == ["choice 0.9, 0.99", "default"]
    assert rows["ppo.learning_rate"][1] == "loguniform 1.0e-4 to 3.0e-3"
    assert "name" not in rows
    assert "env_id" not in rows
    assert spec_table([one.spec, one.spec]) == []


@pytest.fixture
def browser(owner: User, client: Client) -> Client:
    client.force_login(owner)
    return client


def test_the_page_teaches_how_to_choose_where_nothing_is_chosen(browser: Client) -> None:
    assert "There is no tournament yet" in browser.get("/compare/").content.decode()
    making.tournament(name="<one>")
    page = browser.get("/compare/").content.decode()
    assert "Choose two or more" in page
    assert "&lt;one&gt;" in page


def test_the_page_shows_scores_times_chances_and_differences(browser: Client) -> None:
    strong, claims = played("<strong>", 100.0, 120.0, stop={"pods": 9, "score": 110})
    weak, _ = played("weak", 20.0, 30.0, stop={"pods": 8, "score": 110})
    page = " ".join(browser.get(f"/compare/?t={strong.pk}&t={weak.pk}").content.decode().split())
    assert "<strong>" not in page
    for text in ("<b>110</b>", "not reached", "&gt; 99 %", "&lt; 1 %", "stop.pods", "<td>9</td>", "<td>8</td>"):
        assert text in page, text
    assert "different environments" not in page
    other, _ = played("other", -200.0, env_id="Pendulum-v1")
    page = browser.get(f"/compare/?t={strong.pk}&t={other.pk}&a={claims[0].agent_id}").content.decode()
    assert "Scores of different environments do not compare" in page


@pytest.mark.parametrize(
    ("query", "status", "text"),
    [
        ("t=999", 404, "There is no tournament 999."),
        ("a=x", 422, "is not the id of any agent"),
        ("&".join(f"t={number}" for number in range(1, 12)), 422, "at most 10"),
    ],
)
def test_an_address_that_names_nothing_says_so_above_the_choice(
    browser: Client, query: str, status: int, text: str
) -> None:
    response = browser.get(f"/compare/?{query}")
    assert response.status_code == status
    assert text in response.content.decode()
