"""Counter-lean: trunks lean against raised legs.

A straight leg swings about its hip as far as legs of people do, and the pelvis takes what is beyond: it tilts back for
a kick to the front and to the side for one to the side, so that the trunk goes against the leg. The pelvis begins long
before the end, as in people whose straight leg is raised (Bohannon, Gajdosik and LeVeau, 1985): at a half of the range,
and it takes all from one and a half of it on. A folded leg tilts nothing, because hips go further over bent knees.

What a leg is raised by in the start is taken off: a frame of a clip has its own lean, and a leg that comes back brings
the trunk back. So is what both feet are moved by together, because the hips go with them. Figures that lie do not lean:
the lean fades out as the pelvis of the start is tilted from 45 to 75 degrees, where front and back lose their meaning.
It is continuous in starts and targets, but for a leg that points straight up.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poise.kernels.layout import NATURAL_BEND_LENGTH
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.smoothing import smoothstep
from poise.maths.vectors import cross, dot_rows
from poise.model.anatomy.standing_pose import compute_standing_rotations
from poise.model.pose import Pose
from poise.solvers.natural.body_maps import find_points, find_turns
from poise.solvers.natural.limbs import Bends, find_first_joints, find_up

# Ranges of a hip with a straight knee [rad]: ahead 90 degrees (Kapandji, volume 2), back 30, outward 45, inward 30
# (AAOS).
_AHEAD_RAD, _BACK_RAD, _OUTWARD_RAD, _INWARD_RAD = np.radians([90.0, 30.0, 45.0, 30.0])
_ONSET_SHARE, _FULL_SHARE = 0.5, 1.5  # of the range: the pelvis begins, and takes all
# Approached smoothly: 30 degrees of the standing hip back (AAOS) and 10 of the loins, 20 aside (Kapandji, volume 2).
_MAX_BACK_LEAN_RAD, _MAX_SIDE_LEAN_RAD = np.radians([40.0, 20.0])
_FOLDED_SHARE, _STRAIGHT_SHARE = 0.6, 0.9  # of its length: a leg that tilts nothing, and one that tilts fully
_LYING_COS, _UPRIGHT_COS = np.cos(np.radians([75.0, 45.0]))  # tilt of a pelvis that leans no more, and fully


def find_counter_leans(
    bends: Sequence[Bends], pinned: Sequence[bool], pose: Pose, targets: Floats, ahead: Floats
) -> Floats | None:
    """Find rotations (k, 4) of pelves against raised legs.

    None where all legs hang, now as in the start.

    pinned   which limbs are legs that stay where they are
    targets  (k, l, 3) of hands and feet
    ahead    (k, 3) level front of the pelvis
    """
    legs = [j for j, one in enumerate(bends) if one.limb.kind == "leg" and not pinned[j]]
    if not legs:
        return None
    up, tilt = find_up(pose.skeleton), np.zeros((len(targets), 3))
    left = cross(up, ahead)
    if len(legs) > 1:
        moves = [targets[:, j] - find_points(pose, bends[j].limb.tip) for j in legs]
        targets = targets - _find_shared_move(*moves)[:, None]
    firsts = find_first_joints([bends[j].limb for j in legs], pose, len(targets))
    for i, j in enumerate(legs):
        limb, first = bends[j].limb, firsts[:, i]
        length = float(limb.numbers[NATURAL_BEND_LENGTH])
        outward = np.copysign(1.0, dot_rows(first - find_points(pose, limb.carrier), left))[:, None] * left
        tilt = tilt + _find_tilts(targets[:, j] - first, length, ahead, outward, up)
        tilt = tilt - _find_tilts(find_points(pose, limb.tip) - first, length, ahead, outward, up)
    tilt = tilt * _find_uprightness(bends[legs[0]].limb.carrier, pose, up)[:, None]
    return rotations.from_vector(tilt) if tilt.any() else None


def _find_shared_move(first: Floats, second: Floats) -> Floats:
    """Find what two moves (k, 3) share: the shortest between both."""
    way = second - first
    length = dot_rows(way, way)
    share = np.clip(-dot_rows(first, way) / np.where(length > 0.0, length, 1.0), 0.0, 1.0)
    return first + share[:, None] * way


def _find_uprightness(pelvis: int, pose: Pose, up: Floats) -> Floats:
    """Find how upright a pelvis is (1|k,): 1 is upright, 0 lying."""
    at_rest = rotations.from_matrix(compute_standing_rotations(pose.skeleton)[pelvis])
    turns = find_turns(pose, pelvis)
    own_up = rotations.rotate(rotations.multiply(turns, rotations.inverse(at_rest)), up)
    return smoothstep((dot_rows(own_up, up) - _LYING_COS) / (_UPRIGHT_COS - _LYING_COS))


def _find_tilts(ways: Floats, length: float, ahead: Floats, outward: Floats, up: Floats) -> Floats:
    """Find rotation vectors (k, 3) of pelves for legs along ways."""
    ahead_part, outward_part, down_part = dot_rows(ways, ahead), dot_rows(ways, outward), -dot_rows(ways, up)
    level = np.sqrt(ahead_part * ahead_part + outward_part * outward_part)
    size = np.where(level > 0.0, level, 1.0)
    ahead_part, outward_part = ahead_part / size, outward_part / size
    swing, share = np.arctan2(level, down_part), np.sqrt(level * level + down_part * down_part) / length
    ahead_use = ahead_part / np.where(ahead_part > 0.0, _AHEAD_RAD, _BACK_RAD)
    outward_use = outward_part / np.where(outward_part > 0.0, _OUTWARD_RAD, _INWARD_RAD)
    use = np.sqrt(ahead_use * ahead_use + outward_use * outward_use)
    use = np.where(use > 0.0, use, 1.0)
    beyond = np.clip(swing * use - _ONSET_SHARE, 0.0, None)
    way = _FULL_SHARE - _ONSET_SHARE
    lean = np.where(beyond < way, beyond * beyond / (2.0 * way), beyond - 0.5 * way) / use
    back, aside = ahead_part / _MAX_BACK_LEAN_RAD, outward_part / _MAX_SIDE_LEAN_RAD
    largest = np.sqrt(back * back + aside * aside)
    lean, largest = lean * largest, np.where(largest > 0.0, largest, 1.0)
    lean = lean / largest / np.sqrt(np.sqrt(1.0 + lean * lean * lean * lean))
    straight = np.clip((share - _FOLDED_SHARE) / (_STRAIGHT_SHARE - _FOLDED_SHARE), 0.0, 1.0)
    lean = lean * straight * straight * (3.0 - 2.0 * straight)
    side = ahead_part[:, None] * ahead + outward_part[:, None] * outward
    return lean[:, None] * cross(side, up)
