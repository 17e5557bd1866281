"""Poses: configurations of a skeleton, single or batched.

Leading axes of q are the batch. A pose computes its local and world transforms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from poise.errors import InputError
from poise.kernels.codes import UNIT_SLACK
from poise.maths import euler, rotations
from poise.maths.arguments import require
from poise.maths.arrays import Floats, finite, for_kernel, frozen, shared_shape, short
from poise.maths.in_words import in_words
from poise.maths.options import truth
from poise.maths.remember import FrozenValue
from poise.model import kinematics, plain
from poise.model.same import carried_over, check_same
from poise.model.skeleton import Kind, Skeleton

# relative difference of lengths that counts as rounding
_SIMILAR = 1e-12


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

    __repr__ = in_words

    skeleton: Skeleton
    affine: Floats  # (..., n, 3, 4), or (..., 3, 4) for one joint

    def __post_init__(self) -> None:
        require(self.skeleton, Skeleton, "the skeleton of transforms")
        if type(self.affine) is not np.ndarray or self.affine.shape[-2:] != (3, 4) or self.affine.dtype != np.float64:
            given = finite(self.affine, "affine", last=4)
            if given.shape[-2:] != (3, 4):
                raise InputError(f"affine transforms have the shape (..., 3, 4), not {given.shape}")
            object.__setattr__(self, "affine", given)

    def __getitem__(self, joint: str) -> Transforms:
        return Transforms(self.skeleton, self.affine[..., self.skeleton.index(joint), :, :])

    @property
    def positions(self) -> Floats:
        """(..., n, 3) joint positions [file units]."""
        return self.affine[..., 3]

    @cached_property
    def rotations(self) -> Floats:
        """(..., n, 4) nearest rotations w x y z, w >= 0. Scale and mirroring are removed."""
        maps = np.array(self.affine.reshape(math.prod(self.affine.shape[:-2]), 12))  # a copy: see Pose._local_arrays
        turns = kinematics.turns_of(maps, _SIMILAR, poses=math.prod(self.affine.shape[:-3]))
        turns = turns.reshape(*self.affine.shape[:-2], 4)
        turns.setflags(write=False)
        return turns

    @cached_property
    def matrices(self) -> Floats:
        """(..., n, 4, 4) matrices for column vectors."""
        bottom = np.broadcast_to([0.0, 0.0, 0.0, 1.0], (*self.affine.shape[:-2], 1, 4))
        matrices = np.concatenate([self.affine, bottom], axis=-2)
        matrices.setflags(write=False)
        return matrices


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

    def __post_init__(self) -> None:
        require(self.skeleton, Skeleton, "the skeleton of a pose")
        q = unit_turns(self.skeleton, finite(self.q, "q", last=self.skeleton.nq).copy())
        object.__setattr__(self, "q", q)
        frozen(q)
        for name in ("translations", "scales"):
            value = getattr(self, name)
            if value is not None:
                shape = (*q.shape[:-1], len(self.skeleton), 3)
                object.__setattr__(self, name, _for_joints(value, name, shape))

    @classmethod
    def unchecked(cls, skeleton: Skeleton, q: Floats, translations: Floats | None, scales: Floats | None) -> Pose:
        """Make a pose of valid arrays without checking or copying them.

        The caller must not write to them afterwards.
        """
        pose = cls.__new__(cls)
        pose.__dict__.update(skeleton=skeleton, q=q, translations=translations, scales=scales)
        for array in (q, translations, scales):
            if array is not None:
                frozen(array)
        return pose

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
            by_joint = f"the transform of a joint is pose.world[{short(index)}]"
            raise _SinglePoseError(
                by_joint if isinstance(index, str) else "a single pose cannot be indexed; a batch can"
            )
        try:
            q = self.q[index].copy()
        except (IndexError, TypeError, ValueError) as error:
            raise _NoSuchPoseError(f"a batch of poses of shape {self.shape} has none at {short(index)}") from error
        if q.shape[-1:] != (self.skeleton.nq,):
            finite(q, "q", last=self.skeleton.nq)  # it raises the error
        parts = [None if value is None else value[index].copy() for value in (self.translations, self.scales)]
        return Pose.unchecked(self.skeleton, q, *parts)

    def __repr__(self) -> str:
        batch = f", batch {self.shape}" if self.shape else ""
        return f"Pose({self.skeleton!r}{batch})"

    @cached_property
    def _locals(self) -> tuple[Floats, Floats]:
        """Local positions and rotations (k, n, 3|4), batch flattened. They are those of A . J."""
        s = self.skeleton
        # a copy: Numba would compile again for a read-only array
        q = np.array(self.q.reshape(math.prod(self.shape), s.nq))
        positions, quaternions = np.zeros((len(q), len(s), 3)), np.zeros((len(q), len(s), 4))
        plain.forward(len(q)).local_transforms(
            s.kinds, s.axes, s.A, s.q_start, s.coupling_rows, q, positions, quaternions
        )
        if self.translations is not None:
            given = self.translations.reshape(-1, len(s), 3)
            kinds = s.kinds[:, None]
            slid = np.where(kinds == Kind.SLIDE, positions - s.A[:, :3] + given, given)
            positions = np.where(kinds == Kind.FREE, positions, slid)  # a free joint's translation is in q
        positions.setflags(write=False)
        quaternions.setflags(write=False)
        return positions, quaternions

    @property
    def _given(self) -> kinematics.Given:
        """The pose's translations and scales (k, n, 3), batch flattened."""
        return kinematics.flat_given(self.translations, self.scales)

    @cached_property
    def world(self) -> Transforms:
        """World transforms of every joint [file units].

            world_i = world_parent . A_i . J_i(q_i) . B_i

        A pose gives the same bits in any batch. For one joint of a large batch use `world_of`.
        """
        affine = kinematics.world_maps(self.skeleton, None, self.flat_q.copy(), self._given)
        affine = affine.reshape(*self.shape, len(self.skeleton), 3, 4)
        affine.setflags(write=False)
        return Transforms(self.skeleton, affine)

    def world_of(self, joint: str) -> Transforms:
        """Return `world[joint]` with the same bits, for large batches. Only the joints above it are computed."""
        row = self.skeleton.index(joint)
        affine = kinematics.world_maps(self.skeleton, row, self.flat_q.copy(), self._given)
        affine = affine.reshape(*self.shape, 3, 4)
        affine.setflags(write=False)
        return Transforms(self.skeleton, affine)

    def jacobian(self, joint: str, point: ArrayLike = (0.0, 0.0, 0.0)) -> Floats:
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
        array
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
        s = self.skeleton
        row, k = s.index(joint), math.prod(self.shape)
        points = finite(point, "point", last=3)
        try:
            rows = np.broadcast_to(points, (*self.shape, 3)) if points.ndim > 1 else points
        except ValueError as error:
            message = f"point has the batch shape {points.shape[:-1]}, which does not go with the pose's, {self.shape}"
            raise InputError(message) from error
        points = for_kernel(rows.reshape(k if points.ndim > 1 else 1, 3))
        columns = kinematics.jacobians(s, row, self.flat_q.copy(), self._given, points)
        return columns.reshape(*self.shape, 6, s.nv)

    @cached_property
    def local(self) -> Transforms:
        """Parent-relative transforms of every joint, A . J . B."""
        positions, quaternions = self._locals
        linear = rotations.as_matrix(quaternions) @ self.b_affine[..., :3]
        affine = np.concatenate([linear, positions[..., None]], axis=-1)
        affine = affine.reshape(*self.shape, len(self.skeleton), 3, 4)
        affine.setflags(write=False)
        return Transforms(self.skeleton, affine)

    @property
    def local_positions(self) -> Floats:
        """(..., n, 3) parent-relative translations, as stored in files."""
        return self._locals[0].reshape(*self.shape, len(self.skeleton), 3)

    @property
    def local_rotations(self) -> Floats:
        """(..., n, 4) parent-relative rotations w x y z, as in files. They contain no scale."""
        return self._locals[1].reshape(*self.shape, len(self.skeleton), 4)

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
        return np.degrees(angles) if truth("degrees", degrees) else angles

    @property
    def b_affine(self) -> Floats:
        """(1|k, n, 3, 4) transforms after each joint's motion. There is one per pose where scales are given."""
        if self.scales is None:
            return self.skeleton.B[None].copy()  # writable like the other, so one compiled kernel serves both
        b = np.zeros((*self.scales.reshape(-1, len(self.skeleton), 3).shape, 4))
        b[..., [0, 1, 2], [0, 1, 2]] = self.scales.reshape(-1, len(self.skeleton), 3)
        return b

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
        require(skeleton, Skeleton, "the new skeleton of a pose")
        check_same(skeleton, self.skeleton, "the converted pose")
        q, translations = carried_over(self.skeleton, skeleton, self.q, self.translations)
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
            message = f"replace() takes values by joint name, such as {{'elbow': 0.5}}, not {short(values)}"
            raise InputError(message)
        q = self.q.copy()
        for name, value in values.items():
            joint = self.skeleton[name]
            if joint.coupling or joint.kind == Kind.FIXED:
                why = f"follows {self.skeleton.names[joint.coupling.leader]!r}" if joint.coupling else "is fixed"
                message = f"joint {name!r} {why}; it has no numbers of its own in q"
                raise InputError(message)
            numbers = finite(value, f"the value of {name!r}")
            if joint.kind in (Kind.HINGE, Kind.SLIDE):
                numbers = numbers[..., None]
            elif numbers.shape[-1:] == (joint.kind.nq,):
                turned = rotations.normalised(numbers[..., -4:])
                numbers = np.concatenate([numbers[..., :-4], turned], axis=-1)
            else:
                message = f"the value of {name!r} ({joint.kind.name.lower()}) needs {joint.kind.nq} numbers"
                raise InputError(message)
            try:
                q[..., self.skeleton.q_slice(name)] = numbers
            except ValueError as error:
                message = (
                    f"the value of {name!r} ({joint.kind.name.lower()}) has the batch shape {numbers.shape[:-1]}, "
                    f"which does not go with the pose's, {self.shape}"
                )
                raise InputError(message) from error
        return self.with_q(q)

    def blended(self, other: Pose, weight: ArrayLike) -> Pose:
        """Blend towards another pose.

        Parameters
        ----------
        other
            A pose of the same skeleton.
        weight
            0 (this pose) to 1 (the other). Numbers are interpolated linearly, rotations by slerp.
        """
        if not isinstance(other, Pose):
            message = f"a pose is blended with another Pose, not with {short(other)}"
            raise InputError(message)
        if other.skeleton is not self.skeleton and other.skeleton.bound != self.skeleton.bound:
            message = "two poses can be blended only on the same skeleton"
            raise InputError(message)
        to: Pose = other if other.skeleton.freed == self.skeleton.freed else other.on(self.skeleton)
        weight = finite(weight, "weight")
        shared_shape("the poses and the weight", self.shape, to.shape, weight.shape)
        q = blend_q(self.skeleton, self.q, to.q, weight)
        return Pose(
            self.skeleton,
            q,
            _mixed(self._translations(), to._translations(), weight, self.translations, to.translations),
            _mixed(self._scales(), to._scales(), weight, self.scales, to.scales),
        )

    def _translations(self) -> Floats:
        return self.skeleton.A[:, :3] if self.translations is None else self.translations

    def _scales(self) -> Floats:
        return np.diagonal(self.skeleton.B[:, :, :3], axis1=1, axis2=2) if self.scales is None else self.scales


