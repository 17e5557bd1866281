"""Solve of a robot frame by frame.

Each frame starts from the one before, and takes a few Gauss-Newton steps on the tasks of `clip_solve.py`, in one call
of a kernel.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from poise.ground.robot.clip_descent import PAIR_WEIGHT, CapsulePairs, JointMotion
from poise.ground.robot.clip_solve import LEG_LENGTH, REST_WEIGHT, scale_tasks
from poise.ground.robot.tree import RobotTree, compute_root_mount
from poise.kernels.clip_least_squares import Tasks
from poise.kernels.frame_least_squares import BASE, FIRST_ANGLE, compute_frame_size, solve_frame
from poise.maths import euler, rotations
from poise.maths.arrays import Floats, allocate_aligned

# weights of squared distances from where a frame would go by its speed, at 60 frames a second: place and rotation of
# the base, joints [1/rad]
_PLACE_WEIGHT, _TURN_WEIGHT, _JOINT_WEIGHT = 7.5, 0.75, 0.75
# of the largest speeds: what is aimed at, for rounding
_SPEED_SHARE = 1.0 - 1e-9

Quaternion = tuple[float, float, float, float]


class FrameSolver:
    """Solves a robot frame by frame.

    Parameters
    ----------
    tree, pairs, speeds, leg_length, smooth
        As for `solve_motion`.
    tasks
        Those of one frame, whose targets come with each.
    """

    def __init__(
        self, tree: RobotTree, tasks: Tasks, pairs: CapsulePairs, speeds: Floats, leg_length: float, smooth: float
    ) -> None:
        self._factor = LEG_LENGTH / leg_length
        self._scales, self._ranges = np.where(tree.are_slides, self._factor, 1.0), np.ascontiguousarray(tree.ranges.T)
        nodes, (low, high) = tree.scale_arrays(self._factor), self._ranges * self._scales
        joints = np.full(len(low), _JOINT_WEIGHT)
        smoothing = smooth * np.concatenate([np.full(3, _PLACE_WEIGHT), np.full(3, _TURN_WEIGHT), joints])
        self._problem = *nodes, tasks.kinds, tasks.nodes, scale_tasks(tasks, self._factor).points
        self._limits = (
            pairs.nodes, self._factor * pairs.ends, self._factor * pairs.reaches, PAIR_WEIGHT, low, high,
            _SPEED_SHARE * self._scales * speeds, self._scales * tree.rest_values, smoothing, REST_WEIGHT, self._factor,
        )  # fmt: skip
        self._pose, self._speed = np.zeros(1 + len(smoothing)), np.zeros(len(smoothing) + 2)
        self._work_size = compute_frame_size(len(nodes.parents), len(smoothing), len(tasks.kinds), len(pairs.nodes))
        self._work = allocate_aligned(self._work_size)

    def __getstate__(self) -> dict[str, Any]:
        """Copy the state, and leave out scratch memory. Copies have their own."""
        own = {name: value for name, value in vars(self).items() if name != "_work"}
        return own | {"_pose": self._pose.copy(), "_speed": self._speed.copy()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _work=allocate_aligned(state["_work_size"]))

    def begin(self, motion: JointMotion) -> None:
        """Begin with the robot as it is. Its speed is unknown."""
        self._pose[:FIRST_ANGLE] = self._factor * motion.places[0]
        self._pose[FIRST_ANGLE:BASE] = rotations.from_matrix(motion.turns[0])
        self._pose[BASE:] = self._scales * motion.values[0]
        self._speed[:] = 0.0

    def put(self, shift: Floats) -> None:
        """Put the robot elsewhere, by a shift (3,). Its speed is unknown."""
        self._pose[:FIRST_ANGLE] += self._factor * shift
        self._speed[:] = 0.0

    def solve(self, targets: Floats, weights: Floats, dt: float) -> tuple[Floats, Quaternion, Floats]:
        """Solve the next frame, `dt` seconds later.

        Return place (3,) and rotation of the base, and values (K - 6,).

        targets  (1, m, 9) of the tasks
        weights  (1, m) of the tasks
        """
        solve_frame(*self._problem, targets, weights, *self._limits, dt, self._pose, self._speed, self._work)
        w, x, y, z = self._pose[FIRST_ANGLE:BASE].tolist()
        low, high = self._ranges
        values = np.minimum(np.maximum(self._pose[BASE:] / self._scales, low), high)
        return self._pose[:FIRST_ANGLE] / self._factor, (w, x, y, z), values


class ConfigurationWriter:
    """Writes the configurations of single frames. What is the same in all is computed once.

    Parameters
    ----------
    tree
        The robot.
    turn
        (4,) rotation from the axes of its base to those of the file.
    """

    def __init__(self, tree: RobotTree, turn: Floats) -> None:
        skeleton = tree.skeleton
        mount, mount_place = compute_root_mount(tree)
        w, x, y, z = rotations.multiply(rotations.inverse(mount), turn).tolist()
        self._turn: Quaternion = (w, x, y, z)
        self._map = rotations.as_matrix(np.array(self._turn))
        self._offset = -rotations.rotate(rotations.inverse(mount), mount_place)
        self._rest, self._start = skeleton.rest_q, int(skeleton.q_start[tree.root])
        plain = [(skeleton.q_start[one.row], column) for column, one in enumerate(tree.unknowns)
                 if one.axis is None and not one.order]  # fmt: skip
        self._starts, self._columns = np.array(plain, dtype=np.int64).reshape(-1, 2).T
        self._balls = [
            (int(skeleton.q_start[one.row]), column, one)
            for column, one in enumerate(tree.unknowns)
            if one.axis is not None or (one.order and one.place == 0)
        ]

    def write(self, place: Floats, turn: Quaternion, values: Floats) -> Floats:
        """Write a configuration (nq,).

        The base is a place (3,) and a rotation, values are (K - 6,).
        """
        q, start = np.array(self._rest), self._start
        q[start : start + 3] = self._map @ place + self._offset
        q[start + 3 : start + 7] = _multiply(self._turn, turn)
        q[self._starts] = values[self._columns]
        for ball, column, unknown in self._balls:
            if unknown.axis is not None:
                q[ball : ball + 4] = rotations.about(unknown.axis, values[column])
            else:
                q[ball : ball + 4] = euler.to_quaternion(values[column : column + 3], unknown.order)
        return q


def _multiply(a: Quaternion, b: Quaternion) -> Quaternion:
    """Compose two rotations. The result rotates by b, then by a. Arrays would take ten times as long."""
    (aw, ax, ay, az), (w, x, y, z) = a, b
    return (
        aw * w - ax * x - ay * y - az * z,
        aw * x + ax * w + ay * z - az * y,
        aw * y + ay * w + az * x - ax * z,
        aw * z + az * w + ax * y - ay * x,
    )
