"""When a pod looks whether its target is reached."""

from podracer_core.target_watch import TargetWatch


def test_it_looks_once_the_returns_came_most_of_the_way_whatever_their_sign() -> None:
    watch = TargetWatch(-200.0, window=2)
    watch.add([-1200.0, -1200.0])
    watch.add([-650.0, -650.0])
    assert not watch.due(100)
    watch.add([-590.0, -590.0])
    assert watch.due(100)


def test_it_waits_for_a_whole_window_first() -> None:
    watch = TargetWatch(475.0, window=4)
    watch.add([500.0, 500.0, 500.0])
    assert not watch.due(100)
    watch.add([500.0])
    assert watch.due(100)


def test_a_miss_is_followed_by_training_that_outweighs_the_evaluation() -> None:
    watch = TargetWatch(475.0, window=1)
    watch.add([20.0])
    watch.add([470.0])
    watch.missed(1000, evaluation_cost=4000)
    assert [watch.due(steps) for steps in (1000, 8999, 9000)] == [False, False, True]


def test_without_a_target_it_never_looks() -> None:
    watch = TargetWatch(None, window=1)
    watch.add([500.0])
    assert not watch.due(10**9)
    assert watch.episodic_return == 500.0


def test_it_goes_on_from_its_state() -> None:
    watch = TargetWatch(475.0, window=2)
    watch.add([20.0, 30.0, 400.0])
    watch.missed(10, 20)
    other = TargetWatch(475.0, window=2)
    other.load_state(watch.state())
    assert other.state() == watch.state()
    assert [other.due(steps) for steps in (49, 50)] == [watch.due(steps) for steps in (49, 50)]
