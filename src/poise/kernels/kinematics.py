# pyright: standard
"""Forward kinematics and geometric Jacobians of a skeleton.

world_i = world_parent . A_i . J_i(q_i) . B_i, in one loop: parents come first.

Several poses are computed side by side (kernels/lanes.py). The constants A and B are multiplied into the motions:

    hinge   A R(x) B = constant + sin x  sine + cos x  cosine      with R = a a^T + sin x [a] + cos x (1 - a a^T)
    slide   A T(x) B = constant + x  sine
    ball    A R(q) B, free A T R B: constant holds A, sine B
    fixed   constant

    table          (r, 41)     rows, parents first: see the columns. FK_PARENT is 0 for a root, else 1 + the row of the
                               parent
    q              (k, nq)     poses
    used_columns   (u,)        the columns of q that the table needs; FK_Q_START counts in these
    local_offsets  (0|k, 6 r)  per pose and row: a translation added before A, a scale x y z after B; may be empty
    world_maps     (k, 12 m)   affine 3 x 4 of the last m rows
"""

from __future__ import annotations

import math

from poise.kernels import layout
from poise.kernels.device_functions import device_function, inline
from poise.kernels.entries import kernel
from poise.kernels.lanes import (
    LANES4,
    LANES8,
    broadcast,
    count_lanes,
    get_lane,
    half_angle_sincos,
    mask_to_bits,
    maximum,
    set_lane,
    stack_array,
    view_lanes,
)
from poise.kernels.layout import BALL, FIXED, FREE, HINGE, SLIDE
from poise.kernels.rotation_matrices import find_nearest_rotation
from poise.kernels.vec_quat import Quat, Vec, add, cross, from_axis_angle, multiply, read_vec_at, rotate, scale, sub

MAX_EXACT_ANGLE_RAD = 1e5  # [rad] half_turn is exact up to this angle


# --- several poses side by side ----------------------------------------------------------------------------------


@device_function
def wrap_angle(x):
    """Wrap an angle to half a turn. Exact, and slow."""
    return math.atan2(math.sin(x), math.cos(x))


@inline
def compute_sincos(lane_kind, x):
    """Compute sine and cosine of any angle [rad]."""
    # Continuous joints may count turns; angles above a hundred thousand radians are rare and take the slow path.
    huge_bits = mask_to_bits(maximum(x, -x) > MAX_EXACT_ANGLE_RAD)
    if huge_bits != 0:
        for l in range(count_lanes(lane_kind)):
            if (huge_bits >> l) & 1:
                x = set_lane(x, l, wrap_angle(get_lane(x, l)))
    s, c = half_angle_sincos(x)
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
def write_rotation(m, q):
    """Write the matrix of a unit quaternion into an affine map."""
    xx, yy, zz = q.x * q.x, q.y * q.y, q.z * q.z
    xy, yz, zx = q.x * q.y, q.y * q.z, q.z * q.x
    wx, wy, wz = q.w * q.x, q.w * q.y, q.w * q.z
    m[0], m[1], m[2] = 1.0 - 2.0 * (yy + zz), 2.0 * (xy - wz), 2.0 * (zx + wy)
    m[4], m[5], m[6] = 2.0 * (xy + wz), 1.0 - 2.0 * (xx + zz), 2.0 * (yz - wx)
    m[8], m[9], m[10] = 2.0 * (zx - wy), 2.0 * (yz + wx), 1.0 - 2.0 * (xx + yy)


@inline
def write_ball(lane_kind, row, q_values, q_start, is_free, motion, a_times_j, local_map):
    """Write the local map A . J . B of a ball or free joint. `motion` and `a_times_j` are workspace."""
    for j in range(3, 12, 4):
        motion[j] = broadcast(lane_kind, 0.0)
    if is_free:
        motion[3], motion[7], motion[11] = q_values[q_start], q_values[q_start + 1], q_values[q_start + 2]
        q_start += 3
    write_rotation(motion, Quat(q_values[q_start], q_values[q_start + 1], q_values[q_start + 2], q_values[q_start + 3]))
    # Most rigs have no B, which saves a matrix product.
    if row[layout.FK_HAS_POST_TRANSFORM] > 0.0:
        compose(row[layout.FK_CONSTANT : layout.FK_SINE], motion, a_times_j)
        compose(a_times_j, row[layout.FK_SINE : layout.FK_COSINE], local_map)
    else:
        compose(row[layout.FK_CONSTANT : layout.FK_SINE], motion, local_map)


