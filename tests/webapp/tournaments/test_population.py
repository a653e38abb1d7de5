"""Decisions carried out: who descends from whom, what their pods are told, and what happens when a parent is lost."""

from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from podracer_core.progress import Outcome, PodResult
from podracer_core.spec import PodPlan
from podracer_core.tournament.statistics import summarise
from tests.webapp.tournaments import making
from webapp.tournaments import agent_selectors, orchestrator, selectors, services
from webapp.tournaments.endings import StoredFiles
from webapp.tournaments.models import Agent, Event, Pod, Tournament
from webapp.tournaments.orchestrator import Claim

pytestmark = pytest.mark.django_db


def started(strategy: str, **parts: Any) -> Tournament:
    """A pool of one, where every agent after the first two comes by `strategy`."""
    parts.setdefault("leaderboard", {"max_per_ancestor": 1})
    return making.tournament(pool={"size": 1}, generator={"strategies": {strategy: 1}}, **parts)


def agent_of(claim: Claim) -> Agent:
    return Agent.objects.get(pk=claim.agent_id)


def played(scores: list[float]) -> list[Claim]:
    """One pod after another, each finished with its score."""
    claims = []
    for score in scores:
        claims.append(making.claim())
        making.finish(claims[-1], making.result(score))
    return claims


def parents(agent: Agent) -> list[int]:
    return list(agent.parents.order_by("index").values_list("index", flat=True))


def plan(claim: Claim) -> PodPlan:
    """What the slot would submit: the plan holds."""
    return PodPlan(**claim.plan, directory="/tmp", inherit_from=claim.inherit_files)


def last_event(kind: str) -> str:
    return Event.objects.filter(kind=kind).latest("pk").text


def test_a_continued_agent_trains_on_unchanged() -> None:
    started("continue")
    (first,) = played([1.0])
    claim = making.claim()
    child, founder = agent_of(claim), agent_of(first)
    assert (child.strategy, child.changes, child.hyperparameters) == ("continue", {}, founder.hyperparameters)
    assert (child.inherits_from, child.base_env_steps) == (founder, 1000)
    assert claim.inherit_files == (making.state_name(first),)
    assert "1st of 1" in child.origin
    making.finish(claim, making.result(2.0))
    assert f"It continues {founder.name}, unchanged." in last_event("agent_entered")


def test_a_crossed_agent_has_two_parents_and_the_weights_of_the_better() -> None:
    making.tournament(pool={"size": 2}, generator={"strategies": {"crossover": 1}})
    first, second = making.claim(), making.claim()
    making.finish(first, making.result(1.0))  # nobody to cross with: replaced by a fresh agent
    making.finish(second, making.result(2.0))
    child = Agent.objects.get(index=3)
    assert (child.strategy, parents(child)) == ("crossover", [0, 1])
    assert (child.inherits_from, child.founder_index) == (agent_of(second), 1)
    assert [making.claim().inherit_files, making.claim().inherit_files] == [(), (making.state_name(second),)]


def test_a_fused_agent_starts_from_the_files_of_all_its_parents() -> None:
    tournament = making.tournament(
        pool={"size": 1},
        generator={"strategies": {"continue": 1, "fuse": 10**6}},
        leaderboard={"max_per_ancestor": 1},
    )
    first, second = played([2.0, 1.0])
    fused = making.claim()
    child = agent_of(fused)
    assert (child.strategy, parents(child), child.inherits_from) == ("fuse", [0, 1], agent_of(first))
    assert fused.inherit_files == (making.state_name(first), making.state_name(second))
    assert plan(fused).inherit_from == fused.inherit_files
    making.finish(fused, making.result(3.0))
    names = [tournament.agents.get(index=index).name for index in (0, 1)]
    assert f"It began as the mean of {names[0]} and {names[1]}, unchanged." in last_event("agent_entered")


