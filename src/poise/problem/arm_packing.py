"""Conversion of serial arms to kernel arrays.

The links are hinges and slides, with one goal at the end. kernels/arm_lm.py and kernels/arm_targets.py describe the
arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise import kernels
from poise.kernels.layout import (
    ARM_HEAD_SIZE,
    ARM_HIGH,
    ARM_IS_SLIDE,
    ARM_LINK_ROW,
    ARM_LOW,
    EFFECTOR_WEIGHT,
    FRAME_RATIO,
    ArmLayout,
)
from poise.maths.arrays import Floats, Ints, allocate_aligned
from poise.problem.dof_layout import POSITION, ROTATION, SLIDE, TARGET_SIZES
from poise.problem.goal_errors import ErrorPaths
from poise.problem.plan import Plan
from poise.problem.problem import Problem
from poise.runtime.result_cache import get_or_compute

_SEED_COUNT = 2048  # start values of restarts, with known tips
_SEEDS_PER_GROUP = 16  # seeds: each restart takes the best of one group
# Index of the first seed group at range ends; poses inside the ranges rarely need so many restarts.
_FIRST_LIMIT_GROUP = 21


class Arm(NamedTuple):
    """Serial arm of m links, packed. See kernels/arm_lm.py.

    links        (m + 1, 10)
    value_scales (m,)        kernel units in one unit of q: 1 for hinges
    seeds        (s, m)      values for restarts
    seed_tips    flat        tip transforms of the seeds; see kernels/arm_lm.py
    weights      (2,)        of position and rotation; 0 for a quantity without a goal
    reach_range  (2,)        shortest and longest distance of the tip from the first link
    """

    links: Floats
    value_scales: Floats
    seeds: Floats
    seed_tips: Floats
    weights: tuple[float, float]
    reach_range: tuple[float, float]

    @property
    def link_count(self) -> int:
        """Number of links."""
        return len(self.value_scales)


def find_arm(problem: Problem) -> Arm | None:
    """Return the packed serial arm, or None for other problems. Its kernels do not know soft limits."""
    plan = problem.plan
    if not plan.is_serial_arm or plan.has_soft_limits:
        return None
    return get_or_compute(plan, "arm", None, lambda: _pack_arm(plan))


def _pack_arm(plan: Plan) -> Arm:
    m = len(plan.layout.nodes)
    links = np.zeros((m + 1, ARM_LINK_ROW))
    links[:m, :ARM_LOW] = plan.frames[0, :, :FRAME_RATIO]
    links[m, :ARM_LOW] = plan.effectors[-1, :EFFECTOR_WEIGHT]
    value_scales = plan.frames[0, :, FRAME_RATIO].copy()
    links[:m, ARM_LOW : ARM_HIGH + 1] = plan.layout.dofs[:, :2] * value_scales[:, None]
    links[:m, ARM_IS_SLIDE] = [node.kind == SLIDE for node in plan.layout.nodes]
    term_kinds = {term.kind for term in plan.layout.terms}
    seeds, seed_tips = get_or_compute(plan.tree, "arm seeds", links.tobytes(), lambda: _draw_seeds(links, m))
    min_reach, max_reach = 0.0, np.inf
    if POSITION in term_kinds:
        i = next(i for i, term in enumerate(plan.layout.terms) if term.kind == POSITION)
        min_reach, max_reach, _ = plan.term_reaches[i]
    # For a single goal only the ratio of its weights matters.
    rotation_weight = plan.effectors[-1, EFFECTOR_WEIGHT] / plan.effectors[0, EFFECTOR_WEIGHT]
    weights = (float(POSITION in term_kinds), float(rotation_weight) * (ROTATION in term_kinds))
    return Arm(links, value_scales, seeds, seed_tips, weights, (min_reach, max_reach))


def _draw_seeds(links: Floats, link_count: int) -> tuple[Floats, Floats]:
    """Draw joint values from the ranges, and compute their tips.

    Infinite ranges are replaced by half a turn or one unit around zero.
    """
    low, high = links[:link_count, ARM_LOW].copy(), links[:link_count, ARM_HIGH].copy()
    half_range = np.where(links[:link_count, ARM_IS_SLIDE] > 0, 1.0, np.pi)
    low = np.where(np.isfinite(low), low, np.minimum(-half_range, high - 2 * half_range))
    high = np.where(np.isfinite(high), high, np.maximum(half_range, low + 2 * half_range))
    seeds, tip_transforms = (
        np.random.default_rng(7).uniform(low, high, (_SEED_COUNT, link_count)),
        np.zeros((_SEED_COUNT, 7)),
    )
    _set_range_ends(seeds, links[:link_count, ARM_LOW : ARM_HIGH + 1])
    kernels.arm_lm.compute_tip_transforms(links, seeds, tip_transforms)
    return seeds, tip_transforms.T.ravel()


def _set_range_ends(seeds: Floats, ranges: Floats) -> None:
    """Move values of every second seed group to range ends.

    `ranges` is (m, 2). A pose with joints at their limits is often the only solution for its tip, and steps from other
    starts seldom reach it. Without such seeds 1.9 % of the poses with all joints at limits were missed, and 0.2 % with
    half of them. Each corner of the ranges is a seed once, as far as half of these seeds suffice; the other half have
    random values at range ends.
    """
    rng, m = np.random.default_rng(8), len(ranges)
    groups = np.arange(_FIRST_LIMIT_GROUP, _SEED_COUNT // _SEEDS_PER_GROUP, 2)
    seed_pairs = (groups[:, None] * _SEEDS_PER_GROUP + np.arange(_SEEDS_PER_GROUP)).reshape(-1, 2)
    corner_codes = rng.permutation(2**m)[: len(seed_pairs)]
    is_upper_end, is_at_end = rng.integers(2, size=(2, seed_pairs.size, m)) > 0
    corner_rows = seed_pairs[: len(corner_codes), 0]
    is_upper_end[: len(corner_rows)], is_at_end[: len(corner_rows)] = corner_codes[:, None] >> np.arange(m) & 1, True
    end_rows = np.concatenate([corner_rows, np.setdiff1d(seed_pairs, corner_rows)])
    end_values = np.where(is_upper_end, ranges[:, 1], ranges[:, 0])
    seeds[end_rows] = np.where(is_at_end & np.isfinite(end_values), end_values, seeds[end_rows])


class ArmArrays(NamedTuple):
    """Target-independent inputs of kernels/arm_targets.py.

    packed_arm     flat, parts aligned to 64 bytes
    packed_layout  flat; an ArmLayout, then lists
    """

    packed_arm: Floats
    packed_layout: Ints


def pack_for_u(problem: Problem, arm: Arm, settings: Floats) -> ArmArrays:
    """Pack the arm for starts and results in u. u holds the values of the moving joints."""
    ranges = np.ascontiguousarray(problem.plan.layout.dofs[:, :2])
    return _pack_arm_arrays(problem, arm, settings, np.arange(arm.link_count), ranges, None, np.empty(0))


def pack_arm_arrays(problem: Problem, arm: Arm, settings: Floats, paths: ErrorPaths, max_errors: Floats) -> ArmArrays:
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
    plan, no_values = problem.plan, np.empty(0)
    signed_kernel_unit = np.array([plan.signed_kernel_unit])
    path_arrays = (no_values, no_values) if paths is None else (paths.table, paths.measure_rows)
    arrays = [
        arm.links,
        arm.seeds,
        arm.seed_tips,
        settings,
        signed_kernel_unit,
        arm.value_scales,
        ranges,
        *path_arrays,
        max_errors,
    ]
    padded_sizes = [-(-array.size // 8) * 8 for array in arrays]
    packed_arm = allocate_aligned(sum(padded_sizes))
    packed_arm[:] = 0.0  # the padding, too: equal arms have equal bytes
    offsets = np.cumsum([0, *padded_sizes[:-1]])
    for offset, array in zip(offsets, arrays, strict=True):
        packed_arm[offset : offset + array.size] = array.ravel()
    no_indices = np.empty(0, dtype=np.int64)
    path_lists = (no_indices, no_indices) if paths is None else (paths.spans.ravel(), paths.q_columns)
    index_lists = [columns, plan.turning_nodes, *path_lists]
    counts = [
        arm.link_count, len(arm.seeds), 0 if paths is None else len(paths.table),
        0 if paths is None else len(paths.spans), len(path_lists[1]), len(ranges),
    ]  # fmt: skip
    list_offsets = ARM_HEAD_SIZE + np.cumsum([0, *[len(index_list) for index_list in index_lists[:-1]]])
    target_width = sum(TARGET_SIZES[measure.kind] for measure in problem.measures)
    arm_layout = ArmLayout._make([*counts, *offsets, *list_offsets, target_width])
    return ArmArrays(packed_arm, np.concatenate([np.array(arm_layout, dtype=np.int64), *index_lists]))
