"""Rotations of the target in one frame. The steps of `transfer.py`, joined into one linear map for each joint."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Floats, Ints
from poise.model.numpy_kinematics import split_local_transforms
from poise.model.pose import Pose
from poise.model.skeleton import Skeleton
from poise.retargeting.transfer import RotationPlan, find_quaternion_start


class FramePlan(NamedTuple):
    """What is the same in every frame. The product a q b of quaternions is a linear map of q.

    source_rows   (m,) joints of the source: of plain joints, then lower and upper joints of blends
    source_maps   (m, 4, 4) from their world rotations to those of the target
    plain_count   how many joints follow one of the source
    fractions     (b,) of blends between their lower and upper rotation
    above         (k,) for each joint its nearest joint above that has a rotation here: its place, or k for none
    local_maps    (k, 4, 4) from the rotation relative to that joint to the one in q
    columns       (k, 4) columns of q
    copied        columns of q that are those of the source
    """

    source_rows: Ints
    source_maps: Floats
    plain_count: int
    fractions: Floats
    above: Ints
    local_maps: Floats
    columns: Ints
    copied: Ints


def plan_frame(plan: RotationPlan, target: Skeleton) -> FramePlan:
    """Join the steps of a plan."""
    lower, upper = ([getattr(blend, name) for blend in plan.blends] for name in ("lower", "upper"))
    rights = [blend.lower_right for blend in plan.blends] + [blend.upper_right for blend in plan.blends]
    plain_maps = [_build_product_map(plan.left, right) for right in plan.right]
    copied_maps = [np.eye(4)] * len(plan.copied)  # both are the same character
    blend_maps = [_build_product_map(plan.left, right) for right in rights]
    rows = [*plan.rows.tolist(), *plan.copied.tolist(), *(blend.row for blend in plan.blends)]
    above, local_maps = _plan_locals(target, rows)
    starts = np.array([find_quaternion_start(target, row) for row in rows], dtype=np.int64)
    copied_starts = np.array([find_quaternion_start(target, row) for row in plan.copied.tolist()], dtype=np.int64)
    return FramePlan(
        np.array([*plan.source_rows.tolist(), *plan.copied.tolist(), *lower, *upper], dtype=np.int64),
        np.array([*plain_maps, *copied_maps, *blend_maps]).reshape(-1, 4, 4),
        len(plan.rows) + len(plan.copied),
        np.array([blend.fraction for blend in plan.blends]),
        above,
        local_maps,
        starts[:, None] + np.arange(4),
        (copied_starts[:, None] + np.arange(4)).ravel(),
    )


def _plan_locals(target: Skeleton, rows: list[int]) -> tuple[Ints, Floats]:
    """Plan the way from world rotations to q, joint by joint."""
    rest_local = split_local_transforms(target, target.rest_q).rotation
    after = rotations.from_matrix(rotations.rotation_part(target.B[:, :, :3]))
    places = {row: place for place, row in enumerate(rows)}
    above, maps = np.full(len(rows), len(rows), dtype=np.int64), np.zeros((len(rows), 4, 4))
    for place, row in enumerate(rows):
        before, parent = target.A[row, 3:], int(target.parents[row])
        while parent >= 0 and parent not in places:
            before = rotations.multiply(rotations.multiply(rest_local[parent], after[parent]), before)
            parent = int(target.parents[parent])
        if parent >= 0:
            above[place] = places[parent]
        maps[place] = _build_product_map(rotations.inverse(before), rotations.inverse(after[row]))
    return above, maps


def _build_product_map(left: Floats, right: Floats) -> Floats:
    """Build the map (4, 4) from q to left q right."""
    units = np.eye(4)
    return rotations.multiply(rotations.multiply(left, units), right).T


def compute_configuration(plan: FramePlan, pose: Pose, source_rotations: Floats, rest_q: Floats) -> Floats:
    """Compute the configuration (nq,) of the target.

    source_rotations  (n, 4) world rotations of the source
    """
    count = len(plan.above)
    turned = (plan.source_maps @ source_rotations[plan.source_rows][:, :, None])[:, :, 0]
    worlds = np.empty((count + 1, 4))
    worlds[: plan.plain_count], worlds[count] = turned[: plan.plain_count], rotations.IDENTITY
    if len(plan.fractions):
        lower, upper = turned[plan.plain_count :].reshape(2, -1, 4)
        worlds[plan.plain_count : count] = rotations.slerp(lower, upper, plan.fractions)
    relative = rotations.multiply(rotations.inverse(worlds[plan.above]), worlds[:count])
    q = np.array(rest_q)
    q[plan.columns] = (plan.local_maps @ relative[:, :, None])[:, :, 0]
    if len(plan.copied):
        q[plan.copied] = pose.q[plan.copied]
    return q
