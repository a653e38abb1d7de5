"""Reads of exports and replays, as the API and the agent's page show them."""

from typing import Any

from webapp.tournaments.clock import iso
from webapp.tournaments.models import Agent, Artefact
from webapp.tournaments.selectors import Item, Page

SUFFIXES = {"torchscript": ".pt", "onnx": ".onnx"}
"""Of exports; every replay is an .mp4."""

LABELS = {Artefact.Kind.EXPORT: "format", Artefact.Kind.REPLAY: "episode"}
DETAILS = {
    Artefact.Kind.EXPORT: ("observations", "max_difference"),
    Artefact.Kind.REPLAY: ("episodes", "seed", "episodic_return", "length", "fps", "width", "height"),
}
"""What of an artefact's details is shown; null until it is made."""


def artefact_list(agent_id: int, kind: str, *, limit: int = 100, offset: int = 0) -> Page:
    """What was asked for of an agent's exports or replays. Raises Agent.DoesNotExist."""
    agent = Agent.every.select_related("tournament").get(pk=agent_id)
    rows = agent.artefacts.filter(kind=kind).order_by("name")
    return {"items": [_item(agent, row) for row in rows[offset : offset + limit]], "count": rows.count()}


def artefact_get(agent_id: int, kind: str, name: str) -> Item | None:
    """One of them, None where it was never asked for. Raises Agent.DoesNotExist."""
    agent = Agent.every.select_related("tournament").get(pk=agent_id)
    row = agent.artefacts.filter(kind=kind, name=name).first()
    return _item(agent, row) if row else None


def artefact_file(agent_id: int, kind: str, name: str, *, poster: bool = False) -> dict[str, Any] | None:
    """What a download needs, with its `storage_name`; None where it is not there. Raises Agent.DoesNotExist."""
    agent = Agent.every.select_related("tournament").get(pk=agent_id)
    row = agent.artefacts.filter(kind=kind, name=name, status=Artefact.Status.FINISHED).first()
    if row is None or (poster and not row.poster_file):
        return None
    filename = _filename(agent, row)
    if poster:
        filename = filename.removesuffix(".mp4") + ".jpg"
        return {**row.details["poster"], "filename": filename, "storage_name": row.poster_file}
    return {"size": row.size, "sha256": row.sha256, "filename": filename, "storage_name": row.file}


def _item(agent: Agent, row: Artefact) -> Item:
    there, kind = row.status == Artefact.Status.FINISHED, Artefact.Kind(row.kind)
    return {
        LABELS[kind]: row.name,
        "status": row.status,
        "progress": row.progress,
        "reason": row.reason,
        "size": row.size if there else None,
        "sha256": row.sha256 if there else None,
        "filename": _filename(agent, row),
        "requested_at": row.requested_at.isoformat(),
        "finished_at": iso(row.finished_at),
        **{name: row.details.get(name) if there else None for name in DETAILS[kind]},
    }


def _filename(agent: Agent, row: Artefact) -> str:
    end = SUFFIXES[row.name] if row.kind == Artefact.Kind.EXPORT else f"-{row.name}.mp4"
    return f"{agent.tournament.env_id}-{agent.name}{end}".replace("/", "-")
