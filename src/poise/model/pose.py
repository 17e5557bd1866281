"""Poses: configurations of a skeleton, single or batched.

Leading axes of q are the batch. A pose computes its local and world transforms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from poise.calls import late_binding
from poise.calls.argument_checks import check_bool, check_type
from poise.calls.old_names import make_alias
from poise.errors import InputError
from poise.formatting import format_fields
from poise.kernels.thresholds import SIMILARITY_TOLERANCE
from poise.maths import euler, rotations
from poise.maths.arrays import Floats, abbreviate, broadcast_shapes, check_finite, prepare_for_kernel
from poise.model import kinematics, numpy_kinematics
from poise.model.joint_tree import compute_root_motion, compute_root_translation, insert_root_q, remove_root_q
from poise.model.joints import Kind
from poise.model.numpy_kinematics import LocalTransforms, normalise_rotations
from poise.model.skeleton import Skeleton
from poise.runtime.immutable_values import FrozenValue
from poise.runtime.result_cache import quick_property

# --- Compatibility of poses and skeletons ----------------------------------------------------------------------------


def check_same_skeleton(expected: Skeleton, actual: Skeleton, label: str) -> None:
    """Raise InputError for a pose of a skeleton with other joints.

    Joints are compared by name, kind and parent; limits and proportions may differ, and one of the two may have the
    free root of `Skeleton.with_free_root`.

    Parameters
    ----------
    expected
        The expected skeleton.
    actual
        The skeleton of the pose.
    label
        Name of the pose, for the message.
    """
    check_type(expected, Skeleton, "the expected skeleton")
    if actual is expected:
        return
    expected, actual = expected.without_free_root, actual.without_free_root
    if _has_same_joints(expected, actual):
        return
    difference = _describe_difference(expected, actual)
    if not difference:
        return
    message = f"{label} is a pose of another skeleton: {difference}"
    raise InputError(message)


def convert_configuration(
    source: Skeleton, target: Skeleton, q: Floats, translations: Floats | None
) -> tuple[Floats, Floats | None]:
    """Convert q and translations between twin skeletons. They are (..., nq) and (..., n, 3).

    The pose is on `source`; `target` differs in its free root only. Freeing a ball moves its translation into q,
    binding it moves it back.
    """
    if source.freed == target.freed:
        return q, translations
    if source.freed is not None:
        q, translations = _remove_root(source, q, translations)
    return (q, translations) if target.freed is None else (_add_root(target, q, translations), translations)


def _remove_root(skeleton: Skeleton, q: Floats, translations: Floats | None) -> tuple[Floats, Floats | None]:
    assert skeleton.freed is not None
    row, kind = skeleton.freed
    q, motion = remove_root_q(q, int(skeleton.q_start[row]), kind, skeleton.names[row])
    if kind != Kind.BALL or (translations is None and not motion.any()):
        return q, translations
    local_translations = skeleton.A[:, :3] if translations is None else translations
    local_translations = np.broadcast_to(local_translations, (*q.shape[:-1], len(skeleton), 3)).copy()
    local_translations[..., row, :] = compute_root_translation(skeleton.A[row], motion)
    return q, local_translations


def _add_root(skeleton: Skeleton, q: Floats, translations: Floats | None) -> Floats:
    assert skeleton.freed is not None
    row, kind = skeleton.freed
    start = int(skeleton.q_start[row])
    q = insert_root_q(q, start, kind)
    if translations is not None:
        q[..., start : start + 3] = compute_root_motion(skeleton.A[row], translations[..., row, :])
    return q


def _has_same_joints(expected: Skeleton, actual: Skeleton) -> bool:
    """Return whether joints are the same, number by number. Comparing bytes takes a tenth of the time."""
    arrays = [(getattr(expected, name), getattr(actual, name)) for name in ("kinds", "parents", "q_start")]
    return expected.names == actual.names and all([a.tobytes() == b.tobytes() for a, b in arrays])  # noqa: C419


def _describe_difference(expected: Skeleton, actual: Skeleton) -> str:
    """Describe the first difference; empty where there is none."""
    if len(expected) != len(actual):
        return f"it has {len(actual)} joints, not {len(expected)}"
    for expected_text, actual_text in zip(expected.names, actual.names, strict=True):
        if expected_text != actual_text:
            return f"it has a joint {actual_text!r} where this one has {expected_text!r}"
    for row in np.flatnonzero(expected.kinds != actual.kinds):
        actual_text, expected_text = (Kind(skeleton.kinds[row]).name.lower() for skeleton in (actual, expected))
        return f"its {expected.names[row]!r} is a {actual_text} joint, not a {expected_text} one"
    for row in np.flatnonzero(expected.parents != actual.parents):
        actual_text, expected_text = (
            "nothing" if s.parents[row] < 0 else repr(s.names[s.parents[row]]) for s in (actual, expected)
        )
        return f"its {expected.names[row]!r} hangs on {actual_text}, not on {expected_text}"
    if not np.array_equal(expected.q_start, actual.q_start):
        return "its coupled joints differ"
    return ""


# --- Poses -----------------------------------------------------------------------------------------------------------


_new_object, _set_attribute = object.__new__, object.__setattr__  # poses are frozen and written through these
_ORIGIN = (0.0, 0.0, 0.0)
_ORIGIN_ROW = np.zeros((1, 3))
# rotations blended at once: their intermediate arrays stay in a processor's cache
_MAX_BLOCK_ROTATIONS = 8192


class _SinglePoseError(InputError, TypeError):
    """Error for a single pose used as a batch. Python expects a TypeError there."""


class _NoSuchPoseError(InputError, IndexError):
    """Error for an index outside a batch. Python's loops end with an IndexError."""


