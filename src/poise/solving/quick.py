"""The short way of a serial arm: one call of one kernel reads the target, solves, and measures what it found.

Working out all that a Result can tell takes longer than solving; the maker of the problem is asked for it later.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from poise import kernels, solvers
from poise.kernels.codes import REACH_HEAD, REACH_WORK
from poise.maths import rotations
from poise.maths.arrays import Floats, Ints
from poise.maths.lanes import aligned, lane_width
from poise.maths.remember import remember
from poise.model.skeleton import Kind
from poise.problem.arm import Arm, arm_of
from poise.problem.measure import Paths
from poise.problem.plan import Plan
from poise.problem.problem import Problem, Tolerance
from poise.solvers.base.engine import arm_settings
from poise.solvers.levenberg_marquardt import LevenbergMarquardt
from poise.solving.result import Result
from poise.solving.run import Settings
from poise.solving.targets import reads_plainly

_BASES = 8  # places of an arm's base that are kept: each has the seeds again


class Quick(NamedTuple):
    """The arguments of kernels/arm/reach.py that stay the same, and what they are good for.

    anywhere  whether they serve every start: no joint that keeps still stands on the way
    """

    solve: Callable[[Floats, Ints, Floats, Floats], tuple[int, int, float, float]]
    numbers: Floats
    layout: Ints
    anywhere: bool


def quick_of(problem: Problem, solver: solvers.Solver, tolerance: Tolerance, settings: Settings) -> Quick | None:
    """The fast way for a serial arm on a skeleton of hinges and slides, or None; remembered with the plan."""
    if not isinstance(solver, LevenbergMarquardt) or settings.prefer != "first" or settings.trace:
        return None
    plan, start = problem.plan, problem.start
    if arm_of(problem) is None or start.translations is not None or start.scales is not None:
        return None
    base = None if remember(plan, "stands still", None, lambda: _stands_still(plan)) else problem.bases[0].tobytes()
    return remember(plan, "quick", (solver, tolerance, base), lambda: _packed(problem, solver, tolerance), most=_BASES)


def _stands_still(plan: Plan) -> bool:
    """Whether nothing above the arm moves, so that its base is where it is in every pose."""
    return all(plan.skeleton.kinds[row] == Kind.FIXED for row in plan.skeleton.way(plan.layout.base))


def _packed(problem: Problem, solver: LevenbergMarquardt, tolerance: Tolerance) -> Quick | None:
    arm, paths = arm_of(problem), problem.paths
    skeleton, plan = problem.skeleton, problem.plan
    if arm is None or paths is None or plan.sheared or len(problem.goals) != 1 or not problem.goals[0].width:
        return None
    if not reads_plainly(problem.goals[0]):
        return None
    if (skeleton.kinds >= Kind.BALL).any() or not solver.iterations:
        return None  # the kernel always iterates
    if (len(paths.used) + 7) * lane_width() > REACH_WORK:
        return None
    settings = arm_settings(arm, plan.unit, tolerance, solver.options)
    parts = [
        arm.links, arm.seeds, arm.poses, settings, _base(problem), arm.gains, skeleton.value_ranges, paths.table,
        paths.asks, problem.allowed(tolerance),
    ]  # fmt: skip
    layout = _layout(problem, arm, paths)
    numbers = aligned(sum(-(-part.size // 8) * 8 for part in parts))
    at = 0
    for i, part in enumerate(parts):
        layout[6 + i] = at
        numbers[at : at + part.size] = part.ravel()
        at += -(-part.size // 8) * 8
    solve = kernels.arm.reach.reach8 if lane_width() == 8 else kernels.arm.reach.reach4  # noqa: PLR2004
    anywhere = set(paths.used.tolist()) <= {node.q_start for node in plan.layout.nodes}
    return Quick(solve, numbers, layout, anywhere)


def reach(quick: Quick, target: Floats, q: Floats, facts: tuple[Any, ...], began: float, **known: Any) -> Result | None:
    """Solve for one target from q, which is written to; None where there is something to say about one of them.

    facts  a function and its first arguments; what a Result holds besides is told by it from these, the target, and
           what the kernel found
    known  what the Result tells besides
    """
    flat = target.ravel().copy()  # the caller may write into theirs before the rest is asked for
    found = quick.solve(quick.numbers, quick.layout, flat, q)
    if found[0] < 0:  # the target is no number, or the start is not legal: the general way has the words
        return None
    return Result({
        "q": q, "reached": found[0] == 1, "later": (*facts, flat.reshape(target.shape), found),
        "seconds": perf_counter() - began, **known,
    })  # fmt: skip


def _base(problem: Problem) -> Floats:
    """Position and rotation of the base, and kernel units in one file unit."""
    plan, base = problem.plan, problem.bases[0]
    turn = rotations.from_matrix(base[:, :3] / plan.scale)
    return np.concatenate([base[:, 3], turn, [1.0 / (plan.scale * plan.size)]])


def _layout(problem: Problem, arm: Arm, paths: Paths) -> Ints:
    """The head of the layout, and behind it the whole numbers."""
    columns = np.array([node.q_start for node in problem.plan.layout.nodes], dtype=np.int64)
    lists = [columns, paths.spans.ravel(), paths.used]
    layout = np.zeros(REACH_HEAD + sum(len(numbers) for numbers in lists), dtype=np.int64)
    layout[:6] = arm.size, len(arm.seeds), len(paths.table), len(paths.spans), len(paths.used), problem.skeleton.nq
    layout[19] = problem.goals[0].width
    at = REACH_HEAD
    for i, whole in enumerate(lists):
        layout[16 + i] = at
        layout[at : at + len(whole)] = whole
        at += len(whole)
    return layout
