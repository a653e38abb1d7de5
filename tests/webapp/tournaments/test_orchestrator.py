"""Pools kept full, pods claimed under a lease, results taken exactly once, lost pods retried."""

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from podracer_core.progress import Directive, Outcome, PodResult
from tests.webapp.tournaments import making
from webapp.tournaments import orchestrator, services, storage
from webapp.tournaments.endings import MAX_LOSSES, StoredFiles
from webapp.tournaments.errors import PodLostError
from webapp.tournaments.models import Agent, CurvePoint, Event, LeaderboardEntry, Pod, Tournament
from webapp.tournaments.orchestrator import Claim

pytestmark = pytest.mark.django_db


def pod(claimed: Claim) -> Pod:
    return Pod.objects.get(pk=claimed.pod_id)


def active(tournament: Tournament) -> int:
    return tournament.pods.filter(status__in=Pod.ACTIVE).count()


def lease_expires(claimed: Claim) -> None:
    Pod.objects.filter(pk=claimed.pod_id).update(lease_until=timezone.now() - timedelta(seconds=1))


def renew(claimed: Claim) -> Directive:
    return orchestrator.pod_renew(pod_id=claimed.pod_id, attempt=claimed.attempt)


def paused(claimed: Claim, env_steps: int = 700) -> None:
    result = PodResult(Outcome.PAUSED, env_steps, 3.0)
    making.finish(claimed, result, StoredFiles(state_file=f"state-{env_steps}"))


def saved(claimed: Claim, env_steps: int) -> str:
    return orchestrator.pod_saved(
        pod_id=claimed.pod_id,
        attempt=claimed.attempt,
        state_file=f"state-{env_steps}",
        env_steps=env_steps,
        seconds=1.0,
    )


# Filling


def test_a_start_fills_the_pool_and_a_draft_has_no_pods() -> None:
    assert active(making.tournament(pool={"size": 3}, start=False)) == 0
    assert active(making.tournament(pool={"size": 3})) == 3


def test_a_full_pool_is_not_filled_again() -> None:
    tournament = making.tournament(pool={"size": 3})
    assert orchestrator.fill_pool(tournament.pk) == 0
    assert active(tournament) == 3


def test_a_finished_pod_is_replaced_at_once() -> None:
    tournament = making.tournament(pool={"size": 2})
    for _ in range(5):
        making.finish(making.claim())
        assert active(tournament) == 2
    assert tournament.pods.count() == 7


def test_no_more_pods_are_made_than_the_budget_of_pods_allows() -> None:
    tournament = making.tournament(pool={"size": 3}, stop={"pods": 4})
    counts = []
    for score in range(4):
        making.finish(making.claim(), making.result(float(score)))
        counts.append(tournament.pods.count())
    assert counts == [4, 4, 4, 4]
    tournament.refresh_from_db()
    assert (tournament.status, active(tournament)) == ("FINISHED", 0)


def test_agents_of_a_tournament_have_names_of_their_own() -> None:
    tournament = making.tournament(pool={"size": 40})
    assert len(set(tournament.agents.values_list("name", flat=True))) == 40


def test_children_inherit_from_a_parent_on_the_leaderboard() -> None:
    tournament = making.tournament(pool={"size": 1}, generator={"strategies": {"exploit": 1}})
    first = making.claim()
    making.finish(first)
    child = making.claim()
    agent = Agent.objects.get(pk=child.agent_id)
    assert [parent.pk for parent in agent.parents.all()] == [first.agent_id]
    assert (agent.strategy, agent.base_env_steps, agent.depth, agent.founder_index) == ("exploit", 1000, 1, 0)
    assert child.inherit_files == (making.state_name(first),)
    assert agent.changes
    for name, (old, new) in agent.changes.items():
        assert agent.hyperparameters[name] == new != old
    assert child.plan["lineage"]["parents"] == [tournament.agents.get(index=0).name]


def test_an_agent_without_training_state_is_no_parent() -> None:
    making.tournament(pool={"size": 1}, generator={"strategies": {"exploit": 1}})
    making.finish(making.claim(), files=StoredFiles())
    assert Agent.objects.get(pk=making.claim().agent_id).strategy == "fresh"


# Claiming


