"""Packing of the rigid frames and effectors of a tree.

The moving joints of a skeleton become rigid frames for the kernels, and the measured points and axes of its goals
become effectors. Fixed joints are folded into the frames. Lengths are in kernel units, and scale is taken out.

A joint's linear part is s R, a rotation times one factor (negative: mirrored); offsets further out are multiplied by
the factors before them. Rotating the joint keeps distances only then. Non-uniform scale is replaced by the nearest map
of this kind, and answers are corrected (solvers/base/answer_refinement.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from poise.errors import UnsupportedError
from poise.kernels.layout import (
    EFFECTOR_AXIS,
    EFFECTOR_FIRST_POINT,
    EFFECTOR_IS_SHARED,
    EFFECTOR_MIDDLE_POINT,
    EFFECTOR_ROW,
    EFFECTOR_SET,
    EFFECTOR_WEIGHT,
    FRAME_OFFSET,
    FRAME_RATIO,
    FRAME_ROTATION,
    FRAME_ROW,
    FRAME_VALUE_OFFSET,
    JOINT_BOX,
    NO_SET,
    REFERENCE_ORIGIN,
    REFERENCE_ROTATION,
    REFERENCE_ROW,
    REFERENCE_SCALE,
    TURN_SET,
)
from poise.maths import rotations
from poise.maths.arrays import Floats, Ints
from poise.maths.rotations import rotation_part
from poise.model.kinematics import NO_OFFSETS, LocalOffsets, compute_world_maps
from poise.model.limits import find_hinge_axis
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from poise.problem import dof_layout
from poise.problem.goal_fields import get_goal_point, get_pointing_axis, get_residual_weight
from poise.problem.goal_interface import ORIGIN
from poise.problem.goal_ranges import get_within, pack_turn
from poise.problem.goals import AnyGoal, LookAt
from poise.runtime.result_cache import get_or_compute, select_own_fields

EXPORTER_LENGTH_ERROR = 1e-3  # relative length error of exporter rounding; scale below it counts as uniform
SIMILARITY_TOLERANCE = 1e-9  # largest deviation of M M^T / s^2 from the identity in an exact similarity
_SLIDE = int(Kind.SLIDE)
_MIN_SCALE_RATIO = 1e-6  # smallest ratio of singular values; below it a scale counts as zero


class FixedMaps(NamedTuple):
    """Affine maps (k, n, 3, 4) before and after each joint's motion."""

    before: Floats
    after: Floats


def build_fixed_maps(
    start: Pose, moving_rows: set[int], translating_rows: Iterable[int] = (), rows: Sequence[int] | None = None
) -> FixedMaps:
    """Build the fixed maps before and after each motion.

    They are those of some rows, or of all. The map before is A with the pose's translation; it includes the motion of a
    fixed joint, and the translation of a free joint outside `translating_rows`. The map after is B.
    """
    skeleton = start.skeleton
    n = len(skeleton)
    rows = range(n) if rows is None else rows
    positions = start.local_positions.reshape(-1, n, 3).take(rows, axis=1)
    quaternions = start.local_rotations.reshape(-1, n, 4).take(rows, axis=1)
    is_moving = np.array([row in moving_rows for row in rows], dtype=np.bool_)
    quaternions[:, is_moving] = skeleton.A.take(rows, axis=0)[is_moving, 3:]
    kinds, translates = skeleton.joint_lists.kinds, set(translating_rows)
    for column, row in enumerate(rows):
        if row in moving_rows and kinds[row] == _SLIDE:
            translations = skeleton.A[:, :3] if start.translations is None else start.translations
            positions[:, column] = translations[..., row, :]
        if row in translates:
            positions[:, column] = skeleton.A[row, :3]
    maps_before = np.empty((*quaternions.shape[:2], 3, 4))
    maps_before[..., :3], maps_before[..., 3] = rotations.as_matrix(quaternions), positions
    return FixedMaps(maps_before, np.broadcast_to(_build_maps_after(start, rows), maps_before.shape))


