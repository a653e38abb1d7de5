"""What stands beside what in a comparison: ensembles, repetitions of one specification, agents alone."""

import csv
import html
import io
import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.webapp import people
from tests.webapp.tournaments import making
from tests.webapp.tournaments import test_ensembles as ensemble_making
from tests.webapp.tournaments.test_api import refused
from tests.webapp.tournaments.test_comparison import compared, played
from webapp.accounts.models import Role
from webapp.tournaments import services
from webapp.tournaments.comparing import groups, views
from webapp.tournaments.models import Agent, Event, Tournament
from webapp.tournaments.orchestrator import Claim

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser(owner: User, client: Client) -> Client:
    client.force_login(owner)
    return client


def page_of(browser: Client, query: str) -> str:
    response = browser.get(f"/compare/?{query}")
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def environment(api: Client, query: str) -> Any:
    (found,) = compared(api, query)["environments"]
    return found


def test_an_ensemble_is_compared_by_its_episodes_and_has_no_curve(api: Client, browser: Client) -> None:
    tournament = making.board(100.0, 80.0)
    ensemble = ensemble_making.ask(tournament, 2)
    assert "nothing evaluated yet" in page_of(browser, f"a={ensemble.pk}")
    ensemble_making.finish(ensemble_making.claim(), 120.0)
    key, query = f"a{ensemble.pk}", f"a={ensemble.pk}&t={tournament.pk}&of=champion"
    (champion, group), part = compared(api, query)["groups"], environment(api, query)
    assert (group["kind"], group["label"], group["episodes"]) == ("ensemble", f"ens-1 of {tournament.name}", 4)
    assert champion["kind"] == "tournament"
    assert {score["group"]: score["value"] for score in part["scores"]}[key] == 120.0
    assert {pair["better"]: pair["value"] for pair in part["improvement"]}[key] == 1.0
    assert part["profiles"]["groups"][key]["share"][0] == 1.0
    assert part["curves"][key]["x"] == []
    assert "Ensembles have no curve" in page_of(browser, f"a={ensemble.pk}")


def at(tournament: Tournament, claims: list[Claim], *seconds: float) -> None:
    """Has its agents scored so long after its start, without pauses."""
    start = tournament.started_at
    assert start is not None
    Event.objects.filter(tournament=tournament).delete()
    for claimed, after in zip(claims, seconds, strict=True):
        Agent.objects.filter(pk=claimed.agent_id).update(scored_at=start + timedelta(seconds=after))


def repetitions(*scores: float, **spec: Any) -> list[Tournament]:
    """Tournaments of one agent each that differ in name and seed. Each took 10 s longer than the one before."""
    found = []
    for number, score in enumerate(scores, start=1):
        tournament, claims = played(f"sprint seed {number}", score, seed=number, **spec)
        at(tournament, claims, 10.0 * number)
        found.append(tournament)
    return found


def asked(tournaments: list[Tournament]) -> str:
    return "&".join(f"t={tournament.pk}" for tournament in tournaments)


def test_tournaments_of_equal_specification_are_one_group_where_that_is_asked(api: Client) -> None:
    runs = repetitions(100.0, 110.0, 120.0)
    longer, _ = played("longer", 100.0, stop={"pods": 7})
    query = asked([*runs, longer])
    assert len(compared(api, query)["groups"]) == 4
    group, alone = compared(api, f"{query}&group=spec")["groups"]
    assert (group["label"], group["agents"], group["episodes"]) == ("sprint seed × 3", 3, 12)
    assert [(member["id"], member["seed"]) for member in group["tournaments"]] == [
        (str(run.pk), number) for number, run in enumerate(runs, start=1)
    ]
    assert alone["label"] == "longer", "another budget is no repetition"
    rows = {row["name"]: row["values"] for row in compared(api, f"{query}&group=spec")["differences"]["rows"]}
    assert rows == {"seed": ["1, 2, 3", "1"], "stop.pods": ["100", "7"]}


