"""What the charts and tables of a comparison are drawn from, each complete as one table with a row a value."""

from collections.abc import Callable, Iterator
from typing import Any, Literal, get_args

from webapp.tournaments.curves.csv_table import records_csv
from webapp.tournaments.selectors import Item

Part = Literal["curves", "scores", "profiles", "times", "improvement"]
PARTS: tuple[Part, ...] = get_args(Part)

_CURVE = ("x", "mean", "low", "high", "best", "agents", "tournaments")
_SCORE = ("value", "low", "high", "mean", "lowest", "highest")
_TIME = (
    "reached", "seconds", "env_steps", "agents", "best_score", "agent", "agent_name", "tournaments",
    "tournaments_reached", "earliest", "latest",
)  # fmt: skip
_ESTIMATE = ("value", "low", "high")

Row = list[Any]


def comparison_csv(compared: Item, part: Part) -> Iterator[str]:
    """One part of what `comparison.compare` found, of all environments. group: as it is called"""
    names = {group["key"]: group["label"] for group in compared["groups"]}
    head, rows = _TABLES[part]
    return records_csv(head, (row for environment in compared["environments"] for row in rows(environment, names)))


def _curves(part: Item, names: dict[str, str]) -> Iterator[Row]:
    for key, curve in part["curves"].items():
        for point in zip(*(curve[name] for name in _CURVE), strict=True):
            yield [part["env_id"], key, names[key], *point]


def _scores(part: Item, names: dict[str, str]) -> Iterator[Row]:
    for row in part["scores"]:
        yield [part["env_id"], row["group"], names[row["group"]], *(row[name] for name in _SCORE)]


def _profiles(part: Item, names: dict[str, str]) -> Iterator[Row]:
    thresholds = part["profiles"]["thresholds"]
    for key, found in part["profiles"]["groups"].items():
        for point in zip(thresholds, found["share"], found["low"], found["high"], strict=True):
            yield [part["env_id"], key, names[key], *point]


def _times(part: Item, names: dict[str, str]) -> Iterator[Row]:
    for row in part["times"]:
        yield [part["env_id"], row["group"], names[row["group"]], part["target"], *(row[name] for name in _TIME)]


def _improvement(part: Item, names: dict[str, str]) -> Iterator[Row]:
    for row in part["improvement"]:
        better, than = names[row["better"]], names[row["than"]]
        yield [part["env_id"], row["better"], better, row["than"], than, *(row[name] for name in _ESTIMATE)]


_GROUP = ("env_id", "key", "group")
_TABLES: dict[Part, tuple[tuple[str, ...], Callable[[Item, dict[str, str]], Iterator[Row]]]] = {
    "curves": ((*_GROUP, *_CURVE), _curves),
    "scores": ((*_GROUP, "iqm", *_SCORE[1:]), _scores),
    "profiles": ((*_GROUP, "threshold", "share", "low", "high"), _profiles),
    "times": ((*_GROUP, "target", *_TIME), _times),
    "improvement": (("env_id", "better_key", "better", "than_key", "than", *_ESTIMATE), _improvement),
}
