"""Which agents become one policy, and where it stands beside them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podracer_core.errors import SpecError
from podracer_core.spec import TournamentSpec
from podracer_core.spec_parse import spec_parse
from podracer_core.tournament.ensembles import evaluation_episodes, evaluation_seed, placed, size_at_end

scores = st.lists(st.integers(-5, 5), max_size=8)


def spec(**leaderboard: object) -> TournamentSpec:
    return spec_parse({"env_id": "CartPole-v1", "leaderboard": leaderboard})


@given(scores, scores)
def test_agents_keep_their_order_and_each_ensemble_stands_where_its_score_belongs(
    agents: list[int], ensembles: list[int]
) -> None:
    ranked = [("agent", score) for score in sorted(agents, reverse=True)]
    made = [(f"ens-{index}", score) for index, score in enumerate(ensembles)]
    rows = placed(ranked, made, lambda row: row[1])
    assert [row for row in rows if row[0] == "agent"] == ranked
    assert sorted(row for row in rows if row[0] != "agent") == sorted(made)
    for above, below in pairwise(rows):
        assert above[1] >= below[1]
        assert above[1] > below[1] or above[0] == "agent" or below[0] != "agent", "of equals the agent goes first"


def test_as_many_episodes_are_played_as_its_members_have_and_on_other_seeds() -> None:
    assert evaluation_episodes(spec(eval_episodes=10)) == 20
    assert evaluation_episodes(spec(eval_episodes=10, reevaluate=False)) == 10
    assert evaluation_seed(spec(), 0) == evaluation_seed(spec(), 0) != evaluation_seed(spec(), 1)


def test_the_last_leaderboard_decides_how_many_there_can_be() -> None:
    assert [size_at_end(spec(ensemble=3), standing) for standing in (0, 1, 2, 3, 8)] == [0, 0, 2, 3, 3]
    assert size_at_end(spec(), 8) == 0


@pytest.mark.parametrize(
    ("leaderboard", "says"),
    [
        ({"ensemble": 1}, "0 for none, or how many agents of the leaderboard, 2 to 8 here; got 1"),
        ({"ensemble": 9}, "2 to 8 here; got 9"),
        ({"ensemble": -2}, "2 to 8 here; got -2"),
        ({"ensemble": 65, "size": 1000}, "2 to 64 here; got 65"),
        ({"ensemble": 2, "size": 1}, "the leaderboard has one place; got 2"),
        ({"ensemble": 2.5}, "must be a whole number"),
    ],
)
def test_a_size_that_cannot_be_is_refused_by_its_field(leaderboard: dict[str, object], says: str) -> None:
    with pytest.raises(SpecError) as refused:
        spec(**leaderboard)
    ((field, message),) = refused.value.errors
    assert (field, says in message) == ("leaderboard.ensemble", True), message
