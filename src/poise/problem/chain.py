"""Conversion of serial chains and arms with one goal to kernel arrays.

CCD, FABRIK and the diagnostics go through a chain joint by joint. The moving nodes of such a plan form a serial chain.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from poise import kernels
from poise.errors import UnsupportedError
from poise.kernels.layout import (
    ARM_HEAD_SIZE,
    ARM_IS_SLIDE,
    ARM_LINK_ROW,
    ARM_LOW,
    CHAIN_AXIS,
    CHAIN_POINT,
    CHAIN_ROTATION,
    CHAIN_TARGET_ROW,
    EFFECTOR_WEIGHT,
    FRAME_RATIO,
    MAX_ARM_LINKS,
    ArmLayout,
)
from poise.maths.arrays import Bools, Floats, Ints, allocate_aligned, find_simd_width, prepare_for_kernel
from poise.problem.dof_layout import FIXED, HINGE, POSITION, ROTATION, SLIDE, TARGET_SIZES, Node
from poise.problem.goal_errors import ErrorPaths
from poise.problem.plan import Plan
from poise.problem.problem import Problem, Tolerance
from poise.problem.tree_packing import read_coupling
from poise.runtime.result_cache import get_or_compute, select_own_fields

_TERM_KIND_NAMES = ("position", "rotation", "direction")  # names for messages, by kind of term
_TARGET_COLUMNS = (CHAIN_POINT, CHAIN_ROTATION, CHAIN_AXIS)  # first column in a kernel target, by kind of term
_Z_AXIS = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class Chain:
    """Moving joints of a single-joint goal set, packed for the kernels. m links.

    link_kinds, axes, ranges, frames  see kernels/chain_kinematics.py
    limits            (m, LIMIT_ROW) hard limits of balls; see kernels/limits.py
    joint_rows        (m,) row of the skeleton of each link
    tips              (1, 10) effector point, rotation and axis in the last link's moved frame; see
                      kernels/chain_kinematics.py
    weights           (3,) squared weights of position, rotation and direction; 0 for a quantity without a goal
    reach_range       (1, 2) shortest and longest distance of the tip from the first link's frame
    link_conversions  (m, 6) conversion of the plan's u to link motions; see kernels/kernel_coordinates.py
    target_columns    (t, 3) target columns of the measures; see kernels/kernel_coordinates.py
    """

    plan: Plan
    link_conversions: Floats
    target_columns: Ints
    joint_rows: tuple[int, ...]
    link_kinds: Ints
    axes: Floats
    ranges: Floats
    limits: Floats
    frames: Floats
    tips: Floats
    weights: Floats
    reach_range: Floats

    def __getstate__(self) -> dict[str, Any]:
        return select_own_fields(self)

    @cached_property
    def effector_point(self) -> Floats:
        """(1, 3) effector point in the last link's moved frame."""
        return self.tips[:, :3].copy()

    @cached_property
    def is_point_only(self) -> bool:
        """Whether a position is the only thing measured."""
        return not self.weights[1:].any()

    @property
    def unit(self) -> float:
        """World units in one kernel unit."""
        return self.plan.unit

    def pack_targets(self, problem: Problem, world_targets: Floats) -> Floats:
        """Convert world targets (k, W) into kernel targets (k, 10)."""
        kernel_targets = _build_identity_targets(len(world_targets))
        problem.write_kernel_targets(world_targets, self.target_columns, kernel_targets)
        return kernel_targets

    def pack_starts(self, problem: Problem) -> Floats:
        """Compute the link motions (1|k, m, 4) of the start poses."""
        return self._u_to_motions(problem.start_u)

    def q_to_motions(self, q: Floats) -> Floats:
        """Compute the link motions (k, m, 4) of q (k, nq)."""
        return self._u_to_motions(self.plan.q_to_u(q))

    def _u_to_motions(self, u: Floats) -> Floats:
        x = np.zeros((len(u), len(self.link_kinds), 4))
        kernels.kernel_coordinates.convert_u_to_motions(u, self.link_conversions, x)
        return x

    def motions_to_q(self, problem: Problem, x: Floats, has_moved: Bools, *, is_trace: bool = False) -> Floats:
        """Convert link motions x (k, m, 4) into q (k, nq).

        Rows with `has_moved` (k,) False keep the start's q bit for bit.
        """
        u = np.zeros((len(x), self.plan.layout.nu))
        kernels.kernel_coordinates.convert_motions_to_u(prepare_for_kernel(x), self.link_conversions, u)
        return problem.compute_q(u, has_moved, traced=is_trace)

    def convert_tolerance(self, tolerance: Tolerance) -> tuple[float, float]:
        """Convert the tolerance into kernel units. Returns a distance and 2 sin(angle / 2)."""
        return tolerance.distance / self.unit, 2.0 * math.sin(0.5 * min(tolerance.angle, math.pi))


