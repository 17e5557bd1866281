"""A posed limb of two parallel hinges, as rows for kernels/limb/planar.py."""

from __future__ import annotations

import numpy as np

from poise.errors import UnsupportedError
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.limits.base.rows import nearest_angle
from poise.problem.limb import Branch, Limb, angles_of, arc_of, axis_of, distance_at, frames_of, range_of, side_of, unit
from poise.problem.problem import Problem

_PARALLEL = 1e-9  # [rad]


def plane_rows(problem: Problem, limb: Limb, branch: Branch) -> Floats:
    """(k, PLANE), one for each start pose; the columns are the fields of `PlaneRow` in kernels/limb/planar.py."""
    skeleton = problem.skeleton
    first, middle = frames_of(problem, limb.first), frames_of(problem, limb.middle)
    k = len(first.position)
    axes = [axis_of(skeleton, row)[None] for row in (limb.first, limb.middle)]
    w, other = (rotations.rotate(frame.turn, axis) for frame, axis in zip((first, middle), axes, strict=True))
    if (np.abs(np.cross(w, other)) > _PARALLEL).any():
        a, b = skeleton.names[limb.first], skeleton.names[limb.middle]
        raise UnsupportedError(f"two_bone needs parallel axes where both joints are hinges; {a!r} and {b!r} are not")
    u = unit(np.cross(np.eye(3)[np.abs(w).argmin(axis=-1)], w))
    basis = np.stack([u, np.cross(w, u), w], axis=1)
    tip_at = problem.start.world.positions.reshape(k, -1, 3)[:, limb.tip]
    ways = middle.position - first.position, tip_at - middle.position
    thigh, shin = ((basis @ way[..., None])[..., 0] for way in ways)
    sense = np.sign((w * other).sum(axis=-1))
    flat = np.array([1.0, 1.0, 0.0])
    arc, (shortest2, longest2, gain, offset) = arc_of(
        thigh * flat, shin * flat, sense[:, None] * np.array([0.0, 0.0, 1.0])
    )
    angles = [angles_of(problem, row) for row in (limb.first, limb.middle)]
    ranges = [range_of(skeleton, row) for row in (limb.first, limb.middle)]
    straight = angles[1] + offset
    reach = distance_at(arc, nearest_angle(straight, *ranges[1]) - straight)
    joints = [np.stack(np.broadcast_arrays(angle, *ends), axis=-1) for angle, ends in zip(angles, ranges, strict=True)]
    columns: list[tuple[int, Floats]] = [
        (3, first.position), (9, basis), (3, thigh), (3, shin), (1, longest2), (1, shortest2), (1, gain), (1, reach),
        (1, sense), (1, side_of(offset, straight, ranges[1], branch)), (1, straight), *((3, j) for j in joints),
        *((3, axis) for axis in axes),
    ]  # fmt: skip
    rows = [np.broadcast_to(np.reshape(value, (-1, width)), (k, width)) for width, value in columns]
    return np.concatenate(rows, axis=-1)
