"""Limits of whole configurations, in NumPy.

This is NumPy, so that readers do not wait for a compiler. Solvers apply the scalar rules of `kernels/limits.py`,
which also defines the packed rows; tests compare the results.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from poise import kernels
from poise.errors import InputError
from poise.kernels import layout, thresholds
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints
from poise.maths.euler import compute_alternative, from_quaternion, parse_order, wrap_angles
from poise.maths.rotations import about, inverse, multiply
from poise.model.limits import EulerBox, Limit, Range, SwingTwist, is_soft

# --- Limits of ball joints packed as rows, clamped over arrays -------------------------------------------------------
#
# kernels/limits.py defines the columns of a row and the clamping rule.


_FULL_TURN_RAD = 2 * np.pi
# numbers of rotations (64 of them); of more, those inside a limit are found first, and an iteration clamps the rest
_MIN_SORTED_NUMBERS = 256
# [rad] margin of the precomputed tangents: a twist further inside is never at an end
_TANGENT_MARGIN_RAD = np.array([2e-6, -2e-6])
# [rad] a value this near to an end counts as active in messages
_END_TOLERANCE_RAD = 1e-6
# [rad] largest twist end with a usable half-angle tangent
_MAX_TANGENT_TWIST_RAD = np.pi - 1e-3
_X, _Y, _Z = np.eye(3)


def pack_limit(limit: Limit | None) -> Floats:
    """Pack a rotation limit into a row (LIMIT_ROW,). The row is zero for None and for a hard Range."""
    limit_row = np.zeros(layout.LIMIT_ROW)
    if isinstance(limit, SwingTwist):
        x, y = limit.swing_axes
        limit_row[layout.LIMIT_KIND], limit_row[layout.LIMIT_FRAME : layout.LIMIT_BOUNDS] = (
            layout.SWING_TWIST,
            _compute_frame(x, y, limit.axis),
        )
        limit_row[layout.LIMIT_BOUNDS : layout.LIMIT_SOFT_WEIGHT] = np.array([*limit.sides, limit.twist]).ravel()
        limit_row[layout.LIMIT_SOFT_WEIGHT] = limit.soft
        twist_range = limit_row[layout.LIMIT_Z_LOW : layout.LIMIT_SOFT_WEIGHT]
        limit_row[layout.LIMIT_LOW_TANGENT :] = (
            np.tan((twist_range + _TANGENT_MARGIN_RAD) / 2)
            if np.abs(limit.twist).max() < _MAX_TANGENT_TWIST_RAD
            else (1.0, -1.0)
        )
    elif isinstance(limit, EulerBox):
        i, j, k, sign = parse_order(limit.order)
        limit_row[layout.LIMIT_KIND], limit_row[layout.LIMIT_FRAME : layout.LIMIT_BOUNDS] = (
            layout.EULER_BOX,
            _compute_frame(np.eye(3)[i], np.eye(3)[j], sign * np.eye(3)[k]),
        )
        first, second, (low, high) = limit.ranges
        third = (low, high) if sign > 0 else (-high, -low)  # z of the frame is the last axis or its opposite
        limit_row[layout.LIMIT_BOUNDS : layout.LIMIT_SOFT_WEIGHT] = np.array([first, second, third]).ravel()
        limit_row[layout.LIMIT_SOFT_WEIGHT] = limit.soft
    elif is_soft(limit):
        assert isinstance(limit, Range)
        limit_row[layout.LIMIT_KIND], limit_row[layout.LIMIT_SOFT_WEIGHT] = layout.RANGE, limit.soft
        limit_row[layout.LIMIT_BOUNDS : layout.LIMIT_BOUNDS + 2] = limit.low, limit.high
    return limit_row


def _compute_frame(*axes: object) -> Floats:
    """Compute the rotation (4,) from x, y, z to perpendicular axes."""
    return rotations.from_matrix(np.stack(axes, axis=-1))  # pyright: ignore[reportCallIssue, reportArgumentType]


def clamp_angles(angle: ArrayLike, low: ArrayLike, high: ArrayLike) -> Floats:
    """Clamp an angle [rad] to low..high modulo a full turn. Outside, return the end nearer on the circle.

    It is the NumPy twin of `clamp_angle` in kernels/limits.py.
    """
    angle, low, high = (np.asarray(value, dtype=np.float64) for value in (angle, low, high))
    raised = angle + _FULL_TURN_RAD * np.ceil(np.where(angle < low, low - angle, 0.0) / _FULL_TURN_RAD)
    lowered = angle - _FULL_TURN_RAD * np.ceil(np.where(angle > high, angle - high, 0.0) / _FULL_TURN_RAD)
    wrapped_angle = np.where(angle < low, raised, lowered)
    has_both_ends = np.isfinite(low) & np.isfinite(high)
    low_end, high_end = np.where(has_both_ends, low, 0.0), np.where(has_both_ends, high, 0.0)
    nearest_end = np.where(np.cos(low_end - angle) >= np.cos(high_end - angle), low_end, high_end)
    return np.where(((wrapped_angle >= low) & (wrapped_angle <= high)) | ~has_both_ends, wrapped_angle, nearest_end)


def _rotate_to_frame(frame: Floats, q: Floats) -> Floats:
    """Express rotations q (..., 4) in a limit's frame."""
    return np.concatenate([q[..., :1], rotations.rotate(inverse(frame), q[..., 1:])], axis=-1)


