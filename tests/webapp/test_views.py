"""The pages over HTTP, against the real database."""

import importlib.util
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from podracer_core.envs.catalogue import CatalogueEntry
from podracer_core.envs.spaces import SpaceInfo, discrete
from podracer_core.spec_parse import spec_parse, spec_parse_toml
from tests.webapp import people
from tests.webapp.test_forms import typed
from webapp.tournaments import services
from webapp.tournaments.form import environment_cards
from webapp.tournaments.models import Agent, Pod, Tournament

pytestmark = pytest.mark.django_db


@pytest.fixture
def user() -> User:
    return people.person()


@pytest.fixture
def owner(client: Client, user: User) -> Client:
    client.force_login(user)
    return client


def tournament(user: User, **spec: Any) -> Tournament:
    parsed = spec_parse({"env_id": "CartPole-v1", "name": "sprint", **spec})
    return services.tournament_create(owner=user, spec=parsed, start=False)


def agent(tournament: Tournament, **values: Any) -> Agent:
    number = tournament.agents.count()
    made = Agent.objects.create(
        tournament=tournament,
        index=number,
        name=f"a{number}",
        algorithm="ppo",
        hyperparameters={"learning_rate": 1e-3, "gamma": 0.99},
        seed=1,
        strategy="fresh",
        founder_index=0,
        **values,
    )
    Pod.objects.create(agent=made, tournament=tournament, device_kind="cpu")
    return made


def test_an_empty_list_says_how_to_begin(owner: Client) -> None:
    page = owner.get("/").content.decode()
    assert "New tournament" in page
    assert 'action="/tournaments/new/presets/cartpole-sprint/"' in page


def test_the_list_shows_cards_and_escapes_names(owner: Client, user: User) -> None:
    tournament(user, name="<script>alert(1)</script>")
    page = owner.get("/").content.decode()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
    assert "DRAFT" in page


def test_the_list_comes_in_pages(owner: Client, user: User) -> None:
    for number in range(25):
        tournament(user, name=f"run {number}")
    first, second = owner.get("/").content.decode(), owner.get("/?offset=24").content.decode()
    assert "Older" in first
    assert "run 24" in first
    assert "run 0" in second
    assert owner.get("/?offset=-1").status_code == 200
    assert owner.get("/?offset=many").status_code == 200


def test_the_number_of_queries_does_not_grow_with_the_list(
    owner: Client, user: User, django_assert_max_num_queries: Any
) -> None:
    for number in range(12):
        tournament(user, name=f"run {number}")
    with django_assert_max_num_queries(10):
        owner.get("/")


def test_the_form_can_be_sent_as_it_is_offered(owner: Client) -> None:
    answer = owner.post(
        "/tournaments/new/", typed({"env_id": "CartPole-v1", "name": "as offered"}) | {"action": "draft"}
    )
    made = Tournament.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, f"/tournaments/{made.pk}/")
    assert (made.name, made.status) == ("as offered", "DRAFT")


def test_start_tournament_starts_it(owner: Client) -> None:
    owner.post("/tournaments/new/", typed() | {"action": "start"})
    assert Tournament.objects.get().status == "RUNNING"
    assert Pod.objects.count() == 2


def test_a_form_that_does_not_hold_comes_back_with_input_and_error(owner: Client) -> None:
    answer = owner.post("/tournaments/new/", typed(env_id="CartPoel-v1", pool_size="0"))
    page = answer.content.decode()
    assert answer.status_code == 422
    assert "Did you mean CartPole-v1" in page
    assert "at least 1, got 0" in page
    assert 'value="CartPoel-v1"' in page
    assert not Tournament.objects.exists()


def test_a_form_that_comes_back_knows_what_was_typed(owner: Client) -> None:
    assert 'name="touched" value=""' in owner.get("/tournaments/new/").content.decode()
    answer = owner.post("/tournaments/new/", typed(pool_size="0") | {"touched": 'name "space"'})
    assert 'name="touched" value="name &quot;space&quot;"' in answer.content.decode()


def test_a_device_that_no_worker_has_is_refused_beside_its_field(owner: Client) -> None:
    answer = owner.post("/tournaments/new/", typed(device="cuda"))
    assert answer.status_code == 422
    assert "device" in answer.context["form"].errors


@pytest.mark.parametrize("slug", ["cartpole-sprint", "pendulum-swing-up", "acrobot", "mountain-car-hunt", "no-such"])
def test_presets_fill_the_form_in(owner: Client, slug: str) -> None:
    assert owner.get(f"/tournaments/new/?preset={slug}").status_code == 200


def test_again_with_changes_takes_over_the_specification(owner: Client, user: User) -> None:
    old = tournament(user, name="ant sprint", env_id="Pendulum-v1", pool={"size": 7}, stop={"pods": 3})
    form = owner.get(f"/tournaments/new/?from={old.pk}").context["form"]
    assert form.initial["name"] == "ant sprint 2"
    assert (form.initial["env_id"], form.initial["pool_size"]) == ("Pendulum-v1", "7")
    assert (form.initial["stop_pods"], form.initial["stop_score"]) == ("3", "")


