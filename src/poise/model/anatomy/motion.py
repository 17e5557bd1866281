"""Evidence from clips: planes of bending, and wrong limits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poise.maths.arrays import Floats
from poise.maths.rotations import rotate
from poise.model.anatomy.axes import own_frame
from poise.model.anatomy.joint_axes import JointAxes, square
from poise.model.clip import Clip
from poise.model.limits import SwingTwist
from poise.model.limits.base.rows import nearest_turns, turn_excess, turn_row
from poise.model.skeleton import Kind, Skeleton

_HINGES = ("LowerLeg", "LowerArm")
# sine of the bend angle: frames bent by less than 20 degrees do not show a plane
_BENT = float(np.sin(np.radians(20.0)))
_FRAMES = 5
# mean length of the unit vectors: frames must agree within about 15 degrees
_STEADY = float(np.cos(np.radians(15.0)))
# cosine: the plane must lie within 60 degrees of the expected one
_TOLD = 0.5
# [rad] a frame counts as outside from here on: a person cannot reach it by bending a little more
_BEYOND = np.radians(15.0)


def frames_of(skeleton: Skeleton, clips: Sequence[Clip]) -> Floats:
    """Stack the configurations (f, nq) of all frames of clips."""
    found = [np.asarray(clip.poses.q).reshape(-1, skeleton.nq) for clip in clips if len(clip)]
    return np.concatenate(found) if found else np.zeros((0, skeleton.nq))


def with_bends_seen(skeleton: Skeleton, frames: Floats, axes: Sequence[JointAxes]) -> list[JointAxes]:
    """Refine the bend axes of elbows and knees from clips. `frames` are their configurations (f, nq).

    A plane needs five frames, bent by 20 degrees or more, that agree within 15 degrees, and must lie within 60 degrees
    of the plane from the rest pose.
    """
    return [_with_bend_seen(skeleton, frames, one) if one.part in _HINGES else one for one in axes]


def _with_bend_seen(skeleton: Skeleton, frames: Floats, axes: JointAxes) -> JointAxes:
    frame = own_frame(skeleton, axes.row)
    own = axes.seen_from(frame)
    ways = rotate(_turns(skeleton, frames, axes.row), own.bone)
    ways = ways - (ways @ own.bone)[:, None] * own.bone
    sizes = np.linalg.norm(ways, axis=1)
    ways = ways[sizes > _BENT] / sizes[sizes > _BENT, None]
    if len(ways) < _FRAMES:
        return axes
    mean = ways.mean(axis=0)
    expected = np.cross(own.bend, own.bone)
    if float(np.linalg.norm(mean)) < _STEADY or float(square(mean, own.bone) @ expected) < _TOLD:
        return axes
    return axes.bent_towards(frame @ mean, "the file's clips")


def share_outside(skeleton: Skeleton, frames: Floats, row: int, limit: SwingTwist) -> float:
    """Compute the fraction of frames (f, nq) outside a limit.

    A frame counts from 15 degrees outside; the result is 0 without frames.
    """
    turns = _turns(skeleton, frames, row)
    if not len(turns):
        return 0.0
    return float((turn_excess(turns, nearest_turns(turn_row(limit), turns)) > _BEYOND).mean())


def _turns(skeleton: Skeleton, frames: Floats, row: int) -> Floats:
    """Read the quaternions (f, 4) of a ball or free joint."""
    start = int(skeleton.q_start[row]) + (3 if skeleton.kinds[row] == Kind.FREE else 0)
    return frames[:, start : start + 4]
