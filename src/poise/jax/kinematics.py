"""Differentiable quaternions, forward kinematics, configuration steps and goal residuals in JAX."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from poise.errors import InputError, UnsupportedError
from poise.kernels.thresholds import SAME_POINT_RATIO
from poise.maths import rotations
from poise.maths.arrays import Floats, Ints
from poise.maths.rotations import rotation_part
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from poise.problem.dof_layout import AIM, BALANCE, DIRECTION, POLE, POSITION, ROTATION, TARGET_SIZES, Measure
from poise.problem.goal_fields import get_goal_point, get_pointing_axis, get_residual_weight
from poise.problem.goals import AnyGoal, Goals
from poise.problem.problem import Problem

# --- Quaternions and vectors for JAX, with finite gradients everywhere -----------------------------------------------
#
# They are tuples of arrays.
#
# Each component is an array of its own. With stacked components XLA recomputes every component of every factor for each
# component of a product, and compilation takes twenty times as long.
#
# At a singularity of a formula its argument is replaced, not its value: JAX differentiates both sides of a `where`,
# and a NaN times zero is NaN.


_SERIES_MAX_ANGLE2 = 1e-3  # squared angle [rad^2]; below it three terms of the series are exact to rounding
_OPPOSITE_SUM2 = 1e-24  # |a + b|^2 of unit vectors; below it a + b has no usable direction


class TracedVec(NamedTuple):
    """A vector of arrays."""

    x: Array
    y: Array
    z: Array


class TracedQuat(NamedTuple):
    """A rotation: a unit quaternion of arrays."""

    w: Array
    x: Array
    y: Array
    z: Array


def to_vec(array: Array) -> TracedVec:
    """Return the vectors (..., 3) of an array."""
    return TracedVec(*(array[..., i] for i in range(3)))


def to_quat(array: Array) -> TracedQuat:
    """Return the quaternions (..., 4) of an array."""
    return TracedQuat(*(array[..., i] for i in range(4)))


def stack(components: TracedVec | TracedQuat) -> Array:
    """Stack the components into one array (..., 3) or (..., 4)."""
    return jnp.stack(jnp.broadcast_arrays(*components), axis=-1)


def choose(condition: Array, a: TracedVec | TracedQuat, b: TracedVec | TracedQuat) -> tuple[Array, ...]:
    """Select the components of a where `condition` holds, else b."""
    return tuple(jnp.where(condition, p, q) for p, q in zip(a, b, strict=True))


def identity_like(x: Array) -> TracedQuat:
    """Return identity rotations of the shape of x."""
    zero = jnp.zeros_like(x)
    return TracedQuat(jnp.ones_like(x), zero, zero, zero)


def add(a: TracedVec, b: TracedVec) -> TracedVec:
    """Return a + b."""
    return TracedVec(a.x + b.x, a.y + b.y, a.z + b.z)


def sub(a: TracedVec, b: TracedVec) -> TracedVec:
    """Return a - b."""
    return TracedVec(a.x - b.x, a.y - b.y, a.z - b.z)


def scale(a: TracedVec, s: Array | float) -> TracedVec:
    """Return s times a."""
    return TracedVec(a.x * s, a.y * s, a.z * s)


def dot(a: TracedVec, b: TracedVec) -> Array:
    """Return the dot product."""
    return a.x * b.x + a.y * b.y + a.z * b.z


def cross(a: TracedVec, b: TracedVec) -> TracedVec:
    """Return a x b."""
    return TracedVec(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)


def multiply(a: TracedQuat, b: TracedQuat) -> TracedQuat:
    """Compose rotations: by b, then by a."""
    return TracedQuat(
        a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
        a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
        a.w * b.y + a.y * b.w + a.z * b.x - a.x * b.z,
        a.w * b.z + a.z * b.w + a.x * b.y - a.y * b.x,
    )


def inverse(q: TracedQuat) -> TracedQuat:
    """Return the inverse rotation."""
    return TracedQuat(q.w, -q.x, -q.y, -q.z)


def rotate(q: TracedQuat, v: TracedVec) -> TracedVec:
    """Rotate vectors by unit quaternions."""
    u = TracedVec(q.x, q.y, q.z)
    t = scale(cross(u, v), 2.0)
    return add(add(v, scale(t, q.w)), cross(u, t))


def normalise(q: TracedQuat) -> TracedQuat:
    """Scale quaternions to unit length. One of zero length becomes the identity, with gradient zero."""
    square = q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z
    is_zero = square == 0.0
    length = jnp.sqrt(jnp.where(is_zero, 1.0, square))
    return TracedQuat(*choose(is_zero, identity_like(square), TracedQuat(*(component / length for component in q))))


def exp(v: TracedVec) -> TracedQuat:
    """Return the rotation by |v| [rad] about v. It is (cos |v| / 2, sin(|v| / 2) v / |v|), a series near zero."""
    square = dot(v, v)
    is_small = square < _SERIES_MAX_ANGLE2
    angle = jnp.sqrt(jnp.where(is_small, 1.0, square))
    w = jnp.where(is_small, 1.0 - square / 8.0 + square**2 / 384.0, jnp.cos(0.5 * angle))
    k = jnp.where(is_small, 0.5 - square / 48.0 + square**2 / 3840.0, jnp.sin(0.5 * angle) / angle)
    return TracedQuat(w, k * v.x, k * v.y, k * v.z)


def to_matrix(q: TracedQuat) -> Array:
    """Convert to rotation matrices (..., 3, 3)."""
    w, x, y, z = q
    rows = [
        TracedVec(1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        TracedVec(2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        TracedVec(2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    ]
    return jnp.stack([stack(row) for row in rows], axis=-2)


def rotation_error(target: TracedQuat, q: TracedQuat) -> TracedVec:
    """Return 2 sin(angle / 2) times the axis from q to `target`."""
    difference = multiply(target, inverse(q))
    return scale(TracedVec(difference.x, difference.y, difference.z), jnp.where(difference.w < 0, -2.0, 2.0))


def direction_error(target: TracedVec, a: TracedVec) -> TracedVec:
    """Return 2 sin(angle / 2) times the axis to `target`. It is of the shortest rotation from the unit vectors a.

    2 a x (a + b) / |a + b|; any perpendicular axis, with gradient zero, where they are opposite.
    """
    bisector = add(a, target)
    square = dot(bisector, bisector)
    is_opposite = square < max(_OPPOSITE_SUM2, 16 * float(jnp.finfo(square.dtype).eps) ** 2)
    error = scale(cross(a, bisector), 2.0 / jnp.sqrt(jnp.where(is_opposite, 1.0, square)))
    return TracedVec(*choose(is_opposite, scale(_find_perpendicular(target), 2.0), error))


def unit_direction(target: TracedVec, point: TracedVec, axis: TracedVec) -> TracedVec:
    """Return the unit vector from a point to another.

    Where they are equal to rounding, return `axis`, the right limit there.
    """
    difference = sub(target, point)
    square = dot(difference, difference)
    is_same_point = square <= SAME_POINT_RATIO * (dot(target, target) + dot(point, point))
    direction = scale(difference, 1.0 / jnp.sqrt(jnp.where(is_same_point, 1.0, square)))
    return TracedVec(*choose(is_same_point, axis, direction))


def _find_perpendicular(a: TracedVec) -> TracedVec:
    """Return a unit vector perpendicular to unit vectors. It has no branches (Duff et al., JCGT 6(1), 2017)."""
    sign = jnp.where(a.z < 0, -1.0, 1.0)
    k = -1.0 / (sign + a.z)
    return TracedVec(1.0 + sign * a.x * a.x * k, sign * a.x * a.y * k, -sign * a.x)


# --- Public functions ------------------------------------------------------------------------------------------------


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
    rows = np.array([skeleton.index(name) for name in names], dtype=np.int64)
    table = _build_table(skeleton, pose)

    @jax.jit
    def compute_frames(q: Array) -> Frames:
        linear, positions, joint_rotations = _place_joints(table, q)
        linear, positions = linear[..., rows, :, :], positions[..., rows, :]
        return Frames(
            positions, joint_rotations[..., rows, :], jnp.concatenate([linear, positions[..., None]], axis=-1)
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
    added_q, added_v = np.concatenate(q_columns), np.concatenate(v_columns)
    quaternion_columns, rotation_dofs = skeleton.quaternion_columns, _find_rotation_dofs(skeleton)

    @jax.jit
    def apply_velocity(q: Array, v: Array) -> Array:
        q = jnp.broadcast_to(q, (*jnp.broadcast_shapes(q.shape[:-1], v.shape[:-1]), skeleton.nq))
        q = q.at[..., added_q].add(v[..., added_v])
        rotated = multiply(
            exp(to_vec(v[..., rotation_dofs])),
            normalise(to_quat(q[..., quaternion_columns])),
        )
        return q.at[..., quaternion_columns].set(stack(rotated))

    def apply_checked_velocity(q: ArrayLike, v: ArrayLike) -> Array:
        q, v = check_q(skeleton, q), jnp.asarray(v)
        if v.shape[-1:] != (skeleton.nv,):
            raise InputError(f"v has {skeleton.nv} numbers in its last axis; got an array of shape {v.shape}")
        return apply_velocity(q, v)

    return apply_checked_velocity


def check_q(skeleton: Skeleton, q: ArrayLike) -> Array:
    """Check the size of q and convert it to floating point. Its precision is kept."""
    array = jnp.asarray(q)
    if not jnp.issubdtype(array.dtype, jnp.floating):
        array = array.astype(jnp.result_type(float))
    if array.shape[-1:] != (skeleton.nq,):
        raise InputError(f"q has {skeleton.nq} numbers in its last axis; got an array of shape {array.shape}")
    return array


# --- rows of the skeleton ----------------------------------------------------------------------------------------


class _JointTable(NamedTuple):
    """Rows of a skeleton by joint kind, with their constants."""

    skeleton: Skeleton
    doubling_rounds: int
    parents: Ints  # (n + 1,); row n is the world
    hinge_rows: Ints
    slide_rows: Ints
    free_rows: Ints
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
    depth = max((len(skeleton.list_path(row)) for row in range(n)), default=0)
    return _JointTable(
        skeleton=skeleton,
        doubling_rounds=max(depth - 1, 0).bit_length(),
        parents=np.append(np.where(skeleton.parents < 0, n, skeleton.parents), n).astype(np.int64),
        hinge_rows=np.flatnonzero(kinds == Kind.HINGE),
        slide_rows=np.flatnonzero(kinds == Kind.SLIDE),
        free_rows=np.flatnonzero(kinds == Kind.FREE),
        pre_transforms=pre_transforms,
        post_transforms=post_transforms,
        post_rotations=rotations.from_matrix(rotation_part(post_transforms[:, :, :3])),
    )


def _find_rotation_dofs(skeleton: Skeleton) -> Ints:
    """Find the columns (b, 3) of rotations in v. They belong to ball and free joints."""
    ball_rows = np.flatnonzero(skeleton.kinds >= Kind.BALL)
    dof_starts = skeleton.v_start[ball_rows] + np.where(skeleton.kinds[ball_rows] == Kind.FREE, 3, 0)
    return dof_starts[:, None] + np.arange(3)


def _place_joints(table: _JointTable, q: Array) -> tuple[Array, Array, Array]:
    """Compute linear parts, positions and rotations of all joints.

    Their shapes are (..., n, 3, 3), (..., n, 3) and (..., n, 4).

    Pointer doubling (Hillis and Steele, CACM 29(12), 1986): every round joins each row with its current
    ancestor, so a tree of depth d takes log2 d rounds for any shape.
    """
    motion_rotations, motion_translations = _compute_motions(table, q)
    n, dtype = len(table.pre_transforms), q.dtype
    pre_transforms, post_transforms = (
        jnp.asarray(table.pre_transforms, dtype),
        jnp.asarray(table.post_transforms, dtype),
    )
    frame_rotations = to_quat(pre_transforms[:, 3:])
    world_rotations = multiply(frame_rotations, to_quat(motion_rotations))
    linear = to_matrix(world_rotations)
    positions = (
        pre_transforms[:, :3]
        + stack(rotate(frame_rotations, to_vec(motion_translations)))
        + _apply_linear(linear, post_transforms[:, :, 3])
    )
    linear = linear @ post_transforms[:, :, :3]
    world_rotations = stack(multiply(world_rotations, to_quat(jnp.asarray(table.post_rotations, dtype))))
    world = (jnp.eye(3, dtype=dtype), jnp.zeros(3, dtype), jnp.array([1.0, 0.0, 0.0, 0.0], dtype))
    batch_shape = q.shape[:-1]
    linear, positions, world_rotations = (  # joints first, then the batch, for picking rows; the last row is the world
        jnp.concatenate(
            [jnp.moveaxis(array, len(batch_shape), 0), jnp.broadcast_to(row, (1, *batch_shape, *row.shape))]
        )
        for array, row in zip((linear, positions, world_rotations), world, strict=True)
    )
    parents = table.parents
    for _ in range(table.doubling_rounds):
        ancestor_rotations = to_quat(world_rotations[parents])
        world_rotations = stack(multiply(ancestor_rotations, to_quat(world_rotations)))
        linear, positions = linear[parents] @ linear, positions[parents] + _apply_linear(linear[parents], positions)
        # else recomputed next round
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

    def read_values(rows: Ints) -> tuple[Array, Array]:
        ratio, offset = jnp.asarray(skeleton.coupling_rows[rows].T, dtype)
        return (ratio * q[..., skeleton.q_start[rows]] + offset)[..., None], jnp.asarray(skeleton.axes[rows], dtype)

    if len(table.hinge_rows):
        angle, axes = read_values(table.hinge_rows)
        hinge_rotations = jnp.concatenate([jnp.cos(0.5 * angle), jnp.sin(0.5 * angle) * axes], axis=-1)
        motion_rotations = motion_rotations.at[..., table.hinge_rows, :].set(hinge_rotations)
    if len(skeleton.quaternion_columns):
        ball_rows = np.flatnonzero(skeleton.kinds >= Kind.BALL)
        unit_quaternions = normalise(to_quat(q[..., skeleton.quaternion_columns]))
        motion_rotations = motion_rotations.at[..., ball_rows, :].set(stack(unit_quaternions))
    if len(table.slide_rows):
        displacements, axes = read_values(table.slide_rows)
        motion_translations = motion_translations.at[..., table.slide_rows, :].set(displacements * axes)
    if len(table.free_rows):
        motion_translations = motion_translations.at[..., table.free_rows, :].set(
            q[..., skeleton.q_start[table.free_rows][:, None] + np.arange(3)]
        )
    return motion_rotations, motion_translations


def _apply_linear(linear: Array, v: Array) -> Array:
    return (linear * v[..., None, :]).sum(axis=-1)


# --- Differentiable weighted residual of goals in JAX, in the engine's measure ---------------------------------------


def residual(pose: Pose, goals: Goals) -> Callable[..., Array]:
    """Build a pure residual function of q and targets.

    (q (..., nq), targets (..., W)) -> (..., 3 m): three rows for each measured term of the goals.

    Parameters
    ----------
    pose
        A single pose. Its translations and scales are used, and a Pin holds its joint at this pose.
    goals
        One or several. Their targets are the default of the function's targets, which needs goals without batch axes.

    Raises
    ------
    UnsupportedError
        For a Pole.

    Notes
    -----
    `build_targets` are rows with the numbers of all goals, world, file units (Position, Aim and LookAt 3; Orientation
    4; Place 7; Direction 3; Pin 7, or 3 if only its position is held). Quaternions and directions in them must have
    unit length. Rows of the result, times the goal's weight:

    - position: (target - position) / size, with `rig_size` about the rig's size, a power of two [file units];
    - rotation: 2 sin(angle / 2) along the axis of the remaining rotation;
    - direction: the same for the shortest rotation of the axis to the target;
    - aim: the same for the shortest rotation of the axis to the direction from the goal's point to the target; zero
      where these are one point. A LookAt is measured as an Aim; the solver chooses the joints' shares.

    Near has no rows. Gradients are finite at the goal, at opposite directions and at rotations of half a turn; at the
    last two the residual's length has a maximum and its gradient is zero.
    """
    goal_list: tuple[Any, ...] = tuple(goals) if isinstance(goals, Sequence) else (goals,)
    if pose.shape:
        raise InputError("pose must be a single pose; q may have leading axes")
    problem = Problem(pose, goal_list)
    for measure in problem.measures:
        if measure.kind in (POLE, BALANCE):
            raise UnsupportedError(
                f"poise.jax has no residual for {type(goal_list[measure.goal_index]).__name__} goals"
            )
    names = tuple(dict.fromkeys(pose.skeleton.names[measure.row] for measure in problem.measures))
    measured_terms = [
        (names.index(pose.skeleton.names[measure.row]), measure, goal, _read_axis(pose, measure, goal))
        for measure, goal in ((measure, problem.goals[measure.goal_index]) for measure in problem.measures)
    ]
    compute_frames, rig_size = forward(pose.skeleton, names, pose=pose), problem.plan.kernel_unit_in_base
    target_width = sum(TARGET_SIZES[measure.kind] for measure in problem.measures)
    default_targets = None if any(goal.shape for goal in goal_list) else problem.build_targets(goal_list, 1)[0]

    @jax.jit
    def compute_rows(q: Array, targets: Array) -> Array:
        frames = compute_frames(q)
        batch_shape = jnp.broadcast_shapes(q.shape[:-1], targets.shape[:-1])
        rows = [
            _compute_goal_rows(frames, i, measure, goal, axis, targets, rig_size)
            for i, measure, goal, axis in measured_terms
        ]
        empty_rows = jnp.zeros((*batch_shape, 0), q.dtype)
        return jnp.concatenate(
            [empty_rows, *(jnp.broadcast_to(goal_rows, (*batch_shape, 3)) for goal_rows in rows)], axis=-1
        )

    def compute_residual(q: ArrayLike, targets: ArrayLike | None = None) -> Array:
        if targets is None and default_targets is None:
            raise InputError("give targets: those of the goals are a batch")
        checked_q = check_q(pose.skeleton, q)
        target_row = jnp.asarray(default_targets if targets is None else targets, checked_q.dtype)
        if target_row.shape[-1:] != (target_width,):
            message = (
                f"targets have {target_width} numbers in their last axis; got an array of shape {target_row.shape}"
            )
            raise InputError(message)
        return compute_rows(checked_q, target_row)

    return compute_residual


def _read_axis(pose: Pose, measure: Measure, goal: AnyGoal) -> Floats:
    """Return the local axis (3,) of a direction or aim. Zero for other measures."""
    return np.array(get_pointing_axis(pose.skeleton, goal)) if measure.kind in (DIRECTION, AIM) else np.zeros(3)


def _compute_goal_rows(
    frames: Frames,
    frame_index: int,
    measure: Measure,
    goal: AnyGoal,
    local_axis: Floats,
    targets: Array,
    rig_size: float,
) -> Array:
    """Compute the weighted residual (..., 3) of one measure. It belongs to joint i of the frames."""
    target = targets[..., measure.target_column : measure.target_column + TARGET_SIZES[measure.kind]]
    affine, rotation = frames.affine[..., frame_index, :, :], to_quat(frames.rotations[..., frame_index, :])
    point = to_vec(affine[..., :3] @ jnp.asarray(get_goal_point(goal), affine.dtype) + affine[..., 3])
    if measure.kind == POSITION:
        weighted_error = scale(sub(to_vec(target), point), 1.0 / rig_size)
    elif measure.kind == ROTATION:
        weighted_error = rotation_error(to_quat(target), rotation)
    else:
        axis = rotate(rotation, to_vec(jnp.asarray(local_axis, affine.dtype)))
        direction = to_vec(target)
        weighted_error = direction_error(
            unit_direction(direction, point, axis) if measure.kind == AIM else direction, axis
        )
    return stack(weighted_error) * get_residual_weight(goal, measure.kind)
