# pyright: standard
"""Residual and Jacobian rows of each goal term.

A function write_KIND(tree, lanes, t) writes the weighted residual of term t to lanes.e and its rows of every dof on the
path to lanes.J. It returns the squared residual without the weight, for comparison with the squared tolerance.
"""

from __future__ import annotations

from poise.kernels.codes import BALL, HINGE, MOVE
from poise.kernels.compiled import inline


@inline
def turns(motion):
    """Return whether a motion is a rotation."""
    return motion == HINGE or motion == BALL


@inline
def dofs_of(motion):
    """Return the number of dofs of a movable motion."""
    return 3 if motion == BALL or motion == MOVE else 1


@inline
def put_residual(e, row, v, weight):
    """Write three rows of the residual."""
    e[row], e[row + 1], e[row + 2] = v.x * weight, v.y * weight, v.z * weight


@inline
def add_rate(J, dof, row, rate, weight):
    """Add a rate to the three rows of a dof. Coupled nodes on one path share a dof, and their rates add up."""
    J[dof, row] = J[dof, row] + rate.x * weight
    J[dof, row + 1] = J[dof, row + 1] + rate.y * weight
    J[dof, row + 2] = J[dof, row + 2] + rate.z * weight
