"""Removal of jumps between independently solved frames.

Frames solved independently are solved again from the previous frame where that reduces a jump.

A frame on its own has several solutions: knees and elbows may bend to either side, and an extended limb may have any
twist. Two similar frames may get different ones. A frame can also start from the solution of the previous frame,
advanced by the clip's own joint motion between the two. This is done only where a joint jumps, and accepted only if the
jump is removed and the goals are as good as before. All other frames stay unchanged bit for bit.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, cast

import numpy as np

from poise import solvers
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints
from poise.model.skeleton import Kind
from poise.problem.dof_layout import FIXED, LENGTH_KINDS, SLIDE
from poise.problem.problem import Problem, Tolerance
from poise.solvers.base.interface import (
    Answer,
    Request,
    get_final_solver,
    merge_rows,
    replace_final_solver,
    select_rows,
)
from poise.solvers.levenberg_marquardt import LevenbergMarquardt
from poise.solvers.natural.free_limbs import keep_directions
from poise.solvers.natural.natural import Natural
from poise.solving.batch import MeasuredAnswer, solve_and_measure
from poise.solving.clip_problem import ClipProblem
from poise.solving.jump_spreading import measure_jumps, spread_jumps
from poise.solving.optional_goals import build_local_refinement
from poise.solving.result import Result

CLIP_MOTION_RATIO = 1.5  # ratio to the clip's own motion; joint motion up to it is no jump
MIN_JUMP_RAD = float(np.radians(1.0))  # [rad] further joint motion per frame that is no jump
MAX_SPREAD_SPEED = float(np.radians(200.0))  # [rad/s] of natural poses that lose a jump
MAX_REMAINING_SHARE = 0.5  # share of a jump that may remain; a larger one is caused by the target
ALLOWED_ERROR_INCREASE = 0.01  # of the chain length, or [rad]: allowed error increase of a missed target
_FORWARDS, _BACKWARDS = slice(None), slice(None, None, -1)  # orders of the frames in a sweep


def remove_jumps(result: Result, solver: solvers.Solver, times: Floats) -> MeasuredAnswer | None:
    """Remove jumps from the solved frames of a clip.

    `times` (k,) are those of the frames. Returns None where no jump can be removed.
    """
    problem, k = result.problem, len(result.q)
    if k <= 1 or not problem.start.shape or not problem.joints:
        return None
    clip = _build_clip(problem, result.targets, result.tolerances, solver, times)
    zero_counts = np.zeros(k, dtype=np.int64)
    first_answer = Answer(
        np.array(result.q),
        np.array(result.reached),
        zero_counts + result.iterations,
        zero_counts + result.joint_updates,
    )
    first = MeasuredAnswer(first_answer, np.array(result.errors))
    best = _remove_natural_jumps(clip, first) if clip.is_natural else _sweep_both_ways(clip, first)
    return None if best.answer is first_answer else best


def _remove_natural_jumps(clip: ClipProblem, first: MeasuredAnswer) -> MeasuredAnswer:
    """Spread the jumps of natural poses. Where fast ones remain, solve from neighbouring frames first."""
    if not measure_jumps(clip, first.answer.q).any():
        return first
    spread = spread_jumps(clip, first, first.answer.q)
    speed = _measure_speed(clip, spread)
    if speed <= MAX_SPREAD_SPEED:
        return spread
    swept = spread_jumps(clip, _sweep_both_ways(clip, first), first.answer.q)
    return swept if _measure_speed(clip, swept) < speed else spread


def _sweep_both_ways(clip: ClipProblem, measured: MeasuredAnswer) -> MeasuredAnswer:
    """Sweep the frames forwards, then backwards. A jump may end at a frame that must not change."""
    for order in (_FORWARDS, _BACKWARDS):
        measured = _sweep_frames(clip, measured, order)
    return measured


def _measure_speed(clip: ClipProblem, measured: MeasuredAnswer) -> float:
    """Measure the fastest joint motion in excess of the clip's own [rad/s]."""
    q, later_frames = measured.answer.q, np.arange(1, len(clip.times))
    return float((_compute_jumps(clip, later_frames, q[1:], q[:-1]) / np.diff(clip.times)).max())


