"""Limits of whole configurations, in NumPy.

This is NumPy, so that readers do not wait for a compiler. Solvers apply the scalar rules of `kernels/limits.py`,
which also defines the packed rows; tests compare the results.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from poise.errors import InputError
from poise.kernels.codes import LIMIT, LIMIT_KIND, NO_LIMIT
from poise.maths import rotations
from poise.maths.arrays import Floats, Ints
from poise.maths.euler import wrapped
from poise.model.limits import Limit, Range
from poise.model.limits.base.rows import nearest_angle, nearest_turns, turn_excess, turn_row

# [rad, file units] tolerance of hard limits; a q within it is not changed, bit for bit
_SLACK = 1e-9


class BallHinges(NamedTuple):
    """The h ball joints made hinges by a range."""

    rows: tuple[int, ...]
    columns: Ints  # (h, 4) quaternion columns in q
    axes: Floats  # (h, 3)
    low: Floats  # (h,)
    high: Floats  # (h,)


class BallLimits(NamedTuple):
    """The b ball and free joints with a hard rotation limit."""

    joints: tuple[int, ...]
    columns: Ints  # (b, 4) quaternion columns in q
    rows: Floats  # (b, LIMIT) see kernels/limits.py


@dataclass(frozen=True, eq=False)
class Bounds:
    """Limits of all n joints over configurations q (..., nq).

    names             (n) joint names, for messages and for the list of changed joints
    limits            (n) a Limit or None
    nq                numbers in q
    value_columns     (n,) column of a joint's value in q; of a coupled joint its leader's
    rotation_columns  (n,) first of the four quaternion columns in q (ball and free joints)
    couplings         (n, 2) ratio and offset: a joint's value is ratio * q + offset
    leaders           (n) name of a joint's leader, or None
    """

    names: tuple[str, ...]
    limits: tuple[Limit | None, ...]
    nq: int
    values: Ints
    turns: Ints
    couplings: Floats
    leaders: tuple[str | None, ...]

    @cached_property
    def value_ranges(self) -> Floats:
        """(nq, 2) lowest and highest legal values of q. They are infinite without a limit.

        A coupled joint's own range applies to its leader: low <= ratio * q + offset <= high. Ranges with an axis (ball
        joints) do not bound single numbers and are left out. InputError where the ranges of a joint and of its leader
        leave no value.
        """
        ranges = np.tile([-np.inf, np.inf], (self.nq, 1))
        for i, limit in enumerate(self.limits):
            if not isinstance(limit, Range) or limit.axis is not None or limit.soft:
                continue
            ratio, offset = map(float, self.couplings[i])  # Python floats: 1 / 5e-324 is infinite without a warning
            if ratio == 0.0:
                if not limit.low <= offset <= limit.high:
                    raise InputError(f"{self.names[i]!r} is fixed at {offset:g}, outside its range")
                continue
            low, high = sorted(((limit.low - offset) / ratio, (limit.high - offset) / ratio))
            row = ranges[self.values[i]]
            row[:] = max(row[0], low), min(row[1], high)
            if row[0] > row[1] or row[0] == np.inf or row[1] == -np.inf:
                other = self.leaders[i] or "the joints coupled to it"
                raise InputError(f"the ranges of {self.names[i]!r} and {other!r} leave no legal value")
        ranges.setflags(write=False)
        return ranges

    @cached_property
    def ball_hinges(self) -> BallHinges:
        """The ball and free joints with a range about an axis."""
        found = [(i, limit) for i, limit in enumerate(self.limits) if isinstance(limit, Range) and limit.axis]
        rows = tuple([i for i, _ in found])
        hinges = BallHinges(
            rows=rows,
            columns=self._quaternions(rows),
            axes=np.array([limit.axis for _, limit in found]).reshape(-1, 3),
            low=np.array([-np.inf if limit.soft else limit.low for _, limit in found]),
            high=np.array([np.inf if limit.soft else limit.high for _, limit in found]),
        )
        for array in hinges[1:]:
            array.setflags(write=False)
        return hinges

    @cached_property
    def ball_limits(self) -> BallLimits:
        """The ball and free joints with a SwingTwist or an EulerBox."""
        joints: list[int] = []
        rows: list[Floats] = []
        for i, limit in enumerate(self.limits):
            if limit is None or isinstance(limit, Range) or limit.soft:
                continue
            row = turn_row(limit)
            if row[LIMIT_KIND] != NO_LIMIT:
                joints.append(i)
                rows.append(row)
        limits = BallLimits(tuple(joints), self._quaternions(tuple(joints)), np.array(rows).reshape(-1, LIMIT))
        for array in limits[1:]:
            array.setflags(write=False)
        return limits

    def _quaternions(self, joints: tuple[int, ...]) -> Ints:
        """Find the quaternion columns (j, 4) of ball and free joints."""
        return self.turns[list(joints)].astype(np.int64)[:, None] + np.arange(4)

    def nearest_legal(self, q: Floats) -> tuple[Floats, tuple[str, ...]]:
        """Find the nearest legal configuration to q (..., nq). Also return the names of the changed joints.

        Values within 1e-9 of legal are returned unchanged, bit for bit.
        """
        ranges = self.value_ranges
        outside = (q < ranges[:, 0] - _SLACK) | (q > ranges[:, 1] + _SLACK)
        moved: set[int] = set()
        legal = q.copy()
        if outside.any():
            legal = np.where(outside, np.clip(q, ranges[:, 0], ranges[:, 1]), q)
            columns = set(np.nonzero(outside)[-1].tolist())
            limited = {i for i, limit in enumerate(self.limits) if isinstance(limit, Range) and limit.axis is None}
            moved = {i for i in limited if int(self.values[i]) in columns}
        hinges = self.ball_hinges
        if hinges.rows:
            turns = legal[..., hinges.columns]
            hinged, off = _nearest_hinges(hinges, turns)
            kept = np.asarray(off <= _SLACK)
            legal[..., hinges.columns] = np.where(kept[..., None], turns, hinged)
            off_anywhere = (~kept).reshape(-1, len(hinges.rows)).any(axis=0)
            moved |= {row for row, is_off in zip(hinges.rows, np.atleast_1d(off_anywhere), strict=True) if is_off}
        for joint, columns, row in zip(*self.ball_limits, strict=True):
            inside = nearest_turns(row, legal[..., columns])
            off = turn_excess(legal[..., columns], inside) > _SLACK
            if np.any(off):
                legal[..., columns] = np.where(off[..., None], inside, legal[..., columns])
                moved.add(joint)
        return legal, tuple(self.names[i] for i in sorted(moved))

    def soft_cost(self, q: Floats) -> Floats:
        """Compute the soft-limit cost (...) of configurations q (..., nq).

        It sums weight * excess^2 [rad^2, file units^2].
        """
        cost = np.zeros(q.shape[:-1])
        for i, limit in enumerate(self.limits):
            if limit is not None and limit.soft:
                cost += limit.soft * self._excess(i, limit, q) ** 2
        return cost

    def _excess(self, i: int, limit: Limit, q: Floats) -> Floats:
        """Compute the limit violation (...) of joint i [rad, file units]."""
        if not isinstance(limit, Range):
            turns = q[..., self._quaternions((i,))[0]]
            return turn_excess(turns, nearest_turns(turn_row(limit), turns))
        if limit.axis is None:
            ratio, offset = self.couplings[i]
            value = ratio * q[..., self.values[i]] + offset
            return np.maximum(np.maximum(limit.low - value, value - limit.high), 0.0)
        angle = rotations.twist_angle(q[..., self._quaternions((i,))[0]], np.array(limit.axis))
        return np.abs(wrapped(angle - nearest_angle(angle, limit.low, limit.high)))


def _nearest_hinges(hinges: BallHinges, turns: Floats) -> tuple[Floats, Floats]:
    """Clamp rotations (..., h, 4) to hinge ranges. Also return the distance [rad] (..., h) of each from legal."""
    angles = nearest_angle(rotations.twist_angle(turns, hinges.axes), hinges.low, hinges.high)
    hinged = rotations.about(hinges.axes, angles)
    sign = np.where((turns * hinged).sum(axis=-1, keepdims=True) < 0, -1.0, 1.0)
    return hinged, 2 * np.abs(sign * turns - hinged).max(axis=-1, initial=0.0)
