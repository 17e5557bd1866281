"""Correct ankles of bones with uneven or animated scale.

A bone that turns under an uneven scale changes its length: the leg that was worked out with the animated lengths ends
some millimetres off. What it is off, by forward kinematics of the poses that are written, is added to where the ankle
is sent, and the legs are bent anew, until nothing is left.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from poise.ground.contact.soles import Soles
from poise.ground.figure.motion import ANKLE, Motion, motion_of
from poise.ground.legs.feet import Feet
from poise.ground.legs.legs import Turned, rebend_legs
from poise.maths.arrays import Floats
from poise.model.clip import Clip
from poise.model.pose import Pose

_TIMES = 4
_SAME = 1e-4  # [m]


def written_exactly(
    body: Motion, soles: Soles, feet: Feet, turned: Turned, write: Callable[[Turned], Pose], still: Floats
) -> Pose:
    """Return poses with the ankles of `turned`. `write` makes the poses of legs.

    still  (F, 3) [m] by which the written figure is not carried over the ground as `body` is
    """
    poses = write(turned)
    if poses.scales is None or (turned.lengths != 1.0).any():
        return poses
    wanted, sent = turned.ankles, turned.ankles
    for _ in range(_TIMES):
        off = wanted - still[:, None] - _ankles(body, poses)
        if np.abs(off).max(initial=0.0) <= _SAME:
            break
        sent = sent + off
        poses = write(rebend_legs(body, soles, feet, turned, sent, turned.up))
    return poses


def _ankles(body: Motion, poses: Pose) -> Floats:
    return motion_of(Clip(body.times, poses), body.figure).places[:, :, ANKLE]