@inline
def write_local(lane_kind, row, q_values, motion, a_times_j, local_map):
    """Write the local map A . J . B of one row. `motion` and `a_times_j` are workspace."""
    joint_kind, q_start = int(row[layout.FK_KIND]), int(row[layout.FK_Q_START])
    if joint_kind == HINGE:
        s, c = compute_sincos(
            lane_kind, q_values[q_start] * row[layout.FK_COUPLING_RATIO] + row[layout.FK_COUPLING_OFFSET]
        )
        for j in range(12):
            # Rodrigues' formula with A and B multiplied in beforehand: two products per number instead of two matrix
            # products.
            local_map[j] = s * row[layout.FK_SINE + j] + c * row[layout.FK_COSINE + j] + row[layout.FK_CONSTANT + j]
    elif joint_kind == SLIDE:
        x = q_values[q_start] * row[layout.FK_COUPLING_RATIO] + row[layout.FK_COUPLING_OFFSET]
        for j in range(12):
            local_map[j] = x * row[layout.FK_SINE + j] + row[layout.FK_CONSTANT + j]
    elif joint_kind == FIXED:
        for j in range(12):
            local_map[j] = broadcast(lane_kind, row[layout.FK_CONSTANT + j])
    else:
        write_ball(lane_kind, row, q_values, q_start, joint_kind == FREE, motion, a_times_j, local_map)


@inline
def write_identity(lane_kind, m):
    """Write the identity map."""
    for j in range(12):
        m[j] = broadcast(lane_kind, 1.0 if j % 5 == 0 else 0.0)


@inline
def apply_local_offsets(local_offsets, i, local_map):
    """Apply the offset and scale of row i."""
    for r in range(3):
        local_map[4 * r + 3] = local_map[4 * r + 3] + local_offsets[6 * i + r]
        for c in range(3):
            local_map[4 * r + c] = local_map[4 * r + c] * local_offsets[6 * i + 3 + c]


@inline
def gather(work, work_start, source_rows, columns, first, count, w):
    """Gather columns of several rows side by side.

    Takes `count` rows from `first` on; further lanes repeat the last.
    """
    for l in range(w):
        i = min(first + l, first + count - 1)
        for j in range(columns.shape[0]):
            work[work_start + j * w + l] = source_rows[i, columns[j]]


@inline
def gather_all(work, work_start, source_rows, first, count, w):
    """Gather every column. A single row serves all poses."""
    for l in range(w):
        i = min(first + l, first + count - 1, source_rows.shape[0] - 1)
        for j in range(source_rows.shape[1]):
            work[work_start + j * w + l] = source_rows[i, j]


@inline
def scatter(work, work_start, first, count, w, out):
    """Scatter lanes back to rows.

    Writes `count` lanes from element `work_start` of the work array to rows of `out` from `first` on.
    """
    for l in range(count):
        for j in range(out.shape[1]):
            out[first + l, j] = work[work_start + j * w + l]


@inline
def compute_world_maps(lane_kind, table, q, used_columns, local_offsets, work, world_maps):
    """Compute world maps. `work` holds (u + 12 (r + 1) + 6 r) values, aligned to 64 bytes."""
    w, k, r, u = count_lanes(lane_kind), q.shape[0], table.shape[0], used_columns.shape[0]
    q_values, maps, offsets_start = (
        view_lanes(lane_kind, work, 0, u),
        view_lanes(lane_kind, work, u * w, r + 1, 12),
        (u + 12 * (r + 1)) * w,
    )
    lane_offsets = view_lanes(lane_kind, work, offsets_start, 6 * r)
    motion, a_times_j, local_map = stack_array(lane_kind, 12), stack_array(lane_kind, 12), stack_array(lane_kind, 12)
    write_identity(lane_kind, maps[0])
    for first in range(0, k, w):
        block_count = min(w, k - first)
        gather(work, 0, q, used_columns, first, block_count, w)
        if local_offsets.shape[0] > 0:
            gather_all(work, offsets_start, local_offsets, first, block_count, w)
        for i in range(r):
            write_local(lane_kind, table[i], q_values, motion, a_times_j, local_map)
            if local_offsets.shape[0] > 0:
                apply_local_offsets(lane_offsets, i, local_map)
            # Roots have parent 0, the identity, so that no row needs a branch.
            compose(maps[int(table[i, layout.FK_PARENT])], local_map, maps[i + 1])
        scatter(work, offsets_start - world_maps.shape[1] * w, first, block_count, w, world_maps)


