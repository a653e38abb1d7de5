"""Who is on the leaderboard and where: sorted, bounded, and no family above its share."""

import math
from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podracer_core.tournament.leaderboard import Entry, ranked
from podracer_core.tournament.updater import Verdict, bar, family_limit, update

SCORES = st.one_of(st.floats(-1e6, 1e6, allow_nan=False), st.sampled_from([0.0, 1.0, math.nan, math.inf, -math.inf]))
CANDIDATES = st.lists(st.tuples(SCORES, st.integers(0, 3)), max_size=30).map(
    lambda drawn: [Entry(index, score, founder) for index, (score, founder) in enumerate(drawn)]
)
SIZES = st.integers(1, 6)
SHARES = st.floats(0.05, 1.0)


def board_of(candidates: list[Entry], size: int, share: float) -> list[Entry]:
    board: tuple[Entry, ...] = ()
    for candidate in candidates:
        board = update(board, candidate, size=size, max_per_ancestor=share).leaderboard
    return list(board)


@given(CANDIDATES, SIZES, SHARES)
def test_it_is_sorted_bounded_valid_and_shared_out(candidates: list[Entry], size: int, share: float) -> None:
    board = board_of(candidates, size, share)
    assert board == ranked(board)
    assert len(board) <= size
    assert all(entry.valid for entry in board)
    families = Counter(entry.founder for entry in board)
    assert all(count <= family_limit(size, share) for count in families.values())


@given(CANDIDATES, SIZES, SHARES)
def test_an_update_says_what_it_did(candidates: list[Entry], size: int, share: float) -> None:
    board: tuple[Entry, ...] = ()
    for candidate in candidates:
        decision = update(board, candidate, size=size, max_per_ancestor=share)
        entered = candidate in decision.leaderboard
        assert entered == (decision.verdict is Verdict.ENTERS) == (decision.rank is not None)
        if decision.rank is not None:
            assert decision.leaderboard[decision.rank - 1] == candidate
        assert set(board) - set(decision.leaderboard) == ({decision.dropped} if decision.dropped else set())
        board = decision.leaderboard


@settings(max_examples=60, deadline=None)
@given(CANDIDATES, SIZES, SHARES, st.randoms())
def test_in_whatever_order_they_come_it_is_the_best_of_each_familys_best(
    candidates: list[Entry], size: int, share: float, random: Random
) -> None:
    families: dict[int, list[Entry]] = {}
    for entry in ranked(candidates):
        families.setdefault(entry.founder, []).append(entry)
    allowed = [entry for family in families.values() for entry in family[: family_limit(size, share)]]
    shuffled = random.sample(candidates, len(candidates))
    assert board_of(shuffled, size, share) == ranked(allowed)[:size]


@given(CANDIDATES, SIZES, SHARES, SCORES, st.integers(0, 30), st.integers(0, 3))
def test_who_enters_is_who_beats_the_bar(
    candidates: list[Entry], size: int, share: float, score: float, index: int, founder: int
) -> None:
    board = [entry for entry in board_of(candidates, size, share) if entry.index != index]
    height = bar(board, index, founder, size=size, max_per_ancestor=share)
    entered = update(board, Entry(index, score, founder), size=size, max_per_ancestor=share).rank is not None
    assert entered == (math.isfinite(score) and (height is None or score > height))


@given(CANDIDATES, SIZES, SHARES, st.integers(31, 40), st.integers(0, 3))
def test_the_bar_never_falls(candidates: list[Entry], size: int, share: float, index: int, founder: int) -> None:
    board: tuple[Entry, ...] = ()
    heights = []
    for candidate in candidates:
        board = update(board, candidate, size=size, max_per_ancestor=share).leaderboard
        height = bar(board, index, founder, size=size, max_per_ancestor=share)
        heights.append(-math.inf if height is None else height)
    assert heights == sorted(heights)


@given(CANDIDATES, SIZES, SHARES)
def test_a_result_that_arrives_twice_changes_nothing(candidates: list[Entry], size: int, share: float) -> None:
    twice = [entry for entry in candidates for _ in range(2)]
    assert board_of(twice, size, share) == board_of(candidates, size, share)


@given(CANDIDATES, SIZES)
def test_without_family_limit_it_is_the_best_of_all_in_whatever_order_they_come(
    candidates: list[Entry], size: int
) -> None:
    expected = ranked(candidates)[:size]
    assert board_of(candidates, size, 1.0) == expected
    assert board_of(candidates[::-1], size, 1.0) == expected


@given(CANDIDATES, SIZES, SHARES)
def test_ranking_is_idempotent_and_independent_of_order(candidates: list[Entry], size: int, share: float) -> None:
    assert ranked(ranked(candidates)) == ranked(candidates) == ranked(candidates[::-1])


@given(CANDIDATES, SIZES, SHARES)
def test_the_best_valid_agent_is_always_first(candidates: list[Entry], size: int, share: float) -> None:
    best = ranked(candidates)[:1]
    assert board_of(candidates, size, share)[:1] == best


def test_of_equals_the_elder_goes_first() -> None:
    assert ranked([Entry(2, 5.0, 2), Entry(1, 5.0, 1)]) == [Entry(1, 5.0, 1), Entry(2, 5.0, 2)]


def test_a_full_family_makes_room_only_by_its_own_worst() -> None:
    board = (Entry(0, 9.0, 0), Entry(1, 8.0, 0), Entry(2, 1.0, 2))
    better = update(board, Entry(3, 8.5, 0), size=4, max_per_ancestor=0.5)
    assert (better.rank, better.dropped) == (2, Entry(1, 8.0, 0))
    worse = update(board, Entry(4, 7.0, 0), size=4, max_per_ancestor=0.5)
    assert (worse.verdict, worse.leaderboard) == (Verdict.FAMILY_FULL, board)
    assert update(board, Entry(5, 0.5, 5), size=3, max_per_ancestor=1).verdict is Verdict.TOO_LOW
    assert update(board, Entry(6, math.nan, 6), size=9, max_per_ancestor=1).verdict is Verdict.INVALID


@pytest.mark.parametrize(
    ("size", "share", "limit"), [(8, 0.5, 4), (1, 0.5, 1), (3, 0.5, 2), (10, 0.3, 3), (8, 0.01, 1), (8, 1, 8)]
)
def test_a_familys_share_in_places(size: int, share: float, limit: int) -> None:
    assert family_limit(size, share) == limit
