"""What people do to tournaments: every write that is not the orchestrator's."""

from datetime import UTC, datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now
from pydantic import ValidationError

from podracer_core.errors import SpecError
from podracer_core.sentences import sentence
from podracer_core.spec import PoolSpec, TournamentSpec
from webapp.accounts import audit
from webapp.tournaments import clock, dispatch, endings, event_data, events, orchestrator, storage
from webapp.tournaments.errors import TournamentError
from webapp.tournaments.models import Pod, Tournament, Worker

Status = Tournament.Status


def tournament_create(
    *, owner: User, spec: TournamentSpec, start: bool, origin: str = "", source: int | None = None
) -> Tournament:
    """Store a tournament as a draft, and start it if asked. Raises SpecError for a device that no worker has.

    origin: a sentence about where it comes from, its first event; source: the tournament that this one runs again
    """
    device_check(spec)
    with transaction.atomic():
        tournament = Tournament.objects.create(
            owner=owner,
            name=spec.name,
            env_id=spec.env_id,
            spec=spec.model_dump(mode="json"),
            pool_size=spec.pool.size,
            priority=spec.pool.priority,
        )
        if origin:
            events.record(tournament.pk, "created", origin, data=event_data.created(source))
        _audit(tournament, "tournament_created", "Created")
        if start:
            tournament_start(tournament_id=tournament.pk)
            tournament.refresh_from_db()
    return tournament


def device_check(spec: TournamentSpec) -> None:
    """Raises SpecError for a device that no worker has."""
    if spec.pool.device != Pod.DeviceKind.CUDA:
        return
    online = Worker.objects.filter(seen_at__gt=Now() - 3 * orchestrator.LEASE)
    if online.filter(device_kind=Pod.DeviceKind.CUDA).exists():
        return
    there = ", ".join(sorted(set(online.values_list("device_kind", flat=True)))) or "no worker at all"
    raise SpecError([("pool.device", f'no worker with a CUDA device is online (online: {there}); use "auto" or "cpu"')])


def _check_status(tournament: Tournament, verb: str, *allowed: str) -> None:
    """Raises TournamentError where its state does not allow `verb`."""
    if tournament.status not in allowed:
        possible = " or ".join(allowed)
        raise TournamentError(
            f"Tournament {tournament.name!r} is {tournament.status} and cannot be {verb}; only {possible} can."
        )


def _audit(tournament: Tournament, kind: str, deed: str) -> None:
    audit.record(kind, f"{deed} the tournament {tournament.name}.", tournament_id=tournament.pk)


def tournament_start(*, tournament_id: int) -> None:
    """Start a draft: it runs, and its pool is filled."""
    with orchestrator.changing_existing(tournament_id) as tournament:
        _check_status(tournament, "started", Status.DRAFT)
        tournament.status = Status.RUNNING
        tournament.started_at = tournament.running_since = tournament.now
        _audit(tournament, "tournament_started", "Started")
        text = f"{tournament.name} started on {tournament.env_id}."
        events.record(tournament.pk, "tournament_started", text, data={"pool_size": tournament.pool_size})
        events.publish(tournament.pk, "status")
        orchestrator.fill(tournament)


def tournament_pause(*, tournament_id: int) -> None:
    """Pause: running pods save their state within seconds and wait in the queue."""
    with orchestrator.changing_existing(tournament_id) as tournament:
        _check_status(tournament, "paused", Status.RUNNING)
        tournament.seconds_before = endings.running_seconds(tournament)
        tournament.status, tournament.running_since = Status.PAUSED, None
        _audit(tournament, "tournament_paused", "Paused")
        events.record(tournament.pk, "paused", "Paused. Running pods save their state and wait.")
        events.publish(tournament.pk, "status")


def tournament_resume(*, tournament_id: int) -> None:
    """Go on from where the pause left off."""
    with orchestrator.changing_existing(tournament_id) as tournament:
        _check_status(tournament, "resumed", Status.PAUSED)
        tournament.status, tournament.running_since = Status.RUNNING, tournament.now
        _audit(tournament, "tournament_resumed", "Resumed")
        events.record(tournament.pk, "resumed", "Resumed.")
        events.publish(tournament.pk, "status")
        waiting = tournament.pods.filter(status=Pod.Status.QUEUED)
        for kind in Pod.DeviceKind.values:
            dispatch.ring(kind, waiting.filter(device_kind=kind).count())
        orchestrator.fill(tournament)


def tournament_stop(*, tournament_id: int) -> None:
    """Stop for good: what the running pods have is kept, nothing is evaluated."""
    with orchestrator.changing_existing(tournament_id) as tournament:
        _check_status(tournament, "stopped", Status.DRAFT, Status.RUNNING, Status.PAUSED)
        _audit(tournament, "tournament_stopped", "Stopped")
        endings.end(tournament, Status.STOPPED, "Stopped by hand.", "stopped")


