"""Lineage, hyperparameters and slots of a tournament as tables."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

from webapp.tournaments.curves.csv_table import records_csv
from webapp.tournaments.insights.insights import Item, hyperparameters_get, lineage_get
from webapp.tournaments.insights.occupancy import slots_get

GIVEN = ("id", "name", "strategy", "score", "rank")
BAR = ("begin", "end", "agent", "name", "status", "attempt", "score", "rank")


def lineage_csv(tournament_id: int) -> Iterator[str]:
    """A row an agent. Raises Tournament.DoesNotExist."""
    agents = lineage_get(tournament_id)["agents"]
    names = [name for name in agents if name != "color"]
    return records_csv(names, _rows(agents, names))


def hyperparameters_csv(tournament_id: int) -> Iterator[str]:
    """A row an agent with each hyperparameter that differs between those of its algorithm.

    Raises Tournament.DoesNotExist.
    """
    algorithms = hyperparameters_get(tournament_id)["algorithms"]
    names = list(dict.fromkeys(axis["name"] for algorithm in algorithms for axis in algorithm["axes"]))
    found = (_given(algorithm, names) for algorithm in algorithms)
    return records_csv([*GIVEN, "algorithm", *names], chain.from_iterable(found))


def _given(algorithm: Item, names: list[str]) -> Iterator[list[Any]]:
    rows = list(_rows(algorithm["agents"], GIVEN))
    values = {axis["name"]: axis["values"] for axis in algorithm["axes"]}
    columns = [values.get(name, [None] * len(rows)) for name in names]
    for row, *given in zip(rows, *columns, strict=True):
        yield [*row, algorithm["name"], *given]


def slots_csv(tournament_id: int) -> Iterator[str]:
    """A row each pod, stretch of another tournament's pods in a slot, and pause of all; in seconds since the start.

    Raises Tournament.DoesNotExist.
    """
    used = slots_get(tournament_id)
    slots = list(_rows(used["slots"], ("worker", "slot", "device")))
    none = [None] * (len(BAR) - 2)
    pods = zip(used["bars"]["row"], _rows(used["bars"], BAR), strict=True)
    elsewhere = zip(used["elsewhere"]["row"], _rows(used["elsewhere"], BAR[:2]), strict=True)
    rows = chain(
        (["pod", *slots[row], *bar] for row, bar in pods),
        (["elsewhere", *slots[row], *times, *none] for row, times in elsewhere),
        (["pause", None, None, None, *times, *none] for times in _rows(used["pauses"], BAR[:2])),
    )
    return records_csv(["what", "worker", "slot", "device", *BAR], rows)


def _rows(columns: Item, names: Any) -> Iterator[tuple[Any, ...]]:
    return zip(*(columns[name] for name in names), strict=True)
