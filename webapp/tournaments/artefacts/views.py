"""The parts of an agent's page that exports and replays are: each a fragment that asks for itself while it is made."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from podracer_core.errors import SpecError
from webapp.tournaments.artefacts import artefacts
from webapp.tournaments.artefacts import selectors as artefact_selectors
from webapp.tournaments.errors import TournamentError
from webapp.tournaments.models import Agent, Artefact

PENDING = (Artefact.Status.QUEUED, Artefact.Status.RUNNING)
ABOUT = {
    "torchscript": "For C++ and Python with PyTorch alone.",
    "onnx": "For any ONNX runtime: C#, JavaScript, embedded.",
}


@require_http_methods(["GET", "HEAD", "POST"])
def export(request: HttpRequest, agent_id: int, name: str) -> HttpResponse:
    """One export's line; POST has it made."""
    return _fragment(request, agent_id, Artefact.Kind.EXPORT, name)


@require_http_methods(["GET", "HEAD", "POST"])
def replay(request: HttpRequest, agent_id: int, name: str) -> HttpResponse:
    """One replay's stage; POST has it filmed."""
    return _fragment(request, agent_id, Artefact.Kind.REPLAY, name)


def _fragment(request: HttpRequest, agent_id: int, kind: Artefact.Kind, name: str) -> HttpResponse:
    if name not in Artefact.NAMES[kind]:
        raise Http404
    try:
        if request.method == "POST":
            artefacts.artefact_request(agent_id=agent_id, kind=kind, name=name)
        item = artefact_selectors.artefact_get(agent_id, kind, name)
    except Agent.DoesNotExist:
        raise Http404 from None
    except (TournamentError, SpecError) as error:
        return HttpResponse(str(error), status=409, content_type="text/plain; charset=utf-8")
    return render(request, f"tournaments/_{kind}.html", {"part": _part(str(agent_id), kind, name, item)})


def parts(agent_id: str, kind: Artefact.Kind, checkpoint: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Every export or replay that there can be of an agent, for its page; none without a checkpoint.

    Raises Agent.DoesNotExist.
    """
    if checkpoint is None:
        return []
    label, stem = artefact_selectors.LABELS[kind], checkpoint["filename"].removesuffix(".safetensors")
    items = {item[label]: item for item in artefact_selectors.artefact_list(int(agent_id), kind)["items"]}
    return [
        _part(agent_id, kind, name, items.get(name))
        | {"filename": stem + artefact_selectors.SUFFIXES.get(name, f"-{name}.mp4")}
        for name in Artefact.NAMES[kind]
    ]


def _part(agent_id: str, kind: Artefact.Kind, name: str, item: dict[str, Any] | None) -> dict[str, Any]:
    pending = item is not None and item["status"] in PENDING
    return {
        "agent_id": agent_id,
        "name": name,
        "title": Artefact.NAMES[kind][name],
        "about": ABOUT.get(name, ""),
        "address": f"/api/agents/{agent_id}/{kind}s/{name}",
        "item": item,
        "pending": pending,
        "waits": pending and not artefacts.workers_online(),
    }
