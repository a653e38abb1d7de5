"""What a tournament is in the database. PostgreSQL is the truth: messages, caches and processes may all be lost."""

from webapp.tournaments.models.agent import Agent, AgentManager, LeaderboardEntry, Rung
from webapp.tournaments.models.artefact import Artefact
from webapp.tournaments.models.event import Event
from webapp.tournaments.models.notice import Delivery, Notice, Webhook
from webapp.tournaments.models.pod import CurvePoint, Pod, PodLogLine
from webapp.tournaments.models.sharing import ShareLink
from webapp.tournaments.models.tournament import Tournament
from webapp.tournaments.models.worker import Worker

__all__ = (
    "Agent",
    "AgentManager",
    "Artefact",
    "CurvePoint",
    "Delivery",
    "Event",
    "LeaderboardEntry",
    "Notice",
    "Pod",
    "PodLogLine",
    "Rung",
    "ShareLink",
    "Tournament",
    "Webhook",
    "Worker",
)
