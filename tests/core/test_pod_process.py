"""The child that runs pods: warm, killable, gone with its parent."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from podracer_core.errors import DeviceUnavailableError, PodProcessLostError
from podracer_core.pod_process import PodProcess
from podracer_core.progress import Directive, Log, Outcome, PodMessage, PodResult, Progress
from podracer_core.spec import PodPlan
from tests.core.making import make_plan

LONG = 10**9
LIMIT = 60.0
MOST_BYTES_AT_REST = 450 * 1024**2


@pytest.fixture(scope="module")
def warm() -> Iterator[PodProcess]:
    """One child for the tests that leave it alive."""
    with PodProcess("cpu", threads=1) as process:
        yield process


@pytest.fixture
def process() -> Iterator[PodProcess]:
    with PodProcess("cpu", threads=1) as process:
        yield process


def messages(process: PodProcess, until: Callable[[PodMessage], bool]) -> list[PodMessage]:
    """All up to the first for which `until` holds."""
    seen: list[PodMessage] = []
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        message = process.poll(0.5)
        if message is None:
            continue
        seen.append(message)
        if until(message):
            return seen
    raise AssertionError(f"not within {LIMIT} s; seen {seen}")


def result_of(process: PodProcess) -> PodResult:
    result = messages(process, lambda message: isinstance(message, PodResult))[-1]
    assert isinstance(result, PodResult)
    return result


def begin(process: PodProcess, plan: PodPlan) -> None:
    """Submits and waits until it trains."""
    process.submit(plan)
    messages(process, lambda message: isinstance(message, Progress))


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        os.sched_yield()


def processor_seconds(process: PodProcess) -> float:
    used = psutil.Process(process.pid).cpu_times()
    return used.user + used.system


def gone(pid: int) -> bool:
    """Ended; one that nobody has waited for yet has ended too."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_pods_run_one_after_another_in_the_same_process(warm: PodProcess, tmp_path: Path) -> None:
    pid = warm.pid
    for seed in (1, 2):
        warm.submit(make_plan(tmp_path, env_steps=512, seed=seed))
        assert result_of(warm).outcome is Outcome.FINISHED
    assert warm.pid == pid
    assert warm.alive


def test_a_process_at_rest_takes_little_memory(warm: PodProcess, tmp_path: Path) -> None:
    warm.submit(make_plan(tmp_path))
    assert result_of(warm).outcome is Outcome.FINISHED
    assert warm.pid is not None
    assert psutil.Process(warm.pid).memory_info().rss < MOST_BYTES_AT_REST


def test_its_heap_is_of_huge_pages_unless_the_operator_has_tuned_malloc(
    warm: PodProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert warm.pid is not None
    assert psutil.Process(warm.pid).environ()["GLIBC_TUNABLES"] == "glibc.malloc.hugetlb=1"
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.arena_max=2")
    with PodProcess("cpu", threads=1) as other:
        assert other.pid is not None
        assert psutil.Process(other.pid).environ()["GLIBC_TUNABLES"] == "glibc.malloc.arena_max=2"


def test_a_warm_process_begins_a_pod_at_once(warm: PodProcess, tmp_path: Path) -> None:
    """Set up within half a second of processor time, a third of a cold start's; benchmarks measure the seconds."""
    before, began = processor_seconds(warm), time.monotonic()
    warm.submit(make_plan(tmp_path, env_steps=256))
    messages(warm, lambda message: isinstance(message, Log))
    assert processor_seconds(warm) - before < 0.5
    assert time.monotonic() - began < 10, "it waits for something"
    result_of(warm)


@pytest.mark.parametrize(
    ("directive", "outcome"), [(Directive.PAUSE, Outcome.PAUSED), (Directive.STOP, Outcome.STOPPED)]
)
def test_a_running_pod_is_told(warm: PodProcess, directive: Directive, outcome: Outcome, tmp_path: Path) -> None:
    begin(warm, make_plan(tmp_path, env_steps=LONG))
    warm.direct(directive)
    assert result_of(warm).outcome is outcome
    warm.submit(make_plan(tmp_path, env_steps=256))  # what the last pod was told does not reach the next
    assert result_of(warm).outcome is Outcome.FINISHED


def test_nothing_said_is_none(warm: PodProcess) -> None:
    assert warm.poll(0.0) is None


def test_a_fault_of_ours_ends_the_pod_and_not_the_process(warm: PodProcess, tmp_path: Path) -> None:
    broken = make_plan(tmp_path).model_copy(update={"hyperparameters": None})
    warm.submit(broken)
    result = result_of(warm)
    assert result.outcome is Outcome.FAILED
    assert "Internal error" in result.reason
    warm.submit(make_plan(tmp_path, env_steps=256))
    assert result_of(warm).outcome is Outcome.FINISHED


def test_a_killed_child_is_lost_with_its_signal_and_a_new_start_works(process: PodProcess, tmp_path: Path) -> None:
    begin(process, make_plan(tmp_path, env_steps=LONG))
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(PodProcessLostError, match="SIGKILL"):
        result_of(process)
    assert not process.alive
    with pytest.raises(PodProcessLostError):
        process.poll(0.0)
    process.start()
    process.submit(make_plan(tmp_path, env_steps=256))
    assert result_of(process).outcome is Outcome.FINISHED


def test_kill_ends_a_pod_in_the_middle(process: PodProcess, tmp_path: Path) -> None:
    begin(process, make_plan(tmp_path, env_steps=LONG))
    pid = process.pid
    process.kill()
    assert pid is not None
    assert gone(pid)
    with pytest.raises(PodProcessLostError):
        result_of(process)


PARENT = """
import sys
from podracer_core.pod_process import PodProcess
from podracer_core.progress import Progress
from podracer_core.spec import PodPlan
assert "torch" not in sys.modules, "the parent's side must stay light"
process = PodProcess("cpu", threads=1)
process.start()
process.submit(PodPlan.model_validate_json(sys.argv[1]))
while not isinstance(process.poll(1.0), Progress):
    pass
print(process.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_the_child_is_gone_when_its_parent_dies_in_the_middle_of_training(how: signal.Signals, tmp_path: Path) -> None:
    plan = make_plan(tmp_path, env_steps=LONG)
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, plan.model_dump_json()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert not gone(child)
        parent.send_signal(how)
    wait_until(lambda: gone(child))


def test_the_child_is_out_of_reach_of_a_ctrl_c_in_the_terminal(warm: PodProcess) -> None:
    assert warm.pid is not None
    assert os.getsid(warm.pid) == warm.pid != os.getsid(0)


def test_a_device_that_is_not_there_is_named() -> None:
    process = PodProcess("cuda:97")
    with pytest.raises(DeviceUnavailableError, match="'cuda:97' is not on this machine"):
        process.start()
    assert not process.alive
