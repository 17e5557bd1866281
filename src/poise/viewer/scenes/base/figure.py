"""The bundled character for scenes, its arms down."""

from __future__ import annotations

import dataclasses
import math
from functools import cache

from poise.io import samples
from poise.io.registry import load
from poise.model.pose import Pose
from poise.model.rig import Rig

HIPS = "Hips"
_ARMS = math.radians(70.0)  # [rad] of the arms down from the T pose


@cache
def figure() -> Rig:
    """Load the bundled character with free hips, arms down, without clips. The free joint lets the whole body move."""
    rig = load(samples.path("humanoid.glb"))
    skeleton = rig.skeleton.with_free_root(HIPS)
    pose = Pose(skeleton, skeleton.rest_q).replace({"LeftArm": _about_z(-_ARMS), "RightArm": _about_z(_ARMS)})
    return dataclasses.replace(rig, skeleton=skeleton, pose=pose, clips=())


def lowered(pose: Pose, depth: float) -> Pose:
    """Return the pose with lower hips [m]."""
    x, y, z, *turn = pose.q[pose.skeleton.q_slice(HIPS)].tolist()
    return pose.replace({HIPS: [x, y - depth, z, *turn]})


def _about_z(angle: float) -> list[float]:
    return [math.cos(angle / 2), 0.0, 0.0, math.sin(angle / 2)]
