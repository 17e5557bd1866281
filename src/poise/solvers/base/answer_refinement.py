"""Refine answers by Levenberg-Marquardt on forward kinematics: sheared rigs and Balance.

Residual and Jacobian are computed from the affine maps (problem/residuals.py); limits are kept. The starts are answers
of other solvers, so few problems need it, and few steps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from poise import kernels
from poise.kernels.layout import (
    DOF_HIGH,
    DOF_LOW,
    DOF_U_COLUMN,
    DOF_WEIGHT,
    EFFECTOR_WEIGHT,
    LIMIT_KIND,
    LIMIT_SOFT_WEIGHT,
    NO_LIMIT,
)
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints
from poise.problem.dof_layout import BALL, MOVE
from poise.problem.feasibility import find_unreachable, pull_inside_reach
from poise.problem.goals import Balance, is_joint_goal
from poise.problem.plan import Plan
from poise.problem.problem import Problem, Tolerance
from poise.problem.residuals import compute_residual
from poise.runtime.result_cache import get_or_compute
from poise.solvers.base import interface
from poise.solvers.base.lm_engine import build_scaled_dofs
from poise.solvers.base.random_starts import draw_restarts

_MAX_STEPS = 100  # largest number of steps in one run
_MAX_PARALLEL_RUNS = 4096  # runs in memory at once
_START_SPREAD = 0.1  # [rad] rotation of balls in the first restart; it grows linearly with the restart number
_MAX_MISS_RATIO = 4.0  # largest ratio of a miss to the length error; larger misses are not caused by shear
_DAMPING_PER_SQUARED_ERROR = 0.04  # damping per squared error, as in the engine
_DAMPING_DECREASE, _DAMPING_INCREASE = (
    0.2,
    10.0,
)  # factors on the damping after an improving step and after a failed one
_MIN_DAMPING_FACTOR, _MAX_DAMPING_FACTOR = 1e-3, 1e6  # bounds of the accumulated damping factor
_MAX_DOF_STEP = 0.5  # [rad, kernel units] largest step of a degree of freedom
_MIN_DAMPING = 1e-12  # smallest damping; keeps the system solvable
_MIN_STEP_DECREASE, _MAX_IDLE_STEPS = (
    1e-6,
    3,
)  # [kernel units, rad] and steps: a run ends after this many steps of smaller decrease
_FIRST_RESTART_COUNT = 8  # restarts in the first round
_MAX_FIRST_RESTART_RATIO = 0.9  # largest remaining error ratio for a second round; above it the goals conflict
_MAX_ACCEPTED_RATIO = 0.999  # largest error ratio to accept another miss
_LIMIT_PROBE_RAD = 1e-4  # [rad] rotation of a ball to probe its limit
_MIN_BLOCKED_SHARE = 1e-3  # smallest share of a rotation removed by a limit to count as blocked


class LmPatience(NamedTuple):
    """Number of steps, and the relative error decrease required in them."""

    window_steps: int
    min_decrease_share: float


_REFINING_PATIENCE = LmPatience(10, 1e-4)  # for the final run towards unreachable goals
_RESTART_PATIENCE = LmPatience(4, 0.2)  # for restarts, as in the engine


class LmResult(NamedTuple):
    """Result of Levenberg-Marquardt runs.

    Fields: values u (k, nu), squared errors (k,), success (k,) and steps (k,).
    """

    u: Floats
    costs: Floats
    met: Bools
    steps: Ints


def refine_by_lm(
    problem: Problem, q: Floats, targets: Floats, tolerance: Tolerance, *, restarts: int
) -> interface.Answer:
    """Refine poses q (k, nq) towards their targets (k, W).

    The affine maps are used, and each pose gets as near as possible. Misses small enough to be caused by shear get
    `restarts` further starts.
    """
    result = run_lm(problem, problem.plan.q_to_u(q), targets, tolerance)
    correctable_rows = (
        _find_correctable_rows(problem, result, targets, tolerance) if restarts else np.empty(0, dtype=np.int64)
    )
    rows_per_batch = max(_MAX_PARALLEL_RUNS // max(restarts, 1), 1)
    for first in range(0, len(correctable_rows), rows_per_batch):
        _restart_rows(problem, result, correctable_rows[first : first + rows_per_batch], targets, tolerance, restarts)
    is_unchanged = (result.steps == 0)[:, None]
    new_q = np.where(is_unchanged, q, problem.compute_q(result.u, ~is_unchanged[:, 0]))
    return interface.Answer(new_q, result.met, result.steps, result.steps * len(problem.joints))


def _find_correctable_rows(problem: Problem, result: LmResult, targets: Floats, tolerance: Tolerance) -> Ints:
    """Find missed rows within reach of a shear correction. Rows out of reach by bone lengths are excluded."""
    plan = problem.plan
    longest_reaches: Any = 1.0  # a number, or one for each row
    for reach in plan.term_reaches:
        longest_reaches = np.maximum(
            longest_reaches, np.where(np.isfinite(reach.max_distance), reach.max_distance, 0.0)
        )
    max_cost = (
        _MAX_MISS_RATIO * plan.length_error * longest_reaches * plan.effectors[:, EFFECTOR_WEIGHT].max(initial=0.0)
    ) ** 2
    correctable_rows = np.flatnonzero(~result.met & (result.costs <= max_cost))
    if not len(correctable_rows):
        return correctable_rows
    return correctable_rows[
        find_unreachable(problem.select_rows(correctable_rows), targets[correctable_rows], tolerance) == 0
    ]


def _restart_rows(
    problem: Problem, result: LmResult, rows: Ints, targets: Floats, tolerance: Tolerance, restarts: int
) -> None:
    """Restart rows, keeping the first success or the best.

    Restarts with a small decrease are given up; only the best remaining miss is run to convergence.
    """
    start_u, start_costs = result.u[rows], result.costs[rows]
    _run_restarts(problem, result, rows, start_u, targets, tolerance, range(min(_FIRST_RESTART_COUNT, restarts)))
    second_rows = np.flatnonzero(~result.met[rows] & (result.costs[rows] < _MAX_FIRST_RESTART_RATIO**2 * start_costs))
    if len(second_rows) and restarts > _FIRST_RESTART_COUNT:
        _run_restarts(
            problem,
            result,
            rows[second_rows],
            start_u[second_rows],
            targets,
            tolerance,
            range(_FIRST_RESTART_COUNT, restarts),
        )
    improved_rows = rows[~result.met[rows] & (result.costs[rows] < start_costs)]
    if len(improved_rows):
        refined = run_lm(problem.select_rows(improved_rows), result.u[improved_rows], targets[improved_rows], tolerance)
        _copy_rows(result, improved_rows, refined, np.arange(len(improved_rows)))
        result.steps[improved_rows] += refined.steps


def _run_restarts(
    problem: Problem,
    result: LmResult,
    rows: Ints,
    start_u: Floats,
    targets: Floats,
    tolerance: Tolerance,
    draw_rows: range,
) -> None:
    """Run restarts from random poses around `start_u` (r, nu). Each row keeps the better result."""
    restart_count, row_of_run = len(draw_rows), np.repeat(rows, len(draw_rows))
    subproblem, restart_draws = problem.select_rows(row_of_run), draw_restarts(len(problem.plan.layout.dofs))
    restart_u = [
        problem.plan.randomize_starts(start_u, restart_draws[i], min(_START_SPREAD * (i + 1), 2.0)) for i in draw_rows
    ]
    u = np.stack(restart_u, axis=1).reshape(len(row_of_run), -1)
    output = run_lm(subproblem, u, targets[row_of_run], tolerance, _RESTART_PATIENCE)
    costs, is_met = output.costs.reshape(-1, restart_count), output.met.reshape(-1, restart_count)
    best_runs = np.where(is_met.any(axis=1), is_met.argmax(axis=1), costs.argmin(axis=1)) + restart_count * np.arange(
        len(rows)
    )
    is_better = output.met[best_runs] | (output.costs[best_runs] < _MAX_ACCEPTED_RATIO * result.costs[rows])
    _copy_rows(result, rows[is_better], output, best_runs[is_better])
    result.steps[rows] += output.steps.reshape(-1, restart_count).sum(axis=1)


def _copy_rows(result: LmResult, rows: Ints, source: LmResult, source_rows: Ints) -> None:
    """Copy values, costs and success of some rows."""
    for column, source_column in zip(result[:3], source[:3], strict=True):
        column[rows] = source_column[source_rows]


def run_lm(
    problem: Problem, u: Floats, targets: Floats, tolerance: Tolerance, patience: LmPatience = _REFINING_PATIENCE
) -> LmResult:
    """Run Levenberg-Marquardt from values u (k, nu). Each row stops when its goals are met or its error stalls."""
    k, plan, u = len(u), problem.plan, u.copy()
    q = problem.compute_q(u, np.ones(k, dtype=bool))
    jacobian, residuals = compute_residual(problem, q, targets)
    costs, is_met = (residuals**2).sum(axis=1), problem.is_met(problem.compute_errors(q, targets), tolerance)
    damping_factor, idle_steps, step_counts = np.ones(k), np.zeros(k, dtype=np.int64), np.zeros(k, dtype=np.int64)
    previous_costs = costs.copy()
    for i in range(_MAX_STEPS):
        if i and i % patience.window_steps == 0:
            idle_steps[np.sqrt(costs) > (1.0 - patience.min_decrease_share) * np.sqrt(previous_costs)] = _MAX_IDLE_STEPS
            previous_costs = costs.copy()
        active_rows = np.flatnonzero(~is_met & (idle_steps < _MAX_IDLE_STEPS) & (damping_factor < _MAX_DAMPING_FACTOR))
        if not len(active_rows):
            break
        subproblem = problem.select_rows(active_rows)
        new_u = _apply_step(
            plan,
            u[active_rows],
            _compute_step(
                plan, u[active_rows], jacobian[active_rows], residuals[active_rows], damping_factor[active_rows]
            ),
        )
        q = subproblem.compute_q(new_u, np.ones(len(active_rows), dtype=bool))
        new_jacobian, new_residuals = compute_residual(subproblem, q, targets[active_rows])
        new_costs = (new_residuals**2).sum(axis=1)
        is_better = new_costs < costs[active_rows]
        idle_steps[active_rows] = np.where(
            np.sqrt(costs[active_rows]) - np.sqrt(new_costs) > _MIN_STEP_DECREASE,
            0,
            idle_steps[active_rows] + is_better,
        )
        damping_factor[active_rows] = np.maximum(
            damping_factor[active_rows] * np.where(is_better, _DAMPING_DECREASE, _DAMPING_INCREASE), _MIN_DAMPING_FACTOR
        )
        step_counts[active_rows] += 1
        improved_rows = active_rows[is_better]
        u[improved_rows], jacobian[improved_rows], residuals[improved_rows], costs[improved_rows] = (
            new_u[is_better], new_jacobian[is_better], new_residuals[is_better], new_costs[is_better],
        )  # fmt: skip
        if len(improved_rows):  # an empty problem has no plan
            is_met[improved_rows] = problem.is_met(
                subproblem.select_rows(is_better).compute_errors(q[is_better], targets[improved_rows]), tolerance
            )
    return LmResult(u, costs, is_met, step_counts)


def _compute_step(plan: Plan, u: Floats, jacobian: Floats, residuals: Floats, damping_factor: Floats) -> Floats:
    """Compute damped least-squares steps (k, nd). Columns blocked by a limit are excluded."""
    dofs, jacobian = build_scaled_dofs(plan), jacobian.copy()
    gradient = (jacobian * residuals[:, :, None]).sum(axis=1)
    u_columns = dofs[:, DOF_U_COLUMN].astype(np.int64)
    dof_values = np.where(u_columns >= 0, u[:, u_columns], 0.0)
    is_blocked = (u_columns >= 0) & (
        ((dof_values <= dofs[:, DOF_LOW]) & (gradient < 0)) | ((dof_values >= dofs[:, DOF_HIGH]) & (gradient > 0))
    )
    jacobian *= ~is_blocked[:, None]
    _remove_blocked_rotations(plan, u, gradient, jacobian)
    scaled_jacobian = jacobian * dofs[:, DOF_WEIGHT]
    normal_matrix = scaled_jacobian @ np.swapaxes(jacobian, 1, 2)
    damping = np.maximum(_DAMPING_PER_SQUARED_ERROR * damping_factor * (residuals**2).sum(axis=1), _MIN_DAMPING)
    multipliers = np.linalg.solve(
        normal_matrix + damping[:, None, None] * np.eye(normal_matrix.shape[1]), residuals[:, :, None]
    )
    step = (scaled_jacobian * multipliers).sum(axis=1)
    max_step = np.abs(step / np.sqrt(dofs[:, DOF_WEIGHT])).max(axis=1, initial=_MAX_DOF_STEP)
    return step * (_MAX_DOF_STEP / max_step)[:, None]


def _remove_blocked_rotations(plan: Plan, u: Floats, gradient: Floats, jacobian: Floats) -> None:
    """Remove ball rotations blocked by limits from the Jacobian.

    The blocked direction is the part of a small rotation lost by clamping.
    """
    limited_balls = _find_balls(plan, limited_only=True)
    if not len(limited_balls.u_starts):
        return
    gradient_directions = gradient[:, limited_balls.dof_columns]
    gradient_directions /= np.maximum(np.sqrt((gradient_directions**2).sum(axis=2, keepdims=True)), 1e-300)
    ball_rotations, probe_u = u[:, limited_balls.u_columns], u.copy()
    probe_u[:, limited_balls.u_columns] = rotations.multiply(
        rotations.from_vector(_LIMIT_PROBE_RAD * gradient_directions), ball_rotations
    )
    kernels.limits.clamp_rotations(limited_balls.u_starts, limited_balls.limits, probe_u)
    applied_rotations = rotations.multiply(probe_u[:, limited_balls.u_columns], rotations.inverse(ball_rotations))
    blocked_component = gradient_directions - rotations.as_vector(applied_rotations) / _LIMIT_PROBE_RAD
    blocked_length = np.sqrt((blocked_component**2).sum(axis=2, keepdims=True))
    blocked_axis = np.where(
        blocked_length > _MIN_BLOCKED_SHARE, blocked_component / np.maximum(blocked_length, 1e-300), 0.0
    )[:, None]
    ball_jacobian = jacobian[:, :, limited_balls.dof_columns]
    jacobian[:, :, limited_balls.dof_columns] = (
        ball_jacobian - (ball_jacobian * blocked_axis).sum(axis=3, keepdims=True) * blocked_axis
    )


class _BallColumns(NamedTuple):
    """Ball joints of a plan. Fields: first columns in u (b,), all columns in u (b, 4), dofs (b, 3) and limits."""

    u_starts: Ints
    u_columns: Ints
    dof_columns: Ints
    limits: Floats


def _find_balls(plan: Plan, *, limited_only: bool = False) -> _BallColumns:
    """Find all balls, or only those with hard limits."""

    def build_columns() -> _BallColumns:
        limits = plan.limit_rows
        has_hard_limit = (limits[:, LIMIT_KIND] != NO_LIMIT) & (limits[:, LIMIT_SOFT_WEIGHT] == 0.0)
        node_indices = [
            i
            for i, node in enumerate(plan.layout.nodes)
            if node.kind == BALL and (has_hard_limit[i] or not limited_only)
        ]
        start_columns = np.array(
            [(plan.layout.nodes[i].u_start, plan.layout.nodes[i].dof_start) for i in node_indices], dtype=np.int64
        )
        u_starts, dof_starts = start_columns.reshape(-1, 2).T.copy()
        return _BallColumns(
            u_starts,
            u_starts[:, None] + np.arange(4),
            dof_starts[:, None] + np.arange(3),
            np.array(limits[node_indices]),
        )

    return get_or_compute(plan.tree, "ball columns", limited_only, build_columns)


def _apply_step(plan: Plan, u: Floats, step: Floats) -> Floats:
    """Apply a step (k, nd) to u (k, nu) within limits."""
    u, dofs, balls, limited_balls = u.copy(), plan.layout.dofs, _find_balls(plan), _find_balls(plan, limited_only=True)
    scalar_dofs = np.flatnonzero(dofs[:, DOF_U_COLUMN] >= 0.0)
    u_columns = dofs[scalar_dofs, DOF_U_COLUMN].astype(np.int64)
    u[:, u_columns] = np.clip(
        u[:, u_columns] + step[:, scalar_dofs], dofs[scalar_dofs, DOF_LOW], dofs[scalar_dofs, DOF_HIGH]
    )
    for node in plan.layout.nodes:
        if node.kind == MOVE:
            u[:, node.u_start : node.u_start + 3] += step[:, node.dof_start : node.dof_start + 3]
    if len(balls.u_starts):
        ball_rotations = rotations.multiply(rotations.from_vector(step[:, balls.dof_columns]), u[:, balls.u_columns])
        u[:, balls.u_columns] = rotations.unit(ball_rotations)
    if len(limited_balls.u_starts):
        kernels.limits.clamp_rotations(limited_balls.u_starts, limited_balls.limits, u)
    return u


# --- Correct answers for non-uniform scale, for any solver -----------------------------------------------------------
#
# Solvers model a tree of rigid parts with uniform scale. For shearing scale the model has a length error, and so have
# the answers. First the solver runs again for targets shifted by the errors of forward kinematics, which is fast.
# Remaining errors are reduced by Levenberg-Marquardt steps on the affine maps.


_MAX_CORRECTIONS = 4  # largest number of target shifts; each one multiplies the error by the relative length error
MIN_REFINED_LENGTH_ERROR = 1e-4  # relative length error; answers below it are shifted, but not refined further
_MAX_RESTARTS = 40  # largest number of restarts


def correct_shear(
    problem: Problem,
    solver: Any,
    targets: Floats,
    tolerance: Tolerance,
    request: interface.Request,
    answer: interface.Answer,
) -> interface.Answer:
    """Move answers to targets (k, W) measured by forward kinematics. Unreachable targets are approached."""
    # Residuals in NumPy know neither relative goals nor ranges.
    if problem.plan.length_error <= MIN_REFINED_LENGTH_ERROR or problem.plan.has_set_terms:
        return _solve_corrected_targets(problem, solver, targets, tolerance, request, answer)
    if answer.solutions is not None:
        return _refine_solutions(problem, targets, tolerance, answer)
    answer = _restore_solved_starts(problem, targets, tolerance, answer)
    answer = _solve_corrected_targets(problem, solver, targets, tolerance, request, answer)
    missed_rows = np.flatnonzero(~problem.is_met(problem.compute_errors(answer.q, targets), tolerance))
    if not len(missed_rows):
        return answer
    solver_missed_rows = missed_rows[~answer.met[missed_rows]]
    if len(solver_missed_rows):
        answer = _solve_pulled_targets(problem, solver, targets, tolerance, request, answer, solver_missed_rows)
    solver_restarts = getattr(
        interface.get_final_solver(solver), "restarts", 0
    )  # solvers without restarts get none here
    restart_count = _MAX_RESTARTS if solver_restarts is None else min(solver_restarts, _MAX_RESTARTS)
    refined_answer = refine_by_lm(
        problem.select_rows(missed_rows), answer.q[missed_rows], targets[missed_rows], tolerance, restarts=restart_count
    )
    return interface.merge_rows(answer, missed_rows, refined_answer._replace(trace=answer.trace))


def _solve_corrected_targets(
    problem: Problem,
    solver: Any,
    targets: Floats,
    tolerance: Tolerance,
    request: interface.Request,
    answer: interface.Answer,
) -> interface.Answer:
    """Solve again for targets shifted by the remaining errors. This is repeated while the solver reports success."""
    shifted_targets = targets.copy()
    for _ in range(_MAX_CORRECTIONS):
        is_missed = answer.met & ~problem.is_met(problem.compute_errors(answer.q, targets), tolerance)
        if not is_missed.any():
            break
        shifted_targets[is_missed] = problem.shift_targets(shifted_targets, targets, answer.q)[is_missed]
        answer = interface.merge_rows(
            answer,
            is_missed,
            interface.run_solver(
                solver, problem.select_rows(is_missed), shifted_targets[is_missed], tolerance, request
            ),
        )
    return answer


def _restore_solved_starts(
    problem: Problem, targets: Floats, tolerance: Tolerance, answer: interface.Answer
) -> interface.Answer:
    """Restore starts with met targets. The solver's tree may miss the targets there."""
    start_q = np.array(np.broadcast_to(problem.start.flat_q, answer.q.shape))
    is_solved = problem.is_met(problem.compute_errors(start_q, targets), tolerance)
    if problem.has_preference or not is_solved.any():
        return answer
    q, is_met = np.where(is_solved[:, None], start_q, answer.q), answer.met | is_solved
    return interface.Answer(q, is_met, answer.iterations * ~is_solved, answer.joint_updates * ~is_solved, answer.trace)


