"""Removal of jumps between independently solved frames.

Frames solved independently are solved again from the previous frame where that reduces a jump.

A frame on its own has several solutions: knees and elbows may bend to either side, and an extended limb may have any
twist. Two similar frames may get different ones. A frame can also start from the solution of the previous frame,
advanced by the clip's own joint motion between the two. This is done only where a joint jumps, and accepted only if the
jump is removed and the goals are as good as before. All other frames stay unchanged bit for bit.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from poise import solvers
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints
from poise.model.skeleton import Kind
from poise.problem.dof_layout import FIXED, LENGTH_KINDS, SLIDE
from poise.problem.problem import Problem, Tolerance
from poise.solvers.base.interface import Answer, Request, get_last_stage, merge_rows, select_rows
from poise.solvers.levenberg_marquardt import LevenbergMarquardt
from poise.solving.batch import solve_and_measure
from poise.solving.optional_goals import build_local_refinement
from poise.solving.result import Result

CLIP_MOTION_FACTOR = 1.5  # factor: joint motion up to this multiple of the clip's own motion is no jump
MIN_JUMP_RAD = float(np.radians(1.0))  # [rad] further joint motion per frame that is no jump
MAX_REMAINING_SHARE = 0.5  # share of a jump that may remain; a larger one is caused by the target
ALLOWED_ERROR_INCREASE = 0.01  # of the chain length, or [rad]: allowed error increase of a missed target
MeasuredFrames: TypeAlias = tuple[Answer, Floats]  # answers and their errors (k, c)


class ClipFrames(NamedTuple):
    """Frames of a clip in processing order. Holds the problem, targets, tolerances and solver.

    problem           has a start for each frame
    clip_motion       (k - 1, m) rotation of each joint between two frames of the clip
    allowed_increase  (c,) allowed increase of the errors of a missed target
    """

    problem: Problem
    targets: Floats
    tolerance: Tolerance
    solver: solvers.Solver
    clip_motion: Floats
    allowed_increase: Floats


def remove_jumps(result: Result, solver: solvers.Solver) -> MeasuredFrames | None:
    """Remove jumps from the solved frames of a clip.

    Returns the answers and their errors (k, c), or None where no jump can be removed.
    """
    problem, k = result.problem, len(result.q)
    if k <= 1 or not problem.start.shape or not problem.joints:
        return None
    frames = _build_clip_frames(problem, result.targets, result.tolerances, _build_local_solver(solver))
    zero_counts = np.zeros(k, dtype=np.int64)
    first_answer = Answer(
        np.array(result.q),
        np.array(result.reached),
        zero_counts + result.iterations,
        zero_counts + result.joint_updates,
    )
    best_frames = first_answer, np.array(result.errors)
    # backwards as well: a jump may end at a frame that must not change
    for order in (slice(None), slice(None, None, -1)):
        best_frames = _sweep_frames(frames, best_frames, order)
    return None if best_frames[0] is first_answer else best_frames


def _build_clip_frames(problem: Problem, targets: Floats, tolerance: Tolerance, solver: solvers.Solver) -> ClipFrames:
    plan = problem.plan
    allowed_increase = np.array(
        [ALLOWED_ERROR_INCREASE * (plan.max_reach if m.kind in LENGTH_KINDS else 1.0) for m in problem.measures]
    )
    return ClipFrames(
        problem,
        targets,
        tolerance,
        solver,
        _measure_joint_motion(problem, problem.start_rows[1:], problem.start_rows[:-1]),
        allowed_increase,
    )


def _build_local_solver(solver: Any) -> Any:
    """Return the solver without restarts."""
    last_stage: Any = get_last_stage(solver)
    if type(last_stage) is LevenbergMarquardt:
        return build_local_refinement(last_stage)
    has_restarts = is_dataclass(last_stage) and any(option.name == "restarts" for option in fields(last_stage))
    return replace(cast("Any", last_stage), restarts=0) if has_restarts else last_stage


def _measure_joint_motion(problem: Problem, q: Floats, previous_q: Floats) -> Floats:
    """Measure the rotation (r, m) of each moving joint between poses.

    Poses are (r, nq); slides count in lengths of the rig.
    """
    plan = problem.plan
    nodes = dict.fromkeys(node._replace(row=0, parent=0) for node in plan.layout.nodes if node.kind != FIXED)
    motion_scales = np.array([1.0 / plan.kernel_unit_in_base if node.kind == SLIDE else 1.0 for node in nodes])
    return plan.compute_differences(plan.q_to_u(q), plan.q_to_u(previous_q)) * motion_scales


def _compute_jumps(frames: ClipFrames, rows: Ints, q: Floats, previous_q: Floats) -> Floats:
    """Compute joint motion (r,) in excess of the clip's own. It compares each frame with the one before."""
    return (
        _measure_joint_motion(frames.problem, q, previous_q) - CLIP_MOTION_FACTOR * frames.clip_motion[rows - 1]
    ).max(axis=-1)


