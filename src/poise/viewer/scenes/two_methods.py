"""One rope, one target, two methods side by side."""

from __future__ import annotations

import math
from functools import cache

from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.skeleton import Kind, Skeleton
from poise.viewer.document.chains import chain_of
from poise.viewer.document.document import Choice, Document, document_of

TITLE = "Two methods"
TEXT = "The same rope twice, CCD on the left and FABRIK on the right, for one target: drag it and compare the curves."
ORDER = 80

_BONES, _LENGTH, _HOOK = 12, 0.1, 1.5  # number of bones, their length [m], height of the hook [m]
_BEND = math.radians(6.0)  # [rad] of each joint at the start, which makes the rope hang in a curve
_TARGET = (0.7, 1.1, 0.15)


@cache
def rope() -> Rig:
    """Build a hanging rope of ball joints."""
    names = ["hook", *(f"link_{i + 1}" for i in range(_BONES - 1)), "tip"]
    kinds = [*(Kind.BALL for _ in range(_BONES)), Kind.FIXED]
    offsets = [(0.0, _HOOK, 0.0), *((0.0, -_LENGTH, 0.0) for _ in range(_BONES))]
    skeleton = Skeleton.build(names, range(-1, _BONES), kinds, offsets=offsets, up="y", metres_per_unit=1.0)
    turn = [math.cos(_BEND / 2), math.sin(_BEND / 2), 0.0, 0.0]
    return Rig(skeleton, Pose(skeleton, skeleton.rest_q).replace(dict.fromkeys(names[1:-1], turn)))


def make() -> Document:
    """Build two views of the rope."""
    rig = rope()
    chain = chain_of(rig.pose, "rope", "hook", "tip").but(position=_TARGET)
    methods = (Choice("ccd"), Choice("fabrik"))
    return document_of(rig, chains=(chain,), solvers=methods, views=2, mode="plain")