def _solve_pulled_targets(
    problem: Problem,
    solver: Any,
    targets: Floats,
    tolerance: Tolerance,
    request: interface.Request,
    answer: interface.Answer,
    rows: Ints,
) -> interface.Answer:
    """Start again from solutions for slightly nearer targets. Jacobian steps cannot bend an extended limb."""
    subproblem = problem.select_rows(rows)
    new_answer = interface.run_solver(
        solver, subproblem, pull_inside_reach(subproblem, targets[rows]), tolerance, request
    )
    is_met = new_answer.met
    met_answer = interface.Answer(
        new_answer.q[is_met],
        is_met[is_met],
        new_answer.iterations[is_met],
        new_answer.joint_updates[is_met],
        answer.trace,
    )
    return interface.merge_rows(answer, rows[is_met], met_answer)


def _refine_solutions(
    problem: Problem, targets: Floats, tolerance: Tolerance, answer: interface.Answer
) -> interface.Answer:
    """Refine every solution of one target, and drop misses."""
    q = answer.q if answer.solutions is None or not len(answer.solutions) else answer.solutions
    refined_answer = refine_by_lm(problem, q, np.repeat(targets, len(q), axis=0), tolerance, restarts=0)
    first_met = int(refined_answer.met.argmax())
    return answer._replace(
        q=refined_answer.q[first_met : first_met + 1],
        met=refined_answer.met[first_met : first_met + 1],
        iterations=answer.iterations + refined_answer.iterations.sum(),
        joint_updates=answer.joint_updates + refined_answer.joint_updates.sum(),
        solutions=refined_answer.q[refined_answer.met],
    )


