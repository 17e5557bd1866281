"""Base class of the Jacobian methods, run by kernels/tree/steps.py."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from poise import kernels
from poise.errors import InputError
from poise.maths.arrays import Floats, for_kernel, real, short
from poise.maths.lanes import aligned, lane_width
from poise.maths.options import count
from poise.maths.remember import remember
from poise.problem.layout import POSITION
from poise.problem.plan import Plan
from poise.problem.problem import Problem, Tolerance
from poise.solvers.base.capabilities import ALL_GOALS, Capabilities
from poise.solvers.base.contract import Answer, Request, is_own
from poise.solvers.base.engine import Found, answer_of, in_chunks, packed_tree, seeds_of, standing_still

GOALS = tuple(goal for goal in ALL_GOALS if goal not in ("Near", "Balance"))
_LONGEST_TRACE = 100_000
_KEPT = 128  # settings in the cache


class Rule(NamedTuple):
    """Step rule of kernels/tree/steps.py: number and two settings.

    patience  number of steps without progress before a restart
    numeric   whether the Jacobian is computed by finite differences
    """

    number: int
    first: float
    second: float
    patience: int
    numeric: bool = False


@dataclass(frozen=True, kw_only=True)
class JacobianMethod:
    """Options of all Jacobian methods."""

    iterations: int = 1000
    restarts: int = 100
    bend: float = math.radians(2)
    clamp: float = 0.5
    max_turn: float = math.pi

    def __post_init__(self) -> None:
        for name in ("iterations", "restarts"):
            object.__setattr__(self, name, count(name, getattr(self, name)))
        for name in ("clamp", "max_turn"):
            object.__setattr__(self, name, above_zero(name, getattr(self, name)))
        object.__setattr__(self, "bend", real(self.bend, "bend"))
        if not 0 <= self.bend < math.pi / 2:
            raise InputError(f"bend must be an angle from 0 up to a quarter turn (pi/2 rad), not {self.bend!r}")

    @property
    def handles(self) -> Capabilities:
        """All goals but Near and Balance, in any number."""
        return Capabilities(goals=GOALS, prefer=("first",))

    @property
    def rule(self) -> Rule:
        """Step rule of the method."""
        raise NotImplementedError

    def run(self, problem: Problem, targets: Floats, tolerance: Tolerance, request: Request) -> Answer:
        """Solve for the targets (k, W); see `Solver.run`."""
        if not problem.joints:
            return standing_still(problem, targets, tolerance, request)
        return answer_of(problem, _found(self, problem, targets, tolerance, request))


def _found(method: JacobianMethod, problem: Problem, targets: Floats, tolerance: Tolerance, request: Request) -> Found:
    plan = problem.plan
    nd, nu = len(plan.layout.dofs), plan.layout.nu
    rows, starts = problem.kernel_targets(targets), for_kernel(problem.starts)
    k = len(rows)
    u, errors, counts = np.zeros((k, nu)), np.zeros(k), np.zeros((k, 3), dtype=np.int64)
    most = method.iterations + method.restarts + 2 if request.trace else 0
    history = np.zeros((min(most, _LONGEST_TRACE), nu + 1))
    (packed, size), more = packed_tree(plan, tolerance), _scratch(plan)
    settings = (_settings if is_own(method) else _new_settings)(method)
    rest = seeds_of(nd), np.zeros(nu), np.zeros(nd), plan.binding, _clamps(plan, method.clamp), settings
    solve = getattr(kernels.tree.steps, f"{'free' if plan.binding is None else 'solve'}{lane_width()}")

    def work(first: int, last: int) -> None:
        solve(
            *packed, rows, starts, *rest, aligned(size), aligned(more), first, last, u, errors, counts, history,
        )  # fmt: skip

    in_chunks(k, 1 if request.trace else request.threads, work, request.progress)
    done = history[: int(counts[0, :2].sum())] if request.trace else None
    return Found(u, counts[:, 2] > 0, counts[:, 0], done)


def _scratch(plan: Plan) -> int:
    """Compute the extra scratch size of kernels/tree/steps.py."""
    nd, nu, m = len(plan.layout.dofs), plan.layout.nu, 3 * len(plan.terms)
    return remember(plan, "scratch", None, lambda: kernels.tree.steps.scratch_size(nd, nu, m))


def _new_settings(method: JacobianMethod) -> Floats:
    """Pack the settings of kernels/tree/steps.py. Without restarts all iterations are used."""
    rule = method.rule
    patience = rule.patience if method.restarts else math.inf
    return np.array([
        rule.number, rule.numeric, method.iterations, method.restarts, patience, method.bend, method.max_turn,
        rule.first, rule.second,
    ], dtype=np.float64)  # fmt: skip


_settings = lru_cache(_KEPT)(_new_settings)


def _clamps(plan: Plan, clamp: float) -> Floats:
    """Return the maximum residual (t,) of each term in a step."""
    return remember(plan, "clamps", clamp, lambda: _new_clamps(plan, clamp))


def _new_clamps(plan: Plan, clamp: float) -> Floats:
    most = np.full(len(plan.layout.terms), clamp)
    for i, term in enumerate(plan.layout.terms):
        if term.kind == POSITION:
            reach = plan.reaches[i][1]
            most[i] *= reach if math.isfinite(reach) and reach > 0 else 1.0
        else:
            most[i] *= math.pi
    return most * plan.aims[:, 7]


def above_zero(option: str, value: Any) -> float:
    """Check a number above 0, infinity included."""
    number = real(value, option)
    if not number > 0:
        raise InputError(f"{option} must be a number above 0, not {short(value)}")
    return number
