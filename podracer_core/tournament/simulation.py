"""A tournament in simulated time: the decisions are the real ones, learners and workers those of `synthetic`."""

import bisect
import heapq
import itertools
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from podracer_core.spec import CONFIRM_EPISODES, TournamentSpec
from podracer_core.tournament import modes, synthetic, updater
from podracer_core.tournament.leaderboard import Entry
from podracer_core.tournament.offspring import Offspring, Parent
from podracer_core.tournament.statistics import interquartile_mean, probability_better
from podracer_core.tournament.synthetic import Learner, Workers

HANDOVER_SECONDS = 0.02
"""Between a pod's result and the next pod on the same slot, apart from the decision."""


@dataclass(slots=True)
class Agent:
    """A row of the tournament. `learner`: as it was inherited, and once its pod has ended as it came out."""

    offspring: Offspring
    index: int
    founder: int
    base_rounds: float
    rounds: float
    learner: Learner
    bar: float | None = None
    entry: Entry | None = None
    screening: Entry | None = None
    known_as: Parent | None = None

    def parent(self) -> Parent:
        if self.known_as is None:
            self.known_as = self._parent()
        return self.known_as

    def _parent(self) -> Parent:
        assert self.entry is not None
        made = self.offspring
        trained = round(self.base_rounds + self.rounds)
        return Parent(self.entry, made.algorithm, made.hyperparameters, made.num_envs, trained, made.stage, made.team)


class RungBook:
    """A rung of successive halving that answers in time that hardly grows with it."""

    def __init__(self, factor: int) -> None:
        self._factor = factor
        self._scores: list[float] = []
        self._waiting: list[tuple[float, int]] = []

    def add(self, score: float, index: int) -> None:
        bisect.insort(self._scores, score)
        heapq.heappush(self._waiting, (-score, index))

    def best(self) -> int | None:
        """Of those that are not promoted."""
        return self._waiting[0][1] if self._waiting else None

    def promote(self) -> None:
        heapq.heappop(self._waiting)

    def rung(self, agents: Sequence[Agent]) -> modes.Rung:
        index = self.best()
        candidate = None if index is None else agents[index].parent()
        return modes.Rung(len(self._scores), candidate, modes.cut_of(self._scores, self._factor))


@dataclass(slots=True)
class Outcome:
    """What came of it. Seconds are simulated, but for `decisions`: CPU seconds of each.

    reevaluated, changed: newcomers that were evaluated again, and those that ranked otherwise for it
    """

    seconds: float = 0.0
    utilisation: float = 0.0
    pods: int = 0
    time_to_target: float | None = None
    pods_to_target: int | None = None
    best_skill: float = 0.0
    reevaluated: int = 0
    changed: int = 0
    decisions: list[float] = field(default_factory=list)


