"""The owner's commands."""

import io
import stat
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django.fixtures import Settings

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def home(settings: Settings, tmp_path: Path) -> Path:
    settings.PODRACER_HOME = tmp_path
    return tmp_path


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def test_the_printed_link_signs_in(client: Client) -> None:
    line = run("sign_in_link", "--base-url", "http://testserver").strip()
    assert "\n" not in line
    assert client.get(line.removeprefix("http://testserver"))["Location"] == "/"


def test_the_password_is_read_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("a long sentence to remember\n"))
    run("owner_password", "--stdin")
    assert User.objects.get(username="owner").check_password("a long sentence to remember")


def test_a_bad_password_is_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("12345678\n"))
    with pytest.raises(CommandError, match="This password is not taken"):
        run("owner_password", "--stdin")


def test_rotating_replaces_the_file_and_prints_only_its_path(home: Path) -> None:
    assert run("owner_token").strip() == str(home / "owner-token")
    before = (home / "owner-token").read_text()
    output = run("owner_token", "--rotate")
    after = (home / "owner-token").read_text()
    assert after != before
    assert after.strip() not in output
    assert stat.S_IMODE((home / "owner-token").stat().st_mode) == 0o600
