"""Angular errors of goals over arrays: rotations, directions, and limbs with poles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.kernels.codes import STRAIGHT, TINY
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats


class Side(NamedTuple):
    """Bend directions of limbs, and their poles.

    line    (k, 3) the unit vector from the first joint to the tip
    reach   (k,)   from the first joint to the tip
    bend    (k, 3) from the line to the middle joint
    pole    (k, 3) from the line to the pole
    shares  (k, 2) positions of middle joint and pole along the line, as fractions of it
    angle   (k,)   [rad] about the line from bend to pole, -pi to pi; 0 where a bend direction is undefined
    """

    line: Floats
    reach: Floats
    bend: Floats
    pole: Floats
    shares: Floats
    angle: Floats


def rotation_left(turned: Floats, wanted: Floats) -> Floats:
    """Measure angles (k,) between rotations (k, 4)."""
    left = rotations.multiply(wanted, rotations.inverse(turned))
    return 2.0 * np.arctan2(length(left[:, 1:]), np.abs(left[:, 0]))


def direction_left(axis: Floats, wanted: Floats) -> Floats:
    """Measure angles (k,) between vectors (k, 3). 0 for zero length."""
    return np.arctan2(length(np.cross(axis, wanted)), (axis * wanted).sum(axis=-1) + 0.0)  # no -0: half a turn


def side_of(first: Floats, middle: Floats, tip: Floats, target: Floats) -> Side:
    """Find bend directions of limbs and their pole angles.

    Points are (k, 3); problem/goals/pole.py has the definition.
    """
    line, bend, away = tip - first, middle - first, target - first
    reach, limb = length(line), length(bend) + length(tip - middle)
    n = line / np.maximum(reach, TINY)[:, None]
    feet = np.stack([(n * bend).sum(axis=-1), (n * away).sum(axis=-1)], axis=-1)
    k, p = bend - n * feet[:, :1], away - n * feet[:, 1:]
    straight: Bools = np.minimum(np.minimum(length(k), length(p)), reach) <= STRAIGHT * limb
    angle = np.arctan2((n * np.cross(k, p)).sum(axis=-1), (k * p).sum(axis=-1))
    shares = feet / np.maximum(reach, TINY)[:, None]
    return Side(n, reach, k, p, shares, np.where(straight, 0.0, angle))


def length(v: Floats) -> Floats:
    """Return |v| (...)."""
    return np.sqrt((v**2).sum(axis=-1))
