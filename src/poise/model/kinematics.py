"""Forward kinematics and Jacobians. Rows of a skeleton become tables for kernels/kinematics.py."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from poise import kernels
from poise.errors import UnsupportedError
from poise.kernels import layout
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints, find_simd_width, get_scratch, prepare_for_kernel
from poise.maths.vectors import cross
from poise.model import numpy_kinematics
from poise.model.joints import Q_OFFSET_RANGES
from poise.model.skeleton import Kind, Skeleton
from poise.runtime.result_cache import get_or_compute

# --- Angular Jacobians below non-uniform scale -----------------------------------------------------------------------
#
# Turning a joint then shears the joints below it.
#
# The rotation of a sheared joint is the one nearest to its linear part M = Q R (Q symmetric, R a rotation). With L the
# linear part of the frame in which a joint above turns, a small rotation g changes it by dM = N M with N = L [g]x L^-1,
# and R turns with the angular velocity w of
#
# (tr(Q) I - Q) w = axial(N Q - (N Q)^T)
#
# which is L g where L and M are rotations. It is the antisymmetric part of dM = dQ R + Q dR; for the decomposition see
# N. J. Higham, "Functions of Matrices: Theory and Computation", SIAM 2008, chapter 8.


# smallest absolute determinant to divide by
_MIN_DETERMINANT = 1e-300


def compute_angular_jacobian(skeleton: Skeleton, rows: Ints, maps: Floats) -> Floats:
    """Compute the angular Jacobian (k, 3, nv) of the last row. It is the lower half of Pose.jacobian.

    Parameters
    ----------
    skeleton
        The joints.
    rows
        (r,) from the root to the joint.
    maps
        (k, r, 3, 4) their world transforms.
    """
    parent_rotations = np.concatenate([np.broadcast_to(np.eye(3), (len(maps), 1, 3, 3)), maps[:, :-1, :, :3]], axis=1)
    rotating_indices = np.flatnonzero((skeleton.kinds[rows] != Kind.FIXED) & (skeleton.kinds[rows] != Kind.SLIDE))
    angular_derivatives = _differentiate_rotation(
        parent_rotations[:, rotating_indices] @ rotations.as_matrix(skeleton.A[rows[rotating_indices], 3:]),
        maps[:, -1, :, :3],
    )
    jacobian = np.zeros((len(maps), 3, skeleton.nv))
    for i, row in enumerate(rows[rotating_indices].tolist()):
        first_dof = int(skeleton.v_start[row]) + (3 if skeleton.kinds[row] == Kind.FREE else 0)
        if skeleton.kinds[row] == Kind.HINGE:  # several may share one degree of freedom
            jacobian[:, :, first_dof] += (
                angular_derivatives[:, i] * (skeleton.axes[row] * skeleton.coupling_rows[row, 0])
            ).sum(axis=-1)
        else:
            jacobian[:, :, first_dof : first_dof + 3] = angular_derivatives[:, i]
    return jacobian


def _differentiate_rotation(frames: Floats, linear: Floats) -> Floats:
    """Differentiate the rotation nearest to `linear` (k, 3, 3).

    The result (k, r, 3, 3) is for small rotations about each axis of frames (k, r, 3, 3).

    With C = L^-1 Q, axial(L [g]x C - (L [g]x C)^T) is linear in g: row i of its matrix is l_j x c_k + c_j x l_k, where
    l are the rows of L, c the columns of C, and i, j, k are cyclic.
    """
    u, singular_values, _ = np.linalg.svd(linear)
    stretch = (u * singular_values[:, None]) @ np.swapaxes(u, 1, 2)
    columns = np.swapaxes(_invert(frames) @ stretch[:, None], -1, -2)
    j, k = [1, 2, 0], [2, 0, 1]
    cross_products = cross(frames[..., j, :], columns[..., k, :]) + cross(columns[..., j, :], frames[..., k, :])
    return _invert(singular_values.sum(axis=-1)[:, None, None] * np.eye(3) - stretch)[:, None] @ cross_products


def _invert(matrices: Floats) -> Floats:
    """Invert matrices (..., 3, 3). Singular ones give meaningless values."""
    a, b, c = matrices[..., 0, :], matrices[..., 1, :], matrices[..., 2, :]
    columns = np.stack([cross(b, c), cross(c, a), cross(a, b)], axis=-1)
    determinant = (a * columns[..., 0]).sum(axis=-1)
    divisor = np.maximum(np.abs(determinant), _MIN_DETERMINANT) * np.where(determinant < 0.0, -1.0, 1.0)
    return columns / divisor[..., None, None]


# --- Kinematics tables and world maps --------------------------------------------------------------------------------


# lanes of the wide kernels
_WIDE_LANE_COUNT = 8
_NO_OFFSET_ROWS = np.empty((0, 0))
_NOT_SHEARED = np.zeros(1, dtype=bool)
# relative deviation from a scaled rotation below which a linear part counts as one; exported scales are noisy
_SIMILARITY_TOLERANCE = 1e-3


class LocalOffsets(NamedTuple):
    """Translations and scales of a batch of poses. They replace A's translation and B: (k, n, 3) each, or None."""

    translations: Floats | None
    scales: Floats | None