def _build_clip(
    problem: Problem, targets: Floats, tolerance: Tolerance, solver: solvers.Solver, times: Floats
) -> ClipProblem:
    max_reach = problem.plan.max_reach
    allowed_error_increase = np.array(
        [ALLOWED_ERROR_INCREASE * (max_reach if measure.kind in LENGTH_KINDS else 1.0) for measure in problem.measures]
    )
    return ClipProblem(
        problem,
        targets,
        tolerance,
        _build_local_solver(solver),
        times,
        _measure_joint_motion(problem, problem.start_rows[1:], problem.start_rows[:-1]),
        allowed_error_increase,
        isinstance(solver, Natural),
    )


def _build_local_solver(solver: Any) -> Any:
    """Return the solver without restarts. Its stages stay, so that poses stay natural."""
    final_solver: Any = get_final_solver(solver)
    if type(final_solver) is LevenbergMarquardt:
        return replace_final_solver(solver, build_local_refinement(final_solver))
    has_restarts = is_dataclass(final_solver) and any(option.name == "restarts" for option in fields(final_solver))
    if not has_restarts:
        return solver
    return replace_final_solver(solver, replace(cast("Any", final_solver), restarts=0))


def _measure_joint_motion(problem: Problem, q: Floats, previous_q: Floats) -> Floats:
    """Measure the rotation (r, m) of each moving joint between poses.

    Poses are (r, nq); slides count in kernel units.
    """
    plan = problem.plan
    nodes = dict.fromkeys(node._replace(row=0, parent=0) for node in plan.layout.nodes if node.kind != FIXED)
    motion_scales = np.array([1.0 / plan.kernel_unit_in_base if node.kind == SLIDE else 1.0 for node in nodes])
    return plan.compute_differences(plan.q_to_u(q), plan.q_to_u(previous_q)) * motion_scales


def _compute_jumps(clip: ClipProblem, frames: Ints, q: Floats, previous_q: Floats) -> Floats:
    """Compute joint motion (r,) in excess of the clip's own. It compares each frame with the one before."""
    return (_measure_joint_motion(clip.problem, q, previous_q) - CLIP_MOTION_RATIO * clip.clip_motion[frames - 1]).max(
        axis=-1
    )


def _sweep_frames(clip: ClipProblem, measured: MeasuredAnswer, order: slice) -> MeasuredAnswer:
    """Sweep the frames in one direction. Frames without an improvement are unchanged."""
    frames = np.arange(len(measured.answer.q))[order]
    swept_clip = clip._replace(
        problem=clip.problem.select_rows(frames),
        targets=clip.targets[frames],
        times=clip.times[frames],
        clip_motion=clip.clip_motion[order],
    )
    old = _select_frames(measured, frames)
    new = _solve_from_previous(swept_clip, _select_frames(old, np.arange(len(frames))))
    if new is None:
        return measured
    is_improved = _find_improved_frames(swept_clip, old.answer.q, new.answer.q)
    if not is_improved.any():
        return measured
    q = np.where(is_improved[:, None], new.answer.q, old.answer.q)
    is_met = np.where(is_improved, new.answer.met, old.answer.met)
    errors = np.where(is_improved[:, None], new.errors, old.errors)
    # The order is its own inverse, backwards too.
    return _select_frames(MeasuredAnswer(new.answer._replace(q=q, met=is_met), errors), frames)


def _find_improved_frames(clip: ClipProblem, old_q: Floats, new_q: Floats) -> Bools:
    """Choose the frames (k,) to accept from poses `new_q`.

    A run of changed frames is accepted as a whole if its jumps decrease, and rejected otherwise.

    Frames outside a run do not depend on it.
    """
    later_frames = np.arange(1, len(old_q))
    old_excess, new_excess = (
        np.maximum(_compute_jumps(clip, later_frames, q[1:], q[:-1]) - MIN_JUMP_RAD, 0.0) for q in (old_q, new_q)
    )
    is_accepted = (old_q != new_q).any(axis=-1)
    run_bounds = np.flatnonzero(np.diff(np.concatenate([[False], is_accepted, [False]]).astype(np.int64)))
    for first, end in run_bounds.reshape(-1, 2):
        run_steps = slice(max(first - 1, 0), end)
        is_accepted[first:end] = (
            new_excess[run_steps].sum() < old_excess[run_steps].sum()
            and new_excess[run_steps].max() <= old_excess[run_steps].max()
        )
    return is_accepted


def _select_frames(measured: MeasuredAnswer, frames: Ints) -> MeasuredAnswer:
    """Copy the answers and errors of some frames."""
    return MeasuredAnswer(select_rows(measured.answer, frames), measured.errors[frames])