def clamp_rotations(limit_rows: Floats, q: Floats) -> Floats:
    """Clamp rotations q (..., 4) to the nearest legal ones.

    There is one limit for all, or rows of one kind (b, LIMIT_ROW) for rotations (..., b, 4).

    Legal rotations are returned bit for bit; kernel twin: `clamp_rotation`.
    """
    kinds = limit_rows[..., layout.LIMIT_KIND].ravel()
    if not kinds.size or kinds[0] not in (layout.SWING_TWIST, layout.EULER_BOX):
        return q
    frame, bounds, is_box = _read_frames(limit_rows), _read_bounds(limit_rows), kinds[0] == layout.EULER_BOX
    local_q = _rotate_to_frame(frame, q)
    if is_box or q.size > _MIN_SORTED_NUMBERS:
        is_outside = np.asarray(~(_is_in_euler_box if is_box else _is_in_swing_twist)(bounds, local_q))
        if not is_outside.all():
            clamped_q = q.copy()
            if is_outside.any():
                outside_rows = limit_rows if limit_rows.ndim == 1 else limit_rows[np.nonzero(is_outside)[-1]]
                clamped_q[is_outside] = clamp_rotations(outside_rows, q[is_outside])
            return clamped_q
    is_legal, nearest_q = (_clamp_euler_box if is_box else _clamp_swing_twist)(bounds, local_q)
    nearest_q = np.concatenate([nearest_q[..., :1], rotations.rotate(frame, nearest_q[..., 1:])], axis=-1)
    nearest_q = np.where((q * nearest_q).sum(axis=-1, keepdims=True) < 0.0, -nearest_q, nearest_q)
    return np.where(is_legal[..., None], q, nearest_q)


def _read_frames(limit_rows: Floats) -> Floats:
    return limit_rows[..., layout.LIMIT_FRAME : layout.LIMIT_BOUNDS]


def _read_bounds(limit_rows: Floats) -> Floats:
    """Read the lowest and highest angles (..., 3, 2) of limits."""
    return limit_rows[..., layout.LIMIT_BOUNDS : layout.LIMIT_SOFT_WEIGHT].reshape(*limit_rows.shape[:-1], 3, 2)


