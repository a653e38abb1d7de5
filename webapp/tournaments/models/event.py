"""What happened."""

from django.db import models

from webapp.tournaments.models.agent import Agent
from webapp.tournaments.models.pod import Pod
from webapp.tournaments.models.tournament import Tournament


class Event(models.Model):
    """Something that happened, in a sentence with names, numbers and reasons. data: the same for programs"""

    tournament = models.ForeignKey(Tournament, models.CASCADE, related_name="events", db_index=False)
    at = models.DateTimeField(auto_now_add=True)
    kind = models.CharField(max_length=30)
    text = models.TextField()
    data = models.JSONField(default=dict)
    agent = models.ForeignKey(Agent, models.SET_NULL, null=True, related_name="+")
    pod = models.ForeignKey(Pod, models.SET_NULL, null=True, related_name="+")

    class Meta:
        indexes = (models.Index(fields=["tournament", "-id"], name="event_newest"),)

    def __str__(self) -> str:
        return self.text
