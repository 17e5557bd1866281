# pyright: standard
"""Least squares of a single frame of a robot.

It begins at the frame before, with the tasks of `clip_least_squares`. Squared distances from where the robot's speed
leads are added, and limits by range and speed hold. Gauss-Newton steps are taken until one is short; one that raises
the cost is shortened.

State of a robot of K unknowns, in two arrays:

    pose   (1 + K,)  place and rotation (w x y z) of the base, then K - 6 values
    speed  (K + 2,)  sum of steps and of their times, both with weights that decay; 0 where it is unknown, else 1
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from poise.kernels.clip_least_squares import (
    AT_LIMIT,
    BASE_COLUMNS,
    MAX_LIMIT_ROUNDS,
    MAX_STEP,
    PLACE,
    REFERENCE_FPS,
    CapsuleArrays,
    StepProblem,
    Tasks,
    Tree,
    compute_measure_size,
    compute_step_size,
    measure_frame,
    solve_step,
    write_spans,
)
from poise.kernels.device_functions import device_function, inline
from poise.kernels.entries import kernel
from poise.kernels.lanes import LANES4, SCALAR, view_lanes
from poise.kernels.mean_speeds import decay_speed, get_seconds, is_known
from poise.kernels.vec_quat import Quat, Vec, conjugate, multiply, normalise, read_quat_at, write_quat_at

BASE = 7  # numbers of the base in a pose
FIRST_ANGLE = 3  # the first column of a step that is no place
# part of the speed that is kept in a frame at 60 frames a second; weights of squared distances from where it leads
# grow with the square of the frame rate, for frames of at least this part of a 60th of a second
_KEPT_SPEED, _LEAST_FRAMES = 0.8, 0.1
# of these weights where no speed is known
_UNKNOWN_SPEED_SHARE = 0.01
# rounds of a frame at least and at most, and a step that needs no other behind it [rad]
_ROUNDS, _MAX_ROUNDS, _SHORT_STEP_RAD = 2, 8, 0.005
# how often a step that raises the cost is shortened, and to which share at least and at most
_MAX_SHORTENED, _LEAST_SHARE, _MOST_SHARE = 3, 0.1, 0.5
_DAMPING, _TINY = 1e-5, 1e-300


class FrameProblem(NamedTuple):
    """What is the same for all steps of a frame.

    tree, tasks, pairs, pair_weight  as for `measure_frames`
    smoothing                        (K,) weights of squared distances from where the speed leads
    rest, rest_weight                (K - 6,) values at rest, and the weight of squared distances from them
    low, high                        (K - 6,) limits by range and speed
    kept                             (K,) step from the last frame, by its speed
    """

    tree: Tree
    tasks: Tasks
    pairs: CapsuleArrays
    pair_weight: float
    smoothing: NDArray[np.float64]
    rest: NDArray[np.float64]
    rest_weight: float
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    kept: NDArray[np.float64]


class TriedPose(NamedTuple):
    """A tried pose, with its measures.

    pose      (1 + K,)
    moved     (K,) step from the last frame
    hessian   (1, K, K)
    gradient  (1, K)
    """

    pose: NDArray[np.float64]
    moved: NDArray[np.float64]
    hessian: NDArray[np.float64]
    gradient: NDArray[np.float64]


class Step(NamedTuple):
    """A step, and scratch memory of its solve.

    step     (1, K)
    free     (1, K) 1 for unknowns that are solved for
    given    (1, K) steps of the others
    nothing  (1, K) zeros
    damping  (1,)
    """

    step: NDArray[np.float64]
    free: NDArray[np.float64]
    given: NDArray[np.float64]
    nothing: NDArray[np.float64]
    damping: NDArray[np.float64]


@inline
def compute_place_size(unknown_count):
    """Compute the size of a place, in numbers."""
    return 1 + unknown_count * (unknown_count + 3)


@inline
def compute_frame_size(node_count, unknown_count, task_count, pair_count):
    """Compute the size of the scratch memory of `solve_frame`, in numbers."""
    kernels = compute_step_size(1, unknown_count) + compute_measure_size(node_count)
    return kernels + 2 * compute_place_size(unknown_count) + 9 * unknown_count + 2 + 9 + 9 * task_count + pair_count


@inline
def view_place(work, start, unknowns):
    """View a place in scratch memory."""
    moved = start + 1 + unknowns
    hessian = moved + unknowns
    return TriedPose(
        view_lanes(SCALAR, work, start, 1 + unknowns),
        view_lanes(SCALAR, work, moved, unknowns),
        view_lanes(SCALAR, work, hessian, 1, unknowns, unknowns),
        view_lanes(SCALAR, work, hessian + unknowns * unknowns, 1, unknowns),
    )


@inline
def turn_by(turn, x, y, z):
    """Turn a rotation by a rotation vector, from the left."""
    angle = math.sqrt(x * x + y * y + z * z)
    share = math.sin(0.5 * angle) / angle if angle > 0.0 else 0.5
    return normalise(multiply(Quat(math.cos(0.5 * angle), share * x, share * y, share * z), turn))


@inline
def find_turn(start, end):
    """Find the rotation vector from one rotation to another."""
    q = multiply(end, conjugate(start))
    sine = math.sqrt(q.x * q.x + q.y * q.y + q.z * q.z)
    share = math.copysign(2.0, q.w) * math.atan2(sine, abs(q.w)) / sine if sine > 0.0 else 2.0
    return Vec(share * q.x, share * q.y, share * q.z)


@device_function
def move(pose, step, low, high, moved_pose):
    """Move a robot by a step (K,), within limits."""
    for k in range(FIRST_ANGLE):
        moved_pose[k] = pose[k] + step[k]
    write_quat_at(moved_pose, FIRST_ANGLE, turn_by(read_quat_at(pose, FIRST_ANGLE), step[3], step[4], step[5]))
    for k in range(len(low)):
        moved_pose[BASE + k] = min(max(pose[BASE + k] + step[BASE_COLUMNS + k], low[k]), high[k])


@device_function
def measure(problem, place, turn, work):
    """Measure a place. Return its cost.

    turn  (3, 3) scratch memory
    """
    pose, gradient, hessian = place.pose, place.gradient[0], place.hessian[0]
    w, x, y, z = pose[3], pose[4], pose[5], pose[6]
    turn[0, 0], turn[0, 1], turn[0, 2] = 1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)
    turn[1, 0], turn[1, 1], turn[1, 2] = 2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)
    turn[2, 0], turn[2, 1], turn[2, 2] = 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)
    values = pose[BASE:]
    cost = measure_frame(
        problem.tree, problem.tasks, problem.pairs, problem.pair_weight, 0, pose[:3], turn, values, hessian,
        gradient, work,
    )  # fmt: skip
    off_cost, rest_cost = 0.0, 0.0
    for k in range(len(gradient)):
        off = place.moved[k] - problem.kept[k]
        pull = problem.smoothing[k] * off
        gradient[k] -= pull
        off_cost += pull * off
        hessian[k, k] += problem.smoothing[k]
    for k in range(len(values)):
        from_rest = values[k] - problem.rest[k]
        gradient[BASE_COLUMNS + k] -= problem.rest_weight * from_rest
        rest_cost += from_rest * from_rest
        hessian[BASE_COLUMNS + k, BASE_COLUMNS + k] += problem.rest_weight
    return cost + 0.5 * off_cost + 0.5 * problem.rest_weight * rest_cost


@device_function
def find_step(problem, place, step, work):
    """Find the next step. Unknowns that it takes over a limit go to it, and the others are solved again."""
    low, high, values, gradient = problem.low, problem.high, place.pose[BASE:], place.gradient[0]
    free, given, way = step.free[0], step.given[0], step.step[0]
    for k in range(len(free)):
        free[k], given[k] = 1.0, 0.0
    for k in range(len(low)):
        slope = gradient[BASE_COLUMNS + k]
        stays = (low[k] - values[k] >= -AT_LIMIT and slope < 0.0) or (high[k] - values[k] <= AT_LIMIT and slope > 0.0)
        if stays or low[k] == high[k]:
            free[BASE_COLUMNS + k] = 0.0
    steps = StepProblem(
        place.hessian, place.gradient, step.nothing, step.nothing, step.nothing, step.free, step.given, step.nothing[0],
        step.damping,
    )  # fmt: skip
    for _ in range(MAX_LIMIT_ROUNDS):
        solve_step(LANES4, steps, step.step, work)
        is_within = True
        for k in range(len(low)):
            limited = min(max(way[BASE_COLUMNS + k], low[k] - values[k]), high[k] - values[k])
            if limited != way[BASE_COLUMNS + k]:
                free[BASE_COLUMNS + k], given[BASE_COLUMNS + k], is_within = 0.0, limited, False
        if is_within:
            return


@device_function
def search(problem, here, there, step, cost, turn, work):
    """Go along a step to a lower cost. Return it.

    A step that raises the cost is shortened: parts come into reach, for which it was not computed. `step` becomes what
    is taken.
    """
    slope = 0.0
    for k in range(len(step)):
        slope += here.gradient[0, k] * step[k]
    after = 0.0
    for count in range(_MAX_SHORTENED + 1):
        move(here.pose, step, problem.low, problem.high, there.pose)
        for k in range(len(step)):
            there.moved[k] = here.moved[k] + step[k]
        after = measure(problem, there, turn, work)
        if after < cost or count == _MAX_SHORTENED:
            break
        share = 0.5 * slope / max(after - cost + slope, _TINY)  # the lowest place of a parabola
        share = min(max(share, _LEAST_SHARE), _MOST_SHARE)
        slope *= share
        for k in range(len(step)):
            step[k] *= share
    return after


@device_function
def descend(problem, pose, here, there, step, turn, measure_work, step_work):
    """Take steps from where the speed leads, until one is short. The pose becomes where they end."""
    move(pose, problem.kept, problem.low, problem.high, here.pose)
    for k in range(len(problem.kept)):
        here.moved[k] = problem.kept[k] if k < BASE_COLUMNS else here.pose[k + 1] - pose[k + 1]
    cost, way = measure(problem, here, turn, measure_work), step.step[0]
    for count in range(1, _MAX_ROUNDS + 1):
        find_step(problem, here, step, step_work)
        longest = 0.0
        for k in range(FIRST_ANGLE, len(way)):
            longest = max(longest, abs(way[k]))
        if longest <= _SHORT_STEP_RAD and count >= _ROUNDS:
            move(here.pose, way, problem.low, problem.high, pose)
            return
        if longest > MAX_STEP:
            for k in range(len(way)):
                way[k] *= MAX_STEP / longest
        cost = search(problem, here, there, way, cost, turn, measure_work)
        here, there = there, here
    for k in range(len(pose)):
        pose[k] = here.pose[k]


@device_function
def add_speed(speed, last, pose, dt):
    """Add the step from the last pose to a speed."""
    decay_speed(speed, dt)
    turned = find_turn(read_quat_at(last, FIRST_ANGLE), read_quat_at(pose, FIRST_ANGLE))
    for k in range(FIRST_ANGLE):
        speed[k] += pose[k] - last[k]
    speed[3] += turned.x
    speed[4] += turned.y
    speed[5] += turned.z
    for k in range(BASE, len(pose)):
        speed[k - 1] += pose[k] - last[k]


@kernel("I1 F2 F3 F2 I1 I1 F1 F1 I1 I1 F2 F3 F2 I2 F3 F1 f F1 F1 F1 F1 F1 f f f wF1 wF1 aF1 ->")
def solve_frame(
    parents, offsets, turns, axes, kinds, columns, ratios, constants,
    task_kinds, task_nodes, task_points, task_targets, task_weights,
    pair_nodes, pair_ends, pair_reaches, pair_weight,
    low, high, speeds, rest, smoothing, rest_weight, factor, dt, pose, speed, work,
):  # fmt: skip
    """Solve the next frame of a robot, after `dt` seconds.

    task_targets  (1, m, 9), whose places are in the unit of the file
    task_weights  (1, m)
    low, high     (K - 6,) ranges of values, and speeds [1/s] of each
    rest          (K - 6,) values at rest, and rest_weight of squared distances from them
    smoothing     (K,) weights of squared distances from where the speed leads, at 60 frames a second
    factor        by which places of targets are multiplied
    pose, speed   state of the robot
    work          scratch memory for `compute_frame_size` numbers
    The other arguments are those of `measure_frames`.
    """
    n, k_count, m_count = len(parents), len(smoothing), len(task_kinds)
    start = compute_step_size(1, k_count)
    measure_work = work[start:]
    start += compute_measure_size(n)
    here = view_place(work, start, k_count)
    start += compute_place_size(k_count)
    there = view_place(work, start, k_count)
    start += compute_place_size(k_count)
    step = Step(
        view_lanes(SCALAR, work, start, 1, k_count),
        view_lanes(SCALAR, work, start + k_count, 1, k_count),
        view_lanes(SCALAR, work, start + 2 * k_count, 1, k_count),
        view_lanes(SCALAR, work, start + 3 * k_count, 1, k_count),
        view_lanes(SCALAR, work, start + 4 * k_count, 1),
    )
    start += 4 * k_count + 1
    kept = view_lanes(SCALAR, work, start, k_count)
    smooth = view_lanes(SCALAR, work, start + k_count, k_count)
    lowest = view_lanes(SCALAR, work, start + 2 * k_count, k_count - BASE_COLUMNS)
    highest = view_lanes(SCALAR, work, start + 3 * k_count, k_count - BASE_COLUMNS)
    last = view_lanes(SCALAR, work, start + 4 * k_count, k_count + 1)
    start += 5 * k_count + 1
    turn = view_lanes(SCALAR, work, start, 3, 3)
    targets = view_lanes(SCALAR, work, start + 9, 1, m_count, 9)
    spans = view_lanes(SCALAR, work, start + 9 + 9 * m_count, len(pair_reaches))
    pairs = CapsuleArrays(pair_nodes, pair_ends, pair_reaches, spans)
    write_spans(pairs)
    for m in range(m_count):
        scale = factor if task_kinds[m] == PLACE else 1.0
        for k in range(9):
            targets[0, m, k] = scale * task_targets[0, m, k]
    frames = dt * REFERENCE_FPS
    kept_seconds = dt * _KEPT_SPEED**frames if is_known(speed) else 0.0
    seconds, rate = get_seconds(speed), max(frames, _LEAST_FRAMES) ** 2
    share = 1.0 if is_known(speed) else _UNKNOWN_SPEED_SHARE
    for k in range(k_count):
        kept[k], smooth[k] = kept_seconds * (speed[k] / seconds), share * (smoothing[k] / rate)
        step.nothing[0, k] = 0.0
    step.damping[0] = _DAMPING
    for k in range(k_count - BASE_COLUMNS):
        lowest[k] = max(low[k], pose[BASE + k] - speeds[k] * dt)
        highest[k] = min(high[k], pose[BASE + k] + speeds[k] * dt)
    for k in range(k_count + 1):
        last[k] = pose[k]
    problem = FrameProblem(
        Tree(parents, offsets, turns, axes, kinds, columns, ratios, constants),
        Tasks(task_kinds, task_nodes, task_points, targets, task_weights),
        pairs, pair_weight, smooth, rest, rest_weight, lowest, highest, kept,
    )  # fmt: skip
    descend(problem, pose, here, there, step, turn, measure_work, work)
    add_speed(speed, last, pose, dt)
