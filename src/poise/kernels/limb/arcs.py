# pyright: standard
"""Branch-free rotations between directions, without angles, in SIMD lanes."""

from __future__ import annotations

from poise.kernels.compiled import inline
from poise.kernels.values.lanes import bits, maximum, select, sqrt
from poise.kernels.values.linear import Quat, Vec, add, cross, dot, scale, sub

# Squared length of the sum of opposite vectors, relative to one of them; below it the sum is rounding.
OPPOSITE = 1e-30


@inline
def across_part(v, a):
    """Return the part of v perpendicular to a unit vector."""
    return sub(v, scale(a, dot(v, a)))


@inline
def unit(v):
    """Return v / |v| and |v|; zero stays zero."""
    length = sqrt(dot(v, v))
    return scale(v, 1.0 / select(length > 0.0, length, length + 1.0)), length


@inline
def chosen(condition, a, b):
    """Return the vector a where the condition holds, else b."""
    return Vec(select(condition, a.x, b.x), select(condition, a.y, b.y), select(condition, a.z, b.z))


@inline
def chosen_turn(condition, a, b):
    """Return the rotation a where the condition holds, else b."""
    return Quat(
        select(condition, a.w, b.w),
        select(condition, a.x, b.x),
        select(condition, a.y, b.y),
        select(condition, a.z, b.z),
    )


@inline
def unit_turn(q):
    """Return q / |q|, or the identity for zero length."""
    square = q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z
    none = square * 0.0
    some = square > 0.0
    k = 1.0 / sqrt(select(some, square, none + 1.0))
    return Quat(select(some, q.w * k, none + 1.0), q.x * k, q.y * k, q.z * k)


@inline
def any_across(a):
    """Return a unit vector perpendicular to a vector.

    It is the cross product with the axis of its smallest component.
    """
    x, y, z = maximum(a.x, -a.x), maximum(a.y, -a.y), maximum(a.z, -a.z)
    none = a.x * 0.0
    p = chosen(y <= z, Vec(-a.z, none, a.x), Vec(a.y, -a.x, none))
    p = chosen((x <= y) & (x <= z), Vec(none, a.z, -a.y), p)
    return unit(p)[0]


@inline
def arc_between(v, length, a):
    """Compute the shortest rotation of v onto a unit vector.

    It is (m.m / 2, v x m) with m = v + length a, |v| = length.

    The quaternion has any length but zero; the squared length is the second result. It is half a turn about any axis
    perpendicular to v where they are opposite, and the identity where v is zero.
    """
    # Not normalised: this saves a square root per rotation, and their product is normalised once.
    m = add(v, scale(a, length))
    mm, square = dot(m, m), length * length
    u, w, stretch = cross(v, m), 0.5 * mm, square * mm
    opposite = mm < OPPOSITE * square
    none = mm * 0.0
    # A target straight behind the limb. The other lanes keep their values.
    if bits(opposite):
        u, w, stretch = (
            chosen(opposite, any_across(v), u),
            select(opposite, none, w),
            select(opposite, none + 1.0, stretch),
        )
    some = length > 0.0
    return Quat(select(some, w, none + 1.0), u.x, u.y, u.z), select(some, stretch, none + 1.0)


@inline
def turned_by(q, v):
    """Return q v q* for a quaternion of any length. The length of v grows by the squared length of q."""
    u = Vec(q.x, q.y, q.z)
    along, still = 2.0 * dot(u, v), q.w * q.w - dot(u, u)
    return add(add(scale(v, still), scale(u, along)), scale(cross(u, v), 2.0 * q.w))


@inline
def spin_between(p, n, a):
    """Compute the rotation about unit vector `a` from p to n.

    p and n are perpendicular to a; the quaternion has any length and is the identity where p or n is zero.
    """
    lengths, cosine, sine = sqrt(dot(p, p) * dot(n, n)), dot(p, n), dot(a, cross(p, n))
    # Two forms of the same half angle. Each adds numbers of equal sign where it is used, so no digits cancel.
    wide = cosine < 0.0
    w, s = select(wide, sine, lengths + cosine), select(wide, lengths - cosine, sine)
    w = select(lengths > 0.0, w, w * 0.0 + 1.0)
    return Quat(w, s * a.x, s * a.y, s * a.z)


@inline
def blended(a, b, weight):
    """Interpolate from rotation a (weight 0) to b (1).

    It is the weighted sum along the shorter arc, normalised (nlerp).
    """
    if weight == 1.0:
        return b
    cosine = a.w * b.w + a.x * b.x + a.y * b.y + a.z * b.z
    k = select(cosine < 0.0, cosine * 0.0 - weight, cosine * 0.0 + weight)
    l = 1.0 - weight
    return unit_turn(Quat(l * a.w + k * b.w, l * a.x + k * b.x, l * a.y + k * b.y, l * a.z + k * b.z))
