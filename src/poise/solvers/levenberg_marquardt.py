"""Levenberg-Marquardt with limits and restarts, for all goals.

Step: dq = J^T (J J^T + l I)^-1 e with l = damping |e|^2: the error-scaled damping of Chan and Lawrence, "General
inverse kinematics with the error damped pseudoinverse", ICRA 1988, in the form of Sugihara, IEEE Trans. Robotics
27(5), 2011. Values at a limit with an outward gradient are fixed during a step. A stalled run is given up for a restart
within limits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from poise.calls.argument_checks import check_bool, check_count, require_keywords
from poise.errors import InputError
from poise.maths.arrays import Floats, abbreviate, check_real
from poise.problem.arm_packing import Arm, find_arm
from poise.problem.feasibility import FreeReach, find_free_reach
from poise.problem.problem import Problem, Tolerance
from poise.solvers.base import lm_engine
from poise.solvers.base.answer_refinement import solve_with_balance
from poise.solvers.base.interface import (
    Answer,
    Capabilities,
    MeasuredOutput,
    Request,
    run_bound,
    solve_out_of_reach,
)
from poise.solvers.base.loop_closing import close_loops
from poise.solvers.base.solution_search import solve_all, solve_closest
from poise.solvers.base.stiffness import Stiffness, check_stiffness, compute_joint_weights

_DEFAULT_ARM_RESTARTS, _DEFAULT_TREE_RESTARTS = 250, 120
_MIN_DAMPING = 1e-8
_RESTART_CANDIDATES = 16  # poses compared for each restart; more cost time and begin nearer the target
_MAX_SHORT_TARGETS = 64  # targets of one call, without threads
_POLISH_ITERATIONS = 60  # steps from the best pose where no attempt met the goals


@require_keywords
@dataclass(frozen=True, kw_only=True)
class LevenbergMarquardt:
    """Levenberg-Marquardt with restarts, for all goals, joints and limits.

    It takes any number of goals, on hinges, slides, balls and a free root.

    Parameters
    ----------
    iterations
        Largest number of steps before a restart; a stalled run ends earlier.
    restarts
        Largest number of restarts from other poses within limits after a miss. None: 250 on a serial arm, which misses
        at most one of a million reachable targets, and 120 otherwise. A target out of reach of the chain's lengths gets
        only a few restarts.
    damping
        `l / |e|^2`, lengths in units of the rig's size: more is slower and more stable.
    apart
        Smallest difference of some joint [rad, file units] between distinct solutions. None: 1e-3, or 0.5 for redundant
        chains, whose solutions form continuous families.
    stiffness
        mu >= 0 for every joint, or for some by name, role or a glob of names ("*Spine*"). The joint's motion in a step
        is divided by 1 + mu, and the others move more. Of two equivalent joints, one with mu = 3 moves a quarter as far
        as the other. 0 is no stiffness.
    race
        For a single target of an arm of hinges and slides: whether the restart that finishes first wins. It is a
        quarter faster for arbitrary targets, but may find another pose than a batch. By default the first successful
        restart wins, in the order of a batch.

    Notes
    -----
    Step: `dq = J^T (J J^T + l I)^-1 e` with `l = damping |e|^2`. Values at a limit with an outward gradient are fixed
    during a step. For goals moved by more than 16 joints, l is larger and restarts rotate the joints less, in
    proportion to their number. With stiffness `dq = M J^T (J M J^T + l I)^-1 e`, M the diagonal of 1 / (1 + mu): among
    steps of equal effect, the one with the least sum of (1 + mu) dq^2.

    A target beyond the reach of a chain of balls without limits is answered in closed form: the chain is straightened
    towards it. Other missed targets get the nearest pose in the start's own basin, unless the error of a restart is
    less by a thousandth of the rig's size.

    Many targets are solved in parallel, each from its own start, with the same results bit for bit for any batch. A
    single target of an arm runs several restarts at once, with the same result as in a batch, unless `race` is set.

    References
    ----------
    Error-scaled damping: Chan and Lawrence, "General inverse kinematics with the error damped pseudoinverse", ICRA
    1988, in the form of Sugihara, IEEE Trans. Robotics 27(5), 2011.
    """

    iterations: int = 30
    restarts: int | None = None
    damping: float = 0.04
    apart: float | None = None
    stiffness: Stiffness | Mapping[str, float] = 0.0
    race: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "iterations", check_count(self.iterations, "iterations"))
        if self.restarts is not None:
            object.__setattr__(self, "restarts", check_count(self.restarts, "restarts"))
        for name in ("damping", "apart"):
            value: Any = getattr(self, name)
            if value is None and name == "apart":
                continue
            number = check_real(value, name)
            if not 0 < number < np.inf:
                raise InputError(f"{name} must be a finite number above 0, not {abbreviate(value)}")
            object.__setattr__(self, name, number)
        object.__setattr__(self, "race", check_bool(self.race, "race"))
        object.__setattr__(self, "stiffness", check_stiffness(self.stiffness))

    @property
    def name(self) -> str:
        """Name of the solver."""
        return "levenberg_marquardt"

    @property
    def handles(self) -> Capabilities:
        """All goals, joints and limits."""
        return Capabilities(soft=True, loops=True, sets=True)

    @cached_property
    def arm_options(self) -> lm_engine.LmOptions:
        """Iteration options for a serial arm."""
        return self._build_options(_DEFAULT_ARM_RESTARTS)

    @cached_property
    def tree_options(self) -> lm_engine.LmOptions:
        """Iteration options for all other problems."""
        return self._build_options(_DEFAULT_TREE_RESTARTS)

    def _build_options(self, default_restarts: int) -> lm_engine.LmOptions:
        restarts = default_restarts if self.restarts is None else self.restarts
        polish_iterations = _POLISH_ITERATIONS if self.iterations and restarts else 0
        return lm_engine.LmOptions(
            iterations=self.iterations,
            restarts=restarts,
            damping=self.damping,
            min_damping=_MIN_DAMPING,
            candidate_count=_RESTART_CANDIDATES,
            polish_iterations=polish_iterations,
            first_finish_wins=self.race,
        )

    def arm(self, problem: Problem) -> Arm | None:
        """Build the constants of a serial arm, or None. Its kernels do not know stiffness."""
        return find_arm(problem) if self.stiffness in (0.0, ()) else None

    def engine(self, problem: Problem, tolerance: Tolerance) -> lm_engine.ArmEngine | lm_engine.TreeEngine:
        """Build the engine for a serial arm or a tree."""
        arm = self.arm(problem)
        if arm is not None:
            return lm_engine.ArmEngine(problem, arm, tolerance, self.arm_options)
        return lm_engine.TreeEngine(problem, tolerance, self.tree_options, check_stiffness(self.stiffness))

    def run(self, problem: Problem, targets: Floats, tolerance: Tolerance, request: Request) -> Answer:
        """Solve for the targets (k, W); see `Solver.run`."""
        if self.stiffness not in (0.0, ()):
            # This raises for unknown names.
            compute_joint_weights(problem.skeleton, check_stiffness(self.stiffness))
        if problem.has_balance:
            return solve_with_balance(self, problem, targets, tolerance, request)
        if not problem.joints:
            return lm_engine.answer_with_start(problem, targets, tolerance, request)
        if request.prefer == "closest":
            answer = solve_closest(self.engine(problem, tolerance), targets, request)
            return answer._replace(q=close_loops(problem, answer.q, answer.met, self.tree_options))
        if request.prefer == "all":
            return solve_all(self.engine(problem, tolerance), targets, request, self.apart)
        return run_bound(self._bind_engine(problem, tolerance, request), targets)

    def bind(self, problem: Problem, tolerance: Tolerance, request: Request) -> _EngineSolve | None:
        """Bind the options to a problem; see `BoundSolve`."""
        is_run_otherwise = problem.has_balance or not problem.joints or request.prefer != "first"
        has_stiffness = self.stiffness not in (0.0, ())
        return None if is_run_otherwise or has_stiffness else self._bind_engine(problem, tolerance, request)

    def _bind_engine(self, problem: Problem, tolerance: Tolerance, request: Request) -> _EngineSolve:
        reach = find_free_reach(problem, tolerance)
        exact = None
        if problem.has_ranges:
            silent_request = replace(request, progress=None, trace=False)
            exact = self._bind_engine(problem.without_ranges(), tolerance, silent_request)
        return _EngineSolve(self, self.engine(problem, tolerance), reach, tolerance, request, exact)


class _EngineSolve(NamedTuple):
    """Engine of a problem; see `BoundSolve`.

    reach  of a free chain, which is straightened towards targets beyond it
    exact  of ranges: the solve for their targets alone. Its answers are in the ranges, too
    """

    solver: LevenbergMarquardt
    engine: lm_engine.Engine
    reach: FreeReach | None
    tolerance: Tolerance
    request: Request
    exact: _EngineSolve | None = None

    @property
    def has_measures(self) -> bool:
        """Whether the kernel measures the errors of its solutions."""
        return self._takes_world_targets and self.engine.problem.can_measure

    @property
    def _takes_world_targets(self) -> bool:
        """Whether one call converts a few targets, solves and measures."""
        engine, request = self.engine, self.request
        return (
            isinstance(engine, lm_engine.TreeEngine)
            and self.exact is None
            and not request.trace
            and request.progress is None
            and engine.can_solve_targets
        )

    def solve(self, targets: Floats) -> tuple[Any, ...]:
        """Solve for targets (k, W)."""
        if len(targets) <= _MAX_SHORT_TARGETS and self._takes_world_targets:
            assert isinstance(self.engine, lm_engine.TreeEngine)
            return self._solve_world_targets(self.engine, targets)
        solver, engine, reach, tolerance, request, _ = self
        problem, kernel_targets = engine.problem, engine.pack_targets(targets)
        is_far = None if reach is None else reach.find_far(kernel_targets)
        if is_far is not None:
            return solve_out_of_reach(solver, problem, targets, tolerance, request, is_far)
        max_trace_rows = lm_engine.count_trace_rows(problem, engine.options) if request.trace else 0
        output = engine.solve(
            kernel_targets, problem.start_u, threads=request.threads, max_trace_rows=max_trace_rows,
            progress=request.progress,
        )  # fmt: skip
        if self.exact is not None and isinstance(engine, lm_engine.TreeEngine):
            exact_u = problem.plan.q_to_u(run_bound(self.exact, targets).q)
            output = engine.approach_start(kernel_targets, output, problem.start_u, exact_u, threads=request.threads)
        q = problem.compute_q(output.u, output.iterations > 0)
        return close_loops(problem, q, output.met, engine.options), output

    def _solve_world_targets(self, engine: lm_engine.TreeEngine, targets: Floats) -> tuple[Any, ...]:
        """Solve for a few targets in one call."""
        problem, reach = engine.problem, self.reach
        output = engine.solve_targets(targets) if reach is None else engine.solve_targets(targets, reach.rows)
        if len(output.q) < len(targets):
            assert reach is not None
            is_far = reach.find_far(output.details.kernel_targets)
            assert is_far is not None
            return solve_out_of_reach(self.solver, problem, targets, self.tolerance, self.request, is_far)
        if not problem.plan.layout.ties:
            return output
        q = close_loops(problem, output.q, output.details.build_output().met, engine.options)
        return output if q is output.q else MeasuredOutput(q, None, output.details)

    def with_starts(self, problem: Problem) -> _EngineSolve:
        """Return the engine for other starts of its problem; see `rebind_solver`."""
        has_same_plan = problem.plan is self.engine.problem.plan
        engine = self.engine.with_problem(problem) if has_same_plan else self.solver.engine(problem, self.tolerance)
        reach = self.reach if has_same_plan else find_free_reach(problem, self.tolerance)
        exact = None if self.exact is None else self.exact.with_starts(problem.without_ranges())
        return self._replace(engine=engine, reach=reach, exact=exact)

    def build_answer(self, targets: Floats, output: tuple[Any, ...]) -> Answer:
        """Build the answer from the output of `solve`."""
        kernel_output = output.details.build_output() if isinstance(output, MeasuredOutput) else output[1]
        return lm_engine.build_answer(self.engine.problem, kernel_output, output[0])


Solver = LevenbergMarquardt
