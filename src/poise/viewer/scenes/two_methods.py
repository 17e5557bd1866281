"""One rope, one target, two methods side by side."""

from __future__ import annotations

import math
from functools import cache

from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.skeleton import Kind, Skeleton
from poise.viewer.document.chains import build_chain
from poise.viewer.document.document import Document, SolverChoice, build_document

TITLE = "Two methods"
TEXT = "The same rope twice, CCD on the left and FABRIK on the right, for one target: drag it and compare the curves."
ORDER = 80

_BONE_COUNT, _BONE_LENGTH_M, _HOOK_HEIGHT_M = 12, 0.1, 1.5  # number of bones, their length [m], height of the hook [m]
_START_ANGLE_RAD = math.radians(6.0)  # [rad] of each joint at the start, which makes the rope hang in a curve
_TARGET_POSITION_M = (0.7, 1.1, 0.15)


@cache
def build_rope() -> Rig:
    """Build a hanging rope of ball joints."""
    names = ["hook", *(f"link_{i + 1}" for i in range(_BONE_COUNT - 1)), "tip"]
    kinds = [*(Kind.BALL for _ in range(_BONE_COUNT)), Kind.FIXED]
    offsets = [(0.0, _HOOK_HEIGHT_M, 0.0), *((0.0, -_BONE_LENGTH_M, 0.0) for _ in range(_BONE_COUNT))]
    skeleton = Skeleton.build(names, range(-1, _BONE_COUNT), kinds, offsets=offsets, up="y", metres_per_unit=1.0)
    rotation = [math.cos(_START_ANGLE_RAD / 2), math.sin(_START_ANGLE_RAD / 2), 0.0, 0.0]
    return Rig(skeleton, Pose(skeleton, skeleton.rest_q).replace(dict.fromkeys(names[1:-1], rotation)))


def make() -> Document:
    """Build two views of the rope."""
    rig = build_rope()
    chain = build_chain(rig.pose, "rope", "hook", "tip").replace(position=_TARGET_POSITION_M)
    methods = (SolverChoice("ccd"), SolverChoice("fabrik"))
    return build_document(rig, chains=(chain,), solvers=methods, view_count=2, limit_mode="plain")
