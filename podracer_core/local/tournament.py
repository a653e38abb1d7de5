"""Runs a tournament on this machine: the loop that keeps the pool full and takes what pods end with.

The decisions are those of `podracer_core.tournament`, as on a server. Everything that happens is in the journal
before the next thing happens; a process that dies, this one too, costs at most the steps since a pod's last saved
state.
"""

import queue
import time
from collections.abc import Callable
from pathlib import Path

from podracer_core.local import board, ensemble, population
from podracer_core.local.home import STATE, Home
from podracer_core.local.records import (
    ACTIVE,
    AgentRecord,
    EventRecord,
    PodStatus,
    TournamentRecord,
    TournamentStatus,
)
from podracer_core.local.slots import Message, Slot
from podracer_core.progress import Directive, Log, Outcome, PodResult, Progress, Saved
from podracer_core.spec import PodPlan, Segment, TournamentSpec
from podracer_core.tournament import modes, sentences
from podracer_core.tournament.names import agent_name
from podracer_core.tournament.offspring import Offspring
from podracer_core.tournament.stopping import Standing, failure_reason, stop_reason

MAX_LOSSES = 3
"""A pod whose process was lost this often is FAILED."""

WAIT_SECONDS = 0.5
"""How long nothing may be heard before time-based stop rules are looked at."""