# --- Solve problems with a Balance goal ------------------------------------------------------------------------------
#
# A solver meets the other goals first; then Levenberg-Marquardt refines all of them together.
#
# Terms of the kernels depend on one joint each, the centre of mass depends on all. So the requested solver finds a pose
# for the other goals, and Levenberg-Marquardt in NumPy, with residuals from forward kinematics, refines it in a few
# least steps until the centre of mass and the goals are met.


def solve_with_balance(
    solver: Any, problem: Problem, targets: Floats, tolerance: Tolerance, request: interface.Request
) -> interface.Answer:
    """Solve for targets (k, W) with a Balance goal. `solver` solves for the other goals."""
    answer = _solve_other_goals(solver, problem, targets, tolerance, replace(request, trace=False))
    missed_rows = np.flatnonzero(~problem.is_met(problem.compute_errors(answer.q, targets), tolerance))
    if len(missed_rows):
        refined_answer = refine_by_lm(
            problem.select_rows(missed_rows), answer.q[missed_rows], targets[missed_rows], tolerance, restarts=0
        )
        answer = interface.merge_rows(answer, missed_rows, refined_answer)
    is_met = problem.is_met(problem.compute_errors(answer.q, targets), tolerance)
    trace = interface.build_end_trace(problem, answer.q, targets) if request.trace else None
    return answer._replace(met=is_met, trace=trace)


