# pyright: standard
"""Step rules of the Jacobian methods.

All of them step by J^T y and differ only in y:

    transpose        y = a e
    pseudo-inverse   y = (J J^T)^+ e
    damped           y = (J J^T + l I)^-1 e
    selective        y = sum_i k_i (u_i . e) / s_i^2 u_i, with s_i, u_i the singular values and vectors of J

`lanes.rest` is the clamped e; J has its rows frozen and scaled by `freeze_dofs`. Each rule fills lanes.y. Sources:
Buss, "Introduction to inverse kinematics with Jacobian transpose, pseudoinverse and damped least squares methods",
2004; Buss and Kim, "Selectively damped least squares for inverse kinematics", J. Graphics Tools 10(3), 2005.
"""

from __future__ import annotations

from poise.kernels.codes import TERM_ROW
from poise.kernels.compiled import inline, part
from poise.kernels.tree.tree import along, normal_matrix
from poise.kernels.values.eigen import eigen
from poise.kernels.values.lanes import fill, maximum, minimum, select, sqrt
from poise.kernels.values.small_solve import factor_threes, substitute_rows

TINY = 1e-300  # smallest divisor of a length or a squared length
RANK = 1e-12  # squared singular values below this share of the largest are rounding in J J^T


@part
def clamp_errors(tree, lanes, most):
    """Clamp each term's error in a step to max_errors (t,)."""
    for t in range(tree.terms.shape[0]):
        r = tree.terms[t, TERM_ROW]
        x, y, z = lanes.rest[r], lanes.rest[r + 1], lanes.rest[r + 2]
        length = sqrt(x * x + y * y + z * z)
        # Buss's D_max: a distant target would otherwise exceed the linear model and dominate the rows of other goals.
        share = minimum(most[t] / maximum(length, TINY + 0.0 * length), 1.0 + 0.0 * length)
        lanes.rest[r], lanes.rest[r + 1], lanes.rest[r + 2] = x * share, y * share, z * share


@part
def transpose(lanes, factor):
    """Fill y with the gradient step, scaled by a factor."""
    for r in range(lanes.y.shape[0]):
        lanes.y[r] = factor * lanes.rest[r]


@part
def best_factor(kind, tree, lanes):
    """Compute the optimal gain a of a transpose step.

    J a J^T e is then nearest to e: e . J J^T e / |J J^T e|^2 (Buss, equation 8).
    """
    zero, slope = fill(kind, 0.0), fill(kind, 0.0)
    for r in range(lanes.y.shape[0]):
        lanes.y[r] = zero
    for d in range(tree.dofs.shape[0]):
        # J J^T e, dof by dof: the matrix itself is not needed.
        g = along(kind, tree, lanes.J, d, lanes.rest)
        slope = slope + g * g
        for r in range(tree.row_ranges[d, 0], tree.row_ranges[d, 1]):
            lanes.y[r] = lanes.y[r] + lanes.J[d, r] * g
    size = zero
    for r in range(lanes.y.shape[0]):
        size = size + lanes.y[r] * lanes.y[r]
    return select(size > 0.0, slope / maximum(size, zero + TINY), zero)


@part
def damped(kind, tree, lanes, damping):
    """Solve the damped least-squares step."""
    normal_matrix(kind, tree, lanes, damping)
    factor_threes(lanes.A, lanes.d)
    substitute_rows(lanes.A, lanes.d, lanes.rest, lanes.y)


@part
def singular(kind, tree, lanes, vectors):
    """Decompose J into singular values and vectors.

    lanes.d gets the squared values, the rows of `vectors` the u_i, y becomes zero. Returns the largest one.
    """
    m = lanes.d.shape[0]
    # The eigenvectors of J J^T are the singular vectors of J in the space of the goals, its eigenvalues their squares:
    # one m x m problem for any number of joints.
    normal_matrix(kind, tree, lanes, fill(kind, 0.0))
    for r in range(m):
        for k in range(r + 1, m):
            # The factorization reads only the lower triangle, the rotations both.
            lanes.A[r, k] = lanes.A[k, r]
    eigen(kind, lanes.A, vectors, lanes.d)
    largest = fill(kind, 0.0)
    for i in range(m):
        largest = maximum(largest, lanes.d[i])
        lanes.y[i] = fill(kind, 0.0)
    return largest