class Simulation:
    """One tournament of `spec` on `workers` until the target is confirmed or `spec.stop.pods` have ended.

    stop_at_target: go on to the last pod where false
    decision_seconds: of simulated time that one decision takes; decisions wait for each other, as they do for the
    tournament's row in the database
    stuck: share of founders whose line cannot reach the target, see `synthetic`
    """

    def __init__(
        self,
        spec: TournamentSpec,
        workers: Workers,
        seed: int,
        *,
        stop_at_target: bool = True,
        decision_seconds: float = 0.005,
        stuck: float = 0.5,
    ) -> None:
        self.spec, self.workers, self.stuck = spec, workers, stuck
        self.rng = np.random.default_rng(seed)
        self.stop_at_target, self.decision_seconds = stop_at_target, decision_seconds
        self.agents: list[Agent] = []
        self.board: tuple[Entry, ...] = ()
        self.rungs = [RungBook(spec.generator.reduction_factor) for _ in range(spec.generator.rungs)]
        self.generation: list[Agent] = []
        self.outcome = Outcome()
        self._running: list[tuple[float, int, int, Agent]] = []  # when it ends, a number, slot, who
        self._free = list(range(len(workers.pace)))[::-1]
        self._numbers = itertools.count()
        self._decided_at = 0.0
        self._spans: list[tuple[float, float, float]] = []  # of each pod: begin, end, share of it that was work

    def run(self) -> Outcome:
        pods = self.spec.stop.pods
        assert pods is not None
        self._fill(0.0)
        while self._running and self.outcome.pods < pods:
            now, _, slot, agent = heapq.heappop(self._running)
            self.outcome.seconds = now
            self._free.append(slot)
            if self._end(agent, now) and self.stop_at_target:
                break
            self._fill(now)
        self.outcome.utilisation = self._utilisation()
        return self.outcome

    def _utilisation(self) -> float:
        """Share of slot time spent training or evaluating while there were pods to start."""
        until = min(self.outcome.seconds, max(begins for begins, _, _ in self._spans))
        busy = sum(max(0.0, min(ends, until) - begins) * share for begins, ends, share in self._spans)
        return busy / (len(self.workers.pace) * until) if until else 1.0

    # Decisions, timed

    def _fill(self, now: float) -> None:
        spec = self.spec
        began = time.process_time()
        room = modes.room(spec, pool_size=len(self.workers.pace), active=len(self._running))
        assert spec.stop.pods is not None
        room = min(room, spec.stop.pods - self.outcome.pods - len(self._running), len(self._free))
        made = []
        generation = self._generation() if room > 0 else ([], -1)
        past = modes.Past(self._leaderboard, lambda: generation, self._rungs)
        for position in range(max(0, room)):
            index = len(self.agents)
            offspring = modes.next_agent(spec, past, index, modes.Place(position, room))
            made.append(self._create(offspring, index))
        if not made:
            return
        self.outcome.decisions += [(time.process_time() - began) / len(made)] * len(made)
        self.generation = []
        for agent in made:
            self._start(agent, now)

    def _rank(self, agent: Agent, entry: Entry) -> updater.Update:
        spec = self.spec.leaderboard
        began = time.process_time()
        decision = updater.update(self.board, entry, size=spec.size, max_per_ancestor=spec.max_per_ancestor)
        if decision.rank is not None:
            self._beats(decision, decision.rank)
        self.outcome.decisions[agent.index] += time.process_time() - began
        return decision

    def _beats(self, decision: updater.Update, rank: int) -> list[float]:
        """How probable the new neighbours' order is, as the leaderboard shows it."""
        near = decision.leaderboard[max(0, rank - 2) : rank + 1]
        return [
            probability_better(above.returns, below.returns, self.spec.leaderboard.score)
            for above, below in itertools.pairwise(near)
        ]

    # Pods

    def _create(self, offspring: Offspring, index: int) -> Agent:
        parents = [self.agents[parent] for parent in offspring.parents]
        donors = [self.agents[donor] for donor in offspring.inherits]
        rounds = float(offspring.rounds)
        if offspring.strategy == "rerun":
            rounds = sum(part for part, _ in parents[0].learner.schedule)
        if len(donors) > 1:
            learner = synthetic.fused([donor.learner for donor in donors])
        else:
            learner = donors[0].learner if donors else synthetic.founder(self.stuck, self.rng)
        first = donors[0] if donors else None
        base = first.base_rounds + first.rounds if first else 0.0
        agent = Agent(offspring, index, first.founder if first else index, base, rounds, learner)
        spec = self.spec.leaderboard
        agent.bar = updater.bar(
            self.board, index, agent.founder, size=spec.size, max_per_ancestor=spec.max_per_ancestor
        )
        if self.spec.generator.mode == "successive_halving" and first:
            self.rungs[first.offspring.stage].promote()
        self.agents.append(agent)
        return agent

    def _start(self, agent: Agent, now: float) -> None:
        slot = self._free.pop()
        # Decisions are made one after another.
        self._decided_at = max(self._decided_at, now) + self.decision_seconds
        self._train(agent)
        busy, away = self.workers.seconds(slot, agent.rounds, self.rng)
        evaluations = self._evaluate(agent) * synthetic.EVALUATION_SECONDS
        begins = self._decided_at + HANDOVER_SECONDS
        ends = begins + busy + away + evaluations
        self._spans.append((begins, ends, (busy + evaluations) / (ends - begins)))
        heapq.heappush(self._running, (ends, next(self._numbers), slot, agent))

    def _train(self, agent: Agent) -> None:
        values = agent.offspring.hyperparameters
        if agent.offspring.strategy != "rerun":
            agent.learner = synthetic.trained(agent.learner, agent.rounds, values, self.rng)
            return
        for rounds, rate in self.agents[agent.offspring.parents[0]].learner.schedule:
            agent.learner = synthetic.trained(agent.learner, rounds, {"learning_rate": rate}, self.rng)

    def _evaluate(self, agent: Agent) -> int:
        """Scores the agent as its pod does. Returns how many evaluations that took."""
        agent.entry = self._entry(agent)
        again = self.spec.leaderboard.reevaluate and (agent.bar is None or agent.entry.score > agent.bar)
        if not (again and agent.entry.valid):
            return 1
        agent.screening = agent.entry
        agent.entry = self._entry(agent, agent.screening.returns)
        return 2

    def _rank_of(self, entry: Entry) -> int | None:
        spec = self.spec.leaderboard
        return updater.update(self.board, entry, size=spec.size, max_per_ancestor=spec.max_per_ancestor).rank

    def _entry(self, agent: Agent, before: tuple[float, ...] = ()) -> Entry:
        """`before`: returns of its first evaluation."""
        if math.isnan(agent.learner.ceiling):
            return Entry(agent.index, math.nan, agent.founder)
        returns = before + synthetic.evaluated(agent.learner, self.spec.leaderboard.eval_episodes, self.rng)
        score = math.fsum(returns) / len(returns)
        if self.spec.leaderboard.score == "iqm":
            score = float(interquartile_mean(np.array(returns)))
        return Entry(agent.index, score, agent.founder, returns)

    def _end(self, agent: Agent, now: float) -> bool:
        """Takes a pod's result. Returns whether the target is reached and confirmed."""
        self.outcome.pods += 1
        entry = agent.entry
        assert entry is not None
        if agent.screening:
            self.outcome.reevaluated += 1
            self.outcome.changed += self._rank_of(agent.screening) != self._rank_of(entry)
        decision = self._rank(agent, entry)
        self.board = decision.leaderboard
        for gone in (decision.dropped, None if decision.rank else entry):
            if gone:  # its returns are needed no more
                self.agents[gone.index].entry = replace(gone, returns=())
        if not entry.valid:
            return False
        if self.spec.generator.mode == "generational":
            self.generation.append(agent)
        if self.spec.generator.mode == "successive_halving":
            self.rungs[agent.offspring.stage].add(entry.score, agent.index)
        self.outcome.best_skill = max(self.outcome.best_skill, agent.learner.skill)
        return self._reaches_target(agent, entry, now)

    def _reaches_target(self, agent: Agent, entry: Entry, now: float) -> bool:
        target = self.spec.stop.score
        if target is None or self.outcome.time_to_target is not None or entry.score < target:
            return False
        confirmation = synthetic.evaluated(agent.learner, CONFIRM_EPISODES, self.rng)
        if sum(confirmation) / len(confirmation) < target:
            return False
        self.outcome.time_to_target, self.outcome.pods_to_target = now, self.outcome.pods
        return True

    # What the modes look at

    def _leaderboard(self) -> list[Parent]:
        return [self.agents[entry.index].parent() for entry in self.board]

    def _generation(self) -> tuple[list[list[Parent]], int]:
        stage = self.agents[-1].offspring.stage if self.agents else -1
        return modes.ranked_teams([agent.parent() for agent in self.generation]), stage

    def _rungs(self) -> list[modes.Rung]:
        return [book.rung(self.agents) for book in self.rungs[:-1]]
