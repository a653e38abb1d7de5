"""MuJoCo locomotion on the device of the learner: thousands of bodies at once, under Gymnasium's rules.

The rules are those of `locomotion_rules`; the physics are MuJoCo's in float32, so that an env step equals Gymnasium's
to float32's precision and an episode, which is chaotic, takes a course of its own. Nothing in `reset` or `step`
waits for the device or looks at a single environment.
"""

import torch
from torch import Tensor

from podracer_core.envs.backends import refuse_other_state
from podracer_core.envs.catalogue import CATALOGUE
from podracer_core.envs.locomotion import PLACES, load_model
from podracer_core.envs.locomotion_rules import RULES
from podracer_core.envs.locomotion_warp_physics import WarpPhysics
from podracer_core.envs.vector_env import Step, VectorEnv

MOST = 1e10
"""Beyond this a body has diverged, as MuJoCo has it (mjMAXVAL)."""


class WarpLocomotion(VectorEnv):
    """`num_envs` bodies of one kind.

    A body whose physics diverge has its episode truncated, with no reward for that step and the observation before
    it as the last one, and starts the next; `notes` names it. Raises EnvError where warp cannot use `device`.
    generator: draws the start of every episode, on the device
    """

    def __init__(self, env_id: str, num_envs: int, device: torch.device | str = "cuda") -> None:
        entry, rules = CATALOGUE[env_id], RULES[env_id]
        self.env_id, self.num_envs, self.device = env_id, num_envs, torch.device(device)
        self.observation_dim, self.max_episode_steps = entry.observation_dim, entry.max_episode_steps
        self.action_kind, self.action_dim = "continuous", entry.action_dim
        self.action_low = torch.tensor(entry.action_space.low, device=self.device)
        self.action_high = torch.tensor(entry.action_space.high, device=self.device)
        assert entry.max_episode_steps is not None
        self._limit, self._rules = entry.max_episode_steps, rules
        model = load_model(rules.model)
        self._seconds_per_step: float = model.opt.timestep * rules.frame_skip
        self._mass = self._tensor(model.body_mass / model.body_mass.sum())
        self._qpos0 = self._tensor(model.qpos0)
        fields = (*(field for field, _ in rules.derived), *PLACES[rules.forward_of])
        self._physics = WarpPhysics(model, num_envs, self.device, fields, rules.frame_skip)
        self.generator = torch.Generator(device=self.device)
        self._always = torch.ones(num_envs, dtype=torch.bool, device=self.device)
        self._x = torch.zeros(num_envs, device=self.device)
        self._obs = torch.zeros((num_envs, self.observation_dim), device=self.device)
        self._elapsed = torch.zeros(num_envs, dtype=torch.int64, device=self.device)
        self._diverged = torch.zeros_like(self._elapsed)
        self._diverged_at = torch.zeros_like(self._elapsed)
        self._diverged_on = torch.zeros((num_envs, self.action_dim), device=self.device)
        self._told: set[str] = set()

    def reset(self, seed: int) -> Tensor:
        self.generator.manual_seed(seed)
        self._obs = self._start(self._always)
        return self._obs

    def step(self, actions: Tensor) -> Step:
        rules, physics = self._rules, self._physics
        ctrl = actions.detach().float()
        physics.step(ctrl)
        x = self._forward_x()
        velocity = (x - self._x) / self._seconds_per_step
        self._x = x
        healthy = rules.healthy(physics.qpos, physics.qvel) if rules.healthy else self._always
        reward = rules.reward(velocity, ctrl, healthy, physics.fields.get("cfrc_ext"))
        observed = self._observe()
        self._elapsed += 1
        diverged = self._diverge(observed, reward, ctrl)
        final_obs = torch.where(diverged[:, None], self._obs, observed)
        terminated, truncated = ~healthy, (self._elapsed >= self._limit) | diverged
        ended = terminated | truncated
        self._obs = torch.where(ended[:, None], self._start(ended), final_obs)
        return Step(self._obs, reward.masked_fill(diverged, 0.0), terminated, truncated, final_obs)

    def notes(self) -> list[str]:
        diverged, overflowed = self._diverged.cpu(), self._physics.overflowed()
        texts = {}
        if diverged.any():
            i = int(diverged.argmax())
            texts["diverged"] = (
                f"The physics of {self.env_id} diverged {int(diverged.sum())} times, most often in environment {i}, "
                f"last at step {int(self._diverged_at[i])} of an episode, on action {self._diverged_on[i].tolist()}. "
                "Such an episode is truncated before that step. This is said once."
            )
        if overflowed:
            texts["overflowed"] = (
                f"{overflowed} of {self.num_envs} bodies of {self.env_id} touched more than the GPU's physics have "
                "room for; contacts beyond that were left out. This is said once."
            )
        new = [text for kind, text in texts.items() if kind not in self._told]
        self._told |= texts.keys()
        return new

    def state(self) -> dict[str, Tensor]:
        ours = {"x": self._x, "obs": self._obs, "elapsed": self._elapsed}
        copies = {name: values.cpu().clone() for name, values in ours.items()}
        return self._physics.state() | copies | {"generator": self.generator.get_state()}

    def load_state(self, state: dict[str, Tensor]) -> Tensor:
        refuse_other_state(state, "qpos")
        self._physics.load_state(state)
        self._x, self._obs = state["x"].to(self.device), state["obs"].to(self.device)
        self._elapsed.copy_(state["elapsed"])
        self.generator.set_state(state["generator"])
        return self._obs

    def close(self) -> None:
        self._physics.close()

    def _start(self, ended: Tensor) -> Tensor:
        """New episodes where `ended` [num_envs] holds. Returns obs, elsewhere of no use."""
        self._physics.restart(ended, *self._draw_starts())
        self._x = torch.where(ended, self._forward_x(), self._x)
        self._elapsed.masked_fill_(ended, 0)
        return self._observe()

    def _draw_starts(self) -> tuple[Tensor, Tensor]:
        """qpos [num_envs, nq] and qvel [num_envs, nv], distributed as those of `Rules.draw_start`, for all: no look."""
        noise, qpos, qvel = self._rules.noise, self._physics.qpos, self._physics.qvel
        places = torch.empty_like(qpos).uniform_(-noise, noise, generator=self.generator)
        velocities = torch.empty_like(qvel)
        if self._rules.normal_velocity:
            velocities.normal_(0.0, noise, generator=self.generator)
        else:
            velocities.uniform_(-noise, noise, generator=self.generator)
        return self._qpos0 + places, velocities

    def _observe(self) -> Tensor:
        physics = self._physics
        return torch.cat(self._rules.observed(physics.qpos, physics.qvel, physics.fields), 1)

    def _diverge(self, observed: Tensor, reward: Tensor, ctrl: Tensor) -> Tensor:
        """[num_envs]: whose physics diverged in this step; remembers it for `notes`."""
        everything = torch.cat((self._physics.qpos, self._physics.qvel, observed, reward[:, None]), 1)
        diverged = ~(everything.abs() < MOST).all(1)
        self._diverged += diverged
        self._diverged_at = torch.where(diverged, self._elapsed, self._diverged_at)
        self._diverged_on = torch.where(diverged[:, None], ctrl, self._diverged_on)
        return diverged

    def _forward_x(self) -> Tensor:
        """[num_envs]: of what the forward reward is paid for, in memory of its own."""
        if self._rules.forward_of == "joint":
            return self._physics.qpos[:, 0].clone()
        if self._rules.forward_of == "torso":
            return self._physics.fields["xpos"][:, 1, 0].clone()
        return (self._physics.fields["xipos"][:, :, 0] * self._mass).sum(1)  # a product might round to TF32

    def _tensor(self, values: object) -> Tensor:
        return torch.tensor(values, dtype=torch.float32, device=self.device)
