"""Who comes next in each mode."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podracer_core.spec import TournamentSpec
from podracer_core.tournament.modes import Past, Place, Rung, cut_of, env_steps_left, next_agent, ranked_teams, room
from podracer_core.tournament.offspring import Offspring, Parent
from tests.core.tournament.making import board, made, parent_of


def mode(name: str, **generator: Any) -> TournamentSpec:
    return made(generator={"mode": name, **generator}, pool={"size": 8})


def past(
    leaderboard: Sequence[Parent] = (), members: Sequence[Parent] = (), stage: int = -1, rungs: Sequence[Rung] = ()
) -> Past:
    return Past(lambda: leaderboard, lambda: (ranked_teams(members), stage), lambda: rungs)


def generation(spec: TournamentSpec, members: Sequence[Parent], stage: int, size: int, first: int) -> list[Offspring]:
    return [
        next_agent(spec, past(members=members, stage=stage), first + position, Place(position, size))
        for position in range(size)
    ]


def test_random_search_makes_fresh_agents_only() -> None:
    spec = mode("random_search")
    made_ = [next_agent(spec, past(board(spec)), index, Place()) for index in range(20)]
    assert {offspring.strategy for offspring in made_} == {"fresh"}


@pytest.mark.parametrize(
    ("name", "active", "free"),
    [
        ("asynchronous", 3, 5),
        ("random_search", 8, 0),
        ("successive_halving", 9, 0),
        ("generational", 3, 0),
        ("generational", 0, 8),
    ],
)
def test_only_a_generation_waits_for_the_slowest(name: str, active: int, free: int) -> None:
    assert room(mode(name), pool_size=8, active=active) == free


def test_a_pool_is_filled_with_whole_agents() -> None:
    spec = mode("generational", pods_per_agent=3)
    assert room(spec, pool_size=8, active=0) == 6
    assert room(spec, pool_size=1, active=0) == 1


@given(st.integers(1, 10_000), st.integers(0, 10_000), st.integers(1, 12), st.one_of(st.none(), st.integers(1, 3000)))
def test_a_budget_is_shared_out_to_the_last_step_and_not_beyond(
    budget: int, taken: int, pods: int, whole: int | None
) -> None:
    spec = made(stop={"env_steps": budget}, round={"seconds": 5} if whole is None else {"env_steps": whole})
    shares = []
    for to_come in range(pods, 0, -1):
        left = env_steps_left(spec, to_come, taken + sum(shares))
        assert left is not None
        shares.append(left if whole is None else min(whole, left))
    available = max(0, budget - taken)
    assert sum(shares) == (available if whole is None else min(available, pods * whole))
    assert whole is not None or max(shares) - min(shares) <= 1


# Generations


def test_the_first_generation_is_fresh() -> None:
    spec = mode("generational", pods_per_agent=2)
    first = generation(spec, [], -1, 8, 0)
    assert {(one.strategy, one.stage, one.inherits) for one in first} == {("fresh", 0, ())}
    assert [one.team for one in first] == list(range(8))


def test_at_the_barrier_the_best_go_on_and_replace_the_rest() -> None:
    spec = mode("generational", survivors=0.25)
    members = [
        parent_of(one, index, float(index), team=one.team) for index, one in enumerate(generation(spec, [], -1, 8, 0))
    ]
    following = generation(spec, members, 0, 8, 8)
    assert [(one.strategy, one.parents) for one in following[:2]] == [("continue", (7,)), ("continue", (6,))]
    assert {one.strategy for one in following[2:]} == {"exploit"}
    assert [one.parents for one in following[2:]] == [(7,), (6,)] * 3
    assert {one.stage for one in following} == {1}


def test_pods_of_one_agent_share_its_weights_and_hyperparameters_and_are_fused_at_the_barrier() -> None:
    spec = mode("generational", pods_per_agent=2, survivors=0.5)
    members = [
        parent_of(one, index, float(index), team=one.team) for index, one in enumerate(generation(spec, [], -1, 8, 0))
    ]
    second = generation(spec, members, 0, 8, 8)
    assert [one.team for one in second] == [0, 0, 1, 1, 2, 2, 3, 3]
    for one, other in zip(second[::2], second[1::2], strict=True):
        assert (one.hyperparameters, one.num_envs, one.inherits) == (
            other.hyperparameters,
            other.num_envs,
            other.inherits,
        )
        assert one.seed != other.seed
    members = [
        parent_of(one, 8 + index, float(index), founder=one.parents[0], team=one.team)
        for index, one in enumerate(second)
    ]
    third = generation(spec, members, 1, 8, 16)
    assert {one.strategy for one in third} == {"fuse"}
    assert third[0].inherits == third[1].inherits == (15, 14)
    assert not third[0].changes
    assert third[4].changes


def test_teams_are_ranked_by_their_mean_and_a_failed_pod_is_left_out() -> None:
    spec = mode("generational")
    scores = [(0, 10.0), (0, float("nan")), (1, 9.0), (1, 12.0), (2, 10.5)]
    one = board(spec, 1)[0]
    members = [
        Parent(parent_of(_offspring(one), index, score).entry, "ppo", one.hyperparameters, 8, team=team)
        for index, (team, score) in enumerate(scores)
    ]
    assert [[parent.entry.index for parent in team] for team in ranked_teams(members)] == [[3, 2], [4], [0]]


def _offspring(parent: Parent) -> Offspring:
    return Offspring("fresh", parent.algorithm, dict(parent.hyperparameters), parent.num_envs, 0)


def test_after_a_generation_that_failed_whole_all_are_fresh_again() -> None:
    spec = mode("generational")
    assert {(one.strategy, one.stage) for one in generation(spec, [], 4, 8, 40)} == {("fresh", 5)}


# Successive halving


def test_a_promotion_needs_a_rung_that_has_reduced() -> None:
    spec = mode("successive_halving", reduction_factor=3)
    candidate = board(spec, 1)[0]
    for scored, strategy in [(2, "fresh"), (3, "continue")]:
        cut = cut_of([candidate.entry.score] * scored, 3)
        child = next_agent(spec, past(rungs=[Rung(scored, candidate, cut)]), 9, Place())
        assert child.strategy == strategy
    assert (child.stage, child.rounds, child.parents, child.changes) == (1, 2, (0,), {})


def test_the_highest_rung_goes_first_and_the_top_one_promotes_nobody() -> None:
    spec = mode("successive_halving", reduction_factor=2, rungs=3)
    low, middle, top = (Rung(4, parent, parent.entry.score) for parent in board(spec, 3))
    assert next_agent(spec, past(rungs=[low, middle, top]), 9, Place()).parents == (1,)
    assert next_agent(spec, past(rungs=[low, middle, top]), 9, Place()).rounds == 2
    assert next_agent(spec, past(rungs=[low, Rung(1, middle.candidate), top]), 9, Place()).parents == (0,)
    assert next_agent(spec, past(rungs=[Rung(0), Rung(0), top]), 9, Place()).strategy == "fresh"


@given(st.lists(st.floats(-100, 100), max_size=60), st.integers(2, 4))
def test_as_results_come_in_the_promoted_of_a_rung_are_about_one_in_so_many_and_its_best(
    scores: list[float], factor: int
) -> None:
    """The rung as ASHA keeps it, a job asked for after every result."""
    spec = mode("successive_halving", reduction_factor=factor)
    template = _offspring(board(spec, 1)[0])
    seen: list[Parent] = []
    promoted: set[int] = set()
    for index, score in enumerate(scores):
        seen.append(parent_of(template, index, score))
        waiting = [parent for parent in seen if parent.entry.index not in promoted]
        order = sorted(waiting, key=lambda parent: (-parent.entry.score, parent.entry.index))
        best = order[0] if order else None
        cut = cut_of(sorted(parent.entry.score for parent in seen), factor)
        child = next_agent(spec, past(rungs=[Rung(len(seen), best, cut)]), index, Place())
        better = sum(parent.entry.score > best.entry.score for parent in seen) if best else 0
        assert (child.strategy == "continue") == (best is not None and better < len(seen) // factor)
        if child.strategy == "continue":
            promoted.add(child.parents[0])
    quota = len(seen) // factor
    assert len(promoted) >= quota
    top = sorted(seen, key=lambda parent: -parent.entry.score)[:quota]
    assert {parent.entry.score for parent in top} <= {
        parent.entry.score for parent in seen if parent.entry.index in promoted
    }
