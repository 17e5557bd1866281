"""Roll bones in the lines of limbs.

A bone between shoulder and elbow, or between elbow and wrist, stands in many rigs for the flesh that rolls about the
limb's line. Where it has no limits it may bend like any ball joint, and nothing in a body does so there.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from poise.maths.arrays import Floats
from poise.maths.vectors import normalise
from poise.model.anatomy.rest_geometry import compute_rest_transforms, find_confident_joints
from poise.model.joint_tree import is_robot
from poise.model.limits import find_hinge_axis
from poise.model.roles.bone_names import SIDES, tokenize_name
from poise.model.roles.role_search import find_joint_roles
from poise.model.skeleton import Kind, Skeleton
from poise.runtime.result_cache import get_or_compute

_LIMBS = (("UpperArm", "LowerArm", "Hand"), ("UpperLeg", "LowerLeg", "Foot"))
# fraction of the bone: a joint this near to the line between two others stands in it
_LINE_FRACTION = 0.05
_ROLL_WORDS = frozenset({"roll", "twist"})


class RollBone(NamedTuple):
    """A joint in the line of a bone of a limb.

    row       its row
    upper     row of the joint at the beginning of the bone: upper arm, forearm, thigh, shin
    end       row of the joint at the end of the bone
    role      role of `upper`
    fraction  where on the bone it stands: 0 at its beginning, 1 at its end
    is_leaf   whether the way to the end of the bone leads past it
    """

    row: int
    upper: int
    end: int
    role: str
    fraction: float
    is_leaf: bool


def find_roll_bones(skeleton: Skeleton) -> tuple[RollBone, ...]:
    """Find the roll bones of a figure's limbs.

    The result is cached per skeleton. On the way from one joint of a limb to the next every ball joint in the line of
    both is one. Beside the way those are that say roll or twist in their name. Robots have none.
    """
    return get_or_compute(skeleton, "roll bones", None, lambda: _find_roll_bones(skeleton))


def find_bending_roll_bones(skeleton: Skeleton) -> frozenset[int]:
    """Find the rows of roll bones without a hinge.

    No limit makes them hinges, so they could bend. They stand still while goals are solved, by whichever solver.
    To let them turn about their line would be a limit that nobody set, and would give an arm no place that shoulder and
    elbow do not give it; the roll of a hand is shared with them afterwards.
    """
    return get_or_compute(skeleton, "bending roll bones", None, lambda: _find_bending_roll_bones(skeleton))


def find_roll_line(skeleton: Skeleton, bone: RollBone) -> Floats:
    """Find the unit vector (3,) along a roll bone at rest.

    It points to the end of the limb's bone that the roll bone stands in. Where that is too near, the line begins where
    the limb's bone does.
    """
    points = compute_rest_transforms(skeleton)[:, :3, 3]
    start = bone.upper if bone.fraction > 1.0 - _LINE_FRACTION else bone.row
    return normalise(points[bone.end] - points[start])


def _find_bending_roll_bones(skeleton: Skeleton) -> frozenset[int]:
    rows = [bone.row for bone in find_roll_bones(skeleton)]
    limits = skeleton.limits
    return frozenset([row for row in rows if limits[row] is None or find_hinge_axis(limits[row]) is None])


def _find_roll_bones(skeleton: Skeleton) -> tuple[RollBone, ...]:
    if Kind.BALL not in skeleton.kinds or is_robot(skeleton.kinds, skeleton.parents):
        return ()
    joints = find_confident_joints(find_joint_roles(skeleton))
    found: list[RollBone] = []
    for side in SIDES:
        for parts in _LIMBS:
            for upper, end in pairwise([side + part for part in parts]):
                if upper in joints and end in joints:
                    rows = skeleton.index(joints[upper]), skeleton.index(joints[end])
                    found += _find_bones_between(skeleton, *rows, upper)
    return tuple(found)


def _find_bones_between(skeleton: Skeleton, upper: int, end: int, role: str) -> list[RollBone]:
    path = skeleton.list_path(end)
    if upper not in path:
        return []
    way = path[path.index(upper) + 1 : -1]
    beside = [
        row
        for carrier in (upper, *way)
        for row in skeleton.children[carrier]
        if row not in path and not skeleton.children[row] and _says_roll(skeleton.names[row])
    ]
    points = compute_rest_transforms(skeleton)[:, :3, 3]
    bones: list[RollBone] = []
    for row in (*way, *beside):
        fraction = _find_fraction(points[upper], points[end], points[row])
        if skeleton.kinds[row] == Kind.BALL and fraction is not None:
            bones.append(RollBone(row, upper, end, role, fraction, row not in path))
    return bones


def _says_roll(name: str) -> bool:
    return not _ROLL_WORDS.isdisjoint(tokenize_name(name))


def _find_fraction(start: Floats, end: Floats, point: Floats) -> float | None:
    """Find where on a line a point stands, 0 to 1. None where it stands beside the line or beyond its ends."""
    line = end - start
    square = float(line @ line)
    if not square > 0.0:
        return None
    fraction = float((point - start) @ line) / square
    distance = float(np.linalg.norm(point - start - fraction * line))
    is_between = -_LINE_FRACTION <= fraction <= 1.0 + _LINE_FRACTION
    return min(max(fraction, 0.0), 1.0) if is_between and distance <= _LINE_FRACTION * square**0.5 else None
