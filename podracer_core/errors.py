"""Every error that podracer_core raises on purpose.

`PodracerError` and below carry one sentence for the person who caused it or has to act on it: it names the
bad value and the valid ones. `retryable` says whether the same pod may succeed on another try.
"""


class PodracerError(Exception):
    """Base of all. Its text is shown to users as it is."""

    retryable = False


class SpecError(PodracerError, ValueError):
    """A specification that does not hold; `errors` lists (field, message) pairs, fields as dotted paths."""

    def __init__(self, errors: list[tuple[str, str]]) -> None:
        self.errors = errors
        super().__init__("; ".join(f"{field}: {message}" if field else message for field, message in errors))


class EnvError(PodracerError):
    """Base of what can be wrong with an environment."""


class UnknownEnvironmentError(EnvError):
    """No environment is registered under this id."""


class UnsupportedSpaceError(EnvError):
    """The environment's observation or action space is one that no agent here can use."""


class EnvironmentCrashedError(EnvError):
    """The environment raised, or gave what is not finite; the text names the environment, the step and the action."""


class DivergedError(PodracerError):
    """A loss, a weight or a return became NaN or infinite."""


class CheckpointError(PodracerError):
    """A file that is not a Podracer checkpoint, is damaged, or does not fit."""


class ExportError(PodracerError):
    """An agent that cannot be brought into another format, or whose export would act otherwise."""


class RenderError(PodracerError):
    """An episode that cannot be made a video: no renderer, no such picture, or it did not replay as it was scored."""


class DonorError(PodracerError):
    """A parent's training state is gone or damaged: this agent cannot start, from another parent it can.

    position: of the parent among those that the plan names
    """

    def __init__(self, text: str, position: int) -> None:
        self.position = position
        super().__init__(text)


class DeviceUnavailableError(PodracerError):
    """The device asked for is not on this machine."""


class PodProcessLostError(PodracerError):
    """The pod process ended without a result: killed, out of memory, or crashed below Python."""

    retryable = True
