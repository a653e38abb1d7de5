"""Calls that outlast a database that is away."""

import threading

import pytest
from django.db import InterfaceError, OperationalError

from workers import database


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "PAUSE_SECONDS", 0.001)
    monkeypatch.setattr(database, "PATIENCE_SECONDS", 0.05)


class Away:
    """Cannot be reached so many times, then answers."""

    def __init__(self, times: float) -> None:
        self.left = times
        self.asked = threading.Event()

    def __call__(self) -> str:
        self.left -= 1
        if self.left >= 0:
            self.asked.set()
            raise (OperationalError if self.left % 2 else InterfaceError)("it is away")
        return "answer"


def test_a_write_is_tried_until_it_is_taken() -> None:
    assert database.persistently(Away(3)) == "answer"


def test_a_write_is_given_up_after_a_while() -> None:
    with pytest.raises((OperationalError, InterfaceError), match="it is away"):
        database.persistently(Away(float("inf")))


def test_what_a_worker_cannot_do_without_is_asked_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "LONGEST_PAUSE_SECONDS", 0.001)
    assert database.while_wanted(Away(200), threading.Event()) == "answer"


def test_a_worker_that_is_to_stop_waits_for_no_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "PAUSE_SECONDS", 60.0)
    stopping, away, answers = threading.Event(), Away(float("inf")), []
    waiting = threading.Thread(target=lambda: answers.append(database.while_wanted(away, stopping)))
    waiting.start()
    assert away.asked.wait(10)
    stopping.set()
    waiting.join(60)
    assert answers == [None]
