"""Rest geometry of a body: axes, positions, bone directions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from poise.errors import InputError, listed
from poise.maths.arrays import Floats
from poise.maths.remember import remember
from poise.maths.rotations import rotation_part
from poise.maths.vectors import units
from poise.model.pose import Pose
from poise.model.roles.roles import maps_of
from poise.model.roles.vrm import SIDES
from poise.model.skeleton import Kind, Skeleton

# cosine: within 30 degrees of the file's up the trunk counts as upright, and the file's up is used
_UPRIGHT = float(np.cos(np.radians(30.0)))
# cosine between thighs and up: above it the rest pose is rejected; sitting characters have level thighs
_DOWN = 0.7
# minimum length of the part of the left vector perpendicular to up, of 2 at most
_CLEAR = 0.3


class Stance(NamedTuple):
    """Body frame of a character at rest. All directions are unit vectors (3,) in the world.

    up       direction of the trunk; the file's up axis where the trunk is within 30 degrees of it
    forward  facing direction: left, rotated by a quarter turn about up
    left     from the right hip and shoulder to the left ones, perpendicular to up
    points   (n, 3) positions of the joints
    """

    up: Floats
    forward: Floats
    left: Floats
    points: Floats


def stance_of(skeleton: Skeleton, joints: Mapping[str, str]) -> Stance:
    """Compute the body frame with every ball joint at identity. Limits and rest_q do not affect it.

    Parameters
    ----------
    skeleton
        Its joints.
    joints
        Roles to joint names; both thighs and both upper arms are required, with correct sides.

    Raises
    ------
    InputError
        For a rest pose without recognizable left or up, as in BVH files with all bones along one axis.
    """
    missing = [role for part in _PAIRS for role in (f"{side}{part}" for side in SIDES) if role not in joints]
    if missing:
        raise InputError(f"no confident joints for a body: {listed(missing)} missing")
    points = rest_maps(skeleton)[:, :3, 3]
    hips, shoulders = (np.array([points[skeleton.index(joints[s + part])] for s in SIDES]) for part in _PAIRS)
    trunk = units(shoulders.mean(axis=0) - hips.mean(axis=0))
    up = _up(skeleton, trunk)
    across = units(hips[0] - hips[1]) + units(shoulders[0] - shoulders[1])
    left = across - up * float(across @ up)
    knees = [points[skeleton.index(joints[f"{s}LowerLeg"])] for s in SIDES if f"{s}LowerLeg" in joints]
    legs = units(np.mean(knees, axis=0) - hips.mean(axis=0)) if knees else -up
    if not np.isfinite(points).all() or float(np.linalg.norm(left)) < _CLEAR or float(legs @ up) > _DOWN:
        message = (
            "the rest pose shows no body directions: trunk and legs, or left and right, point the same way, "
            "as in files with all bones along one axis"
        )
        raise InputError(message)
    left = units(left)
    return Stance(up, np.cross(left, up), left, points)


_PAIRS = ("UpperLeg", "UpperArm")


def rest_maps(skeleton: Skeleton) -> Floats:
    """Compute the world transforms (n, 4, 4) with unrotated ball joints.

    Limits and the numbers in q are relative to these.
    """
    return remember(skeleton, "unturned maps", None, lambda: maps_of(Pose(skeleton, _unturned(skeleton))))


def rest_turns(skeleton: Skeleton) -> Floats:
    """Compute the rotations (n, 3, 3) of `compute_rest_transforms`."""
    return remember(skeleton, "unturned frames", None, lambda: rotation_part(rest_maps(skeleton)[:, :3, :3]))


def _unturned(skeleton: Skeleton) -> Floats:
    """Return rest_q with every ball joint at identity. This removes the effect of limits on the rest pose."""
    q = skeleton.rest_q.copy()
    for row in np.flatnonzero(skeleton.kinds == Kind.BALL).tolist():
        start = int(skeleton.q_start[row])
        q[start : start + 4] = 1.0, 0.0, 0.0, 0.0
    return q


def _up(skeleton: Skeleton, trunk: Floats) -> Floats:
    """Find the up direction of a body.

    It is the file's up, else the nearest file axis, if the trunk is upright along it; else the trunk itself.
    """
    if skeleton.up is not None:
        axis = np.eye(3)["xyz".index(skeleton.up)]
    else:
        most = int(np.argmax(np.abs(trunk)))
        axis = np.eye(3)[most] * np.sign(trunk[most])
    return axis if float(axis @ trunk) > _UPRIGHT else trunk
