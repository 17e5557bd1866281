"""Robots moved frame by frame."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from poise.ground.robot.clip_solve import JointMotion
from poise.ground.robot.frame_solve import ConfigurationWriter, FrameSolver
from poise.ground.robot.tree import read_configurations
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.roles.bone_names import SIDES
from poise.retargeting.body import Body
from poise.retargeting.robot import RobotJob, measure_robot, solve_robot
from poise.retargeting.robot_tasks import SourceDirection, SourceTurn, TaskBuilder
from poise.retargeting.root_path import Standing, compute_hip_path

# [s] a longer pause, and [leg lengths/s] a faster way of the hips, is no motion: the robot has no speed after it
_PAUSE_S, _MAX_HIP_SPEED = 0.25, 30.0


class SourceTargets:
    """Computes what tasks follow in the source, for single poses.

    turns           (r,) tasks that follow a rotation
    directions      (d,) tasks that follow a direction
    """

    def __init__(self, source: Body, builder: TaskBuilder) -> None:
        followed = list(enumerate(builder.sources))
        turns = [(task, one) for task, one in followed if isinstance(one, SourceTurn) and one.row >= 0]
        ways = [(task, one) for task, one in followed if isinstance(one, SourceDirection)]
        self.turns = np.array([task for task, _ in turns], dtype=np.int64)
        self.directions = np.array([task for task, _ in ways], dtype=np.int64)
        self._rows = np.array([one.row for _, one in turns], dtype=np.int64)
        self._maps = np.array([_build_map(source.world_turn, _join(one.factors)) for _, one in turns])
        self._starts, self._ends = np.array([(one.start, one.end) for _, one in ways], dtype=np.int64).T
        self._axes = rotations.as_matrix(source.world_turn)

    def write(self, pose: Pose, targets: Floats) -> None:
        """Write the targets (m, 9) of a pose."""
        world = pose.world
        q = world.rotations[self._rows]
        products = (q[:, :, None] * q[:, None]).reshape(-1, 16, 1)
        targets[self.turns] = (self._maps @ products)[:, :, 0]
        ways = (world.positions[self._ends] - world.positions[self._starts]) @ self._axes.T
        targets[self.directions, :3] = ways / np.maximum(np.sqrt((ways * ways).sum(axis=1, keepdims=True)), 1e-300)


def _build_map(left: Floats, right: Floats) -> Floats:
    """Build a map (9, 16) to rotation matrices.

    It takes the 16 products of the numbers of q to the matrix of left q right.
    """
    units = np.eye(4)
    turned = rotations.multiply(units[:, None, None], units[1:])  # vectors turn into q v and the inverse of q
    turned = rotations.multiply(turned, rotations.inverse(units)[:, None])[..., 1:]
    matrices = rotations.as_matrix(left) @ np.swapaxes(turned, 2, 3) @ rotations.as_matrix(right)
    return matrices.reshape(16, 9).T


def _join(factors: tuple[Floats, ...]) -> Floats:
    """Multiply rotations (4,) from left to right."""
    product = factors[0]
    for factor in factors[1:]:
        product = rotations.multiply(product, factor)
    return product


class LiveRobot:
    """A robot. Call it with each pose of the source.

    Parameters
    ----------
    job
        The first clip of the source. It shows how the source stands.
    """

    def __init__(self, job: RobotJob) -> None:
        source, body = job.bodies
        self._job, self.robot = job, measure_robot(job.target, body, job.speed, clear=job.clear)
        self.notes: tuple[str, ...] = self.robot.notes
        self._bodies, self._floor = (source, self.robot.body), Standing(0.0, self.robot.ankle)
        first = Clip(np.zeros(1), job.clip.poses[:1])
        builder = TaskBuilder(first, self._bodies, self.robot.tree, job.match, job.weights)
        builder.add_segments()
        for side in SIDES:
            builder.add_foot_turn(side)
        builder.add_hips(self._find_path(first.poses.world.positions))
        tasks = builder.build()
        self._targets, self._weights = np.array(tasks.targets[0]), np.array(tasks.weights[0])
        self._follow = SourceTargets(source, builder)
        tree, size = self.robot.tree, self.robot.body.leg_length
        self._solver = FrameSolver(
            tree.hold(builder.held), tasks, self.robot.pairs, self.robot.speeds, size, job.weights.smooth
        )
        self._writer = ConfigurationWriter(tree, rotations.inverse(self.robot.body.world_turn))
        self._hips: Floats | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Copy the robot's state for copies. They go on by themselves."""
        return vars(self) | {"_solver": copy.copy(self._solver)}

    @property
    def has_ground(self) -> bool:
        """Whether feet are put on the ground."""
        return False

    def reset(self) -> None:
        """Begin anew with the next frame."""
        self._hips = None

    def __call__(self, pose: Pose, dt: float) -> Pose:
        """Return the robot's pose, `dt` seconds after the last one."""
        path = self._find_path(pose.world.positions[None])[0]
        last, self._hips = self._hips, path
        if last is None:
            return self._begin(pose, path)
        way = path - last
        if dt > _PAUSE_S or float(np.linalg.norm(way)) > _MAX_HIP_SPEED * self.robot.body.leg_length * dt:
            self._solver.put(way)
        targets = np.array(self._targets)
        self._follow.write(pose, targets)
        targets[-1, :3] = path
        q = self._writer.write(*self._solver.solve(targets, self._weights, dt))
        return Pose.make_unchecked(self.robot.tree.skeleton, q, None, None)

    def _find_path(self, positions: Floats) -> Floats:
        """Find the place (F, 3) of the hips.

        positions  (F, n, 3) joints of the source
        """
        job = self._job
        return compute_hip_path(positions, self._bodies, job.standing, self._floor, job.root)

    def _begin(self, pose: Pose, path: Floats) -> Pose:
        """Solve the first frame as a clip."""
        beside = [None if values is None else values[None] for values in (pose.translations, pose.scales)]
        job, clip = self._job, Clip(np.zeros(1), Pose(pose.skeleton, pose.q[None], *beside))
        solved, _ = solve_robot(clip, self._bodies[0], self.robot, job.match, path[None], None, None, job.weights)
        tree, q = self.robot.tree, solved.poses.q
        places, turns, values = read_configurations(tree, q)
        turn = self.robot.body.world_turn
        self._solver.begin(JointMotion(rotations.rotate(turn, places), rotations.as_matrix(turn) @ turns, values))
        return Pose.make_unchecked(tree.skeleton, q[0], None, None)
