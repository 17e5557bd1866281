"""What is left to a goal, and what the degrees of freedom do to it: over arrays, as kernels/tree/goal_rows does it.

Jacobians are those of Pose.jacobian, (k, 6, nd) in the columns that the caller wants. Residuals are those of the
kernels but for their weights, and for the fading of a pole.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Bools, Floats
from poise.model.pose import Pose
from poise.problem.goals import AnyGoal
from poise.problem.layout import AIM, ROTATION, Measure
from poise.problem.measure import Places

_TINY = 1e-300  # what a squared length is divided by at least


def turn_rates(
    pose: Pose, measure: Measure, goal: AnyGoal, wanted: Floats, jacobian: Floats, turning: Bools
) -> tuple[Floats, Floats]:
    """The rates (k, 3, nd) and the rotation left (k, 3), 2 sin(angle / 2) long along its axis, of all but poles.

    For a direction or an aim it is the shortest one. An aim's changes with the motion of its point, too. `turning`
    (nd,) says which dofs act for the goal.
    """
    rates = jacobian[:, 3:]
    if measure.kind == ROTATION:
        turned = pose.world[pose.skeleton.names[measure.row]].rotations
        left = rotations.multiply(wanted, rotations.inverse(turned))
    else:
        axis, way = Places(pose).axis(measure, goal), Places(pose).way(measure, goal, wanted)
        left = rotations.rotation_between(axis, way)
        rates = rates - axis[:, :, None] * np.einsum("kc,kcd->kd", axis, rates)[:, None]
        if measure.kind == AIM:
            b = way / np.maximum((way**2).sum(axis=-1, keepdims=True), _TINY)
            rates = rates + np.cross(b[:, :, None], jacobian[:, :3], axis=1)
    return rates * turning, 2.0 * left[..., 1:] * np.where(left[..., :1] < 0, -1.0, 1.0)


def side_rates(pose: Pose, measure: Measure, wanted: Floats, velocities: Sequence[Floats]) -> tuple[Floats, Floats]:
    """The rates (k, 1, nd) and the turn about the limb's line (k, 1) that is left to a pole.

    velocities  (k, 3, nd) of the limb's first joint, of the one that bends, and of the tip
    """
    side = Places(pose).side(measure, wanted)
    of_bend, of_pole = (
        np.cross(side.line, v) / np.maximum((v**2).sum(axis=-1, keepdims=True), _TINY) for v in (side.bend, side.pole)
    )
    t_bend, t_pole = side.shares[:, :1], side.shares[:, 1:]
    pushes = ((1 - t_pole) * of_pole - (1 - t_bend) * of_bend, of_bend, t_pole * of_pole - t_bend * of_bend)
    rates = np.sum([np.einsum("kc,kcd->kd", push, v) for push, v in zip(pushes, velocities, strict=True)], axis=0)
    has_side = (side.angle != 0.0)[:, None]
    return np.where(has_side, rates, 0.0)[:, None], 2.0 * np.sin(0.5 * side.angle)[:, None]