class LocalTournament:
    """`run()` goes on from wherever `folder` is, from nothing the first time.

    slots: pods trained at once, at most; watch: called after every change and at least twice a second

    Raises HomeError at construction.
    """

    def __init__(
        self,
        spec: TournamentSpec,
        folder: Path,
        *,
        slots: int,
        threads: int = 1,
        watch: Callable[["LocalTournament"], None] = lambda tournament: None,
    ) -> None:
        self.spec, self.threads, self._watch = spec, threads, watch
        self.home = Home(folder)
        self.home.open(spec)
        self.agents = self.home.agents
        self.record = self.home.tournament or TournamentRecord(started_at=time.time())
        self.latest: dict[int, Progress] = {}  # of the pods in training, by agent
        self.ensemble_share: float | None = None  # of its episodes that are played, while an ensemble is made
        self._inbox: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._num_slots = min(slots, spec.pool.size)
        self._slots: list[Slot] = []
        self._pausing = False
        self._seconds_before = self.record.seconds
        self._began = time.monotonic()

    # What can be asked

    @property
    def seconds(self) -> float:
        """Time running, pauses left out."""
        return self._seconds_before + time.monotonic() - self._began

    @property
    def env_steps(self) -> int:
        return sum(agent.env_steps for agent in self.agents.values())

    def pods(self, *statuses: PodStatus) -> list[AgentRecord]:
        return [agent for agent in self.agents.values() if agent.status in statuses]

    def standing(self) -> Standing:
        """What the stop rules look at."""
        scored = sorted((a for a in self.agents.values() if a.scored is not None), key=lambda a: a.scored or 0)
        best = max(scored, key=lambda a: (a.entry.score, -a.index), default=None)
        confirmed = [a.confirmation["score"] for a in scored if a.confirmation]
        return Standing(
            pods=len(self.pods(PodStatus.FINISHED)),
            env_steps=sum(a.env_steps for a in self.agents.values() if a.status not in ACTIVE),
            seconds=self.seconds,
            since_best=len(scored) - 1 - (best.scored or 0) if best else 0,
            confirmed_score=max(confirmed, default=None),
            promised=len(self.pods(*ACTIVE)),
        )

    def pause(self) -> None:
        """Have running pods save their state; `run` returns once they have. For a signal handler."""
        self._pausing = True

    # The loop

    def run(self) -> TournamentRecord:
        """Until a stop rule is met, too many pods fail in a row, or `pause` is called."""
        self._pick_up()
        if self.record.status is TournamentStatus.RUNNING:
            self._slots = [Slot(i, self.spec.pool.device, self.threads, self._inbox) for i in range(self._num_slots)]
        try:
            while self.record.status is TournamentStatus.RUNNING and not self._pausing:
                self._fill()
                self._start_pods()
                self._hear()
                self._end_if_done()
            self._wind_down()
            self._make_ensemble()
        finally:
            for slot in self._slots:
                slot.close()
            self.home.close()
        return self.record

    def _pick_up(self) -> None:
        """Pods that were in training when an earlier process ended are queued again."""
        if self.home.tournament is None:
            self._say("tournament_started", f"{self.spec.name} started on {self.spec.env_id}.")
        if self.record.status is TournamentStatus.PAUSED:
            self.record.status = TournamentStatus.RUNNING
            self._say("resumed", "Resumed.")
        for agent in self.pods(PodStatus.RUNNING):
            agent.status = PodStatus.QUEUED
            agent.env_steps = agent.state_env_steps
            self.home.write(agent)
        self.home.write(self.record)

    def _fill(self) -> None:
        """Creates agents while there is room and budget; all at once, so that no crash parts a generation."""
        stop = self.spec.stop
        active = self.pods(*ACTIVE)
        room = modes.room(self.spec, pool_size=self.spec.pool.size, active=len(active))
        if stop.pods is not None:
            room = min(room, stop.pods - len(self.pods(PodStatus.FINISHED)) - len(active))
        if room <= 0:
            return
        taken = sum(agent.budget or 0 for agent in active) + self.env_steps - sum(agent.env_steps for agent in active)
        past = population.past_of(self.spec, self.home, self.record)
        created = []
        for position in range(room):
            left = modes.env_steps_left(self.spec, room - position, taken)
            if left == 0:
                break
            offspring = modes.next_agent(self.spec, past, len(self.agents), modes.Place(position, room, left))
            created.append(self._create(offspring, left))
            taken += created[-1].budget or 0
        if created:
            self.home.write(*created)

    def _create(self, offspring: Offspring, left: int | None) -> AgentRecord:
        index = len(self.agents)
        names = {agent.name for agent in self.agents.values()}
        agent = AgentRecord(
            index=index,
            name=agent_name(f"{self.spec.name}/{self.spec.seed}", index, names),
            algorithm=offspring.algorithm,
            hyperparameters=offspring.hyperparameters,
            num_envs=offspring.num_envs,
            seed=offspring.seed,
            strategy=offspring.strategy,
            founder=index,
        )
        population.descend(agent, offspring, self.agents)
        agent.budget = population.budget_of(self.spec, agent, offspring.rounds, left)
        self.agents[index] = agent
        self.home.agent_folder(index).mkdir(parents=True, exist_ok=True)
        return agent

    def _start_pods(self) -> None:
        free = [slot for slot in self._slots if slot.agent is None]
        for slot, agent in zip(free, self.pods(PodStatus.QUEUED), strict=False):
            agent.status = PodStatus.RUNNING
            self.home.write(agent)
            slot.submit(agent.index, self._plan(agent))

    def _plan(self, agent: AgentRecord) -> PodPlan:
        spec = self.spec
        own = self.home.state_file(agent.index)
        # A pod that goes on from its own state needs its parents no more.
        donors = [] if own else [self.home.agent_folder(index) / STATE for index in agent.inherits]
        return PodPlan(
            env_id=spec.env_id,
            algorithm=agent.algorithm,
            hyperparameters=agent.hyperparameters,
            seed=agent.seed,
            num_envs=agent.num_envs,
            schedule=tuple(Segment(**segment) for segment in agent.schedule),
            device=spec.pool.device,
            threads=self.threads,
            env_steps=agent.budget,
            seconds=None if agent.schedule else spec.round.seconds,  # a schedule is as long as what it repeats
            eval_episodes=spec.leaderboard.eval_episodes,
            score=spec.leaderboard.score,
            target_score=spec.stop.score,
            reevaluate=spec.leaderboard.reevaluate,
            bar=board.bar_of(spec, self.agents, self.record, agent),
            inherit_from=tuple(map(str, donors)),
            resume_from=None if own is None else str(own),
            directory=str(self.home.agent_folder(agent.index)),
            lineage={
                "tournament": spec.name,
                "agent": agent.name,
                "parents": [self.agents[index].name for index in agent.parents],
                "strategy": agent.strategy,
                "base_env_steps": agent.base_env_steps,
            },
        )

    # What pods say

    def _hear(self) -> None:
        """Waits for a message and takes all that have come."""
        try:
            self._take(self._inbox.get(timeout=WAIT_SECONDS))
            while True:
                self._take(self._inbox.get_nowait())
        except queue.Empty:
            pass
        self._watch(self)

    def _take(self, heard: Message) -> None:
        agent, message = self.agents[heard.agent], heard.message
        match message:
            case Progress():
                self.latest[agent.index] = message
                agent.env_steps, agent.seconds = message.env_steps, message.seconds
                self.home.add_points(agent.index, [message])
            case Saved():
                agent.state_env_steps = message.env_steps
                self.home.write(agent)
            case Log():
                self.home.add_log(agent.index, message.text)
            case PodResult():
                heard.slot.agent = None
                self.latest.pop(agent.index, None)
                self._end_pod(agent, message)

    def _end_pod(self, agent: AgentRecord, result: PodResult) -> None:
        if result.lost_donor is not None:
            self._begin_anew(agent, self.agents[agent.inherits[result.lost_donor]], result.reason)
            return
        if result.outcome is Outcome.FAILED and result.retryable:
            self._retry_or_fail(agent, result.reason)
            return
        agent.env_steps, agent.seconds = max(result.env_steps, agent.state_env_steps), result.seconds
        if result.outcome is Outcome.PAUSED:
            agent.status, agent.state_env_steps = PodStatus.QUEUED, result.env_steps
            self.home.write(agent)
            return
        agent.ended_at = time.time()
        if result.outcome is Outcome.FAILED:
            self._fail(agent, result.reason)
        elif result.outcome is Outcome.STOPPED:
            agent.status, agent.reason = PodStatus.STOPPED, self.record.reason
            self.home.write(agent)
        else:
            self._score(agent, result)

    def _begin_anew(self, agent: AgentRecord, donor: AgentRecord, reason: str) -> None:
        """Gives an agent whose parent's training state is lost other parents, or none."""
        (self.home.agent_folder(donor.index) / STATE).unlink(missing_ok=True)
        place = modes.Place(agent.team * self.spec.generator.pods_per_agent, self.spec.pool.size, agent.budget)
        past = population.past_of(self.spec, self.home, self.record, before=agent.stage)
        offspring = modes.next_agent(self.spec, past, agent.index, place)
        population.descend(agent, offspring, self.agents)
        agent.budget = population.budget_of(self.spec, agent, offspring.rounds, agent.budget)
        agent.status = PodStatus.QUEUED
        descends = population.told_descent(agent, self.agents)
        text = sentences.began_anew(agent.name, donor.name, reason, descends)
        self.home.write(agent, self._event("parent_lost", text, agent))

    def _retry_or_fail(self, agent: AgentRecord, reason: str) -> None:
        agent.losses += 1
        if agent.losses >= MAX_LOSSES:
            self._fail(agent, f"Given up after {agent.losses} attempts: {reason}")
            return
        agent.status, agent.env_steps = PodStatus.QUEUED, agent.state_env_steps
        text = sentences.retried(agent.name, "", agent.state_env_steps)
        self.home.add_log(agent.index, f"{reason} {text}")
        self.home.write(agent, self._event("pod_retried", text, agent))

    def _fail(self, agent: AgentRecord, reason: str) -> None:
        agent.status, agent.reason, agent.ended_at = PodStatus.FAILED, reason, time.time()
        self.home.write(agent, self._event("pod_failed", f"Pod {agent.name} failed: {reason}", agent))

    def _score(self, agent: AgentRecord, result: PodResult) -> None:
        """Takes the score and lets the updater decide about the agent."""
        agent.status = PodStatus.FINISHED
        agent.take_score(result)
        agent.scored = sum(other.scored is not None for other in self.agents.values())
        decision = board.consider(self.spec, self.agents, self.record, agent)
        news = [board.news(self.agents, self.record, agent, decision)]
        if result.confirmation and self.spec.stop.score is not None:
            news.append(sentences.confirmed(agent.name, self.spec.stop.score, result.confirmation))
        self.record.seconds = self.seconds
        self.home.write(agent, self.record, *(self._event(kind, text, agent) for kind, text in news))
        self._prune()

    def _prune(self) -> None:
        """Deletes training states that nothing can start from any more; checkpoints stay."""
        needed = population.needed_states(self.spec, self.record, self.agents)
        for agent in self.agents.values():
            if agent.index not in needed and (state := self.home.state_file(agent.index)):
                state.unlink()

    # The end

    def _end_if_done(self) -> None:
        reason = stop_reason(self.spec.stop, self.standing())
        if reason:
            self._end(TournamentStatus.FINISHED, reason, "finished")
            return
        ended = sorted(self.pods(PodStatus.FINISHED, PodStatus.FAILED), key=lambda agent: agent.ended_at or 0.0)
        reasons = [agent.reason if agent.status is PodStatus.FAILED else None for agent in ended]
        failure = failure_reason(reasons, self.spec.max_failures)
        if failure:
            self._end(TournamentStatus.FAILED, failure, "failed")

    def _end(self, status: TournamentStatus, reason: str, kind: str) -> None:
        self.record.status, self.record.reason, self.record.seconds = status, reason, self.seconds
        self.home.write(self.record, self._event(kind, reason))
        for agent in self.pods(PodStatus.QUEUED):
            agent.status, agent.reason, agent.ended_at = PodStatus.STOPPED, reason, time.time()
            self.home.write(agent)

    def _wind_down(self) -> None:
        """Tells running pods to end, and waits until they have."""
        paused = self.record.status is TournamentStatus.RUNNING
        if paused:
            self.record.status, self.record.seconds = TournamentStatus.PAUSED, self.seconds
            self.home.write(self.record, self._event("paused", "Paused. Running pods save their state and wait."))
        for slot in self._slots:
            if slot.agent is not None:
                slot.direct(Directive.PAUSE if paused else Directive.STOP)
        while any(slot.agent is not None for slot in self._slots):
            self._hear()
        self._prune()
        self._watch(self)

    def _make_ensemble(self) -> None:
        """Once, of a tournament that has finished; what failed or was interrupted is tried again by the next run."""
        wanted = self.spec.leaderboard.ensemble and not self.home.ensembles
        if self.record.status is not TournamentStatus.FINISHED or not wanted or self._pausing:
            return
        try:
            self._ensemble_progress(0.0)
            self.home.write(*ensemble.ensemble_at_end(self.spec, self.home, self.record, self._ensemble_progress))
        except _InterruptedError:
            pass
        self.ensemble_share = None
        self._watch(self)

    def _ensemble_progress(self, share: float) -> None:
        if self._pausing:
            raise _InterruptedError
        self.ensemble_share = share
        self._watch(self)

    # Events

    def _say(self, kind: str, text: str) -> None:
        self.home.write(self._event(kind, text))

    def _event(self, kind: str, text: str, agent: AgentRecord | None = None) -> EventRecord:
        return EventRecord(time.time(), kind, text, None if agent is None else agent.index)


class _InterruptedError(Exception):
    """Ctrl-C, while the ensemble is evaluated."""