@inline
def add_along(lanes, vectors, i, amount):
    """Add a multiple of singular vector i to y."""
    for r in range(lanes.y.shape[0]):
        lanes.y[r] = lanes.y[r] + amount * vectors[i, r]


@inline
def share_of(kind, lanes, vectors, i):
    """Return u_i . e, the component of the error along u_i."""
    share = fill(kind, 0.0)
    for r in range(lanes.y.shape[0]):
        share = share + vectors[i, r] * lanes.rest[r]
    return share


@part
def pseudo_inverse(kind, tree, lanes, vectors, cut):
    """Solve the shortest step for e, without small singular values. Values below `cut` of the largest are left out."""
    least = maximum(singular(kind, tree, lanes, vectors) * (cut * cut), fill(kind, TINY))
    for i in range(lanes.d.shape[0]):
        # lanes.d has squares, so the cut is squared too.
        kept = lanes.d[i] >= least
        share = share_of(kind, lanes, vectors, i) / maximum(lanes.d[i], least)
        add_along(lanes, vectors, i, select(kept, share, 0.0 * share))


@inline
def blocks(kind, row, first, last):
    """Sum the lengths of a row's blocks of three."""
    total = fill(kind, 0.0)
    for r in range(first, last, 3):
        total = total + sqrt(row[r] * row[r] + row[r + 1] * row[r + 1] + row[r + 2] * row[r + 2])
    return total


@part
def selective(kind, tree, lanes, vectors, sways, most):
    """Solve the selectively damped step (Buss and Kim, section 3).

    goal_motions (nd,) is scratch: the sum of all goals' motions per unit of a dof. Along u_i the part v_i / s_i of
    length u_i . e may rotate a joint by at most g_i = max_step min(1, N_i / M_i). N_i is the wanted motion of the goals
    along u_i, M_i the sum of their motions by all joints, without cancellation.
    """
    zero = fill(kind, 0.0)
    least = maximum(singular(kind, tree, lanes, vectors) * RANK, zero + TINY)
    for d in range(sways.shape[0]):
        sways[d] = blocks(kind, lanes.J[d], tree.row_ranges[d, 0], tree.row_ranges[d, 1])
    for i in range(lanes.d.shape[0]):
        square = maximum(lanes.d[i], least)
        swung, widest = zero, zero
        for d in range(sways.shape[0]):
            v = along(kind, tree, lanes.J, d, vectors[i])  # s_i v_i
            size = maximum(v, -v)
            swung, widest = swung + size * sways[d], maximum(widest, size)
        wanted = blocks(kind, vectors[i], 0, lanes.d.shape[0])
        limit = most * minimum(wanted * square / maximum(swung, zero + TINY), zero + 1.0)  # swung is s_i^2 M_i
        share = share_of(kind, lanes, vectors, i) / square
        turn = maximum(share, -share) * widest
        # The whole error along u_i, or the share at which the largest joint angle equals its limit.
        share = share * minimum(limit / maximum(turn, zero + TINY), zero + 1.0)
        add_along(lanes, vectors, i, select(lanes.d[i] >= least, share, zero))


@part
def cap(kind, tree, lanes, most, share):
    """Shorten y to move each dof by at most `max_step`. Then scale it by a share; units are rad or kernel units."""
    largest = fill(kind, TINY)
    for d in range(tree.dofs.shape[0]):
        step = along(kind, tree, lanes.J, d, lanes.y)
        largest = maximum(largest, maximum(step, -step))
    share = share * minimum(most / largest, 1.0 + 0.0 * largest)
    for r in range(lanes.y.shape[0]):
        lanes.y[r] = lanes.y[r] * share