def _sweep_frames(frames: ClipFrames, measured: MeasuredFrames, order: slice) -> MeasuredFrames:
    """Sweep the frames in one direction. Frames without an improvement are unchanged."""
    rows = np.arange(len(measured[0].q))[order]
    swept_frames = frames._replace(
        problem=frames.problem.select_rows(rows), targets=frames.targets[rows], clip_motion=frames.clip_motion[order]
    )
    old_frames = _select_frames(measured, rows)
    new_frames = _solve_from_previous(swept_frames, *_select_frames(old_frames, np.arange(len(rows))))
    is_improved = None if new_frames is None else _find_improved_frames(swept_frames, old_frames[0].q, new_frames[0].q)
    if new_frames is None or is_improved is None or not is_improved.any():
        return measured
    q, is_met = (
        np.where(is_improved[:, None], new_frames[0].q, old_frames[0].q),
        np.where(is_improved, new_frames[0].met, old_frames[0].met),
    )
    errors = np.where(is_improved[:, None], new_frames[1], old_frames[1])
    return _select_frames(
        (new_frames[0]._replace(q=q, met=is_met), errors), rows
    )  # rows backwards are their own inverse


def _find_improved_frames(frames: ClipFrames, old_q: Floats, new_q: Floats) -> Bools:
    """Choose the frames (k,) to accept from poses `new_q`.

    A run of changed frames is accepted as a whole if its jumps decrease, and rejected otherwise.

    Frames outside a run do not depend on it.
    """
    all_frames = np.arange(1, len(old_q))
    old_excess, new_excess = (
        np.maximum(_compute_jumps(frames, all_frames, q[1:], q[:-1]) - MIN_JUMP_RAD, 0.0) for q in (old_q, new_q)
    )
    is_accepted = (old_q != new_q).any(axis=-1)
    run_ends = np.flatnonzero(np.diff(np.concatenate([[False], is_accepted, [False]]).astype(np.int64)))
    for first, last in run_ends.reshape(-1, 2):
        run_steps = slice(max(first - 1, 0), last)
        is_accepted[first:last] = (
            new_excess[run_steps].sum() < old_excess[run_steps].sum()
            and new_excess[run_steps].max() <= old_excess[run_steps].max()
        )
    return is_accepted


def _select_frames(measured: MeasuredFrames, rows: Ints) -> MeasuredFrames:
    """Copy the answers and errors of some frames."""
    answer, errors = measured
    return select_rows(answer, rows), errors[rows]


