"""Differentiable forward kinematics and configuration steps in JAX."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from poise.errors import InputError
from poise.jax import quaternions
from poise.maths import rotations
from poise.maths.arrays import Floats, Ints
from poise.maths.rotations import rotation_part
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton


class Frames(NamedTuple):
    """World frames of the requested joints, in their order. j joints, leading axes of q in front.

    Parameters
    ----------
    positions
        (..., j, 3) world, file units.
    rotations
        (..., j, 4) w x y z, the rotations along the path without scale; the sign is not fixed. Equal to `Pose.world`
        rotations for uniform scale.
    affine
        (..., j, 3, 4) world transforms, scale included.
    """

    positions: Array
    rotations: Array
    affine: Array


def forward(
    skeleton: Skeleton, joints: str | Iterable[str] | None = None, *, pose: Pose | None = None
) -> Callable[[ArrayLike], Frames]:
    """Build differentiable forward kinematics: a pure function from q to Frames. q is (..., nq).

    Parameters
    ----------
    skeleton
        The joints.
    joints
        A name (j is 1), several names, or None for all in the skeleton's order.
    pose
        A single pose. Its translations and scales are used, its q is ignored.

    Returns
    -------
    Callable
        It is compiled by `jax.jit` once per shape and inlined in functions you compile; unused parts of Frames cost
        nothing there.

    Raises
    ------
    UnknownNameError
        For a joint that does not exist.
    InputError
        For a q of the wrong size or a pose of another skeleton.

    Notes
    -----
    world_i = world_parent . A_i . J_i(q_i) . B_i, as in Pose. Quaternions in q are normalised inside, so any q is a
    pose; one of zero length is the identity. Gradients are finite everywhere, including zero and half-turn rotations.
    """
    if pose is not None and (pose.shape or pose.skeleton != skeleton):
        raise InputError("pose must be a single pose of the same skeleton")
    names = skeleton.names if joints is None else (joints,) if isinstance(joints, str) else tuple(joints)
    joint_indices = np.array([skeleton.index(name) for name in names], dtype=np.int64)
    table = _build_table(skeleton, pose)

    @jax.jit
    def compute_frames(q: Array) -> Frames:
        linear, positions, joint_rotations = _place_joints(table, q)
        linear, positions = linear[..., joint_indices, :, :], positions[..., joint_indices, :]
        return Frames(
            positions, joint_rotations[..., joint_indices, :], jnp.concatenate([linear, positions[..., None]], axis=-1)
        )

    def compute_checked_frames(q: ArrayLike) -> Frames:
        return compute_frames(check_q(skeleton, q))

    return compute_checked_frames


def retract(skeleton: Skeleton) -> Callable[[ArrayLike, ArrayLike], Array]:
    """Build a pure function (q, v) -> q moved by v. q is (..., nq), v is (..., nv); it is differentiable at v = 0.

    Parameters
    ----------
    skeleton
        The joints.

    Notes
    -----
    Skeleton.v_start gives the layout of v. Hinges and slides add it, balls rotate by exp(v) about the axes of their
    frame (q' = exp(v) q), free joints add the first three and rotate by the last three. `d forward(retract(q, v)) / dv`
    at zero is Pose.jacobian. Use this parametrisation for optimisation: nv numbers, no constraint, no singular
    quaternion. Limits are ignored; use Skeleton.legal for them.
    """
    kinds, is_independent = skeleton.kinds, np.array([coupling is None for coupling in skeleton.couplings])
    is_single_dof = is_independent & ((kinds == Kind.HINGE) | (kinds == Kind.SLIDE))
    is_free = kinds == Kind.FREE
    q_columns = [skeleton.q_start[is_single_dof], (skeleton.q_start[is_free][:, None] + np.arange(3)).ravel()]
    v_columns = [skeleton.v_start[is_single_dof], (skeleton.v_start[is_free][:, None] + np.arange(3)).ravel()]
    added_q_columns, added_v_columns = np.concatenate(q_columns), np.concatenate(v_columns)
    quaternion_columns, rotation_dofs = skeleton.quaternion_columns, _find_rotation_dofs(skeleton)

    @jax.jit
    def apply_displacement(q: Array, v: Array) -> Array:
        q = jnp.broadcast_to(q, (*jnp.broadcast_shapes(q.shape[:-1], v.shape[:-1]), skeleton.nq))
        q = q.at[..., added_q_columns].add(v[..., added_v_columns])
        rotated = quaternions.multiply(
            quaternions.exp(quaternions.to_vec(v[..., rotation_dofs])),
            quaternions.normalise(quaternions.to_quat(q[..., quaternion_columns])),
        )
        return q.at[..., quaternion_columns].set(quaternions.stack(rotated))

    def apply_checked_displacement(q: ArrayLike, v: ArrayLike) -> Array:
        q, v = check_q(skeleton, q), jnp.asarray(v)
        if v.shape[-1:] != (skeleton.nv,):
            raise InputError(f"v has {skeleton.nv} numbers in its last axis; got an array of shape {v.shape}")
        return apply_displacement(q, v)

    return apply_checked_displacement


def check_q(skeleton: Skeleton, q: ArrayLike) -> Array:
    """Check the size of q and convert it to floating point. Its precision is kept."""
    array = jnp.asarray(q)
    if not jnp.issubdtype(array.dtype, jnp.floating):
        array = array.astype(jnp.result_type(float))
    if array.shape[-1:] != (skeleton.nq,):
        raise InputError(f"q has {skeleton.nq} numbers in its last axis; got an array of shape {array.shape}")
    return array


# --- joints of the skeleton --------------------------------------------------------------------------------------


class _JointTable(NamedTuple):
    """Joint indices by joint kind, and constants of all joints."""

    skeleton: Skeleton
    doubling_rounds: int
    parents: Ints  # (n + 1,); joint n is the world
    hinge_joints: Ints
    slide_joints: Ints
    free_joints: Ints
    pre_transforms: Floats  # (n, 7) A
    post_transforms: Floats  # (n, 3, 4) B
    post_rotations: Floats  # (n, 4) the rotation in B


def _build_table(skeleton: Skeleton, pose: Pose | None) -> _JointTable:
    kinds, n = skeleton.kinds, len(skeleton)
    pre_transforms, post_transforms = skeleton.A.copy(), skeleton.B.copy()
    if pose is not None and pose.translations is not None:
        pre_transforms[:, :3] = np.where((kinds == Kind.FREE)[:, None], pre_transforms[:, :3], pose.translations)
    if pose is not None and pose.scales is not None:
        post_transforms = np.concatenate([pose.scales[:, :, None] * np.eye(3), np.zeros((n, 3, 1))], axis=2)
    depth = max((len(skeleton.list_path(joint)) for joint in range(n)), default=0)
    return _JointTable(
        skeleton=skeleton,
        doubling_rounds=max(depth - 1, 0).bit_length(),
        parents=np.append(np.where(skeleton.parents < 0, n, skeleton.parents), n).astype(np.int64),
        hinge_joints=np.flatnonzero(kinds == Kind.HINGE),
        slide_joints=np.flatnonzero(kinds == Kind.SLIDE),
        free_joints=np.flatnonzero(kinds == Kind.FREE),
        pre_transforms=pre_transforms,
        post_transforms=post_transforms,
        post_rotations=rotations.from_matrix(rotation_part(post_transforms[:, :, :3])),
    )


def _find_rotation_dofs(skeleton: Skeleton) -> Ints:
    """Find the columns (b, 3) of rotations in v. They belong to ball and free joints."""
    ball_joints = np.flatnonzero(skeleton.kinds >= Kind.BALL)
    dof_starts = skeleton.v_start[ball_joints] + np.where(skeleton.kinds[ball_joints] == Kind.FREE, 3, 0)
    return dof_starts[:, None] + np.arange(3)


def _place_joints(table: _JointTable, q: Array) -> tuple[Array, Array, Array]:
    """Compute linear parts, positions and rotations of all joints.

    Their shapes are (..., n, 3, 3), (..., n, 3) and (..., n, 4).

    Pointer doubling (Hillis and Steele, CACM 29(12), 1986): every round joins each joint with its current
    ancestor, so a tree of depth d takes log2 d rounds for any shape.
    """
    motion_rotations, motion_translations = _compute_motions(table, q)
    n, dtype = len(table.pre_transforms), q.dtype
    pre_transforms, post_transforms = (
        jnp.asarray(table.pre_transforms, dtype),
        jnp.asarray(table.post_transforms, dtype),
    )
    frame_rotations = quaternions.to_quat(pre_transforms[:, 3:])
    world_rotations = quaternions.multiply(frame_rotations, quaternions.to_quat(motion_rotations))
    linear = quaternions.to_matrix(world_rotations)
    positions = (
        pre_transforms[:, :3]
        + quaternions.stack(quaternions.rotate(frame_rotations, quaternions.to_vec(motion_translations)))
        + _apply_linear(linear, post_transforms[:, :, 3])
    )
    linear = linear @ post_transforms[:, :, :3]
    world_rotations = quaternions.stack(
        quaternions.multiply(world_rotations, quaternions.to_quat(jnp.asarray(table.post_rotations, dtype)))
    )
    world = (jnp.eye(3, dtype=dtype), jnp.zeros(3, dtype), jnp.array([1.0, 0.0, 0.0, 0.0], dtype))
    batch_shape = q.shape[:-1]
    linear, positions, world_rotations = (  # joints first, then the batch, for indexing; the last joint is the world
        jnp.concatenate(
            [
                jnp.moveaxis(array, len(batch_shape), 0),
                jnp.broadcast_to(world_array, (1, *batch_shape, *world_array.shape)),
            ]
        )
        for array, world_array in zip((linear, positions, world_rotations), world, strict=True)
    )
    parents = table.parents
    for _ in range(table.doubling_rounds):
        ancestor_rotations = quaternions.to_quat(world_rotations[parents])
        world_rotations = quaternions.stack(
            quaternions.multiply(ancestor_rotations, quaternions.to_quat(world_rotations))
        )
        linear, positions = linear[parents] @ linear, positions[parents] + _apply_linear(linear[parents], positions)
        # without a barrier XLA computes them again in the next round
        linear, positions, world_rotations = map(jax.lax.optimization_barrier, (linear, positions, world_rotations))
        parents = parents[parents]
    linear, positions, world_rotations = (
        jnp.moveaxis(array[:n], 0, len(batch_shape)) for array in (linear, positions, world_rotations)
    )
    return linear, positions, world_rotations


def _compute_motions(table: _JointTable, q: Array) -> tuple[Array, Array]:
    """Compute the rotation and translation of every motion. They are (..., n, 4) and (..., n, 3)."""
    skeleton, dtype, batch_shape = table.skeleton, q.dtype, q.shape[:-1]
    motion_rotations = jnp.broadcast_to(jnp.array([1.0, 0.0, 0.0, 0.0], dtype), (*batch_shape, len(skeleton), 4))
    motion_translations = jnp.zeros((*batch_shape, len(skeleton), 3), dtype)

    def read_values(joints: Ints) -> tuple[Array, Array]:
        ratio, offset = jnp.asarray(skeleton.coupling_rows[joints].T, dtype)
        return (ratio * q[..., skeleton.q_start[joints]] + offset)[..., None], jnp.asarray(skeleton.axes[joints], dtype)

    if len(table.hinge_joints):
        angle, axes = read_values(table.hinge_joints)
        hinge_rotations = jnp.concatenate([jnp.cos(0.5 * angle), jnp.sin(0.5 * angle) * axes], axis=-1)
        motion_rotations = motion_rotations.at[..., table.hinge_joints, :].set(hinge_rotations)
    if len(skeleton.quaternion_columns):
        ball_joints = np.flatnonzero(skeleton.kinds >= Kind.BALL)
        unit_quaternions = quaternions.normalise(quaternions.to_quat(q[..., skeleton.quaternion_columns]))
        motion_rotations = motion_rotations.at[..., ball_joints, :].set(quaternions.stack(unit_quaternions))
    if len(table.slide_joints):
        displacements, axes = read_values(table.slide_joints)
        motion_translations = motion_translations.at[..., table.slide_joints, :].set(displacements * axes)
    if len(table.free_joints):
        motion_translations = motion_translations.at[..., table.free_joints, :].set(
            q[..., skeleton.q_start[table.free_joints][:, None] + np.arange(3)]
        )
    return motion_rotations, motion_translations


def _apply_linear(linear: Array, v: Array) -> Array:
    return (linear * v[..., None, :]).sum(axis=-1)