@dataclass(frozen=True, eq=False)
class Transforms(FrozenValue):
    """Affine transforms of a skeleton's joints, with leading batch axes.

    `transforms["hand.L"]` selects one joint: its arrays have no joint axis.

    Parameters
    ----------
    skeleton
        The joints.
    affine
        (..., n, 3, 4) linear part and translation of each joint [file units].
    """

    __repr__ = format_fields

    skeleton: Skeleton
    affine: Floats  # (..., n, 3, 4), or (..., 3, 4) for one joint

    def __post_init__(self) -> None:
        check_type(self.skeleton, Skeleton, "the skeleton of transforms")
        if type(self.affine) is not np.ndarray or self.affine.shape[-2:] != (3, 4) or self.affine.dtype != np.float64:
            affine = check_finite(self.affine, "affine", last_axis_length=4)
            if affine.shape[-2:] != (3, 4):
                raise InputError(f"affine transforms have the shape (..., 3, 4), not {affine.shape}")
            object.__setattr__(self, "affine", affine)

    def __getitem__(self, joint: str) -> Transforms:
        row, affine = self.skeleton.index(joint), self.affine
        return _make_transforms(self.skeleton, affine[row] if affine.ndim == 3 else affine[..., row, :, :])  # noqa: PLR2004  (of one pose)

    @property
    def positions(self) -> Floats:
        """(..., n, 3) joint positions [file units]."""
        return self.affine[..., 3]

    @cached_property
    def rotations(self) -> Floats:
        """(..., n, 4) nearest rotations w x y z, w >= 0. Scale and mirroring are removed."""
        maps = prepare_for_kernel(self.affine.reshape(math.prod(self.affine.shape[:-2]), 12))
        quaternions = _compute_rotations(maps, math.prod(self.affine.shape[:-3])).reshape(*self.affine.shape[:-2], 4)
        quaternions.setflags(write=False)
        return quaternions

    @cached_property
    def matrices(self) -> Floats:
        """(..., n, 4, 4) matrices for column vectors."""
        last_row = np.broadcast_to([0.0, 0.0, 0.0, 1.0], (*self.affine.shape[:-2], 1, 4))
        matrices = np.concatenate([self.affine, last_row], axis=-2)
        matrices.setflags(write=False)
        return matrices


