"""Forward kinematics with 4 x 4 matrices, one joint at a time, straight from the definition."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation


def matrix(position, quaternion):
    """A rigid 4 x 4 matrix of a position and a rotation w x y z."""
    m = np.eye(4)
    m[:3, :3] = Rotation.from_quat(np.roll(quaternion, -1)).as_matrix()
    m[:3, 3] = position
    return m


def motion(skeleton, i, q):
    """J of joint i."""
    ratio, offset = skeleton.coupling_rows[i]
    start = skeleton.q_start[i]
    kind, axis = skeleton.kinds[i], skeleton.axes[i]
    if kind == 1:
        turn = Rotation.from_rotvec(axis * (ratio * q[start] + offset)).as_quat()
        return matrix(np.zeros(3), np.roll(turn, 1))
    if kind == 2:
        return matrix(axis * (ratio * q[start] + offset), [1, 0, 0, 0])
    if kind == 3:
        return matrix(np.zeros(3), q[start : start + 4])
    if kind == 4:
        return matrix(q[start : start + 3], q[start + 3 : start + 7])
    return np.eye(4)


def world(skeleton, q):
    """World matrices (n, 4, 4): world_parent . A . J . B."""
    result = []
    for i, parent in enumerate(skeleton.parents):
        b = np.eye(4)
        b[:3] = skeleton.B[i]
        local = matrix(skeleton.A[i, :3], skeleton.A[i, 3:]) @ motion(skeleton, i, q) @ b
        result.append(local if parent < 0 else result[parent] @ local)
    return np.array(result)
