"""Where the bones of a figure point at rest, and which joints the trunk has."""

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
APART = "Foot apart"  # after a side: a foot that is no part of its leg's chain, which shows where the shin ends
_HERE = 1e-3  # of the figure's size: joints nearer than this stand at one place


def trunk_rows(skeleton: Skeleton, joints: Mapping[str, str]) -> tuple[list[int], list[int]]:
    """Rows of the spine, from above the joint that carries the legs to the one that carries the arms, and of the neck.

    The neck goes from there up to the head, included. Empty where no head is known or the arms hang elsewhere.
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
    """The lowest row above all of these, or -1."""
    ways = [skeleton.way(row) for row in rows]
    shared = [row for row in ways[0] if all(row in way for way in ways)]
    return shared[-1] if shared else -1


def limb_bone(skeleton: Skeleton, joints: Mapping[str, str], points: Floats, side: str, part: str) -> Floats | None:
    """The unit vector (3,) along the bone of a limb's joint: to the next joint that has a role, else to its end."""
    row = skeleton.index(joints[f"{side}{part}"])
    ends = [_NEXT[part]] if part in _NEXT else []
    ends += [APART] if part == "LowerLeg" else []
    rows = [skeleton.index(joints[f"{side}{end}"]) for end in ends if f"{side}{end}" in joints]
    bones = (_way(points, row, after) for after in rows)
    bone = next((bone for bone in bones if bone is not None), None)
    return _end(skeleton, points, row) if bone is None else bone


def trunk_bone(points: Floats, rows: list[int], place: int) -> Floats | None:
    """The unit vector (3,) from one of the trunk's joints to the next that stands elsewhere; None for the last."""
    ways = (_way(points, rows[place], row) for row in rows[place + 1 :])
    return next((way for way in ways if way is not None), None)


def _end(skeleton: Skeleton, points: Floats, row: int) -> Floats | None:
    """Along the longest bone that hangs at a joint, or None."""
    children = skeleton.children[row]
    if not children:
        return None
    return _way(points, row, max(children, key=lambda child: float(np.linalg.norm(points[child] - points[row]))))


def _way(points: Floats, start: int, end: int) -> Floats | None:
    """The unit vector from one joint to another, or None where they stand at one place."""
    way = points[end] - points[start]
    size = float(np.ptp(points, axis=0).max())
    return units(way) if float(np.linalg.norm(way)) > _HERE * size else None