NO_OFFSETS = LocalOffsets(None, None)


def flatten_local_offsets(translations: Floats | None, scales: Floats | None) -> LocalOffsets:
    """Flatten the batch of translations and scales."""
    values = (translations, scales)
    return LocalOffsets(
        *[None if array is None else array.reshape(math.prod(array.shape[:-2]), *array.shape[-2:]) for array in values]
    )


class KinematicsTable(NamedTuple):
    """Skeleton rows packed for the kernels. See kernels/kinematics.py.

    free_indices    indices of the free joints in the table
    q_columns       columns of q used by the table
    workspace_size  numbers of scratch memory for forward kinematics
    """

    joint_rows: Ints
    free_indices: Ints
    constants: Floats
    q_columns: Ints
    dof_rows: Floats
    workspace_size: int


def compute_world_maps(
    skeleton: Skeleton, row: int | None, q: Floats, local_offsets: LocalOffsets = NO_OFFSETS
) -> Floats:
    """Compute world transforms for poses q (k, nq).

    The result is (k, n, 3, 4) for every joint, or (k, 1, 3, 4) for one.
    """
    table = get_table(skeleton, row, local_offsets)
    map_count = len(table.joint_rows) if row is None else 1
    packed_offsets = _NO_OFFSET_ROWS if local_offsets is NO_OFFSETS else pack_local_offsets(table, local_offsets)
    return compute_table_maps(table, map_count, q, packed_offsets).reshape(len(q), map_count, 3, 4)


class PoseTable(NamedTuple):
    """Arguments of the kernels for one pose without local offsets.

    They are of all rows or of one path.

    call            the kernel
    constants       tables of the kernel, in its order
    q_columns       columns of q used by the table
    scales          (1, r) 1 / scale above each row; of Jacobians only
    workspace_size  numbers of scratch memory
    number_count    numbers of the result
    shape           shape of the result
    """

    call: Callable[..., None]
    constants: tuple[Floats, ...]
    q_columns: Ints
    scales: Floats
    workspace_size: int
    number_count: int
    shape: tuple[int, ...]


def compute_pose_maps(skeleton: Skeleton, row: int | None, q: Floats) -> Floats:
    """Compute world transforms of one pose q (nq,).

    They are (n, 3, 4), or (3, 4) of one joint. They have the bits of `compute_world_maps`, in a third of its time.
    """
    if numpy_kinematics.KernelState.is_pending and numpy_kinematics.can_skip_kernels(1):
        maps = compute_world_maps(skeleton, row, q[None].copy())[0]
        return maps if row is None else maps[0]
    call, (constants,), q_columns, _, workspace_size, number_count, shape = get_or_compute(
        skeleton, "pose tables", row, lambda: _build_maps_table(skeleton, row)
    )
    maps, q_row = np.empty(shape), prepare_for_kernel(q[None])
    call(constants, q_row, q_columns, _NO_OFFSET_ROWS, get_scratch(workspace_size), maps.reshape(1, number_count))
    return maps


