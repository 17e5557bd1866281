# pyright: standard
"""Forward kinematics: world_i = world_parent . A_i . J_i(q_i) . B_i, one loop because parents come first."""

from __future__ import annotations

from poise.kernels.compiled import inline, kernel
from poise.kernels.linear import Quat, Vec, about, add, multiply, rotate, scale

FIXED, HINGE, SLIDE, BALL, FREE = 0, 1, 2, 3, 4


@inline
def moved(kind, axis, A, i, q, start, ratio, offset):
    """Position and rotation of A . J(q), relative to the parent."""
    p = Vec(A[i, 0], A[i, 1], A[i, 2])
    r = Quat(A[i, 3], A[i, 4], A[i, 5], A[i, 6])
    if kind == HINGE:
        r = multiply(r, about(axis, ratio * q[start] + offset))
    elif kind == SLIDE:
        p = add(p, rotate(r, scale(axis, ratio * q[start] + offset)))
    elif kind == BALL:
        r = multiply(r, Quat(q[start], q[start + 1], q[start + 2], q[start + 3]))
    elif kind == FREE:
        p = add(p, rotate(r, Vec(q[start], q[start + 1], q[start + 2])))
        r = multiply(r, Quat(q[start + 3], q[start + 4], q[start + 5], q[start + 6]))
    return p, r


@kernel
def local_transforms(kinds, axes, A, starts, couplings, q, positions, rotations):
    """Fill positions (k, n, 3) and rotations (k, n, 4) of A . J for k configurations q (k, nq)."""
    for k in range(q.shape[0]):
        for i in range(kinds.shape[0]):
            axis = Vec(axes[i, 0], axes[i, 1], axes[i, 2])
            p, r = moved(kinds[i], axis, A, i, q[k], starts[i], couplings[i, 0], couplings[i, 1])
            positions[k, i, 0], positions[k, i, 1], positions[k, i, 2] = p.x, p.y, p.z
            rotations[k, i, 0], rotations[k, i, 1], rotations[k, i, 2], rotations[k, i, 3] = r.w, r.x, r.y, r.z


@kernel
def world_transforms(parents, B, positions, rotations, world):
    """Compose k sets of local transforms A . J (k, n, 3 and 4) and B (1 or k, n, 3, 4) into world (k, n, 3, 4)."""
    for k in range(positions.shape[0]):
        b = B[min(k, B.shape[0] - 1)]
        for i in range(parents.shape[0]):
            compose(world[k], parents[i], i, positions[k, i], rotations[k, i], b[i])


@inline
def compose(world, parent, i, p, q, B):
    """world[i] = world[parent] . (p, q) . B, all affine 3 x 4."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    m00, m01, m02 = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)
    m10, m11, m12 = 2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)
    m20, m21, m22 = 2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)
    for c in range(4):
        b0, b1, b2 = B[0, c], B[1, c], B[2, c]
        l0 = m00 * b0 + m01 * b1 + m02 * b2
        l1 = m10 * b0 + m11 * b1 + m12 * b2
        l2 = m20 * b0 + m21 * b1 + m22 * b2
        if c == 3:
            l0, l1, l2 = l0 + p[0], l1 + p[1], l2 + p[2]
        if parent < 0:
            world[i, 0, c], world[i, 1, c], world[i, 2, c] = l0, l1, l2
        else:
            for r in range(3):
                value = world[parent, r, 0] * l0 + world[parent, r, 1] * l1 + world[parent, r, 2] * l2
                world[i, r, c] = value + (world[parent, r, 3] if c == 3 else 0.0)
