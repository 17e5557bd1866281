# pyright: standard
"""L D L^T solver for symmetric positive definite systems, in lanes.

No pivoting and no square roots: all lanes take the same steps.
"""

from __future__ import annotations

from poise.kernels.compiled import inline, part


@inline
def factor(A, d, m):
    """Factor A (m, m) into L and 1 / D in place.

    L is below the diagonal of A, d (m,) holds the reciprocals of D; only A's lower triangle is read.
    """
    for k in range(m):
        # One division per column; all else are products, of which a CPU runs several at once.
        inverse = 1.0 / A[k, k]
        d[k] = inverse
        for r in range(k + 1, m):
            share = A[r, k] * inverse
            for j in range(k + 1, r + 1):
                A[r, j] = A[r, j] - share * A[j, k]
        for r in range(k + 1, m):
            A[r, k] = A[r, k] * inverse


@inline
def substitute(A, d, b, y, m):
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
def reduce_three(A, r):
    """Eliminate the left part of block rows r..r + 2. Their elements become L D, with the rows above done already."""
    for k in range(r):
        a, b, c = A[r, k], A[r + 1, k], A[r + 2, k]
        for j in range(k):
            a, b, c = a - A[r, j] * A[k, j], b - A[r + 1, j] * A[k, j], c - A[r + 2, j] * A[k, j]
        A[r, k], A[r + 1, k], A[r + 2, k] = a, b, c


@part
def factor_threes(A, d):
    """Factor A (3 b, 3 b) into L, 1 / D blockwise.

    L is below the diagonal of A, d (3 b,) holds the reciprocals of D; only A's lower triangle is read.
    """
    for r in range(A.shape[0]):
        first = r - r % 3
        if r == first:
            reduce_three(A, r)
        for k in range(first, r):
            s = A[r, k]
            for j in range(k):
                s = s - A[r, j] * A[k, j]
            A[r, k] = s
        pivot = A[r, r]
        for k in range(r):
            share = A[r, k] * d[k]
            pivot = pivot - A[r, k] * share
            A[r, k] = share
        d[r] = 1.0 / pivot


@part
def substitute_rows(A, d, b, y):
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
