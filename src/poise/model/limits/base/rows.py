"""Limits of ball joints packed as rows, clamped over arrays. It is the NumPy twin of kernels/limits.py.

kernels/limits.py defines the columns of a row and the clamping rule. This is NumPy, so that reading a file
does not wait for a compiler; a property test compares the results.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from poise.kernels.codes import (
    BOX_SWEEPS,
    ELLIPSE_STEPS,
    EULER_BOX,
    LIMIT,
    LIMIT_BOUNDS,
    LIMIT_FRAME,
    LIMIT_KIND,
    LIMIT_SOFT,
    LIMIT_TANGENTS,
    RANGE,
    SLACK,
    SWING_TWIST,
    WIDEST_SWING,
)
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats
from poise.maths.euler import axes_of, from_quaternion, other, wrapped
from poise.maths.rotations import about, inverse, multiply
from poise.model.limits import EulerBox, Limit, Range, SwingTwist, is_soft

_TURN = 2 * np.pi
# [rad] margin of the precomputed tangents: a twist further inside is never at an end
_INSIDE = np.array([2e-6, -2e-6])
# [rad] a value this near to an end counts as active in messages
_AT_END = 1e-6
# [rad] largest twist end with a usable half-angle tangent
_WIDE = np.pi - 1e-3
_X, _Y, _Z = np.eye(3)


def turn_row(limit: Limit | None) -> Floats:
    """Pack a rotation limit into a row (LIMIT,). The row is zero for None and for a hard Range."""
    row = np.zeros(LIMIT)
    if isinstance(limit, SwingTwist):
        x, y = limit.swing_axes
        row[LIMIT_KIND], row[LIMIT_FRAME:LIMIT_BOUNDS] = SWING_TWIST, _frame(x, y, limit.axis)
        row[LIMIT_BOUNDS:LIMIT_SOFT] = np.array([*limit.sides, limit.twist]).ravel()
        row[LIMIT_SOFT] = limit.soft
        twist = row[LIMIT_BOUNDS + 4 : LIMIT_SOFT]
        row[LIMIT_TANGENTS:] = np.tan((twist + _INSIDE) / 2) if np.abs(limit.twist).max() < _WIDE else (1.0, -1.0)
    elif isinstance(limit, EulerBox):
        i, j, k, sign = axes_of(limit.order)
        row[LIMIT_KIND], row[LIMIT_FRAME:LIMIT_BOUNDS] = (
            EULER_BOX,
            _frame(np.eye(3)[i], np.eye(3)[j], sign * np.eye(3)[k]),
        )
        first, second, (low, high) = limit.ranges
        third = (low, high) if sign > 0 else (-high, -low)  # z of the frame is the last axis or its opposite
        row[LIMIT_BOUNDS:LIMIT_SOFT] = np.array([first, second, third]).ravel()
        row[LIMIT_SOFT] = limit.soft
    elif is_soft(limit):
        assert isinstance(limit, Range)
        row[LIMIT_KIND], row[LIMIT_SOFT] = RANGE, limit.soft
        row[LIMIT_BOUNDS : LIMIT_BOUNDS + 2] = limit.low, limit.high
    return row


def _frame(*axes: object) -> Floats:
    """Compute the rotation (4,) from x, y, z to perpendicular axes."""
    return rotations.from_matrix(np.stack(axes, axis=-1))  # pyright: ignore[reportCallIssue, reportArgumentType]


def nearest_angle(angle: ArrayLike, low: ArrayLike, high: ArrayLike) -> Floats:
    """Clamp an angle [rad] to low..high modulo a full turn. Outside, return the end nearer on the circle.

    It is the NumPy twin of `clamp_angle` in kernels/limits.py.
    """
    angle, low, high = (np.asarray(value, dtype=np.float64) for value in (angle, low, high))
    up = angle + _TURN * np.ceil(np.where(angle < low, low - angle, 0.0) / _TURN)
    down = angle - _TURN * np.ceil(np.where(angle > high, angle - high, 0.0) / _TURN)
    turned = np.where(angle < low, up, down)
    two_ended = np.isfinite(low) & np.isfinite(high)
    a, b = np.where(two_ended, low, 0.0), np.where(two_ended, high, 0.0)
    end = np.where(np.cos(a - angle) >= np.cos(b - angle), a, b)
    return np.where(((turned >= low) & (turned <= high)) | ~two_ended, turned, end)


def _in_frame(frame: Floats, q: Floats) -> Floats:
    """Express rotations q (..., 4) in a limit's frame."""
    return np.concatenate([q[..., :1], rotations.rotate(inverse(frame), q[..., 1:])], axis=-1)


