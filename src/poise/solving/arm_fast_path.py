"""Fast path for one target or a few of a serial arm.

One kernel call parses the targets, solves and measures the errors. Computing all fields of a Result takes longer than
solving, so the remaining ones are computed on first access.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from poise import solvers
from poise.kernels.layout import ARM_RESULT_ROW, ARM_WORKSPACE_PER_TARGET, ARM_WORKSPACE_SIZE
from poise.maths.arrays import Floats, Ints, get_scratch
from poise.model.skeleton import Kind
from poise.problem.arm_packing import pack_arm_arrays
from poise.problem.goals import Near
from poise.problem.plan import Plan
from poise.problem.problem import Problem, Tolerance
from poise.runtime.result_cache import get_or_compute
from poise.solvers.base.lm_engine import choose_arm_kernel, pack_arm_settings
from poise.solvers.levenberg_marquardt import LevenbergMarquardt
from poise.solving.result import Result
from poise.solving.solve_settings import SolveSettings

MAX_FAST_TARGETS = 64  # targets; for more, lanes measure the errors quicker
_NO_WORKSPACE, _NO_PREFERENCES = np.empty(0), np.empty((0, 0))
_NO_FIELDS: Mapping[str, Any] = {}


class ArmFastPath(NamedTuple):
    """Constant arguments of kernels/arm_targets.py, with their scope.

    kernel            of a lone target
    packed_arm        constants of the arm, its goal and the solver, as one array
    layout_numbers    numbers of joints and columns, and the type of the goal
    base_transforms   base transforms of the arm, if equal in every pose; else None
    can_change_start  whether any start is allowed: no unmoved joint lies on the chain
    has_preference    whether Near goals choose among the answers
    """

    kernel: Callable[..., tuple[int, int]]
    packed_arm: Floats
    layout_numbers: Ints
    base_transforms: Floats | None
    can_change_start: bool
    has_preference: bool


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
        problem.has_priorities
        or problem.skeleton.loops
        or solver.arm(problem) is None
        or start.translations is not None
        or start.scales is not None
    ):
        return None
    return get_or_compute(
        plan, "arm fast paths", (solver, tolerance), lambda: _pack_fast_path(problem, solver, tolerance)
    )


def _is_base_fixed(plan: Plan) -> bool:
    """Return whether the base of the arm is fixed."""
    return all(plan.skeleton.kinds[row] == Kind.FIXED for row in plan.skeleton.list_path(plan.layout.base_row))


def _pack_fast_path(problem: Problem, solver: LevenbergMarquardt, tolerance: Tolerance) -> ArmFastPath | None:
    arm, error_paths = solver.arm(problem), problem.error_paths
    skeleton, plan = problem.skeleton, problem.plan
    goals = [goal for goal in problem.goals if not isinstance(goal, Near)]
    if arm is None or error_paths is None or plan.is_sheared or len(goals) != 1 or not goals[0].width:
        return None
    if (skeleton.kinds >= Kind.BALL).any() or not solver.iterations:
        return None  # the kernel always iterates
    if len(error_paths.q_columns) + 7 > ARM_WORKSPACE_SIZE:
        return None
    kernel_settings = pack_arm_settings(arm, plan.kernel_unit_in_world, tolerance, solver.arm_options)
    packed_arrays = pack_arm_arrays(problem, arm, kernel_settings, error_paths, problem.compute_max_errors(tolerance))
    base_transforms = problem.rigid_base_transforms if _is_base_fixed(plan) else None
    serves_any_start = set(error_paths.q_columns.tolist()) <= {node.q_start for node in plan.layout.nodes}
    has_preference = len(problem.goals) > len(goals)
    return ArmFastPath(
        choose_arm_kernel(target_count=1), *packed_arrays, base_transforms, serves_any_start, has_preference
    )


def make_kernel_buffer(q: Floats) -> Floats:
    """Make the kernel buffer (1, nq + 4) of a start (nq,). The last four entries receive its output."""
    buffer = np.empty((1, len(q) + ARM_RESULT_ROW))
    buffer[0, :-ARM_RESULT_ROW] = q
    return buffer


def solve_on_fast_path(
    fast_path: ArmFastPath, problem: Problem, targets: Floats, buffer: Floats, lazy_fields: tuple[Any, ...],
    start_time: float,
    extra_fields: Mapping[str, Any] = _NO_FIELDS,
) -> Result | None:  # fmt: skip
    """Solve for one target (1, W) from a `make_kernel_buffer` buffer.

    Returns None where the general path must report a problem with the target or the start.

    problem       gives the base of the arm
    lazy_fields   a function and its first arguments; called with these, the target, the kernel output and q, it returns
                  the remaining fields of the Result
    extra_fields  further fields of the Result
    """
    kernel, packed_arm, layout, base_transforms, _, has_preference = fast_path
    output = kernel(
        packed_arm,
        layout,
        targets,
        problem.rigid_base_transforms if base_transforms is None else base_transforms,
        buffer,
        0,
        1,
        _NO_WORKSPACE,
        problem.arm_preferences if has_preference else _NO_PREFERENCES,
    )
    if output[0] < 0:  # the goal must parse the target, or the start is illegal: use the general path
        return None
    q = buffer[0, :-ARM_RESULT_ROW]
    q.setflags(write=False)
    return Result.from_frozen(
        {"q": q, "reached": output[0] == 1, "lazy_source": (*lazy_fields, targets, output, q), **extra_fields},
        start_time,
    )


def solve_few_on_fast_path(
    fast_path: ArmFastPath, problem: Problem, targets: Floats, shape: tuple[int, ...], lazy_fields: tuple[Any, ...],
    start_time: float,
    extra_fields: Mapping[str, Any] = _NO_FIELDS,
) -> Result | None:  # fmt: skip
    """Solve for a few targets (k, W).

    They begin at the start of the problem. Returns None where the general path must report a problem with a target or
    the start. The batch axes of the Result are `shape`; for the other parameters see `solve_on_fast_path`.
    """
    _, packed_arm, layout, base_transforms, _, has_preference = fast_path
    target_count, nq = len(targets), problem.start.q.shape[-1]
    buffer = np.empty((target_count, nq + ARM_RESULT_ROW))
    buffer[:, :nq] = problem.start.q
    status, *_ = choose_arm_kernel(target_count)(
        packed_arm,
        layout,
        targets,
        problem.rigid_base_transforms if base_transforms is None else base_transforms,
        buffer,
        0,
        target_count,
        get_scratch((ARM_WORKSPACE_PER_TARGET + 2 * int(layout[0])) * target_count),
        problem.arm_preferences if has_preference else _NO_PREFERENCES,
    )
    if status < 0:
        return None
    q, outcomes = buffer[:, :nq].copy().reshape(*shape, nq), buffer[:, nq:]
    is_reached = (outcomes[:, 1] > 0.0).reshape(shape)
    fields = {"q": q, "reached": is_reached, "lazy_source": (*lazy_fields, shape, targets, buffer), **extra_fields}
    return Result(fields, start_time)
