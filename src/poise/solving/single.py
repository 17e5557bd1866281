"""Solve one target from one start pose. solve(), Prepared and Tracker use it.

Everything independent of the start and the target is computed once per kind of goals and cached. Invalid starts and
unusable solver answers are reported by the general path, `solve_batch`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from poise import solvers
from poise.maths.arrays import Floats
from poise.problem.goals import Goal
from poise.problem.measuring.measure import errors_by_paths
from poise.problem.problem import Problem, Tolerance
from poise.solvers.base.answers import check_answer, own_answer
from poise.solvers.base.contract import OWN, Answer, Request
from poise.solvers.base.corrected import ROUNDED, corrected
from poise.solvers.natural.natural import Natural
from poise.solving.evidence import restraints_of
from poise.solving.quick import Quick, quick_of, reach, room_for
from poise.solving.result import Result
from poise.solving.run import Settings, run


class Single:
    """Solver, tolerances and settings bound to a kind of problem.

    It serves problems with goals of the same kinds on one skeleton.

    skips_batch_steps  whether one target needs no batch steps; scale may be off by an exporter's rounding
    serves_any_start   whether the plan is valid for every start without translations and scales
    """

    def __init__(
        self, problem: Problem, solver: solvers.Solver, tolerance: Tolerance, settings: Settings, request: Request
    ) -> None:
        self.problem = problem
        self.solver = solver
        self.tolerance = tolerance
        self.settings = settings
        self.request = request
        self.bounds = problem.bounds(tolerance)
        plain = not problem.ranked and settings.progress is None and not problem.skeleton.loops
        # Scale is uniform on these paths, and in the plans of all starts without scales of their own.
        self.paths = problem.paths if plain and not problem.plan.sheared else None
        self.short = plain and (self.paths is not None or problem.plan.stretch <= ROUNDED)
        self.shape = 1, problem.skeleton.nq
        # A solver that wraps another may pass on its answer unchecked. (`is_own` would cost another call.)
        self._is_own = type(solver).__module__.startswith(OWN) and not hasattr(solver, "inner")
        start = problem.start
        self.anywhere = start.translations is None and start.scales is None and not len(problem.plan.layout.still)
        self._quick = quick_of(problem, solver, tolerance, settings)

    def __reduce__(self) -> tuple[Any, ...]:
        return Single, (self.problem, self.solver, self.tolerance, self.settings, self.request)

    def quick(self, problem: Problem) -> Quick | None:
        """Find the fast path for a start, or None."""
        if self._quick is None or self._quick.anywhere or problem is self.problem:
            return self._quick
        return quick_of(problem, self.solver, self.tolerance, self.settings)

    def solve(
        self,
        problem: Problem,
        targets: Floats,
        moved_inside: tuple[str, ...],
        began: float,
        goals: tuple[Goal, ...] | None = None,
    ) -> Result:
        """Solve for one target (1, W). The problem has goals of the same kinds as this one."""
        known = {} if goals is None else {"goals": goals}
        quick = None if self._quick is None else self.quick(problem)
        if quick is not None:
            told = self.reached, problem, moved_inside
            found = reach(quick, problem, targets, room_for(problem.start.q), told, began, known)
            if found is not None:
                if self.settings.progress is not None:
                    self.settings.progress(1)
                return found
        if not self.short or (self.paths is None and problem.plan.stretch > ROUNDED):
            return run(problem, targets, self.solver, self.tolerance, self.request, (), moved_inside, began, goals)
        answer = self.solver.run(problem, targets, self.tolerance, self.request)
        if not self._is_own:
            answer = own_answer(answer, self.solver.name, self.shape)
        elif answer.q.shape != self.shape or not np.isfinite(answer.q).all():
            check_answer(answer, self.solver.name, self.shape)
        paths = self.paths
        errors = problem.errors(answer.q, targets) if paths is None else errors_by_paths(paths, answer.q, targets)
        if paths is None and answer.met[0] and not (errors <= self.bounds).all():
            answer = corrected(problem, self.solver, targets, self.tolerance, self.request, answer)
            errors = problem.errors(answer.q, targets)
        told = {
            "q": answer.q[0],
            "errors": errors[0],
            "reached": bool((errors <= self.bounds).all()),
            "later": (self.facts, problem, moved_inside, targets, answer),
            **known,
        }
        return Result(told, began)

    def facts(self, problem: Problem, moved_inside: tuple[str, ...], targets: Floats, answer: Answer) -> dict[str, Any]:
        """Build the remaining fields of a Result on demand."""
        return self._said(problem, moved_inside, targets) | {
            "iterations": answer.iterations.reshape(()),
            "joint_updates": answer.joint_updates.reshape(()),
            "trace": answer.trace,
            "solutions_q": answer.solutions,
        }

    def reached(
        self, problem: Problem, moved_inside: tuple[str, ...], targets: Floats, found: tuple[Any, ...]
    ) -> dict[str, Any]:
        """Build the remaining fields of a fast-path Result. `output` holds reached, iterations and errors."""
        _, count, *errors = found
        return self._said(problem, moved_inside, targets) | {
            "errors": np.array(errors[: len(problem.measures)]),
            "iterations": np.array(count),
            "joint_updates": np.array(count * len(problem.joints)),
            "trace": None,
            "solutions_q": None,
        }

    def _said(self, problem: Problem, moved_inside: tuple[str, ...], targets: Floats) -> dict[str, Any]:
        return {
            "problem": problem,
            "targets": targets,
            "solver": self.solver.name,
            "natural": isinstance(self.solver, Natural),
            "moved_inside": moved_inside,
            "tolerances": self.tolerance,
            "restrained": self.solver if restraints_of(self.solver) else None,
        }