def _for_joints(value: ArrayLike, name: str, shape: tuple[int, ...]) -> Floats:
    """Broadcast translations or scales (..., n, 3) to a batch."""
    given = finite(value, name, last=3)
    try:
        return np.broadcast_to(given.copy(), shape)
    except ValueError as error:
        message = f"{name} of {shape[-2]} joints need the shape {shape}; theirs is {given.shape}"
        raise InputError(message) from error


def unit_turns(skeleton: Skeleton, q: Floats) -> Floats:
    """Normalize the quaternions in q (..., nq). Those of unit length to rounding stay bit for bit."""
    columns = skeleton.turn_columns
    first = int(columns[0, 0]) if len(columns) else 0
    if len(columns) and columns[-1, -1] - first + 1 == columns.size:  # contiguous, as in most rigs
        turns = q[..., first : first + columns.size].reshape(*q.shape[:-1], *columns.shape)
    else:
        turns = q[..., columns]
    off = np.abs(np.einsum("...i,...i->...", turns, turns) - 1.0) > UNIT_SLACK
    if off.any():
        if (turns == 0.0).all(axis=-1).any():
            row = int(np.argwhere((turns == 0.0).all(axis=-1))[0, -1])
            joint = skeleton.names[np.flatnonzero(skeleton.kinds >= Kind.BALL)[row]]
            message = f"the rotation of {joint!r} in q has zero length; the identity is (1, 0, 0, 0)"
            raise InputError(message)
        q[..., columns] = np.where(off[..., None], rotations.normalised(turns), turns)
    return q


def blend_q(skeleton: Skeleton, a: Floats, b: Floats, weight: Floats) -> Floats:
    """Blend configurations (..., nq). Numbers are interpolated linearly, rotations by slerp."""
    q = a + weight[..., None] * (b - a)
    for i in np.flatnonzero(skeleton.kinds >= Kind.BALL):
        start = skeleton.q_start[i] + (3 if skeleton.kinds[i] == Kind.FREE else 0)
        part = slice(int(start), int(start) + 4)
        q[..., part] = rotations.slerp(a[..., part], b[..., part], weight)
    return q


def _mixed(a: Floats, b: Floats, weight: Floats, *given: Floats | None) -> Floats | None:
    if all(value is None for value in given):
        return None
    return a + weight[..., None, None] * (b - a)
