"""Describe a chain to other libraries as serial hinges and slides. The description consists of numbers only.

    world_i = world_(i-1) . transform_i . motion_i(value)          tip = world_(n-1) . tip

Ball joints become three hinges at one position. Fixed joints and scale are folded into the transforms `transform`, so
that every link moves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

import numpy as np

from poise.errors import UnsupportedError
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.euler import compute_alternative, from_quaternion, to_quaternion
from poise.maths.rotations import rotation_part
from poise.model.joints import Kind
from poise.model.limit_bounds import clamp_angles
from poise.model.limits import EulerBox, Range, SwingTwist, is_soft
from poise.model.pose import Pose
from poise.model.skeleton import Skeleton
from poise.problem.frame_packing import EXPORTER_LENGTH_ERROR, build_fixed_maps, compose, split_similarity
from poise.problem.goals import Place, Position
from poise.problem.problem import Problem

_DEFAULT_HINGE_RANGE_RAD = 4 * np.pi  # [rad] default range of a hinge with one limit, for formats that need two
_DEFAULT_SLIDE_RANGE = 1e3  # arm units: the same for a slide
_MIN_CHAIN_LENGTH, _MAX_CHAIN_LENGTH = 0.1, 10.0  # lengths between which a chain's own units serve
_ZERO_LENGTH_SHARE = (
    1e-12  # of the distance from the origin: a length that is no more is rounding, of a chain without one
)


class ChainLink(NamedTuple):
    """One degree of freedom of the chain.

    name       of the joint; the hinges of a ball joint are "Hips.x", "Hips.y", "Hips.z"
    transform  (4, 4) rigid transform from the previous link (the first: from the base), arm units
    axis       (3,) unit axis in the frame after `transform`
    is_slide   whether it moves along the axis; otherwise it rotates about it
    low, high  limits of its value [rad, arm units], infinite without a limit
    """

    name: str
    transform: Floats
    axis: Floats
    is_slide: bool
    low: float
    high: float


class _ValueSource(NamedTuple):
    """Columns of q for the value of one or three links."""

    first_link: int  # the first link
    q_column: int
    factor: float = 1.0  # value of the link per unit of q: scale above a slide, and arm units
    order: str = ""  # Euler order of a ball; empty for a single link
    axis: tuple[float, float, float] | None = None  # axis of a ball that a range limits to a hinge


@dataclass(frozen=True, eq=False)
class SerialArm:
    """Serial chain of one goal from one start pose. It has n links; see `build_serial_chain`.

    Everything but `base_transform` is in arm units and in the frame of the parent of the first link.

    start           pose kept by joints outside the chain
    links           the motions, base to tip
    ball_links      index of the first of the three hinges, about x, y and z, of each ball joint without limits
    tip_transform   (4, 4) from the last link to the tip, with the goal's offset
    base_transform  (4, 4) rigid world transform of the parent of the first link, file units
    unit            file units in one arm unit: 1 for a chain of length 0.1 to 10 or 0, else a power of two near its
                    length, because libraries for robots expect metres
    """

    start: Pose
    links: tuple[ChainLink, ...]
    ball_links: tuple[int, ...]
    tip_transform: Floats
    base_transform: Floats
    unit: float
    value_sources: tuple[_ValueSource, ...]

    @property
    def low(self) -> Floats:
        """(n,) lowest values."""
        return np.array([link.low for link in self.links])

    @property
    def high(self) -> Floats:
        """(n,) highest values."""
        return np.array([link.high for link in self.links])

    @cached_property
    def length(self) -> float:
        """Length of the chain at zero values, arm units. It is measured from the first link on."""
        translations = [link.transform[:3, 3] for link in self.links[1:]]
        return float(sum(np.linalg.norm(step) for step in [*translations, self.tip_transform[:3, 3]]))

    def q_to_values(self, q: Floats) -> Floats:
        """Convert a configuration q (nq,) to link values (n,) [rad, arm units]."""
        x = np.empty(len(self.links))
        for source in self.value_sources:
            i, column = source.first_link, source.q_column
            low, high = self.low[i], self.high[i]
            if source.order:
                x[i : i + 3] = self._choose_angles(source, q[column : column + 4])
            elif source.axis is not None:
                angle = rotations.twist_angle(q[column : column + 4], np.array(source.axis))
                x[i] = clamp_angles(angle, low, high)
            else:
                x[i] = q[column] * source.factor
        return x

    def values_to_q(self, values: Floats) -> Floats:
        """Convert values (n,) to q (nq,). Joints outside the chain keep the start's."""
        q = self.start.q.copy()
        for source in self.value_sources:
            i, column = source.first_link, source.q_column
            if source.order:
                q[column : column + 4] = to_quaternion(values[i : i + 3], source.order)
            elif source.axis is not None:
                q[column : column + 4] = rotations.about(np.array(source.axis), values[i])
            else:
                q[column] = values[i] / source.factor
        return q

    def to_arm_frame(self, targets: Floats) -> Floats:
        """Convert world points or transforms to the arm frame.

        Points are (..., 3), rigid transforms (..., 4, 4). The result is in arm units.
        """
        base_rotation, origin = self.base_transform[:3, :3], self.base_transform[:3, 3]
        if targets.shape[-1:] == (3,):
            return (targets - origin) @ base_rotation / self.unit
        result = targets.copy()
        result[..., :3, :3] = base_rotation.T @ targets[..., :3, :3]
        result[..., :3, 3] = (targets[..., :3, 3] - origin) @ base_rotation / self.unit
        return result

    def compute_tip(self, values: Floats) -> Floats:
        """Compute the tip (..., 4, 4) in the arm frame. Takes values (..., n); lengths are in arm units."""
        world = np.broadcast_to(np.eye(4), (*values.shape[:-1], 4, 4))
        for link, value in zip(self.links, np.moveaxis(values, -1, 0), strict=True):
            world = world @ link.transform @ compute_link_transform(link, value)
        return world @ self.tip_transform

    def compute_world_tip(self, values: Floats) -> Floats:
        """Compute the tip (..., 4, 4) in the world, file units.

        This is forward kinematics of values (..., n) in plain NumPy.
        """
        tip = self.compute_tip(values)
        tip[..., :3, 3] *= self.unit
        return self.base_transform @ tip

    def format_urdf(self, *, continuous: bool = True) -> str:
        """Format the chain as URDF in arm units. Links are base, link_0, ..., tip; joints joint_0, ..., joint_tip.

        Every link has a mass, as simulators require. A hinge without limits is `continuous`, or revolute with limits of
        two turns if that is not wanted; a single missing limit is set in the same way. A missing limit of a slide is
        far away.
        """
        names = ["base", *(f"link_{i}" for i in range(len(self.links))), "tip"]
        lines = ['<?xml version="1.0"?>', '<robot name="chain">']
        for name in names:
            inertia = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
            lines.append(f'  <link name="{name}"><inertial><mass value="1"/>{inertia}</inertial></link>')
        for i, link in enumerate(self.links):
            lines += _format_urdf_joint(f"joint_{i}", names[i], names[i + 1], link, continuous=continuous)
        lines += [
            '  <joint name="joint_tip" type="fixed">',
            f'    <parent link="{names[-2]}"/><child link="tip"/>{_format_urdf_origin(self.tip_transform)}',
            "  </joint>",
            "</robot>",
        ]
        return "\n".join(lines) + "\n"

    def _choose_angles(self, source: _ValueSource, rotation: Floats) -> Floats:
        """Choose the Euler angles (3,) of a rotation inside the ranges.

        Of the two triples it takes the one in the ranges, or nearer to them.
        """
        i = source.first_link
        angles = from_quaternion(rotation, source.order)
        candidates = [
            clamp_angles(candidate, self.low[i : i + 3], self.high[i : i + 3])
            for candidate in (angles, compute_alternative(angles))
        ]
        mismatches = [1.0 - abs(float(to_quaternion(candidate, source.order) @ rotation)) for candidate in candidates]
        return candidates[0] if mismatches[0] <= mismatches[1] + 1e-12 else candidates[1]


