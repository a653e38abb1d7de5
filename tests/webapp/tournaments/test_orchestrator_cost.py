"""What a pod costs the database: few statements, and no more of it however many pods a tournament has had."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from podracer_core.progress import Outcome, PodResult
from tests.webapp.tournaments import making
from webapp.tournaments import halving, orchestrator, rows, selectors, services
from webapp.tournaments.counts import counted, rungs_counted
from webapp.tournaments.endings import StoredFiles
from webapp.tournaments.models import Agent, Event, Pod, Rung, Tournament

pytestmark = pytest.mark.django_db

MOST_STATEMENTS = 26
"""Of a pod that is claimed, reports once, renews its lease once, enters the leaderboard and is replaced by an heir."""

MOST_ROWS_SEEN = 2100
"""By a viewer who opens the page: it lists the newest 1,000 pods, and their agents."""

MOST_ROWS = 200
"""That one statement may look at: the leaderboard, the pool, what has a training state."""

Spent = list[tuple[int, str]]


def run_pod(score: float) -> None:
    claimed = making.claim()
    making.progress(claimed, making.point(10))
    orchestrator.pod_renew(pod_id=claimed.pod_id, attempt=claimed.attempt)
    making.finish(claimed, making.result(score))


def started(mode: str = "asynchronous", **parts: Any) -> Tournament:
    generator: dict[str, Any] = {"mode": mode}
    if mode == "asynchronous":
        generator |= {"strategies": {"exploit": 1}}
    if mode == "successive_halving":
        generator |= {"reduction_factor": 2}
    stop = {"pods": 10**6, "env_steps": 10**12, "hours": 1000, "patience": 10**6, "score": 500}
    return making.tournament(pool={"size": 2}, generator=generator, stop=stop, **parts)


def add_past(tournament: Tournament, pods: int) -> None:
    """As many finished pods again, whose agents were no good, but may be promoted where that is done."""
    halving = tournament.parsed_spec.generator.mode == "successive_halving"
    state = "'past'" if halving else "''"
    with connection.cursor() as cursor:
        for model, values in (
            (Agent, {"index": "1000 + n", "name": "n::text", "score": "-n", "state_file": state, "id": "1000000 + n"}),
            (Pod, {"agent_id": "1000000 + n", "id": "1000000 + n"}),
            (Event, {"agent_id": "1000000 + n", "pod_id": "1000000 + n", "id": "1000000 + n"}),
        ):
            columns = [field.column for field in model._meta.concrete_fields]
            cursor.execute(
                f"""
                INSERT INTO {model._meta.db_table} ({", ".join(f'"{column}"' for column in columns)})
                SELECT {", ".join(values.get(column, f'past."{column}"') for column in columns)}
                FROM (SELECT * FROM {model._meta.db_table} WHERE tournament_id = %s ORDER BY id LIMIT 1) past,
                    generate_series(1, %s) n
                """,
                [tournament.pk, pods],
            )
            cursor.execute(f"ANALYZE {model._meta.db_table}")
        if halving:
            cursor.execute("UPDATE tournaments_agent SET promotable = true, inherits_from_id = NULL WHERE id > 1000000")
    Tournament.objects.filter(pk=tournament.pk).update(agents_created=2000 + pods, **counted(tournament))
    tournament.rungs.all().delete()
    Rung.objects.bulk_create(rungs_counted(tournament))


@contextmanager
def looked_at() -> Iterator[Spent]:
    """Every statement meanwhile, with how many rows of tables and indices it looked at."""
    spent: Spent = []

    def explain(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if not sql.startswith(("PREPARE", "SAVEPOINT", "RELEASE")):
            with context["connection"].connection.cursor() as cursor:
                cursor.execute("SAVEPOINT explained")
                for one, its_params in separately(sql, params):
                    cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {one}", its_params)
                    found = cursor.fetchone()[0]
                    plan = json.loads(found) if isinstance(found, str) else found
                    spent.append((scanned(plan[0]["Plan"]), one))
                cursor.execute("ROLLBACK TO SAVEPOINT explained")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explain):
        yield spent


def separately(sql: str, params: Any) -> Iterator[tuple[str, Any]]:
    """Statements that are sent together, see rows.together."""
    left = iter(params or ())
    for one in sql.split("; ") if sql.startswith("EXECUTE") else [sql]:
        yield one, [*islice(left, one.count("%s"))]


def scanned(node: dict[str, Any]) -> int:
    below = sum(scanned(child) for child in node.get("Plans", []))
    if "Scan" not in node["Node Type"] or node["Node Type"] in ("CTE Scan", "Subquery Scan", "Function Scan"):
        return below
    removed = node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
    return below + round((node["Actual Rows"] + removed) * node["Actual Loops"])


@pytest.mark.parametrize("mode", ["asynchronous", "random_search", "generational", "successive_halving"])
def test_a_pod_takes_few_statements_and_none_looks_at_the_past(mode: str) -> None:
    tournament = started(mode)
    for score in range(12):
        run_pod(float(score))
    with looked_at() as before:
        run_pod(100.0)
        run_pod(-1.0)
    add_past(tournament, 5_000)
    with looked_at() as after:
        run_pod(101.0)
        run_pod(-2.0)
    moved = mode == "successive_halving"  # a rung's cut, which is looked for with some scores and not with others
    assert len(after) <= len(before) + moved, [sql for _, sql in after]
    assert len(before) <= 2 * MOST_STATEMENTS, [sql for _, sql in before]
    assert max(after)[0] <= MOST_ROWS, max(after)
    tournament.refresh_from_db()
    assert tournament.pods_finished == 5_016
    assert rungs(tournament.rungs.all()) == rungs(rungs_counted(tournament))


def test_who_may_be_promoted_is_read_without_the_returns_of_its_episodes() -> None:
    tournament = started("successive_halving")
    run_pod(1.0)
    ((_, best),) = halving.rungs_of(tournament)
    assert best.score == 1.0
    assert "returns" in best.get_deferred_fields()


def rungs(rows: Iterable[Rung]) -> list[tuple[object, ...]]:
    return sorted((row.level, row.scored, row.cut_score, row.cut_index) for row in rows)


def test_a_viewer_reads_no_more_of_a_long_tournament() -> None:
    tournament = started()
    for score in range(5):
        run_pod(float(score))
    add_past(tournament, 5_000)
    with looked_at() as spent:
        page = selectors.page(tournament.pk)
        selectors.tournament_get(tournament.pk)
    assert max(spent)[0] <= MOST_ROWS_SEEN, max(spent)
    assert page["tournament"]["pods"]["FINISHED"] == tournament.pods.filter(status="FINISHED").count() == 5_005
    assert page["events"]["count"] == tournament.events.count()
    drawn = selectors.snapshot(tournament.pk)["curves"]
    ranked = {str(key) for key in tournament.leaderboard.values_list("agent_id", flat=True)}
    assert set(drawn) == ranked, "the newest have no points here"


ENDS: dict[str, Callable[[int], PodResult]] = {
    "scored": lambda score: making.result(float(score)),
    "diverged": lambda score: making.result(float("nan")),
    "failed": lambda score: making.failure(f"Broken {score}."),
}


@given(
    ends=st.lists(st.tuples(st.sampled_from([*["scored"] * 6, "diverged", "failed"]), st.integers(0, 6)), max_size=30)
)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rungs_are_kept_up_as_though_they_were_counted(ends: list[tuple[str, int]]) -> None:
    with transaction.atomic():
        tournament = started("successive_halving", round={"env_steps": 1000}, max_failures=100)
        for end, score in ends:
            making.finish(making.claim(), ENDS[end](score))
            assert rungs(tournament.rungs.all()) == rungs(rungs_counted(tournament))
        assert not tournament.agents.filter(promotable=True, heirs__isnull=False).exists()
        transaction.set_rollback(True)


OUTCOMES: dict[str, Callable[[int], PodResult]] = {
    "better": lambda number: making.result(float(number), confirmed=float(number)),
    "worse": lambda number: making.result(-float(number)),
    "diverged": lambda number: making.result(float("nan")),
    "failed": lambda number: making.failure("It broke in step 5."),
    "lost": lambda number: making.failure("It vanished.", retryable=True),
    "paused": lambda number: PodResult(Outcome.PAUSED, number, 1.0),
}


@given(outcomes=st.lists(st.sampled_from([*OUTCOMES, "shrink", "stop"]), max_size=14))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_tournament_counts_what_its_pods_add_up_to(outcomes: list[str]) -> None:
    with transaction.atomic():
        tournament = making.tournament(pool={"size": 2}, stop={"pods": 8, "score": 500})
        for number, outcome in enumerate(outcomes, start=1):
            claimed = orchestrator.pod_claim(worker="w", slot=0, device_kind="cpu")
            if claimed is None:
                break
            if outcome in OUTCOMES:
                making.finish(claimed, OUTCOMES[outcome](number), StoredFiles(state_file="state"))
            elif outcome == "shrink":
                services.tournament_update(tournament_id=tournament.pk, pool_size=1)
            else:
                services.tournament_stop(tournament_id=tournament.pk)
        tournament.refresh_from_db()
        assert counted(tournament) == {name: getattr(tournament, name) for name in counted(tournament)}
        transaction.set_rollback(True)


class Sent:
    """In place of Django's execution: keeps what is sent."""

    def __init__(self) -> None:
        self.statements: list[str] = []

    def __call__(self, execute: Callable[..., Any], sql: str, *arguments: Any) -> Any:
        self.statements.append(sql)
        return execute(sql, *arguments)


