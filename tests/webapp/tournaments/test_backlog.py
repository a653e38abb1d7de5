"""Which messages a viewer is owed, decided without a socket."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from webapp.tournaments.live.backlog import PATIENCE, Backlog, Message, merged


def message(revision: int, kind: str = "status", key: int | None = None, data: Any = None) -> Message:
    return {"revision": revision, "changes": [{"kind": kind, "key": key, "data": data}]}


def curve(revision: int, agent: str, attempt: int, steps: list[int], **columns: Any) -> Message:
    data = {"agent": agent, "pod": "1", "attempt": attempt, "sent_at": float(revision), "env_steps": steps, **columns}
    return message(revision, "curve", 1, data)


def started(revision: int = 0, **parts: Any) -> Backlog:
    backlog = Backlog(**parts)
    backlog.restart(revision)
    return backlog


@given(st.permutations(range(1, 20)), st.data())
def test_whatever_the_order_every_message_is_taken_once_and_nothing_is_missing(order: list[int], data: Any) -> None:
    backlog = started()
    taken: list[int] = []
    for revision in order:
        backlog.add(message(revision))
        if data.draw(st.booleans()):
            backlog.add(message(revision))
            taken += [one["revision"] for one in backlog.take()]
    taken += [one["revision"] for one in backlog.take()]
    assert sorted(taken) == list(range(1, 20))
    assert (backlog.revision, backlog.behind, backlog.window_ends()) == (19, False, False)


def test_what_the_snapshot_has_is_dropped() -> None:
    backlog = started(5)
    for revision in (3, 5, 6):
        backlog.add(message(revision))
    assert [one["revision"] for one in backlog.take()] == [6]


def test_messages_heard_while_the_snapshot_is_read_are_kept_if_they_are_newer() -> None:
    backlog = started(5)
    backlog.add(message(6))
    backlog.reading()
    backlog.add(message(7))
    backlog.add(message(9))
    backlog.restart(7)
    assert ([one["revision"] for one in backlog.take()], backlog.revision, backlog.behind) == ([9], 7, True)


def test_a_gap_is_waited_for_and_then_needs_a_snapshot() -> None:
    backlog = started()
    backlog.add(message(2))
    assert [backlog.window_ends() for _ in range(PATIENCE + 1)] == [False] * PATIENCE + [True]
    backlog.reading()
    backlog.restart(2)
    assert (backlog.behind, backlog.window_ends()) == (False, False)


def test_gaps_that_close_one_after_another_need_no_snapshot() -> None:
    backlog = started()
    for revision in range(1, 40, 2):
        backlog.add(message(revision + 1))
        assert not backlog.window_ends()
        backlog.add(message(revision))


def test_a_revision_that_only_the_database_knows_is_missing() -> None:
    backlog = started(3)
    backlog.exists(4)
    assert [backlog.window_ends() for _ in range(PATIENCE + 1)][-1]


def test_too_much_for_a_slow_viewer_becomes_a_snapshot_and_stays_bounded() -> None:
    backlog = started(limit=10)
    for revision in range(1, 1000):
        backlog.add(message(revision))
    assert backlog.window_ends()
    assert len(backlog.take()) <= 10
    backlog.reading()
    backlog.restart(999)
    assert not backlog.window_ends()


def test_a_key_is_read_once_and_curves_of_one_attempt_become_one() -> None:
    changes = merged(
        [
            message(1, "status"),
            message(2, "pod", 7),
            curve(3, "a", 1, [1, 2], episodic_return=[1.0, 2.0]),
            message(4, "status"),
            message(5, "pod", 7),
            message(6, "event", 8),
            curve(7, "b", 1, [9], episodic_return=[0.0]),
            curve(8, "a", 1, [3], episodic_return=[3.0], entropy=[0.5]),
        ]
    )
    assert (changes.kinds, changes.pods, changes.events) == ({"status"}, [7], [8])
    first, second = changes.curves
    assert (first["agent"], first["env_steps"], first["episodic_return"]) == ("a", [1, 2, 3], [1.0, 2.0, 3.0])
    assert (first["entropy"], first["sent_at"]) == ([None, None, 0.5], 8.0)
    assert second["agent"] == "b"


def test_points_of_a_replaced_attempt_come_before_those_that_go_on_from_its_state() -> None:
    cut = curve(3, "a", 1, [], kept_env_steps=5, episodic_return=[])
    changes = merged([curve(1, "a", 1, [5]), curve(2, "a", 1, [6]), cut, curve(4, "a", 2, [7])])
    assert [(one["attempt"], one["env_steps"]) for one in changes.curves] == [(1, [5, 6]), (2, [7])]
    assert [one.get("kept_env_steps") for one in changes.curves] == [5, None]
