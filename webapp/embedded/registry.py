"""Where the embedded services of a home listen, and with which passwords: `run/services.json`, mode 0600.

Written once by whoever starts the services first; read by every command that runs beside them.
"""

import json
import os
import random
import socket
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from urllib.parse import quote

from webapp.environment import ConfigurationError, secret_file

# Below the range that Linux hands to outgoing connections, so that last run's port is still free.
PORTS = range(20000, 32000)
DATABASE = "podracer"
USER = "podracer"
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Services:
    """Ports on the loopback address and passwords of the two services."""

    postgres_port: int
    postgres_password: str
    valkey_port: int
    valkey_password: str

    @property
    def database_url(self) -> str:
        return f"postgresql://{USER}:{quote(self.postgres_password)}@{LOOPBACK}:{self.postgres_port}/{DATABASE}"

    @property
    def redis_url(self) -> str:
        return f"redis://:{quote(self.valkey_password)}@{LOOPBACK}:{self.valkey_port}/0"


# What a home without services has: addresses at which nothing answers, so that settings can be loaded.
NO_SERVICES = Services(1, "none", 1, "none")


def run_folder(home: Path) -> Path:
    """The folder for what only lives while Podracer runs; closed to others."""
    folder = home / "run"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def services_read(home: Path) -> Services | None:
    """The services of this home, or None where none were ever started."""
    path = home / "run" / "services.json"
    try:
        return Services(**json.loads(path.read_text()))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise ConfigurationError(
            f"{path} is damaged ({error}): delete it while Podracer is stopped, and start again."
        ) from error


def services_plan(home: Path) -> Services:
    """The services to start: the last run's, with other ports where theirs are taken. Writes the file."""
    known = services_read(home)
    if known is None:
        # Kept apart from the ports: whoever empties `run/` must still be let into the database.
        password = secret_file(home / "services-key")
        known = Services(port_free(), password, port_free(), password)
    if not port_is_free(known.postgres_port):
        known = replace(known, postgres_port=port_free())
    if not port_is_free(known.valkey_port) or known.valkey_port == known.postgres_port:
        known = replace(known, valkey_port=port_free(besides=known.postgres_port))
    private_file_write(run_folder(home) / "services.json", json.dumps(asdict(known), indent=1) + "\n")
    return known


def database_url(home: Path) -> str:
    """The embedded PostgreSQL's URL."""
    return (services_read(home) or NO_SERVICES).database_url


def redis_url(home: Path) -> str:
    """The embedded Valkey's URL."""
    return (services_read(home) or NO_SERVICES).redis_url


def base_url_write(home: Path, url: str) -> None:
    """Note where the dashboard of this home is reached, for commands beside it."""
    private_file_write(run_folder(home) / "base-url", f"{url}\n")


def base_url(home: Path) -> str:
    """Where the dashboard of this home was reached last, "" where it never ran."""
    try:
        return (home / "run" / "base-url").read_text().strip()
    except FileNotFoundError:
        return ""


def port_is_free(port: int, host: str = LOOPBACK) -> bool:
    """Whether a server could listen on this port now."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        # As servers do: a port that only waits out its last connections counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def port_free(besides: int | None = None) -> int:
    """A random port that nobody listens on."""
    for _ in range(200):
        port = random.choice(PORTS)
        if port != besides and port_is_free(port):
            return port
    raise ConfigurationError(f"No free port was found between {PORTS.start} and {PORTS.stop}.")


def private_file_write(path: Path, text: str) -> None:
    """Write a file of mode 0600 whole or not at all."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