def _compute_rotations(maps: Floats, pose_count: int) -> Floats:
    return kinematics.compute_rotations(maps, SIMILARITY_TOLERANCE, pose_count=pose_count)


def _make_transforms(skeleton: Skeleton, affine: Floats) -> Transforms:
    """Make transforms of valid arrays, without checks."""
    transforms = _new_object(Transforms)
    _set_attribute(transforms, "skeleton", skeleton)
    _set_attribute(transforms, "affine", affine)
    return transforms


@dataclass(frozen=True, eq=False)
class Pose(FrozenValue):
    """A configuration of a skeleton.

    Parameters
    ----------
    skeleton
        The joints.
    q
        (..., nq) the numbers of all joints, each joint's at Skeleton.q_start. Leading axes are a batch.
    translations
        (..., n, 3) [file units] replaces the translation of A, for clips that animate it; else None.
    scales
        (..., n, 3) replaces B by this scale, for clips that animate it; else None.

    Notes
    -----
    Forward kinematics and saving use translations and scales; solvers never change them.
    """

    skeleton: Skeleton
    q: Floats
    translations: Floats | None = None
    scales: Floats | None = None

    def __init__(
        self, skeleton: Skeleton, q: ArrayLike, translations: ArrayLike | None = None, scales: ArrayLike | None = None
    ) -> None:
        if type(skeleton) is not Skeleton:
            check_type(skeleton, Skeleton, "the skeleton of a pose")
        checked_q = normalise_rotations(skeleton, check_finite(q, "q", last_axis_length=skeleton.nq).copy())
        checked_q.setflags(write=False)
        _set_attribute(self, "skeleton", skeleton)
        _set_attribute(self, "q", checked_q)
        if translations is not None or scales is not None:  # None is the default of the class
            shape = (*checked_q.shape[:-1], len(skeleton), 3)
            for name, value in (("translations", translations), ("scales", scales)):
                if value is not None:
                    _set_attribute(self, name, _broadcast_to_joints(value, name, shape))

    @classmethod
    def make_unchecked(cls, skeleton: Skeleton, q: Floats, translations: Floats | None, scales: Floats | None) -> Pose:
        """Make a pose of valid arrays without checking or copying them.

        The caller must not write to them afterwards.
        """
        pose = _new_object(cls)
        q.setflags(write=False)
        _set_attribute(pose, "skeleton", skeleton)
        _set_attribute(pose, "q", q)
        if translations is not None:
            translations.setflags(write=False)
            _set_attribute(pose, "translations", translations)
        if scales is not None:
            scales.setflags(write=False)
            _set_attribute(pose, "scales", scales)
        return pose

    unchecked: ClassVar[Any] = make_alias("Pose.unchecked", make_unchecked)

    @property
    def shape(self) -> tuple[int, ...]:
        """Batch axes; () for a single pose."""
        return self.q.shape[:-1]

    @property
    def flat_q(self) -> Floats:
        """(k, nq) with the batch axes flattened to one."""
        return self.q[None] if self.q.ndim == 1 else self.q.reshape(math.prod(self.shape), self.skeleton.nq)

    def __len__(self) -> int:
        if not self.shape:
            message = "a single pose has no length; a batch of poses has"
            raise _SinglePoseError(message)
        return self.shape[0]

    def __getitem__(self, index: Any) -> Pose:
        if isinstance(index, str) or not self.shape:
            by_joint = f"the transform of a joint is pose.world[{abbreviate(index)}]"
            raise _SinglePoseError(
                by_joint if isinstance(index, str) else "a single pose cannot be indexed; a batch can"
            )
        try:
            q = self.q[index].copy()
        except (IndexError, TypeError, ValueError) as error:
            raise _NoSuchPoseError(f"a batch of poses of shape {self.shape} has none at {abbreviate(index)}") from error
        if q.shape[-1:] != (self.skeleton.nq,):
            check_finite(q, "q", last_axis_length=self.skeleton.nq)  # it raises the error
        local_arrays = [None if value is None else value[index].copy() for value in (self.translations, self.scales)]
        return Pose.make_unchecked(self.skeleton, q, *local_arrays)

    def __repr__(self) -> str:
        batch = f", batch {self.shape}" if self.shape else ""
        return f"Pose({self.skeleton!r}{batch})"

    _repr_html_ = late_binding.represent_as_html

    @cached_property
    def _local_arrays(self) -> tuple[Floats, Floats]:
        """Local positions and rotations (k, n, 3|4), batch flattened. They are those of A . J."""
        skeleton = self.skeleton
        q = prepare_for_kernel(self.flat_q)
        positions, quaternions = np.zeros((len(q), len(skeleton), 3)), np.zeros((len(q), len(skeleton), 4))
        numpy_kinematics.select_backend(len(q)).compute_local_transforms(
            skeleton.kinds,
            skeleton.axes,
            skeleton.A,
            skeleton.q_start,
            skeleton.coupling_rows,
            q,
            positions,
            quaternions,
        )
        if self.translations is not None:
            translations = self.translations.reshape(-1, len(skeleton), 3)
            kinds = skeleton.kinds[:, None]
            joint_positions = np.where(kinds == Kind.SLIDE, positions - skeleton.A[:, :3] + translations, translations)
            positions = np.where(kinds == Kind.FREE, positions, joint_positions)  # a free joint's translation is in q
        positions.setflags(write=False)
        quaternions.setflags(write=False)
        return positions, quaternions

    @property
    def _local_offsets(self) -> kinematics.LocalOffsets:
        """The pose's translations and scales (k, n, 3), batch flattened."""
        return kinematics.flatten_local_offsets(self.translations, self.scales)

    @quick_property
    def world(self) -> Transforms:
        """World transforms of every joint [file units].

            world_i = world_parent . A_i . J_i(q_i) . B_i

        A pose gives the same bits in any batch. For one joint of a large batch use `world_of`.
        """
        skeleton = self.skeleton
        if self.q.ndim == 1 and self.translations is None and self.scales is None:
            affine = kinematics.compute_pose_maps(skeleton, None, self.q)
        else:
            affine = kinematics.compute_world_maps(skeleton, None, prepare_for_kernel(self.flat_q), self._local_offsets)
            affine = affine.reshape(*self.shape, len(skeleton), 3, 4)
        affine.setflags(write=False)
        return _make_transforms(skeleton, affine)

    def world_of(self, joint: str) -> Transforms:
        """Return `world[joint]` with the same bits, for large batches. Only the joints above it are computed."""
        skeleton = self.skeleton
        row = skeleton.index(joint)
        if self.q.ndim == 1 and self.translations is None and self.scales is None:
            affine = kinematics.compute_pose_maps(skeleton, row, self.q)
        else:
            affine = kinematics.compute_world_maps(skeleton, row, prepare_for_kernel(self.flat_q), self._local_offsets)
            affine = affine.reshape(*self.shape, 3, 4)
        affine.setflags(write=False)
        return _make_transforms(skeleton, affine)

    def jacobian(self, joint: str, point: ArrayLike = _ORIGIN) -> Floats:
        """Compute the geometric Jacobian of a joint, in world axes.

        Parameters
        ----------
        joint
            Name of the joint.
        point
            (3,) or with the pose's batch axes (..., 3): the point of the velocity, in the joint's own frame [file
            units].

        Returns
        -------
        Floats
            (..., 6, nv). Rows 0 to 2: velocity of the point. Rows 3 to 5: angular velocity of the joint, that of
            `world[joint].rotations`. Columns: one for each degree of freedom, `skeleton.v_slice(name)`.

        Raises
        ------
        UnsupportedError
            Where a joint turns below a scale of zero.

        Notes
        -----
        A column is a velocity per unit of

        - a hinge or slide: its number in q [rad, file units]; coupled joints count in their leader's column;
        - a ball: d in q <- exp(d) q, a small rotation [rad] about the axes of the frame after A, in which it turns;
        - a free joint: a translation along the axes of that frame [file units], then a rotation like a ball's.

        Joints that are not above `joint` have columns of zeros. Scale counts, mirrored or not. Where it is not uniform,
        joints that turn below it are sheared: their rotation is the one nearest to their linear part, and the angular
        velocity is that of this rotation. Scales within 1e-3 of uniform count as uniform there.
        """
        skeleton = self.skeleton
        row, is_single = skeleton.index(joint), self.q.ndim == 1 and self.translations is None and self.scales is None
        if is_single and point is _ORIGIN:
            return kinematics.compute_pose_jacobian(skeleton, row, self.q, _ORIGIN_ROW)
        points, k = check_finite(point, "point", last_axis_length=3), math.prod(self.shape)
        if is_single and points.ndim == 1:
            return kinematics.compute_pose_jacobian(skeleton, row, self.q, points.copy().reshape(1, 3))
        try:
            point_rows = np.broadcast_to(points, (*self.shape, 3)) if points.ndim > 1 else points
        except ValueError as error:
            message = f"point has the batch shape {points.shape[:-1]}, which does not go with the pose's, {self.shape}"
            raise InputError(message) from error
        points = prepare_for_kernel(point_rows.reshape(k if points.ndim > 1 else 1, 3))
        jacobians = kinematics.compute_jacobians(
            skeleton, row, prepare_for_kernel(self.flat_q), self._local_offsets, points
        )
        return jacobians.reshape(*self.shape, 6, skeleton.nv)

    @cached_property
    def local(self) -> Transforms:
        """Parent-relative transforms of every joint, A . J . B."""
        positions, quaternions = self._local_arrays
        linear = rotations.as_matrix(quaternions) @ self.b_affine[..., :3]
        affine = np.concatenate([linear, positions[..., None]], axis=-1)
        affine = affine.reshape(*self.shape, len(self.skeleton), 3, 4)
        affine.setflags(write=False)
        return _make_transforms(self.skeleton, affine)

    @property
    def local_positions(self) -> Floats:
        """(..., n, 3) parent-relative translations, as stored in files."""
        return self._local_arrays[0].reshape(*self.shape, len(self.skeleton), 3)

    @property
    def local_rotations(self) -> Floats:
        """(..., n, 4) parent-relative rotations w x y z, as in files. They contain no scale."""
        return self._local_arrays[1].reshape(*self.shape, len(self.skeleton), 4)

    def euler(self, order: str = "XYZ", *, degrees: bool = False) -> Floats:
        """Compute Euler angles (..., n, 3) of the parent-relative rotations.

        Parameters
        ----------
        order
            The axes in the order of the product: "XYZ" is R_x(a) R_y(b) R_z(c), rotations about the joint's own axes
            one after the other. The angles have this order, the middle one from -90 to 90 degrees.
        degrees
            Whether the angles are in degrees; else in radians.

        Raises
        ------
        InputError
            For an unknown order.

        Notes
        -----
        Where the middle angle is +-90 degrees (gimbal lock) only the sum or the difference of the other two counts.
        """
        angles = euler.from_quaternion(self.local_rotations, order)
        return np.degrees(angles) if check_bool(degrees, "degrees") else angles

    @property
    def b_affine(self) -> Floats:
        """(1|k, n, 3, 4) transforms after each joint's motion. There is one per pose where scales are given."""
        if self.scales is None:
            return self.skeleton.B[None].copy()  # writable like the other, so one compiled kernel serves both
        affine = np.zeros((*self.scales.reshape(-1, len(self.skeleton), 3).shape, 4))
        affine[..., [0, 1, 2], [0, 1, 2]] = self.scales.reshape(-1, len(self.skeleton), 3)
        return affine

    def on(self, skeleton: Skeleton) -> Pose:
        """Return the same pose on a compatible skeleton.

        Limits and proportions may differ, and one of the two may have a free root.

        Parameters
        ----------
        skeleton
            The joints. The translation of a free root (`Skeleton.with_free_root`) becomes `translations` of a ball
            root, and vice versa.

        Raises
        ------
        InputError
            For a skeleton with other joints, and for the moved base of a robot that is fixed on the other skeleton.
        """
        if skeleton is self.skeleton:
            return self
        check_type(skeleton, Skeleton, "the new skeleton of a pose")
        check_same_skeleton(skeleton, self.skeleton, "the converted pose")
        q, translations = convert_configuration(self.skeleton, skeleton, self.q, self.translations)
        return Pose(skeleton, q, translations, self.scales)

    def with_q(self, q: Floats) -> Pose:
        """Return this pose with another q (..., nq). Translations and scales are kept."""
        return Pose(self.skeleton, q, self.translations, self.scales)

    def replace(self, values: Mapping[str, ArrayLike]) -> Pose:
        """Replace the values of some joints.

        Parameters
        ----------
        values
            By joint name: a number for a hinge [rad] or slide [file units], a quaternion w x y z relative to rest for a
            ball, seven numbers x y z w x y z for a free joint.
        """
        if not isinstance(values, Mapping):
            message = f"replace() takes values by joint name, such as {{'elbow': 0.5}}, not {abbreviate(values)}"
            raise InputError(message)
        q = self.q.copy()
        for name, value in values.items():
            joint = self.skeleton[name]
            if joint.coupling or joint.kind == Kind.FIXED:
                reason = f"follows {self.skeleton.names[joint.coupling.leader]!r}" if joint.coupling else "is fixed"
                message = f"joint {name!r} {reason}; it has no numbers of its own in q"
                raise InputError(message)
            joint_values = check_finite(value, f"the value of {name!r}")
            if joint.kind in (Kind.HINGE, Kind.SLIDE):
                joint_values = joint_values[..., None]
            elif joint_values.shape[-1:] == (joint.kind.nq,):
                quaternions = rotations.normalise(joint_values[..., -4:])
                joint_values = np.concatenate([joint_values[..., :-4], quaternions], axis=-1)
            else:
                message = f"the value of {name!r} ({joint.kind.name.lower()}) needs {joint.kind.nq} numbers"
                raise InputError(message)
            try:
                q[..., self.skeleton.q_slice(name)] = joint_values
            except ValueError as error:
                message = (
                    f"the value of {name!r} ({joint.kind.name.lower()}) has the batch shape {joint_values.shape[:-1]}, "
                    f"which does not go with the pose's, {self.shape}"
                )
                raise InputError(message) from error
        return self.with_q(q)

    def blend(self, other: Pose, weight: ArrayLike) -> Pose:
        """Blend towards another pose.

        Parameters
        ----------
        other
            A pose of the same skeleton.
        weight
            0 (this pose) to 1 (the other). Numbers are interpolated linearly, rotations by slerp.
        """
        if not isinstance(other, Pose):
            message = f"a pose is blended with another Pose, not with {abbreviate(other)}"
            raise InputError(message)
        if other.skeleton is not self.skeleton and other.skeleton.without_free_root != self.skeleton.without_free_root:
            message = "two poses can be blended only on the same skeleton"
            raise InputError(message)
        converted: Pose = other if other.skeleton.freed == self.skeleton.freed else other.on(self.skeleton)
        weight = check_finite(weight, "weight")
        broadcast_shapes("the poses and the weight", self.shape, converted.shape, weight.shape)
        q = blend_q(self.skeleton, self.q, converted.q, weight)
        return Pose(
            self.skeleton,
            q,
            _blend_arrays(
                self._get_translations(),
                converted._get_translations(),
                weight,
                self.translations,
                converted.translations,
            ),
            _blend_arrays(self._get_scales(), converted._get_scales(), weight, self.scales, converted.scales),
        )

    blended: ClassVar[Any] = make_alias("Pose.blended", blend)

    def _get_translations(self) -> Floats:
        return self.skeleton.A[:, :3] if self.translations is None else self.translations

    def _get_scales(self) -> Floats:
        return np.diagonal(self.skeleton.B[:, :, :3], axis1=1, axis2=2) if self.scales is None else self.scales


