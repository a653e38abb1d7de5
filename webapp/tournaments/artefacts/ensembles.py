"""Ensembles: asked for by people or by a tournament that ends, made by workers from its agents' checkpoints.

Each is a row of `Agent` whose making is an artefact, see artefacts.py: claimed under a lease, fenced by its attempt.
What is made becomes the row's checkpoint and score. Locks are taken in one order, the tournament first.
"""

from typing import Any

from django.db import transaction
from django.db.models import Max
from django.db.models.functions import Now

from podracer_core.errors import SpecError
from podracer_core.progress import Evaluation
from podracer_core.spec import MAX_ENSEMBLE
from podracer_core.tournament import ensembles, sentences
from webapp.tournaments import clock, dispatch, events, lineage, storage
from webapp.tournaments.artefacts import artefacts
from webapp.tournaments.artefacts.artefacts import ArtefactClaim, MadeFile
from webapp.tournaments.errors import ArtefactLostError, TournamentError
from webapp.tournaments.models import Agent, Artefact, Tournament

Status = Artefact.Status

MOST = 100
"""Ensembles of one tournament."""

MOST_ATTEMPTS = 3
"""One whose worker was lost is tried again, so often in all."""


# Asking


def ensemble_request(*, tournament_id: int, size: int) -> Agent:
    """Have the best `size` agents made one policy, unless they are already; one that failed is tried again.

    Raises Tournament.DoesNotExist, SpecError for a size that is none, TournamentError where so many cannot be one.
    """
    with transaction.atomic():
        tournament = _locked(tournament_id)
        _check_size(tournament, size)
        members = _standing(tournament)
        if len(members) < size:
            there = f"only {len(members)} of them stand{'s' if len(members) == 1 else ''} on the leaderboard"
            raise TournamentError(f"An ensemble of {size} needs {size} agents with a checkpoint; {there} now.")
        return _make(tournament, members[:size])


def ensemble_at_end(tournament: Tournament) -> None:
    """Make the ensemble that the specification asks for, of a locked tournament that has just finished."""
    spec = tournament.parsed_spec
    if not spec.leaderboard.ensemble:
        return
    members = _standing(tournament)
    size = ensembles.size_at_end(spec, len(members))
    try:
        if not size:
            raise TournamentError(sentences.no_ensemble(len(members)))
        _make(tournament, members[:size])
    except TournamentError as error:
        events.record(tournament.pk, "ensemble_failed", str(error))


def ensemble_retry(*, tournament_id: int, agent_id: int) -> None:
    """Try one that failed again, of the same agents. Raises Agent.DoesNotExist, TournamentError."""
    with transaction.atomic():
        tournament = _locked(tournament_id)
        agent = _ensemble_of(tournament, agent_id)
        artefact = agent.artefacts.filter(kind=Artefact.Kind.ENSEMBLE).first()
        if artefact is None or artefact.status != Status.FAILED:
            raise TournamentError(f"{agent.name} has not failed; only what failed can be tried again.")
        _queue(tournament, artefact)


def ensemble_delete(*, tournament_id: int, agent_id: int) -> None:
    """Delete an ensemble with its files; its members stay. Raises Agent.DoesNotExist."""
    with transaction.atomic():
        tournament = _locked(tournament_id)
        agent = _ensemble_of(tournament, agent_id)
        events.record(tournament.pk, "ensemble_removed", f"{agent.name} was removed; its members stay.")
        events.publish(tournament.pk, "leaderboard")
        agent.delete()
        transaction.on_commit(lambda: storage.delete_folder(storage.agent_folder(tournament_id, agent_id)))


def _locked(tournament_id: int) -> Tournament:
    return Tournament.objects.select_for_update(no_key=True).get(pk=tournament_id)


def _ensemble_of(tournament: Tournament, agent_id: int) -> Agent:
    agent = Agent.every.filter(pk=agent_id, tournament=tournament, kind=Agent.Kind.ENSEMBLE).first()
    if agent is None:
        raise Agent.DoesNotExist(f"Tournament {tournament.pk} has no ensemble {agent_id}.")
    return agent


def _check_size(tournament: Tournament, size: int) -> None:
    most = min(tournament.parsed_spec.leaderboard.size, MAX_ENSEMBLE)
    if most < ensembles.FEWEST:
        raise TournamentError("An ensemble needs at least two agents, and this leaderboard has one place.")
    if not ensembles.FEWEST <= size <= most:
        raise SpecError([("size", f"an ensemble is of {ensembles.FEWEST} to {most} agents here, got {size}")])


def _standing(tournament: Tournament) -> list[Agent]:
    """Who can be a member, the best first."""
    rows = tournament.leaderboard.exclude(agent__checkpoint_file="").select_related("agent").order_by("rank")
    return [row.agent for row in rows]


def _make(tournament: Tournament, members: list[Agent]) -> Agent:
    _check_sight(members)
    found = Agent.every.filter(tournament=tournament, kind=Agent.Kind.ENSEMBLE).prefetch_related("parents", "artefacts")
    wanted = {member.pk for member in members}
    same = next((one for one in found if {parent.pk for parent in one.parents.all()} == wanted), None)
    if same:
        for artefact in same.artefacts.all():
            if artefact.kind == Artefact.Kind.ENSEMBLE and artefact.status == Status.FAILED:
                _queue(tournament, artefact)
        return same
    if len(found) >= MOST:
        raise TournamentError(f"A tournament has at most {MOST} ensembles; remove one first.")
    agent = _create(tournament, members)
    artefact = Artefact(agent=agent, kind=Artefact.Kind.ENSEMBLE, name="ensemble", details=_job(agent, members))
    _queue(tournament, artefact)
    return agent