def test_the_curve_of_repetitions_is_the_mean_of_their_means_with_a_band_over_them(api: Client) -> None:
    runs = repetitions(100.0, 120.0)
    more, _ = played("sprint seed 3", 140.0, 140.0, 140.0, seed=3)
    part = environment(api, f"{asked([*runs, more])}&group=spec")
    (curve,) = part["curves"].values()
    assert curve["mean"][-1] == pytest.approx(120), "each tournament counts once, however many agents it has"
    assert (curve["agents"][-1], curve["tournaments"][-1]) == (5, 3)
    assert 100 <= curve["low"][-1] < 120 < curve["high"][-1] <= 140


def test_scores_of_repetitions_are_as_sure_as_these_agree(api: Client) -> None:
    runs = repetitions(100.0, 200.0, 300.0)
    query = asked(runs)
    (pooled,) = environment(api, f"{query}&group=spec")["scores"]
    assert pooled["value"] == pytest.approx(200)
    assert pooled["low"] < 150 < 250 < pooled["high"]
    alone = environment(api, query)["scores"]
    assert all(score["high"] - score["low"] < 3 for score in alone)


def test_the_time_of_repetitions_is_a_median_where_more_than_half_have_one(api: Client) -> None:
    runs = repetitions(130.0, 50.0, 120.0, stop={"pods": 9, "score": 110})
    (row,) = environment(api, f"{asked(runs)}&group=spec")["times"]
    assert (row["reached"], row["seconds"], row["earliest"], row["latest"]) == (True, 30.0, 10.0, 30.0)
    assert (row["tournaments"], row["tournaments_reached"], row["env_steps"]) == (3, 2, 1000)
    (row,) = environment(api, f"{asked(runs)}&group=spec&target=125")["times"]
    assert (row["reached"], row["seconds"], row["tournaments_reached"], row["earliest"]) == (False, None, 1, 10.0)
    assert row["best_score"] == 130.0


def test_more_repetitions_are_compared_than_groups(
    api: Client, browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "MOST_GROUPS", 2)
    runs = repetitions(100.0, 110.0, 120.0)
    assert "count as one where they are grouped" in refused(api.get(f"/api/compare?{asked(runs)}"))["t"]
    assert len(compared(api, f"{asked(runs)}&group=spec")["groups"]) == 1
    others = [played(f"other {pods}", 1.0, stop={"pods": pods})[0] for pods in (5, 6)]
    assert "these are 3 groups" in refused(api.get(f"/api/compare?{asked([*runs, *others])}&group=spec"))["t"]
    response = browser.get(f"/compare/?{asked(runs)}")
    assert response.status_code == 422


def test_the_page_offers_to_group_repetitions_and_keeps_it_in_its_address(browser: Client) -> None:
    runs = repetitions(100.0, 120.0, stop={"pods": 9, "score": 110})
    other, _ = played("other", 100.0)
    assert "Repetitions as one" not in page_of(browser, asked([runs[0], other]))
    apart = page_of(browser, asked([*runs, other]))
    assert f'href="?{asked([*runs, other]).replace("&", "&amp;")}&amp;group=spec"' in apart
    page = page_of(browser, f"{asked([*runs, other])}&group=spec")
    assert "sprint seed × 2" in page
    assert "1 of 2 tournaments reached it" in page
    assert f'href="?t={other.pk}&amp;group=spec" aria-label="Remove sprint seed × 2"' in page
    assert '<input type="hidden" name="group" value="spec">' in page


def test_an_agent_alone_has_a_time_to_the_target_of_its_own(api: Client, browser: Client) -> None:
    tournament, claims = played("race", 50.0, 120.0)
    at(tournament, claims, 10, 25)
    Agent.objects.filter(pk=claims[1].agent_id).update(base_env_steps=4_000)
    query = f"a={claims[0].agent_id}&a={claims[1].agent_id}&target=110"
    missed, reached = environment(api, query)["times"]
    assert (missed["reached"], missed["best_score"]) == (False, 50.0)
    assert (reached["seconds"], reached["env_steps"], reached["agent"]) == (25.0, 5000, str(claims[1].agent_id))
    assert "scored 120 after 5 k env steps" in page_of(browser, query)


