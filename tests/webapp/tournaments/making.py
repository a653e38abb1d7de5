"""Tournaments, claims and results by hand, for the tests of everything around the training itself."""

from typing import Any

from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from podracer_core.progress import Outcome, PodResult, Progress
from podracer_core.spec_parse import spec_parse
from podracer_core.tournament.statistics import summarise
from tests.webapp import people
from webapp.tournaments import orchestrator, services, storage
from webapp.tournaments.claims import Report
from webapp.tournaments.endings import StoredFiles
from webapp.tournaments.errors import PodLostError
from webapp.tournaments.models import Tournament
from webapp.tournaments.orchestrator import Claim


def user(name: str = "owner") -> User:
    """Somebody who may do everything."""
    return people.person(name)


def spec_data(**parts: Any) -> dict[str, Any]:
    return {"env_id": "CartPole-v1", "stop": {"pods": 100}, **parts}


def tournament(*, start: bool = True, owner: User | None = None, **parts: Any) -> Tournament:
    """A tournament of `spec_data`, started unless told otherwise."""
    spec = spec_parse(spec_data(**parts))
    return services.tournament_create(owner=owner or user(), spec=spec, start=start)


def claim(worker: str = "worker", slot: int = 0, device_kind: str = "cpu") -> Claim:
    """The next pod, which has to be there."""
    claimed = orchestrator.pod_claim(worker=worker, slot=slot, device_kind=device_kind)
    assert claimed is not None
    return claimed


def result(score: float = 100.0, *, confirmed: float | None = None, env_steps: int = 1000, **parts: Any) -> PodResult:
    """A pod that finished: four episodes around `score`, and where asked a confirmation of 100."""
    returns = [score - 1, score, score, score + 1]
    confirmation = None if confirmed is None else summarise([confirmed] * 100, [10] * 100)
    return PodResult(
        Outcome.FINISHED,
        env_steps,
        2.0,
        evaluation=summarise(returns, [10] * 4),
        confirmation=confirmation,
        **parts,
    )


def failure(reason: str, *, retryable: bool = False) -> PodResult:
    return PodResult(Outcome.FAILED, 10, 0.1, reason=reason, retryable=retryable)


def finish(claimed: Claim, given: PodResult | None = None, files: StoredFiles | None = None) -> None:
    """End a claimed pod; unless told otherwise with a score and a training state that others can inherit."""
    orchestrator.pod_finish(
        pod_id=claimed.pod_id,
        attempt=claimed.attempt,
        result=given or result(),
        files=files or StoredFiles(state_file=state_name(claimed)),
    )


def state_name(claimed: Claim) -> str:
    return storage.agent_file(claimed.tournament_id, claimed.agent_id, "state.pt")


def stored_checkpoint(claimed: Claim, content: bytes, sha256: str) -> StoredFiles:
    """`content` in storage as the agent's checkpoint."""
    name = default_storage.save(
        storage.agent_file(claimed.tournament_id, claimed.agent_id, "agent.safetensors"), ContentFile(content)
    )
    return StoredFiles(
        checkpoint_file=name,
        checkpoint_sha256=sha256,
        checkpoint_size=len(content),
        state_file=state_name(claimed),
    )


def board(*scores: float, **parts: Any) -> Tournament:
    """A tournament whose leaderboard has agents of these scores, each fresh and with a checkpoint."""
    given = {"leaderboard": {"size": 8, "eval_episodes": 4}, "generator": {"strategies": {"fresh": 1}}, **parts}
    made = tournament(pool={"size": 1}, **given)
    for score in scores:
        claimed = claim()
        finish(claimed, result(score), stored_checkpoint(claimed, f"weights of {score}".encode(), "ab"))
    return made


def point(env_steps: int, episodic_return: float | None = 1.0, **losses: float) -> Progress:
    return Progress(env_steps, env_steps / 1000, 1000.0, episodic_return, losses, sent_at=1_700_000_000.0 + env_steps)


def progress(claimed: Claim, *points: Progress) -> None:
    """Raises PodLostError, as a slot does."""
    if orchestrator.pods_progress([Report(claimed.pod_id, claimed.attempt, points)]):
        raise PodLostError(f"pod {claimed.pod_id} is lost")
