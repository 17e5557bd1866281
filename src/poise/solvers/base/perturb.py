"""Random start configurations within the limits."""

from __future__ import annotations

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.limits import Range
from poise.model.limits.base.rows import nearest_angle
from poise.model.skeleton import Kind, Skeleton

DRAWS = 6  # random numbers in 0..1 per joint
_TURN = 2 * np.pi


def scattered(
    skeleton: Skeleton, q: Floats, rows: tuple[int, ...], share: float, draws: Floats, *, length: float, moves: bool
) -> Floats:
    """Draw random values for the joints in `rows` of q (k, nq). The result is within limits if q is.

    share       largest offset, as a share of a joint's range; of half a turn, or of `length` for slides, where the
                range is infinite. Values are uniform in the allowed part
    draws       (rows, DRAWS_PER_JOINT) numbers in 0..1, the same for every configuration
    length      [file units]
    translates  whether a free joint translates as well
    """
    q = q.copy()
    for row, numbers in zip(rows, draws, strict=True):
        first, kind, limit = int(skeleton.q_start[row]), skeleton.kinds[row], skeleton.limits[row]
        if kind in (Kind.HINGE, Kind.SLIDE):
            wide = np.pi if kind == Kind.HINGE else length
            low, high = skeleton.value_ranges[first]
            q[:, first] = _along(q[:, first], low, high, share, wide, numbers[0])
            continue
        if kind == Kind.FREE:
            for axis in range(3 if moves else 0):
                column, (low, high) = first + axis, skeleton.value_ranges[first + axis]
                q[:, column] = _along(q[:, column], low, high, share, length, numbers[3 + axis])
            first += 3
        turns = q[:, first : first + 4]
        if isinstance(limit, Range) and limit.axis is not None:
            angle = nearest_angle(rotations.twist_angle(turns, np.array(limit.axis)), limit.low, limit.high)
            turned = _along(angle, limit.low, limit.high, share, np.pi, numbers[0])
            q[:, first : first + 4] = rotations.about(np.array(limit.axis), turned)
        else:
            turn = np.broadcast_to(_turn(share * np.pi, numbers), turns.shape)
            q[:, first : first + 4] = rotations.normalised(rotations.multiply(turn, turns))
    return skeleton.legal(q)[0]


def _along(value: Floats, low: float, high: float, share: float, wide: float, draw: float) -> Floats:
    """Draw values (k,) from low..high within an offset.

    The offset is a share of the range, or of `unbounded_width` where the range is infinite.
    """
    span = high - low
    reach = share * (span if np.isfinite(span) else wide)
    from_, to = np.maximum(low, value - reach), np.minimum(high, value + reach)
    return np.clip(from_ + draw * (to - from_), low, high)


def _turn(largest: float, draws: Floats) -> Floats:
    """Draw a rotation by at most `max_angle` [rad], uniformly in rotation vectors."""
    height, around = 2 * draws[0] - 1, _TURN * draws[1]
    flat = np.sqrt(1 - height * height)
    axis = np.array([flat * np.cos(around), flat * np.sin(around), height])
    return rotations.about(axis, largest * np.cbrt(draws[2]))
