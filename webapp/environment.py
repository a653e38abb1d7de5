"""Reads and checks the environment variables that configure Podracer. Knows no Django.

Every value that cannot be used raises `ConfigurationError` with a sentence that names the variable.
"""

import os
import secrets
import socket
import tempfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import psutil

from podracer_core.errors import PodracerError

REPOSITORY = Path(__file__).resolve().parent.parent
ANY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104 - compared with, not bound to


class ConfigurationError(PodracerError):
    """An environment variable, file or folder that Podracer cannot work with."""


@dataclass(frozen=True)
class DatabaseAddress:
    """Where a PostgreSQL is and who we are there. `host` may be a folder with its socket."""

    name: str
    user: str
    password: str
    host: str
    port: str
    options: dict[str, str]


@dataclass(frozen=True)
class FileStorage:
    """Checkpoints and recordings as files below `folder`."""

    folder: Path


@dataclass(frozen=True)
class S3Storage:
    """Checkpoints and recordings as objects below `prefix` of `bucket`; boto3 finds the credentials."""

    bucket: str
    prefix: str
    endpoint: str | None
    region: str | None


def home_folder() -> Path:
    """The folder that holds everything this installation writes: `PODRACER_HOME`, else `var/` here."""
    configured = os.environ.get("PODRACER_HOME", "").strip()
    return Path(configured).expanduser().resolve() if configured else REPOSITORY / "var"


def home_ensure(home: Path) -> Path:
    """Create the home, closed to others. Raises ConfigurationError where nothing can be written."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=home):
            pass
    except OSError as error:
        raise ConfigurationError(
            f"PODRACER_HOME {home} cannot be written to ({error.strerror}): "
            "set PODRACER_HOME to a folder that you may write to."
        ) from error
    return home


def host_configured() -> str:
    """The address that the web server listens on."""
    return os.environ.get("HOST", "").strip() or "127.0.0.1"


def port_configured() -> int:
    """The port that the web server listens on."""
    text = os.environ.get("PORT", "").strip() or "8000"
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise ConfigurationError(f"PORT is {text!r}: it must be a whole number from 1 to 65535.")
    return int(text)


def names_configured(variable: str) -> list[str]:
    """The comma-separated names in a variable, without blanks."""
    return [name.strip() for name in os.environ.get(variable, "").split(",") if name.strip()]


def allowed_hosts() -> list[str]:
    """Host names that requests may carry: `PODRACER_ALLOWED_HOSTS`, or those this machine is known by."""
    if configured := names_configured("PODRACER_ALLOWED_HOSTS"):
        return configured
    names = ["localhost", "127.0.0.1", "[::1]"]
    host = host_configured()
    if host not in ANY_ADDRESS:
        return [*names, f"[{host}]" if ":" in host else host]
    addresses = [
        entry.address
        for entries in psutil.net_if_addrs().values()
        for entry in entries
        if entry.family in (socket.AF_INET, socket.AF_INET6) and "%" not in entry.address
    ]
    return [
        *names,
        socket.gethostname().lower(),
        *(f"[{address}]" if ":" in address else address for address in addresses),
    ]


def allowed_origins() -> list[str]:
    """Other origins that browsers may come from (`PODRACER_ALLOWED_ORIGINS`), as scheme://host[:port]."""
    origins = names_configured("PODRACER_ALLOWED_ORIGINS")
    for origin in origins:
        if urlsplit(origin).scheme not in ("http", "https") or not urlsplit(origin).netloc:
            raise ConfigurationError(
                f"PODRACER_ALLOWED_ORIGINS holds {origin!r}: an origin is written https://host or "
                "http://host:port, several separated by commas."
            )
    return [origin.rstrip("/") for origin in origins]


def database_address(url: str) -> DatabaseAddress:
    """Parse `postgresql://user:password@host:port/name?sslmode=...`."""
    example = "postgresql://user:password@host:5432/podracer"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ConfigurationError(f"DATABASE_URL cannot be read: it must look like {example}.") from None
    if parts.scheme not in ("postgres", "postgresql"):
        raise ConfigurationError(
            f"DATABASE_URL has the scheme {parts.scheme!r}: Podracer needs PostgreSQL, as in {example}."
        )
    name = unquote(parts.path.removeprefix("/"))
    if not name:
        raise ConfigurationError(f"DATABASE_URL names no database: it must look like {example}.")
    options = {key: values[-1] for key, values in parse_qs(parts.query).items()}
    host = options.pop("host", None) or unquote(parts.hostname or "")
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    return DatabaseAddress(name, user, password, host, str(port or ""), options)


def broker_url(url: str) -> str:
    """Check `redis://[:password@]host:port/number` and return it."""
    parts = urlsplit(url)
    if parts.scheme not in ("redis", "rediss") or not parts.hostname:
        raise ConfigurationError(
            f"REDIS_URL has the scheme {parts.scheme!r}: it must look like redis://:password@host:6379/0 "
            "(rediss:// for TLS)."
        )
    return url


def storage_parse(url: str) -> FileStorage | S3Storage:
    """Parse `file:///path` or `s3://bucket/prefix?endpoint=https://...&region=...`."""
    parts = urlsplit(url)
    if parts.scheme == "file" and parts.netloc in ("", "localhost") and parts.path.startswith("/"):
        return FileStorage(Path(unquote(parts.path)))
    if parts.scheme == "s3" and parts.netloc:
        query = parse_qs(parts.query)
        endpoint, region = query.get("endpoint", [None])[-1], query.get("region", [None])[-1]
        return S3Storage(parts.netloc, unquote(parts.path.strip("/")), endpoint, region)
    raise ConfigurationError(
        f"STORAGE_URL is {url!r}: it must look like file:///srv/podracer or s3://bucket/prefix "
        "(with ?endpoint=https://... for a store that is not AWS)."
    )


def secret_file(path: Path) -> str:
    """The secret that a file of mode 0600 holds; made at random, whole or not at all, where there is none."""
    if not path.exists():
        handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w") as file:
                file.write(secrets.token_urlsafe(48))
            # A link, not a rename: of two processes that start at once, the second must read the first's.
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            Path(draft).unlink()
    return path.read_text().strip()


def secret_key(home: Path) -> str:
    """Django's signing key: `PODRACER_SECRET_KEY`, else the file `secret-key` in the home."""
    if configured := os.environ.get("PODRACER_SECRET_KEY", ""):
        if len(configured) < 32:
            raise ConfigurationError(
                f"PODRACER_SECRET_KEY has {len(configured)} characters: it needs at least 32, random ones."
            )
        return configured
    return secret_file(home_ensure(home) / "secret-key")
