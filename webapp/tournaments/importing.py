"""A tournament that ran without a server, brought into the database with its agents, curves, events and files."""

from datetime import UTC, datetime
from pathlib import Path

from django.contrib.auth.models import User
from django.db import transaction

from podracer_core.local.home import Home, HomeError
from podracer_core.local.records import ACTIVE, AgentRecord, EnsembleRecord, TournamentRecord, TournamentStatus
from podracer_core.spec import TournamentSpec
from webapp.accounts import audit
from webapp.tournaments import board, counts, storage
from webapp.tournaments.models import Agent, CurvePoint, Event, LeaderboardEntry, Pod, PodLogLine, Tournament

CURVE_BATCH = 5_000


def tournament_import(*, owner: User, folder: Path) -> Tournament:
    """Make a tournament of what `folder` holds; one that had not ended is STOPPED. Raises HomeError.

    Files are in storage before the database speaks of them; where the database refuses, they are removed again.
    """
    home = Home(folder)
    spec = home.spec
    home.read()
    if home.tournament is None:
        raise HomeError(f"The tournament in {folder} has not begun; there is nothing to import.")
    with transaction.atomic():
        tournament = _create(owner, spec, home.tournament, home)
        try:
            agents = {index: _create_agent(tournament, record) for index, record in home.agents.items()}
            for index, agent in agents.items():
                record = home.agents[index]
                agent.parents.set([agents[parent] for parent in record.parents])
                agent.inherits_from = agents[record.inherits[0]] if record.inherits else None
                _store_files(home, index, agent)
                _create_pod(home, record, agent)
                _create_curve(home, index, agent)
            _create_leaderboard(tournament, home.tournament, agents)
            for ensemble in home.ensembles.values():
                _create_ensemble(tournament, home, ensemble, agents)
            _create_events(tournament, home, agents)
            Tournament.objects.filter(pk=tournament.pk).update(**counts.counted(tournament))
            text = f"Imported the tournament {tournament.name} for {owner.username}."
            audit.record("tournament_imported", text, tournament_id=tournament.pk)
        except BaseException:
            storage.delete_folder(storage.folder(tournament.pk))
            raise
    return tournament


def _create(owner: User, spec: TournamentSpec, record: TournamentRecord, home: Home) -> Tournament:
    ended = record.status in (TournamentStatus.FINISHED, TournamentStatus.FAILED)
    return Tournament.objects.create(
        owner=owner,
        name=spec.name,
        env_id=spec.env_id,
        spec=spec.model_dump(mode="json"),
        status=Tournament.Status(record.status) if ended else Tournament.Status.STOPPED,
        reason=record.reason if ended else "It was imported before it had ended.",
        pool_size=spec.pool.size,
        priority=spec.pool.priority,
        agents_created=len(home.agents),
        started_at=_moment(record.started_at),
        finished_at=_moment(home.events[-1].at if home.events else record.started_at),
        seconds_before=record.seconds,
        best_history=board.bests_kept(record.best_history),
        reevaluations=record.reevaluations,
        reevaluations_changed=record.reevaluations_changed,
    )


def _create_agent(tournament: Tournament, record: AgentRecord) -> Agent:
    return Agent.objects.create(
        tournament=tournament,
        index=record.index,
        name=record.name,
        algorithm=record.algorithm,
        hyperparameters=record.hyperparameters,
        num_envs=record.num_envs,
        seed=record.seed,
        strategy=record.strategy,
        origin=record.origin,
        stage=record.stage,
        team=record.team,
        schedule=record.schedule,
        founder_index=record.founder,
        depth=record.depth,
        changes=record.changes,
        base_env_steps=record.base_env_steps,
        env_steps=record.env_steps,
        seconds=record.seconds,
        score=record.score,
        score_low=record.score_low,
        score_high=record.score_high,
        mean=record.mean,
        iqm=record.iqm,
        returns=record.returns,
        confirmation=record.confirmation,
        screening=record.screening,
        scored_at=_moment(record.ended_at) if record.scored is not None else None,
    )


