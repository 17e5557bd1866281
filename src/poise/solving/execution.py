"""Execution of a solve: batches, single targets and the fast path.

The fast path is for single targets of serial arms.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from poise import kernels, solvers
from poise.errors import InputError
from poise.kernels.layout import ARM_RESULT_ROW, ARM_WORKSPACE_SIZE
from poise.maths.arguments import check_bool
from poise.maths.arrays import Floats, Ints, find_simd_width
from poise.model.skeleton import Kind
from poise.problem.chain import pack_for_q
from poise.problem.feasibility import has_closed_loops
from poise.problem.goal_errors import ErrorPaths, compute_path_errors
from poise.problem.goals import Goal
from poise.problem.plan import Plan
from poise.problem.problem import Problem, Tolerance
from poise.runtime.immutable_values import freeze_arrays, get_or_compute
from poise.solvers.base.answer_refinement import MIN_REFINED_LENGTH_ERROR, correct_shear
from poise.solvers.base.interface import BUILTIN_PREFIX, Answer, Prefer, Request, check_answer, convert_custom_answer
from poise.solvers.base.lm_engine import pack_arm_settings
from poise.solvers.levenberg_marquardt import LevenbergMarquardt
from poise.solvers.natural.natural import Natural
from poise.solving.arguments import check_request
from poise.solving.batch import solve_and_measure
from poise.solving.diagnosis import read_restraints
from poise.solving.result import Result

_MIN_THREADED_TARGETS = 4096  # targets: smaller batches finish before threads have started


@dataclass(frozen=True)
class SolveSettings:
    """Solve settings shared by solve() and prepare(). They do not depend on the solver."""

    prefer: Prefer = "first"
    seeds: int | None = None
    threads: int | None = None
    trace: bool = False
    progress: Callable[[int], None] | None = None

    def __post_init__(self) -> None:
        check_request(prefer=self.prefer, seeds=self.seeds, threads=self.threads, progress=self.progress)
        object.__setattr__(self, "trace", check_bool("trace", self.trace))
        for name in ("seeds", "threads"):  # as plain numbers: arrays without axes have no hash
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else int(value))

    def make_request(self, target_count: int) -> Request:
        """Make the request for `target_count` targets.

        Chooses the number of threads; InputError for options of single targets only.
        """
        if self.trace and target_count != 1:
            raise InputError(f"trace=True keeps the iterations of one target; there are {target_count}")
        if self.prefer == "all" and target_count != 1:
            raise InputError(f'prefer="all" lists the solutions of one target; there are {target_count}')
        threads = self.threads
        if threads is None:
            threads = (os.cpu_count() or 1) if target_count >= _MIN_THREADED_TARGETS else 1
        return Request(self.prefer, self.seeds, threads, self.trace, self.progress)


def solve_batch(
    problem: Problem,
    targets: Floats,
    solver: solvers.Solver,
    tolerance: Tolerance,
    request: Request,
    shape: tuple[int, ...],
    moved_inside: tuple[str, ...],
    start_time: float,
    goals: tuple[Goal, ...] | None = None,
) -> Result:
    """Solve a problem for targets (k, W) and measure the answer.

    `goals` hold the targets, if the caller supplied goals.
    """
    measured = solve_and_measure(problem, targets, solver, tolerance, request)
    answer, is_reached = measured.answer, problem.is_met(measured.errors, tolerance)
    if problem.skeleton.loops:
        is_reached &= has_closed_loops(problem, answer.q, tolerance)
    is_reached = is_reached.reshape(shape)
    freeze_arrays((answer.trace,))
    fields = {
        "problem": problem,
        "targets": targets,
        "q": answer.q.reshape(*shape, answer.q.shape[-1]),
        "errors": measured.errors.reshape(*shape, measured.errors.shape[-1]),
        "reached": is_reached if shape else bool(is_reached),
        "iterations": answer.iterations.reshape(shape),
        "joint_updates": answer.joint_updates.reshape(shape),
        "solver": solver.name,
        "natural": isinstance(solver, Natural),
        "moved_inside": moved_inside,
        "trace": answer.trace,
        "solutions_q": answer.solutions,
        "tolerances": tolerance,
        "restrained": solver if read_restraints(solver) else None,
    }
    return Result(fields if goals is None else fields | {"goals": goals}, start_time)


# --- Fast path for serial arms ---------------------------------------------------------------------------------------
#
# One kernel call parses the target, solves and measures the error.
#
# Computing all fields of a Result takes longer than solving; the remaining ones are computed on first access.


_NO_WORKSPACE = np.empty(0)
_NO_FIELDS: Mapping[str, Any] = {}


class ArmFastPath(NamedTuple):
    """Constant arguments of kernels/arm_targets.py, with their scope.

    base_transforms   base transforms of the arm, if equal in every pose; else None
    serves_any_start  whether any start is allowed: no unmoved joint lies on the chain
    """

    kernel: Callable[..., tuple[int, int, float, float]]
    packed_arm: Floats
    layout: Ints
    base_transforms: Floats | None
    serves_any_start: bool


def build_fast_path(
    problem: Problem, solver: solvers.Solver, tolerance: Tolerance, settings: SolveSettings
) -> ArmFastPath | None:
    """Build the fast path of a serial arm, or None.

    It serves skeletons of hinges and slides and is cached with the plan.
    """
    # The exact class: a subclass may solve in another way.
    if type(solver) is not LevenbergMarquardt or settings.prefer != "first" or settings.trace:
        return None
    plan, start = problem.plan, problem.start
    if (
        problem.has_optional_goals
        or problem.skeleton.loops
        or solver.arm(problem) is None
        or start.translations is not None
        or start.scales is not None
    ):
        return None
    return get_or_compute(plan, "quick", (solver, tolerance), lambda: _pack_fast_path(problem, solver, tolerance))


def _is_base_fixed(plan: Plan) -> bool:
    """Return whether the base of the arm is fixed."""
    return all(plan.skeleton.kinds[row] == Kind.FIXED for row in plan.skeleton.way(plan.layout.base_row))


def _pack_fast_path(problem: Problem, solver: LevenbergMarquardt, tolerance: Tolerance) -> ArmFastPath | None:
    arm, error_paths = solver.arm(problem), problem.error_paths
    skeleton, plan = problem.skeleton, problem.plan
    if arm is None or error_paths is None or plan.is_sheared or len(problem.goals) != 1 or not problem.goals[0].width:
        return None
    if (skeleton.kinds >= Kind.BALL).any() or not solver.iterations:
        return None  # the kernel always iterates
    if (len(error_paths.q_columns) + 7) * find_simd_width() > ARM_WORKSPACE_SIZE:
        return None
    kernel_settings = pack_arm_settings(arm, plan.unit, tolerance, solver.arm_options)
    packed_arrays = pack_for_q(problem, arm, kernel_settings, error_paths, problem.compute_max_errors(tolerance))
    kernel = kernels.arm_targets.solve_targets8 if find_simd_width() == 8 else kernels.arm_targets.solve_targets4  # noqa: PLR2004
    base_transforms = problem.rigid_base_transforms if _is_base_fixed(plan) else None
    serves_any_start = set(error_paths.q_columns.tolist()) <= {node.q_start for node in plan.layout.nodes}
    return ArmFastPath(kernel, *packed_arrays, base_transforms, serves_any_start)


def make_buffer(q: Floats) -> Floats:
    """Make the kernel buffer (1, nq + 4) of a start (nq,). The last four entries receive its output."""
    buffer = np.empty((1, len(q) + ARM_RESULT_ROW))
    buffer[0, :-ARM_RESULT_ROW] = q
    return buffer


def solve_fast(
    fast_path: ArmFastPath, problem: Problem, targets: Floats, buffer: Floats, lazy_fields: tuple[Any, ...],
    start_time: float,
    extra_fields: Mapping[str, Any] = _NO_FIELDS,
) -> Result | None:  # fmt: skip
    """Solve for one target (1, W) from a `make_buffer` buffer.

    Returns None where the general path must report a problem with the target or the start.

    problem       gives the base of the arm
    lazy_fields   a function and its first arguments; called with these, the target and the kernel output, it returns
                  the remaining fields of the Result
    extra_fields  further fields of the Result
    """
    kernel, packed_arm, layout, base_transforms, _ = fast_path
    output = kernel(
        packed_arm,
        layout,
        targets,
        problem.rigid_base_transforms if base_transforms is None else base_transforms,
        buffer,
        0,
        1,
        _NO_WORKSPACE,
    )
    if output[0] < 0:  # the goal must parse the target, or the start is illegal: use the general path
        return None
    q = buffer[0, :-ARM_RESULT_ROW]
    q.setflags(write=False)
    return Result.from_frozen(
        {"q": q, "reached": output[0] == 1, "later": (*lazy_fields, targets, output), **extra_fields}, start_time
    )


# --- Solve one target from one start pose ----------------------------------------------------------------------------
#
# solve(), Prepared and Tracker use it.
#
# Everything independent of the start and the target is computed once per kind of goals and cached. Invalid starts and
# unusable solver answers are reported by the general path, `solve_batch`.


class SingleTargetSolve:
    """Solver, tolerances and settings bound to a kind of problem.

    It serves problems with goals of the same kinds on one skeleton.

    skips_batch_steps  whether one target needs no batch steps; scale may be off by an exporter's rounding
    serves_any_start   whether the plan is valid for every start without translations and scales
    """

    def __init__(
        self, problem: Problem, solver: solvers.Solver, tolerance: Tolerance, settings: SolveSettings, request: Request
    ) -> None:
        self.problem = problem
        self.solver = solver
        self.tolerance = tolerance
        self.settings = settings
        self.request = request
        self.error_bounds: Floats = problem.compute_error_bounds(tolerance)
        is_plain = not problem.has_optional_goals and settings.progress is None and not problem.skeleton.loops
        # Scale is uniform on these paths, and in the plans of all starts without scales of their own.
        self.error_paths: ErrorPaths | None = problem.error_paths if is_plain and not problem.plan.is_sheared else None
        self.skips_batch_steps: bool = is_plain and (
            self.error_paths is not None or problem.plan.length_error <= MIN_REFINED_LENGTH_ERROR
        )
        self.q_shape: tuple[int, int] = 1, problem.skeleton.nq
        # A solver that wraps another may pass on its answer unchecked. (`is_builtin` would cost another call.)
        self._is_builtin = type(solver).__module__.startswith(BUILTIN_PREFIX) and not hasattr(solver, "inner")
        start = problem.start
        self.serves_any_start: bool = (
            start.translations is None and start.scales is None and not len(problem.plan.layout.fixed_columns)
        )
        self._fast_path = build_fast_path(problem, solver, tolerance, settings)

    def __reduce__(self) -> tuple[Any, ...]:
        return SingleTargetSolve, (self.problem, self.solver, self.tolerance, self.settings, self.request)

    def find_fast_path(self, problem: Problem) -> ArmFastPath | None:
        """Find the fast path for a start, or None."""
        if self._fast_path is None or self._fast_path.serves_any_start or problem is self.problem:
            return self._fast_path
        return build_fast_path(problem, self.solver, self.tolerance, self.settings)

    def solve(
        self,
        problem: Problem,
        targets: Floats,
        moved_inside: tuple[str, ...],
        start_time: float,
        goals: tuple[Goal, ...] | None = None,
    ) -> Result:
        """Solve for one target (1, W). The problem has goals of the same kinds as this one."""
        extra_fields = {} if goals is None else {"goals": goals}
        fast_path = None if self._fast_path is None else self.find_fast_path(problem)
        if fast_path is not None:
            fields = self.build_fast_fields, problem, moved_inside
            result = solve_fast(
                fast_path, problem, targets, make_buffer(problem.start.q), fields, start_time, extra_fields
            )
            if result is not None:
                if self.settings.progress is not None:
                    self.settings.progress(1)
                return result
        if not self.skips_batch_steps or (
            self.error_paths is None and problem.plan.length_error > MIN_REFINED_LENGTH_ERROR
        ):
            return solve_batch(
                problem, targets, self.solver, self.tolerance, self.request, (), moved_inside, start_time, goals
            )
        answer = self.solver.run(problem, targets, self.tolerance, self.request)
        if not self._is_builtin:
            answer = convert_custom_answer(answer, self.solver.name, self.q_shape)
        elif answer.q.shape != self.q_shape or not np.isfinite(answer.q).all():
            check_answer(answer, self.solver.name, self.q_shape)
        error_paths = self.error_paths
        errors = (
            problem.compute_errors(answer.q, targets)
            if error_paths is None
            else compute_path_errors(error_paths, answer.q, targets)
        )
        if error_paths is None and answer.met[0] and not (errors <= self.error_bounds).all():
            answer = correct_shear(problem, self.solver, targets, self.tolerance, self.request, answer)
            errors = problem.compute_errors(answer.q, targets)
        fields = {
            "q": answer.q[0],
            "errors": errors[0],
            "reached": bool((errors <= self.error_bounds).all()),
            "later": (self.build_fields, problem, moved_inside, targets, answer),
            **extra_fields,
        }
        return Result(fields, start_time)

    def build_fields(
        self, problem: Problem, moved_inside: tuple[str, ...], targets: Floats, answer: Answer
    ) -> dict[str, Any]:
        """Build the remaining fields of a Result on demand."""
        return self._build_common_fields(problem, moved_inside, targets) | {
            "iterations": answer.iterations.reshape(()),
            "joint_updates": answer.joint_updates.reshape(()),
            "trace": answer.trace,
            "solutions_q": answer.solutions,
        }

    def build_fast_fields(
        self, problem: Problem, moved_inside: tuple[str, ...], targets: Floats, output: tuple[Any, ...]
    ) -> dict[str, Any]:
        """Build the remaining fields of a fast-path Result. `output` holds reached, iterations and errors."""
        _, iteration_count, *errors = output
        return self._build_common_fields(problem, moved_inside, targets) | {
            "errors": np.array(errors[: len(problem.measures)]),
            "iterations": np.array(iteration_count),
            "joint_updates": np.array(iteration_count * len(problem.joints)),
            "trace": None,
            "solutions_q": None,
        }

    def _build_common_fields(self, problem: Problem, moved_inside: tuple[str, ...], targets: Floats) -> dict[str, Any]:
        return {
            "problem": problem,
            "targets": targets,
            "solver": self.solver.name,
            "natural": isinstance(self.solver, Natural),
            "moved_inside": moved_inside,
            "tolerances": self.tolerance,
            "restrained": self.solver if read_restraints(self.solver) else None,
        }
