"""Detect conflicting goals from bone lengths and rigid bodies.

The distance of two points of a chain is bounded by the bones between them, extended or folded. Points and axes of one
rigid body keep their distances and angles in every pose. Limits are not considered.
"""

from __future__ import annotations

from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from poise.maths import rotations
from poise.maths.angles import direction_left, length, rotation_left
from poise.maths.arrays import Floats, Ints
from poise.problem.geometry import SIMILAR
from poise.problem.layout import DIRECTION, NUMBERS, POSITION, ROTATION, Measure
from poise.problem.measuring.measure import Places
from poise.problem.packing import offset_of
from poise.problem.problem import Problem, Tolerance


class Conflict(NamedTuple):
    """Conflict between two or three measures of a problem.

    kind      "far", "near", "turned" (two rotations or directions) or "askew" (two points and a rotation)
    measures  two numbers; of "askew" three, the rotation last
    target    (k,) the distance or angle between the targets [file units, rad]; for "askew" their mismatch
    possible  the nearest distance or angle of any pose
    excess    (k,) the difference minus the tolerances; above 0 no pose meets both
    """

    kind: str
    measures: tuple[int, ...]
    wanted: Floats
    possible: Floats
    over: Floats


def find_conflicts(problem: Problem, q: Floats, targets: Floats, tolerance: Tolerance) -> list[Conflict]:
    """Compare every pair of goals of a problem.

    q (k, nq) are arbitrary poses of it. Non-uniform scale changes distances within a body; then only coincident points
    are compared.
    """
    measures = problem.measures
    if len(measures) < 2 or len(problem.goals) < 2 or not len(q):  # noqa: PLR2004  (a conflict takes two)
        return []
    columns = [slice(m.column, m.column + NUMBERS[m.kind]) for m in measures]
    aims = [np.broadcast_to(targets[:, own], (len(q), own.stop - own.start)) for own in columns]
    found = _apart(problem, aims, tolerance)
    if problem.plan.stretch <= SIMILAR:
        found += _on_one_body(problem, q, aims, tolerance)
    return found


def number_conflicts(problem: Problem, q: Floats, targets: Floats, tolerance: Tolerance) -> Ints:
    """Return the number of each row's first conflict. Numbers begin at 1; 0 is no conflict."""
    numbers = np.zeros(len(q), dtype=np.int64)
    for n, conflict in enumerate(find_conflicts(problem, q, targets, tolerance), start=1):
        numbers = np.where((numbers == 0) & (conflict.over > 0.0), n, numbers)
    return numbers


# --- points ------------------------------------------------------------------------------------------------------


def _apart(problem: Problem, aims: list[Floats], tolerance: Tolerance) -> list[Conflict]:
    """Compare target distances with the bone lengths between their points."""
    found: list[Conflict] = []
    points = [i for i, measure in enumerate(problem.measures) if measure.kind == POSITION]
    for i, j in combinations(points, 2):
        shortest, longest = _between(problem, i, j)
        wanted = length(aims[j] - aims[i])
        slack = 2.0 * tolerance.distance
        for kind, possible, over in (("far", longest, wanted - longest), ("near", shortest, shortest - wanted)):
            if np.isfinite(possible):
                found.append(Conflict(kind, (i, j), wanted, np.full(len(wanted), possible), over - slack))
    return found


def _between(problem: Problem, i: int, j: int) -> tuple[float, float]:
    """Bound the distance [file units] of two points by bone lengths."""
    plan, (first, second) = problem.plan, (problem.measures[i], problem.measures[j])
    goals = problem.goals[first.goal], problem.goals[second.goal]
    if first.row == second.row and offset_of(goals[0]) == offset_of(goals[1]):
        return 0.0, 0.0
    if plan.stretch > SIMILAR:
        return 0.0, np.inf
    terms = [next(n for n, term in enumerate(plan.layout.terms) if _is_of(term, m)) for m in (first, second)]
    shortest, longest = plan.lengths.between(*terms)
    return shortest * plan.unit, longest * plan.unit


def _is_of(term: object, measure: Measure) -> bool:
    """Return whether a term of the plan packs this measure."""
    return all(getattr(term, name) == getattr(measure, name) for name in ("kind", "goal", "row", "column"))


# --- measures of one body -------------------------------------------------------------------------------------


def _on_one_body(problem: Problem, q: Floats, aims: list[Floats], tolerance: Tolerance) -> list[Conflict]:
    """Compare targets of one rigid body with its shape."""
    measures = problem.measures
    members: dict[int, list[int]] = {}
    for i, measure in enumerate(measures):
        body = _body(problem, measure.row)
        if body >= 0 and measure.kind in (POSITION, ROTATION, DIRECTION):
            members.setdefault(body, []).append(i)
    if all(len(own) < 2 for own in members.values()):  # noqa: PLR2004  (a conflict takes two)
        return []
    has = _of_the_body(problem, q)
    found: list[Conflict] = []
    for own in members.values():
        ways = [i for kind in (ROTATION, DIRECTION) for i in own if measures[i].kind == kind]
        for i, j in combinations(ways, 2):
            off = _turned(measures[i].kind, measures[j].kind, (has[i], has[j]), (aims[i], aims[j]))
            found.append(Conflict("turned", (i, j), off, np.zeros(len(off)), off - 2.0 * tolerance.angle))
        points = [i for i in own if measures[i].kind == POSITION]
        for (i, j), k in product(combinations(points, 2), [i for i in ways if measures[i].kind == ROTATION]):
            line = has[j] - has[i]
            off = length(_seen_from(aims[k], aims[j] - aims[i]) - _seen_from(has[k], line))
            slack = 2.0 * tolerance.distance + tolerance.angle * length(line)
            found.append(Conflict("askew", (i, j, k), off, np.zeros(len(off)), off - slack))
    return found


def _body(problem: Problem, row: int) -> int:
    """Find the nearest moving joint at or above a row. -1 is none."""
    moving = problem.plan.layout.joints
    return next((above for above in reversed(problem.skeleton.way(row)) if above in moving), -1)


def _of_the_body(problem: Problem, q: Floats) -> list[Floats]:
    """Measure points, rotations and axes (k, 3|4) in poses q.

    Measures of other kinds give the rotation of their joint.
    """
    places, found = Places(problem.posed_as(np.array(q))), list[Floats]()
    for measure in problem.measures:
        goal = problem.goals[measure.goal]
        if measure.kind == POSITION:
            found.append(places.point(measure, goal))
        elif measure.kind == DIRECTION:
            found.append(places.axis(measure, goal))
        else:
            found.append(places[measure.row].rotations)
    return found


def _turned(first: int, second: int, has: tuple[Floats, Floats], wants: tuple[Floats, Floats]) -> Floats:
    """Compute angles (k,) [rad] between actual and desired relative rotations."""
    if first == DIRECTION:
        return np.abs(direction_left(*wants) - direction_left(*has))
    if second == ROTATION:
        mine, other = (rotations.multiply(rotations.inverse(a), b) for a, b in (has, wants))
        return rotation_left(mine, other)
    return direction_left(_seen_from(has[0], has[1]), _seen_from(wants[0], wants[1]))


def _seen_from(turns: Floats, ways: Floats) -> Floats:
    """Express vectors (k, 3) in rotated frames (k, 4)."""
    return rotations.rotate(rotations.inverse(turns), ways)
