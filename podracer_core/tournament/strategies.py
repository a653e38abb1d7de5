"""Where a new agent comes from. Each strategy makes one from the ranked agents that may be its parents, the best
first, or answers None where none of them will do.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from random import Random

from podracer_core.hyperparameters import ARCHITECTURE, DISCOUNTS, Value, batch_problem
from podracer_core.search_space import SearchSpace
from podracer_core.sentences import ordinal
from podracer_core.spec import TournamentSpec
from podracer_core.tournament.offspring import Offspring, Parent
from podracer_core.tournament.selection import pick, unpassed
from podracer_core.tournament.spread import coordinate

PERTURB_PROBABILITY = 0.5
"""Each searched hyperparameter of an exploiting agent moves with this probability; one always does."""

DRAWS = 100
"""Draws after which a space that nearly never makes a batch is given up for its parent's or default values."""

NUM_ENVS = "num_envs"
"""Searched like a hyperparameter, though it is the pod's."""

Order = Sequence[Parent]
Values = dict[str, Value]
Strategy = Callable[[TournamentSpec, Order, Random], Offspring | None]


def fresh(spec: TournamentSpec, order: Order, rng: Random) -> Offspring:
    """An agent of its own: everything drawn from its algorithm's spaces, what shapes the network included."""
    algorithm = rng.choice(spec.algorithms).name
    space = spaces(spec, algorithm)
    values = _first_batch(lambda: _drawn(space, rng))
    return _offspring("fresh", algorithm, values, rng)


def fresh_spread(spec: TournamentSpec, number: int, rng: Random) -> Offspring:
    """As `fresh`, but spread evenly over the algorithms and their spaces, as the tournament's agent number `number`.

    Of each algorithm the first lies in the middle of its spaces, where whoever wrote them would begin.
    """
    count = len(spec.algorithms)
    algorithm, turn = spec.algorithms[number % count].name, number // count
    space = spaces(spec, algorithm)

    def share(name: str) -> float:
        return coordinate(f"{spec.seed}/{algorithm}/{name}", turn - 1) if turn else 0.5

    def tries() -> Iterator[Values]:
        yield {name: part.at(0.0 if part.kind == "fixed" else share(name)) for name, part in space.items()}
        while True:
            yield _drawn(space, rng)

    return _offspring("fresh", algorithm, _first_batch(tries().__next__), rng)


def exploit(spec: TournamentSpec, order: Order, rng: Random) -> Offspring | None:
    """A child that inherits a parent's weights and optimizer and trains on with perturbed hyperparameters.

    Exploit and explore of population based training (Jaderberg et al. 2017, arXiv 1711.09846), with no population
    to wait for. As there, nobody descends from what was passed since: see `selection.unpassed`.
    """
    if not order:
        return None
    parent, origin = _picked(spec, order, rng)
    return perturbed_child(spec, parent, rng, "exploit", origin)


def continue_(spec: TournamentSpec, order: Order, rng: Random) -> Offspring | None:
    """The same agent further: weights and optimizer inherited, nothing perturbed; one that no relative has passed."""
    if not order:
        return None
    parent, origin = _picked(spec, order, rng)
    return unchanged_child(parent, rng, origin)


def crossover(spec: TournamentSpec, order: Order, rng: Random) -> Offspring | None:
    """Weights from the better of two parents of one algorithm, each searched hyperparameter from either, one at least
    from the worse.

    Uniform crossover (Syswerda 1989), of parents that differ: an agent and one that continues it have nothing to
    exchange. What shapes the network comes with the weights.
    """
    paired = _not_alone(order, _algorithm)
    while paired:
        one = pick(paired, spec.generator, rng)
        free = searched(spaces(spec, one.algorithm))
        partners = [parent for parent in _like(one, order, _algorithm) if _differ(one, parent, free)]
        if partners:
            break
        paired = [parent for parent in paired if parent.algorithm != one.algorithm]  # all of which are alike
    else:
        return None
    other = pick(partners, spec.generator, rng)
    better, worse = (parent for parent in order if parent is one or parent is other)
    ours, theirs = values_of(better), values_of(worse)
    differing = [name for name in free if ours[name] != theirs[name]]

    def crossed() -> Values:
        taken = [name for name in differing if rng.random() < 0.5] or [rng.choice(differing)]
        return {**ours, **{name: theirs[name] for name in taken}}

    values = _first_batch(crossed, otherwise=ours)
    origin = f"The weights of the {_place(better, order)}, hyperparameters also of the {_place(worse, order)}."
    return _offspring("crossover", better.algorithm, values, rng, (better, worse), (better,), origin)


def fuse(spec: TournamentSpec, order: Order, rng: Random) -> Offspring | None:
    """Weights and optimizer state averaged over parents of one architecture and one ancestry, then trained on under
    the hyperparameters of the best of them.

    Networks that were trained on from common weights can often be averaged without loss (Wortsman et al. 2022,
    arXiv 2203.05482), those of different random beginnings cannot: they agree on no order of their units.
    """
    related = _not_alone(order, _kin)
    if not related:
        return None
    picked = pick(related, spec.generator, rng)
    chosen = [picked, *_like(picked, order, _kin)[: spec.generator.fuse_parents - 1]]
    parents = tuple(parent for parent in order if any(parent is one for one in chosen))
    best = parents[0]
    origin = f"The mean of the {', '.join(_place(parent, order, total=False) for parent in parents)} of {len(order)}."
    return _offspring("fuse", best.algorithm, values_of(best), rng, parents, parents, origin)


