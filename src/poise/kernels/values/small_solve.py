# pyright: standard
"""Symmetric positive definite systems by L D L^T, without pivoting or square roots: the same steps in every lane."""

from __future__ import annotations

from poise.kernels.compiled import inline, part


@inline
def factor(A, d, m):
    """A (m, m) becomes L below its diagonal, d (m,) the reciprocals of D; only A's lower triangle is read."""
    for k in range(m):
        # One division a column; the rest are products, which lanes have several of at once.
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
    """Solve L D L^T y = b with what `factor` left in A and d."""
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


# The same for systems of run-time size in which three rows belong together. Elements are made row by row from whole
# rows, which lie together in memory, and three sums run side by side in registers, so that none waits for itself.


@inline
def reduce_three(A, r):
    """Bring the elements of rows r, r + 1, r + 2 left of their diagonal block to L D, given the rows above."""
    for k in range(r):
        a, b, c = A[r, k], A[r + 1, k], A[r + 2, k]
        for j in range(k):
            a, b, c = a - A[r, j] * A[k, j], b - A[r + 1, j] * A[k, j], c - A[r + 2, j] * A[k, j]
        A[r, k], A[r + 1, k], A[r + 2, k] = a, b, c


@part
def factor_threes(A, d):
    """A (3 b, 3 b) becomes L below its diagonal, d (3 b,) the reciprocals of D; only A's lower triangle is read."""
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
    """Solve L D L^T y = b with what a factorisation left in A and d, walking along rows only."""
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
