"""What a viewer knows in the end beside what the database says."""

from typing import Any

from benchmarks.viewers.store import COLUMNS
from tests.stack import Stack

Item = dict[str, Any]

PASSING = {"revision", "seconds_left"}
"""Of a tournament: counted with each message, of which its own are some; guessed from the time that has passed."""

EVENTS = 100
"""That a page begins with."""

SNAPSHOT_POINTS, EVERY_POINT = 30_000, 200_000


def state_in_database(stack: Stack, identity: str) -> Item:
    """What the API says of a tournament in which nothing happens any more. thinned: whether snapshots lack points"""
    path = f"/tournaments/{identity}"
    curves = stack.api("GET", f"{path}/curves?points={EVERY_POINT}")["curves"]
    return {
        "tournament": stack.api("GET", path),
        "leaderboard": stack.api("GET", f"{path}/leaderboard?limit=1000")["items"],
        "pods": stack.api("GET", f"{path}/pods?limit=1000")["items"],
        "events": stack.api("GET", f"{path}/events?limit={EVENTS}")["items"],
        "curves": curves,
        "thinned": sum(len(curve["env_steps"]) for curve in curves.values()) > SNAPSHOT_POINTS,
    }


def differences(expected: Item, state: Item) -> list[str]:
    """A sentence for each part that differs. Both: tournament, leaderboard, pods, events, curves by agent."""
    found = [
        *_items("tournament", [_lasting(expected["tournament"])], [_lasting(state["tournament"])]),
        *_items("leaderboard", expected["leaderboard"], state["leaderboard"]),
        *_items("pods", *(sorted(one["pods"], key=lambda pod: int(pod["id"])) for one in (expected, state))),
        *_items("events", expected["events"][:EVENTS], state["events"][:EVENTS]),
    ]
    agents = expected["curves"].keys() | state["curves"].keys()
    wrong = {
        agent: why
        for agent in agents
        if (why := _curve(expected["curves"].get(agent), state["curves"].get(agent), expected["thinned"]))
    }
    return [*found, *(f"curve of {agent}: {why}" for agent, why in sorted(wrong.items())[:3])]


def _lasting(tournament: Item) -> Item:
    return {name: value for name, value in tournament.items() if name not in PASSING}


def _items(what: str, expected: list[Item], found: list[Item]) -> list[str]:
    if expected == found:
        return []
    if len(expected) != len(found):
        return [f"{what}: {len(found)} where the database has {len(expected)}"]
    place, mine, theirs = next(
        (place, *pair) for place, pair in enumerate(zip(expected, found, strict=True)) if pair[0] != pair[1]
    )
    fields = {name: (theirs.get(name), mine.get(name)) for name in mine | theirs if mine.get(name) != theirs.get(name)}
    return [f"{what}[{place}]: " + ", ".join(f"{name} is {a!r}, not {b!r}" for name, (a, b) in fields.items())]


def _curve(expected: Item | None, found: Item | None, thinned: bool) -> str:
    """Why a curve is not the database's, "" where it is. Of a thinned one every point must be, and both ends."""
    if expected is None or found is None:
        return "the database has none" if expected is None else "is missing"
    mine, theirs = _points(expected), _points(found)
    if theirs == mine:
        return ""
    strange = set(theirs) - set(mine)
    if strange:
        return f"{len(strange)} of {len(theirs)} points are not in the database, as {min(strange)}"
    if thinned and theirs[:1] == mine[:1] and theirs[-1:] == mine[-1:]:
        return ""
    missing = sorted(set(mine) - set(theirs))
    return f"of {len(mine)} points {len(missing)} are missing, from env step {missing[0][0]} to {missing[-1][0]}"


def _points(curve: Item) -> list[tuple[Any, ...]]:
    """Snapshots round seconds to the millisecond."""
    env_steps, seconds, returns = (curve[name] for name in COLUMNS)
    return list(zip(env_steps, [round(second, 3) for second in seconds], returns, strict=True))
