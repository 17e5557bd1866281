"""Solve for one target from one start pose.

solve(), Prepared and Tracker use it.

Everything independent of the start and the target is computed once per kind of goals and cached. Invalid starts and
unusable solver answers are reported by the general path, `solve_batch`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from poise import solvers
from poise.maths.arrays import Floats
from poise.model.pose import Pose
from poise.problem.feasibility import has_closed_loops
from poise.problem.goal_errors import ErrorPaths
from poise.problem.goals import Goal, Near
from poise.problem.problem import Problem, Tolerance
from poise.solvers.base.answer_refinement import MIN_REFINED_LENGTH_ERROR, correct_shear
from poise.solvers.base.interface import (
    BoundSolve,
    MeasuredOutput,
    Request,
    bind_solver,
    check_answer,
    complete_answer,
    rebind_solver,
)
from poise.solvers.natural.natural import Natural
from poise.solving.arguments import accepts_plain_rows
from poise.solving.arm_fast_path import (
    MAX_FAST_TARGETS,
    ArmFastPath,
    build_fast_path,
    make_kernel_buffer,
    solve_few_on_fast_path,
    solve_on_fast_path,
)
from poise.solving.batch_result import solve_batch
from poise.solving.diagnosis import get_restraints
from poise.solving.result import Result
from poise.solving.solve_settings import SolveSettings


class SingleTargetSolve:
    """Solver, tolerances and settings bound to a kind of problem.

    It serves problems with goals of the same kinds on one skeleton.

    can_skip_batch_steps  whether one target needs no batch steps; scale may be off by an exporter's rounding
    can_change_start      whether the plan is valid for every start without translations and scales
    serves_all_goals      whether goals of the same key differ in their targets only
    """

    def __init__(
        self, problem: Problem, solver: solvers.Solver, tolerance: Tolerance, settings: SolveSettings, request: Request
    ) -> None:
        self.problem = problem
        self.solver = solver
        self.tolerance = tolerance
        self.settings = settings
        self.request = request
        is_simple_problem = not problem.has_priorities and settings.progress is None
        self._has_loops: bool = bool(problem.skeleton.loops)
        # Scale is uniform on these paths, and in the plans of all starts without scales of their own.
        self.error_paths: ErrorPaths | None = (
            problem.error_paths if is_simple_problem and not problem.plan.is_sheared else None
        )
        self.can_skip_batch_steps: bool = is_simple_problem and (
            self.error_paths is not None or problem.plan.length_error <= MIN_REFINED_LENGTH_ERROR
        )
        self.q_shape: tuple[int, int] = 1, problem.skeleton.nq
        start = problem.start
        self.can_change_start: bool = (
            start.translations is None and start.scales is None and not len(problem.plan.layout.fixed_columns)
        )
        self._fast_path = build_fast_path(problem, solver, tolerance, settings)
        self._error_bounds: list[float] = problem.compute_error_bounds(tolerance).tolist()
        self._has_preferred_pose = any(isinstance(goal, Near) for goal in problem.goals)
        if self._has_preferred_pose:
            _ = problem.preference  # a pose of another skeleton is refused here, not by the first call
        self.serves_all_goals: bool = all(map(accepts_plain_rows, problem.goals))
        self._latest_bound: tuple[Pose | None, BoundSolve | None] = None, None

    def __reduce__(self) -> tuple[Any, ...]:
        return SingleTargetSolve, (self.problem, self.solver, self.tolerance, self.settings, self.request)

    @property
    def has_fast_path(self) -> bool:
        """Whether the start of this problem has a fast path."""
        return self._fast_path is not None

    def find_fast_path(self, problem: Problem) -> ArmFastPath | None:
        """Find the fast path for a start, or None."""
        if self._fast_path is None or self._fast_path.can_change_start or problem is self.problem:
            return self._fast_path
        return build_fast_path(problem, self.solver, self.tolerance, self.settings)

    def bind(self, problem: Problem) -> BoundSolve:
        """Bind the solver to the start of a problem.

        The latest one is kept: starts repeat, and every call for one start takes the same.
        """
        bound_start, bound = self._latest_bound
        if bound is None or bound_start is not problem.start:
            given = self.solver, problem, self.tolerance, self.request
            bound = bind_solver(*given) if bound is None else rebind_solver(bound, *given)
            if not self._has_preferred_pose:  # a goal's, and no start's
                self._latest_bound = problem.start, bound
        return bound

    def solve(
        self,
        problem: Problem,
        targets: Floats,
        clamped_joints: tuple[str, ...],
        start_time: float,
        goals: tuple[Goal, ...] | None = None,
    ) -> Result:
        """Solve for one target (1, W). The problem has goals of the same kinds as this one."""
        extra_fields = {"problem": problem} if goals is None else {"problem": problem, "goals": goals}
        fast_path = None if self._fast_path is None else self.find_fast_path(problem)
        if fast_path is not None:
            fields = self.build_lazy_arm_fields, problem, clamped_joints
            result = solve_on_fast_path(
                fast_path, problem, targets, make_kernel_buffer(problem.start.q), fields, start_time, extra_fields
            )
            if result is not None:
                if self.settings.progress is not None:
                    self.settings.progress(1)
                return result
        if not self.can_skip_batch_steps or (
            self.error_paths is None and problem.plan.length_error > MIN_REFINED_LENGTH_ERROR
        ):
            return solve_batch(
                problem, targets, self.solver, self.tolerance, self.request, (), clamped_joints, start_time, goals
            )
        bound = self.bind(problem)
        output = bound.solve(targets)
        q = output[0]
        errors = self._measure(problem, output, targets)
        is_reached = self._is_reached(problem, q, errors)
        if not is_reached:  # poses with NaN reach nothing
            check_answer(q, self.solver.name, self.q_shape)
        if not is_reached and self.error_paths is None and problem.plan.is_sheared:
            output = complete_answer(bound, targets, output)
            if output.met[0]:
                output = correct_shear(problem, self.solver, targets, self.tolerance, self.request, output)
                q, errors = output.q, problem.compute_errors(output.q, targets)
                is_reached = self._is_reached(problem, q, errors)
        q, errors = q[0], errors[0]
        q.setflags(write=False)
        errors.setflags(write=False)
        lazy_source = self.build_lazy_fields, problem, clamped_joints, (), targets, bound, output
        fields = {"q": q, "errors": errors, "reached": is_reached, "lazy_source": lazy_source, **extra_fields}
        return Result.from_frozen(fields, start_time)

    def _measure(self, problem: Problem, output: tuple[Any, ...], targets: Floats) -> Floats:
        """Measure the errors (k, c) of an output.

        Some kernels have measured them already.
        """
        if type(output) is MeasuredOutput and output.error_parts is not None:
            return problem.convert_error_parts(output.q, targets, output.error_parts)
        return problem.compute_errors(output[0], targets)

    def _is_reached(self, problem: Problem, q: Floats, errors: Floats) -> bool:
        """Return whether q (1, nq) meets the goals and holds the loops."""
        for error, max_error in zip(errors[0].tolist(), self._error_bounds, strict=True):
            if not error <= max_error:  # so NaN is not
                return False
        return not self._has_loops or bool(has_closed_loops(problem, q)[0])

    def build_lazy_fields(
        self,
        problem: Problem,
        clamped_joints: tuple[str, ...],
        shape: tuple[int, ...],
        targets: Floats,
        bound: BoundSolve,
        output: tuple[Any, ...],
    ) -> dict[str, Any]:
        """Build the remaining fields of a Result on demand. `output` is that of the bound solve."""
        answer = complete_answer(bound, targets, output)
        return self._build_common_fields(problem, clamped_joints, targets) | {
            "iterations": answer.iterations.reshape(shape),
            "joint_updates": answer.joint_updates.reshape(shape),
            "trace": answer.trace,
            "solutions_q": answer.solutions,
        }

    def build_lazy_arm_fields(
        self, problem: Problem, clamped_joints: tuple[str, ...], targets: Floats, output: tuple[Any, ...], q: Floats
    ) -> dict[str, Any]:
        """Build the remaining fields of a fast-path Result. `output` begins with reached and iterations.

        Errors are measured here: the kernel's angles may differ in their last digits from those of a batch.
        """
        iteration_count = output[1]
        return self._build_common_fields(problem, clamped_joints, targets) | {
            "errors": problem.compute_errors(q[None], targets)[0],
            "iterations": np.array(iteration_count),
            "joint_updates": np.array(iteration_count * len(problem.joints)),
            "trace": None,
            "solutions_q": None,
        }

    def build_lazy_batch_fields(
        self,
        problem: Problem,
        clamped_joints: tuple[str, ...],
        shape: tuple[int, ...],
        targets: Floats,
        buffer: Floats,
    ) -> dict[str, Any]:
        """Build the remaining fields of a Result for a few targets.

        `buffer` (k, nq + 4) has q and iterations. Errors are measured here, as for one target.
        """
        nq = problem.skeleton.nq
        iterations = buffer[:, nq].astype(np.int64).reshape(shape)
        errors = problem.compute_errors(buffer[:, :nq].copy(), targets)
        return self._build_common_fields(problem, clamped_joints, targets) | {
            "errors": errors.reshape(*shape, errors.shape[-1]),
            "iterations": iterations,
            "joint_updates": iterations * len(problem.joints),
            "trace": None,
            "solutions_q": None,
        }

    def solve_few(
        self,
        problem: Problem,
        targets: Floats,
        shape: tuple[int, ...],
        start_time: float,
        goals: tuple[Goal, ...] | None = None,
        clamped_joints: tuple[str, ...] = (),
    ) -> Result | None:
        """Solve for a few targets (k, W).

        It takes the fast path of an arm, or a kernel that measures. The start is legal. Returns None where the general
        path is needed.
        """
        if not 0 < len(targets) <= MAX_FAST_TARGETS or problem.is_batched:
            return None
        extra_fields = {"problem": problem} if goals is None else {"problem": problem, "goals": goals}
        fast_path = self.find_fast_path(problem)
        if fast_path is not None:
            lazy_fields = self.build_lazy_batch_fields, problem, clamped_joints
            return solve_few_on_fast_path(fast_path, problem, targets, shape, lazy_fields, start_time, extra_fields)
        if problem.plan.is_sheared or problem.has_priorities or self._has_loops or self.request.trace:
            return None
        bound = self.bind(problem)
        if not getattr(bound, "has_measures", False):
            return None
        output = bound.solve(targets)
        q, errors = output[0], self._measure(problem, output, targets)
        check_answer(q, self.solver.name, (len(targets), self.q_shape[1]))
        fields = {
            "q": q.reshape(*shape, self.q_shape[1]),
            "errors": errors.reshape(*shape, errors.shape[1]),
            "reached": problem.is_met(errors, self.tolerance).reshape(shape),
            "lazy_source": (self.build_lazy_fields, problem, clamped_joints, shape, targets, bound, output),
            **extra_fields,
        }
        return Result(fields, start_time)

    def _build_common_fields(
        self, problem: Problem, clamped_joints: tuple[str, ...], targets: Floats
    ) -> dict[str, Any]:
        return {
            "problem": problem,
            "targets": targets,
            "solver": self.solver.name,
            "natural": isinstance(self.solver, Natural),
            "moved_inside": clamped_joints,
            "tolerances": self.tolerance,
            "restrained": self.solver if problem.has_pulls or get_restraints(self.solver) else None,
        }
