"""Spread jumps between natural poses over the frames beside them.

Natural poses of two similar frames may differ by a jump: the first frame of a clip may meet its goals and keep its
pose, and the next one has its knees where a body has them. Such a jump is spread. The poses after it (before it, where
those after it must stay) begin with the offset that removes it, and lose it smoothly within a part of a second; then
each is solved from there for its own goals. Far from the jump all poses stay natural, bit for bit.

A jump is a step of a joint out of line with the steps around it, beyond those of the clip and the target. Lengths
and rates count per second, so frame rates do not matter.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from poise import solvers
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints
from poise.maths.smoothing import smoothstep
from poise.model.joint_tree import find_rotation_starts
from poise.model.skeleton import Kind, find_free_root
from poise.problem.dof_layout import POSITION, TARGET_SIZES
from poise.problem.problem import Problem, Tolerance
from poise.solvers.base.interface import Request, get_final_solver
from poise.solvers.levenberg_marquardt import LevenbergMarquardt
from poise.solvers.natural.limbs import find_limbs
from poise.solvers.natural.natural import Natural, hold_above_floor
from poise.solving.batch import MeasuredAnswer, solve_and_measure
from poise.solving.clip_problem import ClipProblem

TARGET_RATIO = 2.0  # ratio to the target's own change of step; a joint's change up to it is no jump
CLIP_RATIO = 1.5  # the same for the joint's own change in the clip
MIN_JUMP_RATE = float(np.radians(3.0))  # [rad/s] changes of step below it are no jump
OUT_OF_LINE_RATIO = 4.0  # ratio to the usual change of step around a jump
MAX_REMAINING_SHARE = 0.5  # share of a jump that may remain; a larger one is caused by the target
MAX_SPREAD_S = 1.0  # [s]
_WINDOW = 10  # frames on both sides of a step that it is compared with
_USUAL_QUANTILE = 0.25  # of the changes of step around a jump: what is usual there
_MAX_GAP = 3  # steps between jumps of one run
_MIN_SPREAD_FRAMES = 3
_MAX_ROUNDS = 3  # what a jump leaves is spread again
_LEAST_SHARE = 0.1  # of the largest change: joints that change less are moved by the goals alone
_MAX_COLLAR_RAD = float(np.radians(15.0))  # of collar bones, by which a spread turns them: no more is seen
_CALM_STIFFNESS = 99.0  # of joints that do not jump
_PEAK_BEND = 6.0  # largest second derivative of smoothstep
_SHARP_SHARE = 1e-3  # of the tolerance: within it, straight limbs would step by more than their targets


class _Columns(NamedTuple):
    """Columns of q of the moving joints.

    rotations  (r, 4) of balls and free joints
    values     (v,) of hinges, slides and translations
    scales     (v,) radians in one unit of these; lengths count in kernel units
    """

    rotations: Ints
    values: Ints
    scales: Floats


def spread_jumps(clip: ClipProblem, measured: MeasuredAnswer, natural_q: Floats) -> MeasuredAnswer:
    """Spread the jumps between the frames of a clip. Returns `measured` itself where nothing changes.

    Collar bones stay near their rotations in `natural_q` (k, nq), the poses that each frame has alone.
    """
    columns = _find_columns(clip.problem, measured.answer.q)
    is_kept = (measured.answer.q == clip.problem.start_rows).all(axis=-1)
    allowed = _compute_allowed_changes(clip, columns)
    for _ in range(_MAX_ROUNDS):
        before = measured
        for first, last in _join_runs(_find_jumps(measured.answer.q, columns, allowed)):
            for is_backward in (False, True):
                spread = _spread_run(
                    clip, columns, measured, natural_q, allowed, is_kept, first, last, is_backward=is_backward
                )
                if spread is not None:
                    measured = spread
                    break
        if measured is before:
            break
    return measured


def measure_jumps(clip: ClipProblem, q: Floats) -> Floats:
    """Measure the jump of each step of poses q (k, nq).

    The result (k - 1,) is 0 where there is none.
    """
    columns = _find_columns(clip.problem, q)
    allowed = _compute_allowed_changes(clip, columns)
    excess = _measure_changes(q, columns) - allowed
    return np.where(_find_jumps(q, columns, allowed), excess, 0.0).max(axis=1)


def _find_columns(problem: Problem, q: Floats) -> _Columns:
    """Find the columns of the moving joints.

    They are those of the goals, and others that poses q (k, nq) have moved.
    """
    skeleton, unit = problem.skeleton, problem.plan.kernel_unit_in_world
    is_moved = (q != problem.start_rows).any(axis=0)
    rows = [
        row
        for row, name in enumerate(skeleton.names)
        if name in problem.joints or is_moved[skeleton.q_slice(name)].any()
    ]
    rotation_starts = find_rotation_starts(skeleton.kinds, skeleton.q_start)
    turning_rows = [row for row in rows if skeleton.kinds[row] >= Kind.BALL]
    values: list[int] = []
    scales: list[float] = []
    for row in rows:
        kind, start = skeleton.kinds[row], int(skeleton.q_start[row])
        count = {Kind.HINGE: 1, Kind.SLIDE: 1, Kind.FREE: 3}.get(Kind(kind), 0)
        values += range(start, start + count)
        scales += [1.0 if kind == Kind.HINGE else 1.0 / unit] * count
    turning = rotation_starts[turning_rows][:, None] + np.arange(4)
    return _Columns(turning.reshape(-1, 4).astype(np.int64), np.array(values, dtype=np.int64), np.array(scales))


def _compute_steps(q: Floats, previous_q: Floats, columns: _Columns) -> Floats:
    """Compute the step of each joint between two poses.

    The result is (k, r + v, 3). Rotations are in the joint's frame.
    """
    turns = rotations.multiply(rotations.inverse(previous_q[:, columns.rotations]), q[:, columns.rotations])
    turns = np.where(turns[..., :1] < 0.0, -turns, turns)
    moves = np.zeros((len(q), len(columns.values), 3))
    moves[..., 0] = (q[:, columns.values] - previous_q[:, columns.values]) * columns.scales
    return np.concatenate([rotations.as_vector(turns), moves], axis=1)


def _add_steps(q: Floats, steps: Floats, columns: _Columns) -> Floats:
    """Add steps (k, r + v, 3) to poses (k, nq)."""
    q, turn_count = q.copy(), len(columns.rotations)
    q[:, columns.rotations] = rotations.normalise(
        rotations.multiply(q[:, columns.rotations], rotations.from_vector(steps[:, :turn_count]))
    )
    q[:, columns.values] += steps[:, turn_count:, 0] / columns.scales
    return q


def _predict_steps(steps: Floats) -> Floats:
    """Predict each step (k, m, 3) from its neighbours.

    It is their mean, or the only one.
    """
    if len(steps) == 1:
        return steps
    padded = np.concatenate([steps[1:2], steps, steps[-2:-1]])
    return 0.5 * (padded[:-2] + padded[2:])


def _measure_changes(q: Floats, columns: _Columns) -> Floats:
    """Measure the change of each step from its neighbours. The result is (k - 1, m)."""
    steps = _compute_steps(q[1:], q[:-1], columns)
    return np.linalg.norm(steps - _predict_steps(steps), axis=-1)


def _compute_allowed_changes(clip: ClipProblem, columns: _Columns) -> Floats:
    """Compute the changes of step allowed to each joint.

    These (k - 1, m) are those of the clip and of the target, and slow ones.
    """
    problem = clip.problem
    own_changes = _measure_changes(
        np.broadcast_to(problem.start_rows, (len(clip.targets), problem.skeleton.nq)), columns
    )
    steps = np.diff(clip.targets, axis=0)
    change = np.zeros(len(steps))
    for measure in problem.measures:
        if measure.target_column >= 0:
            part = slice(measure.target_column, measure.target_column + TARGET_SIZES[measure.kind])
            unit = problem.plan.kernel_unit_in_world if measure.kind == POSITION else 1.0
            difference = steps[:, part] - _predict_steps(steps[:, part])
            change = np.maximum(change, np.linalg.norm(difference, axis=-1) / unit)
    slow = MIN_JUMP_RATE * np.abs(np.diff(clip.times))
    return CLIP_RATIO * own_changes + (TARGET_RATIO * change + slow)[:, None]


def _find_jumps(q: Floats, columns: _Columns, allowed: Floats) -> Bools:
    """Find the jumps (k - 1, m) among the changes of step.

    They are beyond the allowed ones, and out of line with those around.
    """
    changes = _measure_changes(q, columns)
    is_jump = changes > allowed
    for step in np.flatnonzero(is_jump.any(axis=1)).tolist():
        around = changes[max(step - _WINDOW, 0) : step + _WINDOW + 1]
        is_jump[step] &= changes[step] > OUT_OF_LINE_RATIO * np.quantile(around, _USUAL_QUANTILE, axis=0)
    return is_jump


def _join_runs(is_jump: Bools) -> list[tuple[int, int]]:
    """Join neighbouring jumps to runs. Returns the first and last step of each."""
    runs: list[tuple[int, int]] = []
    for step in np.flatnonzero(is_jump.any(axis=1)).tolist():
        if runs and step - runs[-1][1] <= _MAX_GAP:
            runs[-1] = runs[-1][0], step
        else:
            runs.append((step, step))
    return runs


def _spread_run(
    clip: ClipProblem, columns: _Columns, measured: MeasuredAnswer, natural_q: Floats, allowed: Floats, is_kept: Bools,
    first: int, last: int, *, is_backward: bool,
) -> MeasuredAnswer | None:  # fmt: skip
    """Spread the steps `first`..`last` over the frames after them, or before. None where that is no better.

    Step i lies between frames i and i + 1.
    """
    count = len(is_kept)
    order = np.arange(count)[::-1] if is_backward else np.arange(count)
    if is_backward:
        first, last = count - 2 - last, count - 2 - first
    q, times, kept = measured.answer.q[order], np.abs(clip.times[order] - clip.times[order[0]]), is_kept[order]
    allowed = allowed[::-1] if is_backward else allowed
    while first <= last and kept[first + 1]:
        first += 1
    if first > last:
        return None
    steps = _compute_steps(q[1:], q[:-1], columns)
    changes = np.linalg.norm(steps - _predict_steps(steps), axis=-1)[first : last + 1].max(axis=0)
    moving = (changes > allowed[first : last + 1].min(axis=0)) & (changes > _LEAST_SHARE * changes.max())
    before, after = (
        steps[first - 1 if first else last + 1 - (last + 2 > len(steps))],
        steps[min(last + 1, len(steps) - 1)],
    )
    pose, frame, offset = q[first : first + 1], last + 1, np.zeros((1, len(moving), 3))
    starts: list[Floats] = []
    for i in range(first, last + 1):
        share = (i - first + 1) / (last - first + 2)
        onward = _add_steps(pose, (before + share * (after - before))[None], columns)
        offset = _compute_steps(onward, q[i + 1 : i + 2], columns) * moving[:, None]
        pose = _add_steps(q[i + 1 : i + 2], offset, columns)
        starts.append(pose)
    size = float(np.linalg.norm(offset, axis=-1).max())
    wanted = int(np.ceil(np.sqrt(_PEAK_BEND * size / float(allowed[first : last + 1].min()))))
    most = int(MAX_SPREAD_S / max(times[frame] - times[frame - 1], MAX_SPREAD_S / count))
    length = max(min(wanted, most), _MIN_SPREAD_FRAMES)
    room = int(np.argmax(np.append(kept[frame : frame + length], True)))
    length, room = room if frame + room < count else length, min(room, length)  # the end of the clip needs no end
    weights = 1.0 - smoothstep(np.arange(1, room) / max(length, 1))
    rows = frame + np.arange(1, room)
    starts.append(_add_steps(q[rows], weights[:, None, None] * offset, columns))
    frames = order[np.concatenate([np.arange(first + 1, frame + 1), rows])]
    if is_kept[frames].any():
        return None
    is_jumping, start_q = changes > allowed[first : last + 1].max(axis=0), np.concatenate(starts)
    collars, attempts = _find_collar_columns(clip.problem), [(start_q, is_jumping)]
    if len(collars):
        held_q = start_q.copy()
        held_q[:, collars] = natural_q[frames][:, collars]
        is_loose = is_jumping & ~_find_collars(columns, collars)
        if not (np.array_equal(held_q, start_q) and np.array_equal(is_loose, is_jumping)):  # else the same solve again
            attempts.append((held_q, is_loose))
    for has_stiff_root in (True, False) if clip.problem.free_root else (False,):
        for poses, is_loose in attempts:
            solver = _stiffen_others(clip, columns, is_loose, has_stiff_root=has_stiff_root)
            spread = _solve_spread(clip, columns, measured, frames, poses, solver)
            if spread is not None and _are_collars_calm(spread.answer.q[frames], natural_q[frames], collars):
                return spread
    return None


def _find_collar_columns(problem: Problem) -> Ints:
    """Find the rotation columns (c, 4) of moving collar bones."""
    skeleton = problem.skeleton
    starts = find_rotation_starts(skeleton.kinds, skeleton.q_start)
    rows = [limb.collar.rows[0] for limb in find_limbs(skeleton) if limb.collar is not None]
    moving = [starts[row] for row in rows if skeleton.names[row] in problem.joints]
    return np.array(moving, dtype=np.int64).reshape(-1, 1) + np.arange(4)


def _find_collars(columns: _Columns, collars: Ints) -> Bools:
    """Mark the collar bones among the moving joints (r + v,)."""
    is_collar = np.isin(columns.rotations[:, 0], collars[:, 0])
    return np.concatenate([is_collar, np.zeros(len(columns.values), dtype=np.bool_)])


def _are_collars_calm(q: Floats, natural_q: Floats, collars: Ints) -> bool:
    """Return whether all collar bones stay near their natural rotations."""
    cosines = np.abs((q[:, collars] * natural_q[:, collars]).sum(axis=-1)).clip(0.0, 1.0)
    return bool((2.0 * np.arccos(cosines) <= _MAX_COLLAR_RAD).all())


def _stiffen_others(clip: ClipProblem, columns: _Columns, is_loose: Bools, *, has_stiff_root: bool) -> solvers.Solver:
    """Make calm joints stiff, and the root. Solvers without stiffness stay as they are."""
    solver: Any = get_final_solver(clip.solver)  # stages of natural poses would take the spread starts back
    if not isinstance(solver, LevenbergMarquardt) or solver.stiffness not in (0.0, ()):
        return solver
    skeleton, turn_count = clip.problem.skeleton, len(columns.rotations)
    loose_columns = {*columns.rotations[is_loose[:turn_count]].ravel(), *columns.values[is_loose[turn_count:]]}
    root = find_free_root(skeleton) if has_stiff_root else None
    calm = [
        name
        for name in clip.problem.joints
        if skeleton.index(name) == root
        or loose_columns.isdisjoint(range(skeleton.q_slice(name).start, skeleton.q_slice(name).stop))
    ]
    return replace(solver, stiffness=dict.fromkeys(calm, _CALM_STIFFNESS)) if calm else solver


def _solve_spread(
    clip: ClipProblem, columns: _Columns, measured: MeasuredAnswer, frames: Ints, starts: Floats, solver: solvers.Solver
) -> MeasuredAnswer | None:
    """Solve frames again from poses without a jump. None where they lose goals, or jump hardly less."""
    problem = clip.problem.select_rows(frames)
    start_problem = problem.with_start(problem.make_pose(clip.problem.skeleton.legal(starts)[0]))
    sharp = Tolerance(clip.tolerance.distance * _SHARP_SHARE, clip.tolerance.angle * _SHARP_SHARE)
    solved = solve_and_measure(start_problem, clip.targets[frames], solver, sharp, Request())
    held = _hold_above_floor(clip, start_problem, frames, measured.answer.q[frames], solved)
    found = _merge_spread(clip, columns, measured, frames, held)
    # Where the floor itself brings the jump back, the spread frames may be in it.
    return _merge_spread(clip, columns, measured, frames, solved) if found is None and held is not solved else found


def _merge_spread(
    clip: ClipProblem, columns: _Columns, measured: MeasuredAnswer, frames: Ints, solved: MeasuredAnswer
) -> MeasuredAnswer | None:
    """Merge frames solved again. None where they lose goals, or jump hardly less."""
    q = measured.answer.q.copy()
    q[frames] = solved.answer.q
    near = slice(max(int(frames.min()) - 2, 0), int(frames.max()) + 2)
    old_change = _measure_changes(measured.answer.q, columns)[near].max()
    is_smoother = _measure_changes(q, columns)[near].max() < MAX_REMAINING_SHARE * old_change
    was_met = clip.problem.is_met(measured.errors[frames], clip.tolerance)
    is_as_good = np.where(
        was_met,
        clip.problem.is_met(solved.errors, clip.tolerance),
        (solved.errors <= measured.errors[frames] + clip.allowed_error_increase).all(-1),
    )
    if not (is_smoother and is_as_good.all()):
        return None
    errors, met = measured.errors.copy(), measured.answer.met.copy()
    errors[frames], met[frames] = solved.errors, solved.answer.met
    iterations, updates = measured.answer.iterations.copy(), measured.answer.joint_updates.copy()
    iterations[frames] += solved.answer.iterations
    updates[frames] += solved.answer.joint_updates
    answer = measured.answer._replace(q=q, met=met, iterations=iterations, joint_updates=updates)
    return MeasuredAnswer(answer, errors)


def _hold_above_floor(
    clip: ClipProblem, problem: Problem, frames: Ints, clear_q: Floats, solved: MeasuredAnswer
) -> MeasuredAnswer:
    """Hold spread frames above the floor of natural poses. The engine does not know it."""
    if not isinstance(clip.solver, Natural):
        return solved
    targets, q = clip.targets[frames], solved.answer.q
    held = hold_above_floor(clip.solver, problem, targets, clip.tolerance, q, clear_q)
    if held is q:
        return solved
    return MeasuredAnswer(solved.answer._replace(q=held), problem.compute_errors(held, targets))
