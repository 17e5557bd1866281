# pyright: standard
"""Small matrices: L D L^T, eigenvalues, polar decomposition, rotations.

The L D L^T solvers use no pivoting and no square roots: all lanes take the same steps.
"""

from __future__ import annotations

import math

from poise.kernels.jit import device_function, inline, inline_strict, kernel
from poise.kernels.lanes import broadcast, mask_to_bits, maximum, select, sqrt
from poise.kernels.layout import UNIT_SLACK
from poise.kernels.vec_quat import Quat, Vec, add, conjugate, cross, dot, normalise, scale


@inline
def factor_ldl(A, d, m):
    """Factor A (m, m) into L and 1 / D in place.

    L is below the diagonal of A, d (m,) holds the reciprocals of D; only A's lower triangle is read.
    """
    for k in range(m):
        # One division per column; all else are products, of which a CPU runs several at once.
        inverse = 1.0 / A[k, k]
        d[k] = inverse
        for r in range(k + 1, m):
            multiplier = A[r, k] * inverse
            for j in range(k + 1, r + 1):
                A[r, j] = A[r, j] - multiplier * A[j, k]
        for r in range(k + 1, m):
            A[r, k] = A[r, k] * inverse


@inline
def solve_ldl(A, d, b, y, m):
    """Solve L D L^T y = b with the output of `factor_ldl`."""
    for r in range(m):
        s = b[r]
        for j in range(r):
            s = s - A[r, j] * y[j]
        y[r] = s
    for back in range(m):
        r = m - 1 - back
        s = y[r] * d[r]
        for j in range(r + 1, m):
            s = s - A[j, r] * y[j]
        y[r] = s


# Systems of run-time size with rows in groups of three. Elements are computed row by row from whole, contiguous rows,
# with three independent sums in registers.


@inline
def reduce_block_row(A, r):
    """Eliminate the left part of block rows r..r + 2. Their elements become L D, with the rows above done already."""
    for k in range(r):
        a, b, c = A[r, k], A[r + 1, k], A[r + 2, k]
        for j in range(k):
            a, b, c = a - A[r, j] * A[k, j], b - A[r + 1, j] * A[k, j], c - A[r + 2, j] * A[k, j]
        A[r, k], A[r + 1, k], A[r + 2, k] = a, b, c


@device_function
def factor_ldl_blocks(A, d):
    """Factor A (3 b, 3 b) into L, 1 / D blockwise.

    L is below the diagonal of A, d (3 b,) holds the reciprocals of D; only A's lower triangle is read.
    """
    for r in range(A.shape[0]):
        block_start = r - r % 3
        if r == block_start:
            reduce_block_row(A, r)
        for k in range(block_start, r):
            off_diagonal = A[r, k]
            for j in range(k):
                off_diagonal = off_diagonal - A[r, j] * A[k, j]
            A[r, k] = off_diagonal
        pivot = A[r, r]
        for k in range(r):
            multiplier = A[r, k] * d[k]
            pivot = pivot - A[r, k] * multiplier
            A[r, k] = multiplier
        d[r] = 1.0 / pivot


@device_function
def solve_ldl_rows(A, d, b, y):
    """Solve L D L^T y = b along rows only. A and d come from a factorisation."""
    for r in range(A.shape[0]):
        s = b[r]
        for j in range(r):
            s = s - A[r, j] * y[j]
        y[r] = s
    for r in range(A.shape[0]):
        y[r] = y[r] * d[r]
    for back in range(A.shape[0]):
        r = A.shape[0] - 1 - back
        for j in range(r):
            y[j] = y[j] - A[r, j] * y[r]


# --- Jacobi eigenvalue method for small symmetric matrices, in lanes -------------------------------------------------
#
# All lanes take the same steps.


MAX_JACOBI_SWEEPS = 30  # most sweeps; convergence is quadratic, five to eight are usual, also for equal eigenvalues
OFF_DIAGONAL_TOLERANCE = 1e-15  # share of the trace; smaller off-diagonal elements are rounding


