"""The API as methods. Every one raises ApiError where Podracer refuses, ConnectionLostError where nothing answers."""

import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, Unpack, cast
from urllib.parse import quote, urlencode, urlsplit

from podracer_client import live
from podracer_client.answers import (
    ENDED,
    Agent,
    Curve,
    Ensemble,
    Entry,
    Event,
    Export,
    Message,
    Patch,
    Pod,
    Status,
    Tournament,
)
from podracer_client.errors import ClientError
from podracer_client.transport import Http

DEFAULT_URL = "http://127.0.0.1:8000"
PAGE = 500
POLL_SECONDS = 0.5


class Client:
    """A Podracer at `url`, seen by whoever `token` is of.

    url: else PODRACER_URL, else that of `make run`; token: else PODRACER_TOKEN, else, on this machine, the owner's in
    $PODRACER_HOME/owner-token. Raises ClientError where there is no token.
    """

    def __init__(self, url: str | None = None, token: str | None = None, *, timeout: float = 30.0) -> None:
        self.url = (url or os.environ.get("PODRACER_URL") or DEFAULT_URL).rstrip("/")
        self.token = token or os.environ.get("PODRACER_TOKEN") or _owner_token(self.url)
        self._http = Http(self.url, self.token, timeout)

    # What there is

    def environments(self) -> Iterator[dict[str, Any]]:
        """The catalogue; any other id that Gymnasium registers is taken too."""
        return self._pages("/environments", 100)

    def workers(self) -> dict[str, Any]:
        """Slots online by device kind, and the workers that have them."""
        return cast(dict[str, Any], self._get("/workers"))

    # Tournaments

    def submit(self, spec: Mapping[str, Any] | str | Path, *, start: bool = True) -> Tournament:
        """Creates a tournament.

        spec: a TournamentSpec as a mapping, as TOML text, or the path of a .toml or .json file
        ApiError.errors names the fields that do not hold.
        """
        body, kind = _body(spec)
        query = "?start=true" if start else ""
        return cast(Tournament, self._http.json("POST", f"/tournaments{query}", body, content_type=kind))

    def tournaments(
        self,
        *,
        search: str = "",
        status: Status | None = None,
        env_id: str = "",
        sort: Literal["newest", "score", "env_steps"] = "newest",
    ) -> Iterator[Tournament]:
        """All, or those whose name contains `search`, with this status and environment."""
        wanted = {"search": search, "status": status, "env_id": env_id, "sort": sort}
        query = urlencode({name: value for name, value in wanted.items() if value})
        return cast(Iterator[Tournament], self._pages(f"/tournaments?{query}"))

    def tournament(self, tournament_id: str) -> Tournament:
        return cast(Tournament, self._get(f"/tournaments/{_id(tournament_id)}"))

    def start(self, tournament_id: str) -> Tournament:
        return self._control(tournament_id, "start")

    def pause(self, tournament_id: str) -> Tournament:
        """Running pods save their state; `resume` goes on from there."""
        return self._control(tournament_id, "pause")

    def resume(self, tournament_id: str) -> Tournament:
        return self._control(tournament_id, "resume")

    def stop(self, tournament_id: str) -> Tournament:
        """For good; what there is stays."""
        return self._control(tournament_id, "stop")

    def update(self, tournament_id: str, **changes: Unpack[Patch]) -> Tournament:
        """Changes `name`, `pool_size` or `priority`, also while it runs; once it has ended, `archived`."""
        body = json.dumps(changes).encode()
        return cast(Tournament, self._http.json("PATCH", f"/tournaments/{_id(tournament_id)}", body))

    def delete(self, tournament_id: str) -> None:
        """With its agents, curves and files."""
        self._http.json("DELETE", f"/tournaments/{_id(tournament_id)}")

    def leaderboard(self, tournament_id: str) -> list[Entry]:
        """The best first."""
        return cast(list[Entry], list(self._pages(f"/tournaments/{_id(tournament_id)}/leaderboard")))

    def pods(self, tournament_id: str) -> Iterator[Pod]:
        """The newest first."""
        return cast(Iterator[Pod], self._pages(f"/tournaments/{_id(tournament_id)}/pods"))

    def events(self, tournament_id: str) -> Iterator[Event]:
        """The newest first."""
        return cast(Iterator[Event], self._pages(f"/tournaments/{_id(tournament_id)}/events"))

    def make_ensemble(self, tournament_id: str, size: int) -> Ensemble:
        """Have a worker make the best `size` agents one policy; `ensembles` tells how far it is."""
        body = json.dumps({"size": size}).encode()
        return cast(Ensemble, self._http.json("POST", f"/tournaments/{_id(tournament_id)}/ensembles", body))

    def ensembles(self, tournament_id: str) -> list[Ensemble]:
        return cast(list[Ensemble], list(self._pages(f"/tournaments/{_id(tournament_id)}/ensembles")))

    def wait(self, tournament_id: str, timeout: float | None = None) -> Tournament:
        """Returns the tournament once it has ended. Raises TimeoutError after `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while (found := self.tournament(tournament_id))["status"] not in ENDED:
            _sleep(deadline, f"Tournament {tournament_id} is still {found['status']}.")
        return found

    def watch(self, tournament_id: str) -> Iterator[Message]:
        """What happens, live: a snapshot first, again after a lost connection. Ends when the tournament is deleted."""
        return live.messages(self.url, self.token, _id(tournament_id))

    def export_tournament(
        self, tournament_id: str, path: str | Path, export_format: Literal["json", "csv", "tensorboard"] = "json"
    ) -> Path:
        """All of it as one file.

        json: specification, agents, lineage, scores, complete curves and events; csv: every point of every curve;
        tensorboard: a zip of event files, a run for each agent
        """
        part = "curves" if export_format == "csv" else "export"
        address = f"/tournaments/{_id(tournament_id)}/{part}?{urlencode({'format': export_format})}"
        return self._http.download(address, Path(path))

    # Agents

    def agent(self, agent_id: str) -> Agent:
        return cast(Agent, self._get(f"/agents/{_id(agent_id)}"))

    def curve(self, agent_id: str, points: int | Literal["all"] = "all", *, from_ancestor: bool = False) -> Curve:
        """Its learning curve; with `from_ancestor` the line that it descends from comes before it."""
        query = urlencode({"points": points, "from": "ancestor" if from_ancestor else "self"})
        return cast(Curve, self._get(f"/agents/{_id(agent_id)}/curve?{query}"))

    def download_checkpoint(self, agent_id: str, path: str | Path) -> Path:
        """The agent's .safetensors file, checked against its SHA-256; `podracer_core.load_agent` opens it.

        Into a folder it goes under the name that Podracer gives it; so do all downloads.
        """
        return self._http.download(f"/agents/{_id(agent_id)}/checkpoint", Path(path))

    def download_export(
        self, agent_id: str, export_format: Literal["onnx", "torchscript"], path: str | Path, timeout: float = 300.0
    ) -> Path:
        """The agent in another format, made by a worker where it is not there yet.

        Raises ClientError with the worker's reason, TimeoutError.
        """
        body = json.dumps({"format": export_format}).encode()
        found = cast(Export, self._http.json("POST", f"/agents/{_id(agent_id)}/exports", body))
        deadline = time.monotonic() + timeout
        while found["status"] in ("QUEUED", "RUNNING"):
            _sleep(deadline, f"The {export_format} export of agent {agent_id} is still {found['status']}.")
            exports = cast(Iterator[Export], self._pages(f"/agents/{_id(agent_id)}/exports"))
            found = next(export for export in exports if export["format"] == export_format)
        if found["status"] == "FAILED":
            raise ClientError(f"Agent {agent_id} was not exported: {found['reason']}")
        return self._http.download(f"/agents/{_id(agent_id)}/exports/{export_format}", Path(path))

    # How

    def _get(self, path: str) -> Any:
        return self._http.json("GET", path)

    def _control(self, tournament_id: str, verb: str) -> Tournament:
        return cast(Tournament, self._http.json("POST", f"/tournaments/{_id(tournament_id)}/{verb}"))

    def _pages(self, path: str, limit: int = PAGE) -> Iterator[Any]:
        """Every item of a list. One that arrives meanwhile moves the others on: none is given twice."""
        offset, seen = 0, set()
        while True:
            page = self._get(f"{path}{'&' if '?' in path else '?'}limit={limit}&offset={offset}")
            for item in page["items"]:
                key = item.get("id") or item.get("agent") or item.get("format")
                if key not in seen:
                    seen.add(key)
                    yield item
            offset += limit
            if offset >= page["count"]:
                return


def _id(text: str) -> str:
    return quote(str(text), safe="")


def _body(spec: Mapping[str, Any] | str | Path) -> tuple[bytes, str]:
    """The request's body and its content type."""
    if isinstance(spec, Mapping):
        return json.dumps(spec).encode(), "application/json"
    if isinstance(spec, Path) or (spec.endswith((".toml", ".json")) and "\n" not in spec):
        try:
            body = Path(spec).read_bytes()
        except OSError as error:
            raise ClientError(f"The specification {spec} cannot be read: {error.strerror}.") from None
        return body, "application/json" if str(spec).endswith(".json") else "application/toml"
    return spec.encode(), "application/toml"


def _owner_token(url: str) -> str:
    """The owner's token of a Podracer on this machine."""
    path = Path(os.environ.get("PODRACER_HOME", "var")) / "owner-token"
    if urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1"):
        try:
            return path.read_text().strip()
        except OSError:
            pass
    raise ClientError(
        f"There is no API token for {url}: set PODRACER_TOKEN to one that the page 'API tokens' made, or on the "
        f"machine that serves it set PODRACER_HOME to its folder ({path} is not there)."
    )


def _sleep(deadline: float | None, text: str) -> None:
    if deadline is not None and time.monotonic() >= deadline:
        raise TimeoutError(text)
    time.sleep(POLL_SECONDS)