def _build_maps_table(skeleton: Skeleton, row: int | None) -> PoseTable:
    """Build the arguments of `compute_pose_maps`."""
    kernels.unit_rows  # noqa: B018  (loaded here: the next poses are then checked by it, see normalise_rotations)
    table = get_table(skeleton, row, NO_OFFSETS)
    count = len(table.joint_rows) if row is None else 1
    return PoseTable(
        _choose_maps_kernel(),
        (table.constants,),
        table.q_columns,
        _NO_OFFSET_ROWS,
        table.workspace_size,
        12 * count,
        (count, 3, 4) if row is None else (3, 4),
    )


def compute_pose_jacobian(skeleton: Skeleton, row: int, q: Floats, points: Floats) -> Floats:
    """Compute the Jacobian (6, nv) of one pose.

    q is (nq,); the point (1, 3) is in the frame of the joint.
    """
    table = get_or_compute(skeleton, "Jacobian tables", row, lambda: _build_jacobian_table(skeleton, row))
    if table is None:
        return compute_jacobians(skeleton, row, q[None].copy(), NO_OFFSETS, points)[0]
    call, constants, q_columns, scales, workspace_size, number_count, shape = table
    jacobian, q_row = np.empty(shape), prepare_for_kernel(q.reshape(1, -1))
    workspace, numbers = get_scratch(workspace_size), jacobian.reshape(1, number_count)
    call(*constants, q_row, q_columns, _NO_OFFSET_ROWS, scales, points, workspace, numbers)
    return jacobian


def _build_jacobian_table(skeleton: Skeleton, row: int) -> PoseTable | None:
    """Build the arguments of `compute_pose_jacobian`. Returns None where a rotation of the path is sheared."""
    table, (inverse_scales, is_sheared) = (
        get_table(skeleton, row, NO_OFFSETS),
        _get_inverse_scales(skeleton, row, NO_OFFSETS),
    )
    if is_sheared.any():
        return None
    return PoseTable(
        _choose_jacobian_kernel(),
        (table.constants, table.dof_rows),
        table.q_columns,
        inverse_scales,
        _compute_jacobian_size(table, skeleton.nv),
        6 * skeleton.nv,
        (6, skeleton.nv),
    )


def _choose_maps_kernel() -> Callable[..., None]:
    is_wide = find_simd_width() == _WIDE_LANE_COUNT
    return kernels.kinematics.compute_world_maps8 if is_wide else kernels.kinematics.compute_world_maps4


def _choose_jacobian_kernel() -> Callable[..., None]:
    is_wide = find_simd_width() == _WIDE_LANE_COUNT
    return kernels.kinematics.compute_jacobians8 if is_wide else kernels.kinematics.compute_jacobians4


def _compute_jacobian_size(table: KinematicsTable, nv: int) -> int:
    """Compute the scratch memory of the Jacobian of a path, in numbers."""
    return (len(table.q_columns) + 12 + 6 * nv + 31 * len(table.joint_rows) + 3) * find_simd_width()


def compute_table_maps(table: KinematicsTable, map_count: int, q: Floats, packed_offsets: Floats) -> Floats:
    """Compute world transforms (k, 12 count) of a table's last rows.

    `q` is (k, nq), `packed_offsets` comes from `pack_local_offsets`. The bits are those of `compute_world_maps`,
    independent of the rest of the table and of the batch.
    """
    maps, workspace = np.empty((len(q), map_count * 12)), get_scratch(table.workspace_size)
    if numpy_kinematics.KernelState.is_pending and numpy_kinematics.can_skip_kernels(len(q)):
        numpy_kinematics.compute_world_maps(table.constants, q, table.q_columns, packed_offsets, maps)
        return maps
    kernels.vector_rows  # noqa: B018  (loaded here: what moves many frames has many rows, see `apply_to_rows`)
    _choose_maps_kernel()(table.constants, q, table.q_columns, packed_offsets, workspace, maps)
    return maps


