"""Reach of chains, from bone lengths only."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.maths.arrays import Bools, Floats, Ints
from poise.maths.remember import remember
from poise.problem.layout import BALL, POSITION
from poise.problem.plan import Plan
from poise.problem.problem import Problem, Tolerance


class Reach(NamedTuple):
    """Reach of one position goal.

    Fields: term number in the plan, and shortest, longest and desired (k,) distance from its first joint.
    """

    term: int
    shortest: float
    longest: float
    wanted: Floats


def reaches(problem: Problem, targets: Floats) -> list[Reach]:
    """Compute the reach of every position goal."""
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
    """Return the number of each row's first unreachable position.

    Positions are counted from 1 in the order of the terms; 0 is none.
    """
    slack = tolerance.distance / problem.plan.unit
    found = np.zeros(len(targets), dtype=np.int64)
    for n, reach in enumerate(reaches(problem, targets), start=1):
        off = (reach.wanted > reach.longest + slack) | (reach.wanted < reach.shortest - slack)
        found = np.where(off & (found == 0), n, found)
    return found


def stretches(problem: Problem, targets: Floats, tolerance: Tolerance) -> Bools | None:
    """Return a mask (k,) of targets beyond a free chain's reach. None where there are no such targets.

    A free chain has balls without limits and one position goal at its end. Straightened towards such a target it is as
    near as possible.
    """
    plan = problem.plan
    if problem.free_root or not problem.lone_point or not remember(plan, "free chain", None, lambda: _is_free(plan)):
        return None
    _, longest, origin = plan.reaches[0]
    most, aims = longest + tolerance.distance / plan.unit, problem.kernel_targets(targets)
    if len(aims) == 1:  # Python floats: arrays would take a tenth of a 40 us solve
        x, y, z = aims[0, :3].tolist()
        a, b, c = origin.tolist()
        return np.array([True]) if (x - a) ** 2 + (y - b) ** 2 + (z - c) ** 2 > most**2 else None
    far = ((aims[:, :3] - origin) ** 2).sum(axis=1) > most**2
    return far if far.any() else None


def _is_free(plan: Plan) -> bool:
    nodes = plan.layout.nodes
    return all(node.kind == BALL for node in nodes) and not any(plan.skeleton.limits[node.row] for node in nodes)


def pulled(problem: Problem, targets: Floats) -> Floats:
    """Pull position targets (k, W) inside the reach of the rigid tree.

    The reach is reduced by twice the relative length error of non-uniform scale. Targets move along the line from the
    chain's first joint.
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
