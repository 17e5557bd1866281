"""Turns of whole clips into other axes, above the hips."""

from __future__ import annotations

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.anatomy.rest_geometry import compute_rest_rotations
from poise.model.pose import Pose

# entries of a rotation matrix: a joint that turns by less stands still
_SAME_TURN = 1e-6
# cosine: a direction is an axis of the file up to this one
_UP_COSINE = 0.999


def find_standing_turn(poses: Pose, hips: int, up: Floats) -> Floats | None:
    """Find the turn (3, 3) of a clip onto its rest pose. None where they agree.

    Exporters turn a figure into other axes by a joint above the hips. It stands still in the clip and is at identity at
    rest: the rest pose stands along y then, and the clip along z.

    hips  their row
    up    (3,) of the figure at rest
    """
    carrier = int(poses.skeleton.parents[hips])
    if carrier < 0 or not len(poses):
        return None
    turns = rotations.as_matrix(poses.world.rotations[:, carrier])
    turn = compute_rest_rotations(poses.skeleton)[carrier] @ turns[0].T
    in_clip = up @ turn
    stands_still = float(np.abs(turns - turns[0]).max()) <= _SAME_TURN
    if not stands_still or float(in_clip @ up) >= _UP_COSINE or max(in_clip[1:]) < _UP_COSINE:
        return None
    return turn
