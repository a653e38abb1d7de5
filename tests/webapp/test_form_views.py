"""The form of a new tournament over HTTP: checked while it is typed, started from a preset, written as TOML."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import QueryDict
from django.test import Client
from django.utils import timezone

from podracer_core.envs import known
from podracer_core.envs.catalogue import CATALOGUE
from podracer_core.spec_parse import spec_parse, spec_parse_toml
from tests.webapp import people
from tests.webapp.test_forms import row_add, typed
from webapp.tournaments import services
from webapp.tournaments.form import environment_cards
from webapp.tournaments.form import selectors as form_selectors
from webapp.tournaments.models import Agent, LeaderboardEntry, Pod, Tournament

pytestmark = pytest.mark.django_db
CHECK = "/tournaments/new/check/"


def checked(client: Client, data: QueryDict, **more: str) -> Any:
    """What the page is told of the form as it stands, every row sent."""
    answer = client.post(CHECK, dict(data.lists()) | more)
    assert answer.status_code == 200
    return answer.json()


@pytest.fixture
def user() -> User:
    return people.person()


@pytest.fixture
def owner(client: Client, user: User) -> Client:
    client.force_login(user)
    return client


@pytest.fixture
def before(user: User) -> Tournament:
    """A tournament of which two pods have finished, in 30 s of a slot each, 20 of them training."""
    spec = spec_parse({"env_id": "CartPole-v1", "name": "before", "round": {"env_steps": 50_000}, "stop": {"pods": 2}})
    tournament = services.tournament_create(owner=user, spec=spec, start=False)
    for index, score in enumerate((480.0, 499.5)):
        agent = Agent.objects.create(
            tournament=tournament, index=index, name=f"a{index}", algorithm="ppo", hyperparameters={}, seed=1,
            strategy="fresh", founder_index=index, score=score,
        )  # fmt: skip
        ended = timezone.now()
        Pod.objects.create(
            agent=agent, tournament=tournament, device_kind="cpu", status=Pod.Status.FINISHED, attempt=1,
            env_steps=50_000, seconds=20, claimed_at=ended - timedelta(seconds=30), finished_at=ended,
        )  # fmt: skip
        LeaderboardEntry.objects.create(tournament=tournament, agent=agent, rank=2 - index)
    return tournament


def test_what_was_measured_and_reached_before_is_read(before: Tournament) -> None:
    assert form_selectors.paces("CartPole-v1", "auto") == {"ppo": form_selectors.Pace(2, 2500.0, 10.0)}
    assert form_selectors.paces("CartPole-v1", "cuda") == {}
    assert form_selectors.paces("Acrobot-v1", "auto") == {}
    assert form_selectors.best_scores() == {"CartPole-v1": 499.5}


def test_pods_that_were_lost_on_the_way_measure_nothing(before: Tournament) -> None:
    Pod.objects.update(attempt=2)
    assert form_selectors.paces("CartPole-v1", "auto") == {}


def test_the_form_tells_how_long_it_will_take(owner: Client, before: Tournament) -> None:
    services.worker_seen(name="w", device_kind="cpu", slots=2)
    answer = checked(owner, typed(round_env_steps="100,000", stop_pods="40"))
    assert answer["errors"] == {}
    # 20 pods one after another on each slot, 100,000 / 2,500 + 10 s each
    assert "About 40 pods of 100,000 steps, ~17 minutes on the 2 slots online." in answer["summary"]
    assert spec_parse_toml(answer["toml"].encode()).stop.pods == 40


def test_what_does_not_hold_is_told_without_storing_anything(owner: Client) -> None:
    answer = checked(owner, row_add(typed(pool_size="0"), "gamma", "uniform", "0.99, 0.9"))
    assert answer["errors"]["pool_size"] == ["Must be at least 1, got 0"]
    assert answer["rows"][:3] == [[], [], []]
    assert "above high" in answer["rows"][3][0]
    assert (answer["toml"], answer["changed"]) == (None, [])
    assert "Something does not hold" in answer["summary"]
    assert not Tournament.objects.exists()


def test_a_device_that_no_worker_has_is_told_before_the_start(owner: Client) -> None:
    assert "No worker with a CUDA device" in checked(owner, typed(device="cuda"))["errors"]["device"][0]


def test_changes_against_an_earlier_tournament_are_listed(owner: Client, before: Tournament) -> None:
    page = owner.get(f"/tournaments/new/?from={before.pk}").content.decode()
    assert "Nothing is changed yet" in page
    data = typed(before.spec, pool_size="5", stop_pods="", stop_score="450")
    answer = checked(owner, data, **{"from": str(before.pk)})
    assert set(answer["changed"]) == {"pool_size", "stop_score", "stop_pods"}
    assert "Pool size" in answer["differences"]
    owner.post("/tournaments/new/", dict(data.lists()) | {"from": str(before.pk), "action": "draft"})
    made = Tournament.objects.latest("pk")
    event = made.events.get()
    assert event.text.startswith("It runs before again, with Pool size 2 → 5; ")
    assert event.data == {"source": str(before.pk)}
    compare = f"/compare/?t={made.pk}&amp;t={before.pk}"
    assert compare in owner.get(f"/tournaments/{made.pk}/").content.decode()
    refused = owner.post("/tournaments/new/", dict(data.lists()) | {"seed": "-1", "from": str(before.pk)})
    assert f'name="from" value="{before.pk}"' in refused.content.decode()
    before.delete()
    assert compare not in owner.get(f"/tournaments/{made.pk}/").content.decode()


def test_the_number_of_queries_does_not_grow_with_what_was_run(
    owner: Client, user: User, before: Tournament, django_assert_max_num_queries: Any
) -> None:
    for env_id in ("CartPole-v1", "Acrobot-v1", "Pendulum-v1") * 4:
        services.tournament_create(owner=user, spec=spec_parse({"env_id": env_id}), start=False)
    with django_assert_max_num_queries(15):
        assert owner.get(f"/tournaments/new/?from={before.pk}").status_code == 200


def test_a_preset_starts_with_one_request(owner: Client) -> None:
    answer = owner.post("/tournaments/new/presets/acrobot/")
    made = Tournament.objects.get()
    assert answer["Location"] == f"/tournaments/{made.pk}/"
    assert (made.name, made.env_id, made.status) == ("Acrobot", "Acrobot-v1", "RUNNING")
    assert owner.post("/tournaments/new/presets/no-such/").status_code == 404
    assert owner.get("/tournaments/new/presets/acrobot/").status_code == 405


def test_the_form_can_be_kept_as_toml(owner: Client) -> None:
    answer = owner.post("/tournaments/new/", typed(seed="7", name="kept") | {"action": "toml"})
    assert answer["Content-Disposition"] == 'attachment; filename="spec.toml"'
    spec = spec_parse_toml(answer.content)
    assert (spec.name, spec.seed) == ("kept", 7)
    assert owner.post("/tournaments/new/", typed(seed="x") | {"action": "toml"}).status_code == 422
    assert not Tournament.objects.exists()


def test_an_environment_of_an_earlier_tournament_has_a_card_too(owner: Client, before: Tournament) -> None:
    Tournament.objects.update(env_id="FrozenLake-v1")
    page = owner.get("/tournaments/new/")
    families = {slug: [card.id for card in cards] for slug, _, cards in page.context["families"]}
    assert families["used"] == ["FrozenLake-v1"]
    assert "best here 500" in page.content.decode()


def test_an_earlier_specification_that_does_not_hold_any_more_can_be_looked_at(
    owner: Client, before: Tournament
) -> None:
    Tournament.objects.update(env_id="Gone-v0", spec={**before.spec, "env_id": "Gone-v0"})
    answer = owner.get(f"/tournaments/new/?from={before.pk}")
    assert answer.status_code == 200
    assert 'value="Gone-v0"' in answer.content.decode()


def test_every_environment_of_the_catalogue_has_a_small_picture(settings: Any) -> None:
    for env_id in CATALOGUE:
        assert environment_cards.picture(env_id), env_id
    for file in (Path(settings.BASE_DIR) / "static" / "img" / "environments").iterdir():
        assert file.stat().st_size <= 10_000, file


def test_pictures_are_shown_for_all_versions_but_not_for_namesakes() -> None:
    assert environment_cards.picture("Ant-v3") == environment_cards.picture("Ant-v5") != ""
    assert environment_cards.picture("walks/Ant-v5") == ""
    assert environment_cards.initials("walks/MyLongWalk-v0") == "MLW"
    assert environment_cards.initials("walker") == "Wa"


def test_only_what_can_run_here_is_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known.importlib.util, "find_spec", lambda name: None)
    families = environment_cards.families({}, allowed=["walks/Walk-v0"], used=["CartPole-v1", "Taxi-v4"])
    assert [slug for slug, _, _ in families] == ["classic control", "allowed", "used"]
    assert [card.id for card in families[1][2] + families[2][2]] == ["walks/Walk-v0", "Taxi-v4"]
