"""What slots do with pods, each in one statement: claim one, renew its lease, report curves."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from podracer_core.progress import Progress
from webapp.tournaments import board, lineage, population, rows
from webapp.tournaments.models import Agent, Pod, Tournament

_CLAIMED = ("id", "agent", "tournament", "attempt", "env_steps_budget", "state_file")
_TRAINED = (
    *("id", "tournament", "index", "name", "algorithm", "hyperparameters", "seed", "strategy", "inherits_from"),
    *("num_envs", "schedule", "founder_index", "base_env_steps"),
)
"""What a claim says of a pod, and of its agent."""

_NEXT = rows.Query(
    """
    WITH next AS (
        SELECT pod.id
        FROM tournaments_tournament tournament
        CROSS JOIN LATERAL (
            SELECT count(*) AS pods FROM tournaments_pod WHERE tournament_id = tournament.id AND status = 'RUNNING'
        ) running
        JOIN tournaments_pod pod ON pod.tournament_id = tournament.id AND pod.status = 'QUEUED'
        WHERE tournament.status = 'RUNNING' AND pod.device_kind = %s
            AND NOT EXISTS (SELECT FROM tournaments_worker WHERE name = %s AND drain <> '')
        ORDER BY tournament.priority DESC, running.pods, pod.queued_at, pod.id
        LIMIT 1
        FOR UPDATE OF pod SKIP LOCKED
    )
    UPDATE tournaments_pod pod
    SET status = 'RUNNING', attempt = pod.attempt + 1, worker = %s, slot = %s,
        lease_until = statement_timestamp() + %s::interval,
        env_steps = pod.state_env_steps, seconds = pod.state_seconds, env_steps_per_second = 0, reason = '',
        claimed_at = statement_timestamp(), stepping_since = NULL,
        started_at = coalesce(pod.started_at, statement_timestamp())
    FROM next, tournaments_agent agent, tournaments_tournament tournament
    WHERE pod.id = next.id AND agent.id = pod.agent_id AND tournament.id = pod.tournament_id
    RETURNING {pod}, {agent}, {tournament}, {parents}, {entries}
    """,
    parents=lineage.PARENTS,
    entries=board.ENTRIES,
    pod=(Pod, _CLAIMED),
    agent=(Agent, _TRAINED),
    tournament=(Tournament, ("id", "name", "spec")),
)

_RENEW = """
    UPDATE tournaments_pod pod SET lease_until = statement_timestamp() + %s::interval
    FROM tournaments_tournament tournament
    WHERE pod.id = %s AND pod.attempt = %s AND pod.status = 'RUNNING' AND tournament.id = pod.tournament_id
    RETURNING tournament.status, pod.end_requested
"""

_REPORT = """
    WITH said AS (
        SELECT * FROM jsonb_to_recordset(%s) AS said(
            pod bigint, attempt int, env_steps bigint, seconds float8, env_steps_per_second float8,
            episodic_return float8, began float8
        )
    ), tournament AS (
        SELECT id FROM tournaments_tournament
        WHERE id IN (SELECT tournament_id FROM tournaments_pod WHERE id = ANY(%s))
        ORDER BY id FOR NO KEY UPDATE
    ), locked AS (
        SELECT id FROM tournaments_pod
        WHERE id = ANY(%s) AND tournament_id = ANY(ARRAY(SELECT id FROM tournament))
        ORDER BY id FOR NO KEY UPDATE
    ), held AS (
        UPDATE tournaments_pod pod
        SET env_steps = said.env_steps, seconds = said.seconds, env_steps_per_second = said.env_steps_per_second,
            episodic_return = said.episodic_return, lease_until = statement_timestamp() + %s::interval,
            stepping_since = coalesce(pod.stepping_since, to_timestamp(said.began + pod.state_seconds))
        FROM said, locked
        WHERE pod.id = locked.id AND said.pod = locked.id AND pod.attempt = said.attempt AND pod.status = 'RUNNING'
        RETURNING pod.id, pod.tournament_id, pod.agent_id, pod.attempt
    ), stored AS (
        INSERT INTO tournaments_curvepoint (agent_id, attempt, env_steps, seconds, episodic_return, losses)
        SELECT held.agent_id, held.attempt, point.env_steps, point.seconds, point.episodic_return, point.losses
        FROM held JOIN jsonb_to_recordset(%s) AS point(
            pod bigint, attempt int, env_steps bigint, seconds float8, episodic_return float8, losses jsonb
        ) ON point.pod = held.id AND point.attempt = held.attempt
        ON CONFLICT DO NOTHING
    ), raised AS (
        UPDATE tournaments_tournament SET revision = revision + 1
        WHERE id IN (SELECT tournament_id FROM held) RETURNING id, revision
    )
    SELECT held.id, held.attempt, held.agent_id, raised.id, raised.revision
    FROM held JOIN raised ON raised.id = held.tournament_id