@inline
def compute_jacobi_rotation(lane_kind, A, p, q, threshold):
    """Compute the Jacobi rotation to eliminate A[p, q].

    Return its cosine and sine; lanes with an element of at most `threshold` do not rotate.

    Golub and Van Loan, Matrix Computations, section 8.5: the smaller of the two angles.
    """
    zero, one, off_diagonal = broadcast(lane_kind, 0.0), broadcast(lane_kind, 1.0), A[p, q]
    is_rotated = maximum(off_diagonal, -off_diagonal) > threshold
    # Lanes with nothing to rotate divide by one instead of zero and discard the result.
    ratio = (A[q, q] - A[p, p]) / (2.0 * select(is_rotated, off_diagonal, one))
    abs_ratio = maximum(ratio, -ratio)
    t = select(ratio < 0.0, zero - 1.0, one) / (abs_ratio + sqrt(ratio * ratio + 1.0))
    t = select(is_rotated, t, zero)
    c = 1.0 / sqrt(t * t + 1.0)
    return c, c * t, is_rotated


@device_function
def diagonalise(lane_kind, A, vectors, values):
    """Diagonalise A (m, m), positive semidefinite.

    `values` (m,) get the unordered eigenvalues, the rows of `vectors` the eigenvectors.

    A converged lane keeps its bits while other lanes continue.
    """
    m = A.shape[0]
    trace, zero, one = broadcast(lane_kind, 0.0), broadcast(lane_kind, 0.0), broadcast(lane_kind, 1.0)
    for r in range(m):
        trace = trace + A[r, r]
        for k in range(m):
            vectors[r, k] = one if r == k else zero
    threshold = OFF_DIAGONAL_TOLERANCE * trace
    for _ in range(MAX_JACOBI_SWEEPS):
        sweep_bits = 0
        for p in range(m):
            for q in range(p + 1, m):
                c, s, is_rotated = compute_jacobi_rotation(lane_kind, A, p, q, threshold)
                lane_bits = mask_to_bits(is_rotated)
                sweep_bits |= lane_bits
                # Skipped only if no lane needs it. In the other lanes the rotation is by 0 and changes no bit.
                if lane_bits != 0:
                    rotate_rows(A, vectors, p, q, c, s)
        if sweep_bits == 0:
            break
    for r in range(m):
        # Rounding can make a zero eigenvalue slightly negative, and callers take its square root.
        values[r] = maximum(A[r, r], zero)


@inline
def rotate_rows(A, vectors, p, q, c, s):
    """Apply a rotation R of rows p and q. A becomes R A R^T, vectors R vectors."""
    m = A.shape[0]
    for k in range(m):
        A[k, p], A[k, q] = c * A[k, p] - s * A[k, q], s * A[k, p] + c * A[k, q]
    for k in range(m):
        A[p, k], A[q, k] = c * A[p, k] - s * A[q, k], s * A[p, k] + c * A[q, k]
        vectors[p, k], vectors[q, k] = c * vectors[p, k] - s * vectors[q, k], s * vectors[p, k] + c * vectors[q, k]


# --- Conversion of rotation matrices to quaternions ------------------------------------------------------------------


ORTHOGONALITY_TOLERANCE = 1e-6  # largest error of a product of rows from 0 or 1


@device_function
def matrix_to_quaternion(matrix, row_length):
    """Convert a matrix to a quaternion and check its orthogonality.

    The matrix is row-major in rows of length `row_length`; the second result is whether it is a rotation.

    Of the four formulas it uses the one with the largest divisor (Shepperd, J. Guidance and Control 1(3), 1978).
    """
    a, b, c = matrix[0], matrix[1], matrix[2]
    d, e, f = matrix[row_length], matrix[row_length + 1], matrix[row_length + 2]
    g, h, i = matrix[2 * row_length], matrix[2 * row_length + 1], matrix[2 * row_length + 2]
    # Rows one and two must be orthonormal and row three their cross product, which excludes mirrors.
    max_error = max(abs(a * a + b * b + c * c - 1.0), abs(d * d + e * e + f * f - 1.0), abs(a * d + b * e + c * f))
    max_error = max(max_error, abs(b * f - c * e - g), abs(c * d - a * f - h), abs(a * e - b * d - i))
    trace = a + e + i
    if trace > 0.0:
        s = math.sqrt(trace + 1.0)
        k = 0.5 / s
        q = Quat(0.5 * s, (h - f) * k, (c - g) * k, (d - b) * k)
    elif a >= e and a >= i:
        s = math.sqrt(1.0 + a - e - i)
        k = 0.5 / s
        q = Quat((h - f) * k, 0.5 * s, (b + d) * k, (c + g) * k)
    elif e >= i:
        s = math.sqrt(1.0 - a + e - i)
        k = 0.5 / s
        q = Quat((c - g) * k, (b + d) * k, 0.5 * s, (f + h) * k)
    else:
        s = math.sqrt(1.0 - a - e + i)
        k = 0.5 / s
        q = Quat((d - b) * k, (c + g) * k, (f + h) * k, 0.5 * s)
    return q, max_error <= ORTHOGONALITY_TOLERANCE