def build_serial_chain(start: Pose, goal: Position | Place) -> SerialArm:
    """Build the serial chain of a goal from one legal start pose. It consists of hinges and slides.

    A ball joint without limits becomes three hinges about x, y and z (its angles: Rx Ry Rz), one with an EulerBox three
    hinges with its order and ranges, one with a Range about an axis a hinge. A free joint in the chain counts as a
    ball. A joint with a range of one value becomes fixed. Scale within 1e-3 of uniform is accepted, as in every solver,
    and skews the chain by as little. Raises UnsupportedError with the reason for coupled joints, a SwingTwist, a soft
    limit, non-uniform scale and a chain without moving joints.
    """
    skeleton, tip_row = start.skeleton, start.skeleton.index(goal.joint)
    moving_rows = [skeleton.index(name) for name in Problem(start, (goal,)).joints]
    _check_joints(skeleton, moving_rows)
    moving_rows = [row for row in moving_rows if not _is_fixed_by_range(skeleton, row)]
    if not moving_rows:
        raise UnsupportedError(f"no joint moves for {goal.joint!r}: there is no chain to pass")
    builder = _ChainBuilder(start, moving_rows)
    for row in skeleton.list_path(tip_row):
        if row >= moving_rows[0]:
            builder.add_joint(row)
    return builder.build_arm(np.array(goal.offset))