def test_agents_alone_have_their_hyperparameters_side_by_side(api: Client, browser: Client) -> None:
    space = {"learning_rate": {"choice": [0.001, 0.002]}, "gamma": {"fixed": 0.97}}
    tournament, claims = played("race", 50.0, 120.0, algorithms=[{"name": "ppo", "search_space": space}])
    one, two = (Agent.objects.get(pk=claimed.agent_id) for claimed in claims)
    Agent.objects.filter(pk=two.pk).update(hyperparameters={**two.hyperparameters, "learning_rate": 0.003})
    Agent.objects.filter(pk=one.pk).update(hyperparameters={**one.hyperparameters, "learning_rate": 0.001})
    _, (dqn,) = played("other", 70.0, algorithms=[{"name": "dqn"}])
    table = compared(api, f"t={tournament.pk}&a={one.pk}&a={two.pk}")["hyperparameters"]
    assert table["groups"] == [f"a{one.pk}", f"a{two.pk}"]
    rows = {row["name"]: row for row in table["rows"]}
    assert rows["learning_rate"] == {"name": "learning_rate", "values": ["1.0e-3", "3.0e-3"], "differs": True}
    assert rows["gamma"] == {"name": "gamma", "values": ["0.97", "0.97"], "differs": False}
    assert table["rows"][0]["differs"]
    Agent.objects.filter(pk=two.pk).update(hyperparameters={**two.hyperparameters, "learning_rate": 0.001001})
    table = compared(api, f"a={one.pk}&a={two.pk}")["hyperparameters"]
    assert table["rows"][0]["values"] == ["0.001", "0.001001"], "what differs reads so"
    table = compared(api, f"a={one.pk}&a={dqn.agent_id}")["hyperparameters"]
    rows = {row["name"]: row["values"] for row in table["rows"]}
    assert rows["algorithm"] == ["ppo", "dqn"]
    assert rows["buffer_size"][0] is None
    assert "learning_rate<span" in page_of(browser, f"a={one.pk}&a={two.pk}")


def test_tournaments_to_compare_are_searched_among_all_that_are_seen(
    browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "OFFERED", 1)
    old, *_ = (making.tournament(name=name, start=False) for name in ("old sprint", "new sprint", "newest"))
    hidden = making.tournament(name="hidden sprint", start=False, owner=people.person("other", role=Role.RUNNER))
    page = page_of(browser, "q=old+cartpole")
    assert "<b>old sprint</b>" in page
    assert "<b>newest</b>" not in page
    page = page_of(browser, f"q=sprint&t={old.pk}&only=options")
    assert f'value="{old.pk}" checked' in page, "what is chosen stays whatever is looked for"
    assert "<html" not in page
    browser.force_login(people.person("viewer", role=Role.VIEWER))
    assert f'value="{hidden.pk}"' not in page_of(browser, f"q=hidden&t={hidden.pk}&only=options")
    assert "No tournament has nothing here in its name" in page_of(browser, "q=nothing+here&only=options")


def test_all_that_is_chosen_stays_ticked_also_where_it_is_more_than_can_be_compared(browser: Client) -> None:
    chosen = [making.tournament(start=False).pk for _ in range(groups.MOST_REPEATED + 1)]
    page = page_of(browser, "&".join(f"t={one}" for one in chosen) + "&only=options")
    assert [one for one in chosen if f'value="{one}" checked' not in page] == []


def table(api: Client, path: str) -> list[dict[str, str]]:
    response = api.get(path)
    assert response.status_code == 200
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode())))


def test_each_part_of_a_comparison_is_a_table_with_an_empty_cell_for_what_is_not_known(api: Client) -> None:
    strong, _ = played("=strong", 100.0, 120.0, stop={"pods": 9, "score": 110})
    weak, _ = played("weak", 20.0, stop={"pods": 9, "score": 110})
    query = asked([strong, weak])
    part = environment(api, query)

    def rows(name: str) -> list[dict[str, str]]:
        return table(api, f"/api/compare?{query}&format=csv&part={name}")

    curve = part["curves"][f"t{strong.pk}"]
    own = [row for row in rows("curves") if row["key"] == f"t{strong.pk}"]
    assert [float(row["mean"]) for row in own] == curve["mean"]
    assert [int(row["agents"]) for row in own] == curve["agents"]
    assert {row["group"] for row in own} == {"'=strong"}, "no name is taken for a formula"
    assert {row["key"]: float(row["iqm"]) for row in rows("scores")} == {
        score["group"]: score["value"] for score in part["scores"]
    }
    assert len(rows("profiles")) == 2 * len(part["profiles"]["thresholds"])
    assert [(row["target"], row["seconds"] == "") for row in rows("times")] == [("110.0", False), ("110.0", True)]
    assert [(row["better"], row["than"]) for row in rows("improvement")] == [("'=strong", "weak"), ("weak", "'=strong")]
    assert "part" in refused(api.get(f"/api/compare?{query}&format=csv&part=all"))