def test_the_higher_priority_goes_first_and_equals_take_turns_the_elder_before_the_younger() -> None:
    low = making.tournament(name="low", pool={"size": 2, "priority": -1})
    elder = making.tournament(name="elder", pool={"size": 2})
    younger = making.tournament(name="younger", pool={"size": 1})
    high = making.tournament(name="high", pool={"size": 1, "priority": 5})
    order = [making.claim().tournament_id for _ in range(6)]
    assert order == [high.pk, elder.pk, younger.pk, elder.pk, low.pk, low.pk]


@given(sizes=st.lists(st.integers(1, 6), min_size=1, max_size=4), slots=st.integers(1, 12))
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_equal_tournaments_get_equal_shares_of_the_slots(sizes: list[int], slots: int) -> None:
    with transaction.atomic():
        tournaments = [making.tournament(pool={"size": size}) for size in sizes]
        claimed = Counter(making.claim().tournament_id for _ in range(min(slots, sum(sizes))))
        unfilled = [claimed[t.pk] for t, size in zip(tournaments, sizes, strict=True) if claimed[t.pk] < size]
        most = max(claimed.values())
        assert all(most - count <= 1 for count in unfilled)
        transaction.set_rollback(True)


def test_a_claim_says_what_to_run_and_marks_the_pod() -> None:
    making.tournament(pool={"size": 1}, round={"env_steps": 5000}, stop={"score": 475})
    claimed = making.claim(worker="host", slot=3)
    row = pod(claimed)
    assert (row.status, row.attempt, row.worker, row.slot) == ("RUNNING", 1, "host", 3)
    assert row.lease_until is not None
    assert timedelta(0) < row.lease_until - timezone.now() <= orchestrator.LEASE
    assert (claimed.plan["env_id"], claimed.plan["env_steps"], claimed.plan["target_score"]) == (
        "CartPole-v1",
        5000,
        475.0,
    )
    assert (claimed.resume_file, claimed.inherit_files) == ("", ())


def test_nothing_is_claimed_where_nothing_waits() -> None:
    assert orchestrator.pod_claim(worker="w", slot=0, device_kind="cpu") is None
    making.tournament(pool={"size": 1})
    assert orchestrator.pod_claim(worker="w", slot=0, device_kind="cuda") is None
    making.claim()
    assert orchestrator.pod_claim(worker="w", slot=0, device_kind="cpu") is None


def test_pods_of_a_paused_tournament_are_not_claimed() -> None:
    tournament = making.tournament()
    services.tournament_pause(tournament_id=tournament.pk)
    assert orchestrator.pod_claim(worker="w", slot=0, device_kind="cpu") is None


# Fencing


def test_an_attempt_that_was_replaced_writes_nothing() -> None:
    making.tournament(pool={"size": 1})
    old = making.claim()
    lease_expires(old)
    orchestrator.sweep()
    new = making.claim()
    assert (new.pod_id, new.attempt) == (old.pod_id, 2)
    before = pod(new)
    with pytest.raises(PodLostError):
        renew(old)
    with pytest.raises(PodLostError):
        making.progress(old, making.point(50))
    with pytest.raises(PodLostError):
        saved(old, 60)
    with pytest.raises(PodLostError):
        making.finish(old)
    after = pod(new)
    assert (after.status, after.env_steps, after.state_file) == ("RUNNING", before.env_steps, "")
    assert CurvePoint.objects.count() == LeaderboardEntry.objects.count() == 0


def test_a_result_is_taken_exactly_once() -> None:
    tournament = making.tournament(pool={"size": 1})
    claimed = making.claim()
    making.finish(claimed)
    counts = (tournament.pods.count(), Event.objects.count(), LeaderboardEntry.objects.count())
    with pytest.raises(PodLostError):
        making.finish(claimed)
    assert (tournament.pods.count(), Event.objects.count(), LeaderboardEntry.objects.count()) == counts


def test_nothing_is_written_to_a_pod_of_a_deleted_tournament() -> None:
    tournament = making.tournament(pool={"size": 1})
    claimed = making.claim()
    services.tournament_delete(tournament_id=tournament.pk)
    with pytest.raises(PodLostError):
        renew(claimed)
    with pytest.raises(PodLostError):
        making.progress(claimed, making.point(1))
    with pytest.raises(PodLostError):
        making.finish(claimed)


