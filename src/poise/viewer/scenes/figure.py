"""A standing figure; any part can be pulled."""

from __future__ import annotations

import math

import numpy as np

from poise.maths.rotations import about, multiply
from poise.model.pose import Pose
from poise.problem.goals import Place
from poise.solving.solve import solve
from poise.viewer.document.document import Document, build_document
from poise.viewer.scene_rigs import load_character, lower_hips

TITLE = "Figure"
TEXT = "A whole body: pull any part by its skin, click a hand or foot to pin it, Shift + drag turns a part."
HINT = "Pull a hand"
ORDER = 0

_HIP_DROP_M = 0.02  # [m] so that knees are a little bent
_FEET_TURN_RAD, _FEET_APART_M = math.radians(9.0), 0.03  # toes outwards; of each foot, to the side
_ARM_RAD, _ELBOW_RAD = math.radians(6.0), math.radians(16.0)  # more than in the other scenes

_UP, _AHEAD = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])


def make() -> Document:
    """Build the figure at ease."""
    rig = load_character()
    return build_document(rig, pose=_stand_at_ease(rig.pose), idles=True)


def _stand_at_ease(pose: Pose) -> Pose:
    """Bend knees and elbows a little, feet apart."""
    goals: list[Place] = []
    turns = {}
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        foot = pose.world[f"{side}Foot"]
        x, y, z = foot.positions
        turn = about(_UP, sign * _FEET_TURN_RAD)
        goals.append(
            Place(f"{side}Foot", (x + sign * _FEET_APART_M, y, z), multiply(turn, foot.rotations), root=f"{side}UpLeg")
        )
        arm = pose.local_rotations[pose.skeleton.index(f"{side}Arm")]
        turns[f"{side}Arm"] = multiply(about(_AHEAD, -sign * _ARM_RAD), arm)
        turns[f"{side}ForeArm"] = about(_UP, -sign * _ELBOW_RAD)
    return solve(lower_hips(pose.replace(turns), _HIP_DROP_M), goals, solver="levenberg_marquardt").pose
