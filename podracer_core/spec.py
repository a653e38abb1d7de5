"""TournamentSpec and PodPlan: what a user asks for and what a pod is told.

The form, the API, TOML and JSON files and the engine all validate with the models here; what comes from outside
goes through `spec_parse`.
"""

import math
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from podracer_core.envs import catalogue
from podracer_core.errors import SpecError
from podracer_core.hyperparameters import (
    ALGORITHMS,
    Value,
    complete,
)
from podracer_core.search_space import SearchSpace
from podracer_core.sentences import sentence

CONFIRM_EPISODES = 100
"""A reached target score ends a tournament only when this many further episodes confirm it."""

DEFAULT_STOP_PODS = 50

MAX_NUM_ENVS = 65_536

MAX_ENSEMBLE = 64
"""Members: each plays every step, and one file holds them all."""

STRATEGIES = ("fresh", "exploit", "crossover", "fuse", "continue", "rerun")
"""Where a new agent may come from, see tournament.strategies."""

MODES = ("asynchronous", "generational", "random_search", "successive_halving")
"""Who is made next, and when, see tournament.modes."""

ScoreKind = Literal["mean", "iqm", "lower_bound"]


def _built(what: str, built: tuple[str, ...], named: tuple[str, ...]) -> BeforeValidator:
    """A validator that tells a value that is named but not built yet from one that nobody knows."""

    def check(value: Any) -> Any:
        if value in built:
            return value
        if value in named:
            raise ValueError(f"{what} {value!r} is not built yet; available: {', '.join(built)}")
        raise ValueError(f"unknown {what} {value!r}; available: {', '.join(built)}")

    return BeforeValidator(check)


def _no_text_or_truth(value: Any) -> Any:
    """A number is written as one: "2" and true are slips, and would be recorded as what they are not."""
    if isinstance(value, bool | str):
        raise ValueError(f"must be a number, got {value!r}")
    return value