def compute_rotations(maps: Floats, tolerance: float, *, pose_count: int) -> Floats:
    """Compute the rotations (k, 4) nearest to maps (k, 12).

    They are w x y z with w >= 0; `pose_count` is the number of poses.

    tolerance  relative deviation from a scaled rotation; maps beyond it take a slower path
    """
    quaternions = np.empty((len(maps), 4))
    numpy_kinematics.select_backend(pose_count).similarities_to_quaternions(maps, tolerance, quaternions)
    is_sheared = quaternions[:, 0] < 0.0
    if is_sheared.any():
        quaternions[is_sheared] = rotations.from_matrix(
            rotations.rotation_part(maps[is_sheared].reshape(-1, 3, 4)[..., :3])
        )
    return quaternions


def compute_jacobians(
    skeleton: Skeleton, row: int, q: Floats, local_offsets: LocalOffsets, points: Floats, *, needs_angular: bool = True
) -> Floats:
    """Compute Jacobians (k, 6, nv) of one joint. Points (1|k, 3) are in its frame, poses are q (k, nq).

    Without `needs_angular` the lower halves may be wrong under non-uniform scale; the upper halves are always right.
    """
    table, nv = get_table(skeleton, row, local_offsets), skeleton.nv
    row_count = len(table.joint_rows)
    inverse_scales, is_sheared = (
        _get_inverse_scales(skeleton, row, local_offsets) if needs_angular else (np.ones((1, row_count)), _NOT_SHEARED)
    )
    flat_jacobians = np.empty((len(q), 6 * nv))
    workspace = get_scratch(_compute_jacobian_size(table, nv))
    packed_offsets = pack_local_offsets(table, local_offsets)
    _choose_jacobian_kernel()(
        table.constants,
        table.dof_rows,
        q,
        table.q_columns,
        packed_offsets,
        inverse_scales,
        points,
        workspace,
        flat_jacobians,
    )
    jacobians = flat_jacobians.reshape(len(q), 6, nv)
    if is_sheared.any():
        sheared_poses = np.flatnonzero(np.broadcast_to(is_sheared, len(q)))
        maps = compute_table_maps(
            table, row_count, q[sheared_poses], packed_offsets[sheared_poses] if len(packed_offsets) else packed_offsets
        ).reshape(-1, row_count, 3, 4)
        jacobians[sheared_poses, 3:] = compute_angular_jacobian(skeleton, table.joint_rows, maps)
    return jacobians


def get_table(skeleton: Skeleton, row: int | None, local_offsets: LocalOffsets) -> KinematicsTable:
    """Return the cached table of all rows, or of one path. It leaves out everything replaced by `local_offsets`."""
    has_translations, has_scales = local_offsets.translations is not None, local_offsets.scales is not None

    def build_rows_table() -> KinematicsTable:
        rows = list(range(len(skeleton))) if row is None else skeleton.list_path(row)
        return build_table(skeleton, rows, has_translations=has_translations, has_scales=has_scales)

    return get_or_compute(skeleton, "joint tables", (row, has_translations, has_scales), build_rows_table)


def build_table(
    skeleton: Skeleton, rows: list[int], *, has_translations: bool = False, has_scales: bool = False
) -> KinematicsTable:
    """Build the table of these rows, parents first. The flags leave out translations or scales supplied by poses."""
    offsets, maps_after = skeleton.A[:, :3].copy(), skeleton.B
    if has_translations:
        offsets[skeleton.kinds != Kind.FREE] = 0.0
    if has_scales:
        maps_after = np.broadcast_to(np.eye(3, 4), maps_after.shape)
    return _pack_table(skeleton, rows, offsets[rows], maps_after[rows])