def test_a_batch_of_progress_that_is_repeated_is_stored_once() -> None:
    making.tournament(pool={"size": 1})
    claimed = making.claim()
    points = [making.point(10), making.point(20)]
    making.progress(claimed, *points)
    making.progress(claimed, *points, making.point(30))
    assert list(CurvePoint.objects.order_by("env_steps").values_list("env_steps", flat=True)) == [10, 20, 30]


# Pausing, stopping, shrinking


def test_directives_follow_the_tournament_and_the_pool() -> None:
    tournament = making.tournament(pool={"size": 2})
    first, second = making.claim(), making.claim()
    assert renew(first) is Directive.CONTINUE
    services.tournament_update(tournament_id=tournament.pk, pool_size=1)
    assert {renew(first), renew(second)} == {Directive.CONTINUE, Directive.END}
    services.tournament_pause(tournament_id=tournament.pk)
    assert renew(first) is Directive.PAUSE
    services.tournament_resume(tournament_id=tournament.pk)
    assert renew(first) is Directive.CONTINUE
    services.tournament_stop(tournament_id=tournament.pk)
    assert renew(first) is renew(second) is Directive.STOP


def test_a_paused_pod_goes_on_from_its_state_and_is_charged_nothing() -> None:
    tournament = making.tournament(pool={"size": 1})
    claimed = making.claim()
    making.progress(claimed, making.point(500), making.point(700), making.point(900))
    services.tournament_pause(tournament_id=tournament.pk)
    paused(claimed, env_steps=700)
    row = pod(claimed)
    assert (row.status, row.losses, row.env_steps, row.worker) == ("QUEUED", 0, 700, "")
    services.tournament_resume(tournament_id=tournament.pk)
    again = making.claim()
    assert (again.pod_id, again.attempt, again.resume_file) == (claimed.pod_id, 2, "state-700")
    assert list(CurvePoint.objects.values_list("env_steps", flat=True).order_by("env_steps")) == [500, 700]
    assert not Event.objects.filter(kind="pod_retried").exists()


def test_a_pause_that_ends_in_a_stop_ends_the_pod_with_what_it_had() -> None:
    tournament = making.tournament(pool={"size": 1})
    claimed = making.claim()
    services.tournament_pause(tournament_id=tournament.pk)
    services.tournament_stop(tournament_id=tournament.pk)
    paused(claimed, env_steps=700)
    row = pod(claimed)
    assert (row.status, row.env_steps, row.agent.state_file) == ("STOPPED", 700, "state-700")


def test_a_stop_ends_waiting_pods_at_once_and_running_ones_with_what_they_had() -> None:
    tournament = making.tournament(pool={"size": 2})
    claimed = making.claim()
    services.tournament_stop(tournament_id=tournament.pk)
    assert sorted(tournament.pods.values_list("status", flat=True)) == ["RUNNING", "STOPPED"]
    making.finish(
        claimed, PodResult(Outcome.STOPPED, 400, 1.0), StoredFiles(checkpoint_file="c", checkpoint_sha256="h")
    )
    row = pod(claimed)
    assert (row.status, row.agent.env_steps, row.agent.checkpoint_file, row.agent.score) == ("STOPPED", 400, "c", None)
    tournament.refresh_from_db()
    assert (tournament.status, active(tournament), tournament.pods.count()) == ("STOPPED", 0, 2)


def test_a_smaller_pool_stops_waiting_pods_first_and_lets_running_ones_end() -> None:
    tournament = making.tournament(pool={"size": 4})
    running = [making.claim(), making.claim()]
    services.tournament_update(tournament_id=tournament.pk, pool_size=1)
    assert tournament.pods.filter(status="STOPPED").count() == 2
    ending = [claimed for claimed in running if pod(claimed).end_requested]
    assert len(ending) == 1
    making.finish(ending[0])
    assert active(tournament) == 1


def test_a_larger_pool_is_filled_at_once() -> None:
    tournament = making.tournament(pool={"size": 1})
    services.tournament_update(tournament_id=tournament.pk, pool_size=5)
    assert active(tournament) == 5