def test_a_rerun_trains_the_schedule_of_a_line_from_scratch() -> None:
    tournament = making.tournament(
        pool={"size": 1},
        generator={"strategies": {"exploit": 1}},
        leaderboard={"size": 1},
        round={"env_steps": 1000},
    )
    played([1.0, 2.0, 3.0])
    tournament.refresh_from_db()
    tournament.spec["generator"]["strategies"] = {"rerun": 1}
    tournament.save()
    played([0.5])
    claim = making.claim()
    rerun, line = agent_of(claim), list(tournament.agents.order_by("index")[:3])
    assert (rerun.strategy, parents(rerun), rerun.founder_index, rerun.depth) == ("rerun", [2], rerun.index, 0)
    assert [segment["hyperparameters"] for segment in rerun.schedule] == [one.hyperparameters for one in line]
    assert [segment["env_steps"] for segment in plan(claim).model_dump()["schedule"]] == [1000] * 3
    assert (claim.plan["env_steps"], claim.inherit_files, rerun.base_env_steps) == (3000, (), 0)
    assert rerun.hyperparameters == line[-1].hyperparameters
    making.finish(claim, making.result(4.0, env_steps=3000))
    assert f"the schedule of {line[-1].name}, which scored 3, again from scratch" in last_event("agent_entered")
    # What it did again is its own line: its curve begins with itself, and its schedule is one to run again.
    assert [member["id"] for member in agent_selectors.agent_get(rerun.pk)["ancestry"]] == [str(rerun.pk)]
    again = agent_of(making.claim())
    assert (parents(again), again.schedule) == ([rerun.index], rerun.schedule)


def test_a_schedule_that_the_budget_does_not_leave_is_not_run_again() -> None:
    started("rerun", stop={"env_steps": 2500}, round={"env_steps": 1000})
    played([1.0, 2.0])
    claim = making.claim()
    assert (agent_of(claim).strategy, claim.plan["env_steps"]) == ("fresh", 500)


# Modes


def test_a_generation_waits_for_its_last_and_the_best_replace_the_rest() -> None:
    tournament = making.tournament(
        pool={"size": 4}, generator={"mode": "generational", "survivors": 0.5}, stop={"pods": 12}
    )
    claims = [making.claim() for _ in range(4)]
    for claim, score in zip(claims[:3], [4.0, 1.0, 3.0], strict=True):
        making.finish(claim, making.result(score))
        assert tournament.agents.count() == 4
    making.finish(claims[3], making.failure("broken"))
    second = list(tournament.agents.filter(stage=1).order_by("index"))
    assert [(agent.strategy, parents(agent)) for agent in second] == [
        ("continue", [0]),
        ("continue", [2]),
        ("exploit", [0]),
        ("exploit", [2]),
    ]
    assert {claim.inherit_files for claim in (making.claim() for _ in range(4))} == {
        (making.state_name(claims[0]),),
        (making.state_name(claims[2]),),
    }


def test_random_search_inherits_nothing() -> None:
    tournament = making.tournament(pool={"size": 2}, generator={"mode": "random_search"})
    played([1.0, 2.0, 3.0, 4.0])
    assert set(tournament.agents.values_list("strategy", flat=True)) == {"fresh"}


def test_successive_halving_promotes_the_best_third_for_longer_rounds() -> None:
    tournament = making.tournament(
        pool={"size": 1},
        generator={"mode": "successive_halving", "reduction_factor": 3},
        round={"env_steps": 1000},
    )
    played([1.0, 3.0, 2.0])
    claim = making.claim()
    promoted = agent_of(claim)
    assert (promoted.strategy, promoted.stage, parents(promoted)) == ("continue", 1, [1])
    assert claim.plan["env_steps"] == 2000
    making.finish(claim, making.result(5.0, env_steps=2000))
    # One in three of rung 0 is promoted, and that is done; the next are fresh.
    played([1.5, 1.6])
    assert list(tournament.agents.order_by("index").values_list("stage", flat=True)[4:6]) == [0, 0]
    claim = making.claim()
    assert parents(agent_of(claim)) == [] or agent_of(claim).stage == 1


# Lost parents


def lost(position: int = 0) -> PodResult:
    reason = "The training state x.pt cannot be read: No such file or directory."
    return PodResult(Outcome.FAILED, 0, 0.0, reason=reason, lost_donor=position)


