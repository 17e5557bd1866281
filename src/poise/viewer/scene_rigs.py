"""Rigs of the demo scenes: ball arm, character and rope."""

from __future__ import annotations

import dataclasses
import math
from functools import cache
from pathlib import Path

import numpy as np

from poise.io.registry import load
from poise.maths.rotations import about
from poise.model.limits import Range
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.skeleton import Kind, Skeleton
from poise.viewer.document.chains import build_chain
from poise.viewer.document.document import Document, LimitMode, SolverChoice, build_document

_JOINTS = (  # name, offset from the parent [m]; axis, range and start [degrees] of the hinge
    ("base", (0.0, 0.16, 0.0), (0, 1, 0), 180.0, 0.0),
    ("shoulder", (0.0, 0.14, 0.0), (1, 0, 0), 90.0, 10.0),
    ("elbow", (0.0, 0.42, 0.0), (1, 0, 0), 150.0, 35.0),
    ("forearm", (0.0, 0.36, 0.0), (1, 0, 0), 130.0, 35.0),
    ("wrist", (0.0, 0.26, 0.0), (0, 0, 1), 100.0, 0.0),
)
_TIP_OFFSET_M = (0.0, 0.2, 0.0)
_TARGET_POSITION_M = (0.65, 0.5, 0.25)


@cache
def build_ball_arm() -> Rig:
    """Build a bent arm of five limited ball joints. It stands on a fixed stand; the limits are hinges with a range."""
    names = ["stand", *(name for name, *_ in _JOINTS), "tip"]
    kinds = [Kind.FIXED, *(Kind.BALL for _ in _JOINTS), Kind.FIXED]
    offsets = [(0.0, 0.0, 0.0), *(offset for _, offset, *_ in _JOINTS), _TIP_OFFSET_M]
    limits = [None, *(Range.degrees(-max_angle, max_angle, axis=axis) for _, _, axis, max_angle, _ in _JOINTS), None]
    skeleton = Skeleton.build(
        names, range(-1, len(names) - 1), kinds, offsets=offsets, limits=limits, up="y", metres_per_unit=1.0
    )
    bent_rotations = {
        name: about(np.array(axis, dtype=np.float64), math.radians(angle)) for name, _, axis, _, angle in _JOINTS
    }
    return Rig(skeleton, Pose(skeleton, skeleton.rest_q).replace(bent_rotations))


def build_arm_scene(limit_mode: LimitMode) -> Document:
    """Build a scene of the arm reaching a cube with CCD. `limit_mode` says how its limits count."""
    rig = build_ball_arm()
    chain = build_chain(rig.pose, "arm", "base", "tip").replace(position=_TARGET_POSITION_M)
    return build_document(
        rig, chains=(chain,), solvers=(SolverChoice("ccd"), SolverChoice("fabrik")), limit_mode=limit_mode
    )


# --- The bundled character for scenes, its arms down -----------------------------------------------------------------


HIPS = "Hips"
_ARM_ANGLE_RAD = math.radians(70.0)  # [rad] of the arms down from the T pose


@cache
def load_character() -> Rig:
    """Load the bundled character with free hips, arms down, without clips. The free joint lets the whole body move."""
    rig = load(Path(__file__).parent / "scenes" / "figure.glb")
    skeleton = rig.skeleton.with_free_root(HIPS)
    pose = Pose(skeleton, skeleton.rest_q).replace(
        {"LeftArm": _build_z_rotation(-_ARM_ANGLE_RAD), "RightArm": _build_z_rotation(_ARM_ANGLE_RAD)}
    )
    return dataclasses.replace(rig, skeleton=skeleton, pose=pose, clips=())


def lower_hips(pose: Pose, drop_m: float) -> Pose:
    """Return the pose with lower hips [m]."""
    x, y, z, *rotation = pose.q[pose.skeleton.q_slice(HIPS)].tolist()
    return pose.replace({HIPS: [x, y - drop_m, z, *rotation]})


def _build_z_rotation(angle: float) -> list[float]:
    return [math.cos(angle / 2), 0.0, 0.0, math.sin(angle / 2)]


_BONE_COUNT, _BONE_LENGTH_M, _HOOK_HEIGHT_M = 12, 0.1, 1.5  # number of bones, their length [m], height of the hook [m]
_START_ANGLE_RAD = math.radians(6.0)  # [rad] of each joint at the start, which makes the rope hang in a curve


@cache
def build_rope() -> Rig:
    """Build a hanging rope of ball joints."""
    names = ["hook", *(f"link_{i + 1}" for i in range(_BONE_COUNT - 1)), "tip"]
    kinds = [*(Kind.BALL for _ in range(_BONE_COUNT)), Kind.FIXED]
    offsets = [(0.0, _HOOK_HEIGHT_M, 0.0), *((0.0, -_BONE_LENGTH_M, 0.0) for _ in range(_BONE_COUNT))]
    skeleton = Skeleton.build(names, range(-1, _BONE_COUNT), kinds, offsets=offsets, up="y", metres_per_unit=1.0)
    rotation = [math.cos(_START_ANGLE_RAD / 2), math.sin(_START_ANGLE_RAD / 2), 0.0, 0.0]
    return Rig(skeleton, Pose(skeleton, skeleton.rest_q).replace(dict.fromkeys(names[1:-1], rotation)))
