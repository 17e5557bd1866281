"""Solve problems with optional goals, after the required ones.

Optional goals are met as far as possible without making the required goals worse.

All goals together are tried first. If they cannot all be met, the weights of the optional ones are reduced in steps,
each from the pose of the previous step. This leads to poses that meet the required goals, and among them to one
closest to the optional ones. A last solve meets the required goals alone with the smallest change.

The steps use a local refinement from a given pose, Levenberg-Marquardt without restarts; jumps of clips are removed
with it too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from poise.errors import UnsupportedError
from poise.maths.arrays import Floats, Ints
from poise.problem.problem import Problem, Tolerance, find_required_goals, require_all_goals
from poise.solvers.base import interface
from poise.solvers.base.lm_engine import LmOptions
from poise.solvers.levenberg_marquardt import LevenbergMarquardt

_MAX_POLISH_ITERATIONS = 200  # iterations of the polish until a missed pose converges


@dataclass(frozen=True, kw_only=True)
class LocalRefinement(LevenbergMarquardt):
    """Levenberg-Marquardt without restarts, run to convergence.

    A missed goal ends at the nearest pose in the basin of the start.

    Parameters
    ----------
    uses_preferences
        Whether Near and soft limits count. Without them, a start that meets its goals does not change.
    """

    uses_preferences: bool = True

    @cached_property
    def arm_options(self) -> LmOptions:
        """Engine options for serial arms."""
        return replace(super().arm_options, restarts=0, polish_iterations=_MAX_POLISH_ITERATIONS)

    @cached_property
    def tree_options(self) -> LmOptions:
        """Engine options for all other skeletons."""
        options = replace(super().tree_options, restarts=0, polish_iterations=_MAX_POLISH_ITERATIONS)
        return options if self.uses_preferences else replace(options, preference_share=0.0)


def build_local_refinement(solver: Any, *, uses_preferences: bool = True) -> LocalRefinement:
    """Build the local refinement of a solver.

    It takes the options of its Levenberg-Marquardt engine, or the defaults for other solvers.
    """
    final_solver: Any = interface.get_final_solver(solver)
    options = (
        {option.name: getattr(final_solver, option.name) for option in fields(final_solver)}
        if type(final_solver) is LevenbergMarquardt
        else {}
    )
    return LocalRefinement(**options, uses_preferences=uses_preferences)


# weights of optional goals, as shares of their own, one solve after the other
_OPTIONAL_WEIGHT_SHARES = (0.3, 0.1, 0.03, 0.01, 0.003)
_EXTRA_MISS_TOLERANCES = 1.0  # tolerances: allowed increase of a missed required error in favour of optional goals
SolveFunction = Callable[[Problem, Floats, Any, Tolerance, interface.Request], Any]  # the type of solve_and_measure


def solve_prioritized(
    problem: Problem,
    targets: Floats,
    solver: Any,
    tolerance: Tolerance,
    request: interface.Request,
    solve: SolveFunction,
) -> interface.Answer:
    """Solve for targets (k, W) of required and optional goals.

    `solve` is the solve function for problems in which all goals count.
    """
    check_priority_request(request, "optional goals")
    silent_request, equal_problem = replace(request, trace=False, progress=None), require_all_goals(problem)
    answer = solve(equal_problem, targets, solver, tolerance, silent_request).answer
    missed_rows = np.flatnonzero(~equal_problem.is_met(equal_problem.compute_errors(answer.q, targets), tolerance))
    if len(missed_rows) and not problem.optional_columns.all():
        subproblem = problem.select_rows(missed_rows)
        refined_answer = _reduce_optional_goals(
            subproblem, targets[missed_rows], solver, tolerance, silent_request, solve, answer.q[missed_rows]
        )
        answer = interface.merge_rows(answer, missed_rows, refined_answer)
    return answer._replace(trace=interface.build_end_trace(problem, answer.q, targets)) if request.trace else answer


def _reduce_optional_goals(
    problem: Problem,
    targets: Floats,
    solver: Any,
    tolerance: Tolerance,
    request: interface.Request,
    solve: SolveFunction,
    q: Floats,
) -> interface.Answer:
    """Solve again from poses q (k, nq) with missed goals."""
    required_goals = find_required_goals(problem)
    assert required_goals is not None
    required_problem, required_targets = required_goals.problem, targets[:, required_goals.target_columns]

    def reduce_weights(rows: Ints, q: Floats, shares: tuple[float, ...]) -> interface.Answer:
        """Minimise the errors with decreasing weights of optional goals.

        Starts at q (r, nq) and ends with the required goals alone.
        """
        subproblem, alone_problem = problem.select_rows(rows), required_problem.select_rows(rows)
        stages = [
            (require_all_goals(subproblem, share), targets[rows], build_local_refinement(solver)) for share in shares
        ]
        stages.append((alone_problem, required_targets[rows], build_local_refinement(solver, uses_preferences=False)))
        iterations = joint_updates = np.zeros(len(rows), dtype=np.int64)
        for stage_problem, stage_targets, stage_solver in stages:
            output = solve(
                stage_problem.with_start(stage_problem.make_pose(q)), stage_targets, stage_solver, tolerance, request
            ).answer
            q, iterations, joint_updates = (
                output.q,
                iterations + output.iterations,
                joint_updates + output.joint_updates,
            )
        return interface.Answer(
            q,
            alone_problem.is_met(alone_problem.compute_errors(q, required_targets[rows]), tolerance),
            iterations,
            joint_updates,
        )

    answer = reduce_weights(np.arange(len(q)), q, _OPTIONAL_WEIGHT_SHARES)
    missed_rows = np.flatnonzero(~answer.met)
    if not len(missed_rows):
        return answer
    # Optional goals may lead to a bad basin: retry the required goals alone, then add optional ones with little weight.
    subproblem, missed_targets = required_problem.select_rows(missed_rows), required_targets[missed_rows]
    retried_answer = solve(subproblem, missed_targets, solver, tolerance, request).answer
    refined_answer = reduce_weights(missed_rows, retried_answer.q, _OPTIONAL_WEIGHT_SHARES[-1:])
    first_misses, retried_misses, refined_misses = (
        _compute_misses(subproblem, answer_q, missed_targets, tolerance)
        for answer_q in (answer.q[missed_rows], retried_answer.q, refined_answer.q)
    )
    is_refined = refined_answer.met | (~retried_answer.met & (refined_misses < retried_misses + _EXTRA_MISS_TOLERANCES))
    retried_answer = interface.merge_rows(retried_answer, is_refined, interface.select_rows(refined_answer, is_refined))
    is_improved = retried_answer.met | (
        np.where(is_refined, refined_misses, retried_misses) + _EXTRA_MISS_TOLERANCES < first_misses
    )
    return interface.merge_rows(answer, missed_rows[is_improved], interface.select_rows(retried_answer, is_improved))


def check_priority_request(request: interface.Request, what: str) -> None:
    """Raise UnsupportedError unless prefer="first". Other values are not supported with goals of several ranks."""
    if request.prefer != "first":
        raise UnsupportedError(f'{what} go with prefer="first" only, not with prefer={request.prefer!r}')


def _compute_misses(problem: Problem, q: Floats, targets: Floats, tolerance: Tolerance) -> Floats:
    """Compute the errors (k,) of poses q (k, nq), in tolerances."""
    max_errors = problem.compute_max_errors(tolerance)
    return np.sqrt(
        ((problem.compute_errors(q, targets) / np.where(max_errors > 0.0, max_errors, 1.0)) ** 2).sum(axis=1)
    )
