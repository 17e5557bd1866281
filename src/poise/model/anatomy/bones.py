"""Bone directions at rest, and the joints of the trunk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from poise.maths.arrays import Floats
from poise.maths.vectors import units
from poise.model.roles.vrm import SIDES
from poise.model.skeleton import Skeleton

_NEXT = {
    "UpperLeg": "LowerLeg", "LowerLeg": "Foot", "Foot": "Toes", "Shoulder": "UpperArm", "UpperArm": "LowerArm",
    "LowerArm": "Hand", "Hand": "MiddleProximal",
}  # fmt: skip
# suffix after a side: a foot detached from its leg's chain; it shows the end of the shin
APART = "Foot apart"
# fraction of the character's size: nearer joints count as one position
_HERE = 1e-3


def trunk_rows(skeleton: Skeleton, joints: Mapping[str, str]) -> tuple[list[int], list[int]]:
    """Find the rows of the spine and of the neck.

    The spine runs from above the joint that carries the legs to the joint that carries the arms, the neck from there to
    the head, included. Both are empty for an unknown head or for arms outside this path.
    """
    if "head" not in joints:
        return [], []
    head = skeleton.way(skeleton.index(joints["head"]))
    legs = _common(skeleton, [head[-1], *(skeleton.index(joints[f"{side}UpperLeg"]) for side in SIDES)])
    arms = _common(skeleton, [skeleton.index(joints[f"{side}UpperArm"]) for side in SIDES])
    if arms not in head or legs not in head:
        return [], []
    return head[head.index(legs) + 1 : head.index(arms) + 1], head[max(head.index(arms), head.index(legs)) + 1 :]


def _common(skeleton: Skeleton, rows: Iterable[int]) -> int:
    """Find the lowest common ancestor of rows, or -1."""
    ways = [skeleton.way(row) for row in rows]
    shared = [row for row in ways[0] if all(row in way for way in ways)]
    return shared[-1] if shared else -1


def limb_bone(skeleton: Skeleton, joints: Mapping[str, str], points: Floats, side: str, part: str) -> Floats | None:
    """Find the unit vector (3,) along a limb joint's bone.

    It points to the next joint with a role, else to the end of the bone.
    """
    row = skeleton.index(joints[f"{side}{part}"])
    ends = [_NEXT[part]] if part in _NEXT else []
    ends += [APART] if part == "LowerLeg" else []
    rows = [skeleton.index(joints[f"{side}{end}"]) for end in ends if f"{side}{end}" in joints]
    bones = (_way(points, row, after) for after in rows)
    bone = next((bone for bone in bones if bone is not None), None)
    return _end(skeleton, points, row) if bone is None else bone


def trunk_bone(points: Floats, rows: list[int], place: int) -> Floats | None:
    """Find the unit vector (3,) along a trunk joint's bone.

    It points to the next joint at another position; None for the last joint.
    """
    ways = (_way(points, rows[place], row) for row in rows[place + 1 :])
    return next((way for way in ways if way is not None), None)


def _end(skeleton: Skeleton, points: Floats, row: int) -> Floats | None:
    """Find the direction of a joint's longest child bone, or None."""
    children = skeleton.children[row]
    if not children:
        return None
    return _way(points, row, max(children, key=lambda child: float(np.linalg.norm(points[child] - points[row]))))


def _way(points: Floats, start: int, end: int) -> Floats | None:
    """Compute the unit vector between two joints. None where both are at the same position."""
    way = points[end] - points[start]
    size = float(np.ptp(points, axis=0).max())
    return units(way) if float(np.linalg.norm(way)) > _HERE * size else None
