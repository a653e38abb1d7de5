"""The embedded PostgreSQL, for real: its data, its end, and what a killed run leaves."""

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import psycopg2
import pytest

from tests.stack import all_killed
from webapp.embedded import process
from webapp.embedded.postgres import EmbeddedPostgres
from webapp.embedded.process import Identity, ServiceError
from webapp.embedded.registry import Services

Running = Callable[[], list[psutil.Process]]


def ask(url: str, sql: str) -> list[tuple[object, ...]]:
    connection = psycopg2.connect(url)
    try:
        with connection, connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall() if cursor.description else []
    finally:
        connection.close()


def test_what_was_written_is_there_after_a_restart_and_nothing_runs_in_between(
    postgres: EmbeddedPostgres, running: Running
) -> None:
    url = postgres.start()
    ask(url, "CREATE TABLE lap AS SELECT 42 AS seconds")
    postgres.stop()
    assert not postgres.is_running()
    assert running() == []
    assert ask(postgres.start(), "SELECT seconds FROM lap") == [(42,)]


def test_data_of_a_killed_run_is_recovered_and_the_next_stop_leaves_nothing(
    home: Path, services: Services, postgres: EmbeddedPostgres, running: Running
) -> None:
    ask(postgres.start(), "CREATE TABLE lap AS SELECT 42 AS seconds")
    all_killed(running())
    second = EmbeddedPostgres(home, services, durable=False)
    assert ask(second.start(), "SELECT seconds FROM lap") == [(42,)]
    second.stop()
    assert running() == []


def test_a_server_that_outlived_its_run_is_replaced(
    home: Path, services: Services, postgres: EmbeddedPostgres, running: Running
) -> None:
    postgres.start()
    second = EmbeddedPostgres(home, services, durable=False)
    assert second.is_running()
    second.start()
    assert postgres.process is not None
    assert postgres.process.poll() is not None
    second.stop()
    assert running() == []


def test_a_pid_that_now_is_another_programs_is_neither_ended_nor_in_the_way(postgres: EmbeddedPostgres) -> None:
    postgres.start()
    pid_file = postgres.data / "postmaster.pid"
    lines = pid_file.read_text().splitlines()
    postgres.stop()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        pid_file.write_text("\n".join([str(stranger.pid), *lines[1:]]) + "\n")
        assert not postgres.is_running()
        postgres.start()
        postgres.stop()
        assert stranger.poll() is None
        stranger.communicate(b"\n")


def test_it_works_below_a_folder_that_only_root_may_enter_and_opens_nothing(
    home: Path, services: Services, postgres: EmbeddedPostgres
) -> None:
    home.chmod(0o700)
    postgres.start()
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert stat.S_IMODE(postgres.data.stat().st_mode) == 0o700


def test_it_works_below_a_very_long_path(home: Path, services: Services) -> None:
    deep = home / ("long-" * 20) / ("longer-" * 14)
    deep.mkdir(parents=True)
    server = EmbeddedPostgres(deep, services, durable=False)
    try:
        assert ask(server.start(), "SELECT 1") == [(1,)]
    finally:
        server.stop()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root needs another identity for PostgreSQL")
def test_it_works_where_root_may_not_make_user_namespaces(
    monkeypatch: pytest.MonkeyPatch, postgres: EmbeddedPostgres
) -> None:
    monkeypatch.setattr(process, "ordinary_identity", lambda: Identity("account", 65534))
    assert ask(postgres.start(), "SELECT 1") == [(1,)]
    assert postgres.process is not None
    assert psutil.Process(postgres.process.pid).uids().effective == 65534


def test_a_wrong_password_is_refused(postgres: EmbeddedPostgres) -> None:
    url = postgres.start()
    with pytest.raises(psycopg2.OperationalError, match="password authentication failed"):
        ask(url.replace(postgres.services.postgres_password, "wrong"), "SELECT 1")


def test_a_start_that_fails_says_why_in_one_sentence(postgres: EmbeddedPostgres, running: Running) -> None:
    postgres.start()
    postgres.stop()
    (postgres.data / "postgresql.conf").write_text("work_mem = 'many'\n")
    with pytest.raises(ServiceError, match=r"PostgreSQL did not start.*work_mem") as caught:
        postgres.start()
    assert "\n" not in str(caught.value)
    assert running() == []
