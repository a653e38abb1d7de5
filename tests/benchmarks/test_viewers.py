"""The store that viewers have, in its Python twin: two workers' messages about one pod, in whatever order they come."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.viewers.store import Store

Item = dict[str, Any]


def curve(attempt: int, *steps: int, **more: int) -> tuple[str, Item]:
    columns = {"seconds": [step / 10 for step in steps], "episodic_return": [float(attempt) for _ in steps]}
    return "curve", {"agent": "1", "pod": "7", "attempt": attempt, "env_steps": list(steps), **columns, **more}


def pod(attempt: int, env_steps: int) -> tuple[str, Item]:
    state = {"status": "RUNNING", "env_steps_per_second": 0.0, "episodic_return": None}
    return "pod", {"id": "7", "agent": "1", "attempt": attempt, "env_steps": env_steps, **state}


@given(
    saved=st.integers(1, 8),
    lost=st.integers(0, 4),
    offset=st.integers(0, 1),
    order=st.lists(st.booleans(), min_size=20, max_size=20),
    looked=st.integers(0, 20),
)
def test_a_pod_that_another_worker_goes_on_with_has_the_database_s_curve_in_the_end(
    saved: int, lost: int, offset: int, order: list[bool], looked: int
) -> None:
    """Each worker's own messages keep their order. The new one's first point may be where the old one had one."""
    first = [curve(1, 10 * step) for step in range(1, saved + lost + 1)] + [curve(1, kept_env_steps=10 * saved)]
    steps = [10 * step + 5 * offset for step in range(saved + 1 - offset, saved + 4)]
    second = [curve(2, step) for step in steps if step > 10 * saved]
    said = []
    for from_second in order:
        stream = second if (from_second and second) or not first else first
        said += [stream.pop(0)] if stream else []
    said.insert(looked, pod(2, steps[-1]))
    store = Store()
    empty: Item = {"env_steps": 0, "env_steps_per_second": 0.0, "pods": {}}
    parts = {"leaderboard": {"items": []}, "events": {"items": []}, "curves": {}}
    store.apply("snapshot", {"tournament": empty, "pods": {"items": [pod(1, 0)[1]]}, **parts})
    for kind, data in said:
        store.apply(kind, data)
    found = store.curves["1"]
    kept, gone_on = [10 * step for step in range(1, saved + 1)], [step for step in steps if step > 10 * saved]
    assert found["env_steps"] == kept + gone_on
    assert found["episodic_return"] == [1.0] * len(kept) + [2.0] * len(gone_on)
