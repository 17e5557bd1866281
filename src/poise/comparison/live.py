"""Compare methods on a moving target. The columns are those of compare()."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

from poise.comparison.compare import check_single_goal, make_metrics
from poise.comparison.method import PoiseMethod
from poise.comparison.results import COLUMNS, Column, format_heading
from poise.comparison.runs import Effort, Follower, prepare_methods
from poise.comparison.task import TargetSet, Task
from poise.maths.arrays import Floats
from poise.model.pose import Pose
from poise.problem.goals import Goal
from poise.problem.problem import Problem
from poise.solvers import Solver
from poise.solving.solve import check_goals

_KEYS = ("solved_1", "call", "call_p99", "iterations", "step", "acceleration", "jerk")
LIVE_COLUMNS: tuple[Column, ...] = tuple(column for column in COLUMNS if column.key in _KEYS)
_MOST_TARGETS = Effort().path  # the newest targets that count
_SET_TEXT = f"the newest {_MOST_TARGETS} targets, each solved from the previous answer"


def describe_live_columns(metres_per_unit: float | None) -> list[dict[str, str]]:
    """Describe the columns for a page: key, title with unit, and text."""
    length_unit = "m" if metres_per_unit == 1 else "units"
    return [
        {"key": column.key, "title": format_heading(column, length_unit), "text": column.description}
        for column in LIVE_COLUMNS
    ]


class LiveRow(NamedTuple):
    """Numbers of one method in the order of LIVE_COLUMNS.

    `refused` is the reason of one that cannot take part.
    """

    method: str
    values: tuple[float, ...]
    refused: str | None = None


class LiveComparison:
    """Methods on one moving target. Each starts at its own previous answer.

    Parameters
    ----------
    start
        Pose before the first target, inside its limits.
    goal
        Position, Orientation or Place of a joint.
    solvers
        The methods. The same one may be given twice.
    tolerance
        As for `compare`.

    Raises
    ------
    UnsupportedError
        For other goals.
    """

    def __init__(self, start: Pose, goal: Goal, solvers: Sequence[Solver], tolerance: float | None = None) -> None:
        single_goal = check_single_goal(check_goals(goal))
        problem = Problem(start, (single_goal,))
        targets = TargetSet("path", _SET_TEXT, single_goal.rows()[None], starts_from_previous=True, start=start.q)
        self.task = Task("", start, single_goal, problem.complete_tolerance(tolerance, None), {"path": targets})
        self._methods = [PoiseMethod(solver, str(i)) for i, solver in enumerate(solvers)]
        prepared_methods, refusals = prepare_methods(self._methods, self.task)
        self._refusals = refusals
        self._followers = {
            method.name: Follower(prepared, self.task, targets, _MOST_TARGETS) for method, prepared in prepared_methods
        }
        self._is_warm = False

    def follow(self, target: Floats) -> None:
        """Solve for the next target (W,) by each method. The calls are timed."""
        for follower in self._followers.values():
            if not self._is_warm:
                follower.warm_up(target[None])
            follower.solve(target)
        self._is_warm = True

    def list_rows(self) -> list[LiveRow]:
        """List the numbers of the methods. NaN stands for a missing one."""
        return [self._build_row(method) for method in self._methods]

    def _build_row(self, method: PoiseMethod) -> LiveRow:
        metrics = make_metrics(method, self.task, self._refusals.get(method.name))
        if method.name in self._followers and self._is_warm:
            run = self._followers[method.name].measure(asks_claims=False)
            metrics = dataclasses.replace(metrics, runs={"path": run}, calls=run.microseconds[None])
        values = tuple(column.compute(metrics) for column in LIVE_COLUMNS)
        return LiveRow(method.solver.name, values, metrics.refused)