def _build_maps_after(start: Pose, rows: Sequence[int]) -> Floats:
    """Build the maps after motions. They are `Pose.b_affine` of some rows."""
    if start.scales is None:
        return start.skeleton.B[None].take(rows, axis=1)
    scales = start.scales.reshape(-1, len(start.skeleton), 3).take(rows, axis=1)
    maps = np.zeros((*scales.shape, 4))
    maps[..., [0, 1, 2], [0, 1, 2]] = scales
    return maps


def compose(a: Floats, b: Floats) -> Floats:
    """Compose affine maps (..., 3, 4), b applied first."""
    product = a[..., :3] @ b
    product[..., 3] += a[..., 3]
    return product


def find_static_transform(skeleton: Skeleton, row: int) -> Floats | None:
    """Return the constant world transform (1, 3, 4) of a row.

    It is None where a joint moves the row. It holds for poses without scales of their own, is remembered with the
    skeleton, and needs no kernel. Most robot arms have such a base.
    """

    def compute_transform() -> Floats | None:
        rows = skeleton.list_path(row)
        if (skeleton.kinds[rows] != Kind.FIXED).any():
            return None
        maps_before = np.concatenate([rotations.as_matrix(skeleton.A[rows, 3:]), skeleton.A[rows, :3, None]], axis=-1)
        world_from_row = np.eye(3, 4)
        for map_before, map_after in zip(maps_before, skeleton.B[rows], strict=True):
            world_from_row = compose(compose(world_from_row, map_before), map_after)
        return world_from_row[None]

    return get_or_compute(skeleton, "static transforms", row, compute_transform)


class Similarity(NamedTuple):
    """Nearest similarity of linear maps: a rotation times one factor.

    scale          (k,) signed factors; negative for mirrored maps
    rotation       (k, 3, 3) rotation matrices
    length_errors  (k,) largest relative length errors against the maps; 0 where they are similarities
    """

    scale: Floats
    rotation: Floats
    length_errors: Floats


def split_similarity(linear: Floats, skeleton: Skeleton, row: int) -> Similarity:
    """Split linear maps (k, 3, 3) into signed scale and rotation. Raises UnsupportedError for singular maps.

    Each map is split as if it were alone.
    """
    determinant = np.linalg.det(linear)
    scale = np.cbrt(determinant)
    if (scale == 0).any():
        raise UnsupportedError(_format_zero_scale(skeleton, row, linear[scale == 0]))
    rotation = linear / scale[:, None, None]
    deviations = np.abs(rotation @ np.swapaxes(rotation, 1, 2) - np.eye(3)).max(axis=(1, 2), initial=0.0)
    length_errors = np.zeros(len(linear))
    sheared = np.flatnonzero(~(deviations <= SIMILARITY_TOLERANCE))
    if len(sheared):
        singular_values = np.linalg.svd(rotation[sheared], compute_uv=False)
        is_flat = singular_values[:, 2] < _MIN_SCALE_RATIO * singular_values[:, 0]
        if is_flat.any():
            raise UnsupportedError(_format_zero_scale(skeleton, row, linear[sheared[is_flat]]))
        rotation[sheared] = rotation_part(rotation[sheared])
        length_errors[sheared] = np.abs(singular_values - 1.0).max(axis=1)
    return Similarity(scale, rotation, length_errors)


def _format_zero_scale(skeleton: Skeleton, row: int, linear: Floats) -> str:
    """Format the message about a zero scale above a rotating joint."""
    lengths = ", ".join(f"{value:.4g}" for value in np.sqrt((linear[0] ** 2).sum(axis=0)))
    return (
        f"the scale above {skeleton.names[row]!r} is zero ({lengths}): its children have no size; start from a pose "
        "whose scales are not zero, such as rest"
    )


# --- Walk the tree and write frames and effector points --------------------------------------------------------------
#
# `dof_layout.py` decides on the moving joints; `plan.py` stores the packed arrays for all poses they serve.


