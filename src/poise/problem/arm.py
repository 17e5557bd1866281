"""A plan that is one serial arm of hinges and slides with one goal at its end: packed for the fastest kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise import kernels
from poise.kernels.codes import LARGEST_ARM
from poise.maths.arrays import Floats
from poise.maths.lanes import aligned, lane_width
from poise.maths.remember import remember
from poise.problem.layout import HINGE, POSITION, ROTATION, SLIDE
from poise.problem.plan import Plan
from poise.problem.problem import Problem

_SEEDS = 2048
_NOWHERE = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])


class Arm(NamedTuple):
    """m links; see kernels/arm/serial.py and many.py.

    links   (m + 1, 10)
    gains   (m,)        kernel units in one unit of q: 1 for hinges
    seeds   (s, m + 7)  where to start again, and where that puts the tip
    poses   flat        the same places, side by side in lanes
    weights (2,)        1 or 0: whether position and rotation count
    reach   (2,)        shortest and longest distance of the tip from the first link
    """

    links: Floats
    gains: Floats
    seeds: Floats
    poses: Floats
    weights: tuple[float, float]
    reach: tuple[float, float]

    @property
    def size(self) -> int:
        """How many links."""
        return len(self.gains)


def arm_of(problem: Problem) -> Arm | None:
    """The problem as one of a serial arm, or None where it is none."""
    plan = problem.plan
    arm = remember(plan, "arm", None, lambda: _packed(plan) if _is_serial(plan) else None)
    return None if arm is None or problem.prefers else arm


def _is_serial(plan: Plan) -> bool:
    nodes, terms = plan.layout.nodes, plan.layout.terms
    gears = plan.frames[0, :, 7:]
    return (
        0 < len(nodes) <= LARGEST_ARM
        and all(n.kind in (HINGE, SLIDE) and n.parent == i - 1 for i, n in enumerate(nodes))
        and len({n.dof for n in nodes}) == len(nodes)
        and bool((gears[:, 1] == 0).all() and (gears[:, 0] > 0).all())
        and all(gears[i, 0] == 1 for i, n in enumerate(nodes) if n.kind == HINGE)
        and len({term.goal for term in terms}) == 1
        and all(term.kind in (POSITION, ROTATION) and term.node == len(nodes) - 1 for term in terms)
    )


def _packed(plan: Plan) -> Arm:
    m = len(plan.layout.nodes)
    links = np.zeros((m + 1, 10))
    links[:m, :7] = plan.frames[0, :, :7]
    links[m, :7] = plan.aims[-1, :7]
    gains = plan.frames[0, :, 7].copy()
    links[:m, 7:9] = plan.layout.dofs[:, :2] * gains[:, None]
    links[:m, 9] = [node.kind == SLIDE for node in plan.layout.nodes]
    kinds = {term.kind for term in plan.layout.terms}
    seeds = _seeds(links, m)
    shortest, longest = 0.0, np.inf
    if POSITION in kinds:
        i = next(i for i, term in enumerate(plan.layout.terms) if term.kind == POSITION)
        shortest, longest, _ = plan.reaches[i]
    weights = (float(POSITION in kinds), float(ROTATION in kinds))
    return Arm(links, gains, seeds, _side_by_side(seeds[:, m:]), weights, (shortest, longest))


def _seeds(links: Floats, m: int) -> Floats:
    """Values spread over the ranges (half a turn or one unit around zero where they are infinite), and their tips."""
    low, high = links[:m, 7].copy(), links[:m, 8].copy()
    widest = np.where(links[:m, 9] > 0, 1.0, np.pi)
    low = np.where(np.isfinite(low), low, np.minimum(-widest, high - 2 * widest))
    high = np.where(np.isfinite(high), high, np.maximum(widest, low + 2 * widest))
    seeds = np.zeros((_SEEDS, m + 7))
    seeds[:, :m] = np.random.default_rng(7).uniform(low, high, (_SEEDS, m))
    places = np.zeros((_SEEDS, 7))
    kernels.arm.serial.tips(links, np.ascontiguousarray(seeds[:, :m]), places)
    seeds[:, m:] = places
    return seeds


def _side_by_side(places: Floats) -> Floats:
    """Places (s, 7) in blocks of a lane width, number by number."""
    width = lane_width()
    flat = aligned(places.size)
    flat[:] = places.reshape(-1, width, 7).transpose(0, 2, 1).ravel()
    return flat


def arm_targets(arm: Arm, problem: Problem, rows: Floats) -> Floats:
    """World targets (k, W) as the kernels want them (k, 7)."""
    given = problem.kernel_targets(rows)
    if all(arm.weights):
        return given
    out = np.tile(_NOWHERE, (len(rows), 1))
    out[:, slice(0, 3) if arm.weights[0] else slice(3, 7)] = given
    return out
