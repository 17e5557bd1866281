# pyright: standard
"""Least-squares rotation of weighted vector pairs, by Davenport's q method.

The rotation q that maximises sum w_k t_k . q(c_k) maximises q^T K q, where each pair of vectors adds to the symmetric
K = w [c.t, (c x t)^T; c x t, c t^T + t c^T - (c.t) I]. The best q is the eigenvector of its largest eigenvalue. A
wanted rotation r adds 2 w r r^T. Davenport, "A vector approach to the algebra of rotations", NASA TN D-4696, 1968.
"""

from __future__ import annotations

import math

from poise.kernels.device_functions import device_function, inline
from poise.kernels.vec_quat import Quat, cross, dot, normalise

JACOBI_SWEEPS = 12  # most sweeps of Jacobi's method; a 4 x 4 matrix takes 4 or 5
EIGENVALUE_TIE = 1e-9  # share of the largest entry; eigenvalues closer than this are equal


@inline
def reset_matrix(K):
    """Set K to zero."""
    for r in range(4):
        for c in range(4):
            K[r, c] = 0.0


@inline
def add_vector_pair(K, weight, c, t):
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
def add_wanted_rotation(K, weight, r):
    """Add a wanted rotation r with gain weight (2 (q.r)^2)."""
    for i in range(4):
        for j in range(i, 4):
            K[i, j] += 2.0 * weight * quat_component(r, i) * quat_component(r, j)


@inline
def quat_component(q, i):
    """Return component i of a quaternion."""
    return q.w if i == 0 else (q.x if i == 1 else (q.y if i == 2 else q.z))


@device_function
def find_best_rotation(K, vectors):
    """Find the best rotation, the smallest one of several.

    K's upper triangle is overwritten; `vectors` (4, 4) gets its eigenvectors as columns.
    """
    max_entry = 0.0
    for r in range(4):
        for c in range(4):
            vectors[r, c] = 1.0 if r == c else 0.0
            if c >= r:
                max_entry = max(max_entry, abs(K[r, c]))
    for _ in range(JACOBI_SWEEPS):
        max_off_diagonal = 0.0
        for r in range(3):
            for c in range(r + 1, 4):
                max_off_diagonal = max(max_off_diagonal, abs(K[r, c]))
        # Too small to change a digit of the diagonal.
        if max_off_diagonal <= 1e-17 * max_entry:
            break
        for r in range(3):
            for c in range(r + 1, 4):
                apply_jacobi_rotation(K, vectors, r, c)
    return find_smallest_rotation(K, vectors, max_entry)


@inline
def upper_index(r, c):
    """Return the upper-triangle index of a symmetric element."""
    return min(r, c), max(r, c)


@device_function
def apply_jacobi_rotation(K, vectors, p, q):
    """Eliminate K[p, q] by one rotation (Jacobi 1846). `vectors` gets the same rotation."""
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
            p_element, q_element = upper_index(k, p), upper_index(k, q)
            kp, kq = K[p_element[0], p_element[1]], K[q_element[0], q_element[1]]
            K[p_element[0], p_element[1]], K[q_element[0], q_element[1]] = c * kp - s * kq, s * kp + c * kq
        vp, vq = vectors[k, p], vectors[k, q]
        vectors[k, p], vectors[k, q] = c * vp - s * vq, s * vp + c * vq


@inline
def find_smallest_rotation(K, vectors, max_entry):
    """Find the smallest rotation among the leading eigenvectors. It is their mix nearest to the identity."""
    best_index = 0
    for k in range(1, 4):
        if K[k, k] > K[best_index, best_index]:
            best_index = k
    w, x, y, z = 0.0, 0.0, 0.0, 0.0
    for k in range(4):
        # Equal eigenvalues span a plane of best rotations: the sum of v (v . identity) projects the identity onto it.
        if K[k, k] >= K[best_index, best_index] - EIGENVALUE_TIE * max_entry:
            w, x, y, z = (
                w + vectors[0, k] * vectors[0, k],
                x + vectors[0, k] * vectors[1, k],
                y + vectors[0, k] * vectors[2, k],
                z + vectors[0, k] * vectors[3, k],
            )
    if w > EIGENVALUE_TIE:
        return normalise(Quat(w, x, y, z))
    return normalise(
        Quat(vectors[0, best_index], vectors[1, best_index], vectors[2, best_index], vectors[3, best_index])
    )
