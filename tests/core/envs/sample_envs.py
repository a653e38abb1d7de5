"""Environments with one peculiarity each, registered by the tests under `podracer-tests/...`."""

import os
import time
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces


class Sample(gymnasium.Env):
    """Observes how many steps its episode has; ends after 4."""

    observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float32)
    action_space: spaces.Space = spaces.Discrete(3)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.count = 0
        return self.observe(), {}

    def step(self, action: Any) -> Any:
        assert self.action_space.contains(action), action
        self.count += 1
        return self.observe(), self.reward(action), self.count == 4, False, {}

    def observe(self) -> Any:
        return np.array([self.count], np.float32)

    def reward(self, action: Any) -> float:
        return 1.0


class Crashing(Sample):
    """Divides by zero on action 2 in step 3."""

    def reward(self, action: Any) -> float:
        return 1 / (0 if self.count == 3 and action == 2 else 1)


class CrashingReset(Sample):
    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        raise RuntimeError("no level left")


class NotANumber(Sample):
    """Pays what is no number on action 2 in step 3, and observes what is not finite on action 1 there."""

    def step(self, action: Any) -> Any:
        self.action = action
        return super().step(action)

    def reward(self, action: Any) -> float:
        return np.nan if self.count == 3 and action == 2 else 1.0

    def observe(self) -> Any:
        return np.array([-np.inf if self.count == 3 and self.action == 1 else self.count], np.float32)


class StartsNowhere(Sample):
    def observe(self) -> Any:
        return np.array([np.nan], np.float32)


class Far(Sample):
    """Sees and pays the largest numbers there are."""

    def observe(self) -> Any:
        return np.array([3e38], np.float32)

    def reward(self, action: Any) -> float:
        return 3e38


class Dying(Sample):
    """Takes its whole process down on step 2."""

    def reward(self, action: Any) -> float:
        if self.count == 2:
            os._exit(3)
        return 1.0


class Slow(Sample):
    """A step costs 3 ms of computing."""

    def reward(self, action: Any) -> float:
        until = time.perf_counter() + 0.003
        while time.perf_counter() < until:
            pass
        return 1.0


class StartsAtMinusOne(Sample):
    action_space = spaces.Discrete(3, start=-1)

    def reward(self, action: Any) -> float:
        return float(action)


class Matrix(Sample):
    """Acts with a matrix of float64 in unlike bounds; the reward is its sum."""

    low, high = np.array([[-3.0, 0.0], [0.0, 0.0]]), np.array([[5.0, 1.0], [2.0, 1.0]])
    action_space = spaces.Box(low, high, dtype=np.float64)

    def reward(self, action: Any) -> float:
        return float(action.sum())


class SumOfActions(Sample):
    """The reward is the sum of the action, which has to be of the space's own type."""

    def reward(self, action: Any) -> float:
        assert action.dtype == self.action_space.dtype
        return float(action.sum())


class ManyChoices(SumOfActions):
    action_space = spaces.MultiDiscrete([[2, 3], [1, 4]], dtype=np.int32, start=[[0, -1], [7, 0]])


class Switches(SumOfActions):
    action_space = spaces.MultiBinary((2, 2))


class ByteChoice(SumOfActions):
    action_space = spaces.Discrete(3, dtype=np.int8)


class Integers(SumOfActions):
    action_space = spaces.Box(np.array([-3, 0]), np.array([5, 10]), dtype=np.int16)


class OneNumber(SumOfActions):
    """Acts with a number that is no vector and observes one."""

    observation_space = spaces.Box(-np.inf, np.inf, (), np.float64)
    action_space = spaces.Box(-1.0, 3.0, (), np.float16)

    def observe(self) -> Any:
        return np.array(self.count, np.float64)


class TupleActions(Sample):
    action_space = spaces.Tuple([spaces.Discrete(2), spaces.Discrete(3)])


class NothingToDo(Sample):
    action_space = spaces.Box(0, 1, (0,), np.float32)


class NothingToSee(Sample):
    observation_space = spaces.Box(0, 1, (0,), np.float32)


class UnboundedIntegers(Sample):
    action_space = spaces.Box(-np.inf, np.inf, (2,), np.int8)


class LargestFloats(Sample):
    action_space = spaces.Box(np.finfo(np.float32).min, np.finfo(np.float32).max, (2,), np.float32)


class Unbounded(Sample):
    action_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)


class Camera(Sample):
    """Shows noise in colour."""

    observation_space = spaces.Box(0, 255, (6, 7, 3), np.uint8)

    def observe(self) -> Any:
        return self.np_random.integers(0, 256, (6, 7, 3), np.uint8)


class Cube(Camera):
    observation_space = spaces.Box(0, 255, (6, 6, 6), np.uint8)


class CameraAndSpeed(Camera):
    observation_space = spaces.Dict({"camera": Camera.observation_space, "speed": Sample.observation_space})


class Words(Sample):
    observation_space = spaces.Text(5)


class NumberedParts(Sample):
    observation_space = spaces.Dict({1: spaces.Discrete(2)})
