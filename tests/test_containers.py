"""No container engine runs here, so the files are held to their schema and to what really exists."""

import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import get_commands

REPOSITORY = Path(__file__).resolve().parent.parent
COMPOSE: dict[str, Any] = yaml.safe_load((REPOSITORY / "docker-compose.yml").read_text())
DOCKERFILE = (REPOSITORY / "Dockerfile").read_text()
OURS = [name for name, service in COMPOSE["services"].items() if "build" in service]
SECRETS = {"POSTGRES_PASSWORD", "REDIS_PASSWORD", "PODRACER_SECRET_KEY"}
PYTHONS_OWN = {"PATH", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PIP_DISABLE_PIP_VERSION_CHECK"} | {
    "PIP_NO_CACHE_DIR"
}


def variables_read() -> set[str]:
    """Every environment variable that our code names in a string."""
    sources = [*(REPOSITORY / "webapp").rglob("*.py"), *(REPOSITORY / "workers").rglob("*.py")]
    return {name for source in sources for name in re.findall(r'"([A-Z][A-Z_]+)"', source.read_text())}


def commands_of(service: dict[str, Any]) -> list[list[str]]:
    """What a service runs: its command and its health check, shell lines taken apart."""
    parts = [service.get("command", []), service.get("healthcheck", {}).get("test", [])]
    commands = []
    for part in filter(None, parts):
        words = [word for word in part if word not in ("CMD", "CMD-SHELL")]
        if "sh" in words[:1] or len(words) == 1:
            words = [word for word in shlex.split(words[-1]) if word != "exec" and "=" not in word]
        commands.append(words)
    return commands


def assert_resolves(words: list[str]) -> None:
    """The command is a module, a management command or a Celery application that exists."""
    if words[:2] == ["python", "manage.py"]:
        assert words[2] in get_commands()
    elif words[:2] == ["python", "-m"]:
        assert importlib.util.find_spec(words[2]) is not None
        for target in [word for word in words if re.fullmatch(r"[a-z_.]+:[a-z_]+", word)]:
            assert importlib.util.find_spec(target.partition(":")[0]) is not None
    elif words[0] == "celery":
        assert importlib.util.find_spec(words[words.index("-A") + 1]) is not None
        assert "ping" in words
    else:
        pytest.fail(f"neither a module nor a management command: {words}")


@pytest.mark.parametrize("name", OURS)
def test_every_command_of_a_service_exists(name: str) -> None:
    for words in commands_of(COMPOSE["services"][name]):
        assert_resolves(words)


@pytest.mark.parametrize("name", OURS)
def test_every_variable_of_a_service_is_read_by_our_code(name: str) -> None:
    assert set(COMPOSE["services"][name]["environment"]) <= variables_read()


def test_the_images_command_and_variables_exist() -> None:
    command = re.search(r"^CMD (\[.+\])$", DOCKERFILE, re.MULTILINE)
    assert command is not None
    assert_resolves(yaml.safe_load(command[1]))
    names = set(re.findall(r"(?:^ENV | +)([A-Z_]+)=", DOCKERFILE, re.MULTILINE))
    assert names - PYTHONS_OWN <= variables_read()


def test_the_image_copies_what_is_there_and_what_is_needed() -> None:
    copied = {line.split()[1] for line in DOCKERFILE.splitlines() if line.startswith("COPY") and "--from" not in line}
    assert all((REPOSITORY / source).exists() for source in copied)
    assert copied >= {"podracer_core", "workers", "webapp", "templates", "static", "manage.py"}
    allowed = {line[1:] for line in (REPOSITORY / ".dockerignore").read_text().splitlines() if line[0] == "!"}
    assert allowed == copied


def test_secrets_come_from_the_environment_and_have_no_default() -> None:
    text = (REPOSITORY / "docker-compose.yml").read_text()
    used = re.findall(r"\$\{([A-Z_]+)(:[?-])?([^}]*)\}", text)
    for name, operator, sentence in used:
        if name in SECRETS:
            assert operator == ":?", name
            assert sentence.startswith(f"Set {name} to "), name
    assert {name for name, _, _ in used} >= SECRETS


def test_every_long_lived_service_has_a_health_check() -> None:
    own_check = {name for name, service in COMPOSE["services"].items() if "test" in service.get("healthcheck", {})}
    # The image's own check asks the web server.
    assert own_check | {"web", "prepare"} == set(COMPOSE["services"])
    assert "HEALTHCHECK" in DOCKERFILE


def test_the_image_does_not_run_as_root() -> None:
    assert re.findall(r"^USER (.+)$", DOCKERFILE, re.MULTILINE) == ["10001:10001"]


@pytest.mark.parametrize(
    "command",
    [
        ["check-jsonschema", "--builtin-schema", "vendor.compose-spec", "docker-compose.yml"],
        ["hadolint", "Dockerfile"],
    ],
    ids=["compose schema", "hadolint"],
)
def test_the_file_is_valid(command: list[str]) -> None:
    program = Path(sys.executable).parent / command[0]
    done = subprocess.run(
        [program, *command[1:]], cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
