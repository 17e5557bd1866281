# pyright: standard
"""Jacobian by central finite differences of the residual.

It is the derivative of the residual itself. The analytic rows of rotations and directions are the rates of the
remaining rotation. Both agree at the goal; far from it the analytic rows are longer, by 1 / cos(angle / 2) along the
axis of the remaining rotation.
"""

from __future__ import annotations

import math

from poise.kernels.codes import BALL, DOF_EASE, FIXED, NODE_AT, NODE_DOF, NODE_MOTION
from poise.kernels.compiled import inline, part
from poise.kernels.tree.goal_rows import dofs_of
from poise.kernels.tree.tree import forward, residuals
from poise.kernels.values.lanes import fill, sqrt
from poise.kernels.values.linear import Quat, multiply, quat_in

WAY = 2.0**-17  # step [rad or kernel units]; truncation and rounding errors are then both 1e-11


@inline
def nudge(kind, tree, lanes, i, c, by):
    """Move dof c of node i by a small amount, ignoring limits."""
    at = tree.nodes[i, NODE_AT]
    if tree.nodes[i, NODE_MOTION] != BALL:
        lanes.u[at + c] = lanes.u[at + c] + by
        return
    half, zero = fill(kind, 0.5 * by), fill(kind, 0.0)
    turn = Quat(fill(kind, 1.0), half if c == 0 else zero, half if c == 1 else zero, half if c == 2 else zero)
    q = multiply(turn, quat_in(lanes.u, at))
    k = 1.0 / sqrt(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z)
    lanes.u[at], lanes.u[at + 1], lanes.u[at + 2], lanes.u[at + 3] = k * q.w, k * q.x, k * q.y, k * q.z


@part
def measure_beside(kind, tree, limits, lanes, home, i, c, by):
    """Fill e with one dof offset, then restore `home`. It is dof c of node i."""
    nudge(kind, tree, lanes, i, c, by)
    forward(tree, lanes)
    residuals(kind, tree, limits, lanes)
    for j in range(home.shape[0]):
        lanes.u[j] = home[j]


@part
def residuals_by_differences(kind, tree, limits, lanes, home, ahead, slopes):
    """Measure residuals, with J by central differences. home (nu,), ahead (m,) and slopes (nd, m) are scratch."""
    for j in range(home.shape[0]):
        home[j] = lanes.u[j]
    done = 0
    for i in range(tree.nodes.shape[0]):
        motion, dof = tree.nodes[i, NODE_MOTION], tree.nodes[i, NODE_DOF]
        # Coupled nodes share a dof, moved by forward kinematics in all of them at once: measure it with the first.
        if motion == FIXED or dof < done:
            continue
        done = dof + dofs_of(motion)
        for c in range(dofs_of(motion)):
            way = WAY * math.sqrt(tree.dofs[dof + c, DOF_EASE])
            measure_beside(kind, tree, limits, lanes, home, i, c, way)
            for r in range(ahead.shape[0]):
                # The residual is wanted minus actual, so its rate has the opposite sign: behind minus ahead.
                ahead[r] = lanes.e[r]
            measure_beside(kind, tree, limits, lanes, home, i, c, -way)
            for r in range(ahead.shape[0]):
                slopes[dof + c, r] = (lanes.e[r] - ahead[r]) * (0.5 / way)
    forward(tree, lanes)
    found = residuals(kind, tree, limits, lanes)
    for d in range(tree.row_ranges.shape[0]):
        for r in range(tree.row_ranges[d, 0], tree.row_ranges[d, 1]):
            lanes.J[d, r] = slopes[d, r]
    return found
