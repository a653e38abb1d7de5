"""A tournament at a terminal: a picture that is redrawn, or a line an event where it is no terminal."""

import shutil
import time
from datetime import datetime
from typing import Any, TextIO

from podracer_client.answers import ENDED, Entry, Event, Message, Pod, Tournament

REDRAW_SECONDS = 0.25
MOST_ROWS = 16
BAR = 24
CLEAR_LINE, CLEAR_BELOW = "\x1b[2K", "\x1b[J"


class View:
    """What the messages have told so far."""

    def __init__(self) -> None:
        self.tournament: Tournament | None = None
        self.leaderboard: list[Entry] = []
        self.pods: dict[str, Pod] = {}
        self.events: list[Event] = []

    @property
    def over(self) -> bool:
        return self.tournament is not None and self.tournament["status"] in ENDED

    def apply(self, message: Message) -> None:
        data: Any = message["data"]
        match message["type"]:
            case "snapshot":
                self.tournament = data["tournament"]
                self.leaderboard = data["leaderboard"]["items"]
                self.pods = {pod["id"]: pod for pod in data["pods"]["items"]}
                self._hear(data["events"]["items"])
            case "status":
                self.tournament = data
            case "leaderboard":
                self.leaderboard = data["items"]
            case "pod":
                self.pods[data["id"]] = data
            case "event":
                self._hear([data])
            case "curve":
                self._curve(data)

    def complete(self, leaderboard: list[Entry], events: list[Event]) -> None:
        """Takes what a tournament that is over has come to; events the newest first."""
        self.leaderboard, self.pods = leaderboard, {}
        self._hear(events)

    def _hear(self, newest_first: list[Event]) -> None:
        known = {event["id"] for event in self.events}
        self.events += [event for event in reversed(newest_first) if event["id"] not in known]

    def _curve(self, data: Any) -> None:
        pod = self.pods.get(data["pod"])
        if pod and data["env_steps"]:
            pod["env_steps"] = max(pod["env_steps"], data["env_steps"][-1])
            pod["episodic_return"] = next(
                (value for value in reversed(data["episodic_return"]) if value is not None), pod["episodic_return"]
            )


class Lines:
    """Prints each event once, as it happens."""

    def __init__(self, out: TextIO) -> None:
        self._out, self._told = out, 0

    def __call__(self, view: View) -> None:
        for event in view.events[self._told :]:
            at = datetime.fromisoformat(event["at"]).astimezone()
            print(f"{at:%H:%M:%S}  {event['text']}", file=self._out, flush=True)
        self._told = len(view.events)


class Screen:
    """Redraws the picture in place."""

    def __init__(self, out: TextIO) -> None:
        self._out, self._height, self._due = out, 0, 0.0

    def __call__(self, view: View) -> None:
        if time.monotonic() < self._due and not view.over:
            return
        self._due = time.monotonic() + REDRAW_SECONDS
        width = shutil.get_terminal_size().columns
        lines = [line[: width - 1] for line in picture(view)]
        up = f"\x1b[{self._height}A" if self._height else ""
        self._out.write(up + "".join(f"{CLEAR_LINE}{line}\n" for line in lines) + CLEAR_BELOW)
        self._out.flush()
        self._height = len(lines)


def picture(view: View) -> list[str]:
    """Lines of plain text: the state, the leaderboard, the pods in training, the latest event."""
    if view.tournament is None:
        return ["Waiting for the tournament …"]
    running = [pod for pod in view.pods.values() if pod["status"] == "RUNNING"]
    return [
        *_heading(view.tournament, running),
        "",
        *_leaderboard(view.leaderboard),
        "",
        *(_running(pod) for pod in running),
        *(["", view.events[-1]["text"]] if view.events else []),
    ]


def _heading(tournament: Tournament, running: list[Pod]) -> list[str]:
    pods = tournament["pods"]
    facts = [
        tournament["status"].lower(),
        f"{tournament['seconds']:,.0f} s",
        f"{pods['FINISHED']:,} pods finished",
        f"{tournament['env_steps']:,} env steps",
    ]
    if running:
        facts.append(f"{tournament['env_steps_per_second']:,.0f} a second")
    lines = [f"{tournament['name']} on {tournament['env_id']}", " · ".join(facts)]
    share, left = tournament["progress"], tournament["seconds_left"]
    if share is not None and tournament["status"] not in ENDED:
        ends = f", about {_span(left)} left" if left is not None else ""
        lines.append(f"{'█' * round(share * BAR):░<{BAR}} {_percent(share)} of the way{ends}")
    if tournament["reason"]:
        lines.append(tournament["reason"])
    return lines


def _leaderboard(rows: list[Entry]) -> list[str]:
    if not rows:
        return ["The leaderboard is empty until the first pod has finished and was evaluated."]
    lines = [f"{'rank':>4}  {'agent':8} {'score':>26}  {'beats next':>10}  {'algorithm':9} from"]
    for row in rows[:MOST_ROWS]:
        sure = "" if row["beats_next"] is None else f"{row['beats_next']:.0%}"
        origin = " and ".join(row["parent_names"]) or row["strategy"]
        score = _number(row["score"])
        if row["score_low"] is not None and row["score_high"] is not None:
            score += f" ({_number(row['score_low'])} to {_number(row['score_high'])})"
        lines.append(f"{row['rank'] or '':>4}  {row['name']:8} {score:>26}  {sure:>10}  {row['algorithm']:9} {origin}")
    if len(rows) > MOST_ROWS:
        lines.append(f"      and {len(rows) - MOST_ROWS} more")
    return lines


def _running(pod: Pod) -> str:
    steps = f"{pod['env_steps']:>12,} env steps"
    if pod["round_env_steps"]:
        share = min(1.0, pod["env_steps"] / pod["round_env_steps"])
        steps += f"  {'█' * round(share * 10):░<10}"
    episodic = "" if pod["episodic_return"] is None else f"  return {_number(pod['episodic_return'])}"
    return f"  ▸ {pod['agent_name']:8} {steps}{episodic}"


def _number(value: float) -> str:
    return f"{value:,.1f}" if abs(value) < 10_000 else f"{value:,.0f}"


def _percent(share: float) -> str:
    """As the pages have it: what is not all is not shown as all, nor a little as nothing."""
    if 0.99 < share < 1:
        return "> 99 %"
    return "< 1 %" if 0 < share < 0.01 else f"{share * 100:.0f} %"


def _span(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
