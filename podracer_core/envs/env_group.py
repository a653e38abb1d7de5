"""Several Gymnasium environments stepped one after another, here or in a process of their own. No torch."""

import math
import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from gymnasium.envs.registration import EnvSpec

from podracer_core.envs.actions import NativeActions
from podracer_core.envs.registered import describe, start
from podracer_core.envs.spaces import Float32Array, check_spaces, see
from podracer_core.errors import EnvError, EnvironmentCrashedError, UnsupportedSpaceError

BoolArray = npt.NDArray[np.bool_]


class GroupStep(NamedTuple):
    """As vector_env.Step, in numpy; `final_obs` is `obs` where no episode ended."""

    obs: npt.NDArray[Any]
    reward: Float32Array
    terminated: BoolArray
    truncated: BoolArray
    final_obs: npt.NDArray[Any]


class Group(Protocol):
    """What steps a share of the environments: `send_...` starts the work, `receive` waits for the result."""

    def send_reset(self, seeds: list[int]) -> None: ...
    def send_step(self, actions: npt.NDArray[Any]) -> None: ...
    def receive(self) -> Any: ...
    def close(self) -> None: ...


@dataclass(frozen=True)
class Share:
    """Environments `first` to `first + count` of a vectorised environment."""

    spec: EnvSpec
    first: int
    count: int


class EnvGroup:
    """A share of the environments, stepped in this process.

    Raises EnvError and UnsupportedSpaceError at construction, EnvironmentCrashedError from `receive`.
    """

    def __init__(self, share: Share) -> None:
        self.first = share.first
        self.envs = [start(share.spec) for _ in range(share.count)]
        self.entry = describe(self.envs[0])
        check_spaces(self.entry.id, self.entry.observation_space, self.entry.action_space)
        self._native = NativeActions(self.entry.action_space)
        self._episode_steps = np.zeros(share.count, np.int64)
        self._sent: tuple[str, Any] | None = None

    def send_reset(self, seeds: list[int]) -> None:
        self._sent = ("reset", seeds)

    def send_step(self, actions: npt.NDArray[Any]) -> None:
        self._sent = ("step", actions)

    def receive(self) -> Any:
        assert self._sent is not None
        name, argument = self._sent
        return self.reset(argument) if name == "reset" else self.step(argument)

    def reset(self, seeds: list[int]) -> npt.NDArray[Any]:
        """Returns obs, as `step` does."""
        return np.stack([self._reset(i, seed) for i, seed in enumerate(seeds)])

    def step(self, actions: npt.NDArray[Any]) -> GroupStep:
        """actions: as VectorEnv has them, [count(, entries or action_dim)]."""
        count = len(self.envs)
        image = self.entry.observation_space.image
        final_obs: npt.NDArray[Any] = np.empty(
            (count, *(image.shape if image else (self.entry.observation_dim,))), np.uint8 if image else np.float32
        )
        reward, terminated, truncated = (
            np.empty(count, np.float32),
            np.empty(count, bool),
            np.empty(count, bool),
        )
        for i, action in enumerate(self._native.each(actions)):
            final_obs[i], reward[i], terminated[i], truncated[i] = self._step(i, action)
        if not (_surely_finite(reward) and _surely_finite(final_obs)):
            self._check_finite(actions, reward, final_obs)
        obs = final_obs
        (ended,) = (terminated | truncated).nonzero()
        if ended.size:
            obs = final_obs.copy()
            for i in ended.tolist():
                obs[i] = self._reset(i, None)
        return GroupStep(obs, reward, terminated, truncated, final_obs)

    def close(self) -> None:
        for env in self.envs:
            env.close()
        self.envs = []

    def _step(self, i: int, action: Any) -> tuple[npt.NDArray[Any], float, bool, bool]:
        self._episode_steps[i] += 1
        try:
            obs, reward, terminated, truncated, _ = self.envs[i].step(action)
            return (
                see(self.entry.observation_space, obs),
                float(reward),
                terminated,
                truncated,
            )
        except Exception as error:  # whatever an environment raises is told to its user as what it is
            raise self._crash(
                i, f"at step {self._episode_steps[i]} of an episode, on action {action}", error
            ) from error

    def _reset(self, i: int, seed: int | None) -> npt.NDArray[Any]:
        self._episode_steps[i] = 0
        try:
            obs, _ = self.envs[i].reset(seed=seed)
            seen = see(self.entry.observation_space, obs)
        except Exception as error:  # as in _step
            raise self._crash(i, "while starting an episode", error) from error
        what = "" if _surely_finite(seen) else _observed(seen)
        if what:
            raise self._fault(i, f"{what} while starting an episode.")
        return seen

    def _check_finite(self, actions: npt.NDArray[Any], reward: Float32Array, final_obs: npt.NDArray[Any]) -> None:
        """Raises EnvironmentCrashedError where an environment gave what no agent can learn from."""
        actions_given = list(self._native.each(actions))
        for i, (paid, seen) in enumerate(zip(reward, final_obs, strict=True)):
            what = f"gave the reward {paid}" if not np.isfinite(paid) else _observed(seen)
            if what:
                when = f"at step {self._episode_steps[i]} of an episode, on action {actions_given[i]}"
                raise self._fault(i, f"{what} {when}.")

    def _crash(self, i: int, when: str, error: Exception) -> EnvironmentCrashedError:
        return self._fault(i, f"crashed {when}: {crash_text(error)}")

    def _fault(self, i: int, what: str) -> EnvironmentCrashedError:
        return EnvironmentCrashedError(f"{self.entry.id} (environment {self.first + i}) {what}")


