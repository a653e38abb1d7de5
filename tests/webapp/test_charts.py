"""The figures and the small drawings."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from webapp.tournaments import charts
from webapp.tournaments.templatetags import compare as compare_tags
from webapp.tournaments.templatetags import podracer as tags


def curve(*points: tuple[int, float | None]) -> dict[str, list[Any]]:
    return {
        "env_steps": [x for x, _ in points],
        "seconds": [x / 1000 for x, _ in points],
        "episodic_return": [y for _, y in points],
    }


def test_the_return_is_offered_before_the_losses() -> None:
    columns = charts.curve_columns(curve((1, 2.0)) | {"value_loss": [0.5]})
    assert columns == ["episodic_return", "value_loss"]
    assert [charts.column_title(name) for name in columns] == ["Return", "Value loss"]


def test_an_agents_figure_is_plain_data_with_gaps() -> None:
    figure = charts.agent_figure(curve((10, 1.0), (20, None)), "episodic_return", "--chip-4")
    (line,) = json.loads(json.dumps(figure, allow_nan=False))["data"]
    assert (line["x"], line["y"], line["line"]["color"]) == ([10, 20], [1.0, None], "--chip-4")
    assert line["connectgaps"] is False


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
    assert tags.count(value) == text.replace(" ", tags.NBSP)


@pytest.mark.parametrize(
    ("seconds", "text"), [(8.2, "8_s"), (60, "1_min"), (250, "4_min 10_s"), (7500, "2_h 5_min"), (273_600, "3_d 4_h")]
)
def test_lengths_of_time_have_two_units_at_most(seconds: float, text: str) -> None:
    assert tags.duration(seconds) == text.replace("_", tags.NBSP)


def test_no_line_parts_a_figure_from_its_unit() -> None:
    assert tags.size(249_000) == "249\N{NO-BREAK SPACE}kB"
    assert tags.margin({"score_low": 1.0, "score_high": 3.0}) == "±\N{NO-BREAK SPACE}1"
    assert compare_tags.chances({"low": 0.81, "high": 0.86}) == "81 to 86\N{NO-BREAK SPACE}%"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-44, "just now"),
        (-46, "1 minute ago"),
        (-250, "4 minutes ago"),
        (-7300, "2 hours ago"),
        (-90_000, "1 day ago"),
        (250, "in 4 minutes"),
    ],
)
def test_how_long_ago_is_told_in_the_largest_unit(seconds: float, text: str) -> None:
    moment = timezone.now() + timedelta(seconds=seconds)
    assert tags.ago(moment) == tags.ago(moment.isoformat()) == text


@pytest.mark.parametrize(
    ("value", "text"), [(4812.3, "4,812"), (-79.456, "−79.46"), (1.0, "1"), (None, "–"), (float("nan"), "–")]
)
def test_scores_read_well(value: float | None, text: str) -> None:
    assert tags.score(value) == text


def test_what_a_page_gives_its_scripts_is_strict_json_that_no_text_in_it_ends() -> None:
    data = {"name": "</script><b>&é\u2028", "scores": [1.5, float("nan"), float("inf")], "none": None}
    script = str(tags.data_script(data, "page"))
    begin, end = '<script id="page" type="application/json">', "</script>"
    inner = script.removeprefix(begin).removesuffix(end)
    assert script == begin + inner + end
    assert not set(inner) & {"<", ">", "&"}
    assert json.loads(inner, parse_constant=pytest.fail) == {**data, "scores": [1.5, None, None]}