def _solve_from_previous(clip: ClipProblem, measured: MeasuredAnswer) -> MeasuredAnswer | None:
    """Solve each jumping frame from the one before. Returns None where no jump is removed.

    `measured` are the first answers, and a copy: its errors are overwritten.
    """
    answer, errors = measured
    later_frames, is_at_start = np.arange(1, len(answer.q)), (answer.q == clip.problem.start_rows).all(axis=-1)
    jump_frames = later_frames[
        (_compute_jumps(clip, later_frames, answer.q[1:], answer.q[:-1]) > MIN_JUMP_RAD) & ~is_at_start[1:]
    ]
    if len(jump_frames):
        # All at once, each from the unchanged previous frame: most jumps come from the target and stay.
        retried = _solve_frames_again(clip, jump_frames, answer.q)
        jump_frames = jump_frames[_find_smoother_frames(clip, jump_frames, measured, retried)]
    if not len(jump_frames):
        return None
    planned_frames, is_previous_changed = set(jump_frames.tolist()), False
    for i in range(int(jump_frames[0]), len(answer.q)):
        if not (is_previous_changed or i in planned_frames):
            continue
        frame, is_previous_changed = np.array([i]), False
        if not is_at_start[i] and _compute_jumps(clip, frame, answer.q[frame], answer.q[frame - 1])[0] > MIN_JUMP_RAD:
            retried = _solve_frames_again(clip, frame, answer.q)
            is_previous_changed = bool(_find_smoother_frames(clip, frame, MeasuredAnswer(answer, errors), retried)[0])
            if is_previous_changed:
                answer, errors[i] = merge_rows(answer, frame, retried.answer), retried.errors[0]
    return MeasuredAnswer(answer, errors)


def _find_smoother_frames(clip: ClipProblem, frames: Ints, measured: MeasuredAnswer, retried: MeasuredAnswer) -> Bools:
    """Find frames with smaller jumps and equally good goals. `measured` has all frames, `retried` these frames."""
    answer, old_errors = measured.answer, measured.errors[frames]
    previous_q = answer.q[frames - 1]
    old_jumps, new_jumps = (_compute_jumps(clip, frames, q, previous_q) for q in (answer.q[frames], retried.answer.q))
    is_as_good = np.where(
        clip.problem.is_met(old_errors, clip.tolerance),
        clip.problem.is_met(retried.errors, clip.tolerance),
        (retried.errors <= old_errors + clip.allowed_error_increase).all(-1),
    )
    return is_as_good & (new_jumps < MAX_REMAINING_SHARE * old_jumps)


def _solve_frames_again(clip: ClipProblem, frames: Ints, q: Floats) -> MeasuredAnswer:
    """Solve frames from the answers (k, nq) of the previous frames.

    These are first moved by the clip's own motion between the two frames.
    """
    subproblem = clip.problem.select_rows(frames)
    starts = subproblem.make_pose(_propagate_poses(clip.problem, frames, q))
    start_problem = subproblem.with_start(starts).with_origin(subproblem.start)
    measured = solve_and_measure(start_problem, clip.targets[frames], clip.solver, clip.tolerance, Request())
    if not clip.is_natural:
        return measured
    return measured._replace(answer=measured.answer._replace(q=keep_directions(start_problem, measured.answer.q)))


def _propagate_poses(problem: Problem, frames: Ints, q: Floats) -> Floats:
    """Propagate the previous answers by the clip's joint motion. All other joints take their pose from the clip.

    The rotation of a joint between two frames of the clip is taken in the joint's own frame, so that twist stays twist.
    """
    skeleton, clip_q, previous_clip_q = problem.skeleton, problem.start_rows, problem.start_rows[frames - 1]
    previous_q, propagated_q = q[frames - 1], clip_q[frames].copy()
    for name in problem.joints:
        joint_index = skeleton.index(name)
        columns = np.arange(
            skeleton.q_start[joint_index], skeleton.q_start[joint_index] + Kind(skeleton.kinds[joint_index]).nq
        )
        rotation_columns = columns[-4:] if len(columns) >= Kind.BALL.nq else columns[:0]
        linear_columns = columns[: len(columns) - len(rotation_columns)]
        propagated_q[:, linear_columns] += previous_q[:, linear_columns] - previous_clip_q[:, linear_columns]
        if len(rotation_columns):
            clip_rotation = rotations.multiply(
                rotations.inverse(previous_clip_q[:, rotation_columns]), propagated_q[:, rotation_columns]
            )
            propagated_q[:, rotation_columns] = rotations.normalise(
                rotations.multiply(previous_q[:, rotation_columns], clip_rotation)
            )
    return skeleton.legal(propagated_q)[0]