def tournament_update(
    *,
    tournament_id: int,
    name: str | None = None,
    pool_size: int | None = None,
    priority: int | None = None,
    archived: bool | None = None,
) -> None:
    """Rename, change the pool's size or the priority, archive or not.

    Raises SpecError for values that a spec would refuse, TournamentError for what its state does not allow.
    """
    with orchestrator.changing_existing(tournament_id) as tournament:
        before = _settings(tournament)
        if archived is not None and archived != tournament.archived:
            _archive(tournament, archived)
        if name is not None and name != tournament.name:
            _rename(tournament, name)
        if priority is not None and priority != tournament.priority:
            _check("priority", PoolSpec, "priority", priority)
            tournament.priority = priority
        if pool_size is not None and pool_size != tournament.pool_size:
            _resize(tournament, pool_size)
        if before != _settings(tournament):
            text = f"Changed the tournament from {before} to {_settings(tournament)}."
            audit.record("tournament_changed", text, tournament_id=tournament_id)
        orchestrator.fill(tournament)
        events.publish(tournament.pk, "status")


def _settings(tournament: Tournament) -> str:
    return f"{tournament.name}, pool {tournament.pool_size}, priority {tournament.priority}"


def _archive(tournament: Tournament, archived: bool) -> None:
    """Everything is kept; the list leaves it out."""
    if archived:
        _check_status(tournament, "archived", *Tournament.ENDED)
    kind, deed = ("tournament_archived", "Archived") if archived else ("tournament_unarchived", "Unarchived")
    _audit(tournament, kind, deed)
    events.record(tournament.pk, kind.removeprefix("tournament_"), f"{deed}.")
    tournament.archived = archived


def _rename(tournament: Tournament, name: str) -> None:
    _check("name", TournamentSpec, "name", name)
    name = " ".join(name.split())
    if not name:
        raise SpecError([("name", "a tournament needs a name")])
    events.record(tournament.pk, "renamed", f"Renamed from {tournament.name} to {name}.")
    tournament.name = name


def _resize(tournament: Tournament, pool_size: int) -> None:
    _check("pool_size", PoolSpec, "size", pool_size)
    if tournament.status in Tournament.ENDED:
        raise TournamentError(
            f"Tournament {tournament.name!r} is {tournament.status}; its pool cannot change any more."
        )
    data = {"from": tournament.pool_size, "to": pool_size}
    events.record(tournament.pk, "pool_changed", f"Pool {tournament.pool_size} → {pool_size}.", data=data)
    tournament.pool_size = pool_size
    _shrink(tournament)


def _check(field: str, model: type[PoolSpec] | type[TournamentSpec], name: str, value: object) -> None:
    """Raises SpecError under `field` where the spec's own `name` would refuse `value`."""
    data: dict[str, object] = {name: value}
    if model is TournamentSpec:
        data["env_id"] = "CartPole-v1"
    try:
        model.model_validate(data)
    except ValidationError as error:
        raise SpecError([(field, sentence(error.errors()[0]))]) from None


def _shrink(tournament: Tournament) -> None:
    """Let the youngest pods beyond the pool's size end: those that wait are stopped, running ones end their round."""
    active = (
        tournament.pods.select_for_update(of=("self",))
        .filter(status__in=Pod.ACTIVE, end_requested=False)
        .select_related("agent")
        .order_by("pk")
    )
    for pod in sorted(active, key=_seniority)[tournament.pool_size :]:
        if pod.status == Pod.Status.QUEUED:
            endings.stop_queued(tournament, pod, "The pool was made smaller.")
        else:
            pod.end_requested = True
            pod.save(update_fields=["end_requested"])


def _seniority(pod: Pod) -> tuple[bool, datetime, int]:
    """Running ones first, then those that have run; of each those first that began first, then that were made first."""
    return pod.status == Pod.Status.QUEUED, pod.started_at or datetime.max.replace(tzinfo=UTC), pod.pk


def tournament_delete(*, tournament_id: int) -> None:
    """Delete a tournament with its files. Pods that still run notice within a second and end."""
    with orchestrator.changing_existing(tournament_id) as tournament:
        # Held until they are gone: what a pod reports meanwhile would refer to rows that this deletes.
        list(tournament.pods.select_for_update().order_by("pk").values_list("pk"))
        _audit(tournament, "tournament_deleted", "Deleted")
        events.publish_deleted(tournament.pk)
        tournament.delete()
        transaction.on_commit(lambda: storage.delete_folder(storage.folder(tournament_id)))


def worker_started(*, name: str) -> None:
    """A worker starts under a name that is its own: what an earlier process of that name ran is lost, not running."""
    Pod.objects.filter(worker=name, status=Pod.Status.RUNNING).update(lease_until=Now() - orchestrator.LEASE)


def worker_seen(
    *,
    name: str,
    device_kind: str,
    slots: int,
    facts: dict[str, Any] | None = None,
    usage: dict[str, Any] | None = None,
) -> str:
    """A worker says that it is there and how its host is. Returns what is wanted of it, a Worker.Drain."""
    said = {"device_kind": device_kind, "slots": slots, "facts": facts or {}, "usage": usage or {}}
    worker, _ = Worker.objects.update_or_create(name=name, defaults={**said, "seen_at": clock.database_now()})
    return worker.drain


def worker_gone(*, name: str) -> None:
    """A worker says that it ends. A drained one stays so until somebody says otherwise, also over a restart."""
    worker = Worker.objects.filter(name=name)
    worker.filter(drain=Worker.Drain.NO).delete()
    worker.update(seen_at=Now() - 3 * orchestrator.LEASE)