def _get_inverse_scales(skeleton: Skeleton, row: int, local_offsets: LocalOffsets) -> tuple[Floats, Bools]:
    """Return 1 / scale (1|k, r) above each row. Also return the poses (1|k,) with shear."""
    rows = skeleton.list_path(row)
    if local_offsets.scales is not None:
        return _compute_inverse_scales(skeleton, rows, local_offsets.scales[:, rows, None, :] * np.eye(3))
    return get_or_compute(
        skeleton, "inverse scales", row, lambda: _compute_inverse_scales(skeleton, rows, skeleton.B[None, rows, :, :3])
    )


def _pack_table(skeleton: Skeleton, rows: list[int], offsets: Floats, maps_after: Floats) -> KinematicsTable:
    """Pack the table of rows, parents first. `offsets` (r, 3) are A's translations, `maps_after` (r, 3, 4) is B."""
    s = skeleton
    kinds, axes = s.kinds[rows], s.axes[rows]
    parents = skeleton.joint_lists.parents
    q_columns = find_q_columns(s, rows)
    rotation_matrices = rotations.as_matrix(s.A[rows, 3:])
    slot_by_row = {row: i + 1 for i, row in enumerate(rows)}
    constants = np.zeros((len(rows), layout.FK_ROW))
    constants[:, layout.FK_KIND] = kinds
    constants[:, layout.FK_PARENT] = [slot_by_row.get(parents[row], 0) for row in rows]
    constants[:, layout.FK_Q_START] = np.where(kinds == layout.FIXED, 0, np.searchsorted(q_columns, s.q_start[rows]))
    constants[:, layout.FK_COUPLING_RATIO : layout.FK_COUPLING_OFFSET + 1] = s.coupling_rows[rows]
    constants[:, layout.FK_CONSTANT :] = _pack_motion_parts(kinds, axes, rotation_matrices, maps_after).reshape(
        len(rows), 36
    )
    constants[:, layout.FK_CONSTANT + 3 : layout.FK_SINE : 4] += offsets  # the last of each row of four
    motion_axes = np.swapaxes(rotation_matrices, 1, 2).copy()
    has_single_axis = (kinds == layout.HINGE) | (kinds == layout.SLIDE)
    motion_axes[has_single_axis, 0] = (rotation_matrices @ axes[:, :, None])[has_single_axis, :, 0]
    dof_rows = np.zeros((len(rows), layout.JACOBIAN_ROW))
    dof_rows[:, layout.JACOBIAN_FIRST_COLUMN], dof_rows[:, layout.JACOBIAN_ORIGIN : layout.JACOBIAN_AXES] = (
        s.v_start[rows],
        offsets,
    )
    dof_rows[:, layout.JACOBIAN_AXES :] = motion_axes.reshape(len(rows), 9)
    workspace_size = (len(q_columns) + 12 * (len(rows) + 1) + 6 * len(rows)) * find_simd_width()
    return KinematicsTable(
        np.array(rows, dtype=np.int64),
        np.flatnonzero(kinds > layout.BALL),
        constants,
        q_columns,
        dof_rows,
        workspace_size,
    )


def find_q_columns(skeleton: Skeleton, rows: Iterable[int]) -> Ints:
    """Find the columns of q used by these rows, in their order."""
    _, kinds, q_starts, _ = skeleton.joint_lists
    columns = {q_starts[row] + j for row in rows for j in Q_OFFSET_RANGES[kinds[row]]}
    return np.array(sorted(columns), dtype=np.int64)


