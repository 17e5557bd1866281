# pyright: standard
"""Jacobi eigenvalue method for small symmetric matrices, in lanes. All lanes take the same steps."""

from __future__ import annotations

from poise.kernels.compiled import inline, part
from poise.kernels.values.lanes import bits, fill, maximum, select, sqrt

SWEEPS = 30  # most sweeps; convergence is quadratic, five to eight are usual, also for equal eigenvalues
NEGLIGIBLE = 1e-15  # share of the trace; smaller off-diagonal elements are rounding


@inline
def rotation_of(kind, A, p, q, least):
    """Compute the Jacobi rotation to eliminate A[p, q].

    Return its cosine and sine; lanes with an element of at most `threshold` do not rotate.

    Golub and Van Loan, Matrix Computations, section 8.5: the smaller of the two angles.
    """
    zero, one, element = fill(kind, 0.0), fill(kind, 1.0), A[p, q]
    rotates = maximum(element, -element) > least
    # Lanes with nothing to rotate divide by one instead of zero and discard the result.
    ratio = (A[q, q] - A[p, p]) / (2.0 * select(rotates, element, one))
    size = maximum(ratio, -ratio)
    t = select(ratio < 0.0, zero - 1.0, one) / (size + sqrt(ratio * ratio + 1.0))
    t = select(rotates, t, zero)
    c = 1.0 / sqrt(t * t + 1.0)
    return c, c * t, rotates


@part
def eigen(kind, A, vectors, values):
    """Diagonalise A (m, m), positive semidefinite.

    `values` (m,) get the unordered eigenvalues, the rows of `vectors` the eigenvectors.

    A converged lane keeps its bits while other lanes continue.
    """
    m = A.shape[0]
    trace, zero, one = fill(kind, 0.0), fill(kind, 0.0), fill(kind, 1.0)
    for r in range(m):
        trace = trace + A[r, r]
        for k in range(m):
            vectors[r, k] = one if r == k else zero
    least = NEGLIGIBLE * trace
    for _ in range(SWEEPS):
        busy = 0
        for p in range(m):
            for q in range(p + 1, m):
                c, s, rotates = rotation_of(kind, A, p, q, least)
                some = bits(rotates)
                busy |= some
                # Skipped only if no lane needs it. In the other lanes the rotation is by 0 and changes no bit.
                if some != 0:
                    rotate_rows(A, vectors, p, q, c, s)
        if busy == 0:
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
