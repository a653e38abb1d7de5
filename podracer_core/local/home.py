"""The folder of a tournament without a server. What was written there is read back after any crash.

    spec.json               the specification, complete
    journal.jsonl           a line for every change; the last line about a thing is what it is now
    agents/INDEX/           agent.safetensors and state.pt as its pod wrote them, curve.jsonl, log.txt
    ensembles/INDEX.safetensors

The journal is only ever appended to and synced, so that a crash can cut off no more than its last line, which is
then as if it had not happened. `manage.py tournament_import` reads the folder into the dashboard.
"""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from podracer_core.errors import PodracerError
from podracer_core.files import write_atomically
from podracer_core.local.records import (
    AgentRecord,
    EnsembleRecord,
    EventRecord,
    Record,
    TournamentRecord,
    as_data,
)
from podracer_core.progress import Progress
from podracer_core.spec import TournamentSpec

CHECKPOINT, STATE, CURVE, LOG = "agent.safetensors", "state.pt", "curve.jsonl", "log.txt"
_KINDS: dict[str, type[Record]] = {
    "agent": AgentRecord,
    "tournament": TournamentRecord,
    "ensemble": EnsembleRecord,
    "event": EventRecord,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


class HomeError(PodracerError):
    """A folder that is no tournament's, is in use, or holds another tournament than asked for."""


class Home:
    """agents, ensembles: by index; tournament: None before the first line."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.agents: dict[int, AgentRecord] = {}
        self.ensembles: dict[int, EnsembleRecord] = {}
        self.events: list[EventRecord] = []
        self.tournament: TournamentRecord | None = None
        self._journal: Any = None

    @property
    def spec(self) -> TournamentSpec:
        """Raises HomeError."""
        try:
            return TournamentSpec.model_validate_json((self.folder / "spec.json").read_bytes())
        except (OSError, ValueError) as error:
            raise HomeError(f"{self.folder} is not the folder of a tournament: its spec.json is unreadable.") from error

    def read(self) -> None:
        """Reads the journal. Raises HomeError where a line other than the last makes no sense."""
        for kind, data in self._lines():
            if kind == "agent":
                agent = AgentRecord.of(data)
                self.agents[agent.index] = agent
            elif kind == "tournament":
                self.tournament = TournamentRecord.of(data)
            elif kind == "ensemble":
                self.ensembles[data["index"]] = EnsembleRecord(**data)
            else:
                self.events.append(EventRecord(**data))

    def _lines(self) -> Iterator[tuple[str, dict[str, Any]]]:
        path = self.folder / "journal.jsonl"
        lines = path.read_bytes().split(b"\n") if path.exists() else []
        for number, line in enumerate(lines, start=1):
            try:
                if line:
                    (entry,) = json.loads(line).items()
                    yield entry
            except ValueError:
                if number < len(lines):
                    raise HomeError(f"{path} is damaged in line {number}.") from None

    def open(self, spec: TournamentSpec) -> None:
        """Takes the folder for this process and writes `spec` where there is none.

        Raises HomeError where another process uses it or another tournament is in it.
        """
        try:
            (self.folder / "agents").mkdir(parents=True, exist_ok=True)
            self._journal = (self.folder / "journal.jsonl").open("ab")
        except OSError as error:
            raise HomeError(f"{self.folder} cannot be written: {error.strerror}.") from None
        try:
            self._take(spec)
            self.read()
        except PodracerError:
            self.close()
            raise

    def _take(self, spec: TournamentSpec) -> None:
        try:
            fcntl.flock(self._journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise HomeError(f"Another process runs the tournament in {self.folder}.") from None
        if not (self.folder / "spec.json").exists():
            write_atomically(self.folder / "spec.json", spec.model_dump_json(indent=1).encode())
        elif self.spec != spec:
            differing = "; ".join(_differing(self.spec.model_dump(mode="json"), spec.model_dump(mode="json")))
            raise HomeError(
                f"{self.folder} holds another tournament, {self.spec.name!r}: {differing}. "
                "A tournament's specification never changes; choose another --home."
            )
        self._cut_torn_line()

    def _cut_torn_line(self) -> None:
        """What is appended next must not continue a line that a crash cut off."""
        content = (self.folder / "journal.jsonl").read_bytes()
        self._journal.truncate(content.rfind(b"\n") + 1)

    def write(self, *records: Record) -> None:
        """Appends and syncs: what was written survives the power going out."""
        for record in records:
            line = json.dumps({_NAMES[type(record)]: as_data(record)}, allow_nan=False)
            self._journal.write(line.encode() + b"\n")
            if isinstance(record, EventRecord):
                self.events.append(record)
            elif isinstance(record, EnsembleRecord):
                self.ensembles[record.index] = record
        self._journal.flush()
        os.fsync(self._journal.fileno())

    def close(self) -> None:
        if self._journal:
            self._journal.close()

    # An agent's files

    def agent_folder(self, index: int) -> Path:
        return self.folder / "agents" / str(index)

    def state_file(self, index: int) -> Path | None:
        path = self.agent_folder(index) / STATE
        return path if path.exists() else None

    def checkpoint_file(self, index: int) -> Path | None:
        path = self.agent_folder(index) / CHECKPOINT
        return path if path.exists() else None

    def ensemble_file(self, index: int) -> Path:
        return self.folder / "ensembles" / f"{index}.safetensors"

    def add_points(self, index: int, points: list[Progress]) -> None:
        rows = [[p.env_steps, p.seconds, p.episodic_return, p.losses] for p in points]
        with (self.agent_folder(index) / CURVE).open("a") as file:
            file.writelines(json.dumps(row, allow_nan=False) + "\n" for row in rows)

    def add_log(self, index: int, text: str) -> None:
        with (self.agent_folder(index) / LOG).open("a") as file:
            file.write(text + "\n")

    def log(self, index: int) -> list[str]:
        path = self.agent_folder(index) / LOG
        return path.read_text().splitlines() if path.exists() else []

    def curve(self, index: int) -> Iterator[tuple[int, float, float | None, dict[str, float]]]:
        """(env_steps, seconds, episodic_return, losses) of the line that survived: a retry's steps replace those
        that were lost.
        """
        path = self.agent_folder(index) / CURVE
        points: list[tuple[int, float, float | None, dict[str, float]]] = []
        for line in path.read_text().splitlines() if path.exists() else []:
            try:
                env_steps, seconds, episodic_return, losses = json.loads(line)
            except ValueError:  # cut off by a crash
                continue
            while points and points[-1][0] >= env_steps:
                points.pop()
            points.append((env_steps, seconds, episodic_return, losses))
        yield from points


def _differing(kept: Mapping[str, Any], given: Mapping[str, Any], at: str = "") -> Iterator[str]:
    """What is said otherwise."""
    for name, there in kept.items():
        here = given[name]
        if here == there:
            continue
        if isinstance(there, dict) and there.keys() == here.keys():
            yield from _differing(there, here, f"{at}{name}.")
        elif isinstance(there, dict | list):
            yield f"{at}{name} differs"
        else:
            yield f"{at}{name} is {json.dumps(there)} there, {json.dumps(here)} here"