def rerun(spec: TournamentSpec, order: Order, rng: Random) -> Offspring | None:
    """A winner's schedule again from scratch, which tells luck from merit: what each agent of its line trained with,
    one after another. A founder of its own."""
    trained = [parent for parent in order if parent.total_env_steps > 0]
    if not trained:
        return None
    parent = pick(trained, spec.generator, rng)
    origin = f"The schedule of the {_place(parent, order)} again from scratch, {parent.total_env_steps:,} env steps."
    return _offspring("rerun", parent.algorithm, values_of(parent), rng, (parent,), (), origin)


STRATEGIES: dict[str, Strategy] = {
    "fresh": fresh,
    "exploit": exploit,
    "crossover": crossover,
    "fuse": fuse,
    "continue": continue_,
    "rerun": rerun,
}


def perturbed_child(spec: TournamentSpec, parent: Parent, rng: Random, strategy: str, origin: str) -> Offspring:
    """`exploit` of this very parent."""
    old, space = values_of(parent), spaces(spec, parent.algorithm)
    values = _first_batch(lambda: perturbed(old, space, rng), otherwise=old)
    return _offspring(strategy, parent.algorithm, values, rng, (parent,), (parent,), origin)


def unchanged_child(parent: Parent, rng: Random, origin: str) -> Offspring:
    """`continue` of this very parent."""
    return _offspring("continue", parent.algorithm, values_of(parent), rng, (parent,), (parent,), origin)


def perturbed(old: Mapping[str, Value], space: Mapping[str, SearchSpace], rng: Random) -> Values:
    """`old` with some of its searched values moved within their spaces; what shapes the network stays."""
    free = searched(space)
    chosen = [name for name in free if rng.random() < PERTURB_PROBABILITY]
    if free and not chosen:
        chosen = [rng.choice(free)]
    moved = {name: space[name].perturb(old[name], rng, discount=name in DISCOUNTS) for name in chosen}
    return {**old, **moved}


def searched(space: Mapping[str, SearchSpace]) -> list[str]:
    """What an heir may have other values of than its parent."""
    return [name for name, part in space.items() if part.kind != "fixed" and name not in ARCHITECTURE]


def spaces(spec: TournamentSpec, algorithm: str) -> dict[str, SearchSpace]:
    """Every hyperparameter of `algorithm`, and the number of environments."""
    return {**spec.search_space(algorithm), NUM_ENVS: spec.num_envs_space(algorithm)}


def values_of(parent: Parent) -> Values:
    return {**parent.hyperparameters, NUM_ENVS: parent.num_envs}


def _drawn(space: Mapping[str, SearchSpace], rng: Random) -> Values:
    return {name: part.sample(rng) for name, part in space.items()}


def _first_batch(draw: Callable[[], Values], otherwise: Values | None = None) -> Values:
    """The first draw that makes batches; after DRAWS without one `otherwise`, or the last."""
    values: Values = {}
    for _ in range(DRAWS):
        values = draw()
        if batch_problem(values, int(values[NUM_ENVS])) is None:
            return values
    return values if otherwise is None else otherwise


def _offspring(
    strategy: str,
    algorithm: str,
    values: Values,
    rng: Random,
    parents: tuple[Parent, ...] = (),
    inherits: tuple[Parent, ...] = (),
    origin: str = "",
) -> Offspring:
    old = values_of(parents[0]) if parents else values
    return Offspring(
        strategy,
        algorithm,
        {name: value for name, value in values.items() if name != NUM_ENVS},
        int(values[NUM_ENVS]),
        rng.randrange(2**31),
        tuple(parent.entry.index for parent in parents),
        tuple(parent.entry.index for parent in inherits),
        {name: (old[name], value) for name, value in values.items() if value != old[name]},
        origin,
    )


def _differ(one: Parent, other: Parent, names: Sequence[str]) -> bool:
    """Whether any of these values does. Of a thousand that may be asked for, most do in the first."""
    return any(
        one.num_envs != other.num_envs if name == NUM_ENVS else one.hyperparameters[name] != other.hyperparameters[name]
        for name in names
    )


def _algorithm(parent: Parent) -> str:
    return parent.algorithm


def _kin(parent: Parent) -> Hashable:
    """Equal for agents of one architecture and one ancestry."""
    architecture = tuple((name, parent.hyperparameters.get(name)) for name in sorted(ARCHITECTURE))
    return parent.algorithm, parent.entry.founder, architecture


def _not_alone(order: Order, kind: Callable[[Parent], Hashable]) -> list[Parent]:
    """Those that share their `kind` with another."""
    counts = Counter(map(kind, order))
    return [parent for parent in order if counts[kind(parent)] > 1]


def _like(one: Parent, order: Order, kind: Callable[[Parent], Hashable]) -> list[Parent]:
    """The others of the same `kind`."""
    return [parent for parent in order if parent is not one and kind(parent) == kind(one)]


def _picked(spec: TournamentSpec, order: Order, rng: Random) -> tuple[Parent, str]:
    """One that no relative has passed, and why it."""
    heads = unpassed(order)
    parent = pick(heads, spec.generator, rng)
    how = {"rank": "its rank", "softmax": "its score", "tournament": f"a draw of {spec.generator.tournament_size}"}
    among = f", of {len(heads):,} that no relative has passed" if len(heads) < len(order) else ""
    return parent, f"Picked as the {_place(parent, order)} by {how[spec.generator.parent_selection]}{among}."


def _place(parent: Parent, order: Order, *, total: bool = True) -> str:
    place = ordinal(next(rank for rank, other in enumerate(order, start=1) if other is parent))
    return f"{place} of {len(order)}" if total else place
