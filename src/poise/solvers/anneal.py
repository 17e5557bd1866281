"""Annealing: restart another solver from large random offsets. The pose with the least measured error is kept.

Coordinate and gradient methods converge to the nearest local minimum. Limits make the space of poses non-convex, so
that minimum may be at a limit; a start far enough away has another one. The method is simulated annealing (Kirkpatrick,
Gelatt and Vecchi, Science 220, 1983) with a descent after every jump: basin hopping (Li and Scheraga, PNAS 84, 1987)
that accepts no uphill moves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from poise import solvers
from poise.errors import InputError, UnsupportedError
from poise.maths.arrays import Bools, Floats, Ints, real
from poise.maths.by_name import options_by_name
from poise.maths.options import count, one_of
from poise.problem.layout import LENGTHS
from poise.problem.packing import weight_of
from poise.problem.problem import Problem, Tolerance
from poise.problem.reach import beyond_reach
from poise.solvers.base.answers import answered, answered_in_groups
from poise.solvers.base.capabilities import Capabilities
from poise.solvers.base.contract import Answer, Request, Trace, check_solver
from poise.solvers.base.perturb import DRAWS, scattered


@options_by_name
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
        check_solver(self.solver)
        if isinstance(self.solver, str):
            object.__setattr__(self, "solver", solvers.named(self.solver))
        one_of("schedule", self.schedule, ("growing", "cooling"))
        object.__setattr__(self, "restarts", count("restarts", self.restarts))
        object.__setattr__(self, "seed", count("seed", self.seed))
        object.__setattr__(self, "spread", real(self.spread, "spread"))
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
    def handles(self) -> Capabilities:
        """Capabilities of the inner solver, with prefer="first" only."""
        return replace(self.inner.handles, prefer=("first",))

    def share(self, attempt: int) -> float:
        """Return a restart's largest offset, as a share of each range.

        Parameters
        ----------
        attempt
            1, 2, ... up to `restarts`.
        """
        step = attempt if self.schedule == "growing" else self.restarts + 1 - attempt
        return self.spread * step / self.restarts

    def run(self, problem: Problem, targets: Floats, tolerance: Tolerance, request: Request) -> Answer:
        """Solve for the targets (k, W); see `Solver.run`."""
        silent = replace(request, progress=None)
        best = self._first(problem, targets, tolerance, silent)
        costs, done = _measured(problem, best, targets, tolerance)
        best = best._replace(met=done)
        missed = _worth_another(problem, targets, tolerance, done)
        for attempt in range(1, self.restarts + 1):
            if not len(missed):
                break
            again = self._elsewhere(problem.part(missed), best.q[missed], attempt)
            found = answered_in_groups(self.inner, again, targets[missed], tolerance, silent)
            new_costs, done = _measured(again, found, targets[missed], tolerance)
            better = done | (new_costs < costs[missed])
            costs[missed[better]] = new_costs[better]
            best = _merged(best, missed, better, found._replace(met=done))
            missed = missed[~done]
        return best if problem.prefers else best._replace(q=problem.plan.turned(best.q, problem.start_rows))

    def _first(self, problem: Problem, targets: Floats, tolerance: Tolerance, request: Request) -> Answer:
        """Run the inner solver, and name it in refusals."""
        try:
            return answered(self.inner, problem, targets, tolerance, request)
        except UnsupportedError as error:
            raise UnsupportedError(f"anneal starts {self.inner.name} again, and {error}") from error

    def _elsewhere(self, problem: Problem, q: Floats, attempt: int) -> Problem:
        """Return the problem with random starts around q (k, nq)."""
        skeleton = problem.skeleton
        joints = map(skeleton.index, problem.joints)
        rows = tuple({int(skeleton.q_start[row]): row for row in joints}.values())  # coupled joints share a number
        draws = np.random.default_rng((self.seed, attempt)).random((len(rows), DRAWS))
        length = problem.plan.unit
        starts = scattered(
            skeleton, q, rows, self.share(attempt), draws, length=length, moves=problem.free_root
        )  # fmt: skip
        return problem.at(problem.posed(starts))


def _worth_another(problem: Problem, targets: Floats, tolerance: Tolerance, done: Bools) -> Ints:
    """Return the indices of missed targets within reach. Reach is judged by bone lengths alone."""
    missed = np.flatnonzero(~done)
    if not len(missed) or not problem.joints:
        return missed[:0]
    return missed[beyond_reach(problem.part(missed), targets[missed], tolerance) == 0]


def _measured(problem: Problem, answer: Answer, targets: Floats, tolerance: Tolerance) -> tuple[Floats, Bools]:
    """Compute the weighted error (k,) of each pose, and success (k,). Lengths are in units of the rig's size.

    For non-uniform scale the targets are corrected later, by the caller of the solver, so the solver's own `met` is
    used.
    """
    errors = problem.errors(answer.q, targets)
    size = problem.plan.size
    goals, measures = problem.goals, problem.measures
    gains = [weight_of(goals[m.goal], m.kind) / (size if m.kind in LENGTHS else 1.0) for m in measures]
    costs = np.sqrt(((errors * np.array(gains)) ** 2).sum(axis=-1))
    return costs, answer.met if problem.plan.sheared else problem.met(errors, tolerance)


def _merged(best: Answer, rows: Ints, better: Bools, found: Answer) -> Answer:
    """Merge improved answers into the best ones. Iterations count whether they helped or not."""
    q, is_met, kept = best.q.copy(), best.met.copy(), rows[better]
    q[kept], is_met[kept] = found.q[better], found.met[better]
    iterations, updates = best.iterations.copy(), best.joint_updates.copy()
    iterations[rows] += found.iterations
    updates[rows] += found.joint_updates
    trace = best.trace
    if trace is not None and found.trace is not None:
        trace = Trace(*(np.concatenate(both) for both in zip(trace, found.trace, strict=True)))
    return Answer(q, is_met, iterations, updates, trace)


Solver = Anneal
