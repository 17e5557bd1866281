"""The bundled humanoid for scenes: its hips free to move, its arms down."""

from __future__ import annotations

import dataclasses
import math
from functools import cache

import numpy as np

from poise.io import samples
from poise.io.registry import load
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.skeleton import Kind

HIPS = "Hips"
_ARMS = math.radians(70.0)  # down from the T pose


@cache
def figure() -> Rig:
    """The bundled humanoid with a free joint for hips, arms down, without clips.

    A free joint has its place in q, so that whole bodies can move. What the file held knows the same joint, so that
    saving still edits the file.
    """
    rig = load(samples.path("humanoid.glb"))
    fixed = rig.skeleton
    row = fixed.index(HIPS)
    kinds, base = fixed.kinds.copy(), fixed.A.copy()
    kinds[row], base[row, :3] = Kind.FREE, 0.0
    before = int(fixed.q_start[row])
    rest = np.insert(fixed.rest_q, [before] * 3, fixed.A[row, :3])
    skeleton = dataclasses.replace(fixed, kinds=kinds, A=base, rest_q=rest)
    source = dataclasses.replace(fixed.source, pose=Pose(skeleton, rest), rest_q=rest, clips=())
    skeleton = dataclasses.replace(skeleton, source=source)
    pose = Pose(skeleton, rest).replace({"LeftArm": _about_z(-_ARMS), "RightArm": _about_z(_ARMS)})
    return dataclasses.replace(rig, skeleton=skeleton, pose=pose, clips=())


def lowered(pose: Pose, depth: float) -> Pose:
    """The pose with its hips lower [m]."""
    x, y, z, *turn = pose.q[pose.skeleton.q_slice(HIPS)].tolist()
    return pose.replace({HIPS: [x, y - depth, z, *turn]})


def _about_z(angle: float) -> list[float]:
    return [math.cos(angle / 2), 0.0, 0.0, math.sin(angle / 2)]
