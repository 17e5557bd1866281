"""Least squares with gradients by automatic differentiation (JAX).

Levenberg-Marquardt with Nielsen's damping, or L-BFGS; see jax/descent.py for the formulas and their sources. Limits are
kept by projection: values stay inside their ranges, and values at a range end with an outward gradient are fixed.
Needs an extra: `pip install 'poise[jax]'`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from poise.call_clock import pause_clock
from poise.calls.argument_checks import check_choice, check_count, require_keywords
from poise.errors import InputError
from poise.maths.arrays import Floats, check_real
from poise.problem.problem import Problem, Tolerance
from poise.solvers.base.interface import Answer, Capabilities, Request
from poise.solvers.base.lm_engine import LmOptions, TreeEngine, answer_with_start, build_effectors, build_trace

if TYPE_CHECKING:
    from poise.jax.descent import BatchDescent, BatchResult

_MAX_ERROR_RATIO = 0.8  # largest ratio of errors four iterations apart; a slower restart ends
_MAX_POLISH_RATIO = 1 - 1e-6  # the same ratio while the best result is polished
_POLISH_ITERATIONS = 100  # largest number of iterations of the polish


@require_keywords
@dataclass(frozen=True, kw_only=True)
class Autodiff:
    """Least squares with automatic differentiation (JAX), for several goals.

    Hinges, slides, balls and a free root move.

    Parameters
    ----------
    method
        "levenberg_marquardt" converges quadratically near a solution; "lbfgs" needs gradients only and takes more, but
        cheaper steps.
    iterations
        Largest number of steps before a restart; a stalled run ends earlier. None: 60 for "levenberg_marquardt", 200
        for "lbfgs".
    restarts
        Largest number of restarts from other poses within limits after a miss. A target out of reach of the chain's
        lengths gets no restart.
    damping
        Initial damping of "levenberg_marquardt", as a share of the squared error, lengths in units of the rig's size.

    Notes
    -----
    This solver is for study: no Jacobian is written by hand. For speed use LevenbergMarquardt.

    The first solve on a rig of a new size waits about five seconds while JAX compiles. The compiled code serves all
    rigs of the same size until the interpreter ends; sizes are rounded up to powers of two, from 16 joints and from 4
    measured quantities. Targets are solved 16 at a time, a single one together with 15 copies of itself, so results are
    the same bit for bit as in a batch. It computes with 64 bits, independently of JAX's own setting.

    Needs the extra `jax`; without it `run` raises UnsupportedError.
    """

    method: Literal["levenberg_marquardt", "lbfgs"] = "levenberg_marquardt"
    iterations: int | None = None
    restarts: int = 12
    damping: float = 0.04

    def __post_init__(self) -> None:
        check_choice(self.method, "method", ("levenberg_marquardt", "lbfgs"))
        if self.iterations is not None:
            object.__setattr__(self, "iterations", check_count(self.iterations, "iterations"))
        object.__setattr__(self, "restarts", check_count(self.restarts, "restarts"))
        damping: Any = check_real(self.damping, "damping")
        if not 0 < damping < np.inf:
            raise InputError(f"damping must be a finite number above 0, not {self.damping!r}")
        object.__setattr__(self, "damping", damping)

    @property
    def name(self) -> str:
        """Name of the solver."""
        return "autodiff"

    @property
    def handles(self) -> Capabilities:
        """Positions, rotations, directions and rays. Near is refused: a preference has no residual."""
        goals = ("Position", "Orientation", "Place", "Direction", "Aim", "Pin")
        return Capabilities(goals=goals, limits=("Range",), prefer=("first",))

    @property
    def options(self) -> LmOptions:
        """Iteration options, in the form of the tree engine."""
        iterations = (
            {"levenberg_marquardt": 60, "lbfgs": 200}[self.method] if self.iterations is None else self.iterations
        )
        return LmOptions(
            iterations=iterations,
            restarts=self.restarts,
            damping=self.damping,
            min_damping=0.0,
            candidate_count=1,
            polish_iterations=_POLISH_ITERATIONS if iterations and self.restarts else 0,
        )

    def run(self, problem: Problem, targets: Floats, tolerance: Tolerance, request: Request) -> Answer:
        """Solve for the targets (k, W). See `Solver.run`. Raises UnsupportedError where JAX is not installed."""
        with pause_clock():
            from poise.jax.descent import BatchDescent  # noqa: PLC0415  (optional dependency, slow to import; its error names the extra)

        plan, k = problem.plan, len(targets)
        if not problem.joints or not k:
            return answer_with_start(problem, targets, tolerance, request)
        engine = TreeEngine(problem, tolerance, self.options)
        effectors, kernel_targets = build_effectors(plan, tolerance), engine.pack_targets(targets)
        descent = BatchDescent(plan, effectors, kernel_targets, self.method, self.damping, is_traced=request.trace)
        output = self._run_with_restarts(engine, descent)
        q = problem.compute_q(output.u, output.iterations > 0)
        trace = None
        if descent.attempt_traces:
            trace = build_trace(
                problem, *(np.concatenate(column) for column in zip(*descent.attempt_traces, strict=True))
            )
        return Answer(q, output.met, output.iterations, output.iterations * len(plan.layout.dofs), trace)

    def _run_with_restarts(self, engine: TreeEngine, descent: BatchDescent) -> BatchResult:
        """Solve with restarts, then polish the missed targets."""
        problem, plan, options = engine.problem, engine.problem.plan, self.options
        start_u = np.broadcast_to(problem.start_u, (descent.target_count, plan.layout.nu))
        rows = np.arange(descent.target_count)
        output = descent.solve(rows, start_u, options.iterations, _MAX_ERROR_RATIO)
        is_reachable = descent.find_reachable()
        for i in range(options.restarts if options.iterations else 0):
            rows = np.flatnonzero(~output.met & is_reachable)
            if not len(rows):
                break
            restart_u = plan.randomize_starts(
                start_u[rows], engine.restart_draws[i % len(engine.restart_draws)], min(0.25 * (i + 1), 2.0)
            )
            output = output.merge_retry(rows, descent.solve(rows, restart_u, options.iterations, _MAX_ERROR_RATIO))
        rows = np.flatnonzero(~output.met)
        if options.polish_iterations and len(rows):
            output = output.merge_retry(
                rows, descent.solve(rows, output.u[rows], options.polish_iterations, _MAX_POLISH_RATIO)
            )
        return output


Solver = Autodiff
