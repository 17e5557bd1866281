"""Diagnose results independently of the solver.

It finds the reason for a missed goal and the limit violation. Evidence for a reason comes from searches: for the same
goals without limits, and for each goal alone.

The iterations of a solve bound the attempts of its searches, which therefore cost at most about as much as the solve.
Solves of one target in a few microseconds are the exception: each search needs about 0.2 ms to start. A search starts
at the missed pose, then at the other starts of the engine. Rows are independent of each other, so the result depends
neither on the batch nor on the threads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

from poise import solvers
from poise.errors import UnsupportedError
from poise.maths.arrays import Bools, Floats, Ints
from poise.maths.remember import remember
from poise.model.limits import Limit, Range
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from poise.problem.goals import Near
from poise.problem.layout import NUMBERS
from poise.problem.problem import Problem, Tolerance
from poise.solvers.base.contract import Request
from poise.solvers.base.engine import Options
from poise.solvers.levenberg_marquardt import LevenbergMarquardt
from poise.solving.solved import solved

_MOST = 16  # restarts of a search; 64 starts find no more poses (benchmarks/limited_evidence.py)
_EACH = 16  # iterations of the solve per restart of a search; a failing attempt takes 10 to 15
_STEPS = 30  # iterations of one attempt, the default of the engine
_FEWEST = 8  # iterations of one attempt, lower bound after a solve of one step
# longest reaches by which a slide may leave its range, enough for any target within reach
_ROOM = 2.0
_CLOSED_FORM = "two_bone"  # this method needs no search where it applies


@dataclass(frozen=True, kw_only=True)
class _Search(LevenbergMarquardt):
    """Levenberg-Marquardt without the final polish of failed attempts."""

    @cached_property
    def arm_options(self) -> Options:
        """Engine options for serial arms."""
        return replace(super().arm_options, polish=0)

    @cached_property
    def tree_options(self) -> Options:
        """Engine options for all other skeletons."""
        return replace(super().tree_options, polish=0)


class Without(NamedTuple):
    """Search result without limits for each row (k,).

    `met` marks rows with a pose that meets the goals, `legal` those whose pose still meets them inside the limits.
    """

    met: Bools
    legal: Bools


def without_limits(problem: Problem, q: Floats, targets: Floats, tolerance: Tolerance, work: Ints) -> Without:
    """Search for poses meeting the goals without limits.

    Parameters
    ----------
    problem, q, targets, tolerance
        The problem, poses (k, nq) away from their goals, rows of targets (k, W), and the largest errors of a met goal.
    work
        (k,) iterations of the solve, an upper bound of the search.
    """
    found, is_met = _search(_without_limits(problem), q, targets, tolerance, work)
    legal, rows = np.zeros(len(q), dtype=np.bool_), np.flatnonzero(is_met)
    if len(rows):
        low, high = problem.skeleton.value_ranges.T
        inside = np.clip(problem.skeleton.legal(found[rows])[0], low, high)  # legal() leaves excess below 1e-9 alone
        part = problem if len(rows) == len(q) else problem.part(rows)
        legal[rows] = part.met(part.errors(inside, targets[rows]), tolerance)
    return Without(is_met, legal)


def met_one_by_one(problem: Problem, q: Floats, targets: Floats, tolerance: Tolerance, work: Ints) -> Bools:
    """Find rows (k,) with each goal met alone, limits kept."""
    is_met = np.ones(len(q), dtype=np.bool_)
    columns = [np.arange(m.column, m.column + NUMBERS[m.kind]) for m in problem.measures]
    for i, goal in enumerate(problem.goals):
        own = [columns[j] for j, measure in enumerate(problem.measures) if measure.goal == i]
        rows = np.flatnonzero(is_met)
        if own and len(rows):
            part = problem.part(rows)
            alone = Problem(part.start, (goal,), problem.free_root)
            aims = targets[rows][:, np.concatenate(own)]
            is_met[rows] = _search(alone, q[rows], aims, tolerance, work[rows])[1]
    return is_met


def held_by(solver: Any, problem: Problem, targets: Floats, tolerance: Tolerance) -> list[tuple[str, ...]]:
    """Find the solver options blocking each row's goals.

    From the same start the solver meets the goals without these options. Most rows have none.
    """
    names = tuple(restraints_of(solver))
    found: list[tuple[str, ...]] = [()] * len(targets)
    tried = [*((name,) for name in names), names] if len(names) > 1 else [names] * bool(names)
    for some in tried:
        errors = solved(problem, targets, _released(solver, some), tolerance, Request()).errors
        for row in np.flatnonzero(problem.met(errors, tolerance)).tolist():
            found[row] = found[row] or some
    return found


def restraints_of(solver: Any) -> dict[str, Any]:
    """Map blocking solver options to harmless values."""
    return getattr(getattr(solver, "inner", solver), "restraints", {})


def _released(solver: Any, names: tuple[str, ...]) -> Any:
    """Copy the solver without the named restraints."""
    if hasattr(solver, "inner"):  # an Anneal wraps another solver
        return replace(solver, solver=_released(solver.inner, names))
    return replace(solver, **{name: solver.restraints[name] for name in names})


def _without_limits(problem: Problem) -> Problem:
    """Copy the problem without limits and without Near."""
    start, skeleton, plan = problem.start, problem.skeleton, problem.plan
    room = _ROOM * (plan.length or plan.size)
    free = remember(skeleton, "without limits", room, lambda: _unlimited(skeleton, room))
    goals = tuple([goal for goal in problem.goals if not isinstance(goal, Near)])
    kinds = problem.kinds if len(goals) == len(problem.goals) else ()
    return Problem(Pose.unchecked(free, start.q, start.translations, start.scales), goals, problem.free_root, kinds)


def _unlimited(skeleton: Skeleton, room: float) -> Skeleton:
    """Copy the skeleton without limits.

    Ranges of slides grow by `margin`, because the engine needs finite ranges for its starts.
    """
    rows: list[Limit | None] = [None] * len(skeleton)
    for row, limit in enumerate(skeleton.limits):
        if isinstance(limit, Range) and skeleton.kinds[row] == Kind.SLIDE:
            rows[row] = Range(limit.low - room, limit.high + room)
    return replace(skeleton, limits=tuple(rows))


def _search(problem: Problem, q: Floats, targets: Floats, tolerance: Tolerance, work: Ints) -> tuple[Floats, Bools]:
    """Search from poses q (k, nq). Returns poses and a mask of met goals, measured by forward kinematics."""
    found, is_met = np.array(q), np.zeros(len(q), dtype=np.bool_)
    key = problem.kinds, problem.free_root
    if remember(problem.skeleton, "closed form", key, lambda: _has_closed_form(problem, targets, tolerance)):
        found, is_met = _attempt(problem, targets, solvers.named(_CLOSED_FORM), tolerance)
    if is_met.all():
        return found, is_met
    pose = Pose.unchecked(problem.skeleton, np.array(q), *_kept(problem.start, len(q)))
    problem = problem.at(pose)
    restarts = np.minimum(_doublings(work // _EACH), _MOST)
    steps = np.where(restarts > 0, _STEPS, np.clip(_doublings(2 * work), _FEWEST, _STEPS))
    for again, most in sorted(set(zip(restarts.tolist(), steps.tolist(), strict=True))):
        rows = np.flatnonzero(~is_met & (restarts == again) & (steps == most))
        solver = _engine(most, again)
        if len(rows) == len(q):
            return _attempt(problem, targets, solver, tolerance)
        if len(rows):
            found[rows], is_met[rows] = _attempt(problem.part(rows), targets[rows], solver, tolerance)
    return found, is_met


@cache
def _engine(iterations: int, restarts: int) -> _Search:
    return _Search(iterations=iterations, restarts=restarts)


def _has_closed_form(problem: Problem, targets: Floats, tolerance: Tolerance) -> bool:
    """Return whether the two-bone closed form applies."""
    closed = solvers.named(_CLOSED_FORM)
    if closed.handles.refusal(closed.name, problem, Request()) is not None:
        return False
    try:
        closed.run(problem.part(slice(0, 0)), targets[:0], tolerance, Request())
    except UnsupportedError:
        return False
    return True


def _attempt(problem: Problem, targets: Floats, solver: Any, tolerance: Tolerance) -> tuple[Floats, Bools]:
    """Run one of Poise's own solvers. Returns its poses and a mask of met goals."""
    if problem.plan.sheared or problem.start.shape:
        answer, errors = solved(problem, targets, solver, tolerance, Request())
    else:
        answer = solver.run(problem, targets, tolerance, Request())
        errors = problem.errors(answer.q, targets)
    return answer.q, problem.met(errors, tolerance)


def _kept(start: Pose, count: int) -> list[Floats | None]:
    """Repeat translations and scales of the starts for `count` poses."""
    given = start.translations, start.scales
    return [None if v is None else np.broadcast_to(v.reshape(-1, *v.shape[-2:]), (count, *v.shape[-2:])) for v in given]


def _doublings(numbers: Ints) -> Ints:
    """Round numbers down to powers of two. 0 stays 0. A few kinds of searches then serve all rows."""
    return np.where(numbers > 0, 2 ** np.floor(np.log2(np.maximum(numbers, 1))).astype(np.int64), 0)
