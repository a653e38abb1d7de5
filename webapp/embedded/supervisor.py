"""`make run`: the services, what they need, and the three programs of Podracer, kept running until Ctrl-C."""

import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

from podracer_core.errors import PodracerError
from webapp import environment
from webapp.embedded import process, startup
from webapp.embedded.child import Child
from webapp.embedded.logbook import LogBook, file_trim
from webapp.embedded.postgres import EmbeddedPostgres
from webapp.embedded.process import ServiceError
from webapp.embedded.registry import base_url_write, run_folder, services_plan
from webapp.embedded.valkey import EmbeddedValkey
from webapp.stop_signals import on_signals

PROGRAMS = ["web", "scheduler", "worker"]
"""In the order in which they are stopped: nobody asks any more, nothing new is given out, pods are saved."""

TICK_SECONDS = 0.1
SECONDS_TO_STOP = {"web": 5.0, "scheduler": 5.0, "worker": 20.0}


class Supervisor:
    """Starts everything, watches it, and stops it in order."""

    def __init__(self, home: Path, host: str, port: int) -> None:
        self.home = home
        self.host = host
        self.port = port
        self.log = LogBook(home / "logs")
        self.children: list[Child] = []
        self.stopping = threading.Event()
        self.hurry = threading.Event()
        self.was_ready = False

    def signalled(self) -> None:
        """The first signal asks to stop, the second not to wait."""
        (self.hurry if self.stopping.is_set() else self.stopping).set()

    def run(self) -> None:
        """Until a signal comes. Whatever happens, nothing is left running."""
        asking = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup means it
            asking.append(signal.SIGHUP)
        on_signals(asking, self.signalled)
        try:
            self.services_start()
            if not self.stopping.is_set():
                self.prepare()
            if not self.stopping.is_set():
                self.programs_start()
            ticks = 0
            while not self.stopping.wait(TICK_SECONDS):
                self.tick()
                ticks += 1
                if ticks % 600 == 0:
                    self.logs_trim()
        finally:
            self.stop()

    def services_start(self) -> None:
        """PostgreSQL and Valkey, each only where no URL is given. The URLs go to everything that we start."""
        services = services_plan(self.home)
        valkey, postgres = EmbeddedValkey(self.home, services), EmbeddedPostgres(self.home, services)
        # Stopped last, so first in the list.
        if not os.environ.get("DATABASE_URL"):
            os.environ["DATABASE_URL"] = services.database_url
            self.children.append(self._service(postgres))
        if not os.environ.get("REDIS_URL"):
            os.environ["REDIS_URL"] = services.redis_url
            self.children.append(self._service(valkey))
        loading = _Loading()
        loading.start()
        for child in self.children:
            child.start()
        for service in (postgres, valkey):
            if service.process is not None:
                service.wait_ready()
        if postgres.process is not None:
            postgres.database_ensure()
        loading.result()

    def prepare(self) -> None:
        """Tables, static files, the owner's token and the sign-in link, before anything answers."""
        from django.db import OperationalError, connections

        from webapp.embedded import preparation

        try:
            preparation.broker_check()
            if preparation.database_prepare():
                self.log.line("podracer", "The database's tables are up to date.")
            preparation.static_prepare()
            link = preparation.owner_prepare(self.base_url)
        except OperationalError as error:
            raise ServiceError(f"The database does not answer: {' '.join(str(error).split())}") from error
        finally:
            connections.close_all()
        self.log.line("podracer", "Sign in by this link, once:")
        self.log.plain(link)

    def programs_start(self) -> None:
        """Web, worker, scheduler."""
        base_url_write(self.home, self.base_url)
        for name in reversed(PROGRAMS):
            child = self._program(name)
            self.children.append(child)
            child.start()

    def tick(self) -> None:
        """Look after every child. Raises ServiceError if the web server never came up and keeps ending."""
        for child in self.children:
            child.keep()
            if child.name == "web" and child.keeps_ending() and not self.was_ready:
                raise ServiceError(child.complaint())
        if not self.was_ready and self._answers():
            self.was_ready = True
            self.log.line("podracer", f"Podracer is ready at {self.base_url} (Ctrl-C stops it)")

    def stop(self) -> None:
        """Web, scheduler, worker, Valkey, PostgreSQL: those that lean on others first."""
        if self.children:
            self.log.line("podracer", "Stopping.")
        for child in reversed(self.children):
            child.stop(self.hurry)

    def logs_trim(self) -> None:
        """The services write their logs themselves."""
        for name in ("postgres", "valkey"):
            file_trim(self.home / "logs" / f"{name}.log")

    @property
    def base_url(self) -> str:
        """The dashboard's address for a browser on this machine."""
        host = self.visible_host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    @property
    def visible_host(self) -> str:
        """An address where the web server is reached from here."""
        return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection(self.visible_host, self.port, timeout=1)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _service(self, service: EmbeddedPostgres | EmbeddedValkey) -> Child:
        def spawn() -> subprocess.Popen[bytes]:
            service.leftover_end()
            return service.spawn()

        return Child(
            service.name,
            spawn,
            self.log,
            record=run_folder(self.home) / f"{service.name}.json",
            stop_signals=service.stop_signals,
            last_words=lambda: process.last_words(service.log),
        )

    def _program(self, name: str) -> Child:
        command = [sys.executable, *self._arguments(name)]
        # A worker that is started again under its own name takes over at once what the one before it ran.
        environment = {"PODRACER_WORKER_NAME": socket.gethostname(), **os.environ}
        return Child(
            name,
            lambda: process.launch(command, output=subprocess.PIPE, environment=environment),
            self.log,
            record=run_folder(self.home) / f"{name}.json",
            stop_signals=[(signal.SIGTERM, SECONDS_TO_STOP[name])],
        )

    def _arguments(self, name: str) -> list[str]:
        if name == "worker":
            return ["-m", "workers"]
        if name == "scheduler":
            return ["manage.py", "scheduler"]
        address = ["--host", self.host, "--port", str(self.port)]
        quiet = ["--lifespan", "off", "--no-access-log", "--no-use-colors", "--no-server-header"]
        patience = ["--timeout-graceful-shutdown", "2"]
        # To squeeze the same message for each of many viewers would take longer than to send it.
        plain = ["--ws-per-message-deflate", "false"]
        return ["-m", "uvicorn", "webapp.asgi:application", *address, *quiet, *patience, *plain]


