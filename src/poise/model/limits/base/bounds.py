"""Limits over whole configurations: what q may be, and the nearest legal q.

Arrays here, because a reader must not wait for a compiler; the scalar rule that solvers apply is in
`kernels/limits/angles.py`, and the tests hold the two to the same answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from poise.errors import InputError
from poise.kernels.codes import LIMIT, LIMIT_KIND, NO_LIMIT
from poise.maths import rotations
from poise.maths.arrays import Floats, Ints
from poise.maths.euler import wrapped
from poise.model.joints import Kind
from poise.model.limits import Limit, Range, is_soft
from poise.model.limits.base.rows import nearest_angle, nearest_turns, turn_excess, turn_row

if TYPE_CHECKING:
    from poise.model.skeleton import Skeleton

_SLACK = 1e-9  # hard limits hold to this [rad, file units]; a q inside it is left alone, bit for bit


def value_ranges(skeleton: Skeleton) -> Floats:
    """(nq, 2) lowest and highest legal value of each number in q; infinite where nothing limits it.

    A coupled joint's own range is carried over to its leader: low <= ratio * q + offset <= high.
    Ranges with an axis (ball joints) are not bounds on single numbers and are left out.
    """
    ranges = np.tile([-np.inf, np.inf], (skeleton.nq, 1))
    for i, limit in enumerate(skeleton.limits):
        ratio, offset = skeleton.coupling_rows[i]
        if not isinstance(limit, Range) or limit.axis is not None or limit.soft:
            continue
        if ratio == 0.0:
            if not limit.low <= offset <= limit.high:
                raise InputError(f"{skeleton.names[i]!r} is held at {offset:g}, outside its range")
            continue
        low, high = sorted(((limit.low - offset) / ratio, (limit.high - offset) / ratio))
        row = ranges[skeleton.q_start[i]]
        row[:] = max(row[0], low), min(row[1], high)
        if row[0] > row[1]:
            leader = skeleton.couplings[i]
            other = skeleton.names[leader.leader] if leader else "the joints coupled to it"
            message = f"the ranges of {skeleton.names[i]!r} and {other!r} leave no legal value"
            raise InputError(message)
    return ranges


class BallHinges(NamedTuple):
    """Ball joints that a range makes hinges, h of them."""

    rows: tuple[int, ...]
    columns: Ints  # (h, 4) where their quaternions stand in q
    axes: Floats  # (h, 3)
    low: Floats  # (h,)
    high: Floats  # (h,)


def ball_hinges(skeleton: Skeleton) -> BallHinges:
    """Find the ball and free joints whose range has an axis."""
    found = [(i, limit) for i, limit in enumerate(skeleton.limits) if isinstance(limit, Range) and limit.axis]
    rows = tuple(i for i, _ in found)
    return BallHinges(
        rows=rows,
        columns=_quaternions(skeleton, rows),
        axes=np.array([limit.axis for _, limit in found]).reshape(-1, 3),
        low=np.array([-np.inf if limit.soft else limit.low for _, limit in found]),
        high=np.array([np.inf if limit.soft else limit.high for _, limit in found]),
    )


class BallLimits(NamedTuple):
    """Ball and free joints whose whole rotation a hard limit bounds, b of them."""

    joints: tuple[int, ...]
    columns: Ints  # (b, 4) where their quaternions stand in q
    rows: Floats  # (b, LIMIT) see kernels/limits/rotations.py


def ball_limits(skeleton: Skeleton) -> BallLimits:
    """Find the ball and free joints that a SwingTwist or an EulerBox bounds."""
    rows = np.array([turn_row(None if is_soft(limit) else limit) for limit in skeleton.limits])
    joints = tuple(np.flatnonzero([row[LIMIT_KIND] != NO_LIMIT for row in rows]).tolist())
    return BallLimits(joints, _quaternions(skeleton, joints), rows.reshape(-1, LIMIT)[list(joints)])


def _quaternions(skeleton: Skeleton, joints: tuple[int, ...]) -> Ints:
    """(j, 4) columns of q that hold the quaternions of ball and free joints."""
    starts = [int(skeleton.q_start[i]) + (3 if skeleton.kinds[i] == Kind.FREE else 0) for i in joints]
    return np.array(starts, dtype=np.int64)[:, None] + np.arange(4)


def nearest_legal(skeleton: Skeleton, q: Floats) -> tuple[Floats, tuple[str, ...]]:
    """Move q (..., nq) to the nearest legal configuration, and name the joints that had to move.

    Values within 1e-9 of legal are returned unchanged, bit for bit.
    """
    ranges = skeleton.value_ranges
    outside = (q < ranges[:, 0] - _SLACK) | (q > ranges[:, 1] + _SLACK)
    moved: set[int] = set()
    legal = q.copy()
    if outside.any():
        legal = np.where(outside, np.clip(q, ranges[:, 0], ranges[:, 1]), q)
        columns = set(np.nonzero(outside)[-1].tolist())
        limited = {i for i, limit in enumerate(skeleton.limits) if isinstance(limit, Range) and limit.axis is None}
        moved = {i for i in limited if int(skeleton.q_start[i]) in columns}
    hinges = skeleton.ball_hinges
    if hinges.rows:
        turns = legal[..., hinges.columns]
        hinged, off = _nearest_hinges(hinges, turns)
        kept = np.asarray(off <= _SLACK)
        legal[..., hinges.columns] = np.where(kept[..., None], turns, hinged)
        off_anywhere = (~kept).reshape(-1, len(hinges.rows)).any(axis=0)
        moved |= {row for row, is_off in zip(hinges.rows, np.atleast_1d(off_anywhere), strict=True) if is_off}
    balls = skeleton.ball_limits
    for joint, columns, row in zip(*balls, strict=True):
        inside = nearest_turns(row, legal[..., columns])
        off = turn_excess(legal[..., columns], inside) > _SLACK
        if np.any(off):
            legal[..., columns] = np.where(off[..., None], inside, legal[..., columns])
            moved.add(joint)
    return legal, tuple(skeleton.names[i] for i in sorted(moved))


def _nearest_hinges(hinges: BallHinges, turns: Floats) -> tuple[Floats, Floats]:
    """Nearest legal rotations (..., h, 4) to `turns`, and how far [rad] (..., h) each was from legal."""
    angles = nearest_angle(rotations.twist_angle(turns, hinges.axes), hinges.low, hinges.high)
    hinged = rotations.about(hinges.axes, angles)
    sign = np.where((turns * hinged).sum(axis=-1, keepdims=True) < 0, -1.0, 1.0)
    return hinged, 2 * np.abs(sign * turns - hinged).max(axis=-1, initial=0.0)


def soft_cost(skeleton: Skeleton, q: Floats) -> Floats:
    """Sum (...) over all soft limits of weight * excess^2 [rad^2, file units^2] in configurations q (..., nq)."""
    cost = np.zeros(q.shape[:-1])
    for i, limit in enumerate(skeleton.limits):
        if limit is not None and limit.soft:
            cost += limit.soft * _excess(skeleton, i, limit, q) ** 2
    return cost


def _excess(skeleton: Skeleton, i: int, limit: Limit, q: Floats) -> Floats:
    """How far (...) joint i is outside its limit [rad, file units]."""
    if not isinstance(limit, Range):
        turns = q[..., _quaternions(skeleton, (i,))[0]]
        return turn_excess(turns, nearest_turns(turn_row(limit), turns))
    if limit.axis is None:
        ratio, offset = skeleton.coupling_rows[i]
        value = ratio * q[..., skeleton.q_start[i]] + offset
        return np.maximum(np.maximum(limit.low - value, value - limit.high), 0.0)
    angle = rotations.twist_angle(q[..., _quaternions(skeleton, (i,))[0]], np.array(limit.axis))
    return np.abs(wrapped(angle - nearest_angle(angle, limit.low, limit.high)))