_Z_AXIS = np.array([0.0, 0.0, 1.0])
_IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
_NO_SCALE = np.ones(1)
_COUPLED_KINDS = (int(Kind.HINGE), int(Kind.SLIDE))  # of joints whose values may be coupled


class TermFrame(NamedTuple):
    """Frame of a measured row in its node's moved frame.

    It is that of k starts. Lengths are in file units.

    maps         (k, 3, 4) affine maps of the row, behind its motion
    scale        (k,) scale above the row
    rotation     (k, 4) its rotation; the identity for terms that measure points alone
    limb_points  of a pole: origins (k, 3) of the limb's middle and first joint
    """

    maps: Floats
    scale: Floats
    rotation: Floats
    limb_points: tuple[Floats, ...]

    def compute_points(self, point: tuple[float, float, float]) -> Floats:
        """Compute a point (k, 3) of the row. Scale does not bend it; only rotations can be sheared."""
        x_axes, y_axes, z_axes, origins = np.moveaxis(self.maps, -1, 0)
        x, y, z = point
        # Without linear algebra, which has other bits on other processors: pages do the same.
        return (x * x_axes + y * y_axes + z * z_axes + origins) * self.scale[:, None]


class PackedGoals(NamedTuple):
    """Effectors (k, t, 29), kernel units (k,) and references (k, t, 17).

    The effectors have no tolerances; see kernels/problem_arrays.py. A reference is the frame of a relative goal's joint
    in the moved frame of its node, from file units to kernel units: 3 x 3 linear map, origin, rotation w x y z and
    signed scale. It is zeros for a target in the world.
    """

    effectors: Floats
    kernel_units: Floats
    references: Floats


