# pyright: standard
"""Forward kinematics of a skeleton. world_i = world_parent . A_i . J_i(q_i) . B_i, in one loop: parents come first.

Several poses are computed side by side (values/lanes.py). The constants A and B are multiplied into the motions:

    hinge   A R(x) B = still + sin x  sine + cos x  cosine      with R = a a^T + sin x [a] + cos x (1 - a a^T)
    slide   A T(x) B = still + x  sine
    ball    A R(q) B, free A T R B: still holds A, sine B
    fixed   still

    table   (r, 41)     rows, parents first: see the columns. FK_PARENT is 0 for a root, else 1 + the row of the parent
    q       (k, nq)     poses
    used    (u,)        the columns of q that the table needs; FK_START counts in these
    local_offsets (0|k, 6 r)  per pose and row: a translation added before A, a scale x y z after B; may be empty
    world   (k, 12 m)   affine 3 x 4 of the last m rows
"""

from __future__ import annotations

import math

from poise.kernels.codes import (
    BALL,
    FIXED,
    FK_AFTER,
    FK_COSINE,
    FK_KIND,
    FK_PARENT,
    FK_RATIO,
    FK_SHIFT,
    FK_SINE,
    FK_START,
    FK_STILL,
    FREE,
    HINGE,
    SLIDE,
)
from poise.kernels.compiled import inline, kernel, part
from poise.kernels.values.lanes import (
    LANES4,
    LANES8,
    bits,
    fill,
    half_turn,
    lane,
    maximum,
    part_of,
    room,
    width,
    with_lane,
)
from poise.kernels.values.linear import Quat, Vec, about, add, multiply, rotate, scale
from poise.kernels.values.polar import nearest_rotation

LARGEST_ANGLE = 1e5  # [rad] half_turn is exact up to this angle


# --- several poses side by side ----------------------------------------------------------------------------------


@part
def small_angle(x):
    """Wrap an angle to half a turn. Exact, and slow."""
    return math.atan2(math.sin(x), math.cos(x))


@inline
def sine_cosine(kind, x):
    """Compute sine and cosine of any angle [rad]."""
    # Continuous joints may count turns; angles above a hundred thousand radians are rare and take the slow path.
    huge = bits(maximum(x, -x) > LARGEST_ANGLE)
    if huge != 0:
        for l in range(width(kind)):
            if (huge >> l) & 1:
                x = with_lane(x, l, small_angle(lane(x, l)))
    s, c = half_turn(x)
    return 2.0 * (s * c), 1.0 - 2.0 * (s * s)


@inline
def compose(a, b, out):
    """Compose affine maps: b first, then a. Each has twelve numbers; `out` is neither of them."""
    for r in range(0, 12, 4):
        for c in range(4):
            out[r + c] = a[r] * b[c] + a[r + 1] * b[4 + c] + a[r + 2] * b[8 + c]
        # The last row of an affine map is 0 0 0 1, and is not stored.
        out[r + 3] = out[r + 3] + a[r + 3]


@inline
def put_turn(m, q):
    """Write the matrix of a unit quaternion into an affine map."""
    xx, yy, zz = q.x * q.x, q.y * q.y, q.z * q.z
    xy, yz, zx = q.x * q.y, q.y * q.z, q.z * q.x
    wx, wy, wz = q.w * q.x, q.w * q.y, q.w * q.z
    m[0], m[1], m[2] = 1.0 - 2.0 * (yy + zz), 2.0 * (xy - wz), 2.0 * (zx + wy)
    m[4], m[5], m[6] = 2.0 * (xy + wz), 1.0 - 2.0 * (xx + zz), 2.0 * (yz - wx)
    m[8], m[9], m[10] = 2.0 * (zx - wy), 2.0 * (yz + wx), 1.0 - 2.0 * (xx + yy)


@inline
def put_ball(kind, row, numbers, at, moves, motion, before, m):
    """Write the local map A . J . B of a ball or free joint. `motion` and `before` are workspace."""
    for j in range(3, 12, 4):
        motion[j] = fill(kind, 0.0)
    if moves:
        motion[3], motion[7], motion[11] = numbers[at], numbers[at + 1], numbers[at + 2]
        at += 3
    put_turn(motion, Quat(numbers[at], numbers[at + 1], numbers[at + 2], numbers[at + 3]))
    # Most rigs have no B, which saves a matrix product.
    if row[FK_AFTER] > 0.0:
        compose(row[FK_STILL:FK_SINE], motion, before)
        compose(before, row[FK_SINE:FK_COSINE], m)
    else:
        compose(row[FK_STILL:FK_SINE], motion, m)