def test_a_lost_parent_leads_to_another_and_an_event_and_no_failure() -> None:
    tournament = started("exploit")
    first, second = played([2.0, 1.0])
    heir = making.claim()
    gone = agent_of(heir).inherits_from
    assert gone is not None
    other = agent_of(second if gone == agent_of(first) else first)
    making.finish(heir, lost(), StoredFiles())
    row = Pod.objects.get(pk=heir.pod_id)
    assert (row.status, row.losses, row.agent.inherits_from) == ("QUEUED", 0, other)
    assert parents(row.agent) == [other.index]
    text = last_event("parent_lost")
    assert gone.name in text
    assert other.name in text
    assert not tournament.pods.filter(status="FAILED").exists()
    again = making.claim()
    assert (again.pod_id, again.inherit_files) == (heir.pod_id, (other.state_file,))
    # The last one is lost too: it starts fresh.
    making.finish(again, lost(), StoredFiles())
    assert making.claim().inherit_files == ()
    assert Agent.objects.get(pk=heir.agent_id).strategy == "fresh"
    assert tournament.leaderboard.count() == 2, "who lost its state keeps its place"


def test_a_pod_that_goes_on_from_its_own_state_asks_for_no_parent() -> None:
    started("exploit")
    played([1.0])
    heir = making.claim()
    orchestrator.pod_saved(pod_id=heir.pod_id, attempt=heir.attempt, state_file="own", env_steps=500, seconds=1.0)
    making.finish(heir, making.failure("lost", retryable=True))
    again = making.claim()
    assert (again.pod_id, again.resume_file, again.inherit_files) == (heir.pod_id, "own", ())


def test_after_the_end_nobody_takes_a_lost_parents_place() -> None:
    tournament = started("exploit")
    (first,) = played([1.0])
    heir = making.claim()
    services.tournament_stop(tournament_id=tournament.pk)
    making.finish(heir, lost(), StoredFiles())
    assert Pod.objects.get(pk=heir.pod_id).status == "STOPPED"
    assert agent_of(heir).inherits_from == agent_of(first)
    assert not Event.objects.filter(kind="parent_lost").exists()


def test_a_fused_agent_says_which_parent_is_lost() -> None:
    making.tournament(
        pool={"size": 1},
        generator={"strategies": {"continue": 1, "fuse": 10**6}},
        leaderboard={"max_per_ancestor": 1},
    )
    first, second = played([2.0, 1.0])
    making.finish(making.claim(), lost(1), StoredFiles())
    assert making.claim().inherit_files == (making.state_name(first),)
    assert agent_of(second).state_file == ""


def test_a_generation_whose_parent_is_lost_takes_another_of_the_last() -> None:
    making.tournament(pool={"size": 2}, generator={"mode": "generational", "survivors": 0.5}, stop={"pods": 12})
    first, second = making.claim(), making.claim()
    making.finish(first, making.result(2.0))
    making.finish(second, making.result(1.0))
    heir = making.claim()
    assert heir.inherit_files == (making.state_name(first),)
    making.finish(heir, lost(), StoredFiles())
    agent = agent_of(heir)
    assert (agent.stage, parents(agent)) == (1, [1])


def test_the_lost_file_itself_is_removed(django_capture_on_commit_callbacks: Any) -> None:
    started("exploit")
    (first,) = played([2.0])
    default_storage.save(making.state_name(first), ContentFile(b"damaged"))
    with django_capture_on_commit_callbacks(execute=True):
        making.finish(making.claim(), lost(), StoredFiles())
    assert not default_storage.exists(making.state_name(first))


# Evaluated again


def newcomer(screened: float, score: float) -> PodResult:
    return making.result(score, screening=summarise([screened] * 4, [10] * 4))


def test_a_lucky_evaluation_does_not_rank_and_is_counted() -> None:
    tournament = making.tournament(pool={"size": 1}, leaderboard={"size": 1})
    making.finish(making.claim(), newcomer(9.0, 10.0))
    claim = making.claim()
    assert (claim.plan["reevaluate"], claim.plan["bar"]) == (True, 10.0)
    making.finish(claim, newcomer(12.0, 8.0))
    lucky = agent_of(claim)
    assert not hasattr(lucky, "entry")
    assert f"{lucky.name} scored 8 (evaluated again on fresh seeds; 12 at first)" in last_event("agent_rejected")
    shown = selectors.tournament_get(tournament.pk)
    assert (shown["reevaluations"], shown["reevaluations_changed"]) == (2, 1)
    assert agent_selectors.agent_get(lucky.pk)["screening"]["score"] == 12.0


