# pyright: standard
"""Vectors and unit quaternions (w x y z) as values."""

from __future__ import annotations

import math
from typing import NamedTuple

from poise.kernels.device_functions import device_function, inline
from poise.kernels.lanes import broadcast, get_lane, select


class Vec(NamedTuple):
    """A vector x y z."""

    x: float
    y: float
    z: float


class Quat(NamedTuple):
    """Rotation as unit quaternion w x y z. The angle is 2 acos(w) about (x, y, z)."""

    w: float
    x: float
    y: float
    z: float


@inline
def read_vec(rows, i):
    """Read row i of an (n, 3) array."""
    return Vec(rows[i, 0], rows[i, 1], rows[i, 2])


@inline
def read_quat(rows, i):
    """Read row i of an (n, 4) array."""
    return Quat(rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3])


@inline
def read_vec_at(row, column):
    """Read three numbers of a row from a column on."""
    return Vec(row[column], row[column + 1], row[column + 2])


@inline
def read_quat_at(row, column):
    """Read four numbers of a row from a column on."""
    return Quat(row[column], row[column + 1], row[column + 2], row[column + 3])


@inline
def write_vec(rows, i, v):
    """Write a vector to row i."""
    rows[i, 0] = v.x
    rows[i, 1] = v.y
    rows[i, 2] = v.z


@inline
def write_quat(rows, i, q):
    """Write a quaternion to row i."""
    rows[i, 0] = q.w
    rows[i, 1] = q.x
    rows[i, 2] = q.y
    rows[i, 3] = q.z


@inline
def write_vec_at(row, column, v):
    """Write three numbers to a row."""
    row[column], row[column + 1], row[column + 2] = v.x, v.y, v.z


@inline
def write_quat_at(row, column, q):
    """Write four numbers to a row."""
    row[column], row[column + 1], row[column + 2], row[column + 3] = q.w, q.x, q.y, q.z


@inline
def add(a, b):
    """Return a + b."""
    return Vec(a.x + b.x, a.y + b.y, a.z + b.z)


@inline
def sub(a, b):
    """Return a - b."""
    return Vec(a.x - b.x, a.y - b.y, a.z - b.z)


@inline
def scale(a, k):
    """Return k a."""
    return Vec(a.x * k, a.y * k, a.z * k)


@inline
def dot(a, b):
    """Return the dot product."""
    return a.x * b.x + a.y * b.y + a.z * b.z


@inline
def cross(a, b):
    """Return a x b."""
    return Vec(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)


@inline
def norm(a):
    """Return |a|."""
    return math.sqrt(dot(a, a))


@inline
def multiply(a, b):
    """Compose rotations: b, then a."""
    return Quat(
        a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
        a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
        a.w * b.y + a.y * b.w + a.z * b.x - a.x * b.z,
        a.w * b.z + a.z * b.w + a.x * b.y - a.y * b.x,
    )


@inline
def conjugate(q):
    """Return the inverse rotation."""
    return Quat(q.w, -q.x, -q.y, -q.z)


@inline
def normalise(q):
    """Return q / |q|."""
    k = 1.0 / math.sqrt(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z)
    return Quat(q.w * k, q.x * k, q.y * k, q.z * k)


@inline
def rotate(q, v):
    """Return q v q*. It is computed as v + 2 w (u x v) + 2 u x (u x v)."""
    # 18 products and 12 sums; two products of quaternions would take 32 and 24.
    tx = 2.0 * (q.y * v.z - q.z * v.y)
    ty = 2.0 * (q.z * v.x - q.x * v.z)
    tz = 2.0 * (q.x * v.y - q.y * v.x)
    return Vec(
        v.x + q.w * tx + q.y * tz - q.z * ty,
        v.y + q.w * ty + q.z * tx - q.x * tz,
        v.z + q.w * tz + q.x * ty - q.y * tx,
    )


@inline
def from_axis_angle(axis, angle):
    """Return the rotation by `angle` about a unit axis."""
    s = math.sin(0.5 * angle)
    return Quat(math.cos(0.5 * angle), s * axis.x, s * axis.y, s * axis.z)


@inline
def find_perpendicular(v):
    """Return a unit vector perpendicular to v. It is the cross product with the axis of the smallest component."""
    x, y, z = abs(v.x), abs(v.y), abs(v.z)
    if x <= y and x <= z:
        p = Vec(0.0, v.z, -v.y)
    elif y <= z:
        p = Vec(-v.z, 0.0, v.x)
    else:
        p = Vec(v.y, -v.x, 0.0)
    return scale(p, 1.0 / norm(p))