"""


@dataclass(frozen=True, slots=True)
class Taker:
    """A slot that takes pods."""

    worker: str
    slot: int
    device_kind: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A pod that a slot has claimed, and what it needs to run it. Files are storage names, "" where there is none.

    inherit_files: of the agents whose weights it starts with; it says which is lost by the position here
    told: whether the viewers are; else `orchestrator.claim_tell` does it
    """

    pod_id: int
    attempt: int
    tournament_id: int
    agent_id: int
    plan: dict[str, Any]
    resume_file: str
    inherit_files: tuple[str, ...]
    told: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """What an attempt of a pod says of its curve. points: at least one"""

    pod_id: int
    attempt: int
    points: Sequence[Progress]


def next_pod(taker: Taker, *, lease: timedelta) -> Pod | None:
    """The pod that was claimed, with its agent and tournament; None when there is none, or the worker is drained.

    The highest priority goes first; among equals the tournament that has the fewest pods running, so that a large
    pool does not keep a small one waiting; then the oldest pod.
    """
    found = _NEXT.first(taker.device_kind, taker.worker, taker.worker, taker.slot, lease)
    if found is None:
        return None
    pod: Pod = found[0]
    _, pod.agent, pod.tournament, parents, entries = found
    pod.agent.tournament = pod.tournament
    lineage.parents_found(pod.agent, parents)
    board.entries_found(pod.tournament, entries)
    return pod


def claim_of(pod: Pod, told: bool) -> Claim:
    """What the slot is given that has claimed `pod`."""
    parents = lineage.parents_of(pod.agent)
    # A pod that goes on from its own state needs its parents no more.
    donors = [] if pod.state_file else lineage.donors(pod.agent, parents)
    return Claim(
        pod_id=pod.pk,
        attempt=pod.attempt,
        tournament_id=pod.tournament_id,
        agent_id=pod.agent_id,
        plan=_plan(pod, parents),
        resume_file=pod.state_file,
        inherit_files=tuple(donor.state_file for donor in donors),
        told=told,
    )


def _plan(pod: Pod, parents: list[Agent]) -> dict[str, Any]:
    """The pod's plan but for what depends on the machine: device, threads, paths."""
    agent, tournament = pod.agent, pod.tournament
    spec = tournament.parsed_spec
    return {
        **population.plan_of(agent, parents),
        "env_id": spec.env_id,
        "env_steps": pod.env_steps_budget,
        # A schedule is as long as what it repeats.
        "seconds": None if agent.schedule else spec.round.seconds,
        "eval_episodes": spec.leaderboard.eval_episodes,
        "score": spec.leaderboard.score,
        "target_score": spec.stop.score,
        "reevaluate": spec.leaderboard.reevaluate,
        "bar": board.bar_of(tournament, agent),
    }


def renew(*, pod_id: int, attempt: int, lease: timedelta) -> tuple[str, bool] | None:
    """The tournament's status, and whether the pod's round shall end; None for a pod that is held no longer."""
    row = rows.fetch_one(_RENEW, [lease, pod_id, attempt])
    return row and (row[0], row[1])


def report(reports: Sequence[Report], *, lease: timedelta) -> list[tuple[int, int, int, int, int]]:
    """Store points, in their order. Of the pods that are held still: pod, attempt, agent, tournament and its revision,
    raised by one."""
    latest = [_latest(report) for report in reports]
    points = [_row(report, point) for report in reports for point in report.points]
    pods = [report.pod_id for report in reports]
    return rows.fetch_all(_REPORT, [json.dumps(latest), pods, pods, lease, json.dumps(points)])


def _row(report: Report, point: Progress) -> dict[str, Any]:
    return {"pod": report.pod_id, "attempt": report.attempt, **asdict(point)}


def _latest(report: Report) -> dict[str, Any]:
    return {**_row(report, report.points[-1]), "began": began(report.points[0])}


def began(first: Progress) -> float:
    """When an attempt took its first env step, less what training it had behind it, which its first point includes."""
    return first.sent_at - first.seconds


_STORE_POINTS = """
    INSERT INTO tournaments_curvepoint (agent_id, attempt, env_steps, seconds, episodic_return, losses)
    SELECT %s::bigint, point.attempt, point.env_steps, point.seconds, point.episodic_return, point.losses
    FROM jsonb_to_recordset(%s) AS point(
        attempt int, env_steps bigint, seconds float8, episodic_return float8, losses jsonb
    )
    ON CONFLICT DO NOTHING
"""


def store_points(agent_id: int, report: Report) -> None:
    """Store the points of a pod whose row is locked."""
    rows.execute(_STORE_POINTS, [agent_id, json.dumps([_row(report, point) for point in report.points])])