def _check_sight(members: list[Agent]) -> None:
    """Raises TournamentError where one sees more frames than another: what they see has to be the same."""
    frames = [int(member.hyperparameters.get("frame_stack", 1)) for member in members]
    for member, count in zip(members, frames, strict=True):
        if count != frames[0]:
            raise TournamentError(sentences.sees_otherwise(members[0].name, frames[0], member.name, count))


def _create(tournament: Tournament, members: list[Agent]) -> Agent:
    rows = Agent.every.filter(tournament=tournament, kind=Agent.Kind.ENSEMBLE)
    newest = rows.aggregate(index=Max("index"))["index"]
    index = 0 if newest is None else newest + 1
    agent = Agent.every.create(
        tournament=tournament,
        kind=Agent.Kind.ENSEMBLE,
        index=index,
        name=ensembles.ensemble_name(index),
        algorithm="ensemble",
        hyperparameters={},
        seed=ensembles.evaluation_seed(tournament.parsed_spec, index),
        strategy="ensemble",
        founder_index=members[0].founder_index,
    )
    agent.parents.set(members)
    return agent


def _job(agent: Agent, members: list[Agent]) -> dict[str, Any]:
    """What the maker is told beside the members' files."""
    spec = agent.tournament.parsed_spec
    return {
        "episodes": ensembles.evaluation_episodes(spec),
        "seed": agent.seed,
        "score": spec.leaderboard.score,
        "lineage": {
            "tournament": agent.tournament.name,
            "agent": agent.name,
            "parents": [member.name for member in members],
            "strategy": agent.strategy,
        },
    }


def _queue(tournament: Tournament, artefact: Artefact) -> None:
    artefact.status, artefact.reason, artefact.progress = Status.QUEUED, "", 0.0
    artefact.lease_until, artefact.finished_at = None, None
    artefact.requested_at = clock.database_now()
    artefact.save()
    events.publish(tournament.pk, "leaderboard")
    dispatch.ring_artefacts()


# Ending


def ensemble_finish(*, claim: ArtefactClaim, made: MadeFile, evaluation: Evaluation) -> None:
    """Keep what was made and what it is worth. Raises ArtefactLostError, and then nothing is written."""
    with transaction.atomic():
        tournament = _still_there(claim)
        artefacts.artefact_finish(claim=claim, made=made, details=claim.job)
        agent = Agent.every.get(pk=claim.agent_id)
        agent.checkpoint_file, agent.checkpoint_sha256, agent.checkpoint_size = made.file, made.sha256, made.size
        agent.score, agent.mean, agent.iqm = evaluation.score, evaluation.mean, evaluation.iqm
        agent.score_low, agent.score_high = evaluation.score_low, evaluation.score_high
        agent.returns, agent.scored_at = list(evaluation.returns), clock.database_now()
        agent.save()
        members = lineage.members(agent)
        assert members[0].score is not None
        names = [member.name for member in members]
        text = sentences.ensemble_made(agent.name, names, evaluation, members[0].score)
        events.record(tournament.pk, "ensemble_made", text, agent=agent)
        events.publish(tournament.pk, "leaderboard")


def ensemble_fail(*, claim: ArtefactClaim, reason: str) -> None:
    """Raises ArtefactLostError."""
    with transaction.atomic():
        tournament = _still_there(claim)
        artefacts.artefact_fail(claim=claim, reason=reason)
        _say_failed(tournament, Agent.every.get(pk=claim.agent_id), reason)


def _still_there(claim: ArtefactClaim) -> Tournament:
    tournament = Tournament.objects.select_for_update(no_key=True).filter(pk=claim.tournament_id).first()
    if tournament is None:
        raise ArtefactLostError(f"the tournament of artefact {claim.artefact_id} was deleted")
    return tournament


def _say_failed(tournament: Tournament, agent: Agent, reason: str) -> None:
    names = [member.name for member in lineage.members(agent)]
    text = clock.storable(sentences.ensemble_failed(agent.name, names, reason))
    events.record(tournament.pk, "ensemble_failed", text, agent=agent)
    events.publish(tournament.pk, "leaderboard")


def sweep() -> None:
    """Have what a lost worker had begun made by another, up to MOST_ATTEMPTS."""
    running = Artefact.objects.filter(kind=Artefact.Kind.ENSEMBLE, status=Status.RUNNING)
    for pk, tournament_id in running.filter(lease_until__lt=Now()).values_list("pk", "agent__tournament_id"):
        with transaction.atomic():
            tournament = Tournament.objects.select_for_update(no_key=True).filter(pk=tournament_id).first()
            artefact = running.select_for_update(of=("self",)).filter(pk=pk, lease_until__lt=Now()).first()
            if tournament and artefact:
                _lost(tournament, artefact)


def _lost(tournament: Tournament, artefact: Artefact) -> None:
    if artefact.attempt < MOST_ATTEMPTS:
        _queue(tournament, artefact)
        return
    reason = f"Nothing was heard of its worker, {artefact.worker}, in the last of {artefact.attempt} attempts."
    artefact.status, artefact.lease_until, artefact.reason = Status.FAILED, None, reason
    artefact.finished_at = clock.database_now()
    artefact.save()
    _say_failed(tournament, artefact.agent, reason)
