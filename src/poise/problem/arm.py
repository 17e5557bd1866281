"""Pack serial arms with one end-effector goal for kernels/arm.

The links are hinges and slides; the goal is at the last one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise import kernels
from poise.kernels.layout import (
    ARM_LINK,
    MAX_ARM_LINKS,
    REACH_AT_LINKS,
    REACH_COLUMNS,
    REACH_HEAD,
    REACH_LINKS,
    REACH_NQ,
    REACH_SPANS,
    REACH_WIDTH,
)
from poise.maths.arrays import Floats, Ints, allocate_aligned, find_simd_width
from poise.maths.caching import get_or_compute
from poise.problem.dof_layout import HINGE, POSITION, ROTATION, SLIDE, TARGET_SIZES
from poise.problem.goal_errors import ErrorPaths
from poise.problem.plan import Plan
from poise.problem.problem import Problem

_SEED_COUNT = 2048
_GROUP_SIZE = 16  # seeds: each restart takes the best of one group
_FIRST_LIMIT_GROUP = (
    21  # index of the first seed group at range ends; poses inside the ranges rarely need so many restarts
)


class Arm(NamedTuple):
    """Serial arm of m links, packed. See kernels/arm_lm.py and many.py.

    links        (m + 1, 10)
    gains        (m,)        kernel units in one unit of q: 1 for hinges
    seeds        (s, m)      values for restarts
    seed_tips    flat        tip transforms of the seeds; see kernels/arm_lm.py
    weights      (2,)        of position and rotation; 0 for a quantity without a goal
    reach_range  (2,)        shortest and longest distance of the tip from the first link
    """

    links: Floats
    gains: Floats
    seeds: Floats
    seed_tips: Floats
    weights: tuple[float, float]
    reach_range: tuple[float, float]

    @property
    def link_count(self) -> int:
        """Number of links."""
        return len(self.gains)


def find_arm(problem: Problem) -> Arm | None:
    """Return the packed serial arm, or None for other problems."""
    plan = problem.plan
    arm = get_or_compute(plan, "arm", None, lambda: _pack_arm(plan) if _is_serial(plan) else None)
    return None if arm is None or problem.prefers else arm


def _is_serial(plan: Plan) -> bool:
    nodes, terms = plan.layout.nodes, plan.layout.terms
    gears = plan.frames[0, :, 7:]
    return (
        0 < len(nodes) <= MAX_ARM_LINKS
        and all(n.kind in (HINGE, SLIDE) and n.parent == i - 1 for i, n in enumerate(nodes))
        and len({n.dof_start for n in nodes}) == len(nodes)
        and bool((gears[:, 1] == 0).all() and (gears[:, 0] > 0).all())
        and all(gears[i, 0] == 1 for i, n in enumerate(nodes) if n.kind == HINGE)
        and len({term.goal for term in terms}) == 1
        and all(term.kind in (POSITION, ROTATION) and term.node == len(nodes) - 1 for term in terms)
    )


def _pack_arm(plan: Plan) -> Arm:
    m = len(plan.layout.nodes)
    links = np.zeros((m + 1, ARM_LINK))
    links[:m, :7] = plan.frames[0, :, :7]
    links[m, :7] = plan.aims[-1, :7]
    gains = plan.frames[0, :, 7].copy()
    links[:m, 7:9] = plan.layout.dofs[:, :2] * gains[:, None]
    links[:m, 9] = [node.kind == SLIDE for node in plan.layout.nodes]
    kinds = {term.kind for term in plan.layout.terms}
    seeds, seed_tips = _draw_seeds(links, m)
    min_reach, max_reach = 0.0, np.inf
    if POSITION in kinds:
        i = next(i for i, term in enumerate(plan.layout.terms) if term.kind == POSITION)
        min_reach, max_reach, _ = plan.reaches[i]
    # For a single goal only the ratio of its weights matters.
    rotation_weight = plan.aims[-1, 7] / plan.aims[0, 7]
    weights = (float(POSITION in kinds), float(rotation_weight) * (ROTATION in kinds))
    return Arm(links, gains, seeds, seed_tips, weights, (min_reach, max_reach))


def _draw_seeds(links: Floats, m: int) -> tuple[Floats, Floats]:
    """Draw joint values from the ranges, and compute their tips.

    Infinite ranges are replaced by half a turn or one unit around zero.
    """
    low, high = links[:m, 7].copy(), links[:m, 8].copy()
    half_range = np.where(links[:m, 9] > 0, 1.0, np.pi)
    low = np.where(np.isfinite(low), low, np.minimum(-half_range, high - 2 * half_range))
    high = np.where(np.isfinite(high), high, np.maximum(half_range, low + 2 * half_range))
    seeds, tips = np.random.default_rng(7).uniform(low, high, (_SEED_COUNT, m)), np.zeros((_SEED_COUNT, 7))
    _set_range_ends(seeds, links[:m, 7:9])
    kernels.arm_lm.compute_tip_transforms(links, seeds, tips)
    return seeds, tips.reshape(-1, find_simd_width(), 7).transpose(0, 2, 1).ravel()


def _set_range_ends(seeds: Floats, ranges: Floats) -> None:
    """Move values of every second seed group to range ends.

    `ranges` is (m, 2). A pose with joints at their limits is often the only solution for its tip, and steps from other
    starts seldom reach it. Without such seeds 1.9 % of the poses with all joints at limits were missed, and 0.2 % with
    half of them. Each corner of the ranges is a seed once, as far as half of these seeds suffice; the other half have
    random values at range ends.
    """
    rng, m = np.random.default_rng(8), len(ranges)
    groups = np.arange(_FIRST_LIMIT_GROUP, _SEED_COUNT // _GROUP_SIZE, 2)
    rows = (groups[:, None] * _GROUP_SIZE + np.arange(_GROUP_SIZE)).reshape(-1, 2)
    corners = rng.permutation(2**m)[: len(rows)]
    at_upper_end, at_end = rng.integers(2, size=(2, rows.size, m)) > 0
    corner_rows = rows[: len(corners), 0]
    at_upper_end[: len(corner_rows)], at_end[: len(corner_rows)] = corners[:, None] >> np.arange(m) & 1, True
    end_rows = np.concatenate([corner_rows, np.setdiff1d(rows, corner_rows)])
    ends = np.where(at_upper_end, ranges[:, 1], ranges[:, 0])
    seeds[end_rows] = np.where(at_end & np.isfinite(ends), ends, seeds[end_rows])


class ArmArrays(NamedTuple):
    """Target-independent inputs of kernels/arm_targets.py.

    numbers  flat, parts aligned to 64 bytes
    layout   flat; for both see the columns REACH_ in codes.py
    """

    numbers: Floats
    layout: Ints


def pack_for_u(problem: Problem, arm: Arm, settings: Floats) -> ArmArrays:
    """Pack the arm for starts and results in u. u holds the values of the moving joints."""
    ranges = np.ascontiguousarray(problem.plan.layout.dofs[:, :2])
    return _pack_arm_arrays(problem, arm, settings, np.arange(arm.link_count), ranges, None, np.empty(0))


def pack_for_q(problem: Problem, arm: Arm, settings: Floats, paths: ErrorPaths, max_errors: Floats) -> ArmArrays:
    """Pack the arm for starts and results in q.

    Errors are measured along `paths` and compared with `max_errors` (c,).
    """
    columns = np.array([node.q_start for node in problem.plan.layout.nodes])
    return _pack_arm_arrays(problem, arm, settings, columns, problem.skeleton.value_ranges, paths, max_errors)


def _pack_arm_arrays(
    problem: Problem,
    arm: Arm,
    settings: Floats,
    columns: Ints,
    ranges: Floats,
    paths: ErrorPaths | None,
    max_errors: Floats,
) -> ArmArrays:
    plan, empty = problem.plan, np.empty(0)
    unit = np.array([plan.scale * plan.size])
    path_arrays = (empty, empty) if paths is None else (paths.table, paths.queries)
    parts = [arm.links, arm.seeds, arm.seed_tips, settings, unit, arm.gains, ranges, *path_arrays, max_errors]
    sizes = [-(-part.size // 8) * 8 for part in parts]
    numbers = allocate_aligned(sum(sizes))
    offsets = np.cumsum([0, *sizes[:-1]])
    for offset, part in zip(offsets, parts, strict=True):
        numbers[offset : offset + part.size] = part.ravel()
    no_paths = np.empty(0, dtype=np.int64)
    path_lists = (no_paths, no_paths) if paths is None else (paths.spans.ravel(), paths.q_columns)
    lists = [columns, plan.wrapping_nodes, *path_lists]
    layout = np.zeros(REACH_HEAD + sum(len(values) for values in lists), dtype=np.int64)
    layout[REACH_LINKS : REACH_NQ + 1] = (
        arm.link_count, len(arm.seeds), 0 if paths is None else len(paths.table),
        0 if paths is None else len(paths.spans),
        len(path_lists[1]), len(ranges),
    )  # fmt: skip
    layout[REACH_AT_LINKS : REACH_AT_LINKS + len(parts)] = offsets
    layout[REACH_COLUMNS : REACH_SPANS + 2] = REACH_HEAD + np.cumsum([0, *[len(values) for values in lists[:-1]]])
    layout[REACH_WIDTH] = sum(TARGET_SIZES[measure.kind] for measure in problem.measures)
    layout[REACH_HEAD:] = np.concatenate(lists)
    return ArmArrays(numbers, layout)
