"""What lengths alone allow: how far each target is from the joint that its chain hangs on, and how far it reaches."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.maths.arrays import Bools, Floats, Ints
from poise.maths.remember import remember
from poise.problem.layout import BALL, POSITION
from poise.problem.plan import Plan
from poise.problem.problem import Problem, Tolerance


class Reach(NamedTuple):
    """Of one position: its term in the plan; shortest, longest and wanted (k,) distance from its first joint."""

    term: int
    shortest: float
    longest: float
    wanted: Floats


def reaches(problem: Problem, targets: Floats) -> list[Reach]:
    """What lengths alone allow, for every position that is aimed at."""
    plan, aims = problem.plan, problem.kernel_targets(targets)
    found: list[Reach] = []
    for i, term in enumerate(plan.layout.terms):
        if term.kind == POSITION:
            shortest, longest, origin = plan.reaches[i]
            column = int(plan.terms[i, 3])
            away = aims[:, column : column + 3] - origin
            found.append(Reach(i, shortest, longest, np.sqrt((away**2).sum(axis=-1))))
    return found


def beyond_reach(problem: Problem, targets: Floats, tolerance: Tolerance) -> Ints:
    """For each row of targets 0, or which position (counted from 1 in order of the terms) no pose can reach."""
    slack = tolerance.distance / problem.plan.unit
    found = np.zeros(len(targets), dtype=np.int64)
    for n, reach in enumerate(reaches(problem, targets), start=1):
        off = (reach.wanted > reach.longest + slack) | (reach.wanted < reach.shortest - slack)
        found = np.where(off & (found == 0), n, found)
    return found


def stretches(problem: Problem, targets: Floats, tolerance: Tolerance) -> Bools | None:
    """(k,) which targets lie beyond the reach of a chain that a straight line answers; None where none does.

    That is one position at the end of a chain of balls without limits: stretched towards its target it is as near as it
    can be.
    """
    plan = problem.plan
    if problem.free_root or not problem.lone_point or not remember(plan, "free chain", None, lambda: _is_free(plan)):
        return None
    _, longest, origin = plan.reaches[0]
    most, aims = longest + tolerance.distance / plan.unit, problem.kernel_targets(targets)
    if len(aims) == 1:  # with floats: a single solve takes 40 us, and arrays would be a tenth of that
        x, y, z = aims[0, :3].tolist()
        a, b, c = origin.tolist()
        return np.array([True]) if (x - a) ** 2 + (y - b) ** 2 + (z - c) ** 2 > most**2 else None
    far = ((aims[:, :3] - origin) ** 2).sum(axis=1) > most**2
    return far if far.any() else None


def _is_free(plan: Plan) -> bool:
    nodes = plan.layout.nodes
    return all(node.kind == BALL for node in nodes) and not any(plan.skeleton.limits[node.row] for node in nodes)


def pulled(problem: Problem, targets: Floats) -> Floats:
    """Targets (k, W) whose positions are so far inside the reach of their chains that the rigid tree can be there.

    Where scale is not uniform: by twice the share of itself that a length may be off, along the line from the joint
    that the chain hangs on.
    """
    plan, out = problem.plan, targets.copy()
    bases, aims = problem.rigid_bases.reshape(-1, 3, 4), problem.kernel_targets(targets)
    for i, term in enumerate(plan.layout.terms):
        if term.kind != POSITION:
            continue
        shortest, _, origin = plan.reaches[i]
        least, most = (1.0 + 2.0 * plan.stretch) * shortest, (1.0 - 2.0 * plan.stretch) * plan.lengths.longest(i)
        away = aims[:, int(plan.terms[i, 3]) :][:, :3] - origin
        distance = np.sqrt((away**2).sum(axis=-1, keepdims=True))
        wanted = np.clip(distance, min(least, most), most)
        points = origin + away * (wanted / np.maximum(distance, 1e-300))
        unit = plan.scale * plan.size
        world = (bases[:, :, :3] * (unit * points)[:, None]).sum(axis=-1) + bases[:, :, 3]
        out[:, term.column : term.column + 3] = np.where(
            distance > 0.0, world, targets[:, term.column : term.column + 3]
        )
    return out
