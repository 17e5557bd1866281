"""Pack serial arms with one end-effector goal for kernels/arm.

The links are hinges and slides; the goal is at the last one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise import kernels
from poise.kernels.codes import (
    ARM_LINK,
    LARGEST_ARM,
    REACH_AT_LINKS,
    REACH_COLUMNS,
    REACH_HEAD,
    REACH_LINKS,
    REACH_NQ,
    REACH_SPANS,
    REACH_WIDTH,
)
from poise.maths.arrays import Floats, Ints
from poise.maths.lanes import aligned, lane_width
from poise.maths.remember import remember
from poise.problem.layout import HINGE, NUMBERS, POSITION, ROTATION, SLIDE
from poise.problem.measuring.measure import Paths
from poise.problem.plan import Plan
from poise.problem.problem import Problem

_SEEDS = 2048
_GROUP = 16  # seeds: each restart takes the best of one group
_ENDS_FROM = 21  # index of the first seed group at range ends; poses inside the ranges rarely need so many restarts


class Arm(NamedTuple):
    """Serial arm of m links, packed. See kernels/arm/serial.py and many.py.

    links        (m + 1, 10)
    gains        (m,)        kernel units in one unit of q: 1 for hinges
    seeds        (s, m)      values for restarts
    seed_tips    flat        tip transforms of the seeds; see kernels/arm/seeds.py
    weights      (2,)        of position and rotation; 0 for a quantity without a goal
    reach_range  (2,)        shortest and longest distance of the tip from the first link
    """

    links: Floats
    gains: Floats
    seeds: Floats
    poses: Floats
    weights: tuple[float, float]
    reach: tuple[float, float]

    @property
    def size(self) -> int:
        """Number of links."""
        return len(self.gains)


def arm_of(problem: Problem) -> Arm | None:
    """Return the packed serial arm, or None for other problems."""
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
    links = np.zeros((m + 1, ARM_LINK))
    links[:m, :7] = plan.frames[0, :, :7]
    links[m, :7] = plan.aims[-1, :7]
    gains = plan.frames[0, :, 7].copy()
    links[:m, 7:9] = plan.layout.dofs[:, :2] * gains[:, None]
    links[:m, 9] = [node.kind == SLIDE for node in plan.layout.nodes]
    kinds = {term.kind for term in plan.layout.terms}
    seeds, poses = _seeds(links, m)
    shortest, longest = 0.0, np.inf
    if POSITION in kinds:
        i = next(i for i, term in enumerate(plan.layout.terms) if term.kind == POSITION)
        shortest, longest, _ = plan.reaches[i]
    # For a single goal only the ratio of its weights matters.
    share = plan.aims[-1, 7] / plan.aims[0, 7]
    weights = (float(POSITION in kinds), float(share) * (ROTATION in kinds))
    return Arm(links, gains, seeds, poses, weights, (shortest, longest))


def _seeds(links: Floats, m: int) -> tuple[Floats, Floats]:
    """Draw joint values from the ranges, and compute their tips.

    Infinite ranges are replaced by half a turn or one unit around zero.
    """
    low, high = links[:m, 7].copy(), links[:m, 8].copy()
    widest = np.where(links[:m, 9] > 0, 1.0, np.pi)
    low = np.where(np.isfinite(low), low, np.minimum(-widest, high - 2 * widest))
    high = np.where(np.isfinite(high), high, np.maximum(widest, low + 2 * widest))
    seeds, places = np.random.default_rng(7).uniform(low, high, (_SEEDS, m)), np.zeros((_SEEDS, 7))
    _put_ends(seeds, links[:m, 7:9])
    kernels.arm.serial.tips(links, seeds, places)
    return seeds, places.reshape(-1, lane_width(), 7).transpose(0, 2, 1).ravel()


def _put_ends(seeds: Floats, ranges: Floats) -> None:
    """Move values of every second seed group to range ends.

    `ranges` is (m, 2). A pose with joints at their limits is often the only solution for its tip, and steps from other
    starts seldom reach it. Without such seeds 1.9 % of the poses with all joints at limits were missed, and 0.2 % with
    half of them. Each corner of the ranges is a seed once, as far as half of these seeds suffice; the other half have
    random values at range ends.
    """
    rng, m = np.random.default_rng(8), len(ranges)
    groups = np.arange(_ENDS_FROM, _SEEDS // _GROUP, 2)
    rows = (groups[:, None] * _GROUP + np.arange(_GROUP)).reshape(-1, 2)
    corners = rng.permutation(2**m)[: len(rows)]
    highest, chosen = rng.integers(2, size=(2, rows.size, m)) > 0
    every = rows[: len(corners), 0]
    highest[: len(every)], chosen[: len(every)] = corners[:, None] >> np.arange(m) & 1, True
    which = np.concatenate([every, np.setdiff1d(rows, every)])
    ends = np.where(highest, ranges[:, 1], ranges[:, 0])
    seeds[which] = np.where(chosen & np.isfinite(ends), ends, seeds[which])


class ArmArrays(NamedTuple):
    """Target-independent inputs of kernels/arm/reach.py.

    numbers  flat, parts aligned to 64 bytes
    layout   flat; for both see the columns REACH_ in codes.py
    """

    numbers: Floats
    layout: Ints


def reach_in_u(problem: Problem, arm: Arm, settings: Floats) -> ArmArrays:
    """Pack the arm for starts and results in u. u holds the values of the moving joints."""
    ranges = np.ascontiguousarray(problem.plan.layout.dofs[:, :2])
    return _reach(problem, arm, settings, np.arange(arm.size), ranges, None, np.empty(0))


def reach_in_q(problem: Problem, arm: Arm, settings: Floats, paths: Paths, allowed: Floats) -> ArmArrays:
    """Pack the arm for starts and results in q.

    Errors are measured along `paths` and compared with `max_errors` (c,).
    """
    columns = np.array([node.q_start for node in problem.plan.layout.nodes])
    return _reach(problem, arm, settings, columns, problem.skeleton.value_ranges, paths, allowed)


def _reach(
    problem: Problem, arm: Arm, settings: Floats, columns: Ints, ranges: Floats, paths: Paths | None, allowed: Floats
) -> ArmArrays:
    plan, nothing = problem.plan, np.empty(0)
    unit = np.array([plan.scale * plan.size])
    measured = (nothing, nothing) if paths is None else (paths.table, paths.asks)
    parts = [arm.links, arm.seeds, arm.poses, settings, unit, arm.gains, ranges, *measured, allowed]
    sizes = [-(-part.size // 8) * 8 for part in parts]
    numbers = aligned(sum(sizes))
    begins = np.cumsum([0, *sizes[:-1]])
    for begin, part in zip(begins, parts, strict=True):
        numbers[begin : begin + part.size] = part.ravel()
    no_paths = np.empty(0, dtype=np.int64)
    ways = (no_paths, no_paths) if paths is None else (paths.spans.ravel(), paths.used)
    lists = [columns, plan.turning, *ways]
    layout = np.zeros(REACH_HEAD + sum(len(whole) for whole in lists), dtype=np.int64)
    layout[REACH_LINKS : REACH_NQ + 1] = (
        arm.size, len(arm.seeds), 0 if paths is None else len(paths.table), 0 if paths is None else len(paths.spans),
        len(ways[1]), len(ranges),
    )  # fmt: skip
    layout[REACH_AT_LINKS : REACH_AT_LINKS + len(parts)] = begins
    layout[REACH_COLUMNS : REACH_SPANS + 2] = REACH_HEAD + np.cumsum([0, *[len(whole) for whole in lists[:-1]]])
    layout[REACH_WIDTH] = sum(NUMBERS[measure.kind] for measure in problem.measures)
    layout[REACH_HEAD:] = np.concatenate(lists)
    return ArmArrays(numbers, layout)
