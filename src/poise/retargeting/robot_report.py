"""Measures of a robot's clip: feet, limits, speeds, clearance.

All are by forward kinematics.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from poise.ground.robot.sole_notes import find_overhangs, measure_lowest, measure_slides
from poise.ground.robot.tree import RobotTree, Unknown, mark_limits, read_configurations
from poise.model.clip import Clip
from poise.retargeting.robot import RobotMotion
from poise.retargeting.robot_clearance import MARGIN, measure_clearance
from poise.retargeting.robot_soles import track_sole

# Bounds of `ok` for robots. Their hips are wide, their joints limited: limbs follow as far as they can.
MAX_ROBOT_ERROR_DEG = 20.0
MAX_ROBOT_SKATE_CM_S, MAX_ROBOT_DEPTH_MM, MAX_ROBOT_FLOATING_MM = 0.5, 5.0, 3.0
# speeds are kept up to rounding
_MAX_SPEED_SHARE = 1.001
# overlap of parts that counts [mm], and the share of frames that may have one
_MAX_OVERLAP_MM, _MAX_OVERLAP_SHARE = 2.0, 0.05
_MM, _CM = 1000.0, 100.0


class JointUse(NamedTuple):
    """How far a joint of a robot is used.

    joint     its name
    speed     the largest speed [rad/s, file units/s]
    most      the largest one that is kept; None where there is none
    at_limit  share of frames at an end of its range; 0 of a joint that is locked, or as at rest throughout
    """

    joint: str
    speed: float
    most: float | None
    at_limit: float


class RobotMeasures(NamedTuple):
    """Measures of a robot's clip.

    feet    the largest speed of what stands [cm/s], depth of soles in the ground and floating of what stands [mm];
            None where feet are not held
    joints  how far each joint is used
    nearest parts that come nearest to each other, their distance [mm] (negative: they are in each other), and the share
            of frames in which any are in each other by more than 2 mm; None where they are not kept apart
    rounds  how many rounds the solve took
    """

    feet: Mapping[str, float] | None
    joints: tuple[JointUse, ...]
    nearest: tuple[str, str, float, float] | None
    rounds: int

    @property
    def fastest(self) -> JointUse:
        """The joint nearest to its largest speed, else the fastest."""
        return max(self.joints, key=lambda use: (use.speed / use.most if use.most else 0.0, use.speed))

    def __str__(self) -> str:
        fastest = self.fastest
        most = "" if fastest.most is None else f" of {fastest.most:.1f}"
        lines = [f"fastest joint: {fastest.joint} {fastest.speed:.1f}{most} rad/s"]
        at_limit = [use for use in self.joints if use.at_limit > 0.0]
        if at_limit:
            uses = sorted(at_limit, key=lambda use: -use.at_limit)
            lines.append("at their limits: " + ", ".join(f"{use.joint} {100.0 * use.at_limit:.0f} %" for use in uses))
        if self.nearest is not None:
            first, second, distance, share = self.nearest
            often = f"in each other in {100.0 * share:.1f} % of frames"
            lines.append(f"nearest parts: {first} and {second}, {distance:.1f} mm; {often}")
        return "\n".join(lines)

    def as_object(self) -> dict[str, Any]:
        """Return every number as a JSON object."""
        return {
            "joints": [use._asdict() for use in self.joints],
            "nearest": None if self.nearest is None else list(self.nearest),
            "rounds": self.rounds,
        }

    def list_losses(self) -> list[str]:
        """List fast joints and overlapping parts, a sentence each."""
        losses: list[str] = []
        if self.nearest is not None and self.nearest[3] > _MAX_OVERLAP_SHARE:
            losses.append(
                f"parts are in each other in {100.0 * self.nearest[3]:.1f} % of frames: {self.nearest[0]} and "
                f"{self.nearest[1]} by {-self.nearest[2]:.0f} mm"
            )
        return losses + [
            f"{use.joint} turns by {use.speed:.1f} rad/s, more than {use.most:g}"
            for use in self.joints
            if use.most is not None and use.speed > _MAX_SPEED_SHARE * use.most
        ]


def measure_robot_clip(clip: Clip, motion: RobotMotion, *, is_in_place: bool) -> RobotMeasures:
    """Measure a robot's clip."""
    feet = None if motion.contacts is None or is_in_place else _measure_feet(clip, motion)
    return RobotMeasures(feet, _measure_joints(clip, motion), _measure_clearance(clip, motion), motion.rounds)


def _measure_clearance(clip: Clip, motion: RobotMotion) -> tuple[str, str, float, float] | None:
    """Measure the nearest parts, and how often parts overlap."""
    robot = motion.robot
    if not len(robot.parts):
        return None
    metres = robot.body.skeleton.metres_per_unit or 1.0
    apart = _MM * metres * measure_clearance(clip.poses, robot.tree, robot.pairs, MARGIN * robot.body.leg_length)
    nearest = int(apart.min(axis=0).argmin())
    share = float((apart.min(axis=1) < -_MAX_OVERLAP_MM).mean())
    return *robot.parts[nearest], float(apart[:, nearest].min()), share


def _measure_joints(clip: Clip, motion: RobotMotion) -> tuple[JointUse, ...]:
    tree = motion.robot.tree
    values = read_configurations(tree, clip.poses.q)[2]
    steps = np.diff(clip.times)
    speeds = (np.abs(np.diff(values, axis=0)) / steps[:, None]).max(axis=0) if len(steps) else np.zeros(values.shape[1])
    is_used = (values != read_configurations(tree, tree.skeleton.rest_q[None])[2]).any(axis=0)
    at_limit = mark_limits(tree, values).mean(axis=0) * is_used
    return tuple(
        JointUse(_name_unknown(tree, unknown), speed, most if np.isfinite(most) else None, share)
        for unknown, speed, most, share in zip(
            tree.unknowns, speeds.tolist(), motion.robot.speeds.tolist(), at_limit.tolist(), strict=True
        )
    )


def _name_unknown(tree: RobotTree, unknown: Unknown) -> str:
    """Name an unknown: its joint, and the axis of a ball."""
    axis = f" {unknown.order[unknown.place].lower()}" if unknown.order else ""
    return tree.skeleton.names[unknown.row] + axis


def _measure_feet(clip: Clip, motion: RobotMotion) -> dict[str, float]:
    """Measure the largest speed of what stands, depth and floating.

    The lower corner of each end counts. What reaches over an edge does not float.
    """
    worst = {"skate": 0.0, "depth": 0.0, "floating": 0.0}
    standing = motion.stand()
    for column in range(len(standing.contacts.legs)):
        track = track_sole(clip, standing, column)
        worst["depth"] = max(worst["depth"], -_MM * float(track.heights.min()))
        for end, stands in (("heel", track.heel), ("ball", track.ball)):
            heights = measure_lowest(track, end)[stands & ~find_overhangs(track, end)]
            worst["floating"] = max(worst["floating"], _MM * float(heights.max(initial=0.0)))
            worst["skate"] = max(worst["skate"], _CM * float(measure_slides(track, end).max(initial=0.0)))
    return worst
