"""Placed hips: trunks bow for hands, or for the weight.

Where hands ahead or behind are out of reach of an upright trunk, it bows about the hips by as little as will do, as in
crawling. The pelvis takes the bow as far as hips bend over their thighs, which keeps the back straight; the spine takes
the rest in equal shares, as in someone who sits on the floor and reaches for the toes. What is beside the figure is
left to the engine.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.smoothing import smoothstep
from poise.maths.vectors import cross, dot_rows
from poise.model.pose import Pose
from poise.runtime.result_cache import get_or_compute
from poise.solvers.natural.body_maps import find_points, find_turns, list_points
from poise.solvers.natural.limbs import (
    Bends,
    Carried,
    average_points,
    find_first_joints,
    find_reaches,
    find_up,
)
from poise.solvers.natural.weight import find_support_offsets, find_upper_mass

# Bend of hips with bent knees ahead and back, and of a spine ahead [rad] (AAOS; Kapandji, volume 3).
_HIPS_AHEAD_RAD, _HIPS_BACK_RAD, _SPINE_RAD = np.radians([120.0, 30.0, 105.0])
# Of the way of a shoulder to a hand's direction: the last 12 degrees are left, which arms reach that are asked for 95 %
# of their length, so that bows do not leap where a hand goes out of reach.
_LEFT_OVER_RAD = np.radians(12.0)
# From straight below the hips: nearer to that a bow fades, whose side would leap there. Crawlers have hands at 45.
_BELOW_RAD = np.radians(30.0)
# Largest bow for the weight [rad]. Ways to go, in parts of the farthest that a bow brings the weight: up to the first a
# figure stands by it, from the second on it sits. Between both a bow ends within 10 cm of the hips' way.
_MAX_WEIGHT_BOW_RAD, _STANDS_SHARE, _SITS_SHARE = np.radians(60.0), 1.0, 1.5
_LYING_COS, _UPRIGHT_COS = np.cos(np.radians([85.0, 60.0]))  # tilt of a trunk that bows no more, and fully


def bow_from_hips(
    bends: Sequence[Bends], pose: Pose, root: str, hips: int, spine: Sequence[int], targets: Floats, ahead: Floats
) -> Carried | None:
    """Bow trunks about placed hips towards hands. None where all are within reach.

    hips     their row
    targets  (k, l, 3) of hands and feet
    ahead    (k, 3) level front of the pelvis
    """
    centres, up = find_points(pose, hips), find_up(pose.skeleton)
    arms = [j for j, one in enumerate(bends) if one.limb.kind == "arm"]
    shoulders = average_points(find_first_joints([bends[j].limb for j in arms], pose, len(targets))) - centres
    hands, reach = average_points(targets[:, arms]) - centres, find_reaches(pose.skeleton, bends).all[arms].mean()
    bow = _find_bow(shoulders, hands, reach, ahead, up)
    return _bow(bends, pose, root, hips, spine, targets, ahead, bow) if bow.any() else None


def bow_over_feet(
    bends: Sequence[Bends],
    pinned: Sequence[bool],
    start: Pose,
    pose: Pose,
    root: str,
    hips: int,
    spine: Sequence[int],
    ahead: Floats,
) -> Carried | None:
    """Bow trunks about placed hips until pinned feet carry the weight. None where they do.

    A weight that no bow brings there is borne by something else: the figure sits, and stays upright.

    start  poses before the root moved
    pose   poses with legs that stand
    """
    limbs = [one.limb for one in bends]
    offsets = find_support_offsets(limbs, pinned, start, pose, None)
    if offsets is None:
        return None
    feet = list_points(pose, [limb.tip for limb in limbs])
    at_start = get_or_compute(
        start, "own offsets", (tuple(limb.tip for limb in limbs), tuple(pinned)),
        lambda: find_support_offsets(limbs, pinned, start, start, None),
    )  # fmt: skip
    missing = dot_rows(offsets, ahead)
    if at_start is not None:  # what the start has is wanted
        own = dot_rows(at_start, ahead)
        missing = np.maximum(missing - np.maximum(own, 0.0), 0.0) + np.minimum(missing - np.minimum(own, 0.0), 0.0)
    bow = _find_weight_bow(pose, hips, missing, ahead)
    return _bow(bends, pose, root, hips, spine, feet, ahead, bow) if bow.any() else None


def _find_weight_bow(pose: Pose, hips: int, missing: Floats, ahead: Floats) -> Floats:
    """Find bows (k,) to move mass centres ahead by distances (k,).

    All above the legs has its mass centre h above the hips and e ahead of them. A bow by a moves it by
    h sin a + e (cos a - 1), and the whole figure by its share of that. A trunk that lies or hangs does not bow.
    """
    centre, share = find_upper_mass(pose)
    offset = centre - find_points(pose, hips)
    above, along = dot_rows(offset, find_up(pose.skeleton)), dot_rows(offset, ahead)
    radius = np.sqrt(dot_rows(offset, offset))
    size = np.where(radius > 0.0, radius, 1.0)
    sine = (missing / share + along) / np.where(radius > 0.0, np.sqrt(above * above + along * along), 1.0)
    bow = np.arcsin(np.clip(sine, -1.0, 1.0)) - np.arctan2(along, above)
    bow = np.clip(bow, -_HIPS_BACK_RAD, _MAX_WEIGHT_BOW_RAD)
    stands = smoothstep((_SITS_SHARE - np.abs(sine)) / (_SITS_SHARE - _STANDS_SHARE))
    upright = smoothstep((above / size - _LYING_COS) / (_UPRIGHT_COS - _LYING_COS))
    return np.where(missing != 0.0, bow * stands * upright, 0.0)


def _bow(
    bends: Sequence[Bends],
    pose: Pose,
    root: str,
    hips: int,
    spine: Sequence[int],
    targets: Floats,
    ahead: Floats,
    bow: Floats,
) -> Carried:
    """Bow trunks by angles (k,).

    The pelvis bows as far as hips bend, the spine beyond.
    """
    centres = find_points(pose, hips)
    left = cross(find_up(pose.skeleton), ahead)
    pelvis = np.minimum(bow, _find_room(bends, pose, targets, ahead)) if spine else np.minimum(bow, _HIPS_AHEAD_RAD)
    turn, row = rotations.about(left, pelvis), pose.skeleton.index(root)
    place = np.empty((len(targets), 7))
    place[:, :3] = centres + rotations.rotate(turn, find_points(pose, row) - centres)
    place[:, 3:] = rotations.multiply(turn, find_turns(pose, row))
    return Carried(place, turn, np.minimum(bow - pelvis, _SPINE_RAD) / max(len(spine), 1), left)


def _find_bow(shoulders: Floats, hands: Floats, reach: float, ahead: Floats, up: Floats) -> Floats:
    """Find the smallest bows (k,) ahead to bring shoulders within reach.

    Shoulders and hands are from the hips. The more a hand is beside its shoulder, the less a bow is for it.
    """
    aside = dot_rows(hands - shoulders, cross(up, ahead))
    shoulder_ahead, shoulder_up = dot_rows(shoulders, ahead), dot_rows(shoulders, up)
    hand_ahead, hand_up = dot_rows(hands, ahead), dot_rows(hands, up)
    from_shoulder = np.arctan2(hand_ahead, hand_up) - np.arctan2(shoulder_ahead, shoulder_up)
    angle = np.arctan2(np.sin(from_shoulder), np.cos(from_shoulder))
    squares = shoulder_ahead**2 + shoulder_up**2 + hand_ahead**2 + hand_up**2
    product = 2.0 * np.sqrt((shoulder_ahead**2 + shoulder_up**2) * (hand_ahead**2 + hand_up**2))
    cosine = (squares - np.maximum(reach * reach - aside * aside, 0.0)) / np.where(product > 0.0, product, 1.0)
    left_over = np.maximum(np.arccos(np.clip(cosine, -1.0, 1.0)), _LEFT_OVER_RAD)
    needed = np.maximum(np.abs(angle) - left_over, 0.0)
    size = hand_ahead**2 + aside**2
    # Straight below, a hand is as much ahead as behind.
    share = hand_ahead**2 / np.where(size > 0.0, size, 1.0) * smoothstep((np.pi - np.abs(angle)) / _BELOW_RAD)
    return share * np.where(angle < 0.0, -np.minimum(needed, _HIPS_BACK_RAD), needed)


def _find_room(bends: Sequence[Bends], pose: Pose, targets: Floats, ahead: Floats) -> Floats:
    """Find how far pelves (k,) may bow over thighs."""
    legs, up = [j for j, one in enumerate(bends) if one.limb.kind == "leg"], find_up(pose.skeleton)
    firsts, used = find_first_joints([bends[j].limb for j in legs], pose, len(targets)), np.zeros(len(targets))
    for i, j in enumerate(legs):
        thigh, shin = bends[j].limb.lengths
        chord = targets[:, j] - firsts[:, i]
        length = np.clip(np.sqrt(dot_rows(chord, chord)), max(abs(thigh - shin), 1e-6 * thigh), thigh + shin)
        at_hip = np.arccos(np.clip((thigh**2 + length**2 - shin**2) / (2.0 * thigh * length), -1.0, 1.0))
        used = np.maximum(used, at_hip + np.arctan2(dot_rows(chord, ahead), -dot_rows(chord, up)))
    return np.maximum(_HIPS_AHEAD_RAD - used, 0.0)
