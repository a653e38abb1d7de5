"""static/js/store.js and thinning.js once more, in Python: what a page knows, so that 200 of them fit on one machine.

Function by function as there. tests/browser/test_store.py gives both the same messages.
"""

import math
from bisect import bisect_right
from typing import Any

Item = dict[str, Any]
Curve = dict[str, Any]

COLUMNS = ("env_steps", "seconds", "episodic_return")
COMPLETE = 1000
RATE_WINDOW = 3
LONGEST, KEPT = 2000, 1000
STATES = ("QUEUED", "RUNNING", "FINISHED", "FAILED", "STOPPED")


class Store:
    """Everything is replaced by a snapshot, and changed by each message after it."""

    def apply(self, kind: str, data: Any) -> None:
        self.take(kind, data)
        self.settle()

    def take(self, kind: str, data: Any) -> None:
        """`apply` one of several messages; `settle` follows the last."""
        getattr(self, f"_{kind}")(data)

    def settle(self) -> None:
        """Add up what all running pods do: for a browser a trifle after every message, here half of all work."""
        if self._moved:
            self._moved = False
            self.tournament["env_steps_per_second"] = sum([pod["env_steps_per_second"] for pod in self._running()])

    def _snapshot(self, snapshot: Item) -> None:
        self.tournament: Item = snapshot["tournament"]
        self._board_take(snapshot["leaderboard"])
        self.pods: dict[str, Item] = {pod["id"]: pod for pod in snapshot["pods"]["items"]}
        self._running_pods: list[Item] | None = None
        self.events: list[Item] = snapshot["events"]["items"]
        self.curves: dict[str, Curve] = snapshot["curves"]
        self.resumed: dict[str, tuple[int, float]] = {}
        self._moved = False

    def _status(self, tournament: Item) -> None:
        self.settle()
        self.tournament = tournament

    def _leaderboard(self, board: Item) -> None:
        self._board_take(board)
        self._champion_take()

    def _event(self, event: Item) -> None:
        if not any(other["id"] == event["id"] for other in self.events):
            self.events.insert(0, event)
            self.events.sort(key=lambda one: -int(one["id"]))

    def _heartbeat(self, nothing: Item) -> None:
        pass

    def _pod(self, pod: Item) -> None:
        self.settle()
        old = self.pods.get(pod["id"])
        self.pods[pod["id"]] = pod
        self._running_pods = None
        if old and pod["attempt"] > old["attempt"]:
            self._curve_cut(pod["agent"], pod["env_steps"])
        if not old or old["status"] != pod["status"] or old["attempt"] != pod["attempt"]:
            self._pods_count()

    def _curve(self, data: Item) -> None:
        pod, agent = self.pods.get(data["pod"]), data["agent"]
        attempt, resumed_at = self.resumed.get(agent, (1, math.inf))
        if data["attempt"] < max(attempt, pod["attempt"] if pod else 1):
            self._curve_amend(data, resumed_at)
            return
        if pod:
            pod["attempt"] = data["attempt"]
        if data["attempt"] > attempt and data["env_steps"]:
            self._curve_cut(agent, data["env_steps"][0] - 1)
            self.resumed[agent] = data["attempt"], data["env_steps"][0]
        if agent not in self.curves:
            if not data["env_steps"]:
                return
            self.curves[agent] = {name: [] for name in COLUMNS}
        curve = self.curves[agent]
        last = curve["env_steps"][-1] if curve["env_steps"] else -1
        new = [index for index, env_steps in enumerate(data["env_steps"]) if env_steps > last]
        for name in COLUMNS:
            column = data[name]
            curve[name] += column if len(new) == len(column) else [column[index] for index in new]
        if pod and new:
            self._advance(pod, curve["env_steps"][-1], curve)
            value = curve["episodic_return"][-1]
            pod["episodic_return"] = pod["episodic_return"] if value is None else value
        thin(curve)
        if "kept_env_steps" in data:
            self._curve_cut(agent, data["kept_env_steps"])

    def _curve_amend(self, data: Item, resumed_at: float) -> None:
        kept = data.get("kept_env_steps", math.inf)
        curve = self.curves.get(data["agent"], {name: [] for name in COLUMNS})
        old = list(zip(*(curve[name] for name in COLUMNS), strict=True))
        late = zip(*(data[name] for name in COLUMNS), strict=True)
        rows = [row for row in old if row[0] <= kept or row[0] >= resumed_at]
        known = set(curve["env_steps"])
        rows += [row for row in late if row[0] <= kept and row[0] < resumed_at and row[0] not in known]
        if rows or old:
            rows.sort(key=lambda row: row[0])
            columns = zip(*rows, strict=True) if rows else ([], [], [])
            self.curves[data["agent"]] = curve | dict(zip(COLUMNS, map(list, columns), strict=True))

    def _running(self) -> list[Item]:
        if self._running_pods is None:
            self._running_pods = [pod for pod in self.pods.values() if pod["status"] == "RUNNING"]
        return self._running_pods

    def _board_take(self, board: Item) -> None:
        self.leaderboard: list[Item] = board["items"]
        self.ranked = [item for item in board["items"] if item["rank"] is not None]
        self.making = board.get("making", [])

    def _champion_take(self) -> None:
        if not self.ranked:
            return
        best, tournament = self.ranked[0], self.tournament
        if best["agent"] != tournament["best_agent"]:
            tournament["sparkline"] = [*tournament["sparkline"], best["score"]]
        tournament["best_agent"], tournament["best_agent_name"] = best["agent"], best["name"]
        for name in ("score", "score_low", "score_high"):
            tournament[f"best_{name}"] = best[name]

    def _pods_count(self) -> None:
        if len(self.pods) < COMPLETE:
            states = [pod["status"] for pod in self.pods.values()]
            self.tournament["pods"] = {state: states.count(state) for state in STATES}

    def _curve_cut(self, agent: str, env_steps: int) -> None:
        curve = self.curves.get(agent)
        if curve:
            kept = bisect_right(curve["env_steps"], env_steps)
            for name in COLUMNS:
                del curve[name][kept:]

    def _advance(self, pod: Item, env_steps: int, curve: Curve) -> None:
        tournament, seconds = self.tournament, curve["seconds"]
        tournament["env_steps"] += max(0, env_steps - pod["env_steps"])
        pod["env_steps"] = max(pod["env_steps"], env_steps)
        first = max(0, bisect_right(seconds, seconds[-1] - RATE_WINDOW) - 1)
        passed = seconds[-1] - seconds[first]
        if passed > 0:
            pod["env_steps_per_second"] = (curve["env_steps"][-1] - curve["env_steps"][first]) / passed
        self._moved = True


def thin(curve: Curve, longest: int = LONGEST, kept: int = KEPT) -> None:
    """As thinning.js: a curve that grows for hours stays of bounded length, without losing an extreme."""
    values = curve["episodic_return"]
    if len(values) <= longest:
        return
    stretches, chosen = kept // 3, {0, len(values) - 1}
    for stretch in range(stretches):
        places = range(stretch * len(values) // stretches, (stretch + 1) * len(values) // stretches)
        known = [place for place in places if values[place] is not None]
        if known:
            chosen |= {min(known, key=values.__getitem__), max(known, key=values.__getitem__)}
        chosen.update([place for place in places if values[place] is None][-1:])
    indices = sorted(chosen)
    for name, column in curve.items():
        if isinstance(column, list):
            curve[name] = [column[index] for index in indices]
