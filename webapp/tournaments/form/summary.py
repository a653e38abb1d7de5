"""A specification in plain words: how many pods, how long that takes here, what ends it. Pure functions."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from podracer_core.spec import CONFIRM_EPISODES, TournamentSpec
from podracer_core.tournament import sentences
from webapp.tournaments.form.selectors import Pace, Room

LANES, BLOCKS = 6, 12
"""How many lanes, and pods on each, the picture shows."""


@dataclass(frozen=True)
class Summary:
    """headline: pods and time; facts: further sentences; lanes: pods at once, each with those that it runs one after
    another, both cut to what a picture can show"""

    headline: str
    facts: tuple[str, ...]
    lanes: tuple[range, ...]
    more_lanes: bool
    more_pods: bool


@dataclass(frozen=True)
class Estimate:
    """seconds: of the whole tournament, None where that cannot be told; why: what it rests on, or why there is none"""

    seconds: float | None
    why: str


def summarise(spec: TournamentSpec, paces: Mapping[str, Pace], room: Room) -> Summary:
    """What `spec` will do on the slots of `room`, at the pace of earlier pods."""
    pods, estimate = pods_expected(spec), estimate_of(spec, paces, room)
    at_once = min(spec.pool.size, room.slots) or spec.pool.size
    each = math.ceil(pods / at_once) if pods else BLOCKS + 1
    return Summary(
        headline=_headline(spec, pods, estimate, room),
        facts=tuple(filter(None, (search_told(spec, pods), estimate.why, _room(spec, room), ends(spec)))),
        lanes=tuple(range(min(_lane(lane, at_once, pods, each), BLOCKS)) for lane in range(min(at_once, LANES))),
        more_lanes=at_once > LANES,
        more_pods=each > BLOCKS,
    )


def _lane(lane: int, at_once: int, pods: int | None, each: int) -> int:
    """How many pods run on this lane, dealt out evenly."""
    return each if pods is None else pods // at_once + (lane < pods % at_once)


def pods_expected(spec: TournamentSpec) -> int | None:
    """How many pods its budgets leave room for; None where only a score, time or patience ends it."""
    budgets = [spec.stop.pods]
    if spec.stop.env_steps and spec.round.env_steps:
        budgets.append(math.ceil(spec.stop.env_steps / spec.round.env_steps))
    return min((budget for budget in budgets if budget is not None), default=None)


def estimate_of(spec: TournamentSpec, paces: Mapping[str, Pace], room: Room) -> Estimate:
    """How long it takes if nothing ends it earlier than its budgets."""
    names = [part.name for part in spec.algorithms]
    unknown = [name for name in names if name not in paces]
    if unknown:
        missing = sentences.listed(unknown)
        return Estimate(None, f"No estimate of the time yet: no pod of {missing} has finished in {spec.env_id} here.")
    if spec.generator.mode == "successive_halving":
        return Estimate(
            None, "No estimate of the time: how many agents are promoted, and so train longer, shows later."
        )
    pods, per_pod = pods_expected(spec), sum(pod_seconds(spec, paces[name]) for name in names) / len(names)
    count = sum(paces[name].pods for name in names)
    why = f"A pod takes about {length_of(per_pod)}, at the pace of {count:,} earlier pod{'s' * (count != 1)} here."
    if pods is None or not room.slots:
        return Estimate(None, why)
    return Estimate(math.ceil(pods / min(spec.pool.size, room.slots)) * per_pod, why)


def pod_seconds(spec: TournamentSpec, pace: Pace) -> float:
    """Of one slot's time: training and what comes with it."""
    budgets = [spec.round.seconds, spec.round.env_steps and spec.round.env_steps / pace.env_steps_per_second]
    return min(float(budget) for budget in budgets if budget is not None) + pace.overhead


def _headline(spec: TournamentSpec, pods: int | None, estimate: Estimate, room: Room) -> str:
    length = round_told(spec)
    what = f"About {pods:,} pod{'s' * (pods != 1)} of {length}" if pods else f"Pods of {length}, as many as it takes"
    if not room.slots:
        return f"{what}; no slot is online to run them."
    where = f"on the {room.slots} slot{'s' * (room.slots != 1)} online"
    hours = spec.stop.hours
    if estimate.seconds is not None and (hours is None or estimate.seconds < hours * 3600):
        return f"{what}, ~{length_of(estimate.seconds)} {where}."
    if hours is not None:
        return f"{what}, at most {length_of(hours * 3600)} {where}."
    return f"{what}, {where}."


def round_told(spec: TournamentSpec) -> str:
    """How long a pod trains."""
    parts = []
    if spec.round.env_steps is not None:
        parts.append(f"{spec.round.env_steps:,} step{'s' * (spec.round.env_steps != 1)}")
    if spec.round.seconds is not None:
        parts.append(f"{spec.round.seconds:g} s")
    return " or ".join(parts)


def search_told(spec: TournamentSpec, pods: int | None) -> str:
    """Which algorithms in what, how much of them is searched, and the env steps of `pods`."""
    names = sentences.listed([part.name for part in spec.algorithms])
    searched = sum(space.kind != "fixed" for part in spec.algorithms for space in part.search_space.values())
    search = f", {searched} hyperparameter{'s' * (searched != 1)} searched" if searched else ", nothing searched"
    steps = f" {pods * spec.round.env_steps:,} env steps in all." if pods and spec.round.env_steps else ""
    return f"{names} in {spec.env_id}{search}.{steps}"


def _room(spec: TournamentSpec, room: Room) -> str:
    if not room.slots:
        return "Its pods wait until a worker is there: make worker starts one."
    if spec.pool.size > room.slots:
        return f"The pool asks for {spec.pool.size:,} pods at once; {room.slots} can run, the others wait."
    if room.others:
        them = "another tournament" if room.others == 1 else f"{room.others:,} other tournaments"
        return f"It shares the slots with {them} that run{'s' * (room.others == 1)} now, and so may take longer."
    return ""


def ends(spec: TournamentSpec) -> str:
    """What ends it."""
    stop = spec.stop
    rules = [
        stop.score is not None
        and f"a score of {sentences.number(stop.score)} that {CONFIRM_EPISODES} further episodes confirm",
        stop.pods is not None and f"{stop.pods:,} pod{'s' * (stop.pods != 1)}",
        stop.env_steps is not None and f"{stop.env_steps:,} env steps",
        stop.hours is not None and length_of(stop.hours * 3600),
        stop.patience is not None and f"{stop.patience:,} pods in a row without a new best",
    ]
    found = [rule for rule in rules if rule]
    return f"Ends at {found[0]}." if len(found) == 1 else f"Ends at the first of: {'; '.join(found)}."


def length_of(seconds: float) -> str:
    """A length of time that does not pretend to be exact: 40 seconds, 6 minutes, 3 hours."""
    for size, unit, upto in ((1, "second", 90), (60, "minute", 90 * 60), (3600, "hour", 48 * 3600)):
        if seconds < upto:
            count = max(1, round(seconds / size))
            return f"{count} {unit}{'s' * (count != 1)}"
    return f"{round(seconds / 86400):,} days"