@inline
def put_local(kind, row, numbers, motion, before, m):
    """Write the local map A . J . B of one row. `motion` and `before` are workspace."""
    moves, at = int(row[FK_KIND]), int(row[FK_START])
    if moves == HINGE:
        s, c = sine_cosine(kind, numbers[at] * row[FK_RATIO] + row[FK_SHIFT])
        for j in range(12):
            # Rodrigues' formula with A and B multiplied in beforehand: two products per number instead of two matrix
            # products.
            m[j] = s * row[FK_SINE + j] + c * row[FK_COSINE + j] + row[FK_STILL + j]
    elif moves == SLIDE:
        x = numbers[at] * row[FK_RATIO] + row[FK_SHIFT]
        for j in range(12):
            m[j] = x * row[FK_SINE + j] + row[FK_STILL + j]
    elif moves == FIXED:
        for j in range(12):
            m[j] = fill(kind, row[FK_STILL + j])
    else:
        put_ball(kind, row, numbers, at, moves == FREE, motion, before, m)


@inline
def put_identity(kind, m):
    """Write the identity map."""
    for j in range(12):
        m[j] = fill(kind, 1.0 if j % 5 == 0 else 0.0)


@inline
def put_given(given, i, m):
    """Apply the offset and scale of row i."""
    for r in range(3):
        m[4 * r + 3] = m[4 * r + 3] + given[6 * i + r]
        for c in range(3):
            m[4 * r + c] = m[4 * r + c] * given[6 * i + 3 + c]


@inline
def gather(work, start, rows, columns, first, count, w):
    """Gather columns of several rows side by side.

    Takes `count` rows from `first` on; further lanes repeat the last.
    """
    for l in range(w):
        i = min(first + l, first + count - 1)
        for j in range(columns.shape[0]):
            work[start + j * w + l] = rows[i, columns[j]]


@inline
def gather_all(work, start, rows, first, count, w):
    """Gather every column. A single row serves all poses."""
    for l in range(w):
        i = min(first + l, first + count - 1, rows.shape[0] - 1)
        for j in range(rows.shape[1]):
            work[start + j * w + l] = rows[i, j]


@inline
def scatter(work, start, first, count, w, out):
    """Scatter lanes back to rows.

    Writes `count` lanes from element `start` of the work array to rows of `out` from `first` on.
    """
    for l in range(count):
        for j in range(out.shape[1]):
            out[first + l, j] = work[start + j * w + l]


@inline
def world_maps(kind, table, q, used, given, work, world):
    """Compute world maps. `work` holds (u + 12 (r + 1) + 6 r) values, aligned to 64 bytes."""
    w, k, r, u = width(kind), q.shape[0], table.shape[0], used.shape[0]
    numbers, maps, end = part_of(kind, work, 0, u), part_of(kind, work, u * w, r + 1, 12), (u + 12 * (r + 1)) * w
    extra = part_of(kind, work, end, 6 * r)
    motion, before, local = room(kind, 12), room(kind, 12), room(kind, 12)
    put_identity(kind, maps[0])
    for first in range(0, k, w):
        count = min(w, k - first)
        gather(work, 0, q, used, first, count, w)
        if given.shape[0] > 0:
            gather_all(work, end, given, first, count, w)
        for i in range(r):
            put_local(kind, table[i], numbers, motion, before, local)
            if given.shape[0] > 0:
                put_given(extra, i, local)
            # Roots have parent 0, the identity, so that no row needs a branch.
            compose(maps[int(table[i, FK_PARENT])], local, maps[i + 1])
        scatter(work, end - world.shape[1] * w, first, count, w, world)


@kernel
def world_maps4(table, q, used, given, work, world):
    """Compute world maps of four poses side by side."""
    world_maps(LANES4, table, q, used, given, work, world)


@kernel
def world_maps8(table, q, used, given, work, world):
    """Compute world maps of eight poses side by side."""
    world_maps(LANES8, table, q, used, given, work, world)


# --- one pose after the other ------------------------------------------------------------------------------------