@dataclass(frozen=True, eq=False)
class TreeFrames:
    """Rigid frames of a tree for k starts. n nodes, t terms.

    They do not depend on offsets and weights of goals. Lengths are in file units.

    node_offsets    (k, n, 3) origins of the nodes' frames in the moved frames above them
    node_rotations  (k, n, 4) rotations of the same
    node_scales     (1|k, n) scales of the nodes' motions
    term_frames     frames of the measured rows
    reference_frames  frames of the rows that targets are relative to; None for the world
    base_scale      scale factor of the base row
    length_errors   (k,) largest relative length error of the kernels' tree, caused by non-uniform scale; else 0
    bone_lengths    (k,) longest offset between moving joints
    fallback_units  (k,) kernel units where neither bones nor goals have a length
    """

    skeleton: Skeleton
    layout: dof_layout.Layout
    node_offsets: Floats
    node_rotations: Floats
    node_scales: Floats
    term_frames: tuple[TermFrame, ...]
    reference_frames: tuple[TermFrame | None, ...]
    base_scale: float
    length_errors: Floats
    bone_lengths: Floats
    fallback_units: Floats

    max_cached_keys: ClassVar[int] = 8  # per subject: offsets, tolerances; a skeleton has many trees

    def __getstate__(self) -> dict[str, Any]:
        return select_own_fields(self)

    def pack_goals(self, goals: Sequence[AnyGoal]) -> PackedGoals:
        """Pack the effectors of goals, and find the kernel unit.

        The unit is the next power of two above the longest bone or effector. The file's unit must not matter.
        """
        k, goals = len(self.length_errors), self.layout.list_goals(goals) if self.layout.ties else goals
        effectors, longest = np.zeros((k, len(self.layout.terms), EFFECTOR_ROW)), self.bone_lengths
        for i, (term, frame) in enumerate(zip(self.layout.terms, self.term_frames, strict=True)):
            goal = goals[term.goal_index]
            points = frame.compute_points(get_goal_point(goal))
            for each in (points, *frame.limb_points):
                longest = np.maximum(longest, np.abs(each).max(axis=1))
            self._pack_effector(effectors[:, i], term, frame, points, goal)
        kernel_units = np.where(longest > 0.0, find_next_power(longest), self.fallback_units)
        for i, term in enumerate(self.layout.terms):
            for columns in _LENGTH_COLUMNS.get(term.kind, ()):
                effectors[:, i, columns] /= kernel_units[:, None]
        references = np.zeros((k, len(self.layout.terms), REFERENCE_ROW))
        for i, frame in enumerate(self.reference_frames):
            if frame is not None:
                self._pack_reference(references[:, i], frame, kernel_units)
        for i, term in enumerate(self.layout.terms):
            if term.set_kind != NO_SET:
                self.pack_set(effectors[:, i], references[:, i], term, kernel_units, goals[term.goal_index])
        return PackedGoals(effectors, kernel_units, references)

    def _pack_reference(self, rows: Floats, frame: TermFrame, kernel_units: Floats) -> None:
        """Pack the rows (k, 17) of a reference. Lengths are in kernel units."""
        maps = frame.maps * (frame.scale / kernel_units)[:, None, None]
        rows[:, :REFERENCE_ORIGIN] = maps[..., :3].reshape(-1, 9)
        rows[:, REFERENCE_ORIGIN:REFERENCE_ROTATION] = maps[..., 3]
        rows[:, REFERENCE_ROTATION:REFERENCE_SCALE] = frame.rotation
        rows[:, REFERENCE_SCALE] = np.cbrt(np.linalg.det(maps[..., :3]))

    def pack_set(
        self, rows: Floats, references: Floats, term: dof_layout.Term, kernel_units: Floats, goal: AnyGoal
    ) -> None:
        """Pack the set of an effector.

        It has the bounds of a box [kernel units], or the limit of a turn.
        """
        within = get_within(goal)
        assert within is not None
        if term.set_kind == TURN_SET:
            assert within.turn is not None
            rows[:, EFFECTOR_SET:] = pack_turn(within.turn)
            return
        scales = references[:, REFERENCE_SCALE] if term.reference_row >= 0 else 1.0 / (self.base_scale * kernel_units)
        bounds = np.sort(np.array(within.intervals) * np.broadcast_to(scales, len(rows))[:, None, None], axis=2)
        rows[:, EFFECTOR_SET : EFFECTOR_SET + 6] = bounds.reshape(-1, 6)

    def _pack_effector(
        self, rows: Floats, term: dof_layout.Term, frame: TermFrame, points: Floats, goal: AnyGoal
    ) -> None:
        """Pack the rows (k, 15) of an effector. Lengths are in file units."""
        rows[:, :3], rows[:, 3:7], rows[:, EFFECTOR_WEIGHT] = (
            points,
            frame.rotation,
            get_residual_weight(goal, term.kind),
        )
        if term.kind in (dof_layout.DIRECTION, dof_layout.AIM):
            axes = rotations.rotate(frame.rotation, np.array(get_pointing_axis(self.skeleton, goal)))
            if term.kind == dof_layout.DIRECTION:
                rows[:, :3] = axes
            else:
                sign = -1.0 if self.base_scale < 0.0 else 1.0  # kernels mirror points, not rotations
                rows[:, EFFECTOR_AXIS:EFFECTOR_IS_SHARED] = sign * axes
                rows[:, EFFECTOR_IS_SHARED] = float(isinstance(goal, LookAt))
        elif term.kind == dof_layout.POLE:
            middle_point, first_point = frame.limb_points
            rows[:, EFFECTOR_MIDDLE_POINT:EFFECTOR_FIRST_POINT] = middle_point
            rows[:, EFFECTOR_FIRST_POINT:EFFECTOR_SET] = first_point

    def pack_frames(self, kernel_units: Floats) -> Floats:
        """Pack the frames (k, n, 9) of the nodes. See kernels/problem_arrays.py."""
        nodes, kinds = self.layout.nodes, self.skeleton.joint_lists.kinds
        frames = np.empty((len(kernel_units), len(nodes), FRAME_ROW))
        frames[:, :, FRAME_OFFSET:FRAME_ROTATION] = self.node_offsets / kernel_units[:, None, None]
        frames[:, :, FRAME_ROTATION:FRAME_RATIO] = self.node_rotations
        is_length = np.array([node.kind in (dof_layout.SLIDE, dof_layout.MOVE) for node in nodes], dtype=np.bool_)
        value_scales = np.where(is_length, self.node_scales / kernel_units[:, None], 1.0)
        is_coupled = np.array([kinds[node.row] in _COUPLED_KINDS for node in nodes], dtype=np.bool_)
        ratios, offsets = self.skeleton.coupling_rows[[node.row for node in nodes]].T
        frames[:, :, FRAME_RATIO] = np.where(is_coupled, ratios, 1.0) * value_scales
        frames[:, :, FRAME_VALUE_OFFSET] = np.where(is_coupled, offsets, 0.0) * value_scales
        return frames


