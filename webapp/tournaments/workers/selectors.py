"""Reads of workers: what their hosts are, how busy they are, and what runs on them."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Now

from webapp.tournaments.clock import iso
from webapp.tournaments.models import Artefact, Pod, Tournament, Worker
from webapp.tournaments.orchestrator import LEASE
from webapp.tournaments.selectors import Item

SILENCE = 3 * LEASE
STATES = ("online", "draining", "drained", "offline")
NO_USAGE: Item = {"every": 5.0, "cpu": [], "memory": [], "gpus": []}


def worker_name(text: str) -> str:
    """The name of the worker of that name, else of that id. Raises Worker.DoesNotExist."""
    if Worker.objects.filter(name=text).exists():
        return text
    if text.isascii() and text.isdecimal() and len(text) <= 18:
        found = Worker.objects.filter(pk=int(text)).values_list("name", flat=True).first()
        if found is not None:
            return found
    raise Worker.DoesNotExist(f"There is no worker {text!r}; GET /api/workers?offline=true lists them.")


def worker_list(*, visible: Q, offline: bool = True) -> list[Item]:
    """The workers with what runs on them, those online first, each group by name.

    visible: as webapp.tournaments.access has it; of what is not seen only the load shows
    """
    items = _items(Worker.objects.order_by("name"), visible)
    kept = [item for item in items if offline or item["state"] != "offline"]
    return sorted(kept, key=lambda item: bool(item["state"] == "offline"))


def worker_get(name: str, *, visible: Q) -> Item:
    """One worker. Raises Worker.DoesNotExist."""
    for item in _items(Worker.objects.filter(name=name), visible):
        return item
    raise Worker.DoesNotExist(f"There is no worker {name!r}.")


def _items(workers: QuerySet[Worker], visible: Q) -> list[Item]:
    """`workers` with what runs on them, in four queries for all."""
    rows = list(workers.annotate(online=Q(seen_at__gt=Now() - SILENCE)))
    names = [row.name for row in rows]
    pods, artefacts = _pods(names), _artefacts(names)
    seen = _seen(visible, pods, artefacts)
    return [_worker(row, row.online, pods[row.name], artefacts[row.name], seen) for row in rows]


def _seen(visible: Q, pods: dict[str, list[Pod]], artefacts: dict[str, list[Artefact]]) -> set[int]:
    """Which of the tournaments that something runs of are visible."""
    running = {pod.tournament_id for group in pods.values() for pod in group}
    running |= {artefact.agent.tournament_id for group in artefacts.values() for artefact in group}
    return set(Tournament.objects.filter(visible, pk__in=running).values_list("pk", flat=True))


def slots_taking(workers: list[Item]) -> dict[str, int]:
    """How many slots take pods, by device kind: of workers that are online and not drained."""
    taking = [item for item in workers if item["state"] == "online"]
    return {
        kind: sum(item["slots"] for item in taking if item["device_kind"] == kind) for kind in Pod.DeviceKind.values
    }


def fleet(visible: Q) -> Item:
    """All workers and what they are together.

    waiting: pods in the queue; unserved: those of a device kind that no slot takes, by kind
    """
    workers = worker_list(visible=visible)
    taking, waiting = slots_taking(workers), _waiting()
    online = [item for item in workers if item["state"] != "offline"]
    return {
        "workers": [{**item, "places": _places(item)} for item in workers],
        "counts": {state: sum(item["state"] == state for item in workers) for state in STATES},
        "slots": sum(item["slots"] for item in online),
        "taking": sum(taking.values()),
        "busy": sum(len(item["running"]) for item in online),
        "env_steps_per_second": sum(item["env_steps_per_second"] for item in online),
        "waiting": sum(waiting.values()),
        "unserved": {kind: count for kind, count in waiting.items() if not taking[kind]},
    }


def _waiting() -> dict[str, int]:
    queued = Pod.objects.filter(status=Pod.Status.QUEUED, tournament__status=Tournament.Status.RUNNING)
    return dict(queued.order_by().values_list("device_kind").annotate(total=Count("pk")))


def _places(worker: Item) -> list[Item]:
    """Every slot, with what runs on it or None."""
    running = {item["slot"]: item for item in worker["running"]}
    last = max(running, default=-1)
    return [{"slot": slot, "running": running.get(slot)} for slot in range(max(worker["slots"], last + 1))]


def _pods(workers: list[str]) -> dict[str, list[Pod]]:
    running = Pod.objects.filter(worker__in=workers, status=Pod.Status.RUNNING).select_related("agent", "tournament")
    return _by_worker(running.order_by("slot", "pk"))


def _artefacts(workers: list[str]) -> dict[str, list[Artefact]]:
    made = Artefact.objects.filter(worker__in=workers, status=Artefact.Status.RUNNING).select_related("agent")
    return _by_worker(made.order_by("pk"))


def _by_worker(rows: Iterable[Any]) -> dict[str, list[Any]]:
    grouped: dict[str, list[Any]] = defaultdict(list)
    for row in rows:
        grouped[row.worker].append(row)
    return grouped


def _worker(row: Worker, online: bool, pods: list[Pod], artefacts: list[Artefact], seen: set[int]) -> Item:
    facts = row.facts
    return {
        "id": str(row.pk),
        "name": row.name,
        "device_kind": row.device_kind,
        "slots": row.slots,
        "seen_at": row.seen_at.isoformat(),
        "state": _state(row, online, busy=bool(pods or artefacts)),
        "drain": row.drain,
        "host": facts.get("host", ""),
        "cpu": facts.get("cpu", ""),
        "cores": facts.get("cores"),
        "threads": facts.get("threads"),
        "memory": facts.get("memory"),
        "gpus": facts.get("gpus", []),
        "usage": row.usage or NO_USAGE,
        "env_steps_per_second": sum(pod.env_steps_per_second for pod in pods),
        "running": [_running(pod, seen=pod.tournament_id in seen) for pod in pods],
        "making": [_making(artefact, seen=artefact.agent.tournament_id in seen) for artefact in artefacts],
    }


def _state(row: Worker, online: bool, *, busy: bool) -> str:
    if not online:
        return "offline"
    if not row.drain:
        return "online"
    return "draining" if busy else "drained"


def _running(pod: Pod, *, seen: bool) -> Item:
    agent, tournament = pod.agent, pod.tournament
    told = {
        "pod": str(pod.pk),
        "agent": str(agent.pk),
        "agent_name": agent.name,
        "color": agent.color,
        "algorithm": agent.algorithm,
        "tournament": str(tournament.pk),
        "tournament_name": tournament.name,
        "env_id": tournament.env_id,
    }
    return {
        "slot": pod.slot or 0,
        **(told if seen else dict.fromkeys(told)),
        "env_steps": pod.env_steps,
        "round_env_steps": pod.env_steps_budget,
        "progress": _progress(pod),
        "env_steps_per_second": pod.env_steps_per_second,
    }


def _progress(pod: Pod) -> float | None:
    """How far its round is, 0 to 1, by whichever bound is nearer."""
    seconds = None if pod.agent.schedule else pod.tournament.spec["round"]["seconds"]
    shares = [(pod.env_steps, pod.env_steps_budget), (pod.seconds, seconds)]
    return max((min(1.0, done / bound) for done, bound in shares if bound), default=None)


def _making(artefact: Artefact, *, seen: bool) -> Item:
    return {
        "kind": artefact.kind,
        "name": artefact.name,
        "agent": str(artefact.agent_id) if seen else None,
        "agent_name": artefact.agent.name if seen else None,
        "progress": artefact.progress,
    }


def slots_online() -> Item:
    """Slots that take pods by device kind, and the workers heard of lately."""
    rows = Worker.objects.filter(seen_at__gt=Now() - 3 * LEASE).order_by("name").defer("facts", "usage")
    workers = [
        {
            "name": row.name,
            "device_kind": row.device_kind,
            "slots": row.slots,
            "seen_at": iso(row.seen_at),
            "drain": row.drain,
        }
        for row in rows
    ]
    taking = [row for row in rows if not row.drain]
    totals = {kind: sum(row.slots for row in taking if row.device_kind == kind) for kind in Pod.DeviceKind.values}
    return {**totals, "workers": workers}