@pytest.mark.parametrize("number", ["999", "x", "", "99999999999999999999"])
def test_again_from_nothing_is_a_404(owner: Client, number: str) -> None:
    assert owner.get(f"/tournaments/new/?from={number}").status_code == 404


def test_a_toml_file_fills_the_form_in(owner: Client) -> None:
    text = 'env_id = "Acrobot-v1"\n[pool]\nsize = 5\n'
    form = owner.post("/tournaments/new/", {"action": "load", "toml": text}).context["form"]
    assert (form.initial["env_id"], form.initial["pool_size"]) == ("Acrobot-v1", "5")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("env_id = ", "not valid TOML"),
        ('env_id = "CartPole-v1"\nspeed = 9', "no field"),
        ("x = 1\n" * 60_000, "at most"),
    ],
)
def test_a_toml_file_that_does_not_hold_is_refused_in_a_sentence(owner: Client, text: str, says: str) -> None:
    answer = owner.post("/tournaments/new/", {"action": "load", "toml": text})
    assert answer.status_code == 422
    assert says in answer.content.decode()


def test_defaults_of_an_environment(owner: Client) -> None:
    answer = owner.get("/tournaments/new/environment/?env_id=Pendulum-v1").json()
    assert answer["fields"]["stop_score"] == "-200"
    assert {row["name"] for row in answer["rows"]} >= {"learning_rate"}
    assert "3 numbers in, 1 continuous action" in answer["about"]
    refused = owner.get("/tournaments/new/environment/?env_id=os:CartPole-v1")
    assert refused.status_code == 422
    assert "module" in refused.json()["error"]


@pytest.mark.skipif(importlib.util.find_spec("ale_py") is None, reason="not installed: ale_py")
def test_an_environment_of_images_offers_the_algorithms_that_see_them(owner: Client) -> None:
    answer = owner.get("/tournaments/new/environment/?env_id=ALE/Pong-v5").json()
    assert "images of 84 x 84 pixels in, 6 actions" in answer["about"]
    assert [name for name, misfit in answer["algorithms"].items() if not misfit] == ["ppo", "a2c", "dqn"]
    assert answer["algorithms"]["sac"] == "cannot see images"


def test_an_environment_s_choices_are_told_in_its_sentence() -> None:
    spaces = {"observation_space": discrete(4), "action_space": SpaceInfo(kind="multidiscrete", nvec=(2, 3))}
    entry = CatalogueEntry(id="Harbour-v0", kind="harbour", max_episode_steps=None, solved_score=None, **spaces)
    assert environment_cards.about(entry).startswith("4 numbers in, 2 choices at once, ")


def test_the_page_of_a_tournament_has_what_people_look_for(owner: Client, user: User) -> None:
    row = tournament(user)
    page = owner.get(f"/tournaments/{row.pk}/").content.decode()
    assert "<caption>Leaderboard</caption>" in page
    assert 'aria-label="Learning curves"' in page
    assert 'role="status" aria-label="Tournament status"' in page
    assert 'id="snapshot"' in page


def test_scripts_stay_in_files(owner: Client, user: User) -> None:
    row = tournament(user, name="</script><script>alert(1)</script>")
    for path in ("/", "/tournaments/new/", f"/tournaments/{row.pk}/", f"/agents/{agent(row).pk}/", "/tokens/"):
        answer = owner.get(path)
        assert "<script>" not in answer.content.decode()
        assert "script-src 'self'" in answer["Content-Security-Policy"]


def test_the_specification_can_be_kept_as_toml(owner: Client, user: User) -> None:
    row = tournament(user)
    answer = owner.get(f"/tournaments/{row.pk}/spec.toml")
    assert spec_parse_toml(answer.content) == row.parsed_spec


def test_the_page_of_an_agent_shows_what_it_is_made_of(owner: Client, user: User) -> None:
    row = tournament(user)
    founder = agent(row, score=20.5, score_low=19.0, score_high=22.0, returns=[20.0, 21.0])
    heir = agent(
        row, changes={"learning_rate": [1e-3, 2e-3]}, checkpoint_file="x", checkpoint_sha256="ab", checkpoint_size=9
    )
    heir.parents.add(founder)
    heir.inherits_from = founder
    heir.save()
    page = owner.get(f"/agents/{heir.pk}/").content.decode()
    assert "Download checkpoint" in page
    assert f'href="/api/agents/{heir.pk}/checkpoint"' in page
    assert f'load_agent("CartPole-v1-{heir.name}.safetensors")' in page.replace("&quot;", '"')
    assert "was 1.0e-3" in page
    assert f'href="/agents/{founder.pk}/"' in page
    assert "Download checkpoint" not in owner.get(f"/agents/{founder.pk}/").content.decode()


@pytest.mark.parametrize(
    "path", ["/tournaments/999/", "/tournaments/999/spec.toml", "/agents/999/", "/nowhere", f"/agents/{10**20}/"]
)
def test_what_is_not_there_is_a_404_in_the_look(owner: Client, path: str) -> None:
    answer = owner.get(path)
    assert answer.status_code == 404
    assert "To the tournaments" in answer.content.decode()