# Columns of effectors with lengths, by kind of term.
_LENGTH_COLUMNS = {
    dof_layout.POSITION: (slice(3),),
    dof_layout.ROTATION: (slice(3),),
    dof_layout.AIM: (slice(3),),
    dof_layout.POLE: (
        slice(3), slice(EFFECTOR_MIDDLE_POINT, EFFECTOR_FIRST_POINT), slice(EFFECTOR_FIRST_POINT, EFFECTOR_SET),
    ),
}  # fmt: skip


def build_tree_frames(starts: Pose, layout: dof_layout.Layout) -> TreeFrames:
    """Compute the rigid frames of a tree for some starts.

    The starts have one scale of the base. The walk down the skeleton carries each row's transform in the moved frame of
    the node above it. A start has the bits that it has alone.
    """
    skeleton, k = starts.skeleton, len(starts.flat_q)
    walk = _TreeWalk(starts, layout, layout.rows_below_base)
    term_frames: list[TermFrame] = []
    reference_frames: list[TermFrame | None] = []
    for term in layout.terms:
        term_frames.append(walk.compute_term_frame(term))
        reference_frames.append(walk.compute_row_frame(term.reference_row) if term.reference_row >= 0 else None)
    base_scale, base_length_error = _compute_base_scale(starts, layout)
    length_errors = (1.0 + base_length_error) * (1.0 + np.broadcast_to(walk.max_length_errors, k)) - 1.0
    # The distance of the first nodes from the base is no measure of a limb.
    is_bone = np.array([node.parent >= 0 for node in layout.nodes], dtype=np.bool_)
    bone_lengths = _measure_longest([walk.node_offsets[:, is_bone]], k)
    slide_lengths = _measure_longest(_list_slide_positions(skeleton, layout, walk.node_scales), k)
    rest_lengths = _measure_longest([skeleton.A[None, skeleton.parents >= 0, :3], *_list_free_bones(skeleton)], k)
    fallback_lengths = np.where(slide_lengths > 0.0, slide_lengths, rest_lengths)
    fallback_units = np.where(fallback_lengths > 0.0, find_next_power(fallback_lengths), 1.0)
    return TreeFrames(
        skeleton, layout, walk.node_offsets, walk.node_rotations, walk.node_scales, tuple(term_frames),
        tuple(reference_frames), base_scale, length_errors, bone_lengths, fallback_units,
    )  # fmt: skip


def find_next_power(lengths: Floats) -> Floats:
    """Find the powers of two at or above lengths. Exact."""
    mantissas, exponents = np.frexp(lengths)  # length = mantissa * 2^exponent with 0.5 <= mantissa < 1
    return np.ldexp(1.0, exponents - (mantissas == 0.5))  # noqa: PLR2004  (a power of two is its own)


def _measure_longest(offsets: Iterable[Floats], k: int) -> Floats:
    """Measure the longest coordinate (k,) of offsets (1|k, ...)."""
    longest = np.zeros(k)
    for offset in offsets:
        longest = np.maximum(longest, np.abs(offset).reshape(len(offset), -1).max(axis=1, initial=0.0))
    return longest