def compute_link_transform(link: ChainLink, value: Floats) -> Floats:
    """Compute the transform of a link at a value.

    It is (..., 4, 4) for values (...). It is cos I + sin [a] + (1 - cos) a a^T, or a slide.
    """
    result = np.zeros((*np.shape(value), 4, 4))
    result[..., 3, 3] = 1.0
    x, y, z = link.axis
    if link.is_slide:
        result[..., :3, :3] = np.eye(3)
        result[..., :3, 3] = np.asarray(value)[..., None] * link.axis
        return result
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    cosine, sine = np.cos(value)[..., None, None], np.sin(value)[..., None, None]
    result[..., :3, :3] = cosine * np.eye(3) + sine * cross + (1.0 - cosine) * np.outer(link.axis, link.axis)
    return result


def _check_joints(skeleton: Skeleton, moving_rows: list[int]) -> None:
    for row in moving_rows:
        name, limit, coupling = skeleton.names[row], skeleton.limits[row], skeleton.couplings[row]
        if coupling:
            leader = skeleton.names[coupling.leader]
            raise UnsupportedError(f"{name!r} follows {leader!r}: coupled joints cannot be passed to a peer")
        if is_soft(limit):
            raise UnsupportedError(f"{name!r} has a soft limit, which cannot be passed to a peer")
        if isinstance(limit, SwingTwist):
            raise UnsupportedError(f"{name!r} has a SwingTwist limit, which cannot be passed to a peer")
        if isinstance(limit, EulerBox) and any(low == high for low, high in limit.ranges):
            raise UnsupportedError(f"{name!r} has an angle of one value only, which cannot be passed to a peer")


def _is_fixed_by_range(skeleton: Skeleton, row: int) -> bool:
    """Return whether a joint's range has one value only.

    The chain then has a fixed joint, because some libraries fail on such a range.
    """
    limit = skeleton.limits[row]
    if isinstance(limit, Range):
        low, high = (limit.low, limit.high) if limit.axis is not None else skeleton.value_ranges[skeleton.q_start[row]]
        return bool(low == high)
    return False


class _ChainBuilder:
    """Builder of a serial chain, base to tip.

    It keeps the rigid world frame at zero values and removes the scale from all that follows.
    """

    def __init__(self, start: Pose, moving_rows: list[int]) -> None:
        self.start, self.moving_rows = start, set(moving_rows)
        before, after = build_fixed_maps(start, self.moving_rows)
        self.transforms_before, self.transforms_after = before[0], after[0]
        parent = int(start.skeleton.parents[moving_rows[0]])
        self.world = start.world.affine[parent] if parent >= 0 else np.eye(3, 4)
        self.base_transform = self.last_frame = self._find_rigid_frame(moving_rows[0])[0]
        self.links: list[ChainLink] = []
        self.ball_links: list[int] = []
        self.value_sources: list[_ValueSource] = []

    def _find_rigid_frame(self, row: int) -> tuple[Floats, float]:
        """Return the current frame (4, 4) without scale, and the scale.

        Raises UnsupportedError where the scale is not uniform.
        """
        scale, rotation, stretches = split_similarity(self.world[None, :, :3], self.start.skeleton, row)
        if stretches[0] > EXPORTER_LENGTH_ERROR:
            name = self.start.skeleton.names[row]
            raise UnsupportedError(
                f"the scale above {name!r} is not uniform; a chain with shear cannot be passed to a peer"
            )
        return _make_transform(rotation[0], self.world[:, 3]), float(scale[0])

    def add_joint(self, row: int) -> None:
        """Compose the constant parts around a joint and its links."""
        self.world = compose(self.world, self.transforms_before[row])
        if row in self.moving_rows:
            self._add_links(row)
        self.world = compose(self.world, self.transforms_after[row])

    def _add_links(self, row: int) -> None:
        skeleton = self.start.skeleton
        (frame, scale), limit = self._find_rigid_frame(row), skeleton.limits[row]
        transform, self.last_frame = invert_rigid(self.last_frame) @ frame, frame
        name, kind, first_link = skeleton.names[row], Kind(skeleton.kinds[row]), len(self.links)
        column = int(skeleton.q_start[row]) + (3 if kind == Kind.FREE else 0)
        if kind in (Kind.HINGE, Kind.SLIDE):
            is_slide = kind == Kind.SLIDE
            factor = scale if is_slide else 1.0
            low, high = np.sort(skeleton.value_ranges[column] * factor).tolist()
            self.value_sources.append(_ValueSource(first_link, column, factor))
            self.links.append(ChainLink(name, transform, skeleton.axes[row], is_slide, low, high))
        elif isinstance(limit, Range) and limit.axis is not None:
            self.value_sources.append(_ValueSource(first_link, column, axis=limit.axis))
            self.links.append(ChainLink(name, transform, np.array(limit.axis), False, limit.low, limit.high))
        else:
            self._add_ball_links(name, transform, column, limit if isinstance(limit, EulerBox) else None)

    def _add_ball_links(self, name: str, transform: Floats, column: int, limit: EulerBox | None) -> None:
        order, ranges = (limit.order, limit.ranges) if limit else ("XYZ", ((-np.inf, np.inf),) * 3)
        self.value_sources.append(_ValueSource(len(self.links), column, order=order))
        if limit is None:
            self.ball_links.append(len(self.links))
        for letter, (low, high) in zip(order, ranges, strict=True):
            axis = np.eye(3)["XYZ".index(letter)]
            self.links.append(ChainLink(f"{name}.{letter.lower()}", transform, axis, False, low, high))
            transform = np.eye(4)

    def build_arm(self, offset: Floats) -> SerialArm:
        """Build the SerialArm in units of its own."""
        tip_frame = _make_transform(rotation_part(self.world[None, :, :3])[0], self.world @ np.append(offset, 1.0))
        tip = invert_rigid(self.last_frame) @ tip_frame
        arm = SerialArm(
            self.start,
            tuple(self.links),
            tuple(self.ball_links),
            tip,
            self.base_transform,
            1.0,
            tuple(self.value_sources),
        )
        if (
            _MIN_CHAIN_LENGTH <= arm.length <= _MAX_CHAIN_LENGTH
            or arm.length <= _ZERO_LENGTH_SHARE * np.abs(self.world[:, 3]).max()
        ):
            return arm
        return _rescale_arm(arm, float(2.0 ** np.round(np.log2(arm.length))))


