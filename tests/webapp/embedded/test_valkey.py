"""The embedded Valkey, for real."""

from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
import redis

from webapp.embedded.registry import Services
from webapp.embedded.valkey import EmbeddedValkey

Running = Callable[[], list[psutil.Process]]


def ping(url: str) -> bool:
    with redis.Redis.from_url(url, socket_timeout=2) as client:
        return bool(client.ping())


def test_it_answers_until_it_is_stopped(valkey: EmbeddedValkey) -> None:
    url = valkey.start()
    assert ping(url)
    assert valkey.is_running()
    valkey.stop()
    assert not valkey.is_running()
    with pytest.raises(redis.ConnectionError):
        ping(url)


def test_a_stranger_without_the_password_is_refused(valkey: EmbeddedValkey) -> None:
    url = valkey.start()
    with pytest.raises(redis.AuthenticationError):
        ping(url.replace(valkey.services.valkey_password, "wrong"))


def test_the_password_is_not_in_the_command_line(valkey: EmbeddedValkey) -> None:
    valkey.start()
    assert valkey.process is not None
    words = psutil.Process(valkey.process.pid).cmdline()
    assert not any(valkey.services.valkey_password in word for word in words)


def test_a_server_that_outlived_its_run_is_replaced(home: Path, services: Services, valkey: EmbeddedValkey) -> None:
    valkey.start()
    second = EmbeddedValkey(home, services)
    assert ping(second.start())
    assert valkey.process is not None
    assert valkey.process.wait(5) is not None
    second.stop()
    assert not valkey.is_running()
