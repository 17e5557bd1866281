# pyright: standard
"""AIM: a ray from a node's point passes through a position. The ray lies along an axis of the node's moved frame.

With the axis a, the point p, the position x and b = (x - p) / |x - p|, the residual is that of DIRECTION, from a to b.
It changes with the rotation of a and with that of b: a velocity v of p rotates b by -b x v / |x - p|. Where x is p to
rounding, b is undefined: then b and the residual are zero.

Where joints share the rotation (LookAt: spine, neck and head), they all rotate about one axis, each by a share given by
its ease. The point then moves as if all of them were at one position, the mean of their positions weighted by the
eases. So one rate serves all of them, and their steps stay in proportion to their eases.
"""

from __future__ import annotations

from poise.kernels.codes import (
    AIM_AXIS,
    AIM_SHARED,
    AIM_WEIGHT,
    DOF_EASE,
    NODE_DOF,
    NODE_MOTION,
    SAME,
    TERM_NODE,
    TERM_ROW,
    TERM_WANTED,
    TERM_WAY,
    TERM_WAY_END,
    TINY,
)
from poise.kernels.compiled import inline, part
from poise.kernels.tree.goal_rows import add_rate, dofs_of, put_residual, turns
from poise.kernels.tree.goal_rows.direction import direction_error
from poise.kernels.values.lanes import maximum, select, sqrt
from poise.kernels.values.linear import Vec, add, cross, dot, quat_at, rotate, scale, sub, vec_at, vec_in


@inline
def mean_arm(tree, lanes, t, point):
    """Compute the weighted mean arm of the rotating joints to the point. The weights are the joints' eases."""
    mean, total = scale(point, 0.0), 0.0
    for j in range(tree.terms[t, TERM_WAY], tree.terms[t, TERM_WAY_END]):
        i = tree.paths[j]
        if turns(tree.nodes[i, NODE_MOTION]):
            ease = tree.dofs[tree.nodes[i, NODE_DOF], DOF_EASE]
            mean, total = add(mean, scale(sub(point, vec_at(lanes.positions, i)), ease)), total + ease
    return scale(mean, 1.0 / total) if total > 0.0 else mean


@part
def put(tree, lanes, t):
    """Write the rows of an AIM term.

    A rotation moves the axis, and the point by axis x arm; a slide moves the point only.
    """
    node, row, weight = tree.terms[t, TERM_NODE], tree.terms[t, TERM_ROW], tree.aims[t, AIM_WEIGHT]
    turned = quat_at(lanes.rotations, node)
    a = rotate(turned, vec_in(tree.aims[t], AIM_AXIS))
    point = add(vec_at(lanes.positions, node), rotate(turned, vec_in(tree.aims[t], 0)))
    wanted = vec_in(lanes.targets, tree.terms[t, TERM_WANTED])
    away = sub(wanted, point)
    zero, square = dot(a, a) * 0.0, dot(away, away)
    # A joint at its target has no direction to it: the goal is met for every rotation.
    there = square <= SAME * (dot(wanted, wanted) + dot(point, point))
    near = select(there, zero, 1.0 / maximum(sqrt(square), TINY))
    b = scale(away, near)
    left = direction_error(a, b)
    put_residual(lanes.e, row, left, weight)
    shared = tree.aims[t, AIM_SHARED] > 0.0
    mean = mean_arm(tree, lanes, t, point) if shared else Vec(point.x, point.y, point.z)
    for j in range(tree.terms[t, TERM_WAY], tree.terms[t, TERM_WAY_END]):
        i = tree.paths[j]
        motion, dof = tree.nodes[i, NODE_MOTION], tree.nodes[i, NODE_DOF]
        # One arm for all joints sharing the rotation: with their own arms their shares would be unequal.
        arm = mean if shared else sub(point, vec_at(lanes.positions, i))
        for c in range(dofs_of(motion)):
            axis = vec_at(lanes.axes, 3 * i + c)
            if turns(motion):
                # A rotation of the axis also moves the point, and with it the direction to the target.
                moved = scale(cross(b, cross(axis, arm)), near)
                add_rate(lanes.J, dof + c, row, add(moved, sub(axis, scale(a, dot(a, axis)))), weight)
            else:
                add_rate(lanes.J, dof + c, row, scale(cross(b, axis), near), weight)
    return dot(left, left)
