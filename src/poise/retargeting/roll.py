"""Roll of joints with one child. Their rest pose does not show it; the mean over a clip does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.retargeting.bend_axes import SampledWorld

# [rad] a joint that is rolled by more on average was not at zero at rest
_MAX_MEAN_ROLL_RAD = float(np.radians(45.0))
# frames without which a clip shows no mean
_MIN_FRAMES = 5


class RolledJoint(NamedTuple):
    """A joint with one child, and the joints around it.

    row, frame     the joint, and its axes ahead, left, up (4,) in it
    ends           row and frame of both ends of the trunk or neck; of a collar bone twice the joint that carries it
    fraction       where the joint is between them, 0 to 1
    bone           (3,) direction of its bone in axes ahead, left, up
    """

    row: int
    frame: Floats
    ends: tuple[tuple[int, Floats], tuple[int, Floats]]
    fraction: float
    bone: Floats


def correct_rolls(joints: Mapping[str, RolledJoint], poses: Sequence[SampledWorld]) -> dict[str, Floats]:
    """Remove the mean roll of joints from their axes (4,).

    They stay as at rest unless one of them is rolled far from its neighbours on average over poses of clips: a rest
    pose whose bones are rolled shows none of them, and neither does the head look where the body does. The last joint,
    such as the head, is corrected first, as those below it go by its axes.
    """
    frames = {name: joint.frame for name, joint in joints.items()}
    if sum(len(world.positions) for world in poses) < _MIN_FRAMES:
        return frames
    rows = {row for joint in joints.values() for row in (joint.row, *(end for end, _ in joint.ends))}
    turns = {row: np.concatenate([world.rotations[row] for world in poses]) for row in rows}
    rolls = _measure_rolls(list(joints.values()), turns, {})
    if not any(abs(roll) > _MAX_MEAN_ROLL_RAD for roll in rolls):
        return frames
    corrected: dict[int, Floats] = {}
    for name, joint in reversed(list(joints.items())):
        roll = _measure_rolls([joint], turns, corrected)[0]
        frames[name] = rotations.multiply(joint.frame, rotations.about(joint.bone, -roll))
        corrected[joint.row] = frames[name]
    return frames


def _measure_rolls(
    joints: Sequence[RolledJoint], turns: Mapping[int, Floats], corrected: Mapping[int, Floats]
) -> list[float]:
    """Measure the mean rolls of joints from their neighbours [rad].

    turns      (F, 4) world rotations by row
    corrected  axes (4,) of joints that count in place of those at rest
    """
    if not joints:
        return []
    lower, upper = (
        rotations.multiply(
            np.stack([turns[row] for row, _ in ends]), np.array([corrected.get(*end) for end in ends])[:, None]
        )
        for ends in zip(*(joint.ends for joint in joints), strict=True)
    )
    fractions = np.array([joint.fraction for joint in joints])
    base = rotations.slerp(lower, upper, np.broadcast_to(fractions[:, None], lower.shape[:2]))
    own = rotations.multiply(
        np.stack([turns[joint.row] for joint in joints]), np.array([joint.frame for joint in joints])[:, None]
    )
    between = rotations.multiply(rotations.inverse(base), own)
    angles = rotations.twist_angle(between, np.array([joint.bone for joint in joints])[:, None])
    return [float(np.arctan2(np.sin(each).mean(), np.cos(each).mean())) for each in angles]
