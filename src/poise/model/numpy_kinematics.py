"""Forward kinematics in NumPy, without kernels.

Reading, saving and the search for roles use it: they neither load nor compile kernels. Poses use it inside
`defer_kernels()` only, where it makes the first picture of the viewer appear seconds sooner: elsewhere kernels are
compiled on first use, and a pose has the same bits everywhere. The two agree to rounding.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from poise import kernels
from poise.errors import InputError
from poise.kernels import layout, thresholds
from poise.kernels.entries import find_native_kernel
from poise.maths import rotations
from poise.maths.arrays import Floats, Ints
from poise.model.joint_tree import JointTree, find_rotation_starts
from poise.model.joints import Kind

# largest batch for NumPy; above it compiling the kernels is faster
_MAX_NUMPY_POSES = 64


class KernelState(threading.local):
    """State of kernel loading. `is_pending` is a class attribute, so frequent callers read it without a call.

    is_pending    of the class, for all threads: kernels are still to be loaded or compiled
    is_compiling  of one thread: it compiles the kernels
    """

    is_pending = False
    is_compiling = False


_KERNEL_STATE = KernelState()


@contextmanager
def defer_kernels() -> Generator[None]:
    """Defer the kernels: use NumPy until `compile_kernels` has run.

    Inside this context kernels need not even be loaded.
    """
    KernelState.is_pending = True
    try:
        yield
    finally:
        KernelState.is_pending = False


def are_kernels_pending() -> bool:
    """Return whether kernels are still to be compiled."""
    return KernelState.is_pending


def can_skip_kernels(pose_count: int) -> bool:
    """Return whether this thread computes a batch with NumPy. It depends on the number of poses."""
    return KernelState.is_pending and not _KERNEL_STATE.is_compiling and pose_count <= _MAX_NUMPY_POSES


def select_backend(pose_count: int) -> Any:
    """Select the backend for a batch: kernels or this module."""
    return sys.modules[__name__] if can_skip_kernels(pose_count) else kernels.kinematics


def compile_kernels(call_kernels: Callable[[], Any]) -> None:
    """Compile the kernels by calling `call_kernels`. Other threads keep using NumPy meanwhile."""
    _KERNEL_STATE.is_compiling = True
    try:
        call_kernels()
    finally:
        _KERNEL_STATE.is_compiling = KernelState.is_pending = False


def compute_world_maps(table: Floats, q: Floats, used_columns: Ints, local_offsets: Floats, out: Floats) -> None:
    """Compute world transforms like kernels.kinematics.compute_world_maps, for a few poses."""
    used_values, pose_count = q[:, used_columns], len(q)
    maps = np.tile(np.eye(4), (len(table) + 1, pose_count, 1, 1))
    for i, table_row in enumerate(table):
        local_maps = _compute_local_maps(table_row, used_values)
        if len(local_offsets):
            row_offsets = local_offsets[:, 6 * i : 6 * i + 6]
            local_maps[:, :3, 3] += row_offsets[:, :3]
            local_maps[:, :3, :3] *= row_offsets[:, None, 3:]
        maps[i + 1] = maps[int(table_row[layout.FK_PARENT])] @ local_maps
    map_count = out.shape[1] // 12
    out[:] = np.swapaxes(maps[len(maps) - map_count :, :, :3], 0, 1).reshape(pose_count, 12 * map_count)


def _compute_local_maps(table_row: Floats, values: Floats) -> Floats:
    """Compute the local transforms (k, 4, 4) of one row, A . J . B."""
    kind, column = int(table_row[layout.FK_KIND]), int(table_row[layout.FK_Q_START])
    constant, sine, cosine = (
        table_row[start : start + 12].reshape(3, 4) for start in (layout.FK_CONSTANT, layout.FK_SINE, layout.FK_COSINE)
    )
    local_maps = np.zeros((len(values), 4, 4))
    local_maps[:, 3, 3] = 1.0
    if kind in (Kind.BALL, Kind.FREE):
        joint_motions = np.tile(np.eye(4), (len(values), 1, 1))
        if kind == Kind.FREE:
            joint_motions[:, :3, 3], column = values[:, column : column + 3], column + 3
        joint_motions[:, :3, :3] = rotations.as_matrix(values[:, column : column + 4])
        local_maps[:, :3] = constant @ joint_motions
        return (
            local_maps @ np.vstack([sine, [0.0, 0.0, 0.0, 1.0]])
            if table_row[layout.FK_HAS_POST_TRANSFORM] > 0.0
            else local_maps
        )
    local_maps[:, :3] = constant
    if kind != Kind.FIXED:
        joint_value = (values[:, column] * table_row[layout.FK_COUPLING_RATIO] + table_row[layout.FK_COUPLING_OFFSET])[
            :, None, None
        ]
        local_maps[:, :3] += (
            np.sin(joint_value) * sine + np.cos(joint_value) * cosine if kind == Kind.HINGE else joint_value * sine
        )
    return local_maps


def similarities_to_quaternions(_maps: Floats, _exact: float, quaternions: Floats) -> None:
    """Mark every rotation (k, 4) as not yet computed. The kernel does the same for maps with strong shear."""
    quaternions[:, 0] = -1.0


def compute_local_transforms(
    kinds: Ints, axes: Floats, rest_transforms: Floats, q_starts: Ints, couplings: Floats, q: Floats, positions: Floats,
    quaternions: Floats,
) -> None:  # fmt: skip
    """Compute local transforms like kernels.kinematics, for a few poses."""
    positions[:], quaternions[:] = _move_joints(kinds, axes, rest_transforms, q_starts, couplings, q)


# --- Parent-relative transforms as translation, rotation and scale, as in file nodes ---------------------------------
#
# Reading, saving and the search for roles use them: they do not wait for a compiler.


class LocalTransforms(NamedTuple):
    """Local transforms as stored in file nodes.

    Translations are (..., n, 3), rotations (..., n, 4) w x y z, scales (..., n, 3).
    """

    translation: Floats
    rotation: Floats
    scale: Floats


def split_local_transforms(
    tree: JointTree, q: Floats, translations: Floats | None = None, scales: Floats | None = None
) -> LocalTransforms:
    """Compute the local transforms of configurations (..., nq), as in file nodes.

    A joint at q = 0 gets the numbers of A bit for bit. The scale does not contain a shear of B.

    translations, scales  (..., n, 3) replace those of A and B
    """
    translation, rotation = _move_joints(tree.kinds, tree.axes, tree.A, tree.q_start, tree.coupling_rows, q)
    if translations is not None:
        is_bound = tree.kinds != Kind.FREE  # free joints have their translation in q
        translation[..., is_bound, :] = translations[..., is_bound, :]
    scale = np.diagonal(tree.B[:, :, :3], axis1=1, axis2=2) if scales is None else scales
    return LocalTransforms(translation, rotations.unit(rotation), np.broadcast_to(scale, translation.shape))


def _move_joints(
    kinds: Ints, axes: Floats, rest_transforms: Floats, q_starts: Ints, couplings: Floats, q: Floats
) -> tuple[Floats, Floats]:
    """Compute A . J(q) of every joint: translations (..., n, 3) and rotations (..., n, 4)."""
    rotation = np.broadcast_to(rest_transforms[:, 3:], (*q.shape[:-1], len(kinds), 4)).copy()
    translation = np.broadcast_to(rest_transforms[:, :3], (*q.shape[:-1], len(kinds), 3)).copy()
    rotating_rows = np.flatnonzero(kinds >= Kind.BALL)
    quaternions = q[..., find_rotation_starts(kinds, q_starts)[rotating_rows, None] + np.arange(4)]
    rotation[..., rotating_rows, :] = rotations.multiply(rotation[..., rotating_rows, :], quaternions)
    for row in np.flatnonzero((kinds != Kind.BALL) & (kinds != Kind.FIXED)).tolist():
        start, rest_transform = int(q_starts[row]), rest_transforms[row]
        if kinds[row] == Kind.FREE:
            translation[..., row, :] = rest_transform[:3] + rotations.rotate(
                rest_transform[3:], q[..., start : start + 3]
            )
            continue
        ratio, offset = couplings[row]
        joint_value = ratio * q[..., start] + offset
        if kinds[row] == Kind.SLIDE:
            translation[..., row, :] = rest_transform[:3] + joint_value[..., None] * rotations.rotate(
                rest_transform[3:], axes[row]
            )
        else:
            joint_rotation = rotations.about(axes[row], joint_value)
            rotation[..., row, :] = rotations.multiply(
                np.broadcast_to(rest_transform[3:], joint_rotation.shape), joint_rotation
            )
    return translation, rotation


def compose_world_transforms(parents: list[int], translations: Floats, quaternions: Floats, linear: Floats) -> Floats:
    """Compose world transforms (n, 4, 4) from local ones, parents first.

    A local transform is T . R . L. A product that overflows is inf or NaN.
    """
    transforms = np.zeros((len(parents), 4, 4))
    transforms[:, :3, :3] = rotations.as_matrix(quaternions) @ linear
    transforms[:, :3, 3], transforms[:, 3, 3] = translations, 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        for row, parent in enumerate(parents):
            if parent >= 0:
                transforms[row] = transforms[parent] @ transforms[row]
    return transforms


def compute_world_transforms(tree: JointTree, q: Floats, translations: Floats | None = None) -> Floats:
    """Compute world transforms (n, 4, 4) of one configuration (nq,). They keep a shear of B."""
    local_transforms = split_local_transforms(tree, normalise_rotations(tree, q.copy()), translations)
    return compose_world_transforms(
        tree.parents.tolist(), local_transforms.translation, local_transforms.rotation, tree.B[:, :, :3]
    )


def normalise_rotations(tree: JointTree, q: Floats) -> Floats:
    """Normalize the quaternions in q (..., nq), in place. Those of unit length to rounding stay bit for bit."""
    span = tree.quaternion_span
    if span is None and not len(tree.quaternion_columns):
        return q
    columns = tree.quaternion_columns
    if span is None:
        quaternions = q[..., columns]
    elif q.flags.c_contiguous and q.size == q.shape[-1]:  # one pose of most rigs
        quaternions = q[..., span[0] : span[1]].reshape(columns.shape)  # a view
        unit_rows = find_native_kernel("unit_rows.scale_rows_to_unit")
        if unit_rows is not None and unit_rows(quaternions) < 0:
            return q
    else:
        quaternions = q[..., span[0] : span[1]].reshape(*q.shape[:-1], *columns.shape)
    is_scaled = np.abs(np.einsum("...i,...i->...", quaternions, quaternions) - 1.0) > thresholds.UNIT_SLACK
    if np.count_nonzero(is_scaled):
        if (quaternions == 0.0).all(axis=-1).any():
            ball_index = int(np.argwhere((quaternions == 0.0).all(axis=-1))[0, -1])
            joint = tree.names[np.flatnonzero(tree.kinds >= Kind.BALL)[ball_index]]
            message = f"the rotation of {joint!r} in q has zero length; the identity is (1, 0, 0, 0)"
            raise InputError(message)
        q[..., columns] = np.where(is_scaled[..., None], rotations.normalise(quaternions), quaternions)
    return q
