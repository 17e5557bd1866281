"""Forward kinematics and errors from the definition alone: matrices of NumPy, nothing of Poise but its arrays.

local_i(q) = A_i . J_i(q_i) . B_i          world_i = world_parent . local_i
"""

from __future__ import annotations

from typing import Any

import numpy as np

import poise
from poise import Kind

Array = np.ndarray[Any, np.dtype[np.float64]]
IDENTITY = np.eye(3)


def from_quaternion(q: Array) -> Array:
    """Matrices (..., 3, 3) of unit quaternions w x y z (..., 4)."""
    w, x, y, z = np.moveaxis(q, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(np.broadcast_arrays(*row), axis=-1) for row in rows], axis=-2)


def about(axis: Array, angle: Array) -> Array:
    """Matrices (..., 3, 3) of turns by angles (...) about a unit axis, by Rodrigues."""
    k = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    s, c = np.sin(angle)[..., None, None], np.cos(angle)[..., None, None]
    return IDENTITY + s * k + (1 - c) * (k @ k)


def value_of(skeleton: poise.Skeleton, row: int, q: Array) -> Array:
    """The value (...) of a hinge or slide, couplings followed to their leaders."""
    factor, shift, coupling = 1.0, 0.0, skeleton.couplings[row]
    if coupling is not None:
        row, factor, shift = coupling.leader, coupling.ratio, coupling.offset
    return factor * q[..., skeleton.q_start[row]] + shift


def world(pose: poise.Pose, q: Array) -> tuple[Array, Array]:
    """Linear parts (k, n, 3, 3) and positions (k, n, 3) for configurations (k, nq) of a pose's skeleton."""
    s, k = pose.skeleton, len(q)
    linear, place = np.empty((k, len(s), 3, 3)), np.empty((k, len(s), 3))
    for i, kind in enumerate(s.kinds):
        offset = s.A[i, :3] if pose.translations is None or kind == Kind.FREE else pose.translations[i]
        turn, at = from_quaternion(s.A[i, 3:]), int(s.q_start[i])
        motion, slid = np.broadcast_to(IDENTITY, (k, 3, 3)), np.zeros((k, 3))
        if kind == Kind.HINGE:
            motion = about(s.axes[i], value_of(s, i, q))
        elif kind == Kind.SLIDE:
            slid = value_of(s, i, q)[:, None] * s.axes[i]
        elif kind == Kind.BALL:
            motion = from_quaternion(q[:, at : at + 4])
        elif kind == Kind.FREE:
            motion, slid = from_quaternion(q[:, at + 3 : at + 7]), q[:, at : at + 3]
        b = s.B[i] if pose.scales is None else np.concatenate([np.diag(pose.scales[i]), s.B[i, :, 3:]], axis=1)
        local, moved = turn @ motion @ b[:, :3], offset + (slid + motion @ b[:, 3]) @ turn.T
        parent = int(s.parents[i])
        if parent < 0:
            linear[:, i], place[:, i] = local, moved
        else:
            linear[:, i] = linear[:, parent] @ local
            place[:, i] = place[:, parent] + np.einsum("kij,kj->ki", linear[:, parent], moved)
    return linear, place


def rotation_of(linear: Array) -> Array:
    """The rotations in uniformly scaled, perhaps mirrored, linear parts (..., 3, 3)."""
    return linear / np.cbrt(np.linalg.det(linear))[..., None, None]


def length(v: Array) -> Array:
    """Lengths (...) of vectors (..., 3)."""
    return np.sqrt((v * v).sum(axis=-1))


def angle_between(a: Array, b: Array) -> Array:
    """Angles (...) between vectors (..., 3), well conditioned everywhere."""
    return np.arctan2(length(np.cross(a, b)), (a * b).sum(axis=-1))


def angle_of(turn: Array) -> Array:
    """Angles (...) of rotation matrices (..., 3, 3)."""
    skew = np.stack([turn[..., 2, 1] - turn[..., 1, 2], turn[..., 0, 2] - turn[..., 2, 0],
                     turn[..., 1, 0] - turn[..., 0, 1]], axis=-1)  # fmt: skip
    return np.arctan2(length(skew), np.trace(turn, axis1=-2, axis2=-1) - 1)


def errors_of(goal: Any, pose: poise.Pose, q: Array, rows: Array) -> tuple[Array, Array]:
    """Errors (k, m) of a goal with targets (k, width) in configurations (k, nq), and how well rounding lets one know.

    The second: the least lengths or angles (k, m) that coordinates in double precision can tell.
    """
    s = pose.skeleton
    linear, place = world(pose, q)
    if isinstance(goal, poise.Pole):
        return _side(goal, s, place, rows)
    row = s.index(goal.joint)
    turn = rotation_of(linear[:, row])
    at = place[:, row] + linear[:, row] @ np.array(getattr(goal, "offset", (0.0, 0.0, 0.0)))
    reported = 1e-12 * np.maximum(np.abs(place).max(axis=(1, 2)), np.abs(rows[:, :3]).max(axis=1, initial=0.0))
    found: list[Array] = []
    fine: list[Array] = []
    for measure in goal.measures:
        if measure == "position":
            found.append(length(rows[:, :3] - at))
            fine.append(reported)
        elif measure == "rotation":
            found.append(angle_of(from_quaternion(rows[:, -4:]) @ np.swapaxes(turn, 1, 2)))
            fine.append(np.full(len(q), 1e-11))
        else:
            way = rows if measure == "direction" else rows - at
            found.append(angle_between(turn @ np.array(goal.axis), way))
            fine.append(1e-11 + (0.0 if measure == "direction" else 4.0) * reported / np.maximum(length(way), 1e-300))
    return np.stack(found, axis=1), np.stack(fine, axis=1)


def _side(goal: poise.Pole, s: poise.Skeleton, place: Array, rows: Array) -> tuple[Array, Array]:
    first, middle, tip = (place[:, i] for i in goal.limb(s))
    line = tip - first
    along = line / np.maximum(length(line), 1e-300)[:, None]
    a, b = (v - (v * along).sum(axis=1, keepdims=True) * along for v in (middle - first, rows - first))
    reported = 1e-12 * np.maximum(np.abs(place).max(axis=(1, 2)), np.abs(rows).max(axis=1))
    shortest = np.minimum(np.minimum(length(a), length(b)), length(line))
    limb = length(middle - first) + length(tip - middle)
    vague = shortest <= 1e-5 * limb  # near the line the side is none
    angle = angle_between(a, b)
    return angle[:, None], np.where(vague, np.inf, 1e-11 + 16 * reported / np.maximum(shortest, 1e-300))[:, None]