Whole = Annotated[int, BeforeValidator(_no_text_or_truth)]
Number = Annotated[float, BeforeValidator(_no_text_or_truth)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def _takes_fractions(annotation: Any) -> bool:
    return annotation is float or any(_takes_fractions(part) for part in get_args(annotation))


_WHOLE = "use int = [low, high] or choice = [..]"
_NUM_ENVS = f"the number of environments is a whole number from 1 to {MAX_NUM_ENVS}"


def _is_num_envs(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_NUM_ENVS


class AlgorithmSpec(_Part):
    """An algorithm and the space that its hyperparameters are drawn from; what is not named keeps its default."""

    name: Annotated[str, _built("algorithm", tuple(ALGORITHMS), ())] = Field("ppo", description=", ".join(ALGORITHMS))
    search_space: dict[str, SearchSpace] = Field(
        default_factory=dict, description="by hyperparameter, and num_envs; others keep the tuned value"
    )

    @model_validator(mode="after")
    def _values_hold(self) -> Self:
        errors: list[tuple[str, str]] = []
        fields = ALGORITHMS[self.name].model_fields
        for name, space in self.search_space.items():
            if name == "num_envs":
                errors += [(f"search_space.{name}", _NUM_ENVS) for value in space.extremes if not _is_num_envs(value)][
                    :1
                ]
                continue
            if name not in fields:
                known = ", ".join((*fields, "num_envs"))
                errors.append((f"search_space.{name}", f"{self.name} has no such hyperparameter; it has {known}"))
                continue
            if space.kind in ("uniform", "loguniform") and not _takes_fractions(fields[name].annotation):
                # Its ends may be whole, what is drawn between them is not.
                errors.append((f"search_space.{name}", f"takes no fractions, which {space.kind} draws; {_WHOLE}"))
                continue
            for value in space.extremes:
                try:
                    ALGORITHMS[self.name].model_validate({name: value}, strict=True)
                except ValidationError as error:
                    errors.append((f"search_space.{name}", sentence(error.errors()[0])))
                    break
        if errors:
            raise SpecError(errors)
        return self


class PoolSpec(_Part):
    """How many pods at once, and what each runs on."""

    size: Whole = Field(2, ge=1, le=1024, description="pods at once")
    device: Annotated[str, _built("device", ("auto", "cpu", "cuda"), ())] = Field(
        "auto", description="auto, cpu or cuda: which workers may run its pods"
    )
    num_envs: int | Literal["auto"] = Field(
        "auto", description="environments a pod steps at once, unless its algorithm's search space has num_envs"
    )
    priority: Whole = Field(0, ge=-100, le=100, description="higher goes first when slots are short")

    @field_validator("num_envs", mode="before")
    @classmethod
    def _num_envs_holds(cls, value: Any) -> Any:
        if value == "auto" or _is_num_envs(value):
            return value
        raise ValueError(f'give "auto" or a whole number from 1 to {MAX_NUM_ENVS}, got {value!r}')


class RoundSpec(_Part):
    """How long one pod trains: env steps, seconds, or whichever is used up first."""

    env_steps: Whole | None = Field(
        None, ge=1, le=10**12, description="else the environment's own; in whole steps of all environments of a pod"
    )
    seconds: Number | None = Field(None, gt=0, le=10**7, description="of training")


class LeaderboardSpec(_Part):
    """How many agents are kept, and how they are scored."""

    size: Whole = Field(8, ge=1, le=1000, description="agents that are kept and may have heirs")
    eval_episodes: Whole = Field(32, ge=2, le=10_000, description="deterministic episodes that make a score")
    score: Annotated[str, _built("score", ("mean", "iqm", "lower_bound"), ())] = Field(
        "mean", description="what ranks: mean, iqm (interquartile mean) or lower_bound of the mean's interval"
    )
    max_per_ancestor: Number = Field(
        0.5, gt=0, le=1, description="share of the places that one founder's line may have"
    )
    reevaluate: bool = Field(True, description="whoever would enter plays as many episodes again, on fresh seeds")
    ensemble: Whole = Field(0, description="agents that are made one policy when it has finished; 0 for none")

    @model_validator(mode="after")
    def _ensemble_holds(self) -> Self:
        most = min(self.size, MAX_ENSEMBLE)
        if self.ensemble and not 2 <= self.ensemble <= most:
            range_ = f"2 to {most}" if most > 2 else "2"
            here = f", {range_} here" if most >= 2 else "; the leaderboard has one place"
            text = f"0 for none, or how many agents of the leaderboard{here}; got {self.ensemble}"
            raise SpecError([("ensemble", text)])
        return self


class GeneratorSpec(_Part):
    """Where new agents come from. Each field says which mode or strategy it is for; others leave it alone."""

    mode: Annotated[str, _built("mode", MODES, ())] = Field("asynchronous", description=", ".join(MODES))
    strategies: dict[str, float] = Field(
        default_factory=lambda: {"fresh": 0.2, "exploit": 0.8}, description="weights, of asynchronous tournaments"
    )
    parent_selection: Annotated[str, _built("parent selection", ("rank", "softmax", "tournament"), ())] = Field(
        "rank", description="how a parent is picked from the leaderboard: rank, softmax or tournament"
    )
    temperature: Number = Field(
        1.0, gt=0, le=1000, description="of softmax, in standard deviations of the leaderboard's scores"
    )
    tournament_size: Whole = Field(3, ge=2, le=1000, description="of tournament: the best of so many that are drawn")
    fuse_parents: Whole = Field(2, ge=2, le=64, description="of fuse: at most so many are averaged")
    survivors: Number = Field(0.25, gt=0, lt=1, description="of generational: the share that the rest is replaced by")
    pods_per_agent: Whole = Field(
        1, ge=1, le=64, description="of generational: pods of one agent, fused at the barrier"
    )
    reduction_factor: Whole = Field(3, ge=2, le=16, description="of successive_halving: one in so many is promoted")
    rungs: Whole = Field(4, ge=2, le=16, description="of successive_halving: the first has one round of env steps")

    @field_validator("strategies")
    @classmethod
    def _strategies_hold(cls, strategies: dict[str, float]) -> dict[str, float]:
        for name, weight in strategies.items():
            if name not in STRATEGIES:
                raise ValueError(f"unknown strategy {name!r}; available: {', '.join(STRATEGIES)}")
            if not (math.isfinite(weight) and weight >= 0):
                raise ValueError(f"the weight of {name!r} is a number from 0 up, got {weight!r}")
        if not sum(strategies.values()) > 0:
            raise ValueError("at least one strategy needs a weight above 0")
        return strategies


class StopSpec(_Part):
    """When a tournament is over: at the first of these that is met."""

    score: Number | None = Field(None, description="the best score, confirmed by further episodes")
    pods: Whole | None = Field(None, ge=1, le=10**7, description="pods that finished")
    env_steps: Whole | None = Field(
        None, ge=1, le=10**15, description="env steps over all pods; each rounds its part up to whole steps"
    )
    hours: Number | None = Field(None, gt=0, le=24 * 365, description="time running, pauses left out")
    patience: Whole | None = Field(None, ge=1, le=10**7, description="pods in a row without a new best")

    @model_validator(mode="after")
    def _something_stops(self) -> Self:
        if all(value is None for value in self.model_dump().values()):
            raise ValueError("nothing would ever end it; give score, pods, env_steps, hours or patience")
        return self


class TournamentSpec(_Part):
    """One experiment, as DESIGN.md section 4 writes it. Build with `spec_parse`, which fills in defaults."""

    name: str = Field("", max_length=120, description="on every page; else made of the environment's id")
    env_id: str = Field(min_length=1, max_length=200, description="of the catalogue, or any that Gymnasium registers")
    seed: Whole = Field(1, ge=0, le=2**53 - 1, description="what all random numbers follow from")
    algorithms: tuple[AlgorithmSpec, ...] = Field(
        (AlgorithmSpec(),), min_length=1, max_length=16, description="fresh agents are shared out among them"
    )
    pool: PoolSpec = PoolSpec()
    round: RoundSpec = RoundSpec()
    leaderboard: LeaderboardSpec = LeaderboardSpec()
    generator: GeneratorSpec = GeneratorSpec()
    stop: StopSpec = StopSpec(pods=DEFAULT_STOP_PODS)
    max_failures: Whole = Field(
        3, ge=1, le=1000, description="failures in a row for one reason that end it; for several, three times as many"
    )

    @field_validator("name")
    @classmethod
    def _name_is_one_line(cls, name: str) -> str:
        name = " ".join(name.split())
        if not name.isprintable():
            raise ValueError("the name has characters that cannot be shown")
        return name

    def num_envs_space(self, algorithm: str) -> SearchSpace:
        """How many environments a pod of `algorithm` steps at once: its search space's, else the pool's."""
        given = self._given_space(algorithm).get("num_envs")
        if given is not None:
            return given
        if self.pool.num_envs != "auto":
            return SearchSpace.fixed(self.pool.num_envs)
        return SearchSpace.fixed(catalogue.default_num_envs(self.env_id, algorithm))

    def search_space(self, algorithm: str) -> dict[str, SearchSpace]:
        """Every hyperparameter of `algorithm` with its space: the user's, else the environment's tuned value."""
        given = self._given_space(algorithm)
        tuned = complete(algorithm, catalogue.default_hyperparameters(self.env_id, algorithm)).model_dump()
        return {name: given.get(name, SearchSpace.fixed(value)) for name, value in tuned.items()}

    def _given_space(self, algorithm: str) -> dict[str, SearchSpace]:
        return next(part.search_space for part in self.algorithms if part.name == algorithm)


class Segment(_Part):
    """A part of a schedule: so many env steps under these hyperparameters and on so many environments."""

    env_steps: int = Field(ge=1)
    hyperparameters: dict[str, Value]
    num_envs: int = Field(ge=1)


def _paths(value: Any) -> Any:
    """None, one path or several."""
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else value


class PodPlan(_Part):
    """All that a pod needs to know. Paths are local to the machine that runs it.

    hyperparameters: complete and in effect, whatever an inherited state was trained with
    env_steps, seconds: the round's budget; the first that is used up ends it. A step of all environments is whole
    target_score: a score that ends the round early once `confirm_episodes` further episodes confirm it
    schedule: in place of one round under one set of hyperparameters, what to train one after another. env_steps,
        hyperparameters and num_envs then say the sum, the last and the last
    reevaluate: whether an agent that would enter the leaderboard plays as many episodes again, which count as well
    bar: the highest score with which it would not; None where it would with any
    compile: whether the update is compiled where that can be, see agents/compilation.py
    inherit_from: other agents' training states, whose weights, optimizer and normalisers to start with; several are
        averaged, see fuse.py
    resume_from: this pod's own saved state, to go on from exactly
    directory: where the pod writes its files
    lineage: goes into the checkpoint's metadata as it is
    """

    env_id: str
    algorithm: str
    hyperparameters: dict[str, Value]
    seed: int
    num_envs: int = Field(ge=1)
    device: str = "cpu"
    threads: int = Field(1, ge=1)
    env_steps: int | None = Field(None, ge=1)
    seconds: float | None = Field(None, gt=0)
    eval_episodes: int = Field(32, ge=1)
    score: ScoreKind = "mean"
    target_score: float | None = None
    confirm_episodes: int = Field(CONFIRM_EPISODES, ge=1)
    compile: bool = False
    save_interval_seconds: float = Field(5.0, gt=0)
    schedule: tuple[Segment, ...] = ()
    reevaluate: bool = False
    bar: float | None = None
    inherit_from: Annotated[tuple[str, ...], BeforeValidator(_paths)] = ()
    resume_from: str | None = None
    directory: str
    lineage: dict[str, Any] = Field(default_factory=dict)
