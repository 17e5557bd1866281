"""Base class of the Jacobian methods, with their common options.

kernels/jacobian_methods.py runs them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from poise import kernels
from poise.calls.argument_checks import check_count, check_positive
from poise.errors import InputError
from poise.kernels.layout import COUNT_IS_MET, COUNT_ITERATIONS, EFFECTOR_WEIGHT
from poise.maths.arrays import Floats, allocate_aligned, check_real, prepare_for_kernel
from poise.problem.dof_layout import POSITION
from poise.problem.goals import GOAL_NAMES
from poise.problem.plan import Plan
from poise.problem.problem import Problem, Tolerance
from poise.runtime.result_cache import get_or_compute
from poise.solvers.base import lm_engine
from poise.solvers.base.interface import Answer, Capabilities, Request, is_builtin, run_solver_by_group
from poise.solvers.base.random_starts import draw_restarts
from poise.solvers.base.thread_parts import solve_in_parts

JACOBIAN_GOALS = tuple(goal for goal in GOAL_NAMES if goal not in ("Near", "Balance"))
_MAX_TRACE_ROWS = 100_000
_MAX_CACHED_SETTINGS = 128  # settings in the cache


class StepRule(NamedTuple):
    """Step rule of a Jacobian method, for its kernel.

    rule_code                code of the rule in kernels/layout.py
    rule_settings            two numbers; their meaning depends on the code, and unused ones are 0:
                                 RULE_ADAPTIVE_TRANSPOSE  initial gain, factor of the gain
                                 RULE_OPTIMAL_TRANSPOSE   both unused
                                 RULE_PSEUDO_INVERSE      smallest used singular value as a share of the largest, unused
                                 RULE_DAMPED              constant damping, damping per squared error
                                 RULE_SELECTIVELY_DAMPED  largest rotation of a singular direction [rad], unused
    patience_steps           number of steps without progress before a restart
    uses_finite_differences  whether the Jacobian is computed by finite differences
    """

    rule_code: int
    rule_settings: tuple[float, float]
    patience_steps: int
    uses_finite_differences: bool = False


@dataclass(frozen=True, kw_only=True)
class JacobianMethod:
    """Options and run of a Jacobian method. A method adds its step rule.

    iterations  largest number of steps, those of restarts included
    restarts    largest number of restarts after stalling
    bend        [rad] initial rotation of all joints where no joint can lower the error; 0 switches it off
    clamp       largest error used in one step: of a position in lengths of its chain, of a rotation in half turns
    max_turn    [rad] largest rotation of a joint in one step
    """

    iterations: int = 1000
    restarts: int = 100
    bend: float = math.radians(2)
    clamp: float = 0.5
    max_turn: float = math.pi

    def __post_init__(self) -> None:
        for name in ("iterations", "restarts"):
            object.__setattr__(self, name, check_count(getattr(self, name), name))
        for name in ("clamp", "max_turn"):
            object.__setattr__(self, name, check_positive(getattr(self, name), name))
        object.__setattr__(self, "bend", check_real(self.bend, "bend"))
        if not 0 <= self.bend < math.pi / 2:
            raise InputError(f"bend must be an angle from 0 up to a quarter turn (pi/2 rad), not {self.bend!r}")

    @property
    def handles(self) -> Capabilities:
        """All goals but Near and Balance, in any number."""
        return Capabilities(goals=JACOBIAN_GOALS, prefer=("first",), loops=True, sets=True)

    @property
    def rule(self) -> StepRule:
        """Step rule of the method."""
        raise NotImplementedError

    def run(self, problem: Problem, targets: Floats, tolerance: Tolerance, request: Request) -> Answer:
        """Solve for the targets (k, W); see `Solver.run`."""
        if not problem.joints:
            return lm_engine.answer_with_start(problem, targets, tolerance, request)
        if problem.plan.has_own_bones:  # the clamp is a share of the longest reach
            return run_solver_by_group(self, problem, targets, tolerance, request, by_inputs=True)
        return lm_engine.build_answer(problem, _run_kernel(self, problem, targets, tolerance, request))


def _run_kernel(
    method: JacobianMethod, problem: Problem, targets: Floats, tolerance: Tolerance, request: Request
) -> lm_engine.KernelOutput:
    plan = problem.plan
    nd, nu = len(plan.layout.dofs), plan.layout.nu
    kernel_targets, start_u = problem.compute_kernel_targets(targets), prepare_for_kernel(problem.start_u)
    k = len(kernel_targets)
    u, errors, kernel_counts = np.zeros((k, nu)), np.zeros(k), np.zeros((k, 3), dtype=np.int64)
    trace_length = method.iterations + method.restarts + 2 if request.trace else 0
    trace_buffer = np.zeros((min(trace_length, _MAX_TRACE_ROWS), nu + 1))
    (tree_arrays, workspace_size), scratch_size = (
        lm_engine.pack_tree_arrays(plan, tolerance),
        compute_scratch_size(plan),
    )
    settings = (_cached_settings if is_builtin(method) else pack_method_settings)(method)
    solve_kernel, limits = lm_engine.choose_kernel(kernels.jacobian_methods, plan.kernel_limits)
    shared_inputs = (
        draw_restarts(nd),
        np.zeros(nu),
        np.zeros(nd),
        *limits,
        get_max_residuals(plan, method.clamp),
        settings,
    )

    def solve_range(first: int, last: int) -> None:
        solve_kernel(
            *tree_arrays, kernel_targets, start_u, *shared_inputs, allocate_aligned(workspace_size),
            allocate_aligned(scratch_size), first, last,
            u, errors, kernel_counts, trace_buffer,
        )  # fmt: skip

    solve_in_parts(k, 1 if request.trace else request.threads, solve_range, request.progress)
    trace_rows = trace_buffer[: int(kernel_counts[0, :COUNT_IS_MET].sum())] if request.trace else None
    return lm_engine.KernelOutput(u, kernel_counts[:, COUNT_IS_MET] > 0, kernel_counts[:, COUNT_ITERATIONS], trace_rows)


def compute_scratch_size(plan: Plan) -> int:
    """Compute the extra scratch size of kernels/jacobian_methods.py."""
    nd, nu, m = len(plan.layout.dofs), plan.layout.nu, 3 * len(plan.term_table)
    return get_or_compute(
        plan, "Jacobian scratch size", None, lambda: kernels.jacobian_methods.compute_scratch_size(nd, nu, m)
    )


def pack_method_settings(method: JacobianMethod) -> Floats:
    """Pack the settings of kernels/jacobian_methods.py. Without restarts all iterations are used."""
    step_rule = method.rule
    patience_steps = step_rule.patience_steps if method.restarts else math.inf
    return np.array([
        step_rule.rule_code, step_rule.uses_finite_differences, method.iterations, method.restarts, patience_steps,
        method.bend, method.max_turn, *step_rule.rule_settings,
    ], dtype=np.float64)  # fmt: skip


_cached_settings = lru_cache(_MAX_CACHED_SETTINGS)(pack_method_settings)


def get_max_residuals(plan: Plan, clamp: float) -> Floats:
    """Return the maximum residual (t,) of each term in a step."""
    return get_or_compute(plan, "maximum residuals", clamp, lambda: _compute_max_residuals(plan, clamp))


def _compute_max_residuals(plan: Plan, clamp: float) -> Floats:
    max_residuals = np.full(len(plan.layout.terms), clamp)
    for i, term in enumerate(plan.layout.terms):
        if term.kind == POSITION:
            reach = plan.term_reaches[i].max_distance
            max_residuals[i] *= reach if math.isfinite(reach) and reach > 0 else 1.0
        else:
            max_residuals[i] *= math.pi
    return max_residuals * plan.effectors[:, EFFECTOR_WEIGHT]