def _rescale_arm(arm: SerialArm, unit: float) -> SerialArm:
    links = tuple(
        link._replace(
            transform=_scale_translation(link.transform, unit),
            low=link.low / unit if link.is_slide else link.low,
            high=link.high / unit if link.is_slide else link.high,
        )
        for link in arm.links
    )
    value_sources = tuple(
        source._replace(factor=source.factor / unit) if links[source.first_link].is_slide else source
        for source in arm.value_sources
    )
    return SerialArm(
        arm.start,
        links,
        arm.ball_links,
        _scale_translation(arm.tip_transform, unit),
        arm.base_transform,
        unit,
        value_sources,
    )


def _scale_translation(transform: Floats, unit: float) -> Floats:
    result = transform.copy()
    result[:3, 3] /= unit
    return result


def _make_transform(rotation: Floats, origin: Floats) -> Floats:
    result = np.eye(4)
    result[:3, :3], result[:3, 3] = rotation, origin
    return result


def invert_rigid(transform: Floats) -> Floats:
    """Invert a rigid transform (4, 4): R^T and -R^T t."""
    result = np.eye(4)
    result[:3, :3] = transform[:3, :3].T
    result[:3, 3] = -transform[:3, :3].T @ transform[:3, 3]
    return result


def compute_roll_pitch_yaw(rotation: Floats) -> Floats:
    """Compute URDF angles [rad] (3,) of a rotation matrix: Rz(yaw) Ry(pitch) Rx(roll)."""
    return from_quaternion(rotations.from_matrix(rotation), "ZYX")[::-1]


def find_finite_limits(link: ChainLink) -> tuple[float, float]:
    """Return finite limits of a link's value.

    A missing one is two turns or a thousand arm units beyond the other or zero.
    """
    default_range = _DEFAULT_SLIDE_RANGE if link.is_slide else _DEFAULT_HINGE_RANGE_RAD
    low = link.low if np.isfinite(link.low) else (link.high if np.isfinite(link.high) else 0.0) - default_range
    high = link.high if np.isfinite(link.high) else (link.low if np.isfinite(link.low) else 0.0) + default_range
    return float(low), float(high)


def _format_urdf_joint(name: str, parent: str, child: str, link: ChainLink, *, continuous: bool) -> list[str]:
    is_continuous = continuous and not (link.is_slide or np.isfinite(link.low) or np.isfinite(link.high))
    low, high = find_finite_limits(link)
    limit = "" if is_continuous else f'<limit lower="{low!r}" upper="{high!r}" effort="1" velocity="1"/>'
    joint_type = "prismatic" if link.is_slide else "continuous" if is_continuous else "revolute"
    return [
        f"  <joint name={quoteattr(name)} type={quoteattr(joint_type)}>",
        f'    <parent link="{parent}"/><child link="{child}"/>{_format_urdf_origin(link.transform)}',
        f'    <axis xyz="{_format_numbers(link.axis)}"/>{limit}',
        "  </joint>",
    ]


def _format_urdf_origin(transform: Floats) -> str:
    rpy = _format_numbers(compute_roll_pitch_yaw(transform[:3, :3]))
    return f'<origin xyz="{_format_numbers(transform[:3, 3])}" rpy="{rpy}"/>'


def _format_numbers(values: Floats) -> str:
    return " ".join(repr(float(value)) for value in values)
