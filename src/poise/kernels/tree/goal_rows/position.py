# pyright: standard
"""POSITION: a point of a node's moved frame is at a position. Residual: wanted - point, kernel units."""

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
from poise.kernels.compiled import part
from poise.kernels.tree.goal_rows import add_rate, dofs_of, put_residual, turns
from poise.kernels.values.linear import add, cross, dot, quat_at, rotate, sub, vec_at, vec_in


@part
def put(tree, lanes, t):
    """Write the rows of a POSITION term.

    A rotation moves the point by axis x arm, with the arm from the rotating node to the point.
    """
    node, row, weight = tree.terms[t, TERM_NODE], tree.terms[t, TERM_ROW], tree.aims[t, AIM_WEIGHT]
    offset = rotate(quat_at(lanes.rotations, node), vec_in(tree.aims[t], 0))
    point = add(vec_at(lanes.positions, node), offset)
    left = sub(vec_in(lanes.targets, tree.terms[t, TERM_WANTED]), point)
    put_residual(lanes.e, row, left, weight)
    for j in range(tree.terms[t, TERM_WAY], tree.terms[t, TERM_WAY_END]):
        i = tree.paths[j]
        motion, dof = tree.nodes[i, NODE_MOTION], tree.nodes[i, NODE_DOF]
        arm = sub(point, vec_at(lanes.positions, i))
        for c in range(dofs_of(motion)):
            axis = vec_at(lanes.axes, 3 * i + c)
            if turns(motion):
                add_rate(lanes.J, dof + c, row, cross(axis, arm), weight)
            else:
                add_rate(lanes.J, dof + c, row, axis, weight)
    return dot(left, left)
