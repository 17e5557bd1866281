# pyright: standard
"""Geometric Jacobians of points on joints.

    table  (r, 41)     the path from the root to the joint; table, q, used and local_offsets as for world maps
    dofs   (r, 13)     JACOBIAN_FIRST: the row's first column in the Jacobian; JACOBIAN_ORIGIN: A's translation;
                       JACOBIAN_AXES: the axis of a hinge or slide, or all three axes, turned by A
    gains  (1|k, r)    1 / scale of each row's parent
    points (1|k, 3)    in the joint's frame
    out    (k, 6 nv)   rows: three of velocity, three of angular velocity, in world axes

With x the point in the parent's frame, L the linear part of the parent's world map and a an axis rotated by A: a
rotation gives velocity L (a x (x - origin)) and angular velocity L a gain, a slide velocity L a. There is no inverse
and no difference of world positions: any affine B is exact, and no precision is lost far from the origin.
"""

from __future__ import annotations

from poise.kernels.codes import (
    FIXED,
    FK_KIND,
    FK_RATIO,
    FK_START,
    FREE,
    HINGE,
    JACOBIAN_FIRST,
    JACOBIAN_ORIGIN,
    JACOBIAN_WAYS,
    SLIDE,
)
from poise.kernels.compiled import inline, kernel
from poise.kernels.forward import compose, gather, gather_all, put_given, put_identity, put_local, scatter
from poise.kernels.values.lanes import LANES4, LANES8, fill, part_of, room, width
from poise.kernels.values.linear import Vec, add, cross, scale, sub, vec_in


@inline
def linear(m, v):
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
def add_columns(row, dof, numbers, above, gain, arm, nv, columns):
    """Add the contribution of one row.

    `world_from_parent` is the parent's world map, `arm` the point relative to A's origin in the parent's frame.
    """
    moves, at, ratio, first = int(row[FK_KIND]), int(row[FK_START]), row[FK_RATIO], int(dof[JACOBIAN_FIRST])
    # A free joint translates along the axes of A, then rotates about its translated origin.
    if moves in (SLIDE, FREE):
        for c in range(1 if moves == SLIDE else 3):
            way = vec_in(dof, JACOBIAN_WAYS + 3 * c)
            add_column(columns, first + c, nv, linear(above, way), ratio)
            if moves == FREE:
                # The rotation's lever arm starts at the translated origin.
                arm = sub(arm, scale(way, numbers[at + c]))
    if moves in (SLIDE, FIXED):
        return
    if moves == FREE:
        first += 3
    for c in range(1 if moves == HINGE else 3):
        axis = vec_in(dof, JACOBIAN_WAYS + 3 * c)
        add_column(columns, first + c, nv, linear(above, cross(axis, arm)), ratio)
        # Angular velocities do not scale: divide by the parent's scale contained in L.
        add_column(columns, first + c + 3 * nv, nv, linear(above, axis), gain * ratio)


@inline
def jacobians(kind, table, dofs, q, used, given, gains, points, work, out):
    """Compute Jacobians. `work` holds (u + 12 + 6 nv + 31 r + 3) values, aligned to 64 bytes."""
    w, k, r, u, nv = width(kind), q.shape[0], table.shape[0], used.shape[0], out.shape[1] // 6
    numbers, at_maps = part_of(kind, work, 0, u), u * w
    maps, at_locals = part_of(kind, work, at_maps, r + 1, 12), at_maps + 12 * (r + 1) * w
    locals_, at_given = part_of(kind, work, at_locals, r, 12), at_locals + 12 * r * w
    extra, at_gains = part_of(kind, work, at_given, 6 * r), at_given + 6 * r * w
    gain, at_point = part_of(kind, work, at_gains, r), at_gains + r * w
    point, at_columns = part_of(kind, work, at_point, 3), at_point + 3 * w
    columns = part_of(kind, work, at_columns, 6 * nv)
    motion, before = room(kind, 12), room(kind, 12)
    put_identity(kind, maps[0])
    for first in range(0, k, w):
        count = min(w, k - first)
        gather(work, 0, q, used, first, count, w)
        if given.shape[0] > 0:
            gather_all(work, at_given, given, first, count, w)
        gather_all(work, at_gains, gains, first, count, w)
        gather_all(work, at_point, points, first, count, w)
        for i in range(r):
            put_local(kind, table[i], numbers, motion, before, locals_[i])
            if given.shape[0] > 0:
                put_given(extra, i, locals_[i])
            compose(maps[i], locals_[i], maps[i + 1])
        for j in range(6 * nv):
            columns[j] = fill(kind, 0.0)
        x = Vec(point[0], point[1], point[2])
        # From the joint to the root the point is transformed from frame to frame, without inverting a map.
        for i in range(r - 1, -1, -1):
            m = locals_[i]
            x = add(linear(m, x), Vec(m[3], m[7], m[11]))
            arm = sub(x, vec_in(dofs[i], JACOBIAN_ORIGIN))
            if given.shape[0] > 0:
                arm = sub(arm, Vec(extra[6 * i], extra[6 * i + 1], extra[6 * i + 2]))
            add_columns(table[i], dofs[i], numbers, maps[i], gain[i], arm, nv, columns)
        scatter(work, at_columns, first, count, w, out)


@kernel
def jacobians4(table, dofs, q, used, given, gains, points, work, out):
    """Compute Jacobians of four poses side by side."""
    jacobians(LANES4, table, dofs, q, used, given, gains, points, work, out)


@kernel
def jacobians8(table, dofs, q, used, given, gains, points, work, out):
    """Compute Jacobians of eight poses side by side."""
    jacobians(LANES8, table, dofs, q, used, given, gains, points, work, out)
