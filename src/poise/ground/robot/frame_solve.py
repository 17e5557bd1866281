"""Solve of a robot frame by frame.

Each frame starts from the one before, and takes a few Gauss-Newton steps on the tasks of `clip_solve.py`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from poise.ground.robot.clip_solve import (
    AT_LIMIT,
    LEG_LENGTH,
    MAX_LIMIT_ROUNDS,
    MAX_STEP,
    PAIR_WEIGHT,
    REFERENCE_FPS,
    REST_WEIGHT,
    CapsulePairs,
    JointMotion,
    scale_tasks,
)
from poise.ground.robot.mean_speed import MeanSpeed
from poise.ground.robot.tree import RobotTree, compute_root_mount
from poise.kernels.clip_least_squares import (
    BASE_COLUMNS,
    PLACE,
    Tasks,
    compute_measure_size,
    compute_step,
    compute_step_size,
    measure_frames,
)
from poise.maths import euler, rotations
from poise.maths.arrays import Floats, allocate_aligned

# weights of squared distances from where a frame would go by its speed, at 60 frames a second: place and rotation of
# the base, joints [1/rad]; and the part of the speed that is kept in a frame of this length
_PLACE_WEIGHT, _TURN_WEIGHT, _JOINT_WEIGHT, _KEPT_SPEED = 7.5, 0.75, 0.75, 0.8
# of these weights where no speed is known; they grow with the square of the frame rate, for frames of at least this
# part of a 60th of a second
_UNKNOWN_SPEED_SHARE, _LEAST_FRAMES = 0.01, 0.1
# of the largest speeds: what is aimed at, for rounding
_SPEED_SHARE = 1.0 - 1e-9
# rounds of a frame at least and at most, and a step that needs no other behind it [rad]
_ROUNDS, _MAX_ROUNDS, _SHORT_STEP_RAD = 2, 8, 0.005
# how often a step that raises the cost is shortened, and to which share at least and at most
_MAX_SHORTENED, _SHARES = 3, (0.1, 0.5)
_DAMPING, _TINY = 1e-5, 1e-300

Quaternion = tuple[float, float, float, float]


class FramePose(NamedTuple):
    """A robot in a frame, in the lengths of `clip_solve.py`.

    places  (1, 3) of the base
    turn    its rotation
    turns   (1, 3, 3) the same
    values  (1, K - 6)
    """

    places: Floats
    turn: Quaternion
    turns: Floats
    values: Floats


class _Aim(NamedTuple):
    """What steps of a frame are measured by.

    kept       (1, K) step from the last frame, by its speed
    smoothing  (K,) weights of squared distances from it
    low, high  (1, K - 6) limits of the values, by range and speed
    """

    kept: Floats
    smoothing: Floats
    low: Floats
    high: Floats


class _Scratch:
    """Scratch arrays of kernels."""

    def __init__(self, nodes: int, unknowns: int) -> None:
        self.matrices = [(np.empty((1, unknowns, unknowns)), np.empty((1, unknowns))) for _ in range(2)]
        self.costs, self.damping = np.empty(1), np.full(1, _DAMPING)
        self.step, self.nothing = np.empty((1, unknowns)), np.zeros((1, unknowns))
        self.free, self.given = np.empty((1, unknowns), dtype=np.bool_), np.empty((1, unknowns))
        self.measure_work = np.empty(compute_measure_size(nodes))
        self.step_work = allocate_aligned(compute_step_size(1, unknowns))


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
        self._tree, self._factor = tree, LEG_LENGTH / leg_length
        self._scales, self._ranges = np.where(tree.are_slides, self._factor, 1.0), tree.ranges.T
        self._nodes, self._tasks = tree.scale_arrays(self._factor), scale_tasks(tasks, self._factor)
        self._task_scales = np.where(tasks.kinds == PLACE, self._factor, 1.0)[:, None]
        self._pairs = pairs._replace(ends=self._factor * pairs.ends, reaches=self._factor * pairs.reaches)
        self._low, self._high = self._ranges * self._scales
        self._speeds = _SPEED_SHARE * self._scales * speeds
        self._rest = self._scales * tree.rest_values
        joints = np.full(len(self._rest), _JOINT_WEIGHT)
        self._smoothing = smooth * np.concatenate([np.full(3, _PLACE_WEIGHT), np.full(3, _TURN_WEIGHT), joints])
        self._pull_to_rest = np.append(np.zeros(BASE_COLUMNS), np.full(len(self._rest), REST_WEIGHT))
        self._is_free = self._low != self._high
        self._speed = MeanSpeed()
        self._pose: FramePose | None = None
        self._scratch = _Scratch(len(tree.arrays.parents), tree.unknown_count)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out scratch arrays. Copies have their own."""
        return {name: value for name, value in vars(self).items() if name != "_scratch"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._scratch = _Scratch(len(self._tree.arrays.parents), self._tree.unknown_count)

    def begin(self, motion: JointMotion) -> None:
        """Begin with the robot as it is. Its speed is unknown."""
        w, x, y, z = rotations.from_matrix(motion.turns[0]).tolist()
        places, values = self._factor * motion.places[:1], self._scales * motion.values[:1]
        self._pose, self._speed = FramePose(places, (w, x, y, z), motion.turns[:1], values), MeanSpeed()

    def put(self, shift: Floats) -> None:
        """Put the robot elsewhere, by a shift (3,). Its speed is unknown."""
        assert self._pose is not None
        self._pose = self._pose._replace(places=self._pose.places + self._factor * shift)
        self._speed = MeanSpeed()

    def solve(self, targets: Floats, weights: Floats, dt: float) -> tuple[Floats, Quaternion, Floats]:
        """Solve the next frame, `dt` seconds later.

        Return place (3,) and rotation of the base, and values (K - 6,).

        targets  (m, 9) of the tasks
        weights  (m,) of the tasks
        """
        assert self._pose is not None
        self._tasks = self._tasks._replace(targets=(self._task_scales * targets)[None], weights=weights[None])
        last, aim = self._pose, self._find_aim(self._pose, dt)
        self._pose = here = self._descend(last, aim)
        turned = _find_turn(last.turn, here.turn)
        moved = np.concatenate([here.places[0] - last.places[0], turned, here.values[0] - last.values[0]])
        self._speed = self._speed.add(moved, dt)
        low, high = self._ranges
        return (
            here.places[0] / self._factor,
            here.turn,
            np.minimum(np.maximum(here.values[0] / self._scales, low), high),
        )

    def _find_aim(self, last: FramePose, dt: float) -> _Aim:
        """Find where the speed of the robot leads, and its limits."""
        most, frames = self._speeds * dt, dt * REFERENCE_FPS
        low, high = np.maximum(self._low, last.values - most), np.minimum(self._high, last.values + most)
        smoothing = self._smoothing / max(frames, _LEAST_FRAMES) ** 2
        speed = self._speed.value
        if speed is None:
            return _Aim(np.zeros((1, len(smoothing))), _UNKNOWN_SPEED_SHARE * smoothing, low, high)
        return _Aim((dt * _KEPT_SPEED**frames * speed)[None], smoothing, low, high)

    def _descend(self, last: FramePose, aim: _Aim) -> FramePose:
        """Take steps from where the speed leads, until one is short."""
        here, used = _move(last, aim.kept, aim), 0
        moved = np.array(aim.kept)
        moved[:, BASE_COLUMNS:] = here.values - last.values
        cost = self._measure(here, moved, aim, used)
        for count in range(1, _MAX_ROUNDS + 1):
            step = self._compute_step(here, aim, used)
            longest = float(np.abs(step[0, 3:]).max())
            if longest <= _SHORT_STEP_RAD and count >= _ROUNDS:
                return _move(here, step, aim)
            if longest > MAX_STEP:
                step *= MAX_STEP / longest
            here, step, cost = self._search(here, (moved, step), cost, aim, used)
            moved, used = moved + step, 1 - used
        return here

    def _search(
        self, here: FramePose, steps: tuple[Floats, Floats], cost: float, aim: _Aim, used: int
    ) -> tuple[FramePose, Floats, float]:
        """Go along a step, less far where it raises the cost.

        Parts that come into reach raise it, for which the step was not computed.
        Return the pose there, the step that was taken and its cost. The other matrix is that of the pose.

        steps  (1, K) to `here` from the last frame, and the next one
        """
        moved, step = steps
        slope = float(self._scratch.matrices[used][1][0] @ step[0])
        for _ in range(_MAX_SHORTENED):
            there = _move(here, step, aim)
            after = self._measure(there, moved + step, aim, 1 - used)
            if after < cost:
                return there, step, after
            share = 0.5 * slope / max(after - cost + slope, _TINY)  # the lowest place of a parabola
            least, most = _SHARES
            share = min(max(share, least), most)
            step, slope = share * step, share * slope
        there = _move(here, step, aim)
        return there, step, self._measure(there, moved + step, aim, 1 - used)

    def _measure(self, pose: FramePose, moved: Floats, aim: _Aim, used: int) -> float:
        """Measure the cost, with matrix and gradient.

        moved  (1, K) from the last frame
        used   which matrix is written
        """
        scratch = self._scratch
        hessians, gradients = scratch.matrices[used]
        measure_frames(
            *self._nodes, pose.places, pose.turns, pose.values, *self._tasks, *self._pairs, PAIR_WEIGHT, 1,
            hessians, gradients, scratch.costs, scratch.measure_work,
        )  # fmt: skip
        off, from_rest = moved[0] - aim.kept[0], pose.values[0] - self._rest
        pull = aim.smoothing * off
        gradients[0] -= pull
        gradients[0, BASE_COLUMNS:] -= REST_WEIGHT * from_rest
        hessians[0].ravel()[:: len(off) + 1] += aim.smoothing + self._pull_to_rest
        return float(scratch.costs[0] + 0.5 * (pull @ off) + 0.5 * REST_WEIGHT * (from_rest @ from_rest))

    def _compute_step(self, here: FramePose, aim: _Aim, used: int) -> Floats:
        """Compute a step (1, K). Unknowns that it takes over a limit go to it, and the others are solved again."""
        scratch = self._scratch
        hessians, gradients = scratch.matrices[used]
        free, given, to_low, to_high = scratch.free, scratch.given, aim.low - here.values, aim.high - here.values
        free[...], given[...] = True, 0.0
        slopes = gradients[:, BASE_COLUMNS:]
        stays = ((to_low >= -AT_LIMIT) & (slopes < 0.0)) | ((to_high <= AT_LIMIT) & (slopes > 0.0))
        free[:, BASE_COLUMNS:] = self._is_free & ~stays
        for _ in range(MAX_LIMIT_ROUNDS):
            compute_step(
                hessians, gradients, scratch.nothing, scratch.nothing, free, given, scratch.nothing[0], 0.0,
                scratch.damping, scratch.step, scratch.step_work,
            )  # fmt: skip
            steps = scratch.step[:, BASE_COLUMNS:]
            limited = np.minimum(np.maximum(steps, to_low), to_high)
            over = limited != steps
            if not over.any():
                break
            given[:, BASE_COLUMNS:][over] = limited[over]
            free[:, BASE_COLUMNS:][over] = False
        return scratch.step.copy()


def _move(pose: FramePose, step: Floats, aim: _Aim) -> FramePose:
    """Move a robot by a step (1, K), within limits."""
    turn = turn_by(pose.turn, *step[0, 3:BASE_COLUMNS].tolist())
    values = np.minimum(np.maximum(pose.values + step[:, BASE_COLUMNS:], aim.low), aim.high)
    return FramePose(pose.places + step[:, :3], turn, build_matrix(turn)[None], values)


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
        q[start + 3 : start + 7] = multiply(self._turn, turn)
        q[self._starts] = values[self._columns]
        for ball, column, unknown in self._balls:
            if unknown.axis is not None:
                q[ball : ball + 4] = rotations.about(unknown.axis, values[column])
            else:
                q[ball : ball + 4] = euler.to_quaternion(values[column : column + 3], unknown.order)
        return q


# --- Single rotations in plain numbers, which take a tenth of the time of arrays ---------------------


def turn_by(turn: Quaternion, x: float, y: float, z: float) -> Quaternion:
    """Turn a rotation by a rotation vector, from the left."""
    angle = math.sqrt(x * x + y * y + z * z)
    share = math.sin(0.5 * angle) / angle if angle > 0.0 else 0.5
    w, x, y, z = multiply((math.cos(0.5 * angle), share * x, share * y, share * z), turn)
    scale = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
    return scale * w, scale * x, scale * y, scale * z


def multiply(a: Quaternion, b: Quaternion) -> Quaternion:
    """Compose two rotations. The result rotates by b, then by a."""
    (aw, ax, ay, az), (w, x, y, z) = a, b
    return (
        aw * w - ax * x - ay * y - az * z,
        aw * x + ax * w + ay * z - az * y,
        aw * y + ay * w + az * x - ax * z,
        aw * z + az * w + ax * y - ay * x,
    )


def _find_turn(start: Quaternion, end: Quaternion) -> tuple[float, float, float]:
    """Find the rotation vector from one rotation to another."""
    w, x, y, z = multiply(end, (start[0], -start[1], -start[2], -start[3]))
    sine = math.sqrt(x * x + y * y + z * z)
    share = math.copysign(2.0, w) * math.atan2(sine, abs(w)) / sine if sine > 0.0 else 2.0
    return share * x, share * y, share * z


def build_matrix(turn: Quaternion) -> Floats:
    """Build the matrix (3, 3) of a rotation."""
    w, x, y, z = turn
    first = 1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)
    second = 2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)
    third = 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)
    return np.array((first, second, third))
