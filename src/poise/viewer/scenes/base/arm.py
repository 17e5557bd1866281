"""Rigs of the demo scenes: the ball arm and the character."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from poise.maths.rotations import about
from poise.model.limits import Range
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.skeleton import Kind, Skeleton
from poise.viewer.document.chains import chain_of
from poise.viewer.document.document import Choice, Document, Mode, document_of

_JOINTS = (  # name, offset from the parent [m]; axis, range and start [degrees] of the hinge
    ("base", (0.0, 0.16, 0.0), (0, 1, 0), 180.0, 0.0),
    ("shoulder", (0.0, 0.14, 0.0), (1, 0, 0), 90.0, 10.0),
    ("elbow", (0.0, 0.42, 0.0), (1, 0, 0), 150.0, 35.0),
    ("forearm", (0.0, 0.36, 0.0), (1, 0, 0), 130.0, 35.0),
    ("wrist", (0.0, 0.26, 0.0), (0, 0, 1), 100.0, 0.0),
)
_TIP = (0.0, 0.2, 0.0)
_CUBE = (0.65, 0.5, 0.25)


@cache
def arm() -> Rig:
    """Build a bent arm of five limited ball joints. It stands on a fixed stand; the limits are hinges with a range."""
    names = ["stand", *(name for name, *_ in _JOINTS), "tip"]
    kinds = [Kind.FIXED, *(Kind.BALL for _ in _JOINTS), Kind.FIXED]
    offsets = [(0.0, 0.0, 0.0), *(offset for _, offset, *_ in _JOINTS), _TIP]
    limits = [None, *(Range.degrees(-most, most, axis=axis) for _, _, axis, most, _ in _JOINTS), None]
    skeleton = Skeleton.build(
        names, range(-1, len(names) - 1), kinds, offsets=offsets, limits=limits, up="y", metres_per_unit=1.0
    )
    bent = {name: about(np.array(axis, dtype=np.float64), math.radians(angle)) for name, _, axis, _, angle in _JOINTS}
    return Rig(skeleton, Pose(skeleton, skeleton.rest_q).replace(bent))


def reaching(mode: Mode) -> Document:
    """Build a scene of the arm reaching a cube with CCD. `mode` says how its limits count."""
    rig = arm()
    chain = chain_of(rig.pose, "arm", "base", "tip").but(position=_CUBE)
    return document_of(rig, chains=(chain,), solvers=(Choice("ccd"), Choice("fabrik")), mode=mode)