def nearest_turns(row: Floats, q: Floats) -> Floats:
    """Clamp rotations q (..., 4) to the nearest legal ones.

    Legal rotations are returned bit for bit; kernel twin: `clamp_rotation`.
    """
    if row[LIMIT_KIND] not in (SWING_TWIST, EULER_BOX):
        return q
    frame, bounds = row[LIMIT_FRAME:LIMIT_BOUNDS], row[LIMIT_BOUNDS:LIMIT_SOFT].reshape(3, 2)
    local = _in_frame(frame, q)
    is_legal, turn = (_swing_twist if row[LIMIT_KIND] == SWING_TWIST else _euler_box)(bounds, local)
    turn = np.concatenate([turn[..., :1], rotations.rotate(frame, turn[..., 1:])], axis=-1)
    turn = np.where((q * turn).sum(axis=-1, keepdims=True) < 0.0, -turn, turn)
    return np.where(is_legal[..., None], q, turn)


def turn_values(limit: Limit, q: Floats) -> Floats:
    """Compute the limited angles of rotations q (..., 4).

    The result (..., 3) [rad] is first swing, second swing and twist, or the Euler angles in the box's order. Of a
    rotation's two triples of Euler angles it is the one in the box, or nearer to it.
    """
    row = turn_row(limit)
    bounds = row[LIMIT_BOUNDS:LIMIT_SOFT].reshape(3, 2)
    local = _in_frame(row[LIMIT_FRAME:LIMIT_BOUNDS], q)
    if not isinstance(limit, EulerBox):
        swing, twist, _ = _parts(local)
        return np.concatenate([swing, nearest_angle(twist, -np.pi, np.pi)[..., None]], axis=-1)
    angles = from_quaternion(local, "XYZ")
    both = np.stack([angles, other(angles)])
    best = nearest_angle(both, bounds[:, 0], bounds[:, 1])
    off = np.abs(wrapped(both - best)).max(axis=-1, keepdims=True)
    values = np.where(off[1] < off[0], best[1] + wrapped(both[1] - best[1]), best[0] + wrapped(both[0] - best[0]))
    return values * [1.0, 1.0, axes_of(limit.order)[3]]


def edges(limit: Limit, q: Floats) -> str:
    """Describe the active limits of a rotation q (4,). The text is empty where none is active."""
    values = turn_values(limit, q)
    if isinstance(limit, EulerBox):
        ends = zip([f"{letter.lower()} angle" for letter in limit.order], values, limit.ranges, strict=True)
        return " and ".join(filter(None, (_end(*end) for end in ends)))
    assert isinstance(limit, SwingTwist)
    swing = values[:2].tolist()
    found: list[str] = []
    axes = [side[1] if value >= 0.0 else -side[0] for side, value in zip(limit.sides, swing, strict=True)]
    reach = [
        abs(value) / axis if axis > _AT_END else float(axis < np.pi) for value, axis in zip(swing, axes, strict=True)
    ]
    if math.hypot(*reach) >= 1.0 - _AT_END:
        found.append(f"the edge of its cone, a swing of {math.degrees(math.hypot(*swing)):.4g} deg")
    return " and ".join(filter(None, [*found, _end("twist", float(values[2]), limit.twist)]))


def _end(name: str, value: float, ends: tuple[float, float]) -> str:
    for word, end in zip(("lowest", "highest"), ends, strict=True):
        if np.isfinite(end) and abs(wrapped(value - end)) <= _AT_END:
            return f"its {word} {name}, {np.degrees(end):.4g} deg"
    return ""


def turn_excess(q: Floats, legal: Floats) -> Floats:
    """Compute the angle [rad] from rotations to legal ones. Both are (..., 4). It is exactly 0 for equal rotations."""
    return 4.0 * np.arcsin(np.minimum(0.5 * np.sqrt(((q - legal) ** 2).sum(axis=-1)), 1.0))


# --- swing and twist ---------------------------------------------------------------------------------------------


def _parts(q: Floats) -> tuple[Floats, Floats, Floats]:
    """Split rotations into swing (..., 2) and twist (...) about z. Also return how well the twist is defined."""
    w, x, y, z = np.moveaxis(q, -1, 0)
    n, r = np.hypot(w, z), np.hypot(x, y)
    safe = np.where(n > 0.0, n, 1.0)
    swing = np.stack([np.where(n > 0.0, w * x - z * y, x), np.where(n > 0.0, w * y + z * x, y)], axis=-1)
    swing = swing * (np.where(r > 0.0, 2.0 * np.arctan2(r, n) / np.where(r > 0.0, r, 1.0), 0.0) / safe)[..., None]
    return swing, 2.0 * np.arctan2(z, w), n


