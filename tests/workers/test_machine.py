"""What a worker makes of the machine and of its settings."""

import os

import pytest

from workers.machine import MachineError, machine

CORES = len(os.sched_getaffinity(0))


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PODRACER_SLOTS", "PODRACER_THREADS_PER_POD", "PODRACER_WORKER_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PODRACER_DEVICE", "cpu")


def test_there_is_one_slot_for_every_share_of_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (machine().slots, machine().threads) == (CORES, 1)
    monkeypatch.setenv("PODRACER_THREADS_PER_POD", "2")
    assert (machine().slots, machine().threads) == (max(1, CORES // 2), 2)
    monkeypatch.setenv("PODRACER_SLOTS", "3")
    assert machine().slots == 3


def test_a_name_of_its_own_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    assert str(os.getpid()) in machine().name
    monkeypatch.setenv("PODRACER_WORKER_NAME", "gpu-a")
    assert machine().name == "gpu-a"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("PODRACER_SLOTS", "0"),
        ("PODRACER_SLOTS", "many"),
        ("PODRACER_SLOTS", "100000"),
        ("PODRACER_THREADS_PER_POD", "999999"),
        ("PODRACER_THREADS_PER_POD", "-1"),
        ("PODRACER_DEVICE", "tpu"),
    ],
)
def test_a_setting_that_cannot_be_followed_is_named(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(MachineError, match=f"{variable} is '{value}'"):
        machine()
