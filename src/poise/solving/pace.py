"""From one configuration towards another in a given time: damped, at a limited speed, the same at every frame rate.

Each joint's distance d to its goal shrinks at the rate min(speed, d ln 2 / half-life). The solution in closed form is a
straight line down to the distance where both are equal, and an exponential from there on; two steps of half the time
lead where one of the whole time leads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from poise.errors import InputError
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, real
from poise.model.limits.base.rows import nearest_angle
from poise.model.skeleton import Kind, Skeleton

_TURN = 2 * np.pi


def left_of(distance: Floats, seconds: float, speed: Floats, half_life: float) -> Floats:
    """What is left of distances after so many seconds; a half-life of 0 and an infinite speed are no bounds."""
    corner = speed * half_life / np.log(2) if half_life else np.zeros_like(speed)
    bounded = np.isfinite(speed)
    pace = np.where(bounded, speed, 1.0)
    straight = np.where(bounded, np.clip((distance - np.where(bounded, corner, 0.0)) / pace, 0.0, seconds), 0.0)
    rest = seconds - straight
    if half_life:
        with np.errstate(over="ignore"):  # any time is endless against a half-life that is next to nothing
            return (distance - pace * straight) * np.exp2(-rest / half_life)
    return np.where(rest > 0, 0.0, distance - pace * straight)


class Approach:
    """How the joints of a skeleton go from one configuration towards another.

    half_life  [s] in which half of what is left is done; 0: at once
    speed      [rad/s] of joints that turn, [file units/s] of those that slide or move: a number, or by joint name; None
               is no limit
    """

    def __init__(self, skeleton: Skeleton, half_life: Any, speed: Any) -> None:
        self.skeleton = skeleton
        self.half_life = real(half_life, "damping")
        if not 0 <= self.half_life < np.inf:
            raise InputError(f"damping is a half-life of 0 or more seconds, not {half_life!r}")
        self.speeds = _speeds(skeleton, speed)
        kinds = skeleton.kinds
        own = np.array([coupling is None for coupling in skeleton.couplings], dtype=bool)
        single = np.flatnonzero(((kinds == Kind.HINGE) | (kinds == Kind.SLIDE)) & own)
        self._single, self._single_speed = skeleton.q_start[single], self.speeds[single]
        leaders = {coupling.leader for coupling in skeleton.couplings if coupling}
        self._wraps = np.array([kinds[row] == Kind.HINGE and row not in leaders for row in single.tolist()], dtype=bool)
        bent = set(skeleton.ball_hinges.rows)
        turning = np.flatnonzero(kinds >= Kind.BALL)
        is_free_ball = np.array([row not in bent for row in turning.tolist()], dtype=bool)
        self._balls, self._ball_speed = skeleton.turn_columns[is_free_ball], self.speeds[turning[is_free_ball]]
        free = np.flatnonzero(kinds == Kind.FREE)
        self._moves, self._move_speed = skeleton.q_start[free][:, None] + np.arange(3), self.speeds[free]

    @property
    def instant(self) -> bool:
        """Whether every goal is reached at once."""
        return not self.half_life and bool(np.isinf(self.speeds).all())

    def __call__(self, q: Floats, goal: Floats, seconds: float) -> Floats:
        """The legal configuration (nq,) that is so many seconds on the way from q to `goal`, both legal."""
        out = goal.copy()
        if len(self._single):
            self._go_along(out, q, goal, seconds)
        for columns, speed in zip(self._moves, self._move_speed, strict=True):
            distance = np.sqrt(((goal[columns] - q[columns]) ** 2).sum())
            done = self._done(distance[None], seconds, speed[None])[0]
            out[columns] = goal[columns] if done >= 1 else q[columns] + done * (goal[columns] - q[columns])
        if len(self._balls):
            a, b = q[self._balls], goal[self._balls]
            done = self._done(rotation_angle(a, b), seconds, self._ball_speed)
            out[self._balls] = np.where((done >= 1)[:, None], b, rotations.slerp(a, b, done))
        self._bend(out, q, goal, seconds)
        return self.skeleton.legal(out)[0]

    def _go_along(self, out: Floats, q: Floats, goal: Floats, seconds: float) -> None:
        """Hinges and slides; a hinge takes the shorter way round where its range allows."""
        ranges = self.skeleton.value_ranges[self._single]
        a, b = q[self._single], goal[self._single]
        near = b + _TURN * np.round((a - b) / _TURN)
        b = np.where(self._wraps & (near >= ranges[:, 0]) & (near <= ranges[:, 1]), near, b)
        done = self._done(np.abs(b - a), seconds, self._single_speed)
        out[self._single] = np.where(done >= 1, b, a + done * (b - a))

    def _bend(self, out: Floats, q: Floats, goal: Floats, seconds: float) -> None:
        """Balls that a range makes hinges: their angle goes along the range, never across what it forbids."""
        hinges = self.skeleton.ball_hinges
        if not hinges.rows:
            return
        a, b = (
            nearest_angle(rotations.twist_angle(value[hinges.columns], hinges.axes), hinges.low, hinges.high)
            for value in (q, goal)
        )
        done = self._done(np.abs(b - a), seconds, self.speeds[list(hinges.rows)])
        turned = rotations.about(hinges.axes, a + done * (b - a))
        out[hinges.columns] = np.where((done >= 1)[:, None], goal[hinges.columns], turned)

    def _done(self, distance: Floats, seconds: float, speed: Floats) -> Floats:
        """The share of the way that is done."""
        left = left_of(distance, seconds, speed, self.half_life)
        is_there: Bools = distance == 0
        return np.where(is_there, 1.0, 1.0 - left / np.where(is_there, 1.0, distance))


def rotation_angle(a: Floats, b: Floats) -> Floats:
    """The angle [rad] between rotations (..., 4), 0 to pi."""
    chord = rotations.multiply(b, rotations.inverse(a))
    return 2 * np.arctan2(np.sqrt((chord[..., 1:] ** 2).sum(axis=-1)), np.abs(chord[..., 0]))


def _speeds(skeleton: Skeleton, speed: Any) -> Floats:
    """The speed limit of each joint (n,)."""
    given = speed if isinstance(speed, Mapping) else {}
    every = np.full(len(skeleton), np.inf if speed is None or given else _speed(speed, "speed"))
    for name, value in given.items():
        every[skeleton.index(name)] = _speed(value, f"the speed of {name!r}")
    return every


def _speed(value: Any, what: str) -> float:
    number = real(value, what)
    if not number > 0:
        raise InputError(f"{what} must be above 0, not {value!r}")
    return number
