"""The warm child that runs pods one after another. This side, its parent, loads no torch.

The child is a program of its own, in its own session: a Ctrl-C in the terminal does not reach it, `kill` ends
it with all that it started, and it ends at once when its parent does, also in the middle of training.
"""

import argparse
import ctypes
import gc
import logging
import os
import queue
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from podracer_core.errors import DeviceUnavailableError, PodProcessLostError
from podracer_core.progress import Directive, Log, Outcome, PodMessage, PodResult
from podracer_core.spec import PodPlan

START_SECONDS = 120.0
"""How long importing torch and warming the device may take."""

HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
"""Environment of a process that trains: its heap is of huge pages where glibc, from 2.35 on, and the kernel have them.
An update walks through megabytes, and through thousands of ordinary pages."""

logger = logging.getLogger(__name__)


class PodProcess:
    """One child on one device. Not for use from several threads at once, `direct` and `kill` apart.

    device: "auto", "cpu", "cuda" or "cuda:N"; threads: what torch is warmed with, each plan sets its own
    """

    def __init__(self, device: str = "cpu", threads: int = 1) -> None:
        self.device, self.threads = device, threads
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection[Any, Any] | None = None
        self._launcher: ThreadPoolExecutor | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Starts the child and waits until it is warm. Does nothing when it is alive.

        Raises DeviceUnavailableError where this machine lacks the device, PodProcessLostError where it dies.
        """
        if self.alive:
            return
        self.close()
        self._connection, theirs = Pipe()
        command = [sys.executable, "-m", "podracer_core.pod_process", f"--pipe={theirs.fileno()}"]
        command += [f"--device={self.device}", f"--threads={self.threads}", f"--parent={os.getpid()}"]
        # The child dies with the *thread* that made it (PR_SET_PDEATHSIG), so that thread must outlive the call.
        self._launcher = ThreadPoolExecutor(1, thread_name_prefix="pod-launcher")
        self._process = self._launcher.submit(
            subprocess.Popen,
            command,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            env={**HUGE_PAGES, **os.environ, "PYTHONPATH": _python_path()},
        ).result()
        theirs.close()
        answer = self._receive(START_SECONDS)
        if answer != "ready":
            self.close()
            if answer is None:
                raise PodProcessLostError(f"The pod process did not start within {START_SECONDS:.0f} seconds.")
            raise DeviceUnavailableError(str(answer))

    def submit(self, plan: PodPlan) -> None:
        """Begins a pod; its messages come from `poll`, the PodResult last. One at a time.

        Raises PodProcessLostError.
        """
        self._send(plan)

    def poll(self, timeout: float) -> PodMessage | None:
        """The next message, or None after `timeout` seconds without. Raises PodProcessLostError."""
        message: PodMessage | None = self._receive(timeout)
        return message

    def direct(self, directive: Directive) -> None:
        """Tells the running pod. A child that is gone cannot be told, which `poll` reports."""
        with suppress(PodProcessLostError):
            self._send(directive)

    def kill(self) -> None:
        """Ends the child and everything in its process group, now."""
        if self._process is None:
            return
        if self._process.poll() is None:
            self._kill_group(self._process.pid)
        self._process.wait()

    @staticmethod
    def _kill_group(pid: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)

    def close(self) -> None:
        """Ends the child and frees what this side holds. `start` may follow."""
        self.kill()
        if self._connection:
            self._connection.close()
            self._connection = None
        if self._launcher:
            self._launcher.shutdown()
            self._launcher = None
        self._process = None

    def __enter__(self) -> "PodProcess":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, message: Any) -> None:
        if self._connection is None:
            raise PodProcessLostError("The pod process is not running; start it first.")
        try:
            self._connection.send(message)
        except OSError:
            raise self._lost() from None

    def _receive(self, timeout: float) -> Any:
        if self._connection is None:
            raise PodProcessLostError("The pod process is not running; start it first.")
        try:
            return self._connection.recv() if self._connection.poll(timeout) else None
        except (EOFError, OSError):
            raise self._lost() from None

    def _lost(self) -> PodProcessLostError:
        """Says how the child ended; whatever is left of its group is killed."""
        if self._process is None:
            return PodProcessLostError("The pod process was closed by another thread.")
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        status = self._process.poll()
        pid = self._process.pid
        self._kill_group(pid)
        self._process.wait()
        if status is None:
            how = "closed its pipe"
        elif status < 0:
            how = f"was ended by {signal.Signals(-status).name}"
        else:
            how = f"ended with status {status}"
        return PodProcessLostError(f"The pod process (pid {pid}) {how}.")


def _python_path() -> str:
    """Where the child finds this package, wherever its parent was started."""
    root = str(Path(__file__).resolve().parent.parent)
    inherited = os.environ.get("PYTHONPATH")
    return f"{root}{os.pathsep}{inherited}" if inherited else root


# The child


class _Inbox:
    """Reads what the parent sends, in a thread: plans to a queue, the latest directive to a field.

    Ends the process the moment the parent is gone.
    """

    def __init__(self, connection: "Connection[Any, Any]", parent: int) -> None:
        self.plans: queue.SimpleQueue[PodPlan] = queue.SimpleQueue()
        self.directive = Directive.CONTINUE
        self._connection, self._parent = connection, parent
        threading.Thread(target=self._read, name="pod-inbox", daemon=True).start()

    def _read(self) -> None:
        try:
            while True:
                # Another process may hold the parent's end open, so that the pipe alone does not tell.
                while not self._connection.poll(1.0):
                    if os.getppid() != self._parent:
                        raise EOFError
                message = self._connection.recv()
                if isinstance(message, PodPlan):
                    self.directive = Directive.CONTINUE
                    self.plans.put(message)
                else:
                    self.directive = message
        except (EOFError, OSError):
            _end_group()


def _end_group() -> None:
    """Ends this process and what it started, with no farewell: the main thread may be deep in a computation."""
    os.killpg(0, signal.SIGKILL)


def _die_with_parent(parent: int) -> None:
    """Where the system has it, the kernel sees to it too. Ends at once where the parent is gone already."""
    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
    if os.getppid() != parent:
        _end_group()


def _warm(device_name: str, threads: int) -> None:
    """Imports what a pod needs and runs a short one, so that the first real pod begins at once."""
    import tempfile

    import torch

    from podracer_core.device import flush_denormals, resolve_device
    from podracer_core.hyperparameters import complete
    from podracer_core.pod import Pod

    torch.set_num_threads(threads)
    flush_denormals()
    resolve_device(device_name)
    with tempfile.TemporaryDirectory(prefix="podracer-warm-") as directory:
        plan = PodPlan(
            env_id="CartPole-v1",
            algorithm="ppo",
            hyperparameters=complete("ppo").model_dump(),
            seed=0,
            num_envs=2,
            device=str(resolve_device(device_name)),
            threads=threads,
            env_steps=64,
            eval_episodes=2,
            directory=directory,
        )
        for message in Pod(plan).run():
            logger.debug("warming: %s", message)
    gc.collect()
    gc.freeze()  # what is loaded stays, so that collecting after each pod looks at that pod's objects only


def _run_pod(plan: PodPlan, inbox: _Inbox, connection: "Connection[Any, Any]") -> None:
    from podracer_core.pod import Pod

    try:
        for message in Pod(plan, lambda: inbox.directive).run():
            connection.send(message)
    except Exception as error:  # a fault of ours must reach the person who waits for this pod, not end the child
        logger.exception("The pod failed in a way that it does not know.")
        reason = f"Internal error: {type(error).__name__}: {error}"
        connection.send(Log(reason, level="error"))
        connection.send(PodResult(Outcome.FAILED, env_steps=0, seconds=0.0, reason=reason, retryable=True))


def _free_memory() -> None:
    """Gives a finished pod's memory back to the device and to the system."""
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    if sys.platform == "linux":
        with suppress(AttributeError, OSError):  # a C library without malloc_trim
            ctypes.CDLL(None).malloc_trim(0)


def main() -> None:
    """What the child runs: --pipe FD --device NAME --threads N --parent PID."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pipe", type=int, required=True)
    parser.add_argument("--device", required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--parent", type=int, required=True)
    arguments = parser.parse_args()
    _die_with_parent(arguments.parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection: Connection[Any, Any] = Connection(arguments.pipe)
    inbox = _Inbox(connection, arguments.parent)
    try:
        _warm(arguments.device, arguments.threads)
    except DeviceUnavailableError as error:
        connection.send(str(error))
        return
    connection.send("ready")
    while True:
        _run_pod(inbox.plans.get(), inbox, connection)
        _free_memory()


if __name__ == "__main__":
    main()
