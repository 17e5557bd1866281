"""How far closed loops of a file are open in a pose, by forward kinematics."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.maths import rotations
from poise.maths.angles import direction_left, length, rotation_left
from poise.maths.arrays import Bools, Floats
from poise.model.loops import Loop
from poise.model.pose import Pose
from poise.problem.measuring.measure import Places
from poise.problem.problem import Problem, Tolerance

_Z = np.array([0.0, 0.0, 1.0])


class Gap(NamedTuple):
    """By how much poses (k,) leave a loop open: a distance (k,) [file units] and an angle (k,) [rad]."""

    loop: Loop
    distance: Floats
    angle: Floats

    def is_open(self, tolerance: Tolerance) -> Bools:
        """Which of the poses leave it open by more than a tolerance."""
        return (self.distance > tolerance.distance) | (self.angle > tolerance.angle)


def gaps_of(problem: Problem, q: Floats) -> list[Gap]:
    """Measure every loop of the skeleton in poses q (k, nq) of a problem."""
    loops, skeleton = problem.skeleton.loops, problem.skeleton
    if not loops:
        return []
    rows = {skeleton.index(joint) for loop in loops for joint in loop.joints if joint is not None}
    q = np.array(q)
    places = Places(problem.posed_as(q), rows, q)
    return [_gap(loop, places, problem, len(q)) for loop in loops]


def leave_loops_closed(problem: Problem, q: Floats, tolerance: Tolerance) -> Bools:
    """Which poses q (k, nq) leave every loop of the skeleton closed."""
    closed = np.ones(len(q), dtype=np.bool_)
    for gap in gaps_of(problem, q):
        closed &= ~gap.is_open(tolerance)
    return closed


def gaps_of_start(problem: Problem) -> list[Gap]:
    """Measure every loop in the start poses of a problem."""
    start: Pose = problem.start
    return gaps_of(problem, np.array(start.flat_q))


def _gap(loop: Loop, places: Places, problem: Problem, count: int) -> Gap:
    (first, turn), (second, other) = (
        _world_of(joint, frame, places, problem, count) for joint, frame in zip(loop.joints, loop.frames, strict=True)
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
    joint: str | None, frame: tuple[float, ...], places: Places, problem: Problem, count: int
) -> tuple[Floats, Floats]:
    """Where a frame of a joint stands in the world: points (k, 3) and rotations (k, 4)."""
    point, turn = np.array(frame[:3]), np.array(frame[3:])
    if joint is None:
        return np.tile(point, (count, 1)), np.tile(turn, (count, 1))
    at = places[problem.skeleton.index(joint)]
    points = at.affine[:, :, 3] + at.affine[:, :, :3] @ point
    return points, rotations.multiply(at.rotations, np.broadcast_to(turn, at.rotations.shape))