def test_the_page_has_every_chart_as_a_table_and_as_csv(api: Client, browser: Client) -> None:
    tournament, _ = played("race", 100.0, 120.0, stop={"pods": 9, "score": 110})
    page = page_of(browser, f"t={tournament.pk}&target=115&x=nonsense")
    links = [html.unescape(link) for link in re.findall(r'href="(/api/compare[^"]*)"', page)]
    assert [link.rpartition("=")[2] for link in links] == ["curves", "profiles", "scores", "times"]
    for link in links:
        assert table(api, link)
    assert table(api, links[-1])[0]["target"] == "115.0"
    assert "Half above" in page
    assert "First mean" in page


@pytest.mark.parametrize("target", ["abc", "nan", "1e999"])
def test_a_target_that_is_no_number_is_refused_by_name_and_the_rest_is_compared(browser: Client, target: str) -> None:
    tournament, _ = played("race", 100.0, 120.0, stop={"pods": 9, "score": 110})
    answer = browser.get(f"/compare/?t={tournament.pk}&target={target}")
    page = html.unescape(answer.content.decode())
    assert answer.status_code == 422
    assert f"Target score: '{target}' is not a number" in page
    assert "When the first agent was scored at 110 or above" in page
    assert browser.get(f"/compare/?t={tournament.pk}&target=%E2%88%921,200.5").status_code == 200


def test_a_comparison_is_followed_while_any_of_it_runs_and_says_what_was_deleted(browser: Client) -> None:
    (ended, _), running = played("over", 100.0), making.tournament(name="race")
    assert "data-source" not in page_of(browser, f"t={ended.pk}")
    page = page_of(browser, f"t={ended.pk}&t={running.pk}&of=champion")
    source = re.search(r'data-source="\?([^"]*)"', page)
    assert source
    followed = page_of(browser, html.unescape(source[1]))
    assert "only=comparison" not in re.sub(r'data-source="[^"]*"', "", followed), "links lead to the whole page"
    services.tournament_delete(tournament_id=running.pk)
    gone = page_of(browser, html.unescape(source[1]))
    assert f"There is no tournament {running.pk}." in gone
    assert "data-source" not in gone


def test_lineage_hyperparameters_and_slots_are_tables_too(api: Client) -> None:
    tournament, claims = played(
        "race", 100.0, 120.0, algorithms=[{"name": "ppo", "search_space": {"gamma": {"choice": [0.9, 0.99]}}}]
    )
    one, two = (Agent.objects.get(pk=claimed.agent_id) for claimed in claims)
    one.hyperparameters["gamma"], two.hyperparameters["gamma"] = 0.9, 0.99
    for agent in (one, two):
        agent.save()
    two.parents.set([one])
    base = f"/api/tournaments/{tournament.pk}"
    lines = table(api, f"{base}/lineage?format=csv")
    assert [(row["id"], row["parents"], row["score"]) for row in lines[:2]] == [
        (str(one.pk), "", "100.0"),
        (str(two.pk), str(one.pk), "120.0"),
    ]
    assert lines[-1]["score"] == "", "its pod has not ended"
    given = table(api, f"{base}/hyperparameters?format=csv")
    assert [(row["name"], row["algorithm"], row["gamma"]) for row in given[:2]] == [
        (one.name, "ppo", "0.9"),
        (two.name, "ppo", "0.99"),
    ]
    slots = table(api, f"{base}/slots?format=csv")
    assert [(row["what"], row["worker"], row["agent"]) for row in slots] == [
        ("pod", "worker", str(one.pk)),
        ("pod", "worker", str(two.pk)),
        ("pause", "", ""),
    ]
    assert table(api, f"{base}/slots?format=csv")[0]["begin"] != ""
