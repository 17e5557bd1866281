"""Published reach of the arm, and its SwingTwist cone.

Goniometry measures the elevation of an arm from hanging in each plane (`ARM_ELEVATION`). A SwingTwist is a cone around
the rest pose: hanging, level or up. Its four sides and its rotation about the arm are chosen for the least difference
from the published reach, counted over all arm directions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.maths.arrays import Bools, Floats
from poise.model.anatomy.joint_axes import JointAxes
from poise.model.anatomy.ranges import ARM_AROUND

# number of arm directions, spread evenly over the sphere
_POINTS = 1500
_TURNS = np.radians(np.arange(-45.0, 45.0, 5.0))
_SIDES = np.radians(np.arange(15.0, 181.0, 15.0))
_FINE = np.radians((-10.0, -5.0, 0.0, 5.0, 10.0))
# cost of a direction in the cone but outside the published range; one left out costs 1
_OVER = 1.5
# cost of leaving out a required direction: hanging, ahead, level, straight up
_MUST = 400.0


class Cone(NamedTuple):
    """Cone around the arm at rest.

    Fields: its first swing axis (3,), and (low, high) [rad] about the first and the second axis.
    """

    across: Floats
    sides: tuple[tuple[float, float], tuple[float, float]]


def arm_cone(axes: JointAxes) -> Cone:
    """Fit the cone of an upper arm. The second swing axis is bone x across, as in SwingTwist."""
    second = np.cross(axes.bone, axes.bend)
    mirrored = 1.0 if float(second @ axes.aside) >= 0.0 else -1.0  # the same orientation for left and right
    bones, weights = _directions(axes)
    found: list[tuple[float, int, list[Floats]]] = []
    swings = [_swings(axes.bone, _turned(axes.bend, second, mirrored * turn), mirrored, bones) for turn in _TURNS]
    for number, swing in enumerate(swings):
        cost, sides = _best(swing, weights, [_SIDES] * 4)
        found.append((cost, number, sides))
    _, number, sides = min(found, key=lambda one: one[:2])
    near = [np.clip(side + _FINE, _FINE[-2], np.pi) for side in sides]
    a, b, c, d = (float(side) for side in _best(swings[number], weights, near)[1])
    across = _turned(axes.bend, second, mirrored * _TURNS[number])
    return Cone(across, ((-c, a), (-d, b) if mirrored > 0.0 else (-b, d)))


def is_within(axes: JointAxes, bones: Floats, slack: float = 0.0) -> Bools:
    """Return whether arm directions (..., 3) are in the published range. `slack` [rad] widens the range."""
    height = np.arccos(np.clip(bones @ axes.zero, -1.0, 1.0))
    plane = np.degrees(np.arctan2(bones @ axes.forward, bones @ axes.outward))
    planes, heights = zip(*((plane, motion.degrees) for plane, motion in ARM_AROUND), strict=True)
    return height <= np.radians(np.interp(plane, planes, heights, period=360.0)) + slack


def _turned(first: Floats, second: Floats, angle: float) -> Floats:
    return np.cos(angle) * first + np.sin(angle) * second


def _directions(axes: JointAxes) -> tuple[Floats, Floats]:
    """Sample unit directions (n, 3) with their weights.

    Directions are mirrored for right arms; weights are negative inside the published range.
    """
    number = np.arange(_POINTS) + 0.5
    height, around = 1.0 - 2.0 * number / _POINTS, np.pi * (1.0 + np.sqrt(5.0)) * number
    level = np.sqrt(1.0 - height**2)
    frame = np.stack([axes.outward, axes.forward, axes.up])
    bones = np.stack([level * np.cos(around), level * np.sin(around), height], axis=-1) @ frame
    weights = np.where(is_within(axes, bones), -1.0, _OVER)
    must = np.stack([axes.zero, axes.forward, axes.outward, -axes.zero])
    return np.concatenate([bones, must]), np.concatenate([weights, np.full(len(must), -_MUST)])


def _swings(bone: Floats, across: Floats, mirrored: float, bones: Floats) -> Floats:
    """Compute the swings (n, 2) [rad] to directions (n, 3). They start at rest.

    The second component is mirrored for right arms.
    """
    axis = np.cross(bone, bones)
    sine = np.linalg.norm(axis, axis=1)
    turns = axis * (np.arctan2(sine, bones @ bone) / np.maximum(sine, 1e-12))[:, None]
    return np.stack([turns @ across, mirrored * (turns @ np.cross(bone, across))], axis=-1)


def _best(swings: Floats, weights: Floats, sides: list[Floats]) -> tuple[float, list[Floats]]:
    """Fit the four half-angles of a cone with the lowest cost.

    Return the cost, and the sides with high and low in turn.

    Each quarter of the cone depends on two sides only, so all combinations are cheap to evaluate.
    """
    x, y = np.abs(swings).T
    quarter = np.where(swings[:, 0] >= 0.0, np.where(swings[:, 1] >= 0.0, 0, 3), np.where(swings[:, 1] >= 0.0, 1, 2))
    tables: list[Floats] = []
    for place in range(4):
        rows = quarter == place
        first, second = (0, 1) if place == 0 else (2, 1) if place == 1 else (2, 3) if place == 2 else (0, 3)  # noqa: PLR2004
        a, b = sides[first][:, None, None], sides[second][None, :, None]
        inside = (x[rows] / a) ** 2 + (y[rows] / b) ** 2 <= 1.0 + 1e-6
        tables.append((inside * weights[rows]).sum(axis=-1))
    total = (
        tables[0][:, :, None, None] + tables[1].T[None, :, :, None] + tables[2][None, None] + tables[3][:, None, None]
    )
    place = np.unravel_index(int(np.argmin(total)), total.shape)
    return float(total[place]), [side[row] for side, row in zip(sides, place, strict=True)]
