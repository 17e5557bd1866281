"""Descent over the frames of a robot's clip.

It takes Gauss-Newton steps, with limits and speeds.

Frames that have come to rest are left out: the others are solved in windows, each by itself, between frames that stay.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.ground.robot.tree import NodeArrays
from poise.kernels.clip_least_squares import (
    PAIR_ONSET,
    SLIDE,
    Tasks,
    compute_measure_size,
    compute_step4,
    compute_step8,
    compute_step_size,
    measure_frames,
    measure_ties,
)
from poise.kernels.clip_motion import find_free, limit_step, move_frames
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints, allocate_aligned, find_simd_width
from poise.maths.frame_masks import count_frames_to

# of the depth of capsules in each other [1 / length of `clip_solve`]: more than places of swinging feet and of the base
# have, whose squared weights are up to 100, less than those of standing feet
PAIR_WEIGHT = 40.0
# what is added to the diagonal of the matrix, in the unit of its weights (by squares of rad and lengths), which are 0.5
# to 6000: at first and at least it only keeps the matrix solvable. A step to a lower cost divides it by the factor
_FIRST_DAMPING, _LEAST_DAMPING, _DAMPING_FACTOR = 1e-3, 1e-5, 10.0
# of frames that a step makes worse: how much shorter it becomes there, how often, and how often before it becomes
# shorter in all frames; how many frames beside them go with them, and over how many more the step fades in
_SHORTER, _MAX_SHORTENED, _SHORTENED_ALONE = 0.4, 6, 2
_SHORTENED_AROUND, _FADED_AROUND = 3, 8
# least and largest damping of such frames in the next step, and the factor on what they had. A step of no use has the
# same factor on that of all frames, with no largest one; how many in a row end the descent
_HELD_DAMPING, _MOST_SHORTENED_DAMPING, _REFUSAL_FACTOR, _MAX_REFUSALS = 0.1, 10.0, 20.0, 3
# how many damped or shorter steps in a row may gain nothing: damping goes from one end to the other and back in five
_MAX_HELD = 8
# frames beside one with an unknown that goes to its limit that are solved anew
_LIMITED_AROUND = 10
# a frame is at rest after a shorter step, if damping did not hold it: a tenth of a millimetre of a person, a tenth of a
# degree
_REST_LENGTH, _REST_ANGLE_RAD = 1e-4, 2e-3
# frames beside one that moves that go on with it, frames that stay beside those, and the share of frames from which on
# all go on
_MOVED_AROUND, _ENDS, _MOST = 8, 2, 0.7


class JointMotion(NamedTuple):
    """Base and joints of a robot in all frames.

    places  (F, 3) of the base
    turns   (F, 3, 3) of the base
    values  (F, K - 6)
    """

    places: Floats
    turns: Floats
    values: Floats

    def take(self, frames: slice | Ints) -> JointMotion:
        """Take some frames."""
        return JointMotion(self.places[frames], self.turns[frames], self.values[frames])


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


class MotionProblem(NamedTuple):
    """The least squares of a clip, or of a window of it.

    nodes         the robot
    tasks         in all frames
    pairs         capsules to keep apart
    low, high     (K - 6,) limits of values
    most          (F - 1, K) largest steps
    speed_weight  of squared steps above these
    smoothing     (K,) weights of squared changes of step
    changes       (F, K) changes of step that a smooth motion has
    values        (F, K - 6) joints stay near to them
    near_weight   of squared distances from them
    is_moving     (F,) frames that may change
    """

    nodes: NodeArrays
    tasks: Tasks
    pairs: CapsulePairs
    low: Floats
    high: Floats
    most: Floats
    speed_weight: float
    smoothing: Floats
    changes: Floats
    values: Floats
    near_weight: float
    is_moving: Bools

    def take(self, frames: slice, is_moving: Bools) -> MotionProblem:
        """Take a window. `is_moving` are its frames that may change."""
        tasks = self.tasks
        return self._replace(
            tasks=tasks._replace(targets=tasks.targets[frames], weights=tasks.weights[frames]),
            most=self.most[frames.start : frames.stop - 1],
            changes=self.changes[frames],
            values=self.values[frames],
            is_moving=is_moving,
        )


class _Measured(NamedTuple):
    """Costs.

    cost      of all frames and ties
    costs     (F,) of frames alone
    """

    cost: float
    costs: Floats


class _Taken(NamedTuple):
    """A step to a lower cost.

    motion    after it
    measured  its costs
    gain      of the cost
    is_held   whether damping or a shorter step kept it small
    damping   (F,) of the next step
    moved     (F,) frames not at rest
    """

    motion: JointMotion
    measured: _Measured
    gain: float
    is_held: bool
    damping: Floats
    moved: Bools


def descend(
    problem: MotionProblem, motion: JointMotion, least_gain: float, max_rounds: int, damping: Floats | None = None
) -> tuple[JointMotion, int]:
    """Repeat steps until all frames are at rest. Also return how many rounds were needed.

    Frames that moved go on in windows of their own as soon as others are at rest.

    least_gain  a round that gains less of the cost is the last one
    damping     (F,) of the first step
    """
    frames = len(problem.is_moving)
    damping = np.full(frames, _FIRST_DAMPING) if damping is None else damping
    work, refusals, idle = _Work(problem), 0, 0
    before = work.measure(motion)
    for count in range(1, max_rounds + 1):
        taken = work.take_step(motion, before, damping)
        if taken is None:
            refusals += 1
            if refusals > _MAX_REFUSALS:
                return motion, count
            damping = np.maximum(_REFUSAL_FACTOR * damping, _HELD_DAMPING)
            before = work.measure(motion)  # matrices are those of what was refused
            continue
        idle = idle + 1 if taken.gain <= least_gain * before.cost else 0
        if idle > (_MAX_HELD if taken.is_held else 0):
            return taken.motion, count
        motion, before, damping, refusals = taken.motion, taken.measured, taken.damping, 0
        windows = _find_windows(taken.moved, problem.is_moving)
        if sum(stop - start for start, stop in windows) <= _MOST * frames or len(windows) > 1:
            del work  # windows have memory of their own
            motion = JointMotion(*(np.array(values) for values in motion))
            more = [
                _descend_window(problem, motion, window, least_gain, max_rounds - count, damping) for window in windows
            ]
            return motion, count + max(more, default=0)
    return motion, max_rounds


def _find_windows(moved: Bools, is_moving: Bools) -> list[tuple[int, int]]:
    """Find runs of frames, start to stop, around moved ones."""
    return _find_runs(is_moving & (count_frames_to(moved) <= _MOVED_AROUND))


def _find_runs(frames: Bools) -> list[tuple[int, int]]:
    """Find runs of frames, start to stop."""
    edges = np.diff(np.concatenate([[False], frames, [False]]).astype(np.int8))
    return list(zip(np.flatnonzero(edges > 0).tolist(), np.flatnonzero(edges < 0).tolist(), strict=True))


def _descend_window(
    problem: MotionProblem,
    motion: JointMotion,
    window: tuple[int, int],
    least_gain: float,
    max_rounds: int,
    damping: Floats,
) -> int:
    """Descend in a window of a motion. Return how many rounds were needed.

    The motion is changed there; frames beside it stay.
    """
    frames = slice(max(window[0] - _ENDS, 0), min(window[1] + _ENDS, len(problem.is_moving)))
    is_moving = np.zeros(len(problem.is_moving), dtype=np.bool_)
    is_moving[window[0] : window[1]] = True
    part = problem.take(frames, is_moving[frames])
    solved, rounds = descend(part, motion.take(frames), least_gain, max_rounds, damping[frames])
    for values, found in zip(motion, solved, strict=True):
        values[frames] = found
    return rounds


class _Work:
    """Measures and steps of a problem, with their scratch memory."""

    def __init__(self, problem: MotionProblem) -> None:
        frames, unknowns = problem.changes.shape
        self._problem = problem
        self._hessians = np.empty((frames, unknowns, unknowns))
        self._gradients = np.empty((frames, unknowns))
        self._changes, self._excess, self._stiffness = (np.empty((frames, unknowns)) for _ in range(3))
        self._rest = _list_rest_steps(problem.nodes, unknowns)
        self._measure_work = np.empty(compute_measure_size(len(problem.nodes.parents)) + len(problem.pairs.nodes))
        self._step_work = allocate_aligned(compute_step_size(frames, unknowns))

    def take_step(self, motion: JointMotion, before: _Measured, damping: Floats) -> _Taken | None:
        """Take a step to a lower cost. None where there is none.

        Frames that it makes worse go a shorter way, and those beside them, until the cost is lower; at last all do:
        speeds are costs between frames. What was shortened is damped in the next step.
        """
        step, share = self._compute_step(motion, damping), np.ones(len(damping))
        is_held = damping >= _HELD_DAMPING  # steps are small there wherever the lowest cost is
        for count in range(_MAX_SHORTENED):
            moved, is_moved = self._move(motion, step, share)
            after = self.measure(moved)
            if after.cost < before.cost:
                is_shorter = share < 1.0
                damping = np.where(
                    is_shorter,
                    np.clip(_REFUSAL_FACTOR * damping, _HELD_DAMPING, _MOST_SHORTENED_DAMPING),
                    np.maximum(damping / _DAMPING_FACTOR, _LEAST_DAMPING),
                )
                is_held |= is_shorter
                return _Taken(moved, after, before.cost - after.cost, bool(is_held.any()), damping, is_moved | is_held)
            is_worse = (after.costs > before.costs) & self._problem.is_moving
            if count >= _SHORTENED_ALONE or not is_worse.any():  # without a worse frame, it is the ties
                is_worse[:] = True
            to_worse = count_frames_to(is_worse)
            share = share * np.clip((to_worse - _SHORTENED_AROUND) / _FADED_AROUND, _SHORTER, 1.0)
        return None

    def _compute_step(self, motion: JointMotion, damping: Floats) -> Floats:
        """Compute a step (F, K).

        Unknowns that it takes over a limit go to the limit, and the others are solved anew.
        """
        problem, values = self._problem, motion.values
        free, is_limited = np.empty(self._gradients.shape, np.bool_), np.empty(len(values), np.bool_)
        find_free(values, self._gradients, problem.low, problem.high, problem.is_moving, free)
        compute_step = compute_step8 if find_simd_width() == 8 else compute_step4  # noqa: PLR2004
        given, step = np.zeros_like(self._gradients), np.empty_like(self._gradients)
        ties = self._changes, self._excess, self._stiffness
        compute_step(
            self._hessians, self._gradients, *ties, free, given, problem.smoothing, damping, step, self._step_work
        )
        if not limit_step(values, step, problem.low, problem.high, free, given, is_limited):
            return step
        for start, stop in _find_runs(count_frames_to(is_limited) <= _LIMITED_AROUND):
            frames = slice(max(start - _ENDS, 0), stop + _ENDS)
            may_move, known, found = free[frames].copy(), given[frames].copy(), step[frames].copy()
            for ends in (slice(start - frames.start), slice(stop - frames.start, None)):  # what they do stays
                may_move[ends], known[ends] = False, found[ends]
            compute_step(
                self._hessians[frames], self._gradients[frames], *(rows[frames] for rows in ties), may_move, known,
                problem.smoothing, damping[frames], found, self._step_work,
            )  # fmt: skip
            step[frames] = found
        return step

    def _move(self, motion: JointMotion, step: Floats, share: Floats) -> tuple[JointMotion, Bools]:
        """Move by shares of a step, as far as limits allow. Also return the frames not at rest."""
        moved = JointMotion(*(np.empty_like(rows) for rows in motion))
        is_moved = np.empty(len(share), np.bool_)
        move_frames(*motion, step, share, self._rest, self._problem.low, self._problem.high, *moved, is_moved)
        return moved, is_moved

    def measure(self, motion: JointMotion) -> _Measured:
        """Measure the cost, matrices and gradients."""
        problem, costs = self._problem, np.empty(len(motion.places))
        measure_frames(
            *problem.nodes, *motion, *problem.tasks, *problem.pairs, PAIR_WEIGHT, self._hessians,
            self._gradients, costs, self._measure_work,
        )  # fmt: skip
        cost = measure_ties(
            *motion, motion.turns.reshape(-1, 9), problem.values, problem.changes, problem.most, problem.smoothing,
            problem.speed_weight, problem.near_weight, self._changes, self._excess, self._stiffness, self._hessians,
            self._gradients,
        )  # fmt: skip
        return _Measured(float(costs.sum()) + cost, costs)


def find_deep_frames(problem: MotionProblem, motion: JointMotion, depth: float) -> Bools:
    """Find frames (F,) with parts too near. They cost more than one pair that is too near by `depth`."""
    tasks = problem.tasks
    none = Tasks(
        tasks.kinds[:0], tasks.nodes[:0], tasks.points[:0],
        np.ascontiguousarray(tasks.targets[:, :0]), np.ascontiguousarray(tasks.weights[:, :0]),
    )  # fmt: skip
    costs = _Work(problem._replace(tasks=none)).measure(motion).costs
    return costs > 0.5 * (PAIR_WEIGHT * (depth - 0.5 * PAIR_ONSET)) ** 2


def _list_rest_steps(nodes: NodeArrays, unknowns: int) -> Floats:
    """List the largest steps (K,) of unknowns at rest. Those of slides are lengths."""
    rest = np.full(unknowns, _REST_ANGLE_RAD)
    rest[:3] = rest[nodes.columns[(nodes.kinds == SLIDE) & (nodes.columns >= 0)]] = _REST_LENGTH
    return rest


def list_steps(motion: JointMotion) -> Floats:
    """List the steps (F - 1, K) from frame to frame."""
    turns = rotations.from_matrix(motion.turns[1:] @ np.swapaxes(motion.turns[:-1], 1, 2))
    parts = [np.diff(motion.places, axis=0), rotations.as_vector(turns), np.diff(motion.values, axis=0)]
    return np.concatenate(parts, axis=1)


def list_changes(steps: Floats) -> Floats:
    """List the changes (F, K) of steps (F - 1, K). They are 0 at both ends."""
    changes = np.zeros((len(steps) + 1, steps.shape[1]))
    changes[1:-1] = np.diff(steps, axis=0)
    return changes
