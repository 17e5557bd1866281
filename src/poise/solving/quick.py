"""Fast path for serial arms. One kernel call parses the target, solves and measures the error.

Computing all fields of a Result takes longer than solving; the remaining ones are computed on first access.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from poise import kernels, solvers
from poise.kernels.codes import REACH_TOLD, REACH_WORK
from poise.maths.arrays import Floats, Ints
from poise.maths.lanes import lane_width
from poise.maths.remember import remember
from poise.model.skeleton import Kind
from poise.problem.arm import reach_in_q
from poise.problem.plan import Plan
from poise.problem.problem import Problem, Tolerance
from poise.solvers.base.engine import arm_settings
from poise.solvers.levenberg_marquardt import LevenbergMarquardt
from poise.solving.result import Result
from poise.solving.run import Settings

_NO_WORK = np.empty(0)
_NOTHING: Mapping[str, Any] = {}


class Quick(NamedTuple):
    """Constant arguments of kernels/arm/reach.py, with their scope.

    bases             base transforms of the arm, if equal in every pose; else None
    serves_any_start  whether any start is allowed: no unmoved joint lies on the chain
    """

    solve: Callable[..., tuple[int, int, float, float]]
    numbers: Floats
    layout: Ints
    bases: Floats | None
    anywhere: bool


def quick_of(problem: Problem, solver: solvers.Solver, tolerance: Tolerance, settings: Settings) -> Quick | None:
    """Build the fast path of a serial arm, or None.

    It serves skeletons of hinges and slides and is cached with the plan.
    """
    # The exact class: a subclass may solve in another way.
    if type(solver) is not LevenbergMarquardt or settings.prefer != "first" or settings.trace:
        return None
    plan, start = problem.plan, problem.start
    if (
        problem.ranked
        or problem.skeleton.loops
        or solver.arm(problem) is None
        or start.translations is not None
        or start.scales is not None
    ):
        return None
    return remember(plan, "quick", (solver, tolerance), lambda: _packed(problem, solver, tolerance))


def _stands_still(plan: Plan) -> bool:
    """Return whether the base of the arm is fixed."""
    return all(plan.skeleton.kinds[row] == Kind.FIXED for row in plan.skeleton.way(plan.layout.base))


def _packed(problem: Problem, solver: LevenbergMarquardt, tolerance: Tolerance) -> Quick | None:
    arm, paths = solver.arm(problem), problem.paths
    skeleton, plan = problem.skeleton, problem.plan
    if arm is None or paths is None or plan.sheared or len(problem.goals) != 1 or not problem.goals[0].width:
        return None
    if (skeleton.kinds >= Kind.BALL).any() or not solver.iterations:
        return None  # the kernel always iterates
    if (len(paths.used) + 7) * lane_width() > REACH_WORK:
        return None
    settings = arm_settings(arm, plan.unit, tolerance, solver.arm_options)
    packed = reach_in_q(problem, arm, settings, paths, problem.allowed(tolerance))
    solve = kernels.arm.reach.reach8 if lane_width() == 8 else kernels.arm.reach.reach4  # noqa: PLR2004
    bases = problem.rigid_bases if _stands_still(plan) else None
    anywhere = set(paths.used.tolist()) <= {node.q_start for node in plan.layout.nodes}
    return Quick(solve, *packed, bases, anywhere)


def room_for(q: Floats) -> Floats:
    """Make the kernel buffer (1, nq + 4) of a start (nq,). The last four entries receive its output."""
    room = np.empty((1, len(q) + REACH_TOLD))
    room[0, :-REACH_TOLD] = q
    return room


def reach(
    quick: Quick, problem: Problem, targets: Floats, room: Floats, facts: tuple[Any, ...], began: float,
    known: Mapping[str, Any] = _NOTHING,
) -> Result | None:  # fmt: skip
    """Solve for one target (1, W) from a `make_buffer` buffer.

    Returns None where the general path must report a problem with the target or the start.

    problem       gives the base of the arm
    lazy_fields   a function and its first arguments; called with these, the target and the kernel output, it returns
                  the remaining fields of the Result
    extra_fields  further fields of the Result
    """
    solve, numbers, layout, bases, _ = quick
    found = solve(numbers, layout, targets, problem.rigid_bases if bases is None else bases, room, 0, 1, _NO_WORK)
    if found[0] < 0:  # the goal must parse the target, or the start is illegal: use the general path
        return None
    q = room[0, :-REACH_TOLD]
    q.setflags(write=False)
    return Result.of_frozen({"q": q, "reached": found[0] == 1, "later": (*facts, targets, found), **known}, began)