def find_chain(problem: Problem, solver_name: str = "") -> Chain:
    """Return the packed chain of a problem.

    Raises UnsupportedError for two goals of one kind and for coupled joints.
    """
    plan = problem.plan
    refusal = get_or_compute(plan, "no chain", solver_name, lambda: _explain_refusal(problem, solver_name))
    if refusal is not None:
        raise UnsupportedError(refusal)
    return get_or_compute(plan, "chain", None, lambda: _pack_chain(plan))


def _explain_refusal(problem: Problem, solver_name: str) -> str | None:
    repeated_kinds = [kind for kind, count in Counter(m.kind for m in problem.measures).items() if count > 1]
    if repeated_kinds:
        kind_name = _TERM_KIND_NAMES[repeated_kinds[0]]
        return f"{solver_name} solves one {kind_name} of a joint; {len(problem.goals)} goals ask for it"
    if problem.coupled_pair is not None:
        a, b = problem.coupled_pair
        return f"{solver_name} moves one joint at a time; {a!r} and {b!r} are coupled and both on the way to the tip"
    return None


def _pack_chain(plan: Plan) -> Chain:
    moving_nodes = [(i, node) for i, node in enumerate(plan.layout.nodes) if node.kind != FIXED]
    node_indices = [number for number, _ in moving_nodes]
    tips, weights = _build_identity_targets(1), np.zeros(3)
    reach = np.array([[0.0, np.inf]])
    for i, term in enumerate(plan.layout.terms):
        weights[term.kind] = plan.effectors[i, EFFECTOR_WEIGHT] ** 2
        effector = plan.effectors[i, 3:7] if term.kind == ROTATION else plan.effectors[i, :3]
        tips[0, _TARGET_COLUMNS[term.kind] : _TARGET_COLUMNS[term.kind] + len(effector)] = effector
        if term.kind == POSITION:
            reach[0] = plan.term_reaches[i][:2]
    return Chain(
        plan=plan,
        link_conversions=np.array([_pack_link(plan, node) for _, node in moving_nodes]).reshape(-1, 6),
        target_columns=np.array(
            [(term.kind, term.target_column, _TARGET_COLUMNS[term.kind]) for term in plan.layout.terms], dtype=np.int64
        ),
        joint_rows=tuple(node.row for _, node in moving_nodes),
        link_kinds=np.array([node.kind for _, node in moving_nodes], dtype=np.int64),
        axes=np.array([_compute_axis(plan, i, node) for i, node in moving_nodes]).reshape(-1, 3),
        ranges=np.array([_compute_range(plan, node) for _, node in moving_nodes]).reshape(-1, 2),
        limits=plan.limit_rows[node_indices],
        frames=np.ascontiguousarray(plan.frames[:, node_indices, :FRAME_RATIO]),
        tips=tips,
        weights=weights,
        reach_range=reach,
    )


def _compute_axis(plan: Plan, node_index: int, node: Node) -> Floats:
    """Return the axis of a node.

    Frames of a plan have z along the axis; a slide's axis has the length of one unit of its value.
    """
    if node.kind != SLIDE:
        return _Z_AXIS
    return _Z_AXIS * (plan.frames[0, node_index, FRAME_RATIO] / read_coupling(plan.skeleton, node)[0])


def _compute_range(plan: Plan, node: Node) -> tuple[float, float]:
    if node.kind not in (HINGE, SLIDE):
        return (-np.inf, np.inf)
    ratio, offset = read_coupling(plan.skeleton, node)
    low, high = sorted(ratio * plan.layout.dofs[node.dof_start, :2] + offset)
    return (low, high)


def _pack_link(plan: Plan, node: Node) -> list[float]:
    """Pack kind, start in u, coupling ratio and offset, and range."""
    low, high = plan.layout.dofs[node.dof_start, :2].tolist()
    return [node.kind, node.u_start, *read_coupling(plan.skeleton, node), low, high]


def _build_identity_targets(count: int) -> Floats:
    """Return rows (k, 10) with a zero point and identity rotation."""
    targets = np.zeros((count, CHAIN_TARGET_ROW))
    targets[:, 3] = targets[:, 9] = 1.0
    return targets


# --- Serial arms with one end-effector goal, for kernels/arm_lm.py ---------------------------------------------------
#
# The links are hinges and slides; the goal is at the last one.


_SEED_COUNT = 2048
_SEEDS_PER_GROUP = 16  # seeds: each restart takes the best of one group
_FIRST_LIMIT_GROUP = (
    21  # index of the first seed group at range ends; poses inside the ranges rarely need so many restarts
)


