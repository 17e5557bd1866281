"""Capabilities of solvers, and reasons for refusals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from poise.model.limits import NAMES as ALL_LIMITS
from poise.model.limits import is_soft
from poise.model.skeleton import Kind
from poise.problem.goals import GOALS
from poise.problem.goals import NAMES as ALL_GOALS
from poise.problem.problem import Problem
from poise.solvers.base.contract import Request

ALL_JOINTS = (Kind.HINGE, Kind.SLIDE, Kind.BALL)
ALL_PREFERENCES = ("first", "closest", "all")


@dataclass(frozen=True)
class Capabilities:
    """Capabilities of a solver. It refuses all other problems, and never ignores a part of one.

    Parameters
    ----------
    goals
        Names of the kinds of goals.
    beside
        Names of the kinds of goals accepted only beside another goal; they do not count as several.
    several
        Whether it solves more than one goal at a time.
    one_joint
        Whether several goals must then be goals of the same joint.
    joints
        Kinds of joints that it moves. A free root counts as a ball, and as a slide where it translates too.
    limits
        Names of the kinds of limits that it keeps. Subclasses of these limits are kept as well.
    soft
        Whether it supports soft limits.
    coupled
        Whether it moves coupled joints (URDF mimic) where a joint and the one it follows are both on the way to a goal.
    free_root
        Whether it moves a free root.
    prefer
        Supported values of `prefer`: "first", "closest", "all".
    """

    goals: tuple[str, ...] = ALL_GOALS
    beside: tuple[str, ...] = ()
    several: bool = True
    one_joint: bool = False
    joints: tuple[Kind, ...] = ALL_JOINTS
    limits: tuple[str, ...] = ALL_LIMITS
    soft: bool = False
    coupled: bool = True
    free_root: bool = True
    prefer: tuple[str, ...] = ALL_PREFERENCES

    def refusal(self, solver: str, problem: Problem, request: Request) -> str | None:
        """Return the reason for refusing a problem, or None."""
        if request.prefer not in self.prefer:
            known = series(repr(prefer) for prefer in self.prefer)
            return f"{solver} looks for {known}; prefer={request.prefer!r} is for levenberg_marquardt"
        if request.prefer != "first" and problem.balances:
            return f"{solver} meets a Balance with prefer='first' only, not with prefer={request.prefer!r}"
        refused = self._goal_refusal(solver, problem)
        if refused is not None:
            return refused
        if problem.free_root and not self.free_root:
            return f"{solver} leaves a free root where it is; free_root=True is for levenberg_marquardt"
        return self._joint_refusal(solver, problem)

    def _goal_refusal(self, solver: str, problem: Problem) -> str | None:
        names = [self._name_of(type(goal)) for goal in problem.goals]
        foreign = next((name for name in names if name not in self.goals), None)
        if foreign is not None:
            return f"{solver} solves {series(self.goals)} goals, not {foreign}"
        alone = [name for name in names if name not in self.beside]
        if not alone:
            return f"{solver} takes a {names[0]} goal beside a {self._main_goals} only"
        if len(alone) > 1 and not self.several:
            return f"{solver} solves one goal at a time; got {len(alone)}"
        joints = list(dict.fromkeys([measure.row for measure in problem.measures]))
        if self.one_joint and len(joints) > 1:
            a, b = (problem.skeleton.names[row] for row in joints[:2])
            return f"{solver} solves goals of one joint at a time; these are for {a!r} and {b!r}"
        return None

    def _name_of(self, goal: type[Any]) -> str:
        """Return the known name of a goal class. It is the class's own name, or that of a supported base class.

        A subclass with the same measures is solved and measured like its base class.
        """
        if goal in GOALS and goal.__name__ in self.goals:
            return goal.__name__
        known = (kind.__name__ for kind in goal.__mro__ if getattr(kind, "measures", None) == goal.measures)
        return next((name for name in known if name in self.goals), goal.__name__)

    @property
    def _main_goals(self) -> str:
        return " or ".join(goal for goal in self.goals if goal not in self.beside)

    def _joint_refusal(self, solver: str, problem: Problem) -> str | None:
        skeleton = problem.skeleton
        for row in problem.plan.layout.joints:
            name, given = skeleton.names[row], skeleton.limits[row]
            kind = Kind.BALL if skeleton.kinds[row] == Kind.FREE else Kind(skeleton.kinds[row])
            if kind not in self.joints:
                known = series(f"{kind.name.lower()} joints" for kind in self.joints)
                return f"{solver} moves {known}; {name!r} is a {kind.name.lower()}"
            limit = None if given is None else type(given).__name__
            if given is not None and not self.keeps(type(given)):
                known = series(self.limits) or "no"
                return f"{solver} keeps {known} limits; {name!r} has a {limit}"
            if not self.soft and is_soft(given):
                return f"{solver} knows hard limits only; {name!r} has a soft {limit}, which is for levenberg_marquardt"
        return None

    def keeps(self, limit: type) -> bool:
        """Return whether limits of a class, or a base class, are kept."""
        return limit.__name__ in self.limits or any(kind.__name__ in self.limits for kind in limit.__mro__)


def series(names: Iterable[str]) -> str:
    """Join words: `a`, `a and b`, `a, b and c`."""
    words = list(names)
    return ", ".join(words[:-1]) + " and " + words[-1] if len(words) > 1 else "".join(words)