def compute_limit_angles(limit: Limit, q: Floats) -> Floats:
    """Compute the limited angles of rotations q (..., 4).

    The result (..., 3) [rad] is first swing, second swing and twist, or the Euler angles in the box's order. Of a
    rotation's two triples of Euler angles it is the one in the box, or nearer to it.
    """
    limit_row = pack_limit(limit)
    bounds, local_q = _read_bounds(limit_row), _rotate_to_frame(_read_frames(limit_row), q)
    if not isinstance(limit, EulerBox):
        swing, twist, _ = _split_swing_twist(local_q)
        return np.concatenate([swing, clamp_angles(twist, -np.pi, np.pi)[..., None]], axis=-1)
    angles = from_quaternion(local_q, "XYZ")
    candidates = np.stack([angles, compute_alternative(angles)])
    clamped = clamp_angles(candidates, bounds[:, 0], bounds[:, 1])
    excess = np.abs(wrap_angles(candidates - clamped)).max(axis=-1, keepdims=True)
    nearest_angles = np.where(
        excess[1] < excess[0],
        clamped[1] + wrap_angles(candidates[1] - clamped[1]),
        clamped[0] + wrap_angles(candidates[0] - clamped[0]),
    )
    return nearest_angles * [1.0, 1.0, parse_order(limit.order)[3]]


def describe_active_limits(limit: Limit, q: Floats) -> str:
    """Describe the active limits of a rotation q (4,). The text is empty where none is active."""
    angles = compute_limit_angles(limit, q)
    if isinstance(limit, EulerBox):
        ends = zip([f"{letter.lower()} angle" for letter in limit.order], angles, limit.ranges, strict=True)
        return " and ".join(filter(None, (_describe_end(*end) for end in ends)))
    assert isinstance(limit, SwingTwist)
    swing = angles[:2].tolist()
    descriptions: list[str] = []
    half_angles = [side[1] if value >= 0.0 else -side[0] for side, value in zip(limit.sides, swing, strict=True)]
    swing_ratios = [
        abs(value) / half_angle if half_angle > _END_TOLERANCE_RAD else float(half_angle < np.pi)
        for value, half_angle in zip(swing, half_angles, strict=True)
    ]
    if math.hypot(*swing_ratios) >= 1.0 - _END_TOLERANCE_RAD:
        descriptions.append(f"the edge of its cone, a swing of {math.degrees(math.hypot(*swing)):.4g} deg")
    return " and ".join(filter(None, [*descriptions, _describe_end("twist", float(angles[2]), limit.twist)]))


def _describe_end(angle_name: str, angle: float, ends: tuple[float, float]) -> str:
    for word, end in zip(("lowest", "highest"), ends, strict=True):
        if np.isfinite(end) and abs(wrap_angles(angle - end)) <= _END_TOLERANCE_RAD:
            return f"its {word} {angle_name}, {np.degrees(end):.4g} deg"
    return ""


def measure_rotation_excess(q: Floats, legal_q: Floats) -> Floats:
    """Compute the angle [rad] from rotations to legal ones. Both are (..., 4). It is exactly 0 for equal rotations."""
    return 4.0 * np.arcsin(np.minimum(0.5 * np.sqrt(((q - legal_q) ** 2).sum(axis=-1)), 1.0))


# --- swing and twist ---------------------------------------------------------------------------------------------


def _split_swing_twist(q: Floats) -> tuple[Floats, Floats, Floats]:
    """Split rotations into swing (..., 2) and twist (...) about z. Also return how well the twist is defined."""
    w, x, y, z = np.moveaxis(q, -1, 0)
    n, r = np.hypot(w, z), np.hypot(x, y)
    divisor = np.where(n > 0.0, n, 1.0)
    swing = np.stack([np.where(n > 0.0, w * x - z * y, x), np.where(n > 0.0, w * y + z * x, y)], axis=-1)
    swing = swing * (np.where(r > 0.0, 2.0 * np.arctan2(r, n) / np.where(r > 0.0, r, 1.0), 0.0) / divisor)[..., None]
    return swing, 2.0 * np.arctan2(z, w), n


