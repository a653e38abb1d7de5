"""What the form says of hyperparameters."""

import pytest

from podracer_core.envs.catalogue import CATALOGUE
from podracer_core.hyperparameters import ALGORITHMS
from podracer_core.spec_parse import spec_parse
from webapp.tournaments.form import hyperparameters as forms_hyperparameters
from webapp.tournaments.form.typed import space_typed


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Acrobot-v1", "Pendulum-v1", "MountainCarContinuous-v0"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_suggested_search_holds(env_id: str, algorithm: str) -> None:
    entry = CATALOGUE[env_id]
    if forms_hyperparameters.misfit(algorithm, entry):
        pytest.skip("does not fit")
    suggestions = forms_hyperparameters.suggestions(algorithm, entry)
    assert set(suggestions) == set(ALGORITHMS[algorithm].model_fields)
    for name, found in suggestions.items():
        space = {name: space_typed(found["kind"], found["values"])}
        spec = spec_parse({"env_id": env_id, "algorithms": [{"name": algorithm, "search_space": space}]})
        assert name in spec.algorithms[0].search_space
