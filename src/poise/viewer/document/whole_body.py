"""Chains of a whole body: pinned feet, a gaze, and the floor."""

from __future__ import annotations

from poise.errors import InputError, UnsupportedError
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.rig_roles import find_roles
from poise.model.skeleton import Skeleton, find_free_root
from poise.problem.goals import Pin
from poise.solvers.natural.floor import make_floor
from poise.viewer.body_parts import FOOT_ROLES
from poise.viewer.document.chains import TargetedChain, build_chain

LOOK_NAME = "gaze"
LOOK_WEIGHT = 0.1  # a gaze gives way to what is pulled
PIN_WEIGHT = 30.0  # a pull beyond reach by half a leg then moves a pinned foot by less than 1 mm


def build_whole_body_chains(rig: Rig, pose: Pose) -> tuple[TargetedChain, ...]:
    """Build a pin for each foot, and a gaze of the head.

    The gaze waits for a part that is pulled.
    """
    joints = find_roles(rig).joints
    pins = tuple(build_pin(pose, joints[foot]) for foot in FOOT_ROLES)
    if "head" not in joints:
        return pins
    return (*pins, build_chain(pose, LOOK_NAME, None, joints["head"], "look", weight=LOOK_WEIGHT, enabled=False))


def build_pin(pose: Pose, joint: str) -> TargetedChain:
    """Build a pin of a joint at its place in a pose.

    The root is free.
    """
    return build_chain(pose, f"pin {joint}", find_root(pose.skeleton, joint), joint, "pin", weight=PIN_WEIGHT)


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
