"""Solve of a whole clip for a robot.

Gauss-Newton steps go over all frames, with limits and speeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poise.ground.robot.tree import RobotTree
from poise.kernels.clip_least_squares import (
    AT_LIMIT,
    BASE_COLUMNS,
    MAX_LIMIT_ROUNDS,
    MAX_STEP,
    PLACE,
    REFERENCE_FPS,
    Tasks,
    compute_measure_size,
    compute_step,
    compute_step_size,
    measure_frames,
)
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints, allocate_aligned
from poise.maths.frame_masks import count_frames_to

# Lengths are solved in those of a robot whose leg (thigh and shin) is this long, whatever the unit of its file.
LEG_LENGTH = 0.6
# weights of squared changes of step at 60 frames a second: joints [1/rad], place and rotation of the base
_JOINT_SMOOTHING, _PLACE_SMOOTHING, _TURN_SMOOTHING = 1.5, 200.0, 1.0
# the same of what is added to a given motion: feet that are moved move the base over a tenth of a second
_NEAR_JOINT_SMOOTHING, _NEAR_PLACE_SMOOTHING, _NEAR_TURN_SMOOTHING = 40.0, 20000.0, 1000.0
# weight of squared distances of joints from rest: joints that no task needs
REST_WEIGHT = 1e-3
# the same of joints from those of a given motion [1/rad]
_NEAR_WEIGHT = 1.0
# weights of speeds above the limit, of which a part is aimed at, and of capsules
_SPEED_WEIGHT, _SPEED_SHARE = 15000.0, 0.96
PAIR_WEIGHT = 40.0
_MAX_ROUNDS = 20
# the largest weight of a task in the first stages, and that of speeds; the gains of a round that end these stages
_SOFT_WEIGHT, _SOFT_SPEED_WEIGHT, _SOFT_GAIN, _APART_GAIN = 10.0, 2000.0, 0.05, 0.01
_MAX_REFUSALS, _REFUSALS_OF_FRAMES = 6, 3
# a round that gains less of the cost is the last one: with more, speeds stay 2 % above their limits
_MIN_GAIN = 1e-4
_FIRST_DAMPING, _LEAST_DAMPING, _DAMPING_FACTOR = 1e-3, 1e-5, 10.0
# of frames that a step makes worse, and how many frames beside them go with them
_REFUSED_DAMPING, _REFUSAL_FACTOR, _DAMPED_AROUND = 0.1, 20.0, 3
# how much shorter a step is then, and how often
_SHORTER, _MAX_SHORTENED = 0.25, 6


class CapsulePairs(NamedTuple):
    """Pairs of capsules to keep apart.

    nodes    (p, 2)
    ends     (p, 4, 3) in the nodes' frames
    reaches  (p,) distance of both axes from which on they are too near
    """

    nodes: Ints
    ends: Floats
    reaches: Floats


NO_PAIRS = CapsulePairs(np.zeros((0, 2), dtype=np.int64), np.zeros((0, 4, 3)), np.zeros(0))


class LinkTask(NamedTuple):
    """A task of all frames, as in `clip_least_squares.Tasks`. Targets are (F, 3) or (F, 9)."""

    kind: int
    node: int
    point: Floats
    targets: Floats
    weights: Floats


def join_tasks(tasks: Sequence[LinkTask]) -> Tasks:
    """Join tasks into arrays."""
    kinds, nodes, points, targets, weights = zip(*tasks, strict=True)
    full = np.zeros((len(weights[0]), len(tasks), 9))
    for column, rows in enumerate(targets):
        full[:, column, : rows.shape[1]] = rows
    return Tasks(
        np.array(kinds, dtype=np.int64), np.array(nodes, dtype=np.int64), np.array(points), full,
        np.ascontiguousarray(np.stack(weights, axis=1)),
    )  # fmt: skip


class JointMotion(NamedTuple):
    """Base and joints of a robot in all frames.

    places  (F, 3) of the base
    turns   (F, 3, 3) of the base
    values  (F, K - 6)
    """

    places: Floats
    turns: Floats
    values: Floats


class _Reference(NamedTuple):
    """A motion. Joints stay near to it.

    values     (K - 6,) or (F, K - 6)
    weight     of squared distances from them
    changes    (F, K) changes of step that a smooth motion has
    smoothing  weights of squared changes beside these: place and rotation of the base, joints
    """

    values: Floats
    weight: float
    changes: Floats
    smoothing: tuple[float, float, float]


class _Measured(NamedTuple):
    """Costs, and what a step is computed from."""

    cost: float
    changes: Floats
    excess: Floats


def solve_motion(
    tree: RobotTree,
    tasks: Tasks,
    pairs: CapsulePairs,
    start: JointMotion,
    times: Floats,
    speeds: Floats,
    leg_length: float,
    smooth: float = 1.0,
    near: JointMotion | None = None,
) -> tuple[JointMotion, int]:
    """Solve all frames of a clip at once. Also return how many rounds were needed.

    times       (F,) of the frames [s]
    speeds      (K - 6,) largest speeds; infinite where there are none
    leg_length  of the robot, by which lengths are scaled
    smooth      factor on the weights of changes of step
    near        the motion near to which joints stay, with its changes of step; None: near to rest, and smooth
    """
    factor = LEG_LENGTH / leg_length
    scales = np.where(tree.are_slides, factor, 1.0)
    pairs = pairs._replace(ends=factor * pairs.ends, reaches=factor * pairs.reaches)
    scaled = scale_tasks(tasks, factor)
    if near is None:
        reference = _Reference(
            scales * tree.rest_values, REST_WEIGHT, np.zeros((len(times), tree.unknown_count)),
            (_PLACE_SMOOTHING, _TURN_SMOOTHING, _JOINT_SMOOTHING),
        )  # fmt: skip
    else:
        near = _scale_motion(near, factor, scales)
        reference = _Reference(
            near.values, _NEAR_WEIGHT, _list_changes(_list_steps(near)),
            (_NEAR_PLACE_SMOOTHING, _NEAR_TURN_SMOOTHING, _NEAR_JOINT_SMOOTHING),
        )  # fmt: skip
    solver = _Solver(tree, scaled, pairs, times, speeds, factor, smooth, reference)
    solved, rounds = solver.solve(_scale_motion(start, factor, scales))
    low, high = tree.ranges.T
    return JointMotion(solved.places / factor, solved.turns, np.clip(solved.values / scales, low, high)), rounds


def scale_tasks(tasks: Tasks, factor: float) -> Tasks:
    """Scale the lengths of tasks. Weights are for the scaled ones."""
    scales = np.where(tasks.kinds == PLACE, factor, 1.0)
    return tasks._replace(points=scales[:, None] * tasks.points, targets=scales[:, None] * tasks.targets)


def _scale_motion(motion: JointMotion, factor: float, scales: Floats) -> JointMotion:
    """Scale the lengths of a motion."""
    return motion._replace(places=factor * motion.places, values=scales * motion.values)


class _Solver:
    """The solve of one clip."""

    def __init__(
        self,
        tree: RobotTree,
        tasks: Tasks,
        pairs: CapsulePairs,
        times: Floats,
        speeds: Floats,
        factor: float,
        smooth: float,
        reference: _Reference,
    ) -> None:
        frames, unknowns = len(tasks.targets), tree.unknown_count
        self._nodes, self._tasks, self._pairs, self._active_pairs = tree.scale_arrays(factor), tasks, pairs, NO_PAIRS
        self._speed_weight = _SOFT_SPEED_WEIGHT
        scales, steps_s = np.where(tree.are_slides, factor, 1.0), np.diff(times)
        self._low, self._high = tree.ranges.T * scales
        self._reference = reference
        self._most = np.full((len(steps_s), unknowns), np.inf)
        self._most[:, BASE_COLUMNS:] = _SPEED_SHARE * steps_s[:, None] * (scales * speeds)
        rate = smooth * ((1.0 / (float(np.median(steps_s)) * REFERENCE_FPS)) ** 3 if len(steps_s) else 1.0)
        place, turn, joint = reference.smoothing
        self._smoothing = np.full(unknowns, joint * rate)
        self._smoothing[:3], self._smoothing[3:6] = place * rate, turn * rate
        self._hessians = np.empty((frames, unknowns, unknowns))
        self._gradients = np.empty((frames, unknowns))
        self._costs = np.empty(frames)
        self._step = np.empty((frames, unknowns))
        self._measure_work = np.empty(compute_measure_size(len(tree.arrays.parents)))
        self._step_work = allocate_aligned(compute_step_size(frames, unknowns))

    def solve(self, motion: JointMotion) -> tuple[JointMotion, int]:
        """Repeat steps until they gain nothing.

        Weights are soft first, then capsules are kept apart, then weights are full. Firm feet would leave no way out to
        limbs that are deep in others.
        """
        firm, rounds = self._tasks, 0
        soft = firm._replace(weights=np.minimum(firm.weights, _SOFT_WEIGHT))
        stages = [
            (soft, NO_PAIRS, _SOFT_SPEED_WEIGHT, _SOFT_GAIN),
            (soft, self._pairs, _SOFT_SPEED_WEIGHT, _APART_GAIN),
            (firm, self._pairs, _SPEED_WEIGHT, _MIN_GAIN),
        ]
        for tasks, pairs, speed_weight, least_gain in stages if len(self._pairs.nodes) else stages[::2]:
            self._tasks, self._active_pairs, self._speed_weight = tasks, pairs, speed_weight
            motion, count = self._solve_stage(motion, least_gain)
            rounds += count
        return motion, rounds

    def _solve_stage(self, motion: JointMotion, least_gain: float) -> tuple[JointMotion, int]:
        """Repeat steps until one gains less than a share of the cost."""
        damping = np.full(len(motion.places), _FIRST_DAMPING)
        for count in range(1, _MAX_ROUNDS + 1):
            before = self._measure(motion, with_matrix=True)
            moved, after, damping = self._take_step(motion, before, damping)
            if after is None:
                return motion, count
            motion = moved
            if before.cost - after.cost <= least_gain * before.cost:
                return motion, count
        return motion, _MAX_ROUNDS

    def _take_step(
        self, motion: JointMotion, before: _Measured, damping: Floats
    ) -> tuple[JointMotion, _Measured | None, Floats]:
        """Take a step to a lower cost.

        Frames that it makes worse are damped until it is lower, then all: speeds are costs between frames. The last
        resort is a shorter step of all frames: joints that are all too slow for it would part where damping differs.
        """
        costs, first = self._costs.copy(), damping
        for refusals in range(_MAX_REFUSALS):
            self._compute_step(motion, before, damping)
            moved = self._move(motion)
            after = self._measure(moved, with_matrix=False)
            if after.cost < before.cost:
                return moved, after, np.maximum(_LEAST_DAMPING, damping / _DAMPING_FACTOR)
            worse = (count_frames_to(self._costs > costs) <= _DAMPED_AROUND) | (refusals >= _REFUSALS_OF_FRAMES)
            damping = np.where(worse, np.maximum(_REFUSAL_FACTOR * damping, _REFUSED_DAMPING), damping)
        self._compute_step(motion, before, first)
        for _ in range(_MAX_SHORTENED):
            self._step *= _SHORTER
            moved = self._move(motion)
            after = self._measure(moved, with_matrix=False)
            if after.cost < before.cost:
                return moved, after, first
        return motion, None, damping

    def _compute_step(self, motion: JointMotion, before: _Measured, damping: Floats) -> None:
        """Compute a step. Unknowns that it takes over a limit go to the limit, and the others are solved anew."""
        free = self._find_free(motion)
        given = np.zeros_like(self._gradients)
        to_low, to_high = self._low - motion.values, self._high - motion.values
        for _ in range(MAX_LIMIT_ROUNDS):
            compute_step(
                self._hessians, self._gradients, before.changes, before.excess, free, given,
                self._smoothing, self._speed_weight, damping, self._step, self._step_work,
            )  # fmt: skip
            steps = self._step[:, BASE_COLUMNS:]
            over = free[:, BASE_COLUMNS:] & ((steps < to_low - AT_LIMIT) | (steps > to_high + AT_LIMIT))
            if not over.any():
                break
            given[:, BASE_COLUMNS:][over] = np.clip(steps, to_low, to_high)[over]
            free[:, BASE_COLUMNS:][over] = False

    def _find_free(self, motion: JointMotion) -> Bools:
        """Find the unknowns free to change.

        Those at a limit may not go on, those with a range of one value may not move.
        """
        free = np.ones_like(self._gradients, dtype=np.bool_)
        ways = self._gradients[:, BASE_COLUMNS:]
        free[:, BASE_COLUMNS:] = ~(
            ((motion.values <= self._low + AT_LIMIT) & (ways < 0.0))
            | ((motion.values >= self._high - AT_LIMIT) & (ways > 0.0))
            | (self._low == self._high)
        )
        return free

    def _move(self, motion: JointMotion) -> JointMotion:
        """Move by the step, as far as limits allow."""
        longest = float(np.abs(self._step[:, 3:]).max())
        step = self._step * min(1.0, MAX_STEP / max(longest, 1e-300))
        turned = rotations.as_matrix(rotations.from_vector(step[:, 3:BASE_COLUMNS])) @ motion.turns
        values = np.clip(motion.values + step[:, BASE_COLUMNS:], self._low, self._high)
        return JointMotion(motion.places + step[:, :3], turned, values)

    def _measure(self, motion: JointMotion, *, with_matrix: bool) -> _Measured:
        """Measure the cost; also matrices and gradients, if wanted."""
        measure_frames(
            *self._nodes, *motion, *self._tasks, *self._active_pairs, PAIR_WEIGHT, int(with_matrix),
            self._hessians, self._gradients, self._costs, self._measure_work,
        )  # fmt: skip
        values, weight, kept, _ = self._reference
        off = motion.values - values
        cost = float(self._costs.sum()) + 0.5 * weight * float((off * off).sum())
        if with_matrix:
            self._gradients[:, BASE_COLUMNS:] -= weight * off
            diagonal = np.arange(BASE_COLUMNS, self._gradients.shape[1])
            self._hessians[:, diagonal, diagonal] += weight
        steps = _list_steps(motion)
        changes, excess = _list_changes(steps) - kept, np.zeros_like(self._gradients)
        excess[1:] = np.sign(steps) * np.maximum(np.abs(steps) - self._most, 0.0)
        cost += 0.5 * float((self._smoothing * changes * changes).sum())
        cost += 0.5 * self._speed_weight * float((excess * excess).sum())
        return _Measured(cost, changes, excess)


def _list_steps(motion: JointMotion) -> Floats:
    """List the steps (F - 1, K) from frame to frame."""
    turns = rotations.from_matrix(motion.turns[1:] @ np.swapaxes(motion.turns[:-1], 1, 2))
    parts = [np.diff(motion.places, axis=0), rotations.as_vector(turns), np.diff(motion.values, axis=0)]
    return np.concatenate(parts, axis=1)


def _list_changes(steps: Floats) -> Floats:
    """List the changes (F, K) of steps (F - 1, K). They are 0 at both ends."""
    changes = np.zeros((len(steps) + 1, steps.shape[1]))
    changes[1:-1] = np.diff(steps, axis=0)
    return changes
