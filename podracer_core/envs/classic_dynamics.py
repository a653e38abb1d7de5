"""The equations of Gymnasium's classic-control environments, for many environments at once.

Written once over an array namespace `xp`: numpy for the CPU, where its small operations cost a quarter of
torch's, and torch for devices. `state` is [state_dim, num_envs], one row a variable, each row contiguous.
`advance` returns a new state and writes the rewards into `reward`; `observe` writes into `obs`.
Source: gymnasium/envs/classic_control, version 1.4, whose names and constants stand here.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Array = Any
"""A numpy array or a torch tensor; the namespace passed along says which."""
Namespace = Any


@dataclass(frozen=True)
class Dynamics:
    """One environment's equations.

    reset_low, reset_high: bounds between which each state variable of a new episode is drawn uniformly
    advance: (xp, state [state_dim, n], action [n] of the state's dtype, reward [n] float32, written)
        -> (next state, terminated [n] bool or None where it never terminates)
    observe: (xp, state [state_dim, n], obs [n, obs_dim] float32, written)
    dtype: of the state, as Gymnasium keeps it
    float32_start: whether a new episode's state is rounded to float32, as Gymnasium's is
    """

    advance: Callable[[Namespace, Array, Array, Array], tuple[Array, Array | None]]
    observe: Callable[[Namespace, Array, Array], None]
    reset_low: tuple[float, ...]
    reset_high: tuple[float, ...]
    dtype: Literal["float32", "float64"] = "float64"
    float32_start: bool = False


def _clip(xp: Namespace, values: Array, low: float, high: float) -> Array:
    if xp.__name__ == "numpy":  # numpy's own clip takes three times as long for a few values
        return xp.minimum(xp.maximum(values, low), high)
    return xp.clamp(values, low, high)


def observe_state(xp: Namespace, state: Array, obs: Array) -> None:
    obs[:] = state.T


GRAVITY = 9.8
MASS_POLE, TOTAL_MASS, POLE_LENGTH = 0.1, 1.1, 0.5
POLE_MASS_LENGTH = MASS_POLE * POLE_LENGTH
X_LIMIT, THETA_LIMIT = 2.4, math.radians(12)


def cartpole_advance(xp: Namespace, state: Array, action: Array, reward: Array) -> tuple[Array, Array]:
    """state: x, x_dot, theta, theta_dot; Euler steps of 0.02 s under a force of -10 or 10 N."""
    x_dot, theta, theta_dot = state[1], state[2], state[3]
    sin, cos = xp.sin(theta), xp.cos(theta)
    temp = (POLE_MASS_LENGTH / TOTAL_MASS) * theta_dot * theta_dot * sin
    temp = temp + (action * (20.0 / TOTAL_MASS) - (10.0 / TOTAL_MASS))
    theta_acc = (sin * GRAVITY - cos * temp) / (
        (POLE_LENGTH * 4.0 / 3.0) - cos * cos * (POLE_LENGTH * MASS_POLE / TOTAL_MASS)
    )
    rates = xp.empty_like(state)
    rates[0] = x_dot
    rates[1] = temp - (POLE_MASS_LENGTH / TOTAL_MASS) * theta_acc * cos
    rates[2] = theta_dot
    rates[3] = theta_acc
    rates *= 0.02
    rates += state
    reward[:] = 1.0
    return rates, (abs(rates[0]) > X_LIMIT) | (abs(rates[2]) > THETA_LIMIT)


MAX_VELOCITY_1, MAX_VELOCITY_2 = 4 * math.pi, 9 * math.pi


def _acrobot_rates(xp: Namespace, state: Array, torque: Array) -> Array:
    """Time derivative of the angles and velocities as in Sutton and Barto's book; masses and lengths 1."""
    velocity1, velocity2 = state[2], state[3]
    angles = state[:2] + 0.0
    angles[1] += state[0]
    gravity = xp.sin(angles)  # of theta1 and theta1 + theta2
    sin2, cos2 = xp.sin(state[1]), xp.cos(state[1])
    half_sin2 = 0.5 * sin2
    d1 = cos2 + 3.5
    d2 = 0.5 * cos2 + 1.25
    ratio = d2 / d1
    phi2 = 4.9 * gravity[1]
    phi1 = 14.7 * gravity[0] + phi2 - half_sin2 * velocity2 * (velocity2 + 2.0 * velocity1)
    acceleration2 = (torque + ratio * phi1 - half_sin2 * velocity1 * velocity1 - phi2) / (1.25 - d2 * ratio)
    rates = xp.empty_like(state)
    rates[:2] = state[2:]
    rates[2] = -(ratio * acceleration2 + phi1 / d1)
    rates[3] = acceleration2
    return rates


def acrobot_advance(xp: Namespace, state: Array, action: Array, reward: Array) -> tuple[Array, Array]:
    """state: theta1, theta2, velocity1, velocity2; a Runge-Kutta step of 0.2 s, the torque is -1, 0 or 1."""
    torque = action - 1.0
    k1 = _acrobot_rates(xp, state, torque)
    k2 = _acrobot_rates(xp, state + 0.1 * k1, torque)
    k3 = _acrobot_rates(xp, state + 0.1 * k2, torque)
    k4 = _acrobot_rates(xp, state + 0.2 * k3, torque)
    new = state + (0.2 / 6.0) * (k1 + 2.0 * (k2 + k3) + k4)
    turns = xp.floor((new[:2] + math.pi) * (0.5 / math.pi))
    new[:2] -= (2.0 * math.pi) * turns
    new[2] = _clip(xp, new[2], -MAX_VELOCITY_1, MAX_VELOCITY_1)
    new[3] = _clip(xp, new[3], -MAX_VELOCITY_2, MAX_VELOCITY_2)
    terminated = xp.cos(new[0]) + xp.cos(new[0] + new[1]) < -1.0
    reward[:] = terminated
    reward -= 1.0
    return new, terminated


def acrobot_observe(xp: Namespace, state: Array, obs: Array) -> None:
    angles = state[:2]
    obs[:, 0:4:2] = xp.cos(angles).T
    obs[:, 1:4:2] = xp.sin(angles).T
    obs[:, 4:] = state[2:].T


MIN_POSITION, MAX_POSITION, MAX_SPEED = -1.2, 0.6, 0.07


def _drive(xp: Namespace, state: Array, push: Array, goal: float) -> tuple[Array, Array]:
    """One step of a car in a valley: state is position, velocity; `push` [n] adds to the velocity."""
    velocity = _clip(xp, state[1] + push - 0.0025 * xp.cos(3.0 * state[0]), -MAX_SPEED, MAX_SPEED)
    position = _clip(xp, state[0] + velocity, MIN_POSITION, MAX_POSITION)
    new = xp.empty_like(state)
    new[0] = position
    # At the left wall, where a velocity is never upwards of 0 before this step, the car stops.
    new[1] = velocity * ((velocity >= 0.0) | (position > MIN_POSITION))
    return new, (position >= goal) & (velocity >= 0.0)


def mountain_car_advance(xp: Namespace, state: Array, action: Array, reward: Array) -> tuple[Array, Array]:
    reward[:] = -1.0
    return _drive(xp, state, (action - 1.0) * 0.001, goal=0.5)


def mountain_car_continuous_advance(xp: Namespace, state: Array, action: Array, reward: Array) -> tuple[Array, Array]:
    """The push is bounded, but what it costs is not, as in Gymnasium."""
    new, terminated = _drive(xp, state, _clip(xp, action, -1.0, 1.0) * 0.0015, goal=0.45)
    reward[:] = terminated
    reward *= 100.0
    reward -= 0.1 * action * action
    return new, terminated


MAX_TORQUE, MAX_ANGULAR_SPEED = 2.0, 8.0


def pendulum_advance(xp: Namespace, state: Array, action: Array, reward: Array) -> tuple[Array, None]:
    """state: theta (0 is upright, unbounded), theta_dot; semi-implicit Euler steps of 0.05 s."""
    theta, theta_dot = state[0], state[1]
    torque = _clip(xp, action, -MAX_TORQUE, MAX_TORQUE)
    angle = xp.remainder(theta + math.pi, 2.0 * math.pi) - math.pi
    reward[:] = angle * angle * -1.0 - 0.1 * theta_dot * theta_dot - 0.001 * torque * torque
    new = xp.empty_like(state)
    speed = theta_dot + (xp.sin(theta) * 0.75 + torque * 0.15)
    new[1] = _clip(xp, speed, -MAX_ANGULAR_SPEED, MAX_ANGULAR_SPEED)
    new[0] = theta + new[1] * 0.05
    return new, None


def pendulum_observe(xp: Namespace, state: Array, obs: Array) -> None:
    obs[:, 0] = xp.cos(state[0])
    obs[:, 1] = xp.sin(state[0])
    obs[:, 2] = state[1]


DYNAMICS: dict[str, Dynamics] = {
    "CartPole-v1": Dynamics(cartpole_advance, observe_state, (-0.05,) * 4, (0.05,) * 4),
    "Acrobot-v1": Dynamics(acrobot_advance, acrobot_observe, (-0.1,) * 4, (0.1,) * 4, float32_start=True),
    "MountainCar-v0": Dynamics(mountain_car_advance, observe_state, (-0.6, 0.0), (-0.4, 0.0)),
    "MountainCarContinuous-v0": Dynamics(
        mountain_car_continuous_advance, observe_state, (-0.6, 0.0), (-0.4, 0.0), dtype="float32"
    ),
    "Pendulum-v1": Dynamics(pendulum_advance, pendulum_observe, (-math.pi, -1.0), (math.pi, 1.0)),
}
