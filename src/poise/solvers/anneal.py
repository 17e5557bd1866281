"""Annealing: restart another solver from large random offsets. The pose with the least measured error is kept.

Coordinate and gradient methods converge to the nearest local minimum. Limits make the space of poses non-convex, so
that minimum may be at a limit; a start far enough away has another one. The method is simulated annealing (Kirkpatrick,
Gelatt and Vecchi, Science 220, 1983) with a descent after every jump: basin hopping (Li and Scheraga, PNAS 84, 1987)
that accepts no uphill moves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from poise import solvers
from poise.calls.argument_checks import check_choice, check_count, require_keywords
from poise.calls.old_names import make_alias
from poise.errors import InputError, UnsupportedError
from poise.maths.arrays import Bools, Floats, Ints, check_real
from poise.problem.dof_layout import LENGTH_KINDS, MOVE
from poise.problem.feasibility import find_unreachable
from poise.problem.goal_fields import get_residual_weight
from poise.problem.problem import Problem, Tolerance
from poise.solvers.base import interface
from poise.solvers.base.random_starts import DRAWS_PER_JOINT, draw_random_starts


@require_keywords
@dataclass(frozen=True, kw_only=True)
class Anneal:
    """Restart another solver from random poses and keep the best.

    The best pose is the one with the least measured error. Anneal supports the goals, joints and limits of the other
    solver, and escapes local minima at limits.

    Parameters
    ----------
    solver
        The solver to restart: a name, or a value such as poise.CCD(restarts=0).
    restarts
        Largest number of restarts, at most 1,000,000. A target out of reach of the chain's lengths gets none.
    spread
        Largest distance of a start from the best pose so far: a share, above 0 and at most 1, of each joint's range, or
        of half a turn for joints without a range.
    schedule
        "growing" begins near the best pose and ends `spread` away from it; "cooling" begins `spread` away and ends
        near.
    seed
        Seed of the random numbers. Restart i uses the same numbers for every problem.

    Notes
    -----
    Coordinate and gradient methods converge to the nearest local minimum of the error. If that minimum is at a limit, a
    start far enough away leads to another one. `Result.iterations` counts the iterations of all restarts together.

    References
    ----------
    Simulated annealing: Kirkpatrick, Gelatt and Vecchi, Science 220, 1983. With a descent after every jump, basin
    hopping: Li and Scheraga, PNAS 84, 1987; here no uphill moves are accepted.
    """

    solver: str | solvers.Solver = "ccd"
    restarts: int = 32
    spread: float = 1.0
    schedule: Literal["growing", "cooling"] = "growing"
    seed: int = 0

    def __post_init__(self) -> None:
        interface.check_solver(self.solver)
        if isinstance(self.solver, str):
            object.__setattr__(self, "solver", solvers.make_solver(self.solver))
        check_choice(self.schedule, "schedule", ("growing", "cooling"))
        object.__setattr__(self, "restarts", check_count(self.restarts, "restarts"))
        object.__setattr__(self, "seed", check_count(self.seed, "seed"))
        object.__setattr__(self, "spread", check_real(self.spread, "spread"))
        if not 0 < self.spread <= 1:
            raise InputError(f"spread must be a share above 0 and at most 1, not {self.spread!r}")

    @property
    def name(self) -> str:
        """Name of the solver."""
        return "anneal"

    @property
    def inner(self) -> solvers.Solver:
        """The restarted solver."""
        assert not isinstance(self.solver, str)
        return self.solver

    @property
    def handles(self) -> interface.Capabilities:
        """Capabilities of the inner solver, with prefer="first" only."""
        return replace(self.inner.handles, prefer=("first",))

    def compute_spread(self, attempt: int) -> float:
        """Compute a restart's largest offset, as a share of each range.

        Parameters
        ----------
        attempt
            1, 2, ... up to `restarts`.
        """
        schedule_step = attempt if self.schedule == "growing" else self.restarts + 1 - attempt
        return self.spread * schedule_step / self.restarts

    share: ClassVar[Any] = make_alias("Anneal.share", compute_spread)

    def run(
        self, problem: Problem, targets: Floats, tolerance: Tolerance, request: interface.Request
    ) -> interface.Answer:
        """Solve for the targets (k, W); see `Solver.run`."""
        silent_request = replace(request, progress=None)
        best_answer = self._run_inner(problem, targets, tolerance, silent_request)
        costs, is_met = _measure_costs(problem, best_answer, targets, tolerance)
        best_answer = best_answer._replace(met=is_met)
        missed_rows = _find_retry_rows(problem, targets, tolerance, is_met)
        for attempt in range(1, self.restarts + 1):
            if not len(missed_rows):
                break
            subproblem = self._randomize_starts(problem.select_rows(missed_rows), best_answer.q[missed_rows], attempt)
            answer = interface.run_solver_by_group(
                self.inner, subproblem, targets[missed_rows], tolerance, silent_request
            )
            new_costs, is_met = _measure_costs(subproblem, answer, targets[missed_rows], tolerance)
            is_better = is_met | (new_costs < costs[missed_rows])
            costs[missed_rows[is_better]] = new_costs[is_better]
            best_answer = _merge_best(best_answer, missed_rows, is_better, answer._replace(met=is_met))
            missed_rows = missed_rows[~is_met]
        return (
            best_answer
            if problem.has_preference
            else best_answer._replace(q=problem.plan.unwrap_hinges(best_answer.q, problem.start_rows))
        )

    def _run_inner(
        self, problem: Problem, targets: Floats, tolerance: Tolerance, request: interface.Request
    ) -> interface.Answer:
        """Run the inner solver, and name it in refusals."""
        try:
            return interface.run_solver(self.inner, problem, targets, tolerance, request)
        except UnsupportedError as error:
            raise UnsupportedError(f"anneal starts {self.inner.name} again, and {error}") from error

    def _randomize_starts(self, problem: Problem, q: Floats, attempt: int) -> Problem:
        """Return the problem with random starts around q (k, nq)."""
        skeleton = problem.skeleton
        moving_indices = map(skeleton.index, problem.joints)
        joint_indices = tuple(
            {int(skeleton.q_start[row]): row for row in moving_indices}.values()
        )  # coupled joints share a number
        draws = np.random.default_rng((self.seed, attempt)).random((len(joint_indices), DRAWS_PER_JOINT))
        unbounded_length = problem.plan.kernel_unit_in_world
        start_q = draw_random_starts(
            skeleton, q, joint_indices, self.compute_spread(attempt), draws, unbounded_length=unbounded_length,
            translating_rows={node.row for node in problem.plan.layout.nodes if node.kind == MOVE},
        )  # fmt: skip
        return problem.with_start(problem.make_pose(start_q))


def _find_retry_rows(problem: Problem, targets: Floats, tolerance: Tolerance, is_met: Bools) -> Ints:
    """Return the indices of missed targets within reach. Only bone lengths count."""
    missed_rows = np.flatnonzero(~is_met)
    if not len(missed_rows) or not problem.joints:
        return missed_rows[:0]
    return missed_rows[find_unreachable(problem.select_rows(missed_rows), targets[missed_rows], tolerance) == 0]


def _measure_costs(
    problem: Problem, answer: interface.Answer, targets: Floats, tolerance: Tolerance
) -> tuple[Floats, Bools]:
    """Compute the weighted error (k,) of each pose, and success (k,). Lengths are in kernel units.

    For non-uniform scale the targets are corrected later, by the caller of the solver, so the solver's own `met` is
    used.
    """
    errors = problem.compute_errors(answer.q, targets)
    kernel_unit = problem.plan.kernel_unit_in_base
    goals, measures = problem.goals, problem.measures
    error_weights = [
        get_residual_weight(goals[m.goal_index], m.kind) / (kernel_unit if m.kind in LENGTH_KINDS else 1.0)
        for m in measures
    ]
    costs = np.sqrt(((errors * np.array(error_weights)) ** 2).sum(axis=-1))
    return costs, answer.met if problem.plan.is_sheared else problem.is_met(errors, tolerance)


def _merge_best(
    best_answer: interface.Answer, rows: Ints, is_better: Bools, new_answer: interface.Answer
) -> interface.Answer:
    """Merge improved answers into the best ones. Iterations count whether they helped or not."""
    q, is_met, improved_rows = best_answer.q.copy(), best_answer.met.copy(), rows[is_better]
    q[improved_rows], is_met[improved_rows] = new_answer.q[is_better], new_answer.met[is_better]
    iterations, joint_updates = best_answer.iterations.copy(), best_answer.joint_updates.copy()
    iterations[rows] += new_answer.iterations
    joint_updates[rows] += new_answer.joint_updates
    trace = best_answer.trace
    if trace is not None and new_answer.trace is not None:
        trace = interface.Trace(*(np.concatenate(both) for both in zip(trace, new_answer.trace, strict=True)))
    return interface.Answer(q, is_met, iterations, joint_updates, trace)


Solver = Anneal