def _surely_finite(values: npt.NDArray[Any]) -> bool:
    """Whether all are finite numbers, found out in a microsecond; False also where their squares are too large."""
    return values.dtype == np.uint8 or math.isfinite(np.vdot(values, values))


def _observed(seen: npt.NDArray[Any]) -> str:
    """What is wrong with an observation, "" where all its numbers are finite."""
    odd = seen[~np.isfinite(seen)]
    return f"gave an observation with {odd[0]} in it" if odd.size else ""


def crash_text(error: Exception) -> str:
    """What an environment raised, on one line."""
    text = " ".join(str(error).split())[:300]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


class GroupProcess:
    """A share of the environments, stepped in a fresh interpreter.

    It is no fork, so threads and devices here do not matter; it ends when this process closes its end of the
    socket, also by being killed.
    """

    def __init__(self, share: Share) -> None:
        self._env_id = share.spec.id
        ours, theirs = socket.socketpair()
        path = os.pathsep.join(part for part in sys.path if part)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "podracer_core.envs.env_group", str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                env=os.environ | {"PYTHONPATH": path},
            )
        self._connection = Connection(ours.detach())
        self._connection.send(share)

    def send_reset(self, seeds: list[int]) -> None:
        self._send(("reset", seeds))

    def send_step(self, actions: npt.NDArray[Any]) -> None:
        self._send(("step", actions))

    def receive(self) -> Any:
        """The arrays asked for; raises what the group raised, or that its process died."""
        try:
            answer = self._connection.recv()
        except (EOFError, ConnectionResetError) as error:
            raise self._lost() from error
        if isinstance(answer, EnvError):
            raise answer
        return answer

    def close(self) -> None:
        """Closes the socket, on which the process ends by itself; one stuck in a step is killed."""
        self._connection.close()
        try:
            self._process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _send(self, message: tuple[str, Any]) -> None:
        try:
            self._connection.send(message)
        except (BrokenPipeError, ConnectionResetError) as error:
            raise self._lost() from error

    def _lost(self) -> EnvironmentCrashedError:
        code = self._process.wait()
        return EnvironmentCrashedError(f"{self._env_id} crashed: the process it ran in ended with code {code}.")


def serve(connection: Connection) -> None:
    """The child: answers each request until the other end closes."""
    try:
        group = EnvGroup(connection.recv())
        while True:
            name, argument = connection.recv()
            connection.send(group.reset(argument) if name == "reset" else group.step(argument))
    except (EnvError, UnsupportedSpaceError) as error:
        connection.send(error)
    except (EOFError, ConnectionError, KeyboardInterrupt):
        return  # the parent is gone, closed us, or is being interrupted along with us


if __name__ == "__main__":
    # Under its importable name, so that what is pickled here is known there.
    from podracer_core.envs import env_group

    env_group.serve(Connection(int(sys.argv[1])))
