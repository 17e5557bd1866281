"""Random start poses, and the random numbers of restarts."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import (
    Floats,
)
from poise.model.limit_bounds import clamp_angles
from poise.model.limits import Range
from poise.model.skeleton import Kind, Skeleton

_RESTART_DRAW_COUNT = 256  # restarts with numbers of their own; later ones recombine them
_MAX_CACHED_TABLES = 16  # numbers of degrees of freedom; a table has 2 KB for each degree


def extend_table(table: Floats, row_count: int) -> Floats:
    """Return `row_count` rows of a table (s, n) of starts or draws. Rows beyond the table recombine its numbers.

    The kernels use the same rule, see kernels/arm_lm.py.
    """
    row, column = np.arange(row_count)[:, None], np.arange(table.shape[1])
    return table[(row + column * (row // len(table))) % len(table), column]


@lru_cache(_MAX_CACHED_TABLES)
def draw_restarts(dof_count: int) -> Floats:
    """Draw the numbers (s, nd) in 0..1 of random restarts. They are the same for all problems."""
    return np.random.default_rng(7).random((_RESTART_DRAW_COUNT, dof_count))


DRAWS_PER_JOINT = 6  # random numbers in 0..1 per joint
_FULL_TURN_RAD = 2 * np.pi


def draw_random_starts(
    skeleton: Skeleton,
    q: Floats,
    joint_indices: tuple[int, ...],
    range_share: float,
    draws: Floats,
    *,
    unbounded_length: float,
    translating_rows: Collection[int] = (),
) -> Floats:
    """Draw random values for the joints in `joint_indices` of q (k, nq). The result is within limits if q is.

    range_share       largest offset, as a share of a joint's range; of half a turn, or of `unbounded_length` for
                      slides, where the range is infinite. Values are uniform in the allowed part
    draws             (joints, DRAWS_PER_JOINT) numbers in 0..1, the same for every configuration
    unbounded_length  [file units]
    translating_rows  the free joints that translate as well
    """
    q = q.copy()
    for joint_index, joint_draws in zip(joint_indices, draws, strict=True):
        start_column, kind, limit = (
            int(skeleton.q_start[joint_index]),
            skeleton.kinds[joint_index],
            skeleton.limits[joint_index],
        )
        if kind in (Kind.HINGE, Kind.SLIDE):
            unbounded_width = np.pi if kind == Kind.HINGE else unbounded_length
            low, high = skeleton.value_ranges[start_column]
            q[:, start_column] = _draw_in_range(
                q[:, start_column], low, high, range_share, unbounded_width, joint_draws[0]
            )
            continue
        if kind == Kind.FREE:
            for axis in range(3 if joint_index in translating_rows else 0):
                column, (low, high) = start_column + axis, skeleton.value_ranges[start_column + axis]
                q[:, column] = _draw_in_range(
                    q[:, column], low, high, range_share, unbounded_length, joint_draws[3 + axis]
                )
            start_column += 3
        quaternions = q[:, start_column : start_column + 4]
        if isinstance(limit, Range) and limit.axis is not None:
            angles = clamp_angles(rotations.twist_angle(quaternions, np.array(limit.axis)), limit.low, limit.high)
            new_angles = _draw_in_range(angles, limit.low, limit.high, range_share, np.pi, joint_draws[0])
            q[:, start_column : start_column + 4] = rotations.about(np.array(limit.axis), new_angles)
        else:
            rotation = np.broadcast_to(_draw_rotation(range_share * np.pi, joint_draws), quaternions.shape)
            q[:, start_column : start_column + 4] = rotations.normalise(rotations.multiply(rotation, quaternions))
    return skeleton.legal(q)[0]


def _draw_in_range(
    values: Floats, low: float, high: float, range_share: float, unbounded_width: float, draw: float
) -> Floats:
    """Draw values (k,) from low..high within an offset.

    The offset is a share of the range, or of `unbounded_width` where the range is infinite.
    """
    range_width = high - low
    max_offset = range_share * (range_width if np.isfinite(range_width) else unbounded_width)
    draw_low, draw_high = np.maximum(low, values - max_offset), np.minimum(high, values + max_offset)
    return np.clip(draw_low + draw * (draw_high - draw_low), low, high)


def _draw_rotation(max_angle: float, draws: Floats) -> Floats:
    """Draw a rotation by at most `max_angle` [rad], uniformly in rotation vectors."""
    height, azimuth = 2 * draws[0] - 1, _FULL_TURN_RAD * draws[1]
    radius = np.sqrt(1 - height * height)
    axis = np.array([radius * np.cos(azimuth), radius * np.sin(azimuth), height])
    return rotations.about(axis, max_angle * np.cbrt(draws[2]))