@inline_strict
def scale_to_unit(row, start, count):
    """Scale `count` numbers of a row from `start` on to unit length.

    Numbers of unit length to rounding are kept; return False for zero length.
    """
    squared_length, max_component = 0.0, 0.0
    for i in range(start, start + count):
        squared_length += row[i] * row[i]
        max_component = max(max_component, abs(row[i]))
    if abs(squared_length - 1.0) <= UNIT_SLACK:
        return True
    if not max_component > 0.0:
        return False
    squared_length = 0.0
    for i in range(start, start + count):
        row[i] /= max_component  # first, so squares of huge or tiny numbers stay representable
        squared_length += row[i] * row[i]
    length = math.sqrt(squared_length)
    for i in range(start, start + count):
        row[i] /= length
    return True


@kernel
def scale_rows_to_unit(rows):
    """Scale rows (k, n) to length one. Returns the first row of zero length, or -1."""
    for k in range(rows.shape[0]):
        if not scale_to_unit(rows[k], 0, rows.shape[1]):
            return k
    return -1


@inline
def read_base_from_world(base_transform):
    """Return the rotation from world into a base with transform (12,).

    The transform is stored as world transforms are; its scale is left out.
    """
    world_from_base, _ = matrix_to_quaternion(base_transform, 4)
    return conjugate(normalise(world_from_base))


@kernel
def convert_to_quaternions(matrices, out):
    """Convert matrices (k, 9) to quaternions (k, 4) with w >= 0.

    Rigid transforms (k, 12|16) give (k, 7), the position first.

    Returns the first matrix other than a rotation, or -1. One kernel serves one and many, so the bits are equal.
    """
    column_count, q_start = matrices.shape[1], out.shape[1] - 4
    row_length = 3 if column_count == 9 else 4
    for k in range(matrices.shape[0]):
        q, is_rotation = matrix_to_quaternion(matrices[k], row_length)
        if column_count == 16:
            last_row = matrices[k, 12:]
            is_rotation = (
                is_rotation and last_row[0] == 0.0 and last_row[1] == 0.0 and last_row[2] == 0.0 and last_row[3] == 1.0
            )
        if not is_rotation:
            return k
        q = normalise(q)
        sign = -1.0 if q.w < 0.0 else 1.0
        out[k, q_start], out[k, q_start + 1], out[k, q_start + 2], out[k, q_start + 3] = (
            sign * q.w,
            sign * q.x,
            sign * q.y,
            sign * q.z,
        )
        for i in range(q_start):
            out[k, i] = matrices[k, i * row_length + 3]
    return -1


# --- Nearest rotation of a linear map: Newton's polar decomposition --------------------------------------------------
#
# X <- (X + X^-T) / 2 keeps the singular vectors and maps every singular value s to (s + 1/s) / 2, which squares its
# distance from 1. Higham, "Computing the polar decomposition - with applications", SIAM J. Sci. Stat. Comput. 7(4),
# 1986.


MAX_POLAR_STEPS = 8  # most iterations; singular values between 0.5 and 2 take five
POLAR_TOLERANCE = 1e-15  # change of every component below which the iteration ends
SIMILARITY_SLACK = 0.1  # largest relative error of column lengths and volume of a near rotation


@inline
def read_columns(m):
    """Return the columns of an affine map's linear part (12,)."""
    return Vec(m[0], m[4], m[8]), Vec(m[1], m[5], m[9]), Vec(m[2], m[6], m[10])


