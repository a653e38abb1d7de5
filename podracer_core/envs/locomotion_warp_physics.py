"""Many bodies of one MuJoCo model stepped by mujoco-warp, on a CUDA device or on warp's own CPU device.

What mujoco-warp computes is MuJoCo's, in float32 (https://github.com/google-deepmind/mujoco_warp). Its arrays are
seen as torch tensors without a copy. An env step is one captured graph: nothing of it is launched from Python.
"""

import copy
from collections.abc import Callable
from typing import Any

import mujoco  # type: ignore[import-untyped]
import mujoco_warp as mjw
import torch
import warp as wp
from torch import Tensor

from podracer_core.envs.locomotion_warp_contacts import align_with_capsules
from podracer_core.errors import EnvError

CONTACTS, ROWS = 64, 128
"""Room for contacts, a body on average, and for rows of constraints, each body.

Under random and extreme actions, fallen bodies included, no body here had more than 12 contacts and 50 rows, and
Humanoid, which may touch itself, 11 pairs of geoms on average that were near enough to be looked at.
"""

_OVERFLOWS = (
    mjw.OverflowType.NEFC
    | mjw.OverflowType.NJMAX_NNZ
    | mjw.OverflowType.BROADPHASE
    | mjw.OverflowType.NARROWPHASE
    | mjw.OverflowType.CCD
)

wp.config.log_level = wp.LOG_WARNING  # else it greets on stdout, where a command prints its result


class WarpPhysics:
    """Tensors on the device: qpos, qvel [count, ...] and `fields`, MjData's by name, [count, ...].

    `fields` are those of MuJoCo after a step: where it takes a step in stages, of the last stage.
    Raises EnvError where warp cannot use the device.
    """

    def __init__(self, model: Any, count: int, device: torch.device, fields: tuple[str, ...], frame_skip: int) -> None:
        self._torch_device, self._frame_skip = device, frame_skip
        self._device, model = _warp_device(device), _solvable(model)
        with wp.ScopedDevice(self._device):
            self._model = mjw.put_model(model)
            contacts = min(2 * len(self._model.nxn_geom_pair_filtered), CONTACTS)
            self._data = mjw.make_data(model, nworld=count, nconmax=max(contacts, 1), njmax=ROWS)
        self._model.callback.contactfilter = align_with_capsules
        self._model.opt.warn_overflow = 0
        self._model.opt.deterministic = True  # else contacts add up in the order in which threads found them
        self.qpos: Tensor = wp.to_torch(self._data.qpos)
        self.qvel: Tensor = wp.to_torch(self._data.qvel)
        self.fields: dict[str, Tensor] = {field: wp.to_torch(getattr(self._data, field)) for field in fields}
        self._ctrl: Tensor = wp.to_torch(self._data.ctrl)
        self._warmstart: Tensor = wp.to_torch(self._data.qacc_warmstart)
        self._overflow: Tensor = wp.to_torch(self._data.overflow)
        self._felt = "cfrc_ext" in fields
        self._advance = self._prepare(self._launch_step)
        self._place = self._prepare(self._launch_place) if fields else lambda: None

    def step(self, ctrl: Tensor) -> None:
        """One env step of every body. ctrl: [count, action_dim]. A body that diverges is left non-finite."""
        self._ctrl.copy_(ctrl)
        self._advance()

    def restart(self, which: Tensor, qpos: Tensor, qvel: Tensor) -> None:
        """Bodies where `which` [count] holds anew, at their rows of qpos [count, nq] and qvel [count, nv].

        `fields` are then of the places where all bodies are, and of restarted ones what they are before a step.
        """
        ours = which[:, None]
        self.qpos.copy_(torch.where(ours, qpos, self.qpos))
        self.qvel.copy_(torch.where(ours, qvel, self.qvel))
        self._warmstart.masked_fill_(ours, 0.0)
        self._place()
        for field in {"cfrc_ext", "qfrc_actuator"} & self.fields.keys():
            values = self.fields[field]
            values.masked_fill_(which.view(-1, *[1] * (values.dim() - 1)), 0.0)

    def overflowed(self) -> int:
        """How many bodies ever had contacts or constraints left out, for want of room. Waits for the device."""
        return int((self._overflow & int(_OVERFLOWS)).count_nonzero())

    def state(self) -> dict[str, Tensor]:
        """All that the next steps depend on, on the CPU."""
        now = {"qpos": self.qpos, "qvel": self.qvel, "warmstart": self._warmstart}
        return {name: values.cpu().clone() for name, values in now.items()}

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Goes on from `state()`; `fields` become current with the next step."""
        self.qpos.copy_(state["qpos"])
        self.qvel.copy_(state["qvel"])
        self._warmstart.copy_(state["warmstart"])

    def close(self) -> None:
        """Device memory is then freed with the object, not when the garbage of cycles is collected."""
        self._advance = self._place = _closed

    def _launch_step(self) -> None:
        for _ in range(self._frame_skip):
            mjw.step(self._model, self._data)
        if self._felt:
            mjw.rne_postconstraint(self._model, self._data)

    def _launch_place(self) -> None:
        mjw.kinematics(self._model, self._data)
        mjw.com_pos(self._model, self._data)
        mjw.com_vel(self._model, self._data)

    def _prepare(self, launch: Callable[[], None]) -> Callable[[], None]:
        """`launch` captured as a graph that runs in torch's order of things.

        Where the CUDA driver is too old for the loops in it (before 12.4), it is launched kernel by kernel.
        """
        with wp.ScopedDevice(self._device):
            launch()  # compiles and loads its kernels, which cannot be done while capturing
            if self._device.is_cuda and not (self._device.is_mempool_enabled and wp.is_conditional_graph_supported()):
                return lambda: self._launch_uncaptured(launch)
            with wp.ScopedCapture() as capture:
                launch()
            wp.synchronize_device(self._device)
        return lambda: wp.capture_launch(capture.graph, stream=self._stream())

    def _launch_uncaptured(self, launch: Callable[[], None]) -> None:
        with wp.ScopedStream(self._stream()):
            launch()

    def _stream(self) -> Any:
        """Torch's current one, so that what torch writes before and reads after is in order; None on the CPU."""
        return wp.stream_from_torch(torch.cuda.current_stream(self._torch_device)) if self._device.is_cuda else None


def _closed() -> None:
    raise RuntimeError("These bodies were closed.")


def _warp_device(device: torch.device) -> Any:
    wp.init()
    try:
        return wp.device_from_torch(str(device))  # by name, for "cuda" alone is the current one
    except RuntimeError as error:
        raise EnvError(
            f"mujoco-warp cannot use {device} ({error}); update its driver, or uninstall mujoco-warp to have "
            "bodies stepped by CPU threads."
        ) from error


def _solvable(model: Any) -> Any:
    """Humanoid asks for MuJoCo's PGS, which mujoco-warp lacks; Newton seeks the same forces and finds them closer."""
    if model.opt.solver != mujoco.mjtSolver.mjSOL_PGS:
        return model
    model = copy.copy(model)
    model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    return model