def _broadcast_to_joints(value: ArrayLike, name: str, shape: tuple[int, ...]) -> Floats:
    """Broadcast translations or scales (..., n, 3) to a batch."""
    array = check_finite(value, name, last_axis_length=3)
    try:
        return np.broadcast_to(array.copy(), shape)
    except ValueError as error:
        message = f"{name} of {shape[-2]} joints need the shape {shape}; theirs is {array.shape}"
        raise InputError(message) from error


def blend_q(skeleton: Skeleton, a: Floats, b: Floats, weight: Floats) -> Floats:
    """Blend configurations (..., nq). Numbers are interpolated linearly, rotations by slerp."""
    q = np.ascontiguousarray(a + weight[..., None] * (b - a))
    columns = skeleton.quaternion_columns.T
    if not columns.size:
        return q
    rows, weights = q.reshape(-1, q.shape[-1]), np.broadcast_to(weight, q.shape[:-1]).reshape(-1, 1)
    a, b = (np.broadcast_to(ends, q.shape).reshape(rows.shape) for ends in (a, b))
    block_length = max(_MAX_BLOCK_ROTATIONS // columns.shape[1], 1)
    for start in range(0, len(rows), block_length):
        block = slice(start, start + block_length)
        first, second = (np.moveaxis(ends[block][:, columns], 1, 0) for ends in (a, b))
        rows[block, columns.T] = np.moveaxis(rotations.slerp_components(first, second, weights[block]), 0, -1)
    return q


def _blend_arrays(a: Floats, b: Floats, weight: Floats, *sources: Floats | None) -> Floats | None:
    if all(value is None for value in sources):
        return None
    return a + weight[..., None, None] * (b - a)


# --- Parent-relative transforms as translation, rotation and scale, as in file nodes ---------------------------------
#
# NumPy only: reading and saving do not wait for a compiler. `kinematics.py` has compiled forward kinematics.


def compute_local_transforms(pose: Pose) -> LocalTransforms:
    """Compute the local transform of every joint, A . J(q) . B.

    A joint at q = 0 gets the numbers of A bit for bit. The scale does not contain a shear of B.
    """
    return numpy_kinematics.split_local_transforms(pose.skeleton, pose.q, pose.translations, pose.scales)


def compute_rest_local_transforms(pose: Pose) -> LocalTransforms:
    """Compute the local rest transforms. They are A . B; a free joint is where rest_q has it."""
    skeleton = pose.skeleton
    q = skeleton.zero_q()
    for row in np.flatnonzero(skeleton.kinds == Kind.FREE).tolist():
        start = int(skeleton.q_start[row])
        q[start : start + 7] = skeleton.rest_q[start : start + 7]
    rest_transforms = compute_local_transforms(Pose(skeleton, q))
    # A coupling's offset is not part of the rest pose.
    has_single_axis = (skeleton.kinds == Kind.HINGE) | (skeleton.kinds == Kind.SLIDE)
    rest_transforms.translation[has_single_axis], rest_transforms.rotation[has_single_axis] = (
        skeleton.A[has_single_axis, :3],
        skeleton.A[has_single_axis, 3:],
    )
    return rest_transforms