def _is_in_swing_twist(bounds: Floats, q: Floats) -> Bools:
    """Return whether rotations are in a cone and a range of twist. False for some at their ends and in flat cones."""
    swing, twist, _ = _split_swing_twist(q)
    semi_axes = np.where(swing >= 0.0, bounds[..., :2, 1], -bounds[..., :2, 0])
    is_round: Bools = np.all(semi_axes > thresholds.ANGLE_SLACK_RAD, axis=-1)
    squared_ratios = (swing / np.where(is_round[..., None], semi_axes, 1.0)) ** 2
    is_twist_inside = (twist >= bounds[..., 2, 0]) & (twist <= bounds[..., 2, 1])
    return is_round & (squared_ratios.sum(axis=-1) <= 1.0) & is_twist_inside


def _clamp_swing_twist(bounds: Floats, q: Floats) -> tuple[Bools, Floats]:
    swing, twist, n = _split_swing_twist(q)
    legal_twist = clamp_angles(twist, bounds[..., 2, 0], bounds[..., 2, 1])
    nearest_swing, swing_distance = _find_nearest_swing(bounds[..., :2, :], swing)
    is_legal = (swing_distance <= thresholds.ANGLE_SLACK_RAD) & (
        n * 2.0 * np.abs(np.sin(0.5 * (legal_twist - twist))) <= thresholds.ANGLE_SLACK_RAD
    )
    angle = np.sqrt((nearest_swing**2).sum(axis=-1))
    half_angle = 0.5 * np.minimum(angle, thresholds.MAX_SWING_RAD)
    a, b = np.moveaxis(nearest_swing * (np.sin(half_angle) / np.where(angle > 0.0, angle, 1.0))[..., None], -1, 0)
    c, s = np.cos(0.5 * legal_twist), np.sin(0.5 * legal_twist)
    return is_legal, np.stack([np.cos(half_angle) * c, a * c + b * s, b * c - a * s, np.cos(half_angle) * s], axis=-1)


def _find_nearest_swing(sides: Floats, swing: Floats) -> tuple[Floats, Floats]:
    """Clamp swings (..., 2) to the legal region.

    The same rotation the other way round counts too. Also return the distance.
    """
    nearest_swing = _find_nearest_in_ellipse(sides, swing)
    distance = np.sqrt(((nearest_swing - swing) ** 2).sum(axis=-1))
    angle = np.sqrt((swing**2).sum(axis=-1, keepdims=True))
    opposite_swing = swing * (1.0 - _FULL_TURN_RAD / np.where(angle > 0.0, angle, _FULL_TURN_RAD))
    nearest_opposite = _find_nearest_in_ellipse(sides, opposite_swing)
    opposite_distance = np.where(
        angle[..., 0] > 0.0, np.sqrt(((nearest_opposite - opposite_swing) ** 2).sum(axis=-1)), np.inf
    )
    return np.where((opposite_distance < distance)[..., None], nearest_opposite, nearest_swing), np.minimum(
        distance, opposite_distance
    )


def _find_nearest_in_ellipse(sides: Floats, point: Floats) -> Floats:
    """Clamp points (..., 2) to a region of four quarter ellipses."""
    semi_axes = np.where(point >= 0.0, sides[..., 1], -sides[..., 0])
    is_degenerate = (semi_axes <= thresholds.ANGLE_SLACK_RAD).any(axis=-1, keepdims=True)
    semi_axes = np.where(semi_axes <= thresholds.ANGLE_SLACK_RAD, 0.0, semi_axes)
    clipped = np.clip(point, -semi_axes, semi_axes)
    semi_axes = np.where(is_degenerate, 1.0, semi_axes)
    squared_axes, magnitudes = semi_axes**2, np.abs(point)
    t = np.maximum((semi_axes * magnitudes - squared_axes).max(axis=-1, keepdims=True), 0.0)
    for _ in range(thresholds.MAX_ELLIPSE_STEPS):
        squared_ratios = (semi_axes * magnitudes / (t + squared_axes)) ** 2
        slope = 2.0 * (squared_ratios / (t + squared_axes)).sum(axis=-1, keepdims=True)
        step = (squared_ratios.sum(axis=-1, keepdims=True) - 1.0) / np.where(slope > 0.0, slope, 1.0)
        is_growing = step > 1e-16 * t
        if not is_growing.any():
            break
        t = t + np.where(is_growing, step, 0.0)
    is_inside = ((point / semi_axes) ** 2).sum(axis=-1, keepdims=True) <= 1.0
    return np.where(is_degenerate, clipped, np.where(is_inside, point, squared_axes * point / (t + squared_axes)))