def test_the_bar_of_a_full_family_is_its_own_worst() -> None:
    making.tournament(
        pool={"size": 1}, generator={"strategies": {"exploit": 1}}, leaderboard={"size": 4, "max_per_ancestor": 0.5}
    )
    first = making.claim()
    assert first.plan["bar"] is None
    making.finish(first, making.result(5.0))
    second = making.claim()
    assert second.plan["bar"] is None
    making.finish(second, making.result(7.0))
    third = making.claim()
    assert third.plan["bar"] == 5.0


def test_reevaluation_can_be_left_out() -> None:
    making.tournament(pool={"size": 1}, leaderboard={"reevaluate": False})
    assert making.claim().plan["reevaluate"] is False


# What is kept of them


def states(tournament: Tournament) -> set[int]:
    """Index of every agent whose training state is still there."""
    return set(tournament.agents.exclude(state_file="").values_list("index", flat=True))


def test_states_of_those_off_the_leaderboard_go_and_everything_else_stays() -> None:
    tournament = started("exploit", leaderboard={"size": 2, "max_per_ancestor": 1})
    played([1.0, 3.0, 2.0, 0.5])
    assert states(tournament) == {1, 2}
    dropped = tournament.agents.get(index=0)
    assert dropped.score == 1.0
    assert tournament.agents.filter(score__isnull=False).count() == 4


def test_a_donor_in_use_keeps_its_state_until_its_heir_has_ended() -> None:
    tournament = started("exploit", leaderboard={"size": 1})
    (first,) = played([1.0])
    heir = making.claim()
    assert agent_of(heir).inherits_from == agent_of(first)
    rival = making.tournament(pool={"size": 1}, generator={"strategies": {"fresh": 1}})
    making.finish(heir, making.result(2.0))  # takes the only place
    assert agent_of(making.claim()).tournament in (tournament, rival)
    assert states(tournament) == {1}


def test_a_donor_that_drops_off_while_its_heir_trains_keeps_its_state() -> None:
    tournament = making.tournament(pool={"size": 2}, generator={"strategies": {"exploit": 1}}, leaderboard={"size": 1})
    first, second = making.claim(), making.claim()
    making.finish(first, making.result(1.0))
    heir = making.claim()
    assert agent_of(heir).inherits_from == agent_of(first)
    making.finish(second, making.result(2.0))  # displaces the donor
    assert not hasattr(agent_of(first), "entry")
    assert states(tournament) == {0, 1}
    making.finish(heir, making.result(0.5))
    assert states(tournament) == {1}


def test_the_files_go_once_no_row_names_them(django_capture_on_commit_callbacks: Any) -> None:
    started("exploit", leaderboard={"size": 1})
    claim = making.claim()
    default_storage.save(making.state_name(claim), ContentFile(b"state"))
    making.finish(claim, making.result(1.0))
    assert default_storage.exists(making.state_name(claim))
    with django_capture_on_commit_callbacks(execute=True):
        played([2.0, 0.5])
    assert not default_storage.exists(making.state_name(claim))


def test_a_generation_keeps_its_own_until_the_barrier() -> None:
    tournament = making.tournament(
        pool={"size": 3},
        generator={"mode": "generational", "survivors": 0.4},
        leaderboard={"size": 1},
        stop={"pods": 30},
    )
    claims = [making.claim() for _ in range(3)]
    for claim, score in zip(claims[:2], [3.0, 2.0], strict=True):
        making.finish(claim, making.result(score))
    assert states(tournament) == {0, 1}, "below the only place, and yet to be compared at the barrier"
    making.finish(claims[2], making.result(1.0))
    assert states(tournament) == {0, 1}, "the donors of the second generation"


def test_whoever_may_still_be_promoted_keeps_its_state() -> None:
    tournament = making.tournament(
        pool={"size": 1},
        generator={"mode": "successive_halving", "reduction_factor": 2, "rungs": 2},
        leaderboard={"size": 1},
        round={"env_steps": 1000},
    )
    played([2.0, 1.0, 5.0])
    assert tournament.agents.get(index=2).stage == 1
    assert states(tournament) == {1, 2}
