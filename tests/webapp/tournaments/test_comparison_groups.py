"""What stands beside what in a comparison: ensembles, repetitions of one specification, agents alone."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.webapp.tournaments import making
from tests.webapp.tournaments import test_ensembles as ensemble_making
from tests.webapp.tournaments.test_comparison import compared

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
