"""Closed loops as goals of the tree kernels.

A loop is a limit, not a goal: every solve that moves a joint of its ring holds it. The kernels hold it by terms of
their own: relative goals of its second joint in the frame of its first. Point b is at point a, and the rotation is
that of the loop. All joints of the ring move, so passive joints follow by themselves. Redundant rows, as those across
the plane of a planar loop, change nothing: they have no rates.

Files round their digits, and a planar loop cannot be closed across its plane. So a tie holds the gap of the rest pose,
where this is no more than rounding.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.limits import Range
from poise.model.loop_gaps import MAX_FILE_GAP, find_touched_loops, list_ring_rows
from poise.model.loops import Loop
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from poise.problem.goal_ranges import Interval, Within
from poise.problem.goals import JointGoal, Orientation, Position
from poise.runtime.result_cache import get_or_compute

# Weight of ties beside goals: where goals and loops cannot both be met, the loops are nearly closed, and one more step
# closes them (solvers/base/loop_closing.py).
TIE_WEIGHT = 10.0
_FREE: Interval = (-np.inf, np.inf)
_Z_AXIS = np.array([0.0, 0.0, 1.0])
_IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])


class LoopTie(NamedTuple):
    """What one loop holds, as a goal.

    goal  a relative goal of the loop's second joint
    axes  (4,) rotation of the axes of its range in the frame of the first joint
    """

    goal: JointGoal
    axes: Floats


def find_ties(skeleton: Skeleton, moving_rows: Iterable[int]) -> tuple[tuple[LoopTie, ...], set[int]]:
    """Find the ties of the loops of moving rows.

    Also return the rows that move with them: all joints of their rings but free ones.
    """
    if not skeleton.loops:
        return (), set(moving_rows)
    rows, touched = set(moving_rows), tuple[int, ...]()
    while (found := find_touched_loops(skeleton, rows)) != touched:
        touched = found
        for i in touched:
            ring = list_ring_rows(skeleton, skeleton.loops[i])
            rows.update(row for row in ring if skeleton.kinds[row] != Kind.FREE)
    ties_by_loop = get_or_compute(skeleton, "loop ties", None, lambda: _build_ties(skeleton))
    return tuple(tie for i in touched for tie in ties_by_loop[i]), rows


def _build_ties(skeleton: Skeleton) -> tuple[tuple[LoopTie, ...], ...]:
    """Build the ties of each loop."""
    rest = Pose(skeleton, skeleton.rest_q)
    rig_size = float(np.ptp(rest.world.positions, axis=0).max(initial=0.0))
    return tuple([tuple(_build_loop_ties(loop, rest, MAX_FILE_GAP * rig_size)) for loop in skeleton.loops])


def _build_loop_ties(loop: Loop, rest: Pose, max_distance: float) -> list[LoopTie]:
    ties: list[LoopTie] = []
    point, rotation = _find_held_frame(loop, rest, max_distance)
    across = Within(z=_FREE)
    for hold in loop.holds:
        if hold in ("point", "line"):
            within = across if hold == "line" and "point" not in loop.holds else None
            goal: JointGoal = Position(
                loop.b, point, offset=loop.point_b, relative_to=loop.a, within=within, weight=TIE_WEIGHT
            )
            ties.append(LoopTie(goal, rotations.rotation_between(_Z_AXIS, np.array(loop.axis))))
        else:
            # A turn about the axis of a is one about the same axis in the frame of the held rotation.
            axis = rotations.rotate(rotations.inverse(rotation), np.array(loop.axis))
            is_free = hold == "axis" and "turn" not in loop.holds
            turn = Range(*_FREE, axis=tuple(axis.tolist())) if is_free else None
            within = Within(turn=turn) if is_free else None
            goal = Orientation(loop.b, rotation, relative_to=loop.a, within=within, weight=TIE_WEIGHT)
            ties.append(LoopTie(goal, _IDENTITY))
    return ties


def _find_held_frame(loop: Loop, rest: Pose, max_distance: float) -> tuple[Floats, Floats]:
    """Return the held point and rotation in a's frame.

    They are those of the rest pose where it is closed to rounding.
    """
    frame_a, frame_b = rest.world[loop.a], rest.world[loop.b]
    point, rotation = np.array(loop.point_a), np.array(loop.rotation or _IDENTITY)
    world_point = frame_b.affine[:, :3] @ np.array(loop.point_b) + frame_b.affine[:, 3]
    local_point = np.linalg.solve(frame_a.affine[:, :3], world_point - frame_a.affine[:, 3])
    rest_point: Floats = np.asarray(local_point, dtype=np.float64)
    world_gap = np.linalg.norm(frame_a.affine[:, :3] @ (rest_point - point))
    if "point" in loop.holds and world_gap <= max_distance:
        point = rest_point
    rest_rotation = rotations.multiply(rotations.inverse(frame_a.rotations), frame_b.rotations)
    if "turn" in loop.holds and _measure_angle(rotation, rest_rotation) <= MAX_FILE_GAP:
        rotation = rest_rotation
    return point, rotation


def _measure_angle(a: Floats, b: Floats) -> float:
    return float(np.linalg.norm(rotations.as_vector(rotations.multiply(a, rotations.inverse(b)))))
