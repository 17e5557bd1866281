# pyright: standard
"""Range violations of configurations. Ranges bound values of q, and ball joints reduced to hinges.

Every solution is checked with it. The tests hold a reference implementation over arrays.
"""

from __future__ import annotations

import math

from poise.kernels.compiled import inline, kernel
from poise.kernels.limits.angles import best_angle, twist_angle
from poise.kernels.values.linear import Quat, about, quat_in, vec_in


@kernel
def largest(bounded, ranges, columns, axes, low, high, q):
    """Find the largest range excess of configurations. In [rad] or file units, over q (k, nq); NaN propagates.

    bounded (c,)     columns of q bounded by the rows of `ranges` (nq, 2)
    columns (h, 4)   columns of the hinges' quaternions
    axes    (h, 3)   axes of the hinges
    low, high (h,)   ranges of their angles
    """
    most = 0.0
    for i in range(q.shape[0]):
        for j in bounded:
            most = larger(most, larger(ranges[j, 0] - q[i, j], q[i, j] - ranges[j, 1]))
        for h in range(columns.shape[0]):
            turn = quat_in(q[i], columns[h, 0])
            most = larger(most, hinge_excess(turn, vec_in(axes[h], 0), low[h], high[h]))
    return most


@kernel
def stands(turns, bounded, ranges, columns, axes, low, high, q, unit, most):
    """Return whether a configuration is a valid start.

    q (nq,) must be finite and legal, with rotations of unit length.

    quaternion_columns (b,)  first column of each quaternion
    unit_tolerance           of their squared lengths
    max_excess               of values beyond their ranges; the others as in `find_max_violation`
    """
    for j in range(q.shape[0]):
        if not math.isfinite(q[j]):
            return False
    for j in turns:
        turn = quat_in(q, j)
        square = turn.w * turn.w + turn.x * turn.x + turn.y * turn.y + turn.z * turn.z
        if not abs(square - 1.0) <= unit:
            return False
    for j in bounded:
        if larger(ranges[j, 0] - q[j], q[j] - ranges[j, 1]) > most:
            return False
    for h in range(columns.shape[0]):
        if not hinge_excess(quat_in(q, columns[h, 0]), vec_in(axes[h], 0), low[h], high[h]) <= most:
            return False
    return True


@inline
def hinge_excess(turn, axis, low, high):
    """Measure the excess of a hinged ball.

    It is twice the largest component difference from the nearest rotation about the axis by an angle in low..high. For
    small differences it does not exceed the angle [rad] between the two.
    """
    q = Quat(-turn.w, -turn.x, -turn.y, -turn.z) if turn.w < 0.0 else turn
    angle = twist_angle(q, axis)
    along = q.x * axis.x + q.y * axis.y + q.z * axis.z
    length = math.sqrt(q.w * q.w + along * along)
    if low <= angle <= high and length > 0.0:  # the usual case: cosine and sine of half the angle are known
        s = along / length
        return 2.0 * furthest(q, Quat(q.w / length, s * axis.x, s * axis.y, s * axis.z))
    # Of the two signs of the nearest legal quaternion, differences are measured to the nearer one.
    near = about(axis, best_angle(angle, low, high))
    if q.w * near.w + q.x * near.x + q.y * near.y + q.z * near.z < 0.0:
        near = Quat(-near.w, -near.x, -near.y, -near.z)
    return 2.0 * furthest(q, near)


@inline
def furthest(a, b):
    """Return the largest difference in a component."""
    return larger(larger(abs(a.w - b.w), abs(a.x - b.x)), larger(abs(a.y - b.y), abs(a.z - b.z)))


@inline
def larger(a, b):
    """Return the larger number; NaN where one of them is."""
    return b if b > a or b != b else a
