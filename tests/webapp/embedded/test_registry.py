"""Where services listen, and who may know."""

import socket
import stat
from pathlib import Path

import pytest

from webapp.embedded.registry import services_plan, services_read
from webapp.environment import ConfigurationError


def test_a_plan_is_kept_and_only_its_owner_can_read_it(home: Path) -> None:
    planned = services_plan(home)
    assert services_plan(home) == planned == services_read(home)
    for secret in (home / "run" / "services.json", home / "services-key"):
        assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert stat.S_IMODE((home / "run").stat().st_mode) == 0o700


def test_a_port_that_is_taken_is_replaced_and_the_other_kept(home: Path) -> None:
    planned = services_plan(home)
    with socket.create_server(("127.0.0.1", planned.postgres_port)):
        again = services_plan(home)
    assert again.postgres_port != planned.postgres_port
    assert again.valkey_port == planned.valkey_port
    assert again.postgres_password == planned.postgres_password


def test_passwords_outlive_the_run_folder(home: Path) -> None:
    planned = services_plan(home)
    (home / "run" / "services.json").unlink()
    assert services_plan(home).postgres_password == planned.postgres_password


def test_a_damaged_note_is_named(home: Path) -> None:
    services_plan(home)
    (home / "run" / "services.json").write_text("{")
    with pytest.raises(ConfigurationError, match=r"services\.json is damaged"):
        services_read(home)