def _solve_from_previous(frames: ClipFrames, answer: Answer, errors: Floats) -> MeasuredFrames | None:
    """Solve each jumping frame from the one before. Returns None where no jump is removed."""
    all_frames, is_unchanged = np.arange(1, len(answer.q)), (answer.q == frames.problem.start_rows).all(axis=-1)
    jump_frames = all_frames[
        (_compute_jumps(frames, all_frames, answer.q[1:], answer.q[:-1]) > MIN_JUMP_RAD) & ~is_unchanged[1:]
    ]
    if len(jump_frames):
        # All at once, each from the unchanged previous frame: most jumps come from the target and stay.
        jump_frames = jump_frames[
            _find_smoother_frames(
                frames, jump_frames, (answer, errors), _solve_frames_again(frames, jump_frames, answer.q)
            )
        ]
    if not len(jump_frames):
        return None
    planned_frames, is_previous_changed = set(jump_frames.tolist()), False
    for i in range(int(jump_frames[0]), len(answer.q)):
        if not (is_previous_changed or i in planned_frames):
            continue
        frame_index, is_previous_changed = np.array([i]), False
        if (
            not is_unchanged[i]
            and _compute_jumps(frames, frame_index, answer.q[frame_index], answer.q[frame_index - 1])[0] > MIN_JUMP_RAD
        ):
            retried_frame = _solve_frames_again(frames, frame_index, answer.q)
            is_previous_changed = bool(_find_smoother_frames(frames, frame_index, (answer, errors), retried_frame)[0])
            if is_previous_changed:
                answer, errors[i] = merge_rows(answer, frame_index, retried_frame[0]), retried_frame[1][0]
    return answer, errors


def _find_smoother_frames(
    frames: ClipFrames, rows: Ints, measured: MeasuredFrames, retried_frames: MeasuredFrames
) -> Bools:
    """Find frames with smaller jumps and equally good goals."""
    (answer, errors), (new_answer, new_errors) = measured, retried_frames
    previous_q = answer.q[rows - 1]
    old_jumps, new_jumps = (_compute_jumps(frames, rows, q, previous_q) for q in (answer.q[rows], new_answer.q))
    was_met = frames.problem.is_met(errors[rows], frames.tolerance)
    is_as_good = np.where(
        was_met,
        frames.problem.is_met(new_errors, frames.tolerance),
        (new_errors <= errors[rows] + frames.allowed_increase).all(-1),
    )
    return is_as_good & (new_jumps < MAX_REMAINING_SHARE * old_jumps)


def _solve_frames_again(frames: ClipFrames, rows: Ints, q: Floats) -> MeasuredFrames:
    """Solve frames from the answers (k, nq) of the previous frames.

    These are first moved by the clip's own motion between the two frames.
    """
    subproblem = frames.problem.select_rows(rows)
    start_problem = subproblem.with_start(subproblem.make_pose(_propagate_poses(frames.problem, rows, q)))
    return solve_and_measure(start_problem, frames.targets[rows], frames.solver, frames.tolerance, Request())


def _propagate_poses(problem: Problem, rows: Ints, q: Floats) -> Floats:
    """Propagate the previous answers by the clip's joint motion. All other joints take their pose from the clip.

    The rotation of a joint between two frames of the clip is taken in the joint's own frame, so that twist stays twist.
    """
    skeleton, clip_q, previous_clip_q = problem.skeleton, problem.start_rows, problem.start_rows[rows - 1]
    propagated_q = clip_q[rows].copy()
    for name in problem.joints:
        joint_index = skeleton.index(name)
        columns = np.arange(
            skeleton.q_start[joint_index], skeleton.q_start[joint_index] + Kind(skeleton.kinds[joint_index]).nq
        )
        rotation_columns = columns[-4:] if len(columns) >= Kind.BALL.nq else columns[:0]
        linear_columns = columns[: len(columns) - len(rotation_columns)]
        propagated_q[:, linear_columns] += q[rows - 1][:, linear_columns] - previous_clip_q[:, linear_columns]
        if len(rotation_columns):
            clip_rotation = rotations.multiply(
                rotations.inverse(previous_clip_q[:, rotation_columns]), propagated_q[:, rotation_columns]
            )
            propagated_q[:, rotation_columns] = rotations.normalise(
                rotations.multiply(q[rows - 1][:, rotation_columns], clip_rotation)
            )
    return skeleton.legal(propagated_q)[0]