NAME = "UPDATE tournaments_tournament SET name = %s WHERE id = %s"


def name_of(tournament: Tournament) -> str:
    """As Django reads it."""
    return Tournament.objects.get(pk=tournament.pk).name


def break_within(tournament: Tournament) -> None:
    with transaction.atomic():
        rows.execute(NAME, ["within", tournament.pk])
        rows.execute("UPDATE tournaments_tournament SET pool_size = %s WHERE id = %s", [0, tournament.pk])


def interrupted(tournament: Tournament) -> None:
    with transaction.atomic(), rows.together():
        rows.execute(NAME, ["otherwise", tournament.pk])
        raise ValueError("no")


def refused(tournament: Tournament) -> None:
    with transaction.atomic(), rows.together():
        rows.execute(NAME, ["otherwise", tournament.pk])
        rows.execute("UPDATE tournaments_tournament SET pool_size = %s WHERE id = %s", [0, tournament.pk])


def test_statements_that_answer_nothing_go_with_the_next_that_does_and_in_order() -> None:
    tournament, sent = making.tournament(start=False), Sent()
    with connection.execute_wrapper(sent), transaction.atomic(), rows.together():
        rows.execute(NAME, ["one", tournament.pk])
        assert rows.fetch_one("SELECT name FROM tournaments_tournament WHERE id = %s", [tournament.pk]) == ("one",)
        rows.execute(NAME, ["two", tournament.pk])
        assert name_of(tournament) == "two"
        rows.execute(NAME, ["three", tournament.pk])
        rows.execute(NAME, ["four", tournament.pk])
    assert name_of(tournament) == "four"
    assert [sql.count("EXECUTE") for sql in sent.statements if sql.startswith("EXECUTE")] == [2, 1, 2]