def remove_balance_goals(problem: Problem) -> Problem:
    """Return the problem without Balance goals."""
    goals = tuple(goal for goal in problem.goals if not isinstance(goal, Balance))
    return Problem(problem.start, goals, problem.free_root, origin=problem.origin)


def _solve_other_goals(
    solver: Any, problem: Problem, targets: Floats, tolerance: Tolerance, request: interface.Request
) -> interface.Answer:
    """Solve for the goals other than Balance.

    The start is kept where it meets all goals, and where there are no others.
    """
    k, start_q = len(targets), problem.start_rows
    q, zero_counts = np.array(np.broadcast_to(start_q, (k, start_q.shape[1]))), np.zeros(k, dtype=np.int64)
    is_met = problem.is_met(problem.compute_errors(q, targets), tolerance)
    answer, other_problem, missed_rows = (
        interface.Answer(q, is_met, zero_counts, zero_counts),
        remove_balance_goals(problem),
        np.flatnonzero(~is_met),
    )
    if not len(missed_rows) or not any(map(is_joint_goal, other_problem.goals)):
        return answer
    return interface.merge_rows(
        answer,
        missed_rows,
        interface.run_solver_by_group(
            solver, other_problem.select_rows(missed_rows), targets[missed_rows], tolerance, request
        ),
    )