@kernel("F2 F2 I1 F2 aF1 wF2 ->")
def compute_world_maps4(table, q, used_columns, local_offsets, work, world_maps):
    """Compute world maps of four poses side by side."""
    compute_world_maps(LANES4, table, q, used_columns, local_offsets, work, world_maps)


@kernel("F2 F2 I1 F2 aF1 wF2 ->")
def compute_world_maps8(table, q, used_columns, local_offsets, work, world_maps):
    """Compute world maps of eight poses side by side."""
    compute_world_maps(LANES8, table, q, used_columns, local_offsets, work, world_maps)


# --- one pose after the other ------------------------------------------------------------------------------------


@inline
def compute_local_transform(joint_kind, axis, A, i, q, q_start, ratio, offset):
    """Compute position and rotation of A . J(q) in the parent's frame."""
    position = Vec(A[i, 0], A[i, 1], A[i, 2])
    rotation = Quat(A[i, 3], A[i, 4], A[i, 5], A[i, 6])
    if joint_kind == HINGE:
        rotation = multiply(rotation, from_axis_angle(axis, ratio * q[q_start] + offset))
    elif joint_kind == SLIDE:
        position = add(position, rotate(rotation, scale(axis, ratio * q[q_start] + offset)))
    elif joint_kind == BALL:
        rotation = multiply(rotation, Quat(q[q_start], q[q_start + 1], q[q_start + 2], q[q_start + 3]))
    elif joint_kind == FREE:
        position = add(position, rotate(rotation, Vec(q[q_start], q[q_start + 1], q[q_start + 2])))
        rotation = multiply(rotation, Quat(q[q_start + 3], q[q_start + 4], q[q_start + 5], q[q_start + 6]))
    return position, rotation


@kernel("I1 F2 F2 I1 F2 F2 wF3 wF3 ->")
def compute_local_transforms(kinds, axes, A, q_starts, couplings, q, positions, rotations):
    """Compute the local transforms of k configurations q (k, nq).

    Fills positions (k, n, 3) and rotations (k, n, 4) of A . J.
    """
    for k in range(q.shape[0]):
        for i in range(kinds.shape[0]):
            axis = Vec(axes[i, 0], axes[i, 1], axes[i, 2])
            position, rotation = compute_local_transform(
                kinds[i], axis, A, i, q[k], q_starts[i], couplings[i, 0], couplings[i, 1]
            )
            positions[k, i, 0], positions[k, i, 1], positions[k, i, 2] = position.x, position.y, position.z
            rotations[k, i, 0], rotations[k, i, 1], rotations[k, i, 2], rotations[k, i, 3] = (
                rotation.w,
                rotation.x,
                rotation.y,
                rotation.z,
            )


@inline
def make_canonical(w, x, y, z):
    """Normalise a quaternion w x y z, with w >= 0."""
    k = math.copysign(1.0 / math.sqrt(w * w + x * x + y * y + z * z), w)
    return Quat(w * k, x * k, y * k, z * k)


@inline
def matrix_to_quaternion(a, b, c, d, e, f, g, h, i):
    """Convert a rotation matrix, row by row, to a quaternion. Divides by its largest component (Shepperd 1978)."""
    trace = a + e + i
    # Divide by the largest of 4 w^2, 4 x^2, 4 y^2, 4 z^2, never by a small number.
    if trace >= max(2.0 * a, 2.0 * e, 2.0 * i) - trace:
        return make_canonical(1.0 + trace, h - f, c - g, d - b)
    if a >= e and a >= i:
        return make_canonical(h - f, 1.0 + 2.0 * a - trace, b + d, c + g)
    if e >= i:
        return make_canonical(c - g, b + d, 1.0 + 2.0 * e - trace, f + h)
    return make_canonical(d - b, c + g, f + h, 1.0 + 2.0 * i - trace)