class _Loading(threading.Thread):
    """Imports Django and our apps while the services start."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.error: Exception | None = None

    def run(self) -> None:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
        import django

        try:
            django.setup()
        except Exception as error:  # whatever it is, result() raises it in the thread that waits
            self.error = error

    def result(self) -> None:
        """Wait until all is imported; raises what went wrong."""
        self.join()
        if self.error is not None:
            raise self.error


def main() -> int:
    """Run until stopped; 1 with one sentence where that is not possible."""
    try:
        home = environment.home_ensure(environment.home_folder())
        host, port = environment.host_configured(), environment.port_configured()
        startup.disk_check(home)
        startup.home_lock(home)
        startup.leftovers_end(home, PROGRAMS)
        startup.address_check(host, port)
        # The programs find us by module name, and the home by its full path, from wherever this was started.
        os.environ.update(PODRACER_HOME=str(home), PYTHONUNBUFFERED="1")
        os.chdir(environment.REPOSITORY)
        Supervisor(home, host, port).run()
    except PodracerError as error:
        print(f"podracer: {error}", file=sys.stderr, flush=True)
        return 1
    except OSError as error:
        print(f"podracer: {_os_problem(error)}", file=sys.stderr, flush=True)
        return 1
    return 0


def _os_problem(error: OSError) -> str:
    where = f" at {error.filename}" if error.filename else ""
    return f"the system refused: {error.strerror or error}{where}."
