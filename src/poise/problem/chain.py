"""Conversion of serial chains to kernel arrays.

The goals are those of one joint, and the moving nodes of such a plan form a serial chain. CCD, FABRIK and the
diagnostics go through it joint by joint.
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
    CHAIN_AXIS,
    CHAIN_POINT,
    CHAIN_ROTATION,
    CHAIN_TARGET_ROW,
    EFFECTOR_POINT,
    EFFECTOR_ROTATION,
    EFFECTOR_WEIGHT,
    FRAME_RATIO,
    MEASURE_WORK_SIZE,
    ChainTables,
)
from poise.maths.arrays import Bools, Floats, Ints, prepare_for_kernel
from poise.problem.dof_layout import FIXED, HINGE, POSITION, ROTATION, SLIDE, Node
from poise.problem.frame_packing import read_coupling
from poise.problem.goal_errors import NO_ERROR_PATHS
from poise.problem.packed_tables import pack_tables
from poise.problem.plan import Plan
from poise.problem.problem import Problem, Tolerance
from poise.runtime.result_cache import get_or_compute, select_own_fields

_TERM_KIND_NAMES = ("position", "rotation", "direction")  # names for messages, by kind of term
_TARGET_COLUMNS = (CHAIN_POINT, CHAIN_ROTATION, CHAIN_AXIS)  # first column in a kernel target, by kind of term
_Z_AXIS = np.array([0.0, 0.0, 1.0])
_IDENTITY_TARGET = np.zeros(CHAIN_TARGET_ROW)
_NO_WEIGHTS, _NO_MASKS = np.empty(0), np.empty((0, 3))
_IDENTITY_TARGET[[CHAIN_ROTATION, CHAIN_AXIS + 2]] = 1.0


@dataclass(frozen=True, eq=False)
class Chain:
    """Moving joints of a single-joint goal set, packed for the kernels. m links.

    link_kinds, axes, ranges, frames  see kernels/chain_kinematics.py
    limits            (m, LIMIT_ROW) hard limits of balls; see kernels/limits.py
    joint_rows        (m,) row of the skeleton of each link
    tips              (1, 10) effector point, rotation and axis in the last link's moved frame; see
                      kernels/chain_kinematics.py
    weights           (3,) squared weights of position, rotation and direction; 0 for a quantity without a goal
    reach_range       (1|k, 2) shortest and longest distance of the tip from the first link's frame
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
    def kernel_unit_in_world(self) -> float:
        """Length of one kernel unit [world units]."""
        return self.plan.kernel_unit_in_world

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

    def motions_to_q(self, problem: Problem, x: Floats, has_moved: Bools) -> Floats:
        """Convert link motions of a trace into q (k, nq).

        Motions x are (k, m, 4). Rows with `has_moved` (k,) False keep the start's q bit for bit.
        """
        u = np.zeros((len(x), self.plan.layout.nu))
        kernels.kernel_coordinates.convert_motions_to_u(prepare_for_kernel(x), self.link_conversions, u)
        return problem.compute_q(u, has_moved, traced=True)

    def convert_tolerance(self, tolerance: Tolerance) -> tuple[float, float]:
        """Convert the tolerance into kernel units. Returns a distance and 2 sin(angle / 2)."""
        return tolerance.distance / self.kernel_unit_in_world, 2.0 * math.sin(0.5 * min(tolerance.angle, math.pi))


class PackedChain(NamedTuple):
    """Constant inputs of kernels/chain_targets.py, and the size of its scratch memory.

    work_size         for one target: all that lies behind each other there
    target_work_size  for each further one: its kernel target and link motions
    """

    tables: Floats
    layout: Ints
    work_size: int
    target_work_size: int


def pack_chain_tables(
    problem: Problem,
    chain: Chain,
    options: Floats,
    solver_work_size: int,
    joint_weights: Floats = _NO_WEIGHTS,
    goal_masks: Floats = _NO_MASKS,
) -> PackedChain:
    """Pack a chain with the options of its solver. See `ChainTables` in kernels/layout.py."""
    plan, paths = problem.plan, problem.error_paths or NO_ERROR_PATHS
    tables = ChainTables(
        chain.axes,
        chain.ranges,
        chain.limits,
        joint_weights,
        goal_masks,
        chain.tips,
        options,
        np.array([plan.signed_kernel_unit]),
        chain.target_columns,
        chain.link_conversions,
        *plan.coordinate_map,
        problem.unwrapped_hinges,
        paths.table,
        paths.spans,
        paths.measure_rows,
    )
    head = [plan.layout.nu, solver_work_size, len(paths.q_columns)]
    target_work_size = CHAIN_TARGET_ROW + 4 * len(chain.link_kinds)
    work_size = target_work_size + sum(head) + MEASURE_WORK_SIZE
    return PackedChain(*pack_tables(head, tables, paths.q_columns), work_size, target_work_size)


def find_chain(problem: Problem, solver_name: str = "") -> Chain:
    """Return the packed chain of a problem.

    Raises UnsupportedError for two goals of one kind and for coupled joints.
    """
    plan = problem.plan
    refusal = get_or_compute(plan, "chain refusals", solver_name, lambda: _explain_refusal(problem, solver_name))
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
    node_indices = [i for i, _ in moving_nodes]
    tips, weights = _build_identity_targets(1), np.zeros(3)
    reach_range = np.array([[0.0, np.inf]])
    for i, term in enumerate(plan.layout.terms):
        weights[term.kind] = plan.effectors[i, EFFECTOR_WEIGHT] ** 2
        effector = (
            plan.effectors[i, EFFECTOR_ROTATION : EFFECTOR_ROTATION + 4]
            if term.kind == ROTATION
            else plan.effectors[i, EFFECTOR_POINT : EFFECTOR_POINT + 3]
        )
        tips[0, _TARGET_COLUMNS[term.kind] : _TARGET_COLUMNS[term.kind] + len(effector)] = effector
        if term.kind == POSITION:
            min_reach, max_reach, _ = plan.term_reaches[i]
            reach_range = np.stack(np.broadcast_arrays(np.atleast_1d(min_reach), max_reach), axis=1)
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
        reach_range=reach_range,
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
    """Return rows (k, 10) with zero point, identity rotation and z axis."""
    targets = np.empty((count, CHAIN_TARGET_ROW))
    targets[:] = _IDENTITY_TARGET
    return targets
