"""The whole of `make run`: what it promises while it runs, when it is stopped, and after it was killed."""

import contextlib
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg2
import pytest
from django.conf import settings

from tests.stack import REPOSITORY, Stack, all_killed, wait_for
from tests.webapp.embedded.conftest import processes_of

LINK = re.compile(r"^http://127\.0\.0\.1:\d+/sign-in/link/\S+$", re.MULTILINE)
SERVICES = ("postgres", "valkey")
PROGRAMS = ("web", "worker", "scheduler")


@pytest.fixture(scope="module")
def deep_home() -> Iterator[Path]:
    """A home whose path no unix socket would fit in."""
    with tempfile.TemporaryDirectory(prefix="podracer-home-") as folder:
        home = Path(folder).resolve() / ("long-" * 20) / "home"
        home.parent.mkdir()
        yield home


@pytest.fixture(scope="module")
def stack_of_all(deep_home: Path) -> Iterator[Stack]:
    """One for all tests; not started."""
    whole = Stack(deep_home, PODRACER_SLOTS="1")
    yield whole
    whole.stop()


@pytest.fixture
def stack(stack_of_all: Stack) -> Stack:
    """Running, even if the test before ended it."""
    if stack_of_all.process is None:
        stack_of_all.start()
    return stack_of_all


def is_ready(stack: Stack) -> bool:
    try:
        with urllib.request.urlopen(f"{stack.url}/readyz", timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def nothing_runs_on(home: Path) -> bool:
    return processes_of(home) == []


def test_the_link_is_alone_on_its_line_and_signs_in_once(stack: Stack) -> None:
    link = LINK.findall(stack.log())[-1]
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with opener.open(link, timeout=10) as page:
        assert page.status == 200
    with opener.open(f"{stack.url}/", timeout=10) as page:
        assert "/sign-in" not in page.url


def test_the_owners_token_is_private_and_opens_the_api(stack: Stack) -> None:
    path = stack.home / "owner-token"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stack.api("GET", "/tournaments")["count"] == 0


def test_every_secret_is_a_file_for_its_owner_alone(stack: Stack) -> None:
    for name in ("owner-token", "secret-key", "services-key", "run/services.json"):
        assert stat.S_IMODE((stack.home / name).stat().st_mode) == 0o600, name
    assert stat.S_IMODE(stack.home.stat().st_mode) == 0o700


def test_a_second_start_on_the_same_home_is_refused(stack: Stack) -> None:
    second = subprocess.run(
        [sys.executable, "manage.py", "up"],
        cwd=REPOSITORY,
        env=stack.environment | {"PORT": str(stack.port + 1)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert second.returncode == 1
    assert f"Podracer already runs on {stack.home}" in second.stderr
    assert is_ready(stack)


def test_commands_beside_it_find_its_database(stack: Stack) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "migrate", "--check"],
        cwd=REPOSITORY,
        env=stack.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_web_process_stays_light(stack: Stack) -> None:
    web = psutil.Process(stack.pid_of("web"))
    assert web.memory_info().rss < 200 * 2**20
    assert not [loaded.path for loaded in web.memory_maps() if "torch" in loaded.path]


def replaced(stack: Stack, name: str, first: int) -> bool:
    try:
        return stack.pid_of(name) != first
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("name", [*PROGRAMS, *SERVICES])
def test_what_is_killed_is_back(stack: Stack, name: str) -> None:
    first = stack.pid_of(name)
    os.kill(first, signal.SIGKILL)
    wait_for(lambda: replaced(stack, name, first), 20, f"another {name}")
    wait_for(lambda: is_ready(stack), 30, "/readyz answering 200 again")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
@pytest.mark.parametrize("name", PROGRAMS)
def test_many_signals_at_once_end_a_program_like_one(stack: Stack, name: str, number: signal.Signals) -> None:
    """As when a process of many threads is killed, whose end is told to its children once for each."""
    first = psutil.Process(stack.pid_of(name))
    with contextlib.suppress(psutil.NoSuchProcess):
        for _ in range(200):
            first.send_signal(number)
    wait_for(lambda: replaced(stack, name, first.pid), 20, f"another {name}")
    wait_for(lambda: is_ready(stack), 30, "/readyz answering 200 again")


def test_ctrl_c_stops_everything_and_all_data_is_there_after_the_next_start(stack: Stack) -> None:
    token = stack.token
    process = stack.process
    assert process is not None
    stack.stop()
    assert process.returncode == 0
    assert nothing_runs_on(stack.home)
    assert stack.start() < 60
    assert stack.token == token
    assert stack.api("GET", "/tournaments")["count"] == 0


def test_a_killed_run_is_recovered_and_the_stop_after_that_leaves_nothing(stack: Stack) -> None:
    token = stack.token
    assert stack.process is not None
    victims = processes_of(stack.home)
    assert len(victims) > 10
    all_killed(victims)
    stack.process.wait(10)
    stack.start()
    assert stack.token == token
    stack.stop()
    assert nothing_runs_on(stack.home)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the next start ends them")
def test_when_only_the_supervisor_is_killed_the_rest_ends_by_itself(stack: Stack) -> None:
    assert stack.process is not None
    stack.process.kill()
    stack.process.wait(10)
    stack.process = None
    wait_for(lambda: nothing_runs_on(stack.home), 40, "the end of everything")


def test_a_second_ctrl_c_hurries(stack: Stack) -> None:
    assert stack.process is not None
    process = stack.process
    os.kill(stack.pid_of("worker"), signal.SIGSTOP)  # it will not obey
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    wait_for(lambda: "Stopping." in stack.log().rpartition("is ready")[2], 10, "the first being heard")
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0
    stack.process = None
    assert time.monotonic() - began < 15
    assert nothing_runs_on(stack.home)


def test_servers_of_ones_own_are_used_instead(tmp_path: Path) -> None:
    url = settings.DATABASE_URL.rpartition("/")[0]
    connection = psycopg2.connect(f"{url}/postgres")
    connection.autocommit = True
    connection.cursor().execute("CREATE DATABASE own_server")
    try:
        home = tmp_path / "home"
        own = {"DATABASE_URL": f"{url}/own_server", "REDIS_URL": settings.REDIS_URL, "PODRACER_SLOTS": "1"}
        with Stack(home, None, **own) as running:
            assert running.api("GET", "/tournaments")["count"] == 0
            assert not (home / "postgres").exists()
            assert not (home / "run" / "valkey.json").exists()
        assert nothing_runs_on(home)
        with psycopg2.connect(f"{url}/own_server") as own_connection, own_connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM auth_user")
            assert cursor.fetchone() == (1,)
        own_connection.close()
    finally:
        connection.cursor().execute("DROP DATABASE own_server WITH (FORCE)")
        connection.close()


def test_a_database_that_does_not_answer_is_one_sentence(tmp_path: Path) -> None:
    own = {"DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none", "REDIS_URL": settings.REDIS_URL}
    stack = Stack(tmp_path / "home", None, **own)
    done = subprocess.run(
        [sys.executable, "-m", "webapp.embedded"],
        cwd=REPOSITORY,
        env=stack.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("podracer: The database does not answer: ")
    assert done.stderr.count("\n") == 1