class Arm(NamedTuple):
    """Serial arm of m links, packed. See kernels/arm_lm.py.

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
    return None if arm is None or problem.has_preference else arm


def _is_serial(plan: Plan) -> bool:
    nodes, terms = plan.layout.nodes, plan.layout.terms
    ratios_and_offsets = plan.frames[0, :, FRAME_RATIO:]
    return (
        0 < len(nodes) <= MAX_ARM_LINKS
        and all(n.kind in (HINGE, SLIDE) and n.parent == i - 1 for i, n in enumerate(nodes))
        and len({n.dof_start for n in nodes}) == len(nodes)
        and bool((ratios_and_offsets[:, 1] == 0).all() and (ratios_and_offsets[:, 0] > 0).all())
        and all(ratios_and_offsets[i, 0] == 1 for i, n in enumerate(nodes) if n.kind == HINGE)
        and len({term.goal_index for term in terms}) == 1
        and all(term.kind in (POSITION, ROTATION) and term.node_index == len(nodes) - 1 for term in terms)
    )


def _pack_arm(plan: Plan) -> Arm:
    m = len(plan.layout.nodes)
    links = np.zeros((m + 1, ARM_LINK_ROW))
    links[:m, :ARM_LOW] = plan.frames[0, :, :FRAME_RATIO]
    links[m, :ARM_LOW] = plan.effectors[-1, :EFFECTOR_WEIGHT]
    gains = plan.frames[0, :, FRAME_RATIO].copy()
    links[:m, ARM_LOW : ARM_LOW + 2] = plan.layout.dofs[:, :2] * gains[:, None]
    links[:m, ARM_IS_SLIDE] = [node.kind == SLIDE for node in plan.layout.nodes]
    term_kinds = {term.kind for term in plan.layout.terms}
    seeds, seed_tips = _draw_seeds(links, m)
    min_reach, max_reach = 0.0, np.inf
    if POSITION in term_kinds:
        i = next(i for i, term in enumerate(plan.layout.terms) if term.kind == POSITION)
        min_reach, max_reach, _ = plan.term_reaches[i]
    # For a single goal only the ratio of its weights matters.
    rotation_weight = plan.effectors[-1, EFFECTOR_WEIGHT] / plan.effectors[0, EFFECTOR_WEIGHT]
    weights = (float(POSITION in term_kinds), float(rotation_weight) * (ROTATION in term_kinds))
    return Arm(links, gains, seeds, seed_tips, weights, (min_reach, max_reach))


def _draw_seeds(links: Floats, link_count: int) -> tuple[Floats, Floats]:
    """Draw joint values from the ranges, and compute their tips.

    Infinite ranges are replaced by half a turn or one unit around zero.
    """
    low, high = links[:link_count, 7].copy(), links[:link_count, 8].copy()
    half_range = np.where(links[:link_count, 9] > 0, 1.0, np.pi)
    low = np.where(np.isfinite(low), low, np.minimum(-half_range, high - 2 * half_range))
    high = np.where(np.isfinite(high), high, np.maximum(half_range, low + 2 * half_range))
    seeds, tip_transforms = (
        np.random.default_rng(7).uniform(low, high, (_SEED_COUNT, link_count)),
        np.zeros((_SEED_COUNT, 7)),
    )
    _set_range_ends(seeds, links[:link_count, 7:9])
    kernels.arm_lm.compute_tip_transforms(links, seeds, tip_transforms)
    return seeds, tip_transforms.reshape(-1, find_simd_width(), 7).transpose(0, 2, 1).ravel()


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
    unit = np.array([plan.base_scale * plan.unit_size])
    path_arrays = (no_values, no_values) if paths is None else (paths.table, paths.queries)
    arrays = [arm.links, arm.seeds, arm.seed_tips, settings, unit, arm.gains, ranges, *path_arrays, max_errors]
    padded_sizes = [-(-array.size // 8) * 8 for array in arrays]
    packed_arm = allocate_aligned(sum(padded_sizes))
    offsets = np.cumsum([0, *padded_sizes[:-1]])
    for offset, array in zip(offsets, arrays, strict=True):
        packed_arm[offset : offset + array.size] = array.ravel()
    no_indices = np.empty(0, dtype=np.int64)
    path_lists = (no_indices, no_indices) if paths is None else (paths.spans.ravel(), paths.q_columns)
    index_lists = [columns, plan.wrapping_nodes, *path_lists]
    counts = [
        arm.link_count, len(arm.seeds), 0 if paths is None else len(paths.table),
        0 if paths is None else len(paths.spans), len(path_lists[1]), len(ranges),
    ]  # fmt: skip
    list_offsets = ARM_HEAD_SIZE + np.cumsum([0, *[len(index_list) for index_list in index_lists[:-1]]])
    target_width = sum(TARGET_SIZES[measure.kind] for measure in problem.measures)
    arm_layout = ArmLayout._make([*counts, *offsets, *list_offsets, target_width])
    return ArmArrays(packed_arm, np.concatenate([np.array(arm_layout, dtype=np.int64), *index_lists]))