def _pack_motion_parts(kinds: Ints, axes: Floats, rotation_matrices: Floats, maps_after: Floats) -> Floats:
    """Pack the constant, sine and cosine parts (r, 3, 3, 4).

    A's translation is left out; `rotation_matrices` (r, 3, 3) is A's.
    """
    axis_projection = axes[:, :, None] * axes[:, None, :]
    cross_matrix = np.cross(np.eye(3), axes[:, None, :])  # row i is e_i x a: cross_matrix @ v is a x v
    motion_parts = np.zeros((len(kinds), 3, 3, 4))
    motion_parts[:, 0] = rotation_matrices @ maps_after
    is_hinge, is_slide, is_ball = kinds == layout.HINGE, kinds == layout.SLIDE, kinds >= layout.BALL
    for j, motion_part in enumerate((axis_projection, cross_matrix, np.eye(3) - axis_projection)):
        motion_parts[is_hinge, j] = (rotation_matrices @ motion_part @ maps_after)[is_hinge]
    motion_parts[is_slide, 1, :, 3] = (rotation_matrices @ axes[:, :, None])[is_slide, :, 0]
    motion_parts[is_ball, 0] = np.eye(3, 4)
    motion_parts[is_ball, 0, :, :3] = rotation_matrices[is_ball]
    motion_parts[is_ball, 1] = maps_after[is_ball]
    motion_parts[is_ball, 2, 0, 0] = (maps_after[is_ball] != np.eye(3, 4)).any(axis=(1, 2))
    return motion_parts


def pack_local_offsets(table: KinematicsTable, local_offsets: LocalOffsets) -> Floats:
    """Pack translations and scales for the kernels, (0|k, 6 r). The translation of a free joint is in q."""
    any_offsets, row_count = (
        local_offsets.scales if local_offsets.translations is None else local_offsets.translations,
        len(table.joint_rows),
    )
    if any_offsets is None:
        return np.empty((0, 6 * row_count))
    packed_offsets = np.empty((len(any_offsets), row_count, 6))
    packed_offsets[..., :3] = (
        0.0 if local_offsets.translations is None else local_offsets.translations.take(table.joint_rows, axis=1)
    )
    packed_offsets[..., 3:] = (
        1.0 if local_offsets.scales is None else local_offsets.scales.take(table.joint_rows, axis=1)
    )
    if len(table.free_indices):
        packed_offsets[:, table.free_indices, :3] = 0.0
    return packed_offsets.reshape(len(any_offsets), 6 * row_count)


def _compute_inverse_scales(skeleton: Skeleton, rows: list[int], linear: Floats) -> tuple[Floats, Bools]:
    """Compute 1 / scale (k, r) above each row.

    `linear` (k, r, 3, 3) is B's linear part. Also return where a joint turns below a non-uniform scale.

    UnsupportedError for a rotating joint below a scale of zero.
    """
    scale = np.cbrt(np.linalg.det(linear))
    is_zero = scale == 0.0
    scale = np.where(is_zero, 1.0, scale)
    unit_maps = linear / scale[..., None, None]
    is_nonuniform = is_zero | (
        np.abs(unit_maps @ np.swapaxes(unit_maps, -1, -2) - np.eye(3)).max(axis=(2, 3)) > _SIMILARITY_TOLERANCE
    )
    is_rotating = ~np.isin(skeleton.kinds[rows], (Kind.FIXED, Kind.SLIDE))
    zero_scale_indices = np.flatnonzero(is_rotating & _find_rows_below(is_zero).any(axis=0))
    if len(zero_scale_indices):
        name = skeleton.names[rows[int(zero_scale_indices[0])]]
        raise UnsupportedError(f"the scale above {name!r} is zero; turning {name!r} is then no rotation")
    inverse_scales = np.ones(scale.shape)
    inverse_scales[:, 1:] = 1.0 / np.cumprod(scale, axis=1)[:, :-1]
    return inverse_scales, np.any(is_rotating & _find_rows_below(is_nonuniform), axis=1)


def _find_rows_below(mask: Bools) -> Bools:
    """Find the rows of paths (k, r) with one of these above."""
    return np.cumsum(mask, axis=1) > mask