def _list_free_bones(skeleton: Skeleton) -> Iterator[Floats]:
    """List the rest translations of free joints inside a body. They are its bones."""
    for row in np.flatnonzero(skeleton.kinds == Kind.FREE).tolist():
        if not dof_layout.carries_a_body(skeleton, row):
            start = int(skeleton.q_start[row])
            yield skeleton.rest_q[None, start : start + 3]


def _list_slide_positions(skeleton: Skeleton, layout: dof_layout.Layout, node_scales: Floats) -> Iterator[Floats]:
    """List the end positions of slides. They are the only lengths of a gantry."""
    for i, node in enumerate(layout.nodes):
        if node.kind == dof_layout.SLIDE:
            ratio, offset = read_coupling(skeleton, node)
            end_positions = (ratio * layout.dofs[node.dof_start, :2] + offset) * node_scales[:, i, None]
            yield np.where(np.isfinite(end_positions), end_positions, 0.0)


def _compute_base_scale(starts: Pose, layout: dof_layout.Layout) -> tuple[float, float]:
    """Compute the base row's scale factor and relative length error.

    They are those of the first start, computed from its own scales in the rest pose, so rotations above the base do not
    affect them.
    """
    skeleton = starts.skeleton
    if layout.base_row < 0:
        return 1.0, 0.0
    if (_build_maps_after(starts, skeleton.list_path(layout.base_row))[0, :, :, :3] == np.eye(3)).all():
        return 1.0, 0.0  # exact, and without a kernel
    own_scales = (
        LocalOffsets(None, starts.scales.reshape(-1, len(skeleton), 3)[:1]) if starts.scales is not None else NO_OFFSETS
    )
    linear = compute_world_maps(skeleton, layout.base_row, np.array(skeleton.rest_q[None]), own_scales)[:, 0, :, :3]
    scale = split_similarity(linear, skeleton, layout.base_row).scale
    return float(scale[0]), _compute_length_error_above(starts, layout.base_row)


def _compute_length_error_above(start: Pose, base_row: int) -> float:
    """Bound the relative length error caused by joints above a row.

    Non-uniform scales may cancel in the rest pose, but not after rotation of a joint between them. Scales without such
    a joint between them count as one.
    """
    skeleton, rows = start.skeleton, start.skeleton.list_path(base_row)
    rotation_matrices, scales = rotations.as_matrix(skeleton.A[rows, 3:]), _build_maps_after(start, rows)[0, :, :, :3]
    kinds, length_ratio, linear_map = skeleton.joint_lists.kinds, 1.0, np.eye(3)
    for row, rotation_matrix, scale in zip(rows, rotation_matrices, scales, strict=True):
        if kinds[row] not in (Kind.FIXED, Kind.SLIDE):
            length_ratio *= 1.0 + float(split_similarity(linear_map[None], skeleton, base_row).length_errors[0])
            linear_map = np.eye(3)
        linear_map = linear_map @ rotation_matrix @ scale
    return length_ratio * (1.0 + float(split_similarity(linear_map[None], skeleton, base_row).length_errors[0])) - 1.0


def read_coupling(skeleton: Skeleton, node: dof_layout.Node) -> tuple[float, float]:
    """Return ratio and offset of a coupled joint's value."""
    if skeleton.joint_lists.kinds[node.row] in _COUPLED_KINDS:
        ratio, offset = skeleton.coupling_rows[node.row].tolist()
        return ratio, offset
    return 1.0, 0.0


class _Step(NamedTuple):
    """Step of a walk along the rows of a skeleton.

    The row of a free joint has a step for each of its two nodes, others have one.

    parent  number of the step before it on the way from the base; -1: the base
    column  of the row among the fixed maps
    node    number of the node that the step ends at; -1: none
    is_first, is_last  whether the maps before and after the row's motion belong to this step
    """

    row: int
    parent: int
    column: int
    node: int
    is_first: bool
    is_last: bool


