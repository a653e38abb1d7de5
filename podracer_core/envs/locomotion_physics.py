"""Many bodies of one MuJoCo model stepped on several threads, bit for bit as one body after another would be.

`BatchPhysics` is MuJoCo's own batch. It cannot tell contact forces: MuJoCo computes those when asked after a step,
and these models take a step in stages of which sensors see only the first. `FeltPhysics` asks for them.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import mujoco  # type: ignore[import-untyped]
import mujoco.batch  # type: ignore[import-untyped]
import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


class PhysicsError(Exception):
    """MuJoCo gave up on body `index`."""

    def __init__(self, index: int, text: str) -> None:
        self.index, self.text = index, text
        super().__init__(text)


class BatchPhysics:
    """qpos, qvel [count, ...] and `fields`, MjData's by name, [count, ...]: current after every call."""

    def __init__(self, model: Any, count: int, threads: int, fields: tuple[str, ...]) -> None:
        self._batch = mujoco.batch.Batch(model, count, threads)
        self._ctrl = self._batch.bind("ctrl")
        self.qpos: FloatArray = self._batch.bind("qpos")
        self.qvel: FloatArray = self._batch.bind("qvel")
        self.fields: dict[str, FloatArray] = {field: self._batch.bind(field) for field in fields}

    def step(self, ctrl: npt.NDArray[Any], frame_skip: int) -> None:
        """ctrl: [count, action_dim]. Raises PhysicsError."""
        self._ctrl[:] = ctrl
        try:
            self._batch.step(nstep=frame_skip)
        except mujoco.batch.SimulationError as error:
            index = int(error.ids[0])
            raise PhysicsError(index, self._batch.error(index)) from error

    def restart(self, which: IntArray, qpos: FloatArray, qvel: FloatArray) -> None:
        """Bodies `which` anew, at qpos [len(which), nq] and qvel [len(which), nv]."""
        self._batch.reset(which, stage=int(mujoco.mjtStage.mjSTAGE_NONE))
        self.qpos[which], self.qvel[which] = qpos, qvel
        self._batch.forward(which)

    def state(self) -> FloatArray:
        """[count, ...]: all that the next steps depend on."""
        return np.array(self._batch.state)

    def load_state(self, state: FloatArray) -> None:
        """Goes on from `state()`; `fields` become current with the next step."""
        self._batch.state[:] = state

    def close(self) -> None:
        """The batch's threads end with it."""


class FeltPhysics:
    """As BatchPhysics, with `cfrc_ext`: the force and torque of contacts on each body, zero before the first step."""

    def __init__(self, model: Any, count: int, threads: int, fields: tuple[str, ...]) -> None:
        self._model = model
        self._data = [mujoco.MjData(model) for _ in range(count)]
        names = ("qpos", "qvel", *fields)
        arrays = {name: np.zeros((count, *getattr(self._data[0], name).shape)) for name in names}
        self._copies = [[(arrays[name][i], getattr(data, name)) for name in names] for i, data in enumerate(self._data)]
        self.qpos, self.qvel = arrays.pop("qpos"), arrays.pop("qvel")
        self.fields = arrays
        self._shares = [share.tolist() for share in np.array_split(np.arange(count), threads)]
        self._threads = ThreadPoolExecutor(threads - 1, thread_name_prefix="physics") if threads > 1 else None

    def step(self, ctrl: npt.NDArray[Any], frame_skip: int) -> None:
        def advance(i: int) -> None:
            data = self._data[i]
            data.ctrl[:] = ctrl[i]
            try:
                mujoco.mj_step(self._model, data, frame_skip)
                mujoco.mj_rnePostConstraint(self._model, data)
            except mujoco.FatalError as error:
                raise PhysicsError(i, str(error)) from error
            self._copy(i)

        self._everywhere(advance)

    def restart(self, which: IntArray, qpos: FloatArray, qvel: FloatArray) -> None:
        for row, i in enumerate(which.tolist()):
            data = self._data[i]
            mujoco.mj_resetData(self._model, data)
            data.qpos[:], data.qvel[:] = qpos[row], qvel[row]
            mujoco.mj_forward(self._model, data)
            self._copy(i)

    def state(self) -> FloatArray:
        rows = np.zeros((len(self._data), mujoco.mj_stateSize(self._model, _WHOLE)))
        for data, row in zip(self._data, rows, strict=True):
            mujoco.mj_getState(self._model, data, row, _WHOLE)
        return rows

    def load_state(self, state: FloatArray) -> None:
        for data, row in zip(self._data, state, strict=True):
            mujoco.mj_setState(self._model, data, row, _WHOLE)

    def close(self) -> None:
        if self._threads:
            self._threads.shutdown()

    def _copy(self, i: int) -> None:
        for ours, theirs in self._copies[i]:
            ours[...] = theirs

    def _everywhere(self, work: Callable[[int], None]) -> None:
        """Each thread a share, this one included. MuJoCo lets go of the interpreter while it steps."""

        def work_on(share: list[int]) -> None:
            for i in share:
                work(i)

        others = [self._threads.submit(work_on, share) for share in self._shares[1:]] if self._threads else []
        try:
            work_on(self._shares[0])
        finally:
            errors = [other.exception() for other in others]
        for error in filter(None, errors):
            raise error


_WHOLE = int(mujoco.mjtState.mjSTATE_INTEGRATION)
