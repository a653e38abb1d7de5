"""Points of all pods of a worker are stored together, and each pod answers for its own."""

import threading

import pytest
from django.db import DataError

from podracer_core.progress import Progress
from tests.webapp.tournaments import making
from webapp.tournaments.errors import PodLostError
from webapp.tournaments.models import CurvePoint
from webapp.tournaments.orchestrator import Claim
from workers import reporter
from workers.reporter import Reporter

pytestmark = pytest.mark.django_db(transaction=True)

TOO_FAR = 2**70
"""More env steps than the database can hold."""


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> Reporter:
    """Stores nothing of itself."""
    monkeypatch.setattr(reporter, "FLUSH_SECONDS", 3600.0)
    made = Reporter()
    made._flushed_at = float("inf")
    return made


def claims(count: int) -> list[Claim]:
    making.tournament(pool={"size": count})
    return [making.claim(slot=slot) for slot in range(count)]


def attempt(claim: Claim) -> tuple[int, int]:
    return claim.pod_id, claim.attempt


def flush(reporter: Reporter, attempt: tuple[int, int]) -> None:
    """Its time has come."""
    reporter._flushed_at = float("-inf")
    reporter.flush_if_due(attempt)


def point(env_steps: int) -> Progress:
    return making.point(env_steps)


def stored(claim: Claim) -> list[int]:
    return list(
        CurvePoint.objects.filter(agent=claim.agent_id).order_by("env_steps").values_list("env_steps", flat=True)
    )


def test_whoever_stores_stores_for_all(patient: Reporter) -> None:
    one, other = claims(2)
    patient.add(attempt(one), point(10))
    patient.add(attempt(other), point(20))
    flush(patient, attempt(one))
    assert (stored(one), stored(other)) == ([10], [20])


def test_points_that_cannot_be_stored_are_the_fault_of_their_own_pod_alone(patient: Reporter) -> None:
    good, bad, last = claims(3)
    for claim, env_steps in ((good, 10), (bad, TOO_FAR), (last, 30)):
        patient.add(attempt(claim), point(env_steps))
    flush(patient, attempt(good))
    assert (stored(good), stored(bad), stored(last)) == ([10], [], [30])
    with pytest.raises(DataError):
        flush(patient, attempt(bad))
    patient.forget(attempt(bad))
    patient.add(attempt(good), point(40))
    flush(patient, attempt(last))
    assert stored(good) == [10, 40]


def test_a_lost_pod_is_told_so_and_no_other_is(patient: Reporter) -> None:
    lost, held = claims(2)
    making.finish(lost)
    patient.add(attempt(lost), point(10))
    patient.add(attempt(held), point(20))
    flush(patient, attempt(held))
    with pytest.raises(PodLostError, match=str(lost.pod_id)):
        flush(patient, attempt(lost))


def test_what_is_left_goes_with_the_result_and_is_stored_by_nobody_else(patient: Reporter) -> None:
    one, other = claims(2)
    patient.add(attempt(one), point(10))
    patient.add(attempt(other), point(20))
    assert patient.take(attempt(one)) == [point(10)]
    flush(patient, attempt(other))
    assert patient.take(attempt(other)) == []
    assert (stored(one), stored(other)) == ([], [20])


def test_whoever_takes_its_points_waits_for_those_that_are_being_stored(patient: Reporter) -> None:
    (one,) = claims(1)
    taken: list[list[Progress]] = []
    patient.add(attempt(one), point(10))
    taking = threading.Thread(target=lambda: taken.append(patient.take(attempt(one))))
    with patient._storing:
        taking.start()
        patient._store()
        assert taken == []
    taking.join(60)
    assert (taken, stored(one)) == ([[]], [10])


def test_a_lost_pod_takes_nothing(patient: Reporter) -> None:
    (lost,) = claims(1)
    making.finish(lost)
    patient.add(attempt(lost), point(10))
    patient._store()
    with pytest.raises(PodLostError):
        patient.take(attempt(lost))


def test_while_one_slot_stores_the_others_wait_and_do_not_ask_again_and_again(patient: Reporter) -> None:
    (claim,) = claims(1)
    patient.add(attempt(claim), point(10))
    patient._flushed_at = 0.0
    assert patient.seconds_until_due(5) == 0
    with patient._storing:
        assert patient.seconds_until_due(5) == 5