class _TreeWalk:
    """Walk down a tree with accumulated maps of its rows.

    At a node the accumulation restarts, so the stretches between nodes are independent: the maps of all nodes are
    computed at once.

    node_offsets       (k, n, 3) origins, node_rotations (k, n, 4) and node_scales (1|k, n) of the nodes' frames
    max_length_errors  (1|k,) largest relative length error of any row, for each start
    """

    def __init__(self, start: Pose, layout: dof_layout.Layout, rows: Sequence[int]) -> None:
        self.skeleton = start.skeleton
        self.steps, self._last_steps = _list_steps(start.skeleton, layout, rows)
        self.max_length_errors: Floats = np.zeros(1)
        moving_rows = {node.row for node in layout.nodes if node.kind != dof_layout.FIXED}
        translating_rows = {node.row for node in layout.nodes if node.kind == dof_layout.MOVE}
        fixed_maps = build_fixed_maps(start, moving_rows, translating_rows, list(rows))
        identity = np.eye(3, 4)[None, None]
        # Columns of `_Step`, each (steps,).
        _, self._parents, columns, nodes, is_first, is_last = np.array(self.steps, dtype=np.int64).reshape(-1, 6).T
        self._befores = np.where(is_first[:, None, None], fixed_maps.before[:, columns], identity)
        afters = np.where(is_last[:, None, None], fixed_maps.after[:, columns], identity)
        is_after_rigid = (afters[..., :3] == np.eye(3)).all(axis=(0, 2, 3))
        node_steps = np.flatnonzero(nodes >= 0)
        alignments = _compute_alignments(self.skeleton, [layout.nodes[self.steps[i].node] for i in node_steps.tolist()])
        inverse_alignments = np.zeros((1, len(node_steps), 3, 4))
        inverse_alignments[0, ..., :3] = rotations.as_matrix(rotations.inverse(alignments))
        # Map of each step's row, behind its motion, in the moved frame of the last node; the base is in front.
        pose_count = max(len(self._befores), len(afters))
        self._maps = np.tile(identity, (pose_count, len(self.steps) + 1, 1, 1))
        self._maps[:, node_steps + 1] = compose(inverse_alignments, afters[:, node_steps])
        for i, step in enumerate(self.steps):
            if step.node < 0:
                self._maps[:, i + 1] = compose(self._compute_motion_map(i), afters[:, i])
        self._is_rigid = [True] * (len(self.steps) + 1)
        if not is_after_rigid.all():
            for i, step in enumerate(self.steps):
                self._is_rigid[i + 1] = bool(is_after_rigid[i]) and (step.node >= 0 or self._is_rigid[step.parent + 1])
        self._find_frames(node_steps, alignments)

    def _compute_motion_map(self, step_indices: Any) -> Floats:
        """Compute the maps of steps before their motion. They lead to the moved frame of the last node."""
        return compose(self._maps[:, self._parents[step_indices] + 1], self._befores[:, step_indices])

    def _find_frames(self, node_steps: Ints, alignments: Floats) -> None:
        """Store the frames of nodes: their maps split into rotations and scales."""
        maps = self._compute_motion_map(node_steps)
        linear = maps[..., :3].copy()
        # Scale and relative length error from the base to each step; the base is in front.
        self._scales: list[Floats] = [_NO_SCALE] * (len(self.steps) + 1)
        self._length_errors: list[Floats] = [np.zeros(1)] * (len(self.steps) + 1)
        numbers = {step_index: number for number, step_index in enumerate(node_steps.tolist())}
        for i, step in enumerate(self.steps if not all(self._is_rigid) else ()):
            scale, length_error = self._scales[step.parent + 1], self._length_errors[step.parent + 1]
            if i in numbers and not self._is_rigid[step.parent + 1]:
                similarity = split_similarity(linear[:, numbers[i]], self.skeleton, step.row)
                linear[:, numbers[i]] = similarity.rotation
                scale = scale * similarity.scale
                length_error = (1.0 + length_error) * (1.0 + similarity.length_errors) - 1.0
                self.max_length_errors = np.maximum(self.max_length_errors, length_error)
            self._scales[i + 1], self._length_errors[i + 1] = scale, length_error
        # The steps are in the order of the nodes.
        scales_above = self._stack_scales([self.steps[i].parent + 1 for i in node_steps.tolist()])
        self.node_scales: Floats = self._stack_scales((node_steps + 1).tolist())
        self.node_offsets: Floats = maps[..., 3] * scales_above[..., None]
        self.node_rotations: Floats = rotations.multiply(rotations.from_matrix(linear), alignments)

    def _stack_scales(self, indices: Sequence[int]) -> Floats:
        """Stack the scales (1|k, n) at some steps. Index 0 is the base."""
        if all(self._is_rigid) or not indices:
            return np.ones((1, len(indices)))
        return np.stack(np.broadcast_arrays(*[self._scales[i] for i in indices]), axis=1)

    def compute_term_frame(self, term: dof_layout.Term) -> TermFrame:
        """Compute the frame of a term's row. Its rotation is set only where the term needs it."""
        i = self._last_steps[term.row] + 1
        maps, scale = self._maps[:, i], self._scales[i]
        limb_points = tuple([self._compute_origin(row) for row in reversed(term.limb_rows)])
        if term.kind in (dof_layout.POSITION, dof_layout.POLE) and term.set_kind != JOINT_BOX:
            return TermFrame(maps, scale, _IDENTITY[None], limb_points)
        return self.compute_row_frame(term.row)._replace(limb_points=limb_points)

    def compute_row_frame(self, row: int) -> TermFrame:
        """Compute the frame of a row, with its rotation."""
        i = self._last_steps[row] + 1
        maps, scale = self._maps[:, i], self._scales[i]
        linear, length_errors = maps[..., :3], np.zeros(1)
        if not self._is_rigid[i]:
            _, linear, length_errors = split_similarity(linear, self.skeleton, row)
        self.max_length_errors = np.maximum(
            self.max_length_errors, (1.0 + self._length_errors[i]) * (1.0 + length_errors) - 1.0
        )
        return TermFrame(maps, scale, rotations.from_matrix(linear), ())

    def _compute_origin(self, row: int) -> Floats:
        """Compute a row's origin (k, 3) in its node's moved frame."""
        i = self._last_steps[row] + 1
        return TermFrame(self._maps[:, i], self._scales[i], _IDENTITY[None], ()).compute_points(ORIGIN)