def _store_files(home: Home, index: int, agent: Agent) -> None:
    checkpoint, state = home.checkpoint_file(index), home.state_file(index)
    if checkpoint:
        agent.checkpoint_file = storage.agent_file(agent.tournament_id, agent.pk, "checkpoint-1.safetensors")
        agent.checkpoint_sha256 = storage.store(checkpoint, agent.checkpoint_file)
        agent.checkpoint_size = checkpoint.stat().st_size
    if state:
        agent.state_file = storage.agent_file(agent.tournament_id, agent.pk, "state-1-end.pt")
        storage.store(state, agent.state_file)
        agent.state_size = state.stat().st_size
    agent.save()


def _create_pod(home: Home, record: AgentRecord, agent: Agent) -> None:
    active = record.status in ACTIVE
    pod = Pod.objects.create(
        agent=agent,
        tournament_id=agent.tournament_id,
        device_kind=Pod.DeviceKind.CPU,
        status=Pod.Status.STOPPED if active else Pod.Status(record.status),
        reason=record.reason,
        attempt=1,
        losses=record.losses,
        env_steps_budget=record.budget,
        env_steps=record.env_steps,
        seconds=record.seconds,
        finished_at=_moment(record.ended_at),
    )
    PodLogLine.objects.bulk_create(PodLogLine(pod=pod, text=text) for text in home.log(record.index))


def _create_curve(home: Home, index: int, agent: Agent) -> None:
    points = (
        CurvePoint(
            agent=agent,
            attempt=1,
            env_steps=env_steps,
            seconds=seconds,
            episodic_return=episodic_return,
            losses=losses,
        )
        for env_steps, seconds, episodic_return, losses in home.curve(index)
    )
    CurvePoint.objects.bulk_create(points, batch_size=CURVE_BATCH)


def _create_leaderboard(tournament: Tournament, record: TournamentRecord, agents: dict[int, Agent]) -> None:
    for rank, row in enumerate(record.leaderboard, start=1):
        agent = agents[row.agent]
        agent.color = (rank - 1) % board.COLORS
        agent.save(update_fields=["color"])
        LeaderboardEntry.objects.create(
            tournament=tournament,
            agent=agent,
            rank=rank,
            rank_change=row.rank_change,
            beats_next=row.beats_next,
        )


def _create_ensemble(tournament: Tournament, home: Home, record: EnsembleRecord, agents: dict[int, Agent]) -> None:
    members = [agents[index] for index in record.members]
    agent = Agent.every.create(
        tournament=tournament,
        kind=Agent.Kind.ENSEMBLE,
        index=record.index,
        name=record.name,
        algorithm="ensemble",
        hyperparameters={},
        seed=record.seed,
        strategy="ensemble",
        founder_index=members[0].founder_index,
        score=record.score,
        score_low=record.score_low,
        score_high=record.score_high,
        mean=record.mean,
        iqm=record.iqm,
        returns=record.returns,
        scored_at=_moment(record.made_at),
    )
    agent.parents.set(members)
    checkpoint = home.ensemble_file(record.index)
    agent.checkpoint_file = storage.agent_file(tournament.pk, agent.pk, "ensemble-1.safetensors")
    agent.checkpoint_sha256 = storage.store(checkpoint, agent.checkpoint_file)
    agent.checkpoint_size = checkpoint.stat().st_size
    agent.save()


def _create_events(tournament: Tournament, home: Home, agents: dict[int, Agent]) -> None:
    created = Event.objects.bulk_create(
        Event(
            tournament=tournament,
            kind=event.kind,
            text=event.text,
            agent=None if event.agent is None else agents[event.agent],
        )
        for event in home.events
    )
    for row, event in zip(created, home.events, strict=True):
        row.at = datetime.fromtimestamp(event.at, UTC)  # which creation sets to now
    Event.objects.bulk_update(created, ["at"], batch_size=1_000)


def _moment(unix_time: float | None) -> datetime | None:
    return None if unix_time is None else datetime.fromtimestamp(unix_time, UTC)