# Losses


def test_a_lost_pod_is_retried_from_its_last_saved_state() -> None:
    making.tournament(pool={"size": 1})
    claimed = making.claim()
    making.progress(claimed, making.point(100), making.point(200), making.point(300))
    assert saved(claimed, 100) == ""
    assert saved(claimed, 200) == "state-100"
    lease_expires(claimed)
    orchestrator.sweep()
    row = pod(claimed)
    assert (row.status, row.losses, row.env_steps) == ("QUEUED", 1, 200)
    assert Event.objects.filter(kind="pod_retried", pod=row).count() == 1
    again = making.claim()
    assert (again.attempt, again.resume_file) == (2, "state-200")
    assert CurvePoint.objects.filter(env_steps__gt=200).count() == 0


def test_a_pod_whose_lease_runs_is_left_alone_by_the_sweep() -> None:
    making.tournament(pool={"size": 1})
    claimed = making.claim()
    orchestrator.sweep()
    assert pod(claimed).status == "RUNNING"
    assert renew(claimed) is Directive.CONTINUE


def test_a_pod_is_given_up_after_so_many_losses_with_the_reason() -> None:
    tournament = making.tournament(pool={"size": 1})
    first = making.claim()
    claimed = first
    for attempt in range(1, MAX_LOSSES + 1):
        assert (claimed.pod_id, claimed.attempt) == (first.pod_id, attempt)
        making.finish(claimed, making.failure("killed by signal 9", retryable=True))
        if attempt < MAX_LOSSES:
            claimed = making.claim()
    row = pod(first)
    assert row.status == "FAILED"
    assert "killed by signal 9" in row.reason
    assert str(MAX_LOSSES) in row.reason
    assert active(tournament) == 1


def test_a_pod_that_is_given_up_leaves_no_state_behind_and_the_donors_is_kept(
    django_capture_on_commit_callbacks: Any,
) -> None:
    making.tournament(pool={"size": 1}, generator={"strategies": {"exploit": 1}})
    donor = making.claim()
    making.finish(donor)
    claimed = making.claim()
    making.progress(claimed, making.point(100))
    saved(claimed, 100)
    state = pod(claimed).state_file
    for name in (state, making.state_name(donor)):
        default_storage.save(name, ContentFile(b"state"))
    with django_capture_on_commit_callbacks(execute=True):
        making.finish(claimed, making.failure("The loss became NaN at step 96."))
    assert pod(claimed).status == "FAILED"
    assert (storage.exists(state), storage.exists(making.state_name(donor))) == (False, True)


def test_a_failure_that_no_retry_helps_fails_at_once() -> None:
    making.tournament(pool={"size": 1})
    claimed = making.claim()
    making.finish(claimed, making.failure("The loss became NaN at step 96."))
    row = pod(claimed)
    assert (row.status, row.reason) == ("FAILED", "The loss became NaN at step 96.")
    assert row.log_lines.get().text == row.reason


def test_a_lost_pod_of_a_paused_tournament_waits_uncharged() -> None:
    tournament = making.tournament(pool={"size": 1})
    claimed = making.claim()
    services.tournament_pause(tournament_id=tournament.pk)
    lease_expires(claimed)
    orchestrator.sweep()
    assert (pod(claimed).status, pod(claimed).losses) == ("QUEUED", 0)


def test_a_lost_pod_of_a_stopped_tournament_is_stopped() -> None:
    tournament = making.tournament(pool={"size": 1})
    claimed = making.claim()
    services.tournament_stop(tournament_id=tournament.pk)
    lease_expires(claimed)
    orchestrator.sweep()
    assert pod(claimed).status == "STOPPED"


def test_a_crash_message_with_any_sign_is_stored() -> None:
    making.tournament(pool={"size": 1})
    claimed = making.claim()
    making.finish(claimed, making.failure("crashed: \x00 \ud7ff"))
    assert pod(claimed).reason.startswith("crashed: ")


# Ends