@device_function
def find_nearest_rotation(affine_map):
    """Find the columns of the rotation nearest to an affine map (12,).

    The map must be nearly a rotation times a factor; also return whether it is.

    The factor may be negative.
    """
    x, y, z = read_columns(affine_map)
    volume = dot(x, cross(y, z))
    column_lengths = math.sqrt(dot(x, x)), math.sqrt(dot(y, y)), math.sqrt(dot(z, z))
    longest, shortest = (
        max(column_lengths[0], column_lengths[1], column_lengths[2]),
        min(column_lengths[0], column_lengths[1], column_lengths[2]),
    )
    cube = longest * longest * longest
    is_similar = (
        longest - shortest <= SIMILARITY_SLACK * longest and abs(abs(volume) - cube) <= 3.0 * SIMILARITY_SLACK * cube
    )
    if not (longest > 0.0 and is_similar):
        return x, y, z, False
    unit_factor = math.copysign(1.0 / longest, volume)
    x, y, z = scale(x, unit_factor), scale(y, unit_factor), scale(z, unit_factor)
    for _ in range(MAX_POLAR_STEPS):
        # The cofactors are the transposed inverse times the volume.
        a, b, c = cross(y, z), cross(z, x), cross(x, y)
        k = 0.5 / dot(x, a)
        u, v, w = add(scale(x, 0.5), scale(a, k)), add(scale(y, 0.5), scale(b, k)), add(scale(z, 0.5), scale(c, k))
        change = max(
            abs(u.x - x.x), abs(u.y - x.y), abs(u.z - x.z), abs(v.x - y.x), abs(v.y - y.y), abs(v.z - y.z),
            abs(w.x - z.x), abs(w.y - z.y), abs(w.z - z.z),
        )  # fmt: skip
        x, y, z = u, v, w
        if change <= POLAR_TOLERANCE:
            break
    return x, y, z, True


# --- Rotation fitted to weighted vector pairs by Davenport's q method ------------------------------------------------
#
# The rotation q that maximises sum w_k t_k . q(c_k) maximises q^T K q, where each pair of vectors adds to the symmetric
# K = w [c.t, (c x t)^T; c x t, c t^T + t c^T - (c.t) I]. The best q is the eigenvector of its largest eigenvalue. A
# wanted rotation r adds 2 w r r^T. Davenport, "A vector approach to the algebra of rotations", NASA TN D-4696, 1968.


DAVENPORT_SWEEPS = 12  # most sweeps of Jacobi's method; a 4 x 4 matrix takes 4 or 5
EIGENVALUE_TIE = 1e-9  # share of the largest entry; eigenvalues closer than this are equal


@inline
def reset_davenport(K):
    """Reset K to zero."""
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
def find_best_rotation(K, V):
    """Find the best rotation, the smallest one of several. K's upper triangle is overwritten."""
    max_entry = 0.0
    for r in range(4):
        for c in range(4):
            V[r, c] = 1.0 if r == c else 0.0
            if c >= r:
                max_entry = max(max_entry, abs(K[r, c]))
    for _ in range(DAVENPORT_SWEEPS):
        max_off_diagonal = 0.0
        for r in range(3):
            for c in range(r + 1, 4):
                max_off_diagonal = max(max_off_diagonal, abs(K[r, c]))
        # Too small to change a digit of the diagonal.
        if max_off_diagonal <= 1e-17 * max_entry:
            break
        for r in range(3):
            for c in range(r + 1, 4):
                eliminate_element(K, V, r, c)
    return find_smallest_rotation(K, V, max_entry)


@inline
def upper_index(r, c):
    """Return the upper-triangle index of a symmetric element."""
    return min(r, c), max(r, c)


@device_function
def eliminate_element(K, V, p, q):
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
            a, b = upper_index(k, p), upper_index(k, q)
            kp, kq = K[a[0], a[1]], K[b[0], b[1]]
            K[a[0], a[1]], K[b[0], b[1]] = c * kp - s * kq, s * kp + c * kq
        vp, vq = V[k, p], V[k, q]
        V[k, p], V[k, q] = c * vp - s * vq, s * vp + c * vq


@inline
def find_smallest_rotation(K, V, max_entry):
    """Find the smallest rotation among the leading eigenvectors. It is their mix nearest to the identity."""
    best_index = 0
    for k in range(1, 4):
        if K[k, k] > K[best_index, best_index]:
            best_index = k
    w, x, y, z = 0.0, 0.0, 0.0, 0.0
    for k in range(4):
        # Equal eigenvalues span a plane of best rotations: the sum of v (v . identity) projects the identity onto it.
        if K[k, k] >= K[best_index, best_index] - EIGENVALUE_TIE * max_entry:
            w, x, y, z = w + V[0, k] * V[0, k], x + V[0, k] * V[1, k], y + V[0, k] * V[2, k], z + V[0, k] * V[3, k]
    if w > EIGENVALUE_TIE:
        return normalise(Quat(w, x, y, z))
    return normalise(Quat(V[0, best_index], V[1, best_index], V[2, best_index], V[3, best_index]))
