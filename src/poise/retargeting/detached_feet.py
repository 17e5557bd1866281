"""Detached feet: joints beside the legs, as control bones are. They are put where the shins end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from poise.maths.arrays import Floats
from poise.model.anatomy.rest_geometry import DETACHED_FOOT
from poise.model.pose import Pose
from poise.model.pose_draft import PoseDraft
from poise.model.roles.bone_names import SIDES
from poise.model.skeleton import Skeleton


class DetachedFoot(NamedTuple):
    """A foot beside its leg.

    row, shin  joints of foot and shin
    ankle      (3,) the foot's place at rest, in the shin's axes and lengths
    """

    row: int
    shin: int
    ankle: Floats


def is_foot_detached(skeleton: Skeleton, rows: Mapping[str, int], side: str) -> bool:
    """Return whether a foot is below no other joint with a role.

    The hips do not count.

    rows  joints of roles
    """
    foot = rows.get(f"{side}Foot")
    if foot is None:
        return False
    others = {role: row for role, row in rows.items() if row != foot}
    if {row for role, row in others.items() if role != "hips"}.intersection(skeleton.list_path(foot)):
        return False
    return not any(foot in skeleton.list_path(row) for role, row in others.items() if role != f"{side}Toes")


def find_detached_feet(skeleton: Skeleton, rows: Mapping[str, int]) -> tuple[DetachedFoot, ...]:
    """Find detached feet. Their places are those at rest."""
    sides = [side for side in SIDES if f"{side}LowerLeg" in rows and is_foot_detached(skeleton, rows, side)]
    feet: list[DetachedFoot] = []
    if sides:
        affine = Pose(skeleton, skeleton.rest_q).world.affine
        for side in sides:
            row, shin = rows[f"{side}Foot"], rows[f"{side}LowerLeg"]
            ankle = np.linalg.solve(affine[shin, :, :3], affine[row, :, 3] - affine[shin, :, 3])
            feet.append(DetachedFoot(row, shin, np.asarray(ankle, dtype=np.float64)))
    return tuple(feet)


def name_detached_feet(skeleton: Skeleton, joints: Mapping[str, str]) -> dict[str, str]:
    """Name detached feet "leftFoot apart".

    Anatomical axes know them by that role.
    """
    rows = {role: skeleton.index(joint) for role, joint in joints.items()}
    detached = [side for side in SIDES if is_foot_detached(skeleton, rows, side)]
    names = {f"{side}Foot": f"{side}{DETACHED_FOOT}" for side in detached}
    return {names.get(role, role): joint for role, joint in joints.items()}


def place_detached_feet(poses: Pose, feet: tuple[DetachedFoot, ...]) -> Pose:
    """Put detached feet where their shins end. Their rotations in the world stay."""
    for foot in feet:
        affine = poses.world.affine
        ankle = affine[..., foot.shin, :, :3] @ foot.ankle + affine[..., foot.shin, :, 3]
        draft = PoseDraft(poses)
        draft.move(foot.row, ankle - affine[..., foot.row, :, 3])
        poses = draft.finish()
    return poses
