"""Limits over whole configurations: what q may be, and the nearest legal q.

Arrays here, because a reader must not wait for a compiler; the scalar rule that solvers apply is in
`kernels/limits.py`, and the tests hold the two to the same answers.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from poise import rotations
from poise.arrays import Bools, Floats
from poise.errors import InputError

if TYPE_CHECKING:
    from poise.limits import Limit
    from poise.skeleton import Skeleton

_SLACK = 1e-9  # hard limits hold to this [rad, file units]; a q inside it is left alone, bit for bit


def value_ranges(skeleton: Skeleton) -> Floats:
    """(nq, 2) lowest and highest legal value of each number in q; infinite where nothing limits it.

    A coupled joint's own range is carried over to its leader: low <= ratio * q + offset <= high.
    Ranges with an axis (ball joints) are not bounds on single numbers and are left out.
    """
    ranges = np.tile([-np.inf, np.inf], (skeleton.nq, 1))
    for i, limit in enumerate(skeleton.limits):
        ratio, offset = skeleton.coupling_rows[i]
        if limit is None or limit.axis is not None or ratio == 0.0:
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


def ball_hinges(skeleton: Skeleton) -> list[tuple[int, int, Limit]]:
    """(row, where the quaternion starts in q, range) of ball joints that a range makes hinges."""
    return [
        (i, int(skeleton.q_start[i]) + (3 if skeleton.kinds[i] == 4 else 0), limit)  # noqa: PLR2004  (Kind.FREE)
        for i, limit in enumerate(skeleton.limits)
        if limit is not None and limit.axis is not None
    ]


def nearest_legal(skeleton: Skeleton, q: Floats) -> tuple[Floats, tuple[str, ...]]:
    """Move q (..., nq) to the nearest legal configuration, and name the joints that had to move.

    Values within 1e-9 of legal are returned unchanged, bit for bit.
    """
    ranges = skeleton.value_ranges
    outside = (q < ranges[:, 0] - _SLACK) | (q > ranges[:, 1] + _SLACK)
    legal = np.where(outside, np.clip(q, ranges[:, 0], ranges[:, 1]), q)
    moved_values: Bools = np.asarray(outside.reshape(math.prod(outside.shape[:-1]), skeleton.nq).any(axis=0))
    moved = {i for i, start in enumerate(skeleton.q_start) if start < skeleton.nq and moved_values[start]}
    moved &= {i for i, limit in enumerate(skeleton.limits) if limit is not None}
    for i, start, limit in ball_hinges(skeleton):
        part = legal[..., start : start + 4]
        hinged, kept = nearest_hinge(part, limit)
        legal[..., start : start + 4] = np.where(kept[..., None], part, hinged)
        if not kept.all():
            moved.add(i)
    return legal, tuple(skeleton.names[i] for i in sorted(moved))


def nearest_hinge(q: Floats, limit: Limit) -> tuple[Floats, Bools]:
    """Nearest rotation (..., 4) to q about the limit's axis inside its range; also where q was legal."""
    axis = np.asarray(limit.axis)
    angle = nearest_turn(rotations.twist_angle(q, axis), limit.low, limit.high)
    hinged = rotations.about(axis, angle)
    sign = np.where((q * hinged).sum(axis=-1, keepdims=True) < 0, -1.0, 1.0)
    return hinged, np.asarray(np.all(np.abs(sign * q - hinged) <= 0.5 * _SLACK, axis=-1))


def nearest_turn(angle: Floats, low: float, high: float) -> Floats:
    """The angle [rad] in low..high that is the same modulo a turn, else the end that is nearer on the circle.

    The array twin of `best_angle` in kernels/limits.py.
    """
    angle = np.asarray(angle, dtype=np.float64)
    turn = 2 * np.pi
    up = angle + turn * np.ceil((low - angle) / turn) if np.isfinite(low) else angle
    down = angle - turn * np.ceil((angle - high) / turn) if np.isfinite(high) else angle
    turned = np.where(angle < low, up, np.where(angle > high, down, angle))
    if not (np.isfinite(low) and np.isfinite(high)):
        return turned
    end = np.where(np.cos(low - angle) >= np.cos(high - angle), low, high)
    return np.where((turned >= low) & (turned <= high), turned, end)


def violation(skeleton: Skeleton, q: Floats) -> float:
    """Largest amount [rad, file units] by which any configuration of q (..., nq) leaves its limits."""
    ranges = skeleton.value_ranges
    worst = float(np.maximum(ranges[:, 0] - q, q - ranges[:, 1]).max(initial=0.0))
    for _, start, limit in ball_hinges(skeleton):
        part = q[..., start : start + 4]
        hinged, _ = nearest_hinge(part, limit)
        sign = np.where((part * hinged).sum(axis=-1, keepdims=True) < 0, -1.0, 1.0)
        worst = max(worst, float(2 * np.abs(sign * part - hinged).max(initial=0.0)))
    return worst
