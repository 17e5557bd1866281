"""Roll of joints with one child. Their rest pose does not show it; the mean over a clip does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.clip import Clip

# [rad] a head that is turned by more on average was not at zero at rest
_MAX_MEAN_HEAD_TURN_RAD = float(np.radians(45.0))
# frames without which a clip shows no mean
_MIN_FRAMES = 5
# frames of all clips that are measured
_MAX_MEASURED_FRAMES = 1000


class RolledJoint(NamedTuple):
    """A joint with one child, and the joints around it.

    row, frame     the joint, and its axes ahead, left, up (4,) in it
    ends           row and frame of both ends of the trunk or neck; of a collar bone twice the joint that carries it
    fraction       where the joint is between them, 0 to 1
    bone           (3,) direction of its bone in axes ahead, left, up
    is_head        whether it is the head: it may look aside for a while
    """

    row: int
    frame: Floats
    ends: tuple[tuple[int, Floats], tuple[int, Floats]]
    fraction: float
    bone: Floats
    is_head: bool = False


def correct_rolls(joints: Mapping[str, RolledJoint], clips: Sequence[Clip]) -> dict[str, Floats]:
    """Remove the mean roll of joints from their axes.

    The axes (4,) returned do not roll from the neighbours, on average over the clips.
    """
    total = sum(len(clip) for clip in clips)
    if total < _MIN_FRAMES:
        return {name: joint.frame for name, joint in joints.items()}
    stride = max(1, -(-total // _MAX_MEASURED_FRAMES))
    turns = np.concatenate([clip.poses[::stride].world.rotations for clip in clips if len(clip)])
    return {name: _correct_roll(joint, turns) for name, joint in joints.items()}


def _correct_roll(joint: RolledJoint, turns: Floats) -> Floats:
    """Correct the axes (4,) of one joint. `turns` (F, n, 4) are world rotations."""
    lower, upper = (rotations.multiply(turns[:, row], frame) for row, frame in joint.ends)
    base = rotations.slerp(lower, upper, np.full(len(turns), joint.fraction))
    between = rotations.multiply(rotations.inverse(base), rotations.multiply(turns[:, joint.row], joint.frame))
    angles = rotations.twist_angle(between, joint.bone)
    mean = float(np.arctan2(np.sin(angles).mean(), np.cos(angles).mean()))
    if joint.is_head and abs(mean) <= _MAX_MEAN_HEAD_TURN_RAD:
        return joint.frame
    return rotations.multiply(joint.frame, rotations.about(joint.bone, -mean))
