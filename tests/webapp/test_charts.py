"""The figures and the small drawings."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.tournaments import charts
from webapp.tournaments.templatetags import podracer as tags


def pod(agent: str, status: str = "FINISHED", base: int = 0, start: float = 0.0) -> dict[str, Any]:
    return {
        "agent": agent,
        "agent_name": f"a{agent}",
        "status": status,
        "base_env_steps": base,
        "start_seconds": start,
    }


def entry(agent: str, rank: int, color: int = 0) -> dict[str, Any]:
    return {"agent": agent, "name": f"a{agent}", "rank": rank, "color": color}


def curve(*points: tuple[int, float | None]) -> dict[str, list[Any]]:
    return {
        "env_steps": [x for x, _ in points],
        "seconds": [x / 1000 for x, _ in points],
        "episodic_return": [y for _, y in points],
    }


def snapshot(target: float | None = 475.0) -> dict[str, Any]:
    return {
        "tournament": {"target_score": target},
        "leaderboard": {"items": [entry("1", 1, 4), entry("2", 2, 13)]},
        "pods": {
            "items": [pod("1", base=100, start=5.0), pod("2"), pod("3", "RUNNING"), pod("4", "STOPPED"), pod("5")]
        },
        "curves": {
            "1": curve((10, 20.0), (20, 30.0)),
            "2": curve((10, 1.0), (20, None)),
            "3": curve((10, 2.0)),
            "4": curve((10, 3.0)),
            "5": curve((10, 4.0), (20, 5.0)),
        },
    }


def by_role(figure: dict[str, Any], role: str) -> list[dict[str, Any]]:
    return [trace for trace in figure["data"] if trace["meta"]["role"] == role]


def test_an_heirs_line_begins_where_its_ancestors_ended() -> None:
    champion = by_role(charts.curves_figure(snapshot()), "board")[-1]
    assert champion["meta"]["agent"] == "1"
    assert champion["x"] == [110, 120]
    assert by_role(charts.curves_figure(snapshot(), "time"), "board")[-1]["x"] == [5.01, 5.02]


def test_each_agent_has_its_chips_colour_and_the_champion_lies_on_top() -> None:
    lines = by_role(charts.curves_figure(snapshot()), "board")
    assert [line["line"]["color"] for line in lines] == ["--chip-1", "--chip-4"]
    assert lines[-1]["line"]["width"] > lines[0]["line"]["width"]


def test_pods_off_the_board_are_one_trace_with_gaps() -> None:
    (ghosts,) = by_role(charts.curves_figure(snapshot()), "ghosts")
    assert ghosts["x"] == [10, 10, None, 10, 20, 20, None]
    assert ghosts["hoverinfo"] == "skip"


def test_a_running_pod_has_a_line_of_its_own() -> None:
    (running,) = by_role(charts.curves_figure(snapshot()), "running")
    assert (running["meta"]["agent"], running["y"]) == ("3", [2.0])


def test_a_dot_stands_at_the_last_known_point() -> None:
    (heads,) = by_role(charts.curves_figure(snapshot()), "heads")
    assert (heads["x"], heads["y"]) == ([120, 10], [30.0, 1.0])


def test_the_target_is_a_line_only_where_there_is_one() -> None:
    assert charts.curves_figure(snapshot())["layout"]["shapes"][0]["y0"] == 475.0
    assert "shapes" not in charts.curves_figure(snapshot(None))["layout"]


def test_a_tournament_without_pods_can_be_drawn() -> None:
    empty = {"tournament": {"target_score": None}, "leaderboard": {"items": []}, "pods": {"items": []}, "curves": {}}
    assert json.loads(json.dumps(charts.curves_figure(empty), allow_nan=False))


def test_hundreds_of_ghosts_stay_light() -> None:
    long = curve(*((step, float(step)) for step in range(300)))
    many = snapshot() | {"curves": {str(agent): long for agent in range(10, 310)}}
    (ghosts,) = by_role(charts.curves_figure(many), "ghosts")
    assert len(ghosts["x"]) <= 300 * (charts.GHOST_POINTS + 2)


def test_the_return_is_offered_before_the_losses() -> None:
    columns = charts.curve_columns(curve((1, 2.0)) | {"value_loss": [0.5]})
    assert columns == ["episodic_return", "value_loss"]
    assert [charts.column_title(name) for name in columns] == ["Return", "Value loss"]


@given(st.lists(st.none() | st.floats(), max_size=80))
def test_a_sparkline_holds_whatever_the_scores(values: list[float | None]) -> None:
    drawn = str(tags.sparkline(values))
    assert "nan" not in drawn
    assert "inf" not in drawn


def test_a_level_sparkline_runs_through_the_middle() -> None:
    assert 'points="0.0,14.0 120.0,14.0"' in str(tags.sparkline([5.0]))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (940, "940"),
        (58_240, "58.2 k"),
        (999_700, "1 M"),
        (12_400_000, "12.4 M"),
        (3.2e9, "3.2 G"),
        (None, "–"),
    ],
)
def test_counts_have_three_figures_and_a_unit(value: float | None, text: str) -> None:
    assert tags.count(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(8.2, "8 s"), (60, "1 min"), (250, "4 min 10 s"), (7500, "2 h 5 min"), (273_600, "3 d 4 h")]
)
def test_lengths_of_time_have_two_units_at_most(seconds: float, text: str) -> None:
    assert tags.duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"), [(4812.3, "4,812"), (-79.456, "−79.46"), (1.0, "1"), (None, "–"), (float("nan"), "–")]
)
def test_scores_read_well(value: float | None, text: str) -> None:
    assert tags.score(value) == text
