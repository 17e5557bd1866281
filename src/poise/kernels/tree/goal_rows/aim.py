# pyright: standard
"""AIM: the ray from a point of the node's moved frame along an axis of it goes through a place.

With the axis a, the point p, the place x and b = (x - p) / |x - p|, the residual is that of DIRECTION, from a to b. It
changes with the turning of a, and with that of b, which a velocity v of p turns by -b x v / |x - p|. Where x is p to
rounding, b has no direction: then b and the residual are zero.

Where the turn is shared (LookAt), all joints of the path turn as one: each by its ease, about one axis. The point
then moves as if they all stood in the eased mean of their places, so that the same rate holds for all of them, and
their steps keep the proportion of the eases.
"""

from __future__ import annotations

from poise.kernels.compiled import inline, part
from poise.kernels.tree.arrays import AXIS, DOF, EASE, MOTION, NODE, ROW, SHARED, WANTED, WAY, WAY_END, WEIGHT
from poise.kernels.tree.goal_rows import add_rate, dofs_of, put_residual, turns
from poise.kernels.tree.goal_rows.direction import direction_error
from poise.kernels.values.lanes import maximum, select, sqrt
from poise.kernels.values.linear import Vec, add, cross, dot, quat_at, rotate, scale, sub, vec_at, vec_in

SAME = 1e-24  # of the squared lengths of two points: their distance is rounding; as in kernels/paths.py
TINY = 1e-150  # what a length is divided by at least


@inline
def mean_arm(tree, lanes, t, point):
    """The way to the point from the eased mean of the places of the joints that turn."""
    mean, total = scale(point, 0.0), 0.0
    for j in range(tree.terms[t, WAY], tree.terms[t, WAY_END]):
        i = tree.paths[j]
        if turns(tree.nodes[i, MOTION]):
            ease = tree.dofs[tree.nodes[i, DOF], EASE]
            mean, total = add(mean, scale(sub(point, vec_at(lanes.positions, i)), ease)), total + ease
    return scale(mean, 1.0 / total) if total > 0.0 else mean


@part
def put(tree, lanes, t):
    """A turn takes the axis along, and the point by axis x arm; a slide the point only."""
    node, row, weight = tree.terms[t, NODE], tree.terms[t, ROW], tree.aims[t, WEIGHT]
    turned = quat_at(lanes.rotations, node)
    a = rotate(turned, vec_in(tree.aims[t], AXIS))
    point = add(vec_at(lanes.positions, node), rotate(turned, vec_in(tree.aims[t], 0)))
    wanted = vec_in(lanes.targets, tree.terms[t, WANTED])
    away = sub(wanted, point)
    zero, square = dot(a, a) * 0.0, dot(away, away)
    there = square <= SAME * (dot(wanted, wanted) + dot(point, point))
    near = select(there, zero, 1.0 / maximum(sqrt(square), TINY))
    b = scale(away, near)
    left = direction_error(a, b)
    put_residual(lanes.e, row, left, weight)
    shared = tree.aims[t, SHARED] > 0.0
    mean = mean_arm(tree, lanes, t, point) if shared else Vec(point.x, point.y, point.z)
    for j in range(tree.terms[t, WAY], tree.terms[t, WAY_END]):
        i = tree.paths[j]
        motion, dof = tree.nodes[i, MOTION], tree.nodes[i, DOF]
        arm = mean if shared else sub(point, vec_at(lanes.positions, i))
        for c in range(dofs_of(motion)):
            axis = vec_at(lanes.axes, 3 * i + c)
            if turns(motion):
                moved = scale(cross(b, cross(axis, arm)), near)
                add_rate(lanes.J, dof + c, row, add(moved, sub(axis, scale(a, dot(a, axis)))), weight)
            else:
                add_rate(lanes.J, dof + c, row, scale(cross(b, axis), near), weight)
    return dot(left, left)