def test_a_savepoint_that_is_rolled_back_takes_back_its_own_statements_alone() -> None:
    tournament = making.tournament(start=False)
    with transaction.atomic(), rows.together():
        rows.execute(NAME, ["before", tournament.pk])
        with pytest.raises(IntegrityError):
            break_within(tournament)
        assert name_of(tournament) == "before"


@pytest.mark.django_db(transaction=True)
def test_what_waits_is_forgotten_with_its_transaction() -> None:
    tournament = making.tournament(name="as it was", start=False)
    with pytest.raises(ValueError, match="no"):
        interrupted(tournament)
    with pytest.raises(IntegrityError):
        refused(tournament)
    rows.execute("UPDATE tournaments_tournament SET reason = %s WHERE id = %s", ["later", tournament.pk])
    tournament.refresh_from_db()
    assert (tournament.name, tournament.reason) == ("as it was", "later")


@pytest.mark.django_db(transaction=True)
def test_statements_are_prepared_anew_on_a_new_connection_and_outlive_a_rollback() -> None:
    sql = "SELECT %s::int + 1"
    with transaction.atomic():
        assert rows.fetch_one(sql, [1]) == (2,)
        transaction.set_rollback(True)
    assert rows.fetch_one(sql, [2]) == (3,)
    connection.close()
    assert rows.fetch_one(sql, [3]) == (4,)
