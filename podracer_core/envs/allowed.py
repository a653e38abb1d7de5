"""The packages whose environments the operator allows: PODRACER_ENVIRONMENTS="package,other_package.environments".

Importing a package runs its code, so only processes that run environments do it: the probe, pod processes and the
command line. The web process only looks whether there are any.
"""

import contextlib
import importlib
import io
import os
import warnings

from podracer_core.errors import EnvError

VARIABLE = "PODRACER_ENVIRONMENTS"


def allowed_packages() -> list[str]:
    """The modules named, in order. Raises EnvError where one is no module's name."""
    names = [name.strip() for name in os.environ.get(VARIABLE, "").split(",") if name.strip()]
    for name in names:
        if not all(part.isidentifier() for part in name.split(".")):
            raise EnvError(f"{VARIABLE} names {name!r}; it takes importable modules, separated by commas.")
    return names


def import_allowed() -> None:
    """Imports each of them, upon which it registers its environments. Raises EnvError naming one that fails."""
    for name in allowed_packages():
        try:
            with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore")
                importlib.import_module(name)
        except Exception as error:  # a package may raise anything while it is imported
            text = " ".join(str(error).split())[:300]
            raise EnvError(
                f"{VARIABLE} names {name!r}, which cannot be imported: {type(error).__name__}: {text}"
            ) from error
