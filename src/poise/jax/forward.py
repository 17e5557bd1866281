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
from poise.jax import turns
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
    function
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
    rows = np.array([skeleton.index(name) for name in names], dtype=np.int64)
    table = _table(skeleton, pose)

    @jax.jit
    def place(q: Array) -> Frames:
        linear, offsets, turned = _world(table, q)
        linear, offsets = linear[..., rows, :, :], offsets[..., rows, :]
        return Frames(offsets, turned[..., rows, :], jnp.concatenate([linear, offsets[..., None]], axis=-1))

    def checked(q: ArrayLike) -> Frames:
        return place(as_q(skeleton, q))

    return checked


def retract(skeleton: Skeleton) -> Callable[[ArrayLike, ArrayLike], Array]:
    """Build a pure function (q, v) -> q moved by v. q is (..., nq), v is (..., nv); it is differentiable at v = 0.

    Parameters
    ----------
    skeleton
        The joints.

    Notes ----- Skeleton.v_start gives the layout of v. Hinges and slides add it, balls rotate by exp(v) about the axes
    of their frame (q' = exp(v) q), free joints add the first three and rotate by the last three. `d forward(retract(q,
    v)) / dv` at zero is Pose.jacobian. Use this parametrisation for optimisation: nv numbers, no constraint, no
    singular quaternion. Limits are ignored; use Skeleton.legal for them.
    """
    kinds, own = skeleton.kinds, np.array([coupling is None for coupling in skeleton.couplings])
    one = own & ((kinds == Kind.HINGE) | (kinds == Kind.SLIDE))
    free = kinds == Kind.FREE
    flat_q = [skeleton.q_start[one], (skeleton.q_start[free][:, None] + np.arange(3)).ravel()]
    flat_v = [skeleton.v_start[one], (skeleton.v_start[free][:, None] + np.arange(3)).ravel()]
    added_q, added_v = np.concatenate(flat_q), np.concatenate(flat_v)
    turn_q, turn_v = skeleton.turn_columns, _turn_dofs(skeleton)

    @jax.jit
    def moved(q: Array, v: Array) -> Array:
        q = jnp.broadcast_to(q, (*jnp.broadcast_shapes(q.shape[:-1], v.shape[:-1]), skeleton.nq))
        q = q.at[..., added_q].add(v[..., added_v])
        turned = turns.multiply(turns.exp(turns.vec(v[..., turn_v])), turns.normalised(turns.quat(q[..., turn_q])))
        return q.at[..., turn_q].set(turns.stacked(turned))

    def checked(q: ArrayLike, v: ArrayLike) -> Array:
        q, v = as_q(skeleton, q), jnp.asarray(v)
        if v.shape[-1:] != (skeleton.nv,):
            raise InputError(f"v has {skeleton.nv} numbers in its last axis; got an array of shape {v.shape}")
        return moved(q, v)

    return checked


def as_q(skeleton: Skeleton, q: ArrayLike) -> Array:
    """Check the size of q and convert it to floating point. Its precision is kept."""
    array = jnp.asarray(q)
    if not jnp.issubdtype(array.dtype, jnp.floating):
        array = array.astype(jnp.result_type(float))
    if array.shape[-1:] != (skeleton.nq,):
        raise InputError(f"q has {skeleton.nq} numbers in its last axis; got an array of shape {array.shape}")
    return array


# --- rows of the skeleton ----------------------------------------------------------------------------------------


class _Table(NamedTuple):
    """Rows of a skeleton by joint kind, with their constants."""

    skeleton: Skeleton
    rounds: int
    parents: Ints  # (n + 1,); row n is the world
    hinges: Ints
    slides: Ints
    moves: Ints
    before: Floats  # (n, 7) A
    after: Floats  # (n, 3, 4) B
    after_turns: Floats  # (n, 4) the rotation in B


def _table(skeleton: Skeleton, pose: Pose | None) -> _Table:
    kinds, n = skeleton.kinds, len(skeleton)
    before, after = skeleton.A.copy(), skeleton.B.copy()
    if pose is not None and pose.translations is not None:
        before[:, :3] = np.where((kinds == Kind.FREE)[:, None], before[:, :3], pose.translations)
    if pose is not None and pose.scales is not None:
        after = np.concatenate([pose.scales[:, :, None] * np.eye(3), np.zeros((n, 3, 1))], axis=2)
    depth = max((len(skeleton.way(row)) for row in range(n)), default=0)
    return _Table(
        skeleton=skeleton,
        rounds=max(depth - 1, 0).bit_length(),
        parents=np.append(np.where(skeleton.parents < 0, n, skeleton.parents), n).astype(np.int64),
        hinges=np.flatnonzero(kinds == Kind.HINGE),
        slides=np.flatnonzero(kinds == Kind.SLIDE),
        moves=np.flatnonzero(kinds == Kind.FREE),
        before=before,
        after=after,
        after_turns=rotations.from_matrix(rotation_part(after[:, :, :3])),
    )