@device_function
def near_similarity_to_quaternion(m):
    """Find the rotation nearest to a near similarity.

    Returns a quaternion, w >= 0, and whether the map is near enough to a rotation times a factor.
    """
    x, y, z, is_near = find_nearest_rotation(m)
    if not is_near:
        return Quat(-1.0, 0.0, 0.0, 0.0), False
    return matrix_to_quaternion(x.x, y.x, z.x, x.y, y.y, z.y, x.z, y.z, z.z), True


@inline
def similarity_to_quaternion(m, tolerance):
    """Find the rotation nearest to an affine map.

    Returns a quaternion, w >= 0, and whether it is near: see `find_nearest_rotation`.

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
    is_similar = longest - shortest <= tolerance * longest and abs(abs(volume) - cube) <= tolerance * cube
    if not (longest > 0.0 and is_similar):
        return near_similarity_to_quaternion(m)
    s = math.copysign(1.0 / longest, volume)
    return matrix_to_quaternion(a * s, b * s, c * s, d * s, e * s, f * s, g * s, h * s, i * s), True


@kernel("F2 f wF2 ->")
def similarities_to_quaternions(world_maps, tolerance, rotations):
    """Find rotations nearest to affine maps (k, 12).

    They are quaternions (k, 4), w >= 0; w is -1 where no rotation is near, for the caller to report.
    """
    for k in range(world_maps.shape[0]):
        q, is_near = similarity_to_quaternion(world_maps[k], tolerance)
        rotations[k, 0] = -1.0
        if is_near:
            rotations[k, 0], rotations[k, 1], rotations[k, 2], rotations[k, 3] = q.w, q.x, q.y, q.z


# --- Geometric Jacobians of points on joints -------------------------------------------------------------------------
#
# table           (r, 41)    the path from the root to the joint; table, q, used_columns and local_offsets as for world
# maps
# jacobian_table  (r, 13)    JACOBIAN_FIRST_COLUMN: the row's first column in the Jacobian; JACOBIAN_ORIGIN: A's
# translation; JACOBIAN_AXES: the axis of a hinge or slide, or all three axes, turned by A
# inverse_scales  (1|k, r)   1 / scale of each row's parent
# points          (1|k, 3)   in the joint's frame
# out             (k, 6 nv)  rows: three of velocity, three of angular velocity, in world axes
#
# With x the point in the parent's frame, L the linear part of the parent's world map and a an axis rotated by A: a
# rotation gives velocity L (a x (x - origin)) and angular velocity L a inverse_scale, a slide velocity L a. There is no
# inverse and no difference of world positions: any affine B is exact, and no precision is lost far from the origin.


@inline
def apply_linear(m, v):
    """Apply the linear part of an affine map to a vector."""
    return Vec(
        m[0] * v.x + m[1] * v.y + m[2] * v.z,
        m[4] * v.x + m[5] * v.y + m[6] * v.z,
        m[8] * v.x + m[9] * v.y + m[10] * v.z,
    )


@inline
def add_column(columns, start, nv, v, factor):
    """Add to three numbers of a column. Several joints may be coupled to the same degree of freedom."""
    columns[start] = columns[start] + v.x * factor
    columns[start + nv] = columns[start + nv] + v.y * factor
    columns[start + 2 * nv] = columns[start + 2 * nv] + v.z * factor


@inline
def add_columns(row, jacobian_row, q_values, world_from_parent, inverse_scale, lever, nv, columns):
    """Add the contribution of one row.

    `world_from_parent` is the parent's world map, `lever` the point relative to A's origin in the parent's frame.
    """
    joint_kind, q_start, ratio, first_column = (
        int(row[layout.FK_KIND]),
        int(row[layout.FK_Q_START]),
        row[layout.FK_COUPLING_RATIO],
        int(jacobian_row[layout.JACOBIAN_FIRST_COLUMN]),
    )
    # A free joint translates along the axes of A, then rotates about its translated origin.
    if joint_kind in (SLIDE, FREE):
        for c in range(1 if joint_kind == SLIDE else 3):
            direction = read_vec_at(jacobian_row, layout.JACOBIAN_AXES + 3 * c)
            add_column(columns, first_column + c, nv, apply_linear(world_from_parent, direction), ratio)
            if joint_kind == FREE:
                # The rotation's lever arm starts at the translated origin.
                lever = sub(lever, scale(direction, q_values[q_start + c]))
    if joint_kind in (SLIDE, FIXED):
        return
    if joint_kind == FREE:
        first_column += 3
    for c in range(1 if joint_kind == HINGE else 3):
        axis = read_vec_at(jacobian_row, layout.JACOBIAN_AXES + 3 * c)
        add_column(columns, first_column + c, nv, apply_linear(world_from_parent, cross(axis, lever)), ratio)
        # Angular velocities do not scale: divide by the parent's scale contained in L.
        add_column(columns, first_column + c + 3 * nv, nv, apply_linear(world_from_parent, axis), inverse_scale * ratio)


@inline
def compute_jacobians(
    lane_kind, table, jacobian_table, q, used_columns, local_offsets, inverse_scales, points, work, out
):
    """Compute Jacobians. `work` holds (u + 12 + 6 nv + 31 r + 3) values, aligned to 64 bytes."""
    w, k, r, u, nv = count_lanes(lane_kind), q.shape[0], table.shape[0], used_columns.shape[0], out.shape[1] // 6
    q_values, maps_start = view_lanes(lane_kind, work, 0, u), u * w
    maps, local_maps_start = view_lanes(lane_kind, work, maps_start, r + 1, 12), maps_start + 12 * (r + 1) * w
    local_maps, offsets_start = view_lanes(lane_kind, work, local_maps_start, r, 12), local_maps_start + 12 * r * w
    lane_offsets, inverse_scales_start = view_lanes(lane_kind, work, offsets_start, 6 * r), offsets_start + 6 * r * w
    inverse_scale, point_start = view_lanes(lane_kind, work, inverse_scales_start, r), inverse_scales_start + r * w
    point, columns_start = view_lanes(lane_kind, work, point_start, 3), point_start + 3 * w
    columns = view_lanes(lane_kind, work, columns_start, 6 * nv)
    motion, a_times_j = stack_array(lane_kind, 12), stack_array(lane_kind, 12)
    write_identity(lane_kind, maps[0])
    for first in range(0, k, w):
        block_count = min(w, k - first)
        gather(work, 0, q, used_columns, first, block_count, w)
        if local_offsets.shape[0] > 0:
            gather_all(work, offsets_start, local_offsets, first, block_count, w)
        gather_all(work, inverse_scales_start, inverse_scales, first, block_count, w)
        gather_all(work, point_start, points, first, block_count, w)
        for i in range(r):
            write_local(lane_kind, table[i], q_values, motion, a_times_j, local_maps[i])
            if local_offsets.shape[0] > 0:
                apply_local_offsets(lane_offsets, i, local_maps[i])
            compose(maps[i], local_maps[i], maps[i + 1])
        for j in range(6 * nv):
            columns[j] = broadcast(lane_kind, 0.0)
        x = Vec(point[0], point[1], point[2])
        # From the joint to the root the point is transformed from frame to frame, without inverting a map.
        for i in range(r - 1, -1, -1):
            local_map = local_maps[i]
            x = add(apply_linear(local_map, x), Vec(local_map[3], local_map[7], local_map[11]))
            lever = sub(x, read_vec_at(jacobian_table[i], layout.JACOBIAN_ORIGIN))
            if local_offsets.shape[0] > 0:
                lever = sub(lever, Vec(lane_offsets[6 * i], lane_offsets[6 * i + 1], lane_offsets[6 * i + 2]))
            add_columns(table[i], jacobian_table[i], q_values, maps[i], inverse_scale[i], lever, nv, columns)
        scatter(work, columns_start, first, block_count, w, out)


@kernel("F2 F2 F2 I1 F2 F2 F2 aF1 wF2 ->")
def compute_jacobians4(table, jacobian_table, q, used_columns, local_offsets, inverse_scales, points, work, out):
    """Compute Jacobians of four poses side by side."""
    compute_jacobians(LANES4, table, jacobian_table, q, used_columns, local_offsets, inverse_scales, points, work, out)


@kernel("F2 F2 F2 I1 F2 F2 F2 aF1 wF2 ->")
def compute_jacobians8(table, jacobian_table, q, used_columns, local_offsets, inverse_scales, points, work, out):
    """Compute Jacobians of eight poses side by side."""
    compute_jacobians(LANES8, table, jacobian_table, q, used_columns, local_offsets, inverse_scales, points, work, out)