def _swing_twist(bounds: Floats, q: Floats) -> tuple[Bools, Floats]:
    swing, twist, n = _parts(q)
    kept = nearest_angle(twist, *bounds[2])
    to, off = _nearest_swing(bounds[:2], swing)
    is_legal = (off <= SLACK) & (n * 2.0 * np.abs(np.sin(0.5 * (kept - twist))) <= SLACK)
    angle = np.sqrt((to**2).sum(axis=-1))
    half = 0.5 * np.minimum(angle, WIDEST_SWING)
    a, b = np.moveaxis(to * (np.sin(half) / np.where(angle > 0.0, angle, 1.0))[..., None], -1, 0)
    c, s = np.cos(0.5 * kept), np.sin(0.5 * kept)
    return is_legal, np.stack([np.cos(half) * c, a * c + b * s, b * c - a * s, np.cos(half) * s], axis=-1)


def _nearest_swing(sides: Floats, swing: Floats) -> tuple[Floats, Floats]:
    """Clamp swings (..., 2) to the legal region.

    The same rotation the other way round counts too. Also return the distance.
    """
    to = _nearest_in_ellipse(sides, swing)
    off = np.sqrt(((to - swing) ** 2).sum(axis=-1))
    angle = np.sqrt((swing**2).sum(axis=-1, keepdims=True))
    back = swing * (1.0 - _TURN / np.where(angle > 0.0, angle, _TURN))
    to_back = _nearest_in_ellipse(sides, back)
    off_back = np.where(angle[..., 0] > 0.0, np.sqrt(((to_back - back) ** 2).sum(axis=-1)), np.inf)
    return np.where((off_back < off)[..., None], to_back, to), np.minimum(off, off_back)


def _nearest_in_ellipse(sides: Floats, point: Floats) -> Floats:
    """Clamp points (..., 2) to a region of four quarter ellipses."""
    axes = np.where(point >= 0.0, sides[:, 1], -sides[:, 0])
    flat = (axes <= SLACK).any(axis=-1, keepdims=True)
    axes = np.where(axes <= SLACK, 0.0, axes)
    clipped = np.clip(point, -axes, axes)
    axes = np.where(flat, 1.0, axes)
    squares, far = axes**2, np.abs(point)
    t = np.maximum((axes * far - squares).max(axis=-1, keepdims=True), 0.0)
    for _ in range(ELLIPSE_STEPS):
        share = (axes * far / (t + squares)) ** 2
        slope = 2.0 * (share / (t + squares)).sum(axis=-1, keepdims=True)
        step = (share.sum(axis=-1, keepdims=True) - 1.0) / np.where(slope > 0.0, slope, 1.0)
        t = t + np.where(step > 1e-16 * t, step, 0.0)
    inside = ((point / axes) ** 2).sum(axis=-1, keepdims=True) <= 1.0
    return np.where(flat, clipped, np.where(inside, point, squares * point / (t + squares)))


# --- three angles ------------------------------------------------------------------------------------------------


def _euler_box(bounds: Floats, q: Floats) -> tuple[Bools, Floats]:
    angles = from_quaternion(q, "XYZ")
    is_inside = ((angles >= bounds[:, 0]) & (angles <= bounds[:, 1])).all(axis=-1)
    best = nearest_angle(angles, bounds[:, 0], bounds[:, 1])
    second = nearest_angle(other(angles), bounds[:, 0], bounds[:, 1])
    nearer = _chord(q, _turned(second)) < _chord(q, _turned(best))
    best = np.where(nearer[..., None], second, best)
    for _ in range(BOX_SWEEPS):
        swept = _swept(bounds, q, best)
        moving = np.abs(swept - best).max(axis=-1, keepdims=True) > SLACK
        if not moving.any():
            break
        best = np.where(moving, swept, best)
    turn = _turned(best)
    return is_inside | (2.0 * _chord(q, turn) <= SLACK), turn


def _swept(bounds: Floats, q: Floats, angles: Floats) -> Floats:
    """Optimize each angle in its range, one after the other. Each step brings the rotation nearest to q."""
    y, z = about(_Y, angles[..., 1]), about(_Z, angles[..., 2])
    a = _best(multiply(q, inverse(multiply(y, z))), 1, bounds[0])
    x = about(_X, a)
    c = _best(multiply(inverse(multiply(x, y)), q), 3, bounds[2])
    b = _best(multiply(inverse(x), multiply(q, inverse(about(_Z, c)))), 2, bounds[1])
    return np.stack([a, b, c], axis=-1)


def _best(left: Floats, part: int, ends: Floats) -> Floats:
    return nearest_angle(2.0 * np.arctan2(left[..., part], left[..., 0]), *ends)


def _turned(angles: Floats) -> Floats:
    """Rx(a) Ry(b) Rz(c)."""
    a, b, c = np.moveaxis(angles, -1, 0)
    return multiply(about(_X, a), multiply(about(_Y, b), about(_Z, c)))


def _chord(p: Floats, q: Floats) -> Floats:
    """Measure the distance of two unit quaternions, 2 sin(angle / 4). q and -q count as one rotation."""
    return np.sqrt(np.minimum(((p - q) ** 2).sum(axis=-1), ((p + q) ** 2).sum(axis=-1)))