@inline
def moved(kind, axis, A, i, q, start, ratio, offset):
    """Compute position and rotation of A . J(q) in the parent's frame."""
    p = Vec(A[i, 0], A[i, 1], A[i, 2])
    r = Quat(A[i, 3], A[i, 4], A[i, 5], A[i, 6])
    if kind == HINGE:
        r = multiply(r, about(axis, ratio * q[start] + offset))
    elif kind == SLIDE:
        p = add(p, rotate(r, scale(axis, ratio * q[start] + offset)))
    elif kind == BALL:
        r = multiply(r, Quat(q[start], q[start + 1], q[start + 2], q[start + 3]))
    elif kind == FREE:
        p = add(p, rotate(r, Vec(q[start], q[start + 1], q[start + 2])))
        r = multiply(r, Quat(q[start + 3], q[start + 4], q[start + 5], q[start + 6]))
    return p, r


@kernel
def local_transforms(kinds, axes, A, starts, couplings, q, positions, rotations):
    """Compute the local transforms of k configurations q (k, nq).

    Fills positions (k, n, 3) and rotations (k, n, 4) of A . J.
    """
    for k in range(q.shape[0]):
        for i in range(kinds.shape[0]):
            axis = Vec(axes[i, 0], axes[i, 1], axes[i, 2])
            p, r = moved(kinds[i], axis, A, i, q[k], starts[i], couplings[i, 0], couplings[i, 1])
            positions[k, i, 0], positions[k, i, 1], positions[k, i, 2] = p.x, p.y, p.z
            rotations[k, i, 0], rotations[k, i, 1], rotations[k, i, 2], rotations[k, i, 3] = r.w, r.x, r.y, r.z


@inline
def toward(w, x, y, z):
    """Normalise a quaternion w x y z, with w >= 0."""
    k = math.copysign(1.0 / math.sqrt(w * w + x * x + y * y + z * z), w)
    return Quat(w * k, x * k, y * k, z * k)


@inline
def turn_of_matrix(a, b, c, d, e, f, g, h, i):
    """Convert a rotation matrix, row by row, to a quaternion. Divides by its largest component (Shepperd 1978)."""
    trace = a + e + i
    # Divide by the largest of 4 w^2, 4 x^2, 4 y^2, 4 z^2, never by a small number.
    if trace >= max(2.0 * a, 2.0 * e, 2.0 * i) - trace:
        return toward(1.0 + trace, h - f, c - g, d - b)
    if a >= e and a >= i:
        return toward(h - f, 1.0 + 2.0 * a - trace, b + d, c + g)
    if e >= i:
        return toward(c - g, b + d, 1.0 + 2.0 * e - trace, f + h)
    return toward(d - b, c + g, f + h, 1.0 + 2.0 * i - trace)


@part
def turn_of_nearly_similar(m):
    """Find the rotation nearest to a near similarity.

    Returns a quaternion, w >= 0, and whether the map is near enough to a rotation times a factor.
    """
    x, y, z, near = nearest_rotation(m)
    if not near:
        return Quat(-1.0, 0.0, 0.0, 0.0), False
    return turn_of_matrix(x.x, y.x, z.x, x.y, y.y, z.y, x.z, y.z, z.z), True


@inline
def turn_of_similar(m, exact):
    """Find the rotation nearest to an affine map.

    Returns a quaternion, w >= 0, and whether it is near: see `nearest_rotation`.

    A rotation times a factor, which may be negative, is handled in closed form; its lengths and volume may deviate by
    the fraction `tolerance`. Other maps use the polar decomposition; most of them deviate by single precision only.
    """
    a, b, c = m[0], m[1], m[2]
    d, e, f = m[4], m[5], m[6]
    g, h, i = m[8], m[9], m[10]
    volume = a * (e * i - f * h) + b * (f * g - d * i) + c * (d * h - e * g)
    x, y, z = math.sqrt(a * a + d * d + g * g), math.sqrt(b * b + e * e + h * h), math.sqrt(c * c + f * f + i * i)
    longest, shortest = max(x, y, z), min(x, y, z)
    cube = longest * longest * longest
    alike = longest - shortest <= exact * longest and abs(abs(volume) - cube) <= exact * cube
    if not (longest > 0.0 and alike):
        return turn_of_nearly_similar(m)
    s = math.copysign(1.0 / longest, volume)
    return turn_of_matrix(a * s, b * s, c * s, d * s, e * s, f * s, g * s, h * s, i * s), True


@kernel
def turns_of_similar(world, exact, turns):
    """Find rotations nearest to affine maps (k, 12).

    They are quaternions (k, 4), w >= 0; w is -1 where no rotation is near, for the caller to report.
    """
    for k in range(world.shape[0]):
        q, near = turn_of_similar(world[k], exact)
        turns[k, 0] = -1.0
        if near:
            turns[k, 0], turns[k, 1], turns[k, 2], turns[k, 3] = q.w, q.x, q.y, q.z
