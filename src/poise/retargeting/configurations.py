"""Configurations of the target. The steps of `transfer.py` are joined into one linear map for each joint.

One frame and many are computed by functions of their own: many are three times as fast with components first, one is
with as few calls as possible.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Floats, Ints
from poise.model.pose import Pose
from poise.model.skeleton import Skeleton
from poise.retargeting.transfer import RotationPlan, find_local_turns, find_quaternion_start

_INVERSE_SIGNS = np.array([1.0, -1.0, -1.0, -1.0])[:, None, None]


class FramePlan(NamedTuple):
    """What is the same in every frame. The product a q b of quaternions is a linear map of q.

    source_rows   (m,) joints of the source: of plain joints, then lower and upper joints of blends
    source_maps   (m, 4, 4) from their world rotations to those of the target
    plain_count   how many joints follow one of the source
    fractions     (b,) of blends between their lower and upper rotation
    above         (k,) for each joint its nearest joint above that has a rotation here: its place, or k for none
    local_maps    (k, 4, 4) from the rotation relative to that joint to the one in q
    columns       (k, 4) columns of q
    copied        (c,) places of joints whose q is that of the source, parents first
    rest_q        (nq,) of the other joints
    """

    source_rows: Ints
    source_maps: Floats
    plain_count: int
    fractions: Floats
    above: Ints
    local_maps: Floats
    columns: Ints
    copied: Ints
    rest_q: Floats


def plan_frame(plan: RotationPlan, target: Skeleton) -> FramePlan:
    """Join the steps of a plan."""
    lower, upper = ([getattr(blend, name) for blend in plan.blends] for name in ("lower", "upper"))
    rights = [blend.lower_right for blend in plan.blends] + [blend.upper_right for blend in plan.blends]
    source_maps = _build_product_maps(plan.left, np.array([*plan.right, *rights]).reshape(-1, 4))
    rows = [*plan.rows.tolist(), *(blend.row for blend in plan.blends), *plan.copied.tolist()]
    above, local_maps = _plan_locals(target, rows)
    starts = np.array([find_quaternion_start(target, row) for row in rows], dtype=np.int64)
    return FramePlan(
        np.array([*plan.source_rows.tolist(), *lower, *upper], dtype=np.int64),
        source_maps,
        len(plan.rows),
        np.array([blend.fraction for blend in plan.blends]),
        above,
        local_maps,
        starts[:, None] + np.arange(4),
        np.arange(len(rows) - len(plan.copied), len(rows)),
        target.rest_q,
    )


def _plan_locals(target: Skeleton, rows: list[int]) -> tuple[Ints, Floats]:
    """Plan the way from world rotations to q, joint by joint."""
    rest_local, after = find_local_turns(target)
    places = {row: place for place, row in enumerate(rows)}
    above, befores = np.full(len(rows), len(rows), dtype=np.int64), np.empty((len(rows), 4))
    for place, row in enumerate(rows):
        before, parent = target.A[row, 3:], int(target.parents[row])
        while parent >= 0 and parent not in places:
            before = rotations.multiply(rotations.multiply(rest_local[parent], after[parent]), before)
            parent = int(target.parents[parent])
        if parent >= 0:
            above[place] = places[parent]
        befores[place] = before
    return above, _build_product_maps(rotations.inverse(befores), rotations.inverse(after[rows]))


def _build_product_maps(left: Floats, right: Floats) -> Floats:
    """Build the maps (k, 4, 4) from q to left q right. Rotations are (k, 4), or one (4,) for all."""
    units = np.eye(4)
    products = rotations.multiply(rotations.multiply(left[..., None, :], units), right[:, None])
    return np.ascontiguousarray(np.swapaxes(products, 1, 2))


def compute_configuration(plan: FramePlan, pose: Pose, source_rotations: Floats) -> Floats:
    """Compute the configuration (nq,) of the target in one frame.

    source_rotations  (n, 4) world rotations of the source
    """
    count = len(plan.above)
    turned = (plan.source_maps @ source_rotations[plan.source_rows][:, :, None])[:, :, 0]
    worlds = np.empty((count + 1, 4))
    worlds[: plan.plain_count], worlds[count] = turned[: plan.plain_count], rotations.IDENTITY
    if len(plan.fractions):
        lower, upper = turned[plan.plain_count :].reshape(2, -1, 4)
        worlds[plan.plain_count : plan.plain_count + len(lower)] = rotations.slerp(lower, upper, plan.fractions)
    for place in plan.copied.tolist():
        local = plan.local_maps[place].T @ pose.q[plan.columns[place]]
        worlds[place] = rotations.multiply(worlds[plan.above[place]], local)
    relative = rotations.multiply(rotations.inverse(worlds[plan.above]), worlds[:count])
    q = np.array(plan.rest_q)
    q[plan.columns] = (plan.local_maps @ relative[:, :, None])[:, :, 0]
    q[plan.columns[plan.copied]] = pose.q[plan.columns[plan.copied]]
    return q


def compute_configurations(plan: FramePlan, poses: Pose, source_rotations: Floats) -> Floats:
    """Compute the configurations (F, nq) of the target in many frames.

    source_rotations  (F, n, 4) world rotations of the source
    """
    count = len(plan.above)
    turned = _apply_maps(plan.source_maps, source_rotations[:, plan.source_rows].transpose(2, 1, 0))
    worlds = np.empty((4, count + 1, len(source_rotations)))
    worlds[:, : plan.plain_count] = turned[:, : plan.plain_count]
    worlds[:, count] = rotations.IDENTITY[:, None]
    if len(plan.fractions):
        middle = plan.plain_count + len(plan.fractions)
        lower, upper = turned[:, plan.plain_count : middle], turned[:, middle:]
        worlds[:, plan.plain_count : middle] = rotations.slerp_components(lower, upper, plan.fractions[:, None])
    for place in plan.copied.tolist():
        local = _apply_maps(plan.local_maps[place].T[None], poses.q[:, None, plan.columns[place]].transpose(2, 1, 0))
        worlds[:, place] = rotations.multiply(worlds[:, plan.above[place]].T, local[:, 0].T).T
    above = worlds[:, plan.above] * _INVERSE_SIGNS
    relative = rotations.multiply(above.transpose(1, 2, 0), worlds[:, :count].transpose(1, 2, 0))
    q = np.broadcast_to(plan.rest_q, (len(source_rotations), len(plan.rest_q))).copy()
    q[:, plan.columns] = _apply_maps(plan.local_maps, relative.transpose(2, 0, 1)).transpose(2, 1, 0)
    copied = plan.columns[plan.copied]
    q[:, copied] = poses.q[:, copied]
    return q


def _apply_maps(maps: Floats, quaternions: Floats) -> Floats:
    """Apply maps (m, 4, 4) to quaternions (4, m, F). Sums in this order do not depend on the number of frames."""
    result = np.empty(quaternions.shape)
    for row in range(4):
        result[row] = maps[:, row, :1] * quaternions[0]
        for column in range(1, 4):
            result[row] += maps[:, row, column, None] * quaternions[column]
    return result