def test_the_same_failure_in_a_row_fails_the_tournament_with_that_reason() -> None:
    tournament = making.tournament(pool={"size": 2}, max_failures=3)
    for step in (10, 20, 30):
        making.finish(making.claim(), making.failure(f"CartPole crashed at step {step}."))
    tournament.refresh_from_db()
    assert tournament.status == "FAILED"
    assert "CartPole crashed" in tournament.reason
    assert active(tournament) == 0


def test_different_failures_or_a_success_between_do_not_fail_it() -> None:
    tournament = making.tournament(pool={"size": 2}, max_failures=2)
    making.finish(making.claim(), making.failure("one thing"))
    making.finish(making.claim(), making.failure("another thing"))
    making.finish(making.claim())
    making.finish(making.claim(), making.failure("another thing"))
    tournament.refresh_from_db()
    assert tournament.status == "RUNNING"


def test_failures_of_many_kinds_end_it_too() -> None:
    tournament = making.tournament(pool={"size": 2}, max_failures=2)
    for thing in ("one", "another", "a third", "a fourth", "a fifth"):
        making.finish(making.claim(), making.failure(f"{thing} thing"))
    tournament.refresh_from_db()
    assert tournament.status == "RUNNING"
    making.finish(making.claim(), making.failure("the last thing"))
    tournament.refresh_from_db()
    assert tournament.status == "FAILED"
    assert tournament.reason == "6 pods in a row failed, the last of them for this reason: the last thing"


def test_a_target_ends_it_only_when_it_is_confirmed() -> None:
    tournament = making.tournament(pool={"size": 2}, stop={"score": 475})
    making.finish(making.claim(), making.result(490, confirmed=470))
    tournament.refresh_from_db()
    assert tournament.status == "RUNNING"
    making.finish(making.claim(), making.result(480))
    tournament.refresh_from_db()
    assert tournament.status == "RUNNING"
    last = making.claim()
    waiting = making.claim()
    making.finish(last, making.result(499, confirmed=480))
    tournament.refresh_from_db()
    assert tournament.status == "FINISHED"
    assert "475" in tournament.reason
    assert renew(waiting) is Directive.STOP
    kinds = list(Event.objects.order_by("pk").values_list("kind", flat=True))
    assert kinds.count("target_missed") == kinds.count("target_confirmed") == 1


@pytest.mark.parametrize(
    ("stop", "ends_after"),
    [({"pods": 2}, 2), ({"env_steps": 3000}, 3), ({"env_steps": 2001}, 3), ({"patience": 2}, 3)],
)
def test_the_first_stop_rule_that_is_met_ends_it(stop: dict[str, int], ends_after: int) -> None:
    tournament = making.tournament(pool={"size": 1}, stop=stop)
    scores = iter([50.0, 40.0, 30.0, 20.0, 10.0])
    finished = 0
    while Tournament.objects.get(pk=tournament.pk).status == "RUNNING":
        making.finish(making.claim(), making.result(next(scores)))
        finished += 1
    assert finished == ends_after
    assert Tournament.objects.get(pk=tournament.pk).status == "FINISHED"


def test_the_sweep_ends_it_when_its_time_is_used_up() -> None:
    tournament = making.tournament(pool={"size": 1}, stop={"hours": 1})
    orchestrator.sweep()
    tournament.refresh_from_db()
    assert tournament.status == "RUNNING"
    Tournament.objects.update(running_since=timezone.now() - timedelta(hours=1, seconds=1))
    orchestrator.sweep()
    tournament.refresh_from_db()
    assert (tournament.status, active(tournament)) == ("FINISHED", 0)


def test_time_that_it_was_paused_does_not_count() -> None:
    tournament = making.tournament(pool={"size": 1}, stop={"hours": 1})
    services.tournament_pause(tournament_id=tournament.pk)
    services.tournament_resume(tournament_id=tournament.pk)
    Tournament.objects.update(started_at=timezone.now() - timedelta(hours=5))
    orchestrator.sweep()
    tournament.refresh_from_db()
    assert tournament.status == "RUNNING"


def test_the_sweep_fills_a_pool_that_has_room() -> None:
    tournament = making.tournament(pool={"size": 2})
    Pod.objects.all().delete()
    orchestrator.sweep()
    assert active(tournament) == 2


# The leaderboard