@inline
def has_directions(aa, bb):
    """Return whether two squared lengths are normal numbers. Zero, tiny and huge vectors have no usable direction."""
    return 1e-290 < aa * bb < 1e290


@inline
def rotation_between(a, b):
    """Return the shortest rotation of direction a onto b. Half a turn about any perpendicular where they are opposite.

    It is (|a||b| + a.b, a x b), normalised. Near half a turn that sum loses its digits; there it is (m.m / 2, a x m)
    with unit vectors and m = a + b. Without a direction it is the identity.
    """
    aa, bb = dot(a, a), dot(b, b)
    if not has_directions(aa, bb):
        return Quat(1.0, 0.0, 0.0, 0.0)
    lengths, cosine = math.sqrt(aa * bb), dot(a, b)
    # Away from half a turn |a||b| + a.b is clearly positive and exact to rounding.
    if cosine > -0.9 * lengths:
        c = cross(a, b)
        return normalise(Quat(lengths + cosine, c.x, c.y, c.z))
    # Near opposite directions that sum cancels; the sum of the vectors keeps all its digits.
    return rotation_between_opposite(scale(a, 1.0 / norm(a)), scale(b, 1.0 / norm(b)))


@device_function
def rotation_between_opposite(a, b):
    """Compute `rotation_between` of unit vectors near half a turn."""
    m = add(a, b)
    mm = dot(m, m)
    if mm < 1e-30:
        p = find_perpendicular(a)
        return Quat(0.0, p.x, p.y, p.z)
    c = cross(a, m)
    return normalise(Quat(0.5 * mm, c.x, c.y, c.z))


@inline
def rotate_about_axis(axis, cosine, sine, v):
    """Rotate v about a unit axis. The part along it stays, the rest rotates."""
    axial_part = scale(axis, dot(axis, v))
    return add(axial_part, add(scale(sub(v, axial_part), cosine), scale(cross(axis, v), sine)))


# --- Unit quaternions in lanes: axes, rotation about z, rotation error -----------------------------------------------


@inline
def identity(lane_kind):
    """Return the identity rotation."""
    zero = broadcast(lane_kind, 0.0)
    return Quat(broadcast(lane_kind, 1.0), zero, zero, zero)


@inline
def get_quat_lane(q, l):
    """Return lane l of quaternions."""
    return Quat(get_lane(q.w, l), get_lane(q.x, l), get_lane(q.y, l), get_lane(q.z, l))


@inline
def x_axis(q):
    """Return the x axis of a rotation."""
    return Vec(1.0 - 2.0 * (q.y * q.y + q.z * q.z), 2.0 * (q.x * q.y + q.w * q.z), 2.0 * (q.x * q.z - q.w * q.y))


@inline
def y_axis(q):
    """Return the y axis of a rotation."""
    return Vec(2.0 * (q.x * q.y - q.w * q.z), 1.0 - 2.0 * (q.x * q.x + q.z * q.z), 2.0 * (q.y * q.z + q.w * q.x))


@inline
def z_axis(q):
    """Return the z axis of a rotation."""
    return Vec(2.0 * (q.x * q.z + q.w * q.y), 2.0 * (q.y * q.z - q.w * q.x), 1.0 - 2.0 * (q.x * q.x + q.y * q.y))


@inline
def rotate_about_z(q, s, c):
    """Compose q with a rotation about z. Its half angle has sine s and cosine c; it comes first."""
    return Quat(q.w * c - q.z * s, q.x * c + q.y * s, q.y * c - q.x * s, q.z * c + q.w * s)


@inline
def rotation_error(target, rotation):
    """Return 2 sin(angle / 2) times the remaining rotation axis. It is in the base frame.

    Twice the vector part of target . rotation^-1: exact up to half a turn, where a matrix's antisymmetric part is
    zero, and without an arc cosine. Near the goal it is the rotation vector.
    """
    w = target.w * rotation.w + target.x * rotation.x + target.y * rotation.y + target.z * rotation.z
    x = target.x * rotation.w - target.w * rotation.x + target.z * rotation.y - target.y * rotation.z
    y = target.y * rotation.w - target.w * rotation.y + target.x * rotation.z - target.z * rotation.x
    z = target.z * rotation.w - target.w * rotation.z + target.y * rotation.x - target.x * rotation.y
    # The shorter arc. This error takes as many iterations on a Panda as the log map, and 7 % less time.
    k = select(w < 0.0, w * 0.0 - 2.0, w * 0.0 + 2.0)
    return Vec(k * x, k * y, k * z)