# --- three angles ------------------------------------------------------------------------------------------------


def _is_in_euler_box(bounds: Floats, q: Floats, slack: float = 0.0) -> Bools:
    """Return whether the angles of rotations are in their ranges. A slack [rad] widens each range."""
    angles = from_quaternion(q, "XYZ")
    is_inside = (angles >= bounds[..., 0] - slack) & (angles <= bounds[..., 1] + slack)
    return np.asarray(is_inside.all(axis=-1))


def _is_nearly_in_euler_box(bounds: Floats, q: Floats) -> Bools:
    """Return whether rotations are in their box, within the tolerance."""
    return _is_in_euler_box(bounds, q, _BOX_SLACK_RAD)


def _clamp_euler_box(bounds: Floats, q: Floats) -> tuple[Bools, Floats]:
    angles = from_quaternion(q, "XYZ")
    nearest_angles = clamp_angles(angles, bounds[..., 0], bounds[..., 1])
    alternative = clamp_angles(compute_alternative(angles), bounds[..., 0], bounds[..., 1])
    is_nearer = _measure_chord(q, _euler_to_quaternion(alternative)) < _measure_chord(
        q, _euler_to_quaternion(nearest_angles)
    )
    nearest_angles = np.where(is_nearer[..., None], alternative, nearest_angles)
    for _ in range(thresholds.MAX_BOX_SWEEPS):
        refined_angles = _refine_angles(bounds, q, nearest_angles)
        is_changing = np.abs(refined_angles - nearest_angles).max(axis=-1, keepdims=True) > thresholds.ANGLE_SLACK_RAD
        if not is_changing.any():
            break
        nearest_angles = np.where(is_changing, refined_angles, nearest_angles)
    rotation = _euler_to_quaternion(nearest_angles)
    return 2.0 * _measure_chord(q, rotation) <= thresholds.ANGLE_SLACK_RAD, rotation


def _refine_angles(bounds: Floats, q: Floats, angles: Floats) -> Floats:
    """Optimize each angle in its range, one after the other. Each step brings the rotation nearest to q."""
    y, z = about(_Y, angles[..., 1]), about(_Z, angles[..., 2])
    a = _fit_angle(multiply(q, inverse(multiply(y, z))), 1, bounds[..., 0, :])
    x = about(_X, a)
    c = _fit_angle(multiply(inverse(multiply(x, y)), q), 3, bounds[..., 2, :])
    b = _fit_angle(multiply(inverse(x), multiply(q, inverse(about(_Z, c)))), 2, bounds[..., 1, :])
    return np.stack([a, b, c], axis=-1)


def _fit_angle(remainder: Floats, axis_index: int, ends: Floats) -> Floats:
    return clamp_angles(2.0 * np.arctan2(remainder[..., axis_index], remainder[..., 0]), ends[..., 0], ends[..., 1])


def _euler_to_quaternion(angles: Floats) -> Floats:
    """Rx(a) Ry(b) Rz(c)."""
    a, b, c = np.moveaxis(angles, -1, 0)
    return multiply(about(_X, a), multiply(about(_Y, b), about(_Z, c)))


def _measure_chord(p: Floats, q: Floats) -> Floats:
    """Measure the distance of two unit quaternions, 2 sin(angle / 4). q and -q count as one rotation."""
    return np.sqrt(np.minimum(((p - q) ** 2).sum(axis=-1), ((p + q) ** 2).sum(axis=-1)))


