"""Chains of a whole body: pinned feet, a gaze, and the floor."""

from __future__ import annotations

import math

import numpy as np

from poise.errors import InputError, UnsupportedError
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.anatomy.rest_geometry import find_body_frame
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.roles.role_search import find_joint_roles
from poise.model.skeleton import Skeleton, find_free_root
from poise.problem.goals import Pin
from poise.runtime.result_cache import get_or_compute
from poise.solvers.natural.floor import make_floor
from poise.viewer.body_parts import FOOT_ROLES
from poise.viewer.document.chains import TargetedChain, Vector, build_chain, to_vector

LOOK_NAME = "gaze"
LOOK_WEIGHT = 0.1  # a gaze gives way to what is pulled
MAX_YAW_RAD, PITCH_RANGE_RAD = math.radians(70.0), (math.radians(-60.0), math.radians(50.0))
_MIN_LEVEL = 0.1  # of the axis to the left: a figure on its side faces where it did at rest
PIN_WEIGHT = 30.0  # a pull beyond reach by half a leg then moves a pinned foot by less than 1 mm


def build_whole_body_chains(rig: Rig, pose: Pose) -> tuple[TargetedChain, ...]:
    """Build a pin for each foot, and a gaze of the head.

    The gaze waits for a part that is pulled.
    """
    joints = rig.roles.joints
    pins = tuple(build_pin(pose, joints[foot]) for foot in FOOT_ROLES)
    if "head" not in joints:
        return pins
    return (*pins, build_chain(pose, LOOK_NAME, None, joints["head"], "look", weight=LOOK_WEIGHT, enabled=False))


def build_pin(pose: Pose, joint: str) -> TargetedChain:
    """Build a pin of a joint at its place in a pose.

    The root is free.
    """
    return build_chain(pose, f"pin {joint}", find_root(pose.skeleton, joint), joint, "pin", weight=PIN_WEIGHT)


def clamp_gaze(start: Pose, eye: Floats, point: Vector) -> Vector:
    """Move a point to where a standing figure can look.

    Parameters
    ----------
    start
        Pose of the figure. It faces where its hips do.
    eye
        (3,) position of the head.
    point
        (3,) what is to be looked at. Its distance is kept.
    """
    axes = find_gaze_axes(start)
    direction = np.array(point) - eye
    ahead, aside, above = (float(direction @ axis) for axis in axes)
    distance = math.hypot(ahead, aside, above)
    yaw = min(max(math.atan2(aside, ahead), -MAX_YAW_RAD), MAX_YAW_RAD)
    pitch = min(max(math.atan2(above, math.hypot(ahead, aside)), PITCH_RANGE_RAD[0]), PITCH_RANGE_RAD[1])
    level = math.cos(pitch)
    shares = np.array([level * math.cos(yaw), level * math.sin(yaw), math.sin(pitch)])
    return to_vector(eye + distance * (shares @ axes))


def find_gaze_axes(start: Pose) -> Floats:
    """Find the axes (3, 3) of a pose: ahead, left, up."""
    return get_or_compute(start, "axes of gaze", None, lambda: _compute_gaze_axes(start))


def _compute_gaze_axes(start: Pose) -> Floats:
    skeleton = start.skeleton
    frame = find_body_frame(skeleton)
    hips = find_joint_roles(skeleton).joints["hips"]
    rest = Pose(skeleton, skeleton.rest_q)
    turn = rotations.multiply(start.world[hips].rotations, rotations.inverse(rest.world[hips].rotations))
    left = rotations.rotate(turn, frame.left)
    left = left - (left @ frame.up) * frame.up
    length = float(np.linalg.norm(left))
    left = left / length if length > _MIN_LEVEL else frame.left
    return np.array([np.cross(left, frame.up), left, frame.up])


def find_root(skeleton: Skeleton, joint: str) -> str | None:
    """Find the free root above a joint. None for the root itself and for joints beside it."""
    free_skeleton = skeleton.with_free_root()
    root = find_free_root(free_skeleton)
    above = free_skeleton.list_path(free_skeleton.index(joint))[:-1]
    return free_skeleton.names[root] if root is not None and root in above else None


def find_floor_height(pose: Pose, feet: tuple[str, ...]) -> float | None:
    """Find the height of the lowest joint of feet.

    None without a figure.
    """
    try:
        floor = make_floor("auto", pose, [Pin(foot) for foot in feet])
    except (InputError, UnsupportedError):
        return None
    return None if floor is None else floor.height
