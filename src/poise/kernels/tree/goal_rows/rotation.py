# pyright: standard
"""ROTATION: a frame of a node has a wanted rotation. Residual: 2 sin(angle / 2) times the axis of the rotation left."""

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
from poise.kernels.values.axes import rotation_error
from poise.kernels.values.linear import dot, multiply, quat_at, quat_in, vec_at


@part
def put(tree, lanes, t):
    """Write the rows of a ROTATION term.

    A rotation changes the rotation vector by its axis: exact at the goal, where the residual is the rotation vector.
    """
    node, row, weight, at = (
        tree.terms[t, TERM_NODE],
        tree.terms[t, TERM_ROW],
        tree.aims[t, AIM_WEIGHT],
        tree.terms[t, TERM_WANTED],
    )
    local = quat_in(tree.aims[t], 3)
    wanted = quat_in(lanes.targets, at)
    left = rotation_error(wanted, multiply(quat_at(lanes.rotations, node), local))
    put_residual(lanes.e, row, left, weight)
    for j in range(tree.terms[t, TERM_WAY], tree.terms[t, TERM_WAY_END]):
        i = tree.paths[j]
        motion, dof = tree.nodes[i, NODE_MOTION], tree.nodes[i, NODE_DOF]
        if turns(motion):
            for c in range(dofs_of(motion)):
                add_rate(lanes.J, dof + c, row, vec_at(lanes.axes, 3 * i + c), weight)
    return dot(left, left)
