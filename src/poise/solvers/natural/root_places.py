"""Places of free roots, in closed form.

Six numbers of a free joint say where it is and how it is turned, so the place that a figure is carried to gives them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.vectors import dot_rows
from poise.model.joint_tree import find_rotation_starts
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from poise.problem.goals import Goal, Place, Position
from poise.runtime.result_cache import get_or_compute
from poise.solvers.natural.body_maps import find_maps, find_turns


def find_placed_root(skeleton: Skeleton, goals: Sequence[Goal]) -> int:
    """Find the row of a free joint with the only goal. It is -1 where its place is not in closed form."""
    if len(goals) != 1 or not isinstance(goals[0], Position | Place) or any(goals[0].offset) or skeleton.loops:
        return -1
    row = skeleton.index(goals[0].joint)
    is_open = skeleton.kinds[row] == Kind.FREE and skeleton.limits[row] is None and skeleton.couplings[row] is None
    return row if is_open else -1


def place_root(above: Pose, pose: Pose, row: int, places: Floats) -> Floats:
    """Place a free joint of poses (1|k,); return (k, nq).

    above   poses (1|k,) that tell where the joints above it are
    places  (k, 3|7) of the joint in the world
    """
    skeleton = pose.skeleton
    q, start = np.empty((len(places), skeleton.nq)), int(find_rotation_starts(skeleton.kinds, skeleton.q_start)[row])
    q[:] = pose.flat_q
    turn_back, origin, inverse, after = get_or_compute(above, "root frame", row, lambda: _find_frame(above, row))
    if places.shape[1] > 3:  # noqa: PLR2004  (a place, not a position)
        turned = rotations.multiply(turn_back, places[:, 3:])
        q[:, start : start + 4] = turned if after is None else rotations.multiply(turned, after)
    ways = places[:, :3] - origin
    for axis in range(3):
        q[:, start - 3 + axis] = dot_rows(ways, inverse[:, axis])
    if skeleton.B[row, :, 3].any():
        q[:, start - 3 : start] -= rotations.rotate(q[:, start : start + 4], skeleton.B[row, :, 3])
    return q


class _Frame(NamedTuple):
    """Frame of a moving joint.

    turn_back  (1|k, 4) from the world into its rotation
    origin     (1|k, 3)
    inverse    (1|k, 3, 3) of its linear part
    after      (4,) back from the rotation after the motion; None without one
    """

    turn_back: Floats
    origin: Floats
    inverse: Floats
    after: Floats | None


def _find_frame(above: Pose, row: int) -> _Frame:
    skeleton, parent = above.skeleton, int(above.skeleton.parents[row])
    offset, own = skeleton.A[row, :3], skeleton.A[row, 3:]
    matrix, after = rotations.as_matrix(own), skeleton.B[row, :, :3]
    is_turned = bool((after != np.eye(3)).any())
    after_back = rotations.inverse(rotations.from_matrix(rotations.rotation_part(after))) if is_turned else None
    if parent < 0:
        return _Frame(rotations.inverse(own)[None], offset[None], matrix.T[None], after_back)
    maps = find_maps(above, parent)
    origin = maps[..., 3] + np.stack([dot_rows(maps[:, axis, :3], offset) for axis in range(3)], axis=-1)
    frame = rotations.multiply(find_turns(above, parent), own)
    inverse = np.asarray(np.linalg.inv(maps[..., :3] @ matrix), dtype=np.float64)
    return _Frame(rotations.inverse(frame), origin, inverse, after_back)
