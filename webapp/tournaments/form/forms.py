"""The form of a new tournament. It checks nothing itself: what is typed becomes a specification, `spec_parse`
validates that, and each error goes back to the field that it came from, with the input kept.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.http import QueryDict

from podracer_core.errors import SpecError
from podracer_core.hyperparameters import ALGORITHMS
from podracer_core.spec import MODES, TournamentSpec
from podracer_core.spec_parse import spec_parse
from webapp.tournaments.form.hyperparameters import NOTES
from webapp.tournaments.form.typed import SpaceRow, number_text, number_typed, rows_of, rows_typed, spaces_typed

PATHS = {
    "name": "name",
    "env_id": "env_id",
    "algorithms": "algorithms",
    "seed": "seed",
    "pool_size": "pool.size",
    "num_envs": "pool.num_envs",
    "device": "pool.device",
    "priority": "pool.priority",
    "round_env_steps": "round.env_steps",
    "round_seconds": "round.seconds",
    "leaderboard_size": "leaderboard.size",
    "eval_episodes": "leaderboard.eval_episodes",
    "score": "leaderboard.score",
    "max_per_ancestor": "leaderboard.max_per_ancestor",
    "fresh": "generator.strategies.fresh",
    "exploit": "generator.strategies.exploit",
    "crossover": "generator.strategies.crossover",
    "fuse": "generator.strategies.fuse",
    "continue_": "generator.strategies.continue",
    "rerun": "generator.strategies.rerun",
    "mode": "generator.mode",
    "parent_selection": "generator.parent_selection",
    "temperature": "generator.temperature",
    "tournament_size": "generator.tournament_size",
    "fuse_parents": "generator.fuse_parents",
    "survivors": "generator.survivors",
    "pods_per_agent": "generator.pods_per_agent",
    "reduction_factor": "generator.reduction_factor",
    "rungs": "generator.rungs",
    "reevaluate": "leaderboard.reevaluate",
    "ensemble": "leaderboard.ensemble",
    "stop_score": "stop.score",
    "stop_pods": "stop.pods",
    "stop_env_steps": "stop.env_steps",
    "stop_hours": "stop.hours",
    "stop_patience": "stop.patience",
    "max_failures": "max_failures",
}
"""Form field -> dotted field of the specification."""

SECTIONS = {
    "round": "round_env_steps",
    "stop": "stop_score",
    "generator": "fresh",
    "pool": "pool_size",
    "leaderboard": "leaderboard_size",
}
"""Where an error about a whole table of the specification is shown."""

TEXTS = ("name", "env_id", "device", "score", "mode", "parent_selection", "reevaluate")
SCORES = (
    ("mean", "mean of the returns"),
    ("iqm", "interquartile mean"),
    ("lower_bound", "lower bound of the interval"),
)
SELECTIONS = (("rank", "by rank"), ("softmax", "softmax of the score"), ("tournament", "best of a few drawn"))
AGAIN = (("true", "on fresh seeds"), ("false", "no"))
DEVICES = (("auto", "any worker"), ("cpu", "CPU workers"), ("cuda", "GPU workers"))


def _text(label: str, help_text: str = "", *, numeric: bool = True, **attrs: str) -> forms.CharField:
    """A field that takes any text: the specification says what is wrong with it."""
    attrs = {"autocomplete": "off", "spellcheck": "false", **({"inputmode": "decimal"} if numeric else {}), **attrs}
    widget = forms.TextInput(attrs=attrs)
    return forms.CharField(label=label, help_text=help_text, required=False, max_length=1000, widget=widget)


class TournamentForm(forms.Form):
    """After `is_valid()`, `spec` is the specification; `rows` are the search spaces and `space_errors` theirs."""

    name = _text("Name", "Empty: named after what it trains in.", numeric=False)
    env_id = _text("Environment", "Type to find a picture below, or any other Gymnasium id.", numeric=False)
    algorithms = forms.CharField(
        required=False,
        help_text="One or several; with several, agents of each compete.",
        widget=forms.SelectMultiple(
            choices=[(name, f"{name} · {NOTES[name]}") for name in ALGORITHMS],
            attrs={"size": min(len(ALGORITHMS), 8)},
        ),
    )
    stop_score = _text("Target score", "Confirmed by 100 fresh episodes; empty: none.")
    pool_size = _text("Pool size", "Pods that train at once.")
    round_env_steps = _text("Round env steps", "How long one pod trains.")
    leaderboard_size = _text("Leaderboard size", "The best agents that are kept and inherited from.")

    stop_pods = _text("Pods finished")
    stop_env_steps = _text("Env steps in all")
    stop_hours = _text("Hours", "Pauses left out.")
    stop_patience = _text("Patience", "Pods in a row without a new best.")

    fresh = _text("Weight of fresh", "New agents from scratch.")
    exploit = _text("Weight of exploit", "Inherit from the board, then perturb.")
    crossover = _text("Weight of crossover", "Hyperparameters of two parents.")
    fuse = _text("Weight of fuse", "Average the weights of relatives.")
    continue_ = _text("Weight of continue", "Train on, unperturbed.")
    rerun = _text("Weight of rerun", "A winner's schedule again from scratch.")
    mode = forms.CharField(
        label="Mode",
        required=False,
        help_text="The weights are for asynchronous ones.",
        widget=forms.Select(choices=[(name, name.replace("_", " ")) for name in MODES]),
    )
    parent_selection = forms.CharField(label="Parents", required=False, widget=forms.Select(choices=SELECTIONS))
    temperature = _text("Softmax temperature", "In deviations of the board's scores.")
    tournament_size = _text("Parents drawn", "Of which the best is taken.")
    fuse_parents = _text("Parents fused", "At most so many.")
    survivors = _text("Share of survivors", "Of a generation.")
    pods_per_agent = _text("Pods per agent", "Of a generation; fused at its end.")
    reduction_factor = _text("Reduction factor", "Successive halving promotes one in so many.")
    rungs = _text("Rungs", "Of successive halving.")
    reevaluate = forms.CharField(label="Evaluate newcomers again", required=False, widget=forms.Select(choices=AGAIN))
    score = forms.CharField(label="Score statistic", required=False, widget=forms.Select(choices=SCORES))
    eval_episodes = _text("Evaluation episodes", "Fresh ones, for each agent's score.")
    max_per_ancestor = _text("Share per founder", "At most this much of the board from one founder.")
    ensemble = _text("Ensemble at the end", "Of so many of the best agents; 0: none.")
    round_seconds = _text("Round seconds", "Ends a round too, if it comes first.")
    num_envs = _text("Parallel copies per pod", "Stepped at once; auto: what suits.", numeric=False)
    device = forms.CharField(label="Runs on", required=False, widget=forms.Select(choices=DEVICES))
    priority = _text("Priority", "Higher goes first when slots are short.")
    seed = _text("Seed", "The same seed gives the same curves.")
    max_failures = _text("Failures in a row", "One failure so often ends it, different ones three times as often.")

    sizes = ("pool_size", "round_env_steps", "leaderboard_size")
    stops = ("stop_score", "stop_pods", "stop_env_steps", "stop_hours", "stop_patience")
    groups = (
        (
            "Where agents come from",
            (
                "mode", "fresh", "exploit", "crossover", "fuse", "continue_", "rerun", "parent_selection",
                "temperature", "tournament_size", "fuse_parents", "survivors", "pods_per_agent", "reduction_factor",
                "rungs",
            ),
        ),
        ("How they are scored", ("score", "eval_episodes", "reevaluate", "max_per_ancestor", "ensemble")),
        ("How they run", ("round_seconds", "num_envs", "device", "priority", "seed", "max_failures")),
    )  # fmt: skip
    """What most people leave as it is, under headings."""

    def __init__(self, data: QueryDict | None = None, *, spec: Mapping[str, Any] | None = None, **kwargs: Any) -> None:
        super().__init__(data, initial=initial_of(spec) if spec else None, **kwargs)
        self.spec: TournamentSpec | None = None
        self.offered = spec
        self.space_errors: list[str] = []
        self.rows = rows_typed(data) if data is not None else rows_of(spec or {})
        for name in self.fields:
            self.fields[name].widget.attrs["aria-describedby"] = f"id_{name}_helptext id_{name}_error"

    def clean(self) -> dict[str, Any]:
        assert isinstance(self.data, QueryDict)
        self._refuse_strays(algorithms_typed(self.data))
        try:
            self.spec = spec_parse(spec_typed(self.data, self.rows))
        except SpecError as error:
            self.add_spec_errors(error)
        self._say_space()
        if self.errors:
            self.spec = None
        return dict(self.cleaned_data)

    def _refuse_strays(self, chosen: Sequence[str]) -> None:
        """A row for an algorithm that does not take part would be dropped in silence."""
        for row in self.rows:
            if row.algorithm not in chosen:
                names = ", ".join(chosen) or "none"
                row.errors.append(f"{row.algorithm} does not take part (chosen: {names}); choose it or remove the row.")

    def _say_space(self) -> None:
        if any(row.errors for row in self.rows) or self.space_errors:
            self.add_error(None, "The search space does not hold: its rows say why.")

    def add_spec_errors(self, error: SpecError) -> None:
        """Put each error beside the field that it is about."""
        for dotted, message in error.errors:
            row = self._row(dotted)
            sentence = message[:1].upper() + message[1:]
            if row:
                row.errors.append(sentence)
            elif name := field_of(dotted):
                self.add_error(name, sentence)
            elif ".search_space" in dotted:
                self.space_errors.append(f"{dotted.rsplit('.', 1)[-1]}: {message}")
            else:
                self.add_error(None, f"{dotted}: {message}" if dotted else sentence)

    def _row(self, dotted: str) -> SpaceRow | None:
        found = re.fullmatch(r"algorithms\.(\d+)\.search_space\.([^.]+)(\..*)?", dotted)
        if not found:
            return None
        chosen = algorithms_typed(self.data) if isinstance(self.data, QueryDict) else []
        index = int(found[1])
        algorithm = chosen[index] if index < len(chosen) else ""
        return next((row for row in self.rows if (row.algorithm, row.name) == (algorithm, found[2])), None)

    def section(self, names: Sequence[str]) -> list[forms.BoundField]:
        """The bound fields of one part of the form."""
        return [self[name] for name in names]

    @property
    def size_fields(self) -> list[forms.BoundField]:
        return self.section(self.sizes)

    @property
    def stop_fields(self) -> list[forms.BoundField]:
        return self.section(self.stops)

    @property
    def detail_groups(self) -> list[tuple[str, list[forms.BoundField]]]:
        return [(heading, self.section(names)) for heading, names in self.groups]

    @property
    def details_have_errors(self) -> bool:
        return any(name in self.errors for _, names in self.groups for name in names)


def field_of(dotted: str) -> str | None:
    """The form field for a dotted field of the specification, or for the nearest above it."""
    inverse = {path: name for name, path in PATHS.items()}
    parts = dotted.split(".")
    if ".search_space" in dotted:
        return None
    for end in range(len(parts), 0, -1):
        path = ".".join(parts[:end])
        if path in inverse:
            return inverse[path]
    return SECTIONS.get(parts[0])


def spec_typed(data: QueryDict, rows: Sequence[SpaceRow]) -> dict[str, Any]:
    """The specification as it was typed, numbers read where they are numbers; empty fields are left out."""
    spec: dict[str, Any] = {}
    for name, path in PATHS.items():
        text = data.get(name, "").strip()
        if name == "algorithms" or not text:
            continue
        *tables, last = path.split(".")
        table = spec
        for part in tables:
            table = table.setdefault(part, {})
        table[last] = text if name in TEXTS else number_typed(text)
    # A stop rule that was emptied is meant: the default must not come back.
    spec.setdefault("stop", {})
    spec["algorithms"] = [
        {"name": algorithm, "search_space": spaces_typed(algorithm, rows)} for algorithm in algorithms_typed(data)
    ]
    return spec


def algorithms_typed(data: QueryDict) -> list[str]:
    """Names, however they came: chosen in a list or written with commas."""
    return [name.strip() for text in data.getlist("algorithms") for name in text.split(",") if name.strip()]


def initial_of(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The form's values for a complete specification."""
    initial: dict[str, Any] = {"algorithms": [part["name"] for part in spec["algorithms"]]}
    for name, path in PATHS.items():
        if name == "algorithms":
            continue
        value: Any = spec
        for part in path.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        initial[name] = number_text(value)
    return initial
