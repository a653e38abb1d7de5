"""What holds whatever pods bring, in whatever order, in the database as in the decisions."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from podracer_core.progress import Outcome, PodResult
from tests.webapp.tournaments import making
from webapp.tournaments.endings import StoredFiles
from webapp.tournaments.errors import PodLostError
from webapp.tournaments.models import Agent, Pod, Tournament
from webapp.tournaments.orchestrator import Claim

pytestmark = pytest.mark.django_db

PLACES = 3
FEW = settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
SCORES = st.sampled_from([1.0, 2.0, 2.0, 3.0, -4.0, math.nan, math.inf])

MODES: dict[str, dict[str, Any]] = {
    "asynchronous": {"strategies": dict.fromkeys(("exploit", "continue", "crossover", "fuse", "rerun"), 1)},
    "generational": {"mode": "generational"},
    "successive_halving": {"mode": "successive_halving", "reduction_factor": 2},
}


@contextmanager
def undone() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def ranked(tournament: Tournament) -> list[int]:
    return list(tournament.leaderboard.order_by("rank").values_list("agent__index", flat=True))


@given(data=st.data(), scores=st.lists(SCORES, min_size=2, max_size=8))
@FEW
def test_results_that_come_twice_and_in_any_order_rank_the_best_once(data: st.DataObject, scores: list[float]) -> None:
    order = data.draw(st.permutations(range(len(scores))))
    with undone():
        tournament = making.tournament(
            pool={"size": len(scores)},
            generator={"mode": "random_search"},
            leaderboard={"size": PLACES, "max_per_ancestor": 1.0},
            stop={"pods": len(scores)},
        )
        claims = [making.claim() for _ in scores]
        for position in order:
            making.finish(claims[position], making.result(scores[position]))
            with pytest.raises(PodLostError):
                making.finish(claims[position], making.result(100.0))
        valid = [index for index, score in enumerate(scores) if math.isfinite(score)]
        assert ranked(tournament) == sorted(valid, key=lambda index: (-scores[index], index))[:PLACES]
        tournament.refresh_from_db()
        assert (tournament.status, tournament.pods_finished) == ("FINISHED", len(scores))


@given(mode=st.sampled_from(list(MODES)), happens=st.lists(st.tuples(SCORES, st.booleans()), min_size=8, max_size=20))
@FEW
def test_a_parent_is_valid_and_one_that_is_lost_leads_to_another_and_no_failure(
    mode: str, happens: list[tuple[float, bool]]
) -> None:
    """happens: of one pod after another what it would score, and whether what it starts from is lost"""
    with undone():
        tournament = making.tournament(
            pool={"size": 2}, generator=MODES[mode], leaderboard={"max_per_ancestor": 1}, round={"env_steps": 1000}
        )
        lost = 0
        for score, loses in happens:
            claimed = making.claim()
            check_parents(claimed)
            # Another pod may have found the state lost while this one waited: then its slot says so.
            if "" in claimed.inherit_files or (loses and claimed.inherit_files):
                lose_parent(claimed)
                lost += 1
            else:
                making.finish(claimed, making.result(score))
        assert tournament.events.filter(kind="parent_lost").count() == lost
        assert not tournament.pods.filter(status="FAILED").exists()


def check_parents(claimed: Claim) -> None:
    for parent in Agent.objects.get(pk=claimed.agent_id).parents.all():
        assert parent.score is not None


def lose_parent(claimed: Claim) -> None:
    """Of several the first that another has found lost, if one has, as its slot would."""
    position = claimed.inherit_files.index("") if "" in claimed.inherit_files else 0
    reason = "The training state cannot be read."
    making.finish(claimed, PodResult(Outcome.FAILED, 0, 0.0, reason=reason, lost_donor=position), StoredFiles())
    pod = Pod.objects.select_related("agent").get(pk=claimed.pod_id)
    assert (pod.status, pod.losses) == ("QUEUED", 0)
    another = pod.agent.inherits_from
    assert another is None or another.state_file
