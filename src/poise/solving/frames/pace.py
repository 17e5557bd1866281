"""Track moving targets, with damping and speed limits.

The motion towards a new configuration does not depend on the frame rate.

Each joint's distance d to its goal decreases at the rate min(speed, d ln 2 / half-life). The closed-form solution is a
straight line down to the distance at which both rates are equal, then an exponential, so that two steps of half the
time equal one step of the whole time. kernels/pace.py computes the steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from poise import kernels
from poise.errors import InputError
from poise.kernels.codes import BALL, BENT, HINGE, MOVE, PACE_COLUMN, PACE_KIND, PACE_ROW, SLIDE
from poise.maths.arrays import Floats, for_kernel, real
from poise.model.skeleton import Kind, Skeleton
from poise.solving.judge import legal

_WIDTHS = {HINGE: 1, SLIDE: 1, MOVE: 3, BALL: 4, BENT: 4}  # columns of q for each part of a joint
_SPEED = 2  # column of the speed in rows of kernels/pace.py
_NO_RANGE, _NO_AXIS = (-np.inf, np.inf), (0.0, 0.0, 0.0)


class Approach:
    """Damped, speed-limited motion between two configurations.

    half_life  [s] in which the remaining distance halves; 0: at once
    speed      [rad/s] of rotating joints, [file units/s] of sliding or moving ones: a number, or by joint name; None
               is no limit
    instant    whether every goal is reached at once
    """

    def __init__(self, skeleton: Skeleton, half_life: Any, speed: Any) -> None:
        self.skeleton = skeleton
        self.half_life = real(half_life, "damping")
        if not 0 <= self.half_life < np.inf:
            raise InputError(f"damping is a half-life of 0 or more seconds, not {half_life!r}")
        speeds = _speeds(skeleton, speed)
        self.instant = not self.half_life and bool(np.isinf(speeds).all())
        self._rows = np.array(list(_rows(skeleton, speeds)), dtype=np.float64).reshape(-1, PACE_ROW)

    @property
    def bounds(self) -> tuple[str, ...]:
        """Names of the arguments limiting the motion."""
        return ("speed",) * bool(np.isfinite(self._rows[:, _SPEED]).any()) + ("damping",) * bool(self.half_life)

    def without(self, name: str) -> Approach:
        """Copy it without one of its `bounds`."""
        rows, other = self._rows.copy(), copy(self)
        if name == "speed":
            rows[:, _SPEED] = np.inf
        half_life = 0.0 if name == "damping" else self.half_life
        instant = not half_life and bool(np.isinf(rows[:, _SPEED]).all())
        vars(other).update(_rows=rows, half_life=half_life, instant=instant)
        return other

    def __call__(self, q: Floats, goal: Floats, seconds: float) -> Floats:
        """Return the legal configuration (nq,) after `seconds` of motion. It lies between q and `goal`, both legal."""
        return legal(self.skeleton, self._moved(self._rows, q, goal, seconds))

    def from_outside(self, q: Floats, goal: Floats, seconds: float) -> Floats:
        """Move from an illegal q to a legal `goal`.

        Joints outside their limits return within their own bounds, so that the result (nq,) may still be outside.
        """
        inside, rows = self.skeleton.legal(q)[0], self._rows.copy()
        columns = [_columns(row) for row in rows]
        returning = [i for i, own in enumerate(columns) if (q[own] != inside[own]).any()]
        for i in returning:
            if rows[i, PACE_KIND] == BENT:  # an angle along its range would start inside
                rows[i, PACE_KIND] = BALL
        out = self._moved(rows, q, goal, seconds)
        found = legal(self.skeleton, out).copy()
        for i in returning:
            found[columns[i]] = out[columns[i]]
        return found

    def _moved(self, rows: Floats, q: Floats, goal: Floats, seconds: float) -> Floats:
        out = np.empty(len(goal))
        kernels.pace.approach(rows, for_kernel(q), for_kernel(goal), float(seconds), self.half_life, out)
        return out


def _columns(row: Floats) -> slice:
    """Find the columns of q for a row of `_rows`."""
    at = int(row[PACE_COLUMN])
    return slice(at, at + _WIDTHS[int(row[PACE_KIND])])


@dataclass(frozen=True, eq=False)
class Pace:
    """Motion of one Tracker frame. The status and the message of its pose are derived from it.

    before, solved  (nq,) the pose shown in the previous frame, and the latest one of the solver
    motion          how the shown pose moves from one to the other in `seconds`
    budget          name of the budget used up before the goals were met, or ""
    is_outside      whether the previous pose was outside its limits
    """

    before: Floats
    solved: Floats
    approach: Approach
    seconds: float
    budget: str = ""
    is_outside: bool = False

    def held_by(self, shown: Floats) -> tuple[str, ...]:
        """Name the bounds between the shown pose (nq,) and the goals."""
        budget = (self.budget,) * bool(self.budget)
        if np.array_equal(shown, self.solved):
            return budget
        bounds = self.approach.bounds
        freer = {name: self._shown_by(self.approach.without(name)) for name in bounds}
        binding = tuple(name for name, q in freer.items() if not np.array_equal(q, shown))
        return (*(binding or bounds), *budget)

    def _shown_by(self, approach: Approach) -> Floats:
        """Compute the pose (nq,) of this frame with another motion."""
        if self.is_outside:
            return approach.from_outside(self.before, self.solved, self.seconds)
        return approach(self.before, self.solved, self.seconds)


def _rows(skeleton: Skeleton, speeds: Floats) -> Iterator[tuple[float, ...]]:
    """Make a row for each independently moving joint part. Columns are PACE_ of kernels/codes.py."""
    leaders = {coupling.leader for coupling in skeleton.couplings if coupling}
    hinges, ranges = skeleton.ball_hinges, skeleton.value_ranges
    bent = dict(zip(hinges.rows, zip(hinges.low, hinges.high, *hinges.axes.T, strict=True), strict=True))
    for row, kind in enumerate(skeleton.kinds.tolist()):
        at, speed = int(skeleton.q_start[row]), float(speeds[row])
        if kind == Kind.FIXED or skeleton.couplings[row] is not None:
            continue
        if kind in (Kind.HINGE, Kind.SLIDE):
            # A full turn of a leader moves its followers, so only joints without followers wrap.
            wraps = kind == Kind.HINGE and row not in leaders
            yield (HINGE if wraps else SLIDE, at, speed, *ranges[at], *_NO_AXIS)
            continue
        if kind == Kind.FREE:
            yield (MOVE, at, speed, *_NO_RANGE, *_NO_AXIS)
        turn = at + (3 if kind == Kind.FREE else 0)
        yield (BENT, turn, speed, *bent[row]) if row in bent else (BALL, turn, speed, *_NO_RANGE, *_NO_AXIS)


def _speeds(skeleton: Skeleton, speed: Any) -> Floats:
    """Parse the speed limit of each joint (n,)."""
    if not isinstance(speed, Mapping):
        return np.full(len(skeleton), np.inf if speed is None else _speed(speed, "speed"))
    every = np.full(len(skeleton), np.inf)
    for name, value in speed.items():
        every[skeleton.index(name)] = _speed(value, f"the speed of {name!r}")
    return every


def _speed(value: Any, what: str) -> float:
    number = real(value, what)
    if not number > 0:
        raise InputError(f"{what} must be above 0, not {value!r}")
    return number
