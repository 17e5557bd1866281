"""Mass distribution of the human body over a character's joints.

Shares of the whole mass and centres of mass are those of men in P. de Leva, "Adjustments to Zatsiorsky-Seluyanov's
segment inertia parameters", J. Biomechanics 29(9), 1996, table 4. The trunk has a lower, a middle and an upper part;
their centres lie on the line from the midpoint of the hips to the midpoint of the shoulders.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from poise.errors import InputError, listed
from poise.maths.arrays import Floats
from poise.model.anatomy.bones import trunk_rows
from poise.model.anatomy.stance import rest_maps, stance_of
from poise.model.roles.vrm import SIDES
from poise.model.skeleton import Skeleton

_BONES = (
    ("UpperArm", "LowerArm", 0.0271, 0.5772),
    ("LowerArm", "Hand", 0.0162, 0.4574),
    ("UpperLeg", "LowerLeg", 0.1416, 0.4095),
    ("LowerLeg", "Foot", 0.0433, 0.4459),
)  # from joint, to joint, share of the mass, position of its centre between them
# share of the mass, position on the line from the hips to the shoulders; the lowest first
_TRUNK = ((0.1117, 0.106), (0.1633, 0.497), (0.1596, 0.904))
# share of the mass, position on the same line extended
_HEAD, _HEAD_AT = 0.0694, 1.228
# share of the mass, centre beyond the wrist in lengths of the forearm
_HAND, _HAND_AT = 0.0061, 0.25
# share of the mass, centre ahead of and below the ankle in lengths of the shin
_FOOT, _FOOT_AHEAD, _FOOT_DOWN = 0.0137, 0.12, 0.08
_NEEDED = tuple(dict.fromkeys(("hips", "head", *(s + part for s in SIDES for bone in _BONES for part in bone[:2]))))


def segments_of(skeleton: Skeleton, joints: Mapping[str, str]) -> list[tuple[int, float, Floats]]:
    """Find the body segments of a character.

    Each has a row of the skeleton, a share of the whole mass, and its centre (3,) in the row's frame.

    Parameters
    ----------
    skeleton
        Skeleton of a biped.
    joints
        Confident roles to joint names.

    Raises
    ------
    InputError
        Where a part of the body has no confident joint.
    """
    missing = [role for role in _NEEDED if role not in joints]
    if missing:
        raise InputError(f"human masses need a confident joint for every part of the body; missing: {listed(missing)}")
    body, frames = stance_of(skeleton, joints), np.linalg.inv(rest_maps(skeleton))
    at = {role: body.points[skeleton.index(joints[role])] for role in _NEEDED}
    parts = [(skeleton.index(joints["head"]), _HEAD, _along(at, _HEAD_AT)), *_trunk(skeleton, joints, body.points, at)]
    for side in SIDES:
        for first, last, share, way in _BONES:
            begin, end = at[side + first], at[side + last]
            parts.append((skeleton.index(joints[side + first]), share, begin + way * (end - begin)))
        forearm, shin = at[f"{side}Hand"] - at[f"{side}LowerArm"], at[f"{side}Foot"] - at[f"{side}LowerLeg"]
        sole = float(np.linalg.norm(shin)) * (_FOOT_AHEAD * body.forward - _FOOT_DOWN * body.up)
        parts.append((skeleton.index(joints[f"{side}Hand"]), _HAND, at[f"{side}Hand"] + _HAND_AT * forearm))
        parts.append((skeleton.index(joints[f"{side}Foot"]), _FOOT, at[f"{side}Foot"] + sole))
    return [(row, share, frames[row, :3, :3] @ point + frames[row, :3, 3]) for row, share, point in parts]


def _along(at: Mapping[str, Floats], share: float) -> Floats:
    """Interpolate a point between the hips and the shoulders."""
    low, high = ((at[f"left{part}"] + at[f"right{part}"]) / 2 for part in ("UpperLeg", "UpperArm"))
    return low + share * (high - low)


def _trunk(
    skeleton: Skeleton, joints: Mapping[str, str], points: Floats, at: Mapping[str, Floats]
) -> list[tuple[int, float, Floats]]:
    """Assign the trunk segments to joints. The highest trunk joint not above a segment's centre carries the segment."""
    rows = [skeleton.index(joints["hips"]), *trunk_rows(skeleton, joints)[0]]
    low, way = _along(at, 0.0), _along(at, 1.0) - _along(at, 0.0)
    heights = (points[rows] - low) @ way / float(way @ way)
    found: list[tuple[int, float, Floats]] = []
    for share, where in _TRUNK:
        below = [row for row, height in zip(rows[1:], heights[1:], strict=True) if height <= where]
        found.append((below[-1] if below else rows[0], share, _along(at, where)))
    return found
