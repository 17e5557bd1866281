"""Measure gaps in the closed loops of a file by forward kinematics.

Files round their digits, so loops may have small gaps in the rest pose. This rest gap is added to the tolerance of
every check of a loop.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.maths import rotations
from poise.maths.angles import direction_left, length, rotation_left
from poise.maths.arrays import Bools, Floats
from poise.maths.remember import remember
from poise.model.loops import Loop
from poise.model.pose import Pose
from poise.model.skeleton import Skeleton
from poise.problem.measuring.measure import Places
from poise.problem.problem import Problem, Tolerance

_Z = np.array([0.0, 0.0, 1.0])
_ROUNDED = 1e-4  # ratio to the rig's size, and [rad]: rounding of four written digits; wider rest gaps count as open


class Gap(NamedTuple):
    """Gaps of one loop in poses (k,) and in the file.

    distance, angle  (k,) total gap [file units, rad]
    rest_gap         distance and angle of the gap at rest, each 0 where it exceeds rounding
    """

    loop: Loop
    distance: Floats
    angle: Floats
    own: tuple[float, float] = (0.0, 0.0)

    def is_apart(self, tolerance: Tolerance) -> Bools:
        """Return whether distances exceed the tolerance plus the rest gap."""
        return self.distance > tolerance.distance + self.own[0]

    def is_turned(self, tolerance: Tolerance) -> Bools:
        """Return whether angles exceed the tolerance plus the rest gap."""
        return self.angle > tolerance.angle + self.own[1]

    def is_open(self, tolerance: Tolerance) -> Bools:
        """Return whether either gap exceeds its tolerance (k,)."""
        return self.is_apart(tolerance) | self.is_turned(tolerance)


def gaps_of(problem: Problem, q: Floats) -> list[Gap]:
    """Measure every loop of a problem in poses q (k, nq)."""
    skeleton = problem.skeleton
    if not skeleton.loops:
        return []
    own = remember(skeleton, "gaps at rest", None, lambda: _gaps_at_rest(skeleton))
    q = np.array(q)
    return [gap._replace(own=mine) for gap, mine in zip(_gaps(problem.posed_as(q), q), own, strict=True)]


def _gaps(pose: Pose, q: Floats) -> list[Gap]:
    """Measure every loop of a pose batch with numbers q (k, nq)."""
    loops, skeleton = pose.skeleton.loops, pose.skeleton
    rows = {skeleton.index(joint) for loop in loops for joint in loop.joints if joint is not None}
    places = Places(pose, rows, q)
    return [_gap(loop, places, skeleton, len(q)) for loop in loops]


def _gaps_at_rest(skeleton: Skeleton) -> list[tuple[float, float]]:
    """Measure gaps at rest from the rounded digits of a file. Wider gaps count as 0."""
    rest = Pose(skeleton, skeleton.rest_q[None])
    size = float(np.ptp(rest.world.positions[0], axis=0).max(initial=0.0))
    found = [(float(gap.distance[0]), float(gap.angle[0])) for gap in _gaps(rest, np.array(rest.q))]
    return [(far if far <= _ROUNDED * size else 0.0, off if off <= _ROUNDED else 0.0) for far, off in found]


def leave_loops_closed(problem: Problem, q: Floats, tolerance: Tolerance) -> Bools:
    """Return whether poses q (k, nq) keep all loops closed."""
    closed = np.ones(len(q), dtype=np.bool_)
    for gap in gaps_of(problem, q):
        closed &= ~gap.is_open(tolerance)
    return closed


def gaps_of_start(problem: Problem) -> list[Gap]:
    """Measure every loop in the start poses of a problem."""
    start: Pose = problem.start
    return gaps_of(problem, np.array(start.flat_q))


def _gap(loop: Loop, places: Places, skeleton: Skeleton, count: int) -> Gap:
    (first, turn), (second, other) = (
        _world_of(joint, frame, places, skeleton, count) for joint, frame in zip(loop.joints, loop.frames, strict=True)
    )
    between, distance, angle = second - first, np.zeros(count), np.zeros(count)
    along = rotations.rotate(turn, _Z)
    if "point" in loop.holds:
        distance = length(between)
    elif "line" in loop.holds:
        distance = length(between - (between * along).sum(axis=1, keepdims=True) * along)
    if "turn" in loop.holds:
        angle = rotation_left(turn, other)
    elif "axis" in loop.holds:
        angle = direction_left(along, rotations.rotate(other, _Z))
    return Gap(loop, distance, angle)


def _world_of(
    joint: str | None, frame: tuple[float, ...], places: Places, skeleton: Skeleton, count: int
) -> tuple[Floats, Floats]:
    """Compute world points (k, 3) and rotations (k, 4) of a frame."""
    point, turn = np.array(frame[:3]), np.array(frame[3:])
    if joint is None:
        return np.tile(point, (count, 1)), np.tile(turn, (count, 1))
    at = places[skeleton.index(joint)]
    points = at.affine[:, :, 3] + at.affine[:, :, :3] @ point
    return points, rotations.multiply(at.rotations, np.broadcast_to(turn, at.rotations.shape))
