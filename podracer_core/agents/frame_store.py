"""Images for a replay buffer, every frame kept once, as uint8.

Two observations of one transition, of four frames each, share all frames but one or two with each other and with
their neighbours. So the replay buffer holds the numbers of frames in place of observations, and the frames lie here:
an eighth of what whole observations would take, a quarter where episodes are short.
"""

from typing import Any

import torch
from torch import Tensor

from podracer_core.agents.replay_buffer import MAX_STATE_BYTES
from podracer_core.envs.image import Image
from podracer_core.envs.vector_env import Step
from podracer_core.errors import SpecError

SPARE_STEPS = 64
"""Room for frames that begin a resumed run's episodes, to which no transition leads."""

MOST_FRAMES = 2**24
"""Their numbers must come unchanged through the replay buffer's float32."""


class FrameStore:
    """A ring of the frames of so many steps of `num_envs` environments.

    Each step has two places an environment: for the frame that the next observation ends with, and for an ended
    episode's last frame. The latter half of the ring is only written to where an episode ended.

    frame_stack: frames of an observation, and so numbers [num_envs, frame_stack] that stand for it
    obs: these numbers, of the present observation
    """

    def __init__(self, image: Image, frame_stack: int, num_steps: int, num_envs: int, device: torch.device) -> None:
        self.frame_stack, self.num_envs = frame_stack, num_envs
        self._shape = image.channels // frame_stack, image.height, image.width
        self._length = num_steps + frame_stack + SPARE_STEPS
        if 2 * self._length * num_envs > MOST_FRAMES:
            most = MOST_FRAMES // 2 - (frame_stack + SPARE_STEPS) * num_envs
            raise SpecError([("buffer_size", f"is too large for images; at most {most:,}")])
        self._frames = torch.empty(2, self._length, num_envs, *self._shape, dtype=torch.uint8, device=device)
        self._rows = self._frames.view(-1, *self._shape)
        self._envs = torch.arange(num_envs, device=device)
        self._next, self._written = 0, [[False] * self._length for _ in range(2)]
        self.obs = torch.empty(0)

    def start(self, obs: Tensor) -> None:
        """obs: uint8 [num_envs, channels, height, width], with which every environment begins an episode."""
        self.obs = self._push(self._last(obs)).unsqueeze(1).repeat(1, self.frame_stack)

    def add(self, step: Step) -> tuple[Tensor, Step]:
        """Keeps the new frames of `step`. Returns the numbers of the observation before it, and `step` with numbers in
        place of its observations."""
        before, at = self.obs, self._next
        newest = self._push(self._last(step.obs)).unsqueeze(1)
        self.obs = final_obs = torch.cat((before[:, 1:], newest), 1)
        if step.final_obs is not step.obs:
            last = self._put(1, at, self._last(step.final_obs)).unsqueeze(1)
            ended = (step.terminated | step.truncated).unsqueeze(1)
            final_obs = torch.where(ended, torch.cat((before[:, 1:], last), 1), self.obs)
            self.obs = torch.where(ended, newest, self.obs)
        return before, step._replace(obs=self.obs, final_obs=final_obs)

    def take(self, numbers: Tensor) -> Tensor:
        """numbers: [batch, frame_stack]. Returns the images they stand for, uint8 [batch, channels, height, width]."""
        return self._rows[numbers.long()].flatten(1, 2)

    def affordable(self, num_steps: int) -> int:
        """How many of the latest `num_steps` steps fit into a state of MAX_STATE_BYTES."""
        left = MAX_STATE_BYTES - sum(self._bytes(age) for age in range(self.frame_stack))
        for age in range(num_steps):
            left -= self._bytes(age + self.frame_stack)
            if left < 0:
                return age
        return num_steps

    def state(self, num_steps: int) -> dict[str, Any]:
        """Frames of the latest `num_steps` steps, on the CPU."""
        kept = min(num_steps + self.frame_stack, self._length)
        places = [(self._next - 1 - age) % self._length for age in range(kept)]
        parts = {}
        for half, name in enumerate(("frames", "last_frames")):
            written = torch.tensor([at for at in places if self._written[half][at]], dtype=torch.int64)
            parts[name] = self._frames[half][written.to(self._frames.device)].cpu()
            parts[f"{name}_at"] = written
        return parts | {"next": torch.tensor(self._next), "obs": self.obs.cpu().clone()}

    def load_state(self, state: dict[str, Any]) -> None:
        """Takes over what `state` gave; follow with `start` where the environments begin new episodes."""
        for half, name in enumerate(("frames", "last_frames")):
            at = state[f"{name}_at"]
            self._frames[half][at.to(self._frames.device)] = state[name].to(self._frames.device)
            for place in at.tolist():
                self._written[half][place] = True
        self._next, self.obs = int(state["next"]), state["obs"].to(self._frames.device)

    def _bytes(self, age: int) -> int:
        at = (self._next - 1 - age) % self._length
        return (self._written[0][at] + self._written[1][at]) * self._frames[0, 0].numel()

    def _last(self, obs: Tensor) -> Tensor:
        return obs[:, -self._shape[0] :]

    def _push(self, frame: Tensor) -> Tensor:
        at = self._next
        self._next = (at + 1) % self._length
        self._written[1][at] = False
        return self._put(0, at, frame)

    def _put(self, half: int, at: int, frame: Tensor) -> Tensor:
        """frame: [num_envs, *shape]. Returns its numbers [num_envs]."""
        self._frames[half, at] = frame
        self._written[half][at] = True
        return (half * self._length + at) * self.num_envs + self._envs
