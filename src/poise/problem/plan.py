"""Arrays of a problem for the kernels, independent of its start pose.

A Plan has the moving joints of a set of goals. Its tree is cached with the skeleton, by the kinds of the goals and the
fixed joint data of the start pose; a plan is cached with its tree by offsets, then by weights and ranges.
problem/problem.py converts start poses and targets into the plan's frames and units. The arrays are documented in
kernels/problem_arrays.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from poise import kernels
from poise.kernels.layout import (
    EFFECTOR_WEIGHT,
    FRAME_RATIO,
    HINGED_BALL_ROW,
    LIMIT_KIND,
    LIMIT_ROW,
    LIMIT_SOFT_WEIGHT,
    LIMIT_X_HIGH,
    LIMIT_X_LOW,
    MAX_ARM_LINKS,
    NO_LIMIT,
    NO_SET,
    REFERENCE_SCALE,
    TARGET_BOX,
    TERM_ROW,
)
from poise.kernels.thresholds import LONG_PATH_JOINTS
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints, prepare_for_kernel
from poise.model.limit_bounds import clamp_rotations, pack_limit
from poise.model.limits import Range, is_soft
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from poise.problem import dof_layout
from poise.problem.exporter_noise import LENGTH_ERROR_BY_NOISE, PlanStart
from poise.problem.frame_packing import TreeFrames, build_tree_frames
from poise.problem.goal_fields import get_residual_weight
from poise.problem.goal_ranges import get_set_kind
from poise.problem.goals import AnyGoal, Near
from poise.problem.reach_bounds import ReachBounds, TermReach
from poise.runtime.result_cache import copy_own_fields, copy_with, get_or_compute, select_own_fields

AXES_SIZE = 4  # numbers of the axes of a box in a kernel target, behind all targets
TERM_TARGET_START = 3  # column of `Plan.term_table`: first number of a term in a kernel target
# Properties of a plan that do not depend on the frames of its nodes.
_FRAME_FREE_PROPERTIES = (
    "kernel_unit_in_world",
    "signed_kernel_unit",
    "scale_divisors",
    "joint_names",
    "node_table",
    "limit_rows",
    "kernel_limits",
    "has_soft_limits",
    "has_set_terms",
    "term_table",
    "path_nodes",
    "row_ranges",
    "turning_nodes",
    "turning_hinges",
    "coordinate_map",
    "target_columns",
    "target_width",
)
# Kinds of terms of the kernels without limits.
_PLAIN_TERM_KINDS = {dof_layout.POSITION, dof_layout.ROTATION, dof_layout.POLE}
# Properties that do not depend on weights either, beside those.
_WEIGHT_FREE_PROPERTIES = (*_FRAME_FREE_PROPERTIES, "is_serial_arm", "reach_bounds", "term_reaches", "max_reach")
_KIND_FIELDS = (
    "joint",
    "root",
    "axis",
    "looks",
    "stands",
    "tip",
    "optional",
    "pull",
    "relative_to",
    "follow",
)  # of a goal, in the key of its kind


class GoalKey(NamedTuple):
    """Key of goals without targets or preferred poses.

    kinds    everything but numbers that may change from frame to frame
    offsets  their offsets
    weights  their weights
    ranges   their ranges (`within`)
    """

    kinds: tuple[object, ...]
    offsets: tuple[object, ...]
    weights: tuple[object, ...]
    ranges: tuple[object, ...]


NO_GOAL_KEY = GoalKey((), (), (), ())  # of goals whose key is not known


class _FirstPlan(NamedTuple):
    """Plan for offsets, made with the first weights and ranges."""

    plan: Plan
    effects: tuple[object, ...]


def build_plan(
    plan_start: PlanStart,
    goals: Sequence[AnyGoal],
    goal_key: GoalKey,
    *,
    free_root: bool,
    plan_inputs: Floats | None = None,
) -> Plan:
    """Return the plan for goals of these kinds.

    It serves all poses whose fixed joints have the same values as in the start.

    The start is a single pose, or a batch with a shared plan; `plan_inputs` are the result of `collect_plan_inputs`, if
    already computed. Raises UnsupportedError for zero scale above a rotating joint, and for a missing free root.
    """
    start, has_noise = plan_start.pose, bool(plan_start.has_noise[0])
    skeleton = start.skeleton
    layout = get_layout(skeleton, goal_key, goals, free_root=free_root)
    plan_inputs = collect_plan_inputs(start, layout) if plan_inputs is None else plan_inputs
    tree = get_or_compute(
        skeleton,
        "trees",
        (goal_key.kinds, free_root, has_noise, None if plan_inputs is None else plan_inputs[0].tobytes()),
        lambda: build_tree_frames(start[0] if start.shape else start, layout),
    )
    effects = goal_key.weights, goal_key.ranges
    first = get_or_compute(
        tree,
        "plans",
        goal_key.offsets,
        lambda: _FirstPlan(_pack_plan(tree, goals, LENGTH_ERROR_BY_NOISE if has_noise else 0.0), effects),
    )
    if first.effects == effects:
        return first.plan
    return get_or_compute(first.plan, "other weights", effects, lambda: first.plan.with_weights(goals))


def build_goal_key(goals: Sequence[AnyGoal]) -> GoalKey:
    """Return the key of goals without targets or preferred poses."""
    kinds: list[object] = []
    offsets: list[object] = []
    weights: list[object] = []
    ranges: list[object] = []
    for goal in goals:
        if isinstance(goal, Near):
            kinds.append("Near")
            continue
        offset = getattr(goal, "offset", None)
        kinds += (type(goal), goal.measures, offset is not None and any(offset))  # an offset turns with its joint
        for name in _KIND_FIELDS:  # runs in every solve; a comprehension is slower
            kinds.append(getattr(goal, name, None))
        offsets.append(offset)
        within = getattr(goal, "within", None)
        if within is not None:
            kinds.append(tuple([get_set_kind(goal, measure) for measure in goal.measures]))
            ranges.append(within)
        weights += (goal.weight, getattr(goal, "rotation_weight", None))
    return GoalKey(tuple(kinds), tuple(offsets), tuple(weights), tuple(ranges))


def get_layout(
    skeleton: Skeleton, goal_key: GoalKey, goals: Sequence[AnyGoal], *, free_root: bool
) -> dof_layout.Layout:
    """Return the remembered layout of goals of these kinds."""
    return get_or_compute(
        skeleton,
        "layouts",
        (goal_key.kinds, free_root),
        lambda: dof_layout.build_layout(skeleton, goals, free_root=free_root),
    )


def collect_plan_inputs(start: Pose, layout: dof_layout.Layout) -> Floats | None:
    """Collect the start values (k, s) behind a plan.

    Starts with equal rows share a plan. None where there are none.
    """
    input_columns: list[Floats] = []
    if len(layout.fixed_columns):
        input_columns.append(start.flat_q[:, layout.fixed_columns])
    k, n = len(start.flat_q), len(start.skeleton.names)
    if start.translations is not None:
        offsets = start.translations.reshape(-1, n, 3).take(layout.offset_rows, axis=1)
        input_columns.append(offsets.reshape(k, 3 * len(layout.offset_rows)))
    if start.scales is not None:
        scaled_rows = [*start.skeleton.list_path(layout.base_row), *layout.rows_below_base]
        input_columns.append(start.scales.reshape(-1, n, 3).take(scaled_rows, axis=1).reshape(k, 3 * len(scaled_rows)))
    return np.concatenate(input_columns, axis=1) if input_columns else None


def group_by_plan(plan_inputs: Floats | None) -> list[Ints] | None:
    """Group the rows of a start batch by shared plan. None where all rows share one."""
    if plan_inputs is None or not len(plan_inputs) or (plan_inputs == plan_inputs[0]).all():
        return None
    _, group_numbers = np.unique(plan_inputs, axis=0, return_inverse=True)
    order = np.argsort(group_numbers.ravel(), kind="stable")
    return np.split(order, np.flatnonzero(np.diff(group_numbers.ravel()[order])) + 1)


def _pack_plan(tree: TreeFrames, goals: Sequence[AnyGoal], min_length_error: float) -> Plan:
    effectors, kernel_units, references = tree.pack_goals(goals)
    return Plan(
        tree.skeleton,
        tree.layout,
        tree.layout.measures,
        tree.pack_frames(kernel_units),
        effectors[0],
        float(kernel_units[0]),
        tree.base_scale,
        max(float(tree.length_errors[0]), min_length_error),
        tree,
        references[0],
    )


class CoordinateMap(NamedTuple):
    """Index map between q and u, see kernels/kernel_coordinates.py."""

    shared_columns: Ints
    hinged_balls: Ints
    hinged_ball_limits: Floats
    translation_columns: Ints
    translation_scales: Floats


@dataclass(frozen=True, eq=False)
class Plan:
    """Moving joints of a set of goals, packed for the kernels. n nodes, t terms.

    measures             measured quantities: the columns of the errors
    frames               (1|k, n, 9)  see kernels/problem_arrays.py; rows for starts with different fixed joints
    effectors            (t, 29)    see kernels/problem_arrays.py; without the tolerances
    kernel_unit_in_base  length of one kernel unit below the base's scale [file units]: a power of two
    base_scale           scale factor of the base row
    length_error         largest relative length error of the kernels' tree, caused by non-uniform scale; else 0
    tree                 frames of the first start in file units; what does not depend on offsets and weights is
                         remembered with it
    references           (t, 17)    frames of the references of relative goals, see problem/frame_packing.py
    """

    max_cached_keys: ClassVar[int] = 8  # per subject: tolerances and options; a skeleton has many plans

    skeleton: Skeleton
    layout: dof_layout.Layout
    measures: tuple[dof_layout.Measure, ...]
    frames: Floats
    effectors: Floats
    kernel_unit_in_base: float
    base_scale: float
    length_error: float
    tree: TreeFrames
    references: Floats

    def __getstate__(self) -> dict[str, Any]:
        return select_own_fields(self)

    def with_frames(self, frames: Floats) -> Plan:
        """Return the plan with other frames of its nodes. `frames` are (1|k, n, 9)."""
        tree = copy_own_fields(self.tree)  # with nothing remembered yet
        return copy_with(self, {"frames": frames, "tree": tree}, _FRAME_FREE_PROPERTIES)

    def with_weights(self, goals: Sequence[AnyGoal]) -> Plan:
        """Return the plan with the weights and ranges of other goals. Kinds and offsets are the same."""
        effectors = self.effectors.copy()
        all_goals = self.layout.list_goals(goals)
        effectors[:, EFFECTOR_WEIGHT] = [
            get_residual_weight(all_goals[term.goal_index], term.kind) for term in self.layout.terms
        ]
        for i, term in enumerate(self.layout.terms):
            if term.set_kind != NO_SET:
                rows = slice(i, i + 1)
                units = np.array([self.kernel_unit_in_base])
                self.tree.pack_set(effectors[rows], self.references[rows], term, units, all_goals[term.goal_index])
        return copy_with(self, {"effectors": effectors}, _WEIGHT_FREE_PROPERTIES)

    def select_starts(self, rows: Bools | Ints | slice) -> Plan:
        """Return the plan for some starts of a batch."""
        if len(self.frames) == 1:
            return self
        frames = self.frames[rows]
        has_equal_frames = len(frames) > 0 and bool((frames == frames[0]).all())
        return self.with_frames(frames[:1] if has_equal_frames else frames)

    @property
    def is_sheared(self) -> bool:
        """Whether scale is non-uniform, so answers need correction."""
        return self.length_error > 0.0

    @cached_property
    def kernel_unit_in_world(self) -> float:
        """Length of one kernel unit [world units]."""
        return abs(self.signed_kernel_unit)

    def compute_target_unit(self, term_index: int) -> float:
        """Return the length of a kernel unit in target units."""
        if self.layout.terms[term_index].reference_row < 0:
            return self.kernel_unit_in_world
        return 1.0 / abs(float(self.references[term_index, REFERENCE_SCALE]))

    @cached_property
    def signed_kernel_unit(self) -> float:
        """Length of one kernel unit [world units]. It is negative where the base is mirrored."""
        return self.base_scale * self.kernel_unit_in_base

    @cached_property
    def scale_divisors(self) -> Floats:
        """(12,) divisors to remove scale from an affine map."""
        return np.where(np.arange(12) % 4 == 3, 1.0, self.base_scale)  # noqa: PLR2004  (the last of four is translation)

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the moving joints."""
        return tuple([self.skeleton.names[row] for row in self.layout.moving_rows])

    @cached_property
    def node_table(self) -> Ints:
        """(n, 4) parent, kind, first index in u and in the dofs."""
        rows = [(node.parent, node.kind, node.u_start, node.dof_start) for node in self.layout.nodes]
        return np.array(rows, dtype=np.int64).reshape(-1, 4)

    @cached_property
    def limit_rows(self) -> Floats:
        """(n, LIMIT) limits of balls and soft limits of all joints.

        Other rows are zero. See kernels/limits.py. The soft range of a coupled joint is converted to its
        leader's values.
        """
        rows, limits = np.zeros((len(self.layout.nodes), LIMIT_ROW)), self.skeleton.limits
        for row, node in zip(rows, self.layout.nodes, strict=True):
            limit = limits[node.row]
            if limit is None or node.kind in (dof_layout.FIXED, dof_layout.MOVE):
                continue
            if node.kind == dof_layout.BALL or is_soft(limit):
                row[:] = pack_limit(limit)
                ratio, offset = self.skeleton.coupling_rows[node.row]
                if self.skeleton.kinds[node.row] in (Kind.HINGE, Kind.SLIDE):
                    row[LIMIT_X_LOW : LIMIT_X_HIGH + 1] = np.sort(
                        (row[LIMIT_X_LOW : LIMIT_X_HIGH + 1] - offset) / ratio
                    )
        return rows

    @cached_property
    def kernel_limits(self) -> Floats | None:
        """Limits for the kernels, or None for a plain tree.

        A plain tree has no limits, no goal with a direction or an aim, and no relative goal or range. Its kernels have
        no code for these.
        """
        is_plain = not self.limit_rows.any() and {term.kind for term in self.layout.terms} <= _PLAIN_TERM_KINDS
        is_plain = is_plain and not self.has_set_terms
        return None if is_plain else self.limit_rows

    @cached_property
    def has_set_terms(self) -> bool:
        """Whether a goal is relative to a joint, or has a range."""
        return any([term.reference_row >= 0 or term.set_kind for term in self.layout.terms])  # noqa: C419  (faster than a generator)

    @cached_property
    def has_soft_limits(self) -> bool:
        """Whether some joint has a soft limit."""
        return bool(self.limit_rows[:, LIMIT_SOFT_WEIGHT].any())

    @cached_property
    def term_table(self) -> Ints:
        """(t, 15) integer description of each term for the kernels.

        Columns: kind, node, first residual row, first target number, start and end of its path; then for the first and
        middle joint of a pole's limb their nodes, and their path ends; then the node of the reference, start and end of
        its path, the kind of set and the first number of its axes in a target.
        """
        rows: list[tuple[int, ...]] = []
        target_start = path_start = 0
        reference_start = sum(map(len, self.layout.term_paths))
        axes_start = sum(dof_layout.TARGET_SIZES[term.kind] for term in self.layout.terms)
        paths = zip(self.layout.term_paths, self.layout.reference_paths, strict=True)
        for i, (term, (path, reference_path)) in enumerate(zip(self.layout.terms, paths, strict=True)):
            limb_ends = [
                (node, path_start + _count_moving_nodes(self.layout.nodes, node)) for node in term.limb_nodes
            ] or [
                (0, 0),
                (0, 0),
            ]
            (first, first_end), (middle, middle_end) = limb_ends
            path_columns = path_start, path_start + len(path), first, middle, first_end, middle_end
            reference_end = reference_start + len(reference_path)
            reference_columns = term.reference_node, reference_start, reference_end, term.set_kind, axes_start
            rows.append((term.kind, term.node_index, 3 * i, target_start, *path_columns, *reference_columns))
            target_start, path_start = target_start + dof_layout.TARGET_SIZES[term.kind], path_start + len(path)
            reference_start = reference_end
            axes_start += AXES_SIZE if term.set_kind == TARGET_BOX else 0
        return np.array(rows, dtype=np.int64).reshape(-1, TERM_ROW)

    @cached_property
    def path_nodes(self) -> Ints:
        """Moving nodes on the paths to terms, then to references."""
        paths = (*self.layout.term_paths, *self.layout.reference_paths)
        return np.array([node for path in paths for node in path], dtype=np.int64)

    @cached_property
    def row_ranges(self) -> Ints:
        """(nd, 2) first and last residual row of each dof."""
        dof_count = len(self.layout.dofs)
        first_rows, last_rows = np.full(dof_count, 3 * len(self.layout.terms)), np.zeros(dof_count, dtype=np.int64)
        nodes = self.layout.nodes
        dofs_by_node = [range(n.dof_start, n.dof_start + dof_layout.DOF_COUNTS[n.kind]) for n in nodes]
        paths = zip(self.layout.term_paths, self.layout.reference_paths, strict=True)
        for i, (path, reference_path) in enumerate(paths):
            dofs = [dof for node in (*path, *reference_path) for dof in dofs_by_node[node]]
            first_rows[dofs] = np.minimum(first_rows[dofs], 3 * i)
            last_rows[dofs] = np.maximum(last_rows[dofs], 3 * i + 3)
        return np.stack([np.minimum(first_rows, last_rows), last_rows], axis=1).astype(np.int64)

    @cached_property
    def turning_nodes(self) -> Ints:
        """(n,) 1 for nodes with free whole turns.

        These are hinges, except leaders of couplings and their followers.
        """
        skeleton, nodes = self.skeleton, self.layout.nodes
        leaders = {coupling.leader for coupling in skeleton.couplings if coupling}
        is_turning = [
            n.kind == dof_layout.HINGE and n.row not in leaders and not skeleton.couplings[n.row] for n in nodes
        ]
        return np.array(is_turning, dtype=np.int64)

    @cached_property
    def is_serial_arm(self) -> bool:
        """Whether the nodes are a serial arm of hinges and slides.

        It has one goal, at its end.
        """
        nodes, terms = self.layout.nodes, self.layout.terms
        ratios_and_offsets = self.frames[0, :, FRAME_RATIO:]
        return (
            0 < len(nodes) <= MAX_ARM_LINKS
            and all(n.kind in (dof_layout.HINGE, dof_layout.SLIDE) and n.parent == i - 1 for i, n in enumerate(nodes))
            and len({n.dof_start for n in nodes}) == len(nodes)
            and bool((ratios_and_offsets[:, 1] == 0).all() and (ratios_and_offsets[:, 0] > 0).all())
            and all(ratios_and_offsets[i, 0] == 1 for i, n in enumerate(nodes) if n.kind == dof_layout.HINGE)
            and len({term.goal_index for term in terms}) == 1
            and not self.has_set_terms
            and all(
                term.kind in (dof_layout.POSITION, dof_layout.ROTATION) and term.node_index == len(nodes) - 1
                for term in terms
            )
        )

    # --- reach ---------------------------------------------------------------------------------------------------

    @cached_property
    def reach_bounds(self) -> ReachBounds:
        """Bounds on reach from bone lengths."""
        return ReachBounds(self.layout, self.frames, self.effectors, self.length_error)

    @cached_property
    def term_reaches(self) -> tuple[TermReach, ...]:
        """Shortest distance, longest distance and origin of each term.

        Distances are measured from the first node of the term's path, whose origin (3,) is given, in kernel units and
        the base frame. They are bounds from bone lengths with a rounding margin: points outside are out of reach.
        """
        return tuple([self.reach_bounds.compute_reach(i) for i in range(len(self.layout.terms))])

    @property
    def has_own_bones(self) -> bool:
        """Whether bones have other lengths in each start."""
        return len(self.frames) > 1 and any(isinstance(reach.max_distance, np.ndarray) for reach in self.term_reaches)

    @cached_property
    def max_reach(self) -> float:
        """Longest reach of all positions [file units]. It is 0 where no reach is finite."""
        position_terms = [i for i, term in enumerate(self.layout.terms) if term.kind == dof_layout.POSITION]
        reaches = [float(np.max(self.reach_bounds.compute_max_reach(i))) for i in position_terms]
        longest = max([reach * self.kernel_unit_in_world for reach in reaches], default=0.0)
        return longest if longest < np.inf else 0.0

    # --- q and u -------------------------------------------------------------------------------------------------

    @cached_property
    def coordinate_map(self) -> CoordinateMap:
        """Index map between q and u."""
        skeleton, nodes = self.skeleton, self.layout.nodes
        hinged_nodes = [n for n in nodes if n.kind == dof_layout.HINGE and skeleton.kinds[n.row] >= Kind.BALL]
        translating_nodes = [
            (n, self.frames[0, i, FRAME_RATIO]) for i, n in enumerate(nodes) if n.kind == dof_layout.MOVE
        ]
        return CoordinateMap(
            shared_columns=np.stack(dof_layout.find_shared_columns(nodes, skeleton), axis=1),
            hinged_balls=np.array([(n.q_start, n.u_start) for n in hinged_nodes], dtype=np.int64).reshape(-1, 2),
            hinged_ball_limits=np.array([self._pack_hinged_ball_limits(n) for n in hinged_nodes]).reshape(
                -1, HINGED_BALL_ROW
            ),
            translation_columns=np.array(
                [(n.q_start, n.u_start) for n, _ in translating_nodes], dtype=np.int64
            ).reshape(-1, 2),
            translation_scales=np.array([scale for _, scale in translating_nodes], dtype=np.float64),
        )

    def _pack_hinged_ball_limits(self, node: dof_layout.Node) -> list[float]:
        """Pack axis and ranges of a ball limited to a hinge.

        The soft range is 1 to 0 where there is none.
        """
        limit, (low, high) = self.skeleton.limits[node.row], self.layout.dofs[node.dof_start, :2].tolist()
        assert isinstance(limit, Range)
        assert limit.axis is not None
        return [*limit.axis, low, high, *((limit.low, limit.high) if limit.soft else (1.0, 0.0))]

    def q_to_u(self, q: Floats) -> Floats:
        """Convert q (k, nq) into u (k, nu)."""
        u = np.zeros((len(q), self.layout.nu))
        kernels.kernel_coordinates.convert_q_to_u(prepare_for_kernel(q), *self.coordinate_map, u)
        return u

    def u_to_q(self, u: Floats, has_moved: Bools, start_q: Floats, turning_hinges: Floats) -> Floats:
        """Convert u (k, nu) into q (k, nq). Rows with `has_moved` (k,) False keep `start_q` (1|k, nq) bit for bit.

        The `turning_hinges` (h, 3), rows of this plan's, are moved by whole turns as near to the start as their ranges
        allow.
        """
        q = np.empty((len(u), self.skeleton.nq))
        kernels.kernel_coordinates.convert_u_to_q(
            prepare_for_kernel(u), has_moved, prepare_for_kernel(start_q), *self.coordinate_map, turning_hinges, q
        )
        return q

    def unwrap_hinges(self, q: Floats, start_q: Floats) -> Floats:
        """Move hinges of q (k, nq) by whole turns towards the starts. `start_q` is (1|k, nq); ranges are kept."""
        q = np.array(q, order="C")
        kernels.kernel_coordinates.unwrap_hinges_batch(q, prepare_for_kernel(start_q), self.turning_hinges)
        return q

    @cached_property
    def turning_hinges(self) -> Floats:
        """(h, 3) hinges with free whole turns. Columns: column of q, lowest and highest value."""
        node_flags = zip(self.layout.nodes, self.turning_nodes, strict=True)
        hinge_rows = [n.row for n, is_turning in node_flags if is_turning and self.skeleton.kinds[n.row] == Kind.HINGE]
        q_columns = self.skeleton.q_start[hinge_rows]
        return np.concatenate([q_columns[:, None].astype(np.float64), self.skeleton.value_ranges[q_columns]], axis=1)

    @cached_property
    def target_columns(self) -> Ints:
        """(t, 3) kinds and first target columns of world targets.

        The second column counts in world targets, the third in kernel targets.
        """
        term_columns = [
            (term.kind, term.target_column, kernel_column)
            for term, kernel_column in zip(self.layout.terms, self.term_table[:, TERM_TARGET_START], strict=True)
            if term.reference_row < 0
        ]
        return np.array(term_columns, dtype=np.int64).reshape(-1, 3)

    @cached_property
    def target_width(self) -> int:
        """Length of a kernel target row."""
        box_count = sum([term.set_kind == TARGET_BOX for term in self.layout.terms])
        return sum(dof_layout.TARGET_SIZES[term.kind] for term in self.layout.terms) + AXES_SIZE * box_count

    # --- configurations ------------------------------------------------------------------------------------------

    def compute_differences(self, u: Floats, v: Floats) -> Floats:
        """Compute the distance of each joint between u and v.

        The shape is (..., joints): angles [rad], slides in file units, translations in kernel units.
        """
        differences: list[Floats] = []
        for node in dict.fromkeys(n._replace(row=0, parent=0) for n in self.layout.nodes if n.kind != dof_layout.FIXED):
            a, b = (
                u[..., node.u_start : node.u_start + dof_layout.U_SIZES[node.kind]],
                v[..., node.u_start : node.u_start + dof_layout.U_SIZES[node.kind]],
            )
            if node.kind == dof_layout.BALL:
                relative_rotation = rotations.multiply(*np.broadcast_arrays(a, rotations.inverse(b)))
                differences.append(
                    2
                    * np.arctan2(
                        np.sqrt((relative_rotation[..., 1:] ** 2).sum(axis=-1)), np.abs(relative_rotation[..., 0])
                    )
                )
            else:
                differences.append(np.sqrt(((a - b) ** 2).sum(axis=-1)))
        return np.stack(np.broadcast_arrays(*differences), axis=-1)

    def unwrap_near(self, u: Floats, near_u: Floats) -> Floats:
        """Move hinges of u (k, nu) by whole turns towards `near_u`.

        `near_u` is (1|k, nu). Coupled hinges stay: a whole turn of a leader is no whole turn of its followers.
        """
        nodes = [node for node, is_turning in zip(self.layout.nodes, self.turning_nodes, strict=True) if is_turning]
        hinge_rows = [(node.u_start, *self.layout.dofs[node.dof_start, :2]) for node in nodes]
        u = np.array(u, order="C")
        kernels.kernel_coordinates.unwrap_hinges_batch(
            u, prepare_for_kernel(near_u), np.array(hinge_rows, dtype=np.float64).reshape(-1, 3)
        )
        return u

    def randomize_starts(self, start_u: Floats, uniform_numbers: Floats, rotation_share: float) -> Floats:
        """Compute random starts (k, nu) from numbers in 0..1 (nd,).

        It is the NumPy version of the random starts in kernels/tree_lm.py.
        """
        u, length_factor = start_u.copy(), LONG_PATH_JOINTS / max([LONG_PATH_JOINTS, *map(len, self.layout.term_paths)])
        for node in self.layout.nodes:
            low, high = (
                self.layout.dofs[node.dof_start, :2]
                if node.kind in (dof_layout.HINGE, dof_layout.SLIDE)
                else (0.0, 0.0)
            )
            if node.kind in (dof_layout.HINGE, dof_layout.SLIDE) and np.isfinite(high - low):
                u[:, node.u_start] = low + uniform_numbers[node.dof_start] * (high - low)
            elif node.kind == dof_layout.HINGE:
                random_angle = start_u[:, node.u_start] + (2 * uniform_numbers[node.dof_start] - 1) * np.pi
                u[:, node.u_start] = np.clip(random_angle, low, high)
            if node.kind == dof_layout.HINGE and length_factor < 1.0:
                u[:, node.u_start] = start_u[:, node.u_start] + length_factor * (
                    u[:, node.u_start] - start_u[:, node.u_start]
                )
            elif node.kind == dof_layout.BALL:
                rotation_vector = 2 * uniform_numbers[node.dof_start : node.dof_start + 3] - 1
                angle = np.linalg.norm(rotation_vector)
                u_slice = slice(node.u_start, node.u_start + 4)
                random_rotation = rotations.about(
                    rotation_vector / max(angle, 1e-12), length_factor * rotation_share * angle
                )
                u[:, u_slice] = rotations.multiply(np.broadcast_to(random_rotation, (len(u), 4)), start_u[:, u_slice])
        for node, limit in zip(self.layout.nodes, self.limit_rows, strict=True):
            if limit[LIMIT_KIND] != NO_LIMIT and limit[LIMIT_SOFT_WEIGHT] == 0.0:
                u_slice = slice(node.u_start, node.u_start + 4)
                u[:, u_slice] = clamp_rotations(limit, u[:, u_slice])
        return u


def _count_moving_nodes(nodes: Sequence[dof_layout.Node], node: int) -> int:
    """Count the moving nodes from the base to `node`, inclusive."""
    count = 0
    while node >= 0:
        count += nodes[node].kind != dof_layout.FIXED
        node = nodes[node].parent
    return count
