# pyright: standard
"""Symmetric matrices: linear systems by L D L^T, eigenvalues by Jacobi rotations.

The L D L^T solvers use no pivoting and no square roots: all lanes take the same steps.
"""

from __future__ import annotations

from poise.kernels.device_functions import device_function, inline
from poise.kernels.lanes import broadcast, mask_to_bits, maximum, select, sqrt


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
def solve_ldl_blocks(A, d, b, y):
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
                    apply_jacobi_rotation(A, vectors, p, q, c, s)
        if sweep_bits == 0:
            break
    for r in range(m):
        # Rounding can make a zero eigenvalue slightly negative, and callers take its square root.
        values[r] = maximum(A[r, r], zero)


@inline
def apply_jacobi_rotation(A, vectors, p, q, c, s):
    """Apply a rotation R of rows p and q. A becomes R A R^T, vectors R vectors."""
    m = A.shape[0]
    for k in range(m):
        A[k, p], A[k, q] = c * A[k, p] - s * A[k, q], s * A[k, p] + c * A[k, q]
    for k in range(m):
        A[p, k], A[q, k] = c * A[p, k] - s * A[q, k], s * A[p, k] + c * A[q, k]
        vectors[p, k], vectors[q, k] = c * vectors[p, k] - s * vectors[q, k], s * vectors[p, k] + c * vectors[q, k]
