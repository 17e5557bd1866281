# pyright: standard
"""Rotation fitted to weighted vector pairs by Davenport's q method.

The rotation q that maximises sum w_k t_k . q(c_k) maximises q^T K q, where each pair of vectors adds to the symmetric K
= w [c.t, (c x t)^T; c x t, c t^T + t c^T - (c.t) I]. The best q is the eigenvector of its largest eigenvalue. A wanted
rotation r adds 2 w r r^T. Davenport, "A vector approach to the algebra of rotations", NASA TN D-4696, 1968.
"""

from __future__ import annotations

import math

from poise.kernels.compiled import inline, part
from poise.kernels.values.linear import Quat, cross, dot, normalise

SWEEPS = 12  # most sweeps of Jacobi's method; a 4 x 4 matrix takes 4 or 5
DOUBLE = 1e-9  # share of the largest entry; eigenvalues closer than this are equal


@inline
def clear(K):
    """Reset K to zero."""
    for r in range(4):
        for c in range(4):
            K[r, c] = 0.0


@inline
def add_vectors(K, weight, c, t):
    """Add a vector pair: c should rotate to t."""
    a, n = dot(c, t), cross(c, t)
    K[0, 0] += weight * a
    K[0, 1] += weight * n.x
    K[0, 2] += weight * n.y
    K[0, 3] += weight * n.z
    K[1, 1] += weight * (2.0 * c.x * t.x - a)
    K[2, 2] += weight * (2.0 * c.y * t.y - a)
    K[3, 3] += weight * (2.0 * c.z * t.z - a)
    K[1, 2] += weight * (c.x * t.y + c.y * t.x)
    K[1, 3] += weight * (c.x * t.z + c.z * t.x)
    K[2, 3] += weight * (c.y * t.z + c.z * t.y)


@inline
def add_rotation(K, weight, r):
    """Add a wanted rotation r with gain weight (2 (q.r)^2)."""
    for i in range(4):
        for j in range(i, 4):
            K[i, j] += 2.0 * weight * pick(r, i) * pick(r, j)


@inline
def pick(q, i):
    """Return component i of a quaternion."""
    return q.w if i == 0 else (q.x if i == 1 else (q.y if i == 2 else q.z))


@part
def best_turn(K, V):
    """Find the best rotation, the smallest one of several. K's upper triangle is overwritten."""
    scale = 0.0
    for r in range(4):
        for c in range(4):
            V[r, c] = 1.0 if r == c else 0.0
            if c >= r:
                scale = max(scale, abs(K[r, c]))
    for _ in range(SWEEPS):
        off = 0.0
        for r in range(3):
            for c in range(r + 1, 4):
                off = max(off, abs(K[r, c]))
        # Too small to change a digit of the diagonal.
        if off <= 1e-17 * scale:
            break
        for r in range(3):
            for c in range(r + 1, 4):
                rotate_plane(K, V, r, c)
    return nearest_to_still(K, V, scale)


@inline
def above(r, c):
    """Return the upper-triangle index of a symmetric element."""
    return min(r, c), max(r, c)


@part
def rotate_plane(K, V, p, q):
    """Eliminate K[p, q] by one rotation (Jacobi 1846)."""
    if K[p, q] == 0.0:
        return
    theta = 0.5 * (K[q, q] - K[p, p]) / K[p, q]
    # The smaller of the two possible angles, which changes the other elements least.
    t = (1.0 if theta >= 0.0 else -1.0) / (abs(theta) + math.sqrt(theta * theta + 1.0))
    c = 1.0 / math.sqrt(t * t + 1.0)
    s = t * c
    K[p, p] -= t * K[p, q]
    K[q, q] += t * K[p, q]
    K[p, q] = 0.0
    for k in range(4):
        if k != p and k != q:
            a, b = above(k, p), above(k, q)
            kp, kq = K[a[0], a[1]], K[b[0], b[1]]
            K[a[0], a[1]], K[b[0], b[1]] = c * kp - s * kq, s * kp + c * kq
        vp, vq = V[k, p], V[k, q]
        V[k, p], V[k, q] = c * vp - s * vq, s * vp + c * vq


@inline
def nearest_to_still(K, V, scale):
    """Find the smallest rotation among the leading eigenvectors. It is their mix nearest to the identity."""
    best = 0
    for k in range(1, 4):
        if K[k, k] > K[best, best]:
            best = k
    w, x, y, z = 0.0, 0.0, 0.0, 0.0
    for k in range(4):
        # Equal eigenvalues span a plane of best rotations: the sum of v (v . identity) projects the identity onto it.
        if K[k, k] >= K[best, best] - DOUBLE * scale:
            w, x, y, z = w + V[0, k] * V[0, k], x + V[0, k] * V[1, k], y + V[0, k] * V[2, k], z + V[0, k] * V[3, k]
    if w > DOUBLE:
        return normalise(Quat(w, x, y, z))
    return normalise(Quat(V[0, best], V[1, best], V[2, best], V[3, best]))