# --- Bounds of all joints of a skeleton ------------------------------------------------------------------------------


# [rad, file units] tolerance of hard limits; a q within it is not changed, bit for bit
_LIMIT_SLACK = 1e-9
# [rad] widening of each range of a box: with all three angles that far outside, a rotation is within the tolerance
_BOX_SLACK_RAD = 0.2 * _LIMIT_SLACK


class HingedBalls(NamedTuple):
    """The h ball joints made hinges by a range."""

    joint_rows: tuple[int, ...]
    columns: Ints  # (h, 4) quaternion columns in q
    axes: Floats  # (h, 3)
    low: Floats  # (h,)
    high: Floats  # (h,)


class BallLimits(NamedTuple):
    """The b ball and free joints with a hard rotation limit."""

    joint_rows: tuple[int, ...]
    columns: Ints  # (b, 4) quaternion columns in q
    limit_rows: Floats  # (b, LIMIT) see kernels/limits.py


@dataclass(frozen=True, eq=False)
class Bounds:
    """Limits of all n joints over configurations q (..., nq).

    names             (n) joint names, for messages and for the list of changed joints
    limits            (n) a Limit or None
    nq                numbers in q
    value_columns     (n,) column of a joint's value in q; of a coupled joint its leader's
    rotation_columns  (n,) first of the four quaternion columns in q (ball and free joints)
    couplings         (n, 2) ratio and offset: a joint's value is ratio * q + offset
    leaders           (n) name of a joint's leader, or None
    """

    names: tuple[str, ...]
    limits: tuple[Limit | None, ...]
    nq: int
    value_columns: Ints
    rotation_columns: Ints
    couplings: Floats
    leaders: tuple[str | None, ...]

    @cached_property
    def is_unlimited(self) -> bool:
        """Whether no joint has a limit."""
        return all(limit is None for limit in self.limits)

    @cached_property
    def value_ranges(self) -> Floats:
        """(nq, 2) lowest and highest legal values of q. They are infinite without a limit.

        A coupled joint's own range applies to its leader: low <= ratio * q + offset <= high. Ranges with an axis (ball
        joints) do not bound single numbers and are left out. InputError where the ranges of a joint and of its leader
        leave no value.
        """
        ranges = np.tile([-np.inf, np.inf], (self.nq, 1))
        for i, limit in enumerate(self.limits):
            if not isinstance(limit, Range) or limit.axis is not None or limit.soft:
                continue
            ratio, offset = map(float, self.couplings[i])  # Python floats: 1 / 5e-324 is infinite without a warning
            if ratio == 0.0:
                if not limit.low <= offset <= limit.high:
                    raise InputError(f"{self.names[i]!r} is fixed at {offset:g}, outside its range")
                continue
            low, high = sorted(((limit.low - offset) / ratio, (limit.high - offset) / ratio))
            value_range = ranges[self.value_columns[i]]
            value_range[:] = max(value_range[0], low), min(value_range[1], high)
            if value_range[0] > value_range[1] or value_range[0] == np.inf or value_range[1] == -np.inf:
                other_name = self.leaders[i] or "the joints coupled to it"
                raise InputError(f"the ranges of {self.names[i]!r} and {other_name!r} leave no legal value")
        ranges.setflags(write=False)
        return ranges

    @cached_property
    def ball_hinges(self) -> HingedBalls:
        """The ball and free joints with a range about an axis."""
        joint_rows: list[int] = []
        hinge_rows: list[tuple[float, ...]] = []
        for i, limit in enumerate(self.limits):
            if isinstance(limit, Range) and limit.axis:
                joint_rows.append(i)
                hinge_rows.append((*limit.axis, *((-np.inf, np.inf) if limit.soft else (limit.low, limit.high))))
        table = np.array(hinge_rows, dtype=np.float64).reshape(-1, 5)
        hinges = HingedBalls(
            joint_rows=tuple(joint_rows),
            columns=self._find_quaternion_columns(tuple(joint_rows)),
            axes=table[:, :3].copy(),
            low=table[:, 3].copy(),
            high=table[:, 4].copy(),
        )
        for array in hinges[1:]:
            array.setflags(write=False)
        return hinges

    @cached_property
    def ball_limits(self) -> BallLimits:
        """The ball and free joints with a SwingTwist or an EulerBox."""
        joint_rows: list[int] = []
        limit_rows: list[Floats] = []
        for i, limit in enumerate(self.limits):
            if limit is None or isinstance(limit, Range) or limit.soft:
                continue
            limit_row = pack_limit(limit)
            if limit_row[layout.LIMIT_KIND] != layout.NO_LIMIT:
                joint_rows.append(i)
                limit_rows.append(limit_row)
        ball_limits = BallLimits(
            tuple(joint_rows),
            self._find_quaternion_columns(tuple(joint_rows)),
            np.array(limit_rows).reshape(-1, layout.LIMIT_ROW),
        )
        for array in ball_limits[1:]:
            array.setflags(write=False)
        return ball_limits

    def _find_quaternion_columns(self, joint_rows: tuple[int, ...]) -> Ints:
        """Find the quaternion columns (j, 4) of ball and free joints."""
        return self.rotation_columns[list(joint_rows)].astype(np.int64)[:, None] + np.arange(4)

    def find_nearest_legal(self, q: Floats) -> tuple[Floats, tuple[str, ...]]:
        """Find the nearest legal configuration to q (..., nq). Also return the names of the changed joints.

        Values within 1e-9 of legal are returned unchanged, bit for bit.
        """
        legal_q, changed_rows = self._clamp_values(q)
        joint_rows, ball_columns, limit_rows = self.ball_limits
        for balls in self._group_balls_outside(legal_q):
            columns = ball_columns[balls]
            legal_rotations = clamp_rotations(limit_rows[balls], legal_q[..., columns])
            is_outside_limit = _replace_outside(legal_q, columns, legal_rotations)
            is_ever_outside = is_outside_limit.reshape(-1, len(balls)).any(axis=0)
            changed_rows |= {joint_rows[ball] for ball in balls[is_ever_outside].tolist()}
        return legal_q, tuple(self.names[i] for i in sorted(changed_rows))

    def clamp_by_kernel(self, q: Floats) -> Floats:
        """Clamp q (k, nq) to the nearest legal configurations, by kernel.

        It is `find_nearest_legal` but for rounding of ball joints. For solvers, which need the kernels anyway.
        """
        legal_q, _ = self._clamp_values(q)
        _, columns, limit_rows = self.ball_limits
        if len(columns):
            clamped_q = np.array(legal_q, order="C")
            kernels.limits.clamp_rotations(columns[:, 0].copy(), limit_rows, clamped_q)
            if clamped_q.tobytes() != legal_q.tobytes():
                _replace_outside(legal_q, columns, clamped_q[:, columns])
        return legal_q

    def _clamp_values(self, q: Floats) -> tuple[Floats, set[int]]:
        """Clamp values, and ball joints made hinges. Also return the rows of the changed joints."""
        if self.is_unlimited:
            return q.copy(), set()
        ranges = self.value_ranges
        is_outside = (q < ranges[:, 0] - _LIMIT_SLACK) | (q > ranges[:, 1] + _LIMIT_SLACK)
        changed_rows: set[int] = set()
        legal_q = q.copy()
        if is_outside.any():
            legal_q = np.where(is_outside, np.clip(q, ranges[:, 0], ranges[:, 1]), q)
            columns = set(np.nonzero(is_outside)[-1].tolist())
            limited_rows = {i for i, limit in enumerate(self.limits) if isinstance(limit, Range) and limit.axis is None}
            changed_rows = {i for i in limited_rows if int(self.value_columns[i]) in columns}
        hinges = self.ball_hinges
        if hinges.joint_rows:
            quaternions = legal_q[..., hinges.columns]
            hinged_rotations, excess = _clamp_hinges(hinges, quaternions)
            is_legal = np.asarray(excess <= _LIMIT_SLACK)
            legal_q[..., hinges.columns] = np.where(is_legal[..., None], quaternions, hinged_rotations)
            is_ever_off = (~is_legal).reshape(-1, len(hinges.joint_rows)).any(axis=0)
            changed_rows |= {
                row for row, is_off in zip(hinges.joint_rows, np.atleast_1d(is_ever_off), strict=True) if is_off
            }
        return legal_q, changed_rows

    def _group_balls_outside(self, q: Floats) -> list[Ints]:
        """Group the ball joints outside their limits, or near the ends.

        Those of one kind are a group for one q. For many each joint is its own group, which takes less memory.
        """
        _, columns, limit_rows = self.ball_limits
        if not len(columns):
            return []
        local_q, bounds = _rotate_to_frame(_read_frames(limit_rows), q[..., columns]), _read_bounds(limit_rows)
        is_box = limit_rows[:, layout.LIMIT_KIND] == layout.EULER_BOX
        groups: list[Ints] = []
        for is_kind, is_in_limit in ((is_box, _is_nearly_in_euler_box), (~is_box, _is_in_swing_twist)):
            is_inside = is_in_limit(bounds[is_kind], local_q[..., is_kind, :]).all(axis=tuple(range(q.ndim - 1)))
            balls = np.nonzero(is_kind)[0][~is_inside]
            groups += [balls] if q.size == self.nq else list(balls[:, None])
        return [group for group in groups if len(group)]

    def compute_soft_cost(self, q: Floats) -> Floats:
        """Compute the soft-limit cost (...) of configurations q (..., nq).

        It sums weight * excess^2 [rad^2, file units^2].
        """
        cost = np.zeros(q.shape[:-1])
        for i, limit in enumerate(self.limits):
            if limit is not None and limit.soft:
                cost += limit.soft * self._compute_excess(i, limit, q) ** 2
        return cost

    def _compute_excess(self, i: int, limit: Limit, q: Floats) -> Floats:
        """Compute the limit violation (...) of joint i [rad, file units]."""
        if not isinstance(limit, Range):
            quaternions = q[..., self._find_quaternion_columns((i,))[0]]
            return measure_rotation_excess(quaternions, clamp_rotations(pack_limit(limit), quaternions))
        if limit.axis is None:
            ratio, offset = self.couplings[i]
            value = ratio * q[..., self.value_columns[i]] + offset
            return np.maximum(np.maximum(limit.low - value, value - limit.high), 0.0)
        angle = rotations.twist_angle(q[..., self._find_quaternion_columns((i,))[0]], np.array(limit.axis))
        return np.abs(wrap_angles(angle - clamp_angles(angle, limit.low, limit.high)))


def _replace_outside(q: Floats, columns: Ints, legal_rotations: Floats) -> Bools:
    """Replace illegal rotations of q by legal ones (..., b, 4). Returns which are replaced (..., b)."""
    is_outside = measure_rotation_excess(q[..., columns], legal_rotations) > _LIMIT_SLACK
    q[..., columns] = np.where(is_outside[..., None], legal_rotations, q[..., columns])
    return is_outside


def _clamp_hinges(hinges: HingedBalls, quaternions: Floats) -> tuple[Floats, Floats]:
    """Clamp rotations (..., h, 4) to hinge ranges. Also return the distance [rad] (..., h) of each from legal."""
    angles = clamp_angles(rotations.twist_angle(quaternions, hinges.axes), hinges.low, hinges.high)
    hinge_rotations = rotations.about(hinges.axes, angles)
    sign = np.where((quaternions * hinge_rotations).sum(axis=-1, keepdims=True) < 0, -1.0, 1.0)
    return hinge_rotations, 2 * np.abs(sign * quaternions - hinge_rotations).max(axis=-1, initial=0.0)
