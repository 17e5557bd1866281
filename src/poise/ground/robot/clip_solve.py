"""Solve of a whole clip for a robot.

Gauss-Newton steps go over all frames, with limits and speeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poise.ground.robot.clip_descent import (
    NO_PAIRS,
    CapsulePairs,
    JointMotion,
    MotionProblem,
    descend,
    find_deep_frames,
    list_changes,
    list_steps,
)
from poise.ground.robot.tree import NodeArrays, RobotTree
from poise.kernels.clip_least_squares import BASE_COLUMNS, PLACE, REFERENCE_FPS, Tasks
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints
from poise.maths.frame_masks import count_frames, count_frames_to

# Lengths are solved in those of a robot whose leg (thigh and shin) is this long, whatever the unit of its file.
LEG_LENGTH = 0.6
# weights of squared changes of step at 60 frames a second: joints [1/rad^2], place and rotation of the base
_JOINT_SMOOTHING, _PLACE_SMOOTHING, _TURN_SMOOTHING = 1.5, 200.0, 1.0
# the same of what is added to a given motion: feet that are moved move the base over a tenth of a second
_NEAR_JOINT_SMOOTHING, _NEAR_PLACE_SMOOTHING, _NEAR_TURN_SMOOTHING = 40.0, 20000.0, 1000.0
# weight of squared distances of joints from rest [1/rad^2]: for ways of joints to change without any task
REST_WEIGHT = 1e-3
# the same of joints from those of a given motion [1/rad^2]
_NEAR_WEIGHT = 1.0
# weights of speeds above the limit, of which a part is aimed at, and of capsules
_SPEED_WEIGHT, _SPEED_SHARE = 15000.0, 0.93
_MAX_ROUNDS = 60
# the largest weight of a task in the first stages, and that of speeds; the gains of a round that end these stages, and
# the time between their frames
_SOFT_WEIGHT, _SOFT_SPEED_WEIGHT, _SOFT_GAIN, _APART_GAIN = 10.0, 2000.0, 0.05, 0.01
_COARSE_STEP_S = 1.0 / 15.0
# scaled length by which parts are too near where frames come out together, 2 % of the leg; [s] beside these frames that
# come along; and the factor on their smoothing
_DEEP, _DEEP_AROUND_S, _DEEP_SMOOTHING = 0.01318, 0.1, 16.0
# a round that gains less of the cost is the last one: with more, speeds stay 2 % above their limits
_MIN_GAIN = 1e-4


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
    start = _scale_motion(start, factor, scales)
    clip = _Clip(
        tree.scale_arrays(factor),
        scale_tasks(tasks, factor),
        pairs._replace(ends=factor * pairs.ends, reaches=factor * pairs.reaches),
        times,
        tree.ranges * scales[:, None],
        scales * speeds,
        scales * tree.rest_values,
        smooth,
        None if near is None else _scale_motion(near, factor, scales),
    )
    needed = _find_needed(clip, start)
    solved, rounds = _solve(_leave_out(clip, needed), start._replace(values=np.compress(needed, start.values, axis=1)))
    values = start.values.copy()
    values[:, needed] = solved.values
    low, high = tree.ranges.T
    return JointMotion(solved.places / factor, solved.turns, np.clip(values / scales, low, high)), rounds


def scale_tasks(tasks: Tasks, factor: float) -> Tasks:
    """Scale the lengths of tasks. Weights are for the scaled ones."""
    scales = np.where(tasks.kinds == PLACE, factor, 1.0)
    return tasks._replace(points=scales[:, None] * tasks.points, targets=scales[:, None] * tasks.targets)


def _scale_motion(motion: JointMotion, factor: float, scales: Floats) -> JointMotion:
    """Scale the lengths of a motion."""
    return motion._replace(places=factor * motion.places, values=scales * motion.values)


class _Clip(NamedTuple):
    """A clip to solve, in scaled lengths.

    nodes   of the robot
    tasks   in all frames
    pairs   capsules to keep apart
    times   (F,) [s]
    ranges  (K - 6, 2) of values
    speeds  (K - 6,) largest ones
    rest    (K - 6,) values at rest
    smooth  factor on the weights of changes of step
    near    the motion near to which joints stay, if any
    """

    nodes: NodeArrays
    tasks: Tasks
    pairs: CapsulePairs
    times: Floats
    ranges: Floats
    speeds: Floats
    rest: Floats
    smooth: float
    near: JointMotion | None

    def take(self, frames: Ints) -> _Clip:
        """Take some frames."""
        tasks = self.tasks
        return self._replace(
            tasks=tasks._replace(targets=tasks.targets[frames], weights=tasks.weights[frames]),
            times=self.times[frames],
            near=None if self.near is None else self.near.take(frames),
        )

    def build(self) -> MotionProblem:
        """Build the least squares."""
        frames, unknowns = len(self.times), BASE_COLUMNS + len(self.rest)
        steps_s = np.diff(self.times)
        most = np.full((len(steps_s), unknowns), np.inf)
        most[:, BASE_COLUMNS:] = _SPEED_SHARE * steps_s[:, None] * self.speeds
        if self.near is None:
            values, weight, changes = np.tile(self.rest, (frames, 1)), REST_WEIGHT, np.zeros((frames, unknowns))
            place, turn, joint = _PLACE_SMOOTHING, _TURN_SMOOTHING, _JOINT_SMOOTHING
        else:
            values, weight, changes = self.near.values, _NEAR_WEIGHT, list_changes(list_steps(self.near))
            place, turn, joint = _NEAR_PLACE_SMOOTHING, _NEAR_TURN_SMOOTHING, _NEAR_JOINT_SMOOTHING
        rate = self.smooth * ((1.0 / (float(np.median(steps_s)) * REFERENCE_FPS)) ** 3 if len(steps_s) else 1.0)
        smoothing = np.full(unknowns, joint * rate)
        smoothing[:3], smoothing[3:BASE_COLUMNS] = place * rate, turn * rate
        low, high = np.ascontiguousarray(self.ranges.T)
        return MotionProblem(
            self.nodes, self.tasks, self.pairs, low, high, most, _SPEED_WEIGHT, smoothing, changes, values, weight,
            np.ones(frames, dtype=np.bool_),
        )  # fmt: skip


def _find_needed(clip: _Clip, start: JointMotion) -> Bools:
    """Find the unknowns (K - 6,) with a task. Those that begin too fast have one, too."""
    nodes, steps_s = _mark_nodes(clip), np.diff(clip.times)[:, None]
    columns = clip.nodes.columns[nodes & (clip.nodes.columns >= 0)]
    needed: Bools = np.any(np.abs(np.diff(start.values, axis=0)) > _SPEED_SHARE * steps_s * clip.speeds, axis=0)
    needed[columns - BASE_COLUMNS] = True
    return needed


def _mark_nodes(clip: _Clip) -> Bools:
    """Mark the nodes (n,) from the base to tasks."""
    parents = clip.nodes.parents
    marked = np.zeros(len(parents), dtype=np.bool_)
    marked[0] = marked[clip.tasks.nodes] = marked[clip.pairs.nodes.ravel()] = True
    for node in range(len(parents) - 1, 0, -1):
        marked[parents[node]] |= marked[node]
    return marked


def _leave_out(clip: _Clip, needed: Bools) -> _Clip:
    """Leave out nodes without a task, and unknowns not needed."""
    marked, nodes = _mark_nodes(clip), clip.nodes
    numbers = np.cumsum(marked) - 1
    columns = np.append(BASE_COLUMNS + np.cumsum(needed) - 1, -1)  # the last one is that of fixed nodes
    kept_columns = nodes.columns[marked]
    places = np.where(kept_columns < 0, len(needed), kept_columns - BASE_COLUMNS)
    near = clip.near
    return clip._replace(
        nodes=NodeArrays(
            numbers[nodes.parents[marked]],
            nodes.offsets[marked],
            nodes.turns[marked],
            nodes.axes[marked],
            nodes.kinds[marked],
            columns[places],
            nodes.ratios[marked],
            nodes.constants[marked],
        ),
        tasks=clip.tasks._replace(nodes=numbers[clip.tasks.nodes]),
        pairs=clip.pairs._replace(nodes=numbers[clip.pairs.nodes]),
        ranges=clip.ranges[needed],
        speeds=clip.speeds[needed],
        rest=clip.rest[needed],
        near=None if near is None else near._replace(values=np.compress(needed, near.values, axis=1)),
    )


def _solve(clip: _Clip, motion: JointMotion) -> tuple[JointMotion, int]:
    """Solve a clip in stages.

    Weights are soft first, then capsules are kept apart, in a part of the frames. Then weights are full, in all frames.
    Firm feet would leave no way out to limbs that are deep in others. Frames between two of that part in which limbs
    are deep come out together: each would come out at the side that is nearest to it.
    """
    stride = max(1, count_frames(clip.times, _COARSE_STEP_S))
    # evenly, as changes of step count as if all steps took the same time
    frames = np.rint(np.linspace(0, len(clip.times) - 1, 1 + -(-(len(clip.times) - 1) // stride))).astype(np.int64)
    coarse = clip.take(frames).build()
    weights = np.minimum(coarse.tasks.weights, _SOFT_WEIGHT)
    soft = coarse._replace(tasks=coarse.tasks._replace(weights=weights), speed_weight=_SOFT_SPEED_WEIGHT)
    begun = motion.take(frames)
    found, rounds = descend(soft._replace(pairs=NO_PAIRS), begun, _SOFT_GAIN, _MAX_ROUNDS)
    if len(clip.pairs.nodes):
        found, more = descend(soft, found, _APART_GAIN, _MAX_ROUNDS)
        rounds += more
    problem, found = clip.build(), _resample(found, clip.times[frames], clip.times)
    if len(clip.pairs.nodes):
        deep = find_deep_frames(problem, found, _DEEP)
        if deep.any():
            deep = count_frames_to(deep) <= count_frames(clip.times, _DEEP_AROUND_S)
            smooth = problem._replace(smoothing=_DEEP_SMOOTHING * problem.smoothing, is_moving=deep)
            found, more = descend(smooth, found, _APART_GAIN, _MAX_ROUNDS)
            rounds += more
    solved, more = descend(problem, found, _MIN_GAIN, _MAX_ROUNDS)
    return solved, rounds + more


def _resample(motion: JointMotion, times: Floats, wanted: Floats) -> JointMotion:
    """Resample a motion at wanted times, between its own."""
    if len(times) == len(wanted):
        return motion
    after = np.clip(np.searchsorted(times, wanted, side="right"), 1, len(times) - 1)
    share = ((wanted - times[after - 1]) / (times[after] - times[after - 1]))[:, None]
    first, last = motion.take(after - 1), motion.take(after)
    way = rotations.as_vector(rotations.from_matrix(last.turns @ np.swapaxes(first.turns, 1, 2)))
    return JointMotion(
        first.places + share * (last.places - first.places),
        rotations.as_matrix(rotations.from_vector(share * way)) @ first.turns,
        first.values + share * (last.values - first.values),
    )
