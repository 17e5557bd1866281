# pyright: standard
"""DIRECTION: an axis of a node's moved frame points along a direction. The rotation about the axis is free.

With the axis a, the wanted direction b and the angle between them: the residual is 2 sin(angle / 2) along a x b.
"""

from __future__ import annotations

from poise.kernels.codes import (
    AIM_WEIGHT,
    NODE_DOF,
    NODE_MOTION,
    TERM_NODE,
    TERM_ROW,
    TERM_WANTED,
    TERM_WAY,
    TERM_WAY_END,
)
from poise.kernels.compiled import inline, part
from poise.kernels.tree.goal_rows import add_rate, dofs_of, put_residual, turns
from poise.kernels.values.lanes import maximum, select, sqrt
from poise.kernels.values.linear import Vec, add, cross, dot, quat_at, rotate, scale, sub, vec_at, vec_in

OPPOSITE = 1e-24  # |a + b|^2; below it a + b has no usable direction


@inline
def across(a):
    """Return a unit vector perpendicular to a unit vector. It has no branches (Duff et al., JCGT 6(1), 2017)."""
    sign = select(a.z < 0.0, a.z * 0.0 - 1.0, a.z * 0.0 + 1.0)
    # |sign + z| >= 1, so there is no division by a small number for any a.
    k = -1.0 / (sign + a.z)
    return Vec(1.0 + sign * a.x * a.x * k, sign * a.x * a.y * k, -(sign * a.x))


@inline
def direction_error(a, b):
    """Return 2 sin(angle / 2) times the axis from a to b.

    a and b are unit vectors; any perpendicular axis is taken where they are opposite.

    a x b is 2 sin cos of half the angle, and |a + b| is 2 cos: 2 a x (a + b) / |a + b| loses no digits at any angle.
    """
    # Where a and b are opposite, take one of the perpendicular axes, or the residual of the largest error would vanish.
    middle = add(a, b)
    mm = dot(middle, middle)
    opposite = mm < OPPOSITE
    turn = scale(cross(a, middle), 2.0 / sqrt(maximum(mm, mm * 0.0 + OPPOSITE)))
    any_turn = across(a)
    return Vec(
        select(opposite, 2.0 * any_turn.x, turn.x),
        select(opposite, 2.0 * any_turn.y, turn.y),
        select(opposite, 2.0 * any_turn.z, turn.z),
    )


@part
def put(tree, lanes, t):
    """Write the rows of a DIRECTION term. A rotation w rotates the axis a by w - a (a . w)."""
    node, row, weight = tree.terms[t, TERM_NODE], tree.terms[t, TERM_ROW], tree.aims[t, AIM_WEIGHT]
    a = rotate(quat_at(lanes.rotations, node), vec_in(tree.aims[t], 0))
    left = direction_error(a, vec_in(lanes.targets, tree.terms[t, TERM_WANTED]))
    put_residual(lanes.e, row, left, weight)
    for j in range(tree.terms[t, TERM_WAY], tree.terms[t, TERM_WAY_END]):
        i = tree.paths[j]
        motion, dof = tree.nodes[i, NODE_MOTION], tree.nodes[i, NODE_DOF]
        if turns(motion):
            for c in range(dofs_of(motion)):
                axis = vec_at(lanes.axes, 3 * i + c)
                add_rate(lanes.J, dof + c, row, sub(axis, scale(a, dot(a, axis))), weight)
    return dot(left, left)