def test_the_leaderboard_holds_the_best_in_order_and_no_more_than_its_size() -> None:
    tournament = making.tournament(pool={"size": 1}, leaderboard={"size": 3}, generator={"strategies": {"fresh": 1}})
    for score in (10.0, 50.0, 30.0, 20.0, 40.0, 5.0):
        making.finish(making.claim(), making.result(score))
    entries = tournament.leaderboard.order_by("rank").select_related("agent")
    assert [(entry.rank, entry.agent.score) for entry in entries] == [(1, 50.0), (2, 40.0), (3, 30.0)]
    assert entries[2].beats_next is None
    assert all(0.9 < (entry.beats_next or 0) <= 1 for entry in entries[:2])
    tournament.refresh_from_db()
    assert tournament.best_history == [10.0, 50.0]


def test_rank_changes_say_who_went_up_and_down() -> None:
    tournament = making.tournament(pool={"size": 1}, generator={"strategies": {"fresh": 1}})
    for score in (10.0, 20.0):
        making.finish(making.claim(), making.result(score))
    entries = tournament.leaderboard.order_by("rank")
    assert [entry.rank_change for entry in entries] == [None, -1]


def test_a_diverged_agent_enters_nothing_and_is_no_parent() -> None:
    making.tournament(pool={"size": 1}, generator={"strategies": {"exploit": 1}})
    claimed = making.claim()
    making.finish(claimed, making.result(float("nan")))
    agent = Agent.objects.get(pk=claimed.agent_id)
    assert (agent.score, LeaderboardEntry.objects.count()) == (None, 0)
    assert Event.objects.get(kind="agent_rejected").agent == agent
    assert Agent.objects.get(pk=making.claim().agent_id).strategy == "fresh"


@pytest.mark.django_db(transaction=True)
def test_every_transaction_raises_the_revision_by_one() -> None:
    tournament = making.tournament(pool={"size": 1}, stop={"pods": 3})
    seen = []
    for name in ("a", "b"):
        services.tournament_update(tournament_id=tournament.pk, name=name)
        seen.append(Tournament.objects.get().revision)
    for _ in range(3):
        claimed = making.claim()
        seen.append(Tournament.objects.get().revision)
        making.progress(claimed, making.point(10))
        seen.append(Tournament.objects.get().revision)
        making.finish(claimed)
        seen.append(Tournament.objects.get().revision)
    orchestrator.sweep()
    seen.append(Tournament.objects.get().revision)
    assert seen == [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 12]


def test_a_budget_too_short_for_whole_rounds_is_shared_out_and_every_pod_is_scored(db: None) -> None:
    tournament = making.tournament(pool={"size": 2}, round={"env_steps": 1000}, stop={"env_steps": 2500})
    shares = []
    for _ in range(3):
        claimed = making.claim()
        shares.append(claimed.plan["env_steps"])
        making.finish(claimed, making.result(env_steps=claimed.plan["env_steps"]))
    assert shares == [1000, 1000, 500]
    tournament.refresh_from_db()
    assert tournament.status == "FINISHED"
    assert set(tournament.pods.values_list("status", flat=True)) == {"FINISHED"}


def test_pods_that_a_budget_was_shared_out_to_are_scored_before_it_ends_the_tournament(db: None) -> None:
    tournament = making.tournament(pool={"size": 3}, round={"env_steps": 1000}, stop={"env_steps": 3000})
    *first, last = [making.claim() for _ in range(3)]
    for claimed in first:  # which train more than they were given, as a pod of very many environments may
        making.finish(claimed, making.result(env_steps=1600))
    tournament.refresh_from_db()
    assert (tournament.status, tournament.env_steps_spent) == ("RUNNING", 3200)
    making.finish(last, making.result(env_steps=1600))
    tournament.refresh_from_db()
    assert (tournament.status, tournament.reason) == ("FINISHED", "The budget of 3,000 env steps is used up.")
    assert set(tournament.pods.values_list("status", flat=True)) == {"FINISHED"}


def test_a_tiny_budget_is_split_between_the_pods_of_the_pool(db: None) -> None:
    making.tournament(pool={"size": 2}, round={"env_steps": 100_000}, stop={"env_steps": 300})
    assert [making.claim().plan["env_steps"], making.claim().plan["env_steps"]] == [150, 150]