def _turn_dofs(skeleton: Skeleton) -> Ints:
    """Find the columns (b, 3) of rotations in v. They belong to ball and free joints."""
    balls = np.flatnonzero(skeleton.kinds >= Kind.BALL)
    starts = skeleton.v_start[balls] + np.where(skeleton.kinds[balls] == Kind.FREE, 3, 0)
    return starts[:, None] + np.arange(3)


def _world(table: _Table, q: Array) -> tuple[Array, Array, Array]:
    """Compute linear parts, positions and rotations of all joints.

    Their shapes are (..., n, 3, 3), (..., n, 3) and (..., n, 4).

    Pointer doubling (Hillis and Steele, CACM 29(12), 1986): every round joins each row with its current
    ancestor, so a tree of depth d takes log2 d rounds for any shape.
    """
    turned, slid = _motions(table, q)
    n, dtype = len(table.before), q.dtype
    before, after = jnp.asarray(table.before, dtype), jnp.asarray(table.after, dtype)
    frame = turns.quat(before[:, 3:])
    spin = turns.multiply(frame, turns.quat(turned))
    linear = turns.as_matrix(spin)
    offsets = before[:, :3] + turns.stacked(turns.rotate(frame, turns.vec(slid))) + _apply(linear, after[:, :, 3])
    linear = linear @ after[:, :, :3]
    spin = turns.stacked(turns.multiply(spin, turns.quat(jnp.asarray(table.after_turns, dtype))))
    world = (jnp.eye(3, dtype=dtype), jnp.zeros(3, dtype), jnp.array([1.0, 0.0, 0.0, 0.0], dtype))
    batch = q.shape[:-1]
    linear, offsets, spin = (  # joints first, then the batch, for picking rows; the last row is the world
        jnp.concatenate([jnp.moveaxis(part, len(batch), 0), jnp.broadcast_to(row, (1, *batch, *row.shape))])
        for part, row in zip((linear, offsets, spin), world, strict=True)
    )
    parents = table.parents
    for _ in range(table.rounds):
        above = turns.quat(spin[parents])
        spin = turns.stacked(turns.multiply(above, turns.quat(spin)))
        linear, offsets = linear[parents] @ linear, offsets[parents] + _apply(linear[parents], offsets)
        linear, offsets, spin = map(jax.lax.optimization_barrier, (linear, offsets, spin))  # else recomputed next round
        parents = parents[parents]
    linear, offsets, spin = (jnp.moveaxis(part[:n], 0, len(batch)) for part in (linear, offsets, spin))
    return linear, offsets, spin


def _motions(table: _Table, q: Array) -> tuple[Array, Array]:
    """Compute the rotation and translation of every motion. They are (..., n, 4) and (..., n, 3)."""
    s, dtype, batch = table.skeleton, q.dtype, q.shape[:-1]
    turned = jnp.broadcast_to(jnp.array([1.0, 0.0, 0.0, 0.0], dtype), (*batch, len(s), 4))
    slid = jnp.zeros((*batch, len(s), 3), dtype)

    def values(rows: Ints) -> tuple[Array, Array]:
        ratio, offset = jnp.asarray(s.coupling_rows[rows].T, dtype)
        return (ratio * q[..., s.q_start[rows]] + offset)[..., None], jnp.asarray(s.axes[rows], dtype)

    if len(table.hinges):
        angle, axes = values(table.hinges)
        about = jnp.concatenate([jnp.cos(0.5 * angle), jnp.sin(0.5 * angle) * axes], axis=-1)
        turned = turned.at[..., table.hinges, :].set(about)
    if len(s.turn_columns):
        balls = np.flatnonzero(s.kinds >= Kind.BALL)
        unit = turns.normalised(turns.quat(q[..., s.turn_columns]))
        turned = turned.at[..., balls, :].set(turns.stacked(unit))
    if len(table.slides):
        along, axes = values(table.slides)
        slid = slid.at[..., table.slides, :].set(along * axes)
    if len(table.moves):
        slid = slid.at[..., table.moves, :].set(q[..., s.q_start[table.moves][:, None] + np.arange(3)])
    return turned, slid


def _apply(linear: Array, v: Array) -> Array:
    return (linear * v[..., None, :]).sum(axis=-1)