def _list_steps(
    skeleton: Skeleton, layout: dof_layout.Layout, rows: Sequence[int]
) -> tuple[list[_Step], dict[int, int]]:
    """List the steps of a walk along rows.

    Parents come first. Also returns the last step of each row.
    """
    nodes_by_row: dict[int, list[int]] = {}
    for i, node in enumerate(layout.nodes):
        nodes_by_row.setdefault(node.row, []).append(i)
    parents = skeleton.joint_lists.parents
    steps: list[_Step] = []
    last_steps = {layout.base_row: -1}
    for column, row in enumerate(rows):
        parent = last_steps[parents[row]]
        node_numbers = nodes_by_row.get(row, [-1])
        for j, node in enumerate(node_numbers):
            steps.append(_Step(row, parent, column, node, j == 0, j == len(node_numbers) - 1))
            parent = len(steps) - 1
        last_steps[row] = parent
    return steps, last_steps


def _compute_alignments(skeleton: Skeleton, nodes: Sequence[dof_layout.Node]) -> Floats:
    """Compute the rotations (n, 4) from z to joint axes. Nodes other than hinges and slides get the identity."""
    alignments = np.tile(_IDENTITY, (len(nodes), 1))
    axes_by_index: dict[int, Any] = {}
    for i, node in enumerate(nodes):
        if node.kind in (dof_layout.HINGE, dof_layout.SLIDE):
            axis = find_hinge_axis(skeleton.limits[node.row])
            axes_by_index[i] = skeleton.axes[node.row] if axis is None else axis
    if axes_by_index:
        alignments[list(axes_by_index)] = rotations.rotation_between(_Z_AXIS, np.array(list(axes_by_index.values())))
    return alignments
