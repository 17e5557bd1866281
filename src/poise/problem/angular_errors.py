"""Angular errors of goals over arrays: rotations, directions, and limbs with poles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.kernels.thresholds import MIN_DIVISOR, STRAIGHT_RATIO
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats
from poise.maths.vectors import length


class BendDirection(NamedTuple):
    """Bend directions of limbs, and their poles.

    limb_direction  (k, 3) the unit vector from the first joint to the tip
    tip_distance    (k,) from the first joint to the tip
    bend_offset     (k, 3) from the line to the middle joint
    pole_offset     (k, 3) from the line to the pole
    line_fractions  (k, 2) positions of middle joint and pole along the line, as fractions of it
    pole_angle      (k,) [rad] about the line from bend to pole, -pi to pi; 0 where a bend direction is undefined
    """

    limb_direction: Floats
    tip_distance: Floats
    bend_offset: Floats
    pole_offset: Floats
    line_fractions: Floats
    pole_angle: Floats


def measure_rotation_error(current: Floats, target: Floats) -> Floats:
    """Measure angles (k,) between rotations (k, 4)."""
    error = rotations.multiply(target, rotations.inverse(current))
    return 2.0 * np.arctan2(length(error[:, 1:]), np.abs(error[:, 0]))


def measure_direction_error(axis: Floats, target: Floats) -> Floats:
    """Measure angles (k,) between vectors (k, 3). 0 for zero length."""
    return np.arctan2(length(np.cross(axis, target)), (axis * target).sum(axis=-1) + 0.0)  # no -0: half a turn


def find_bend_direction(first: Floats, middle: Floats, tip: Floats, target: Floats) -> BendDirection:
    """Find bend directions of limbs and their pole angles.

    Points are (k, 3); problem/goals/pole.py has the definition.
    """
    tip_offset, middle_offset, target_offset = tip - first, middle - first, target - first
    tip_distance, limb_length = length(tip_offset), length(middle_offset) + length(tip - middle)
    limb_direction = tip_offset / np.maximum(tip_distance, MIN_DIVISOR)[:, None]
    projections = np.stack(
        [(limb_direction * middle_offset).sum(axis=-1), (limb_direction * target_offset).sum(axis=-1)], axis=-1
    )
    bend_offset, line_to_pole = (
        middle_offset - limb_direction * projections[:, :1],
        target_offset - limb_direction * projections[:, 1:],
    )
    is_undefined: Bools = (
        np.minimum(np.minimum(length(bend_offset), length(line_to_pole)), tip_distance) <= STRAIGHT_RATIO * limb_length
    )
    pole_angle = np.arctan2(
        (limb_direction * np.cross(bend_offset, line_to_pole)).sum(axis=-1), (bend_offset * line_to_pole).sum(axis=-1)
    )
    line_fractions = projections / np.maximum(tip_distance, MIN_DIVISOR)[:, None]
    return BendDirection(
        limb_direction, tip_distance, bend_offset, line_to_pole, line_fractions, np.where(is_undefined, 0.0, pole_angle)
    )
