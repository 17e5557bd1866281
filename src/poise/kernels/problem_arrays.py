# pyright: standard
"""Arrays of the moving joints and goals of a problem.

The moving joints form a tree of nodes. Each node has a frame, fixed relative to its parent's moved frame; the moved
frame is the frame after the node's own motion. A term is one measured quantity of a goal, and an effector is the point,
vector or rotation measured by a term. Packing converts them to arrays of numbers (problem/frame_packing.py). The
workspace for solving is in kernels/lane_workspace.py.

Lengths are in kernel units, coordinates in the base frame. n nodes, nu numbers, nd degrees of freedom (dofs), t terms,
m = 3 t rows, k problems; `1|k` is 1 for an array shared by all problems.

    nodes      (n, 4)     parent (-1: the base frame), kind of motion, first of its numbers in u, first of its dofs;
                          parents first. Hinges and slides with a common number and dof are coupled
    frames     (1|k, n, 9) x y z, w x y z from the parent's moved frame to this node's frame; ratio and offset:
                          the value of a hinge or slide is ratio u + offset (balls and moves do not read these two)
    dofs       (nd, 4)    lowest and highest number; its index in u, -1 in balls and moves; step weight
                          0 < s <= 1, the inverse stiffness: a dof of low weight moves less
    terms      (t, 6|15)  kind, node, first row, first number in a target, begin and end of its range in paths; in
                          depth-first order of the nodes. POLE (node: the limb's tip) has also the nodes of its first
                          and its middle joint, and the ends of their ranges in paths. Then a reference's node and
                          range in paths, the kind of a set and its axes, see kernels/goal_sets.py
    effectors  (t, 9|29)  0-2: POSITION, AIM, POLE a point, DIRECTION a unit vector; 3-6: ROTATION w x y z, AIM a
                          unit vector and whether the path shares the rotation (1); all in the node's moved
                          frame; 7: weight; 8: squared tolerance of a distance or of 2 sin(angle / 2); 9-14: POLE the
                          points of its middle and its first joint, in their nodes' moved frames; 15-28: a set
    paths      (p,)       for each term, the nodes moving its node, itself included, from the base on; then for each
                          reference. Nodes above both a term and its reference are left out
    row_ranges (nd, 2)    begin and end of the rows affected by a dof; whole terms
    targets    (k, width) per term: POSITION, AIM, POLE x y z, ROTATION w x y z, DIRECTION a unit vector
    preferred_u (nu,)     a preferred configuration
    preference_weights (nd,)  strength of each dof's preference; 0: none
    limits     (n, LIMIT_ROW) limits of balls and soft limits of any motion, see kernels/limits.py; None for a
                          plain tree without such limits and without AIM or DIRECTION terms, references or sets: Numba
                          then leaves out their code, nearly half of the kernel

HINGE rotates about the z axis of its node's frame, SLIDE moves along it. BALL rotates by its unit quaternion w x y z;
its three dofs rotate it about x, y and z of the node's frame. MOVE translates along them. FIXED has no numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from poise.kernels.device_functions import inline


class TreeArrays(NamedTuple):
    """Arrays shared by all problems, see the module."""

    nodes: Any
    dofs: Any
    terms: Any
    effectors: Any
    paths: Any
    row_ranges: Any
    preferred_u: Any
    preference_weights: Any


class TreeProblems(NamedTuple):
    """Arrays of a batch of problems and their results.

    frames    (1|k, n, 9), targets (k, width)   see the module
    start_u   (1|k, nu)    configurations to start from
    restart_draws (s, nd)  random numbers in 0..1 that define the restarts, the same for all problems
    settings  (c,)         columns of layout.py: TREE_ for kernels/tree_lm.py, METHOD_ for kernels/jacobian_methods.py
    u         (k, nu)      results
    errors    (k,)         weighted squared error of each result; 1e300 where the residual was never a number
    counts    (k, 3)       iterations and attempts used; 1 where the goals were met
    """

    frames: Any
    targets: Any
    start_u: Any
    restart_draws: Any
    settings: Any
    u: Any
    errors: Any
    counts: Any


class TreeNode(NamedTuple):
    """A row of `nodes`: a joint of the tree."""

    parent: int  # its parent's number; -1: the base frame
    motion: int  # FIXED, HINGE, SLIDE, BALL or MOVE
    u_start: int  # first of its numbers in u
    dof_start: int  # first of its dofs


class TreeTerm(NamedTuple):
    """First six columns of a row of `terms`."""

    goal_kind: int  # POSITION, ROTATION, DIRECTION, AIM or POLE
    node: int  # the node it measures
    error_row: int  # first of its three rows in the residual
    target_start: int  # first of its numbers in a target
    path_start: int  # begin and end of its path in `paths`
    path_end: int


@inline
def read_node(nodes, i):
    """Read row i of `nodes`."""
    return TreeNode(nodes[i, 0], nodes[i, 1], nodes[i, 2], nodes[i, 3])


@inline
def read_term(terms, t):
    """Read row t of `terms`."""
    return TreeTerm(terms[t, 0], terms[t, 1], terms[t, 2], terms[t, 3], terms[t, 4], terms[t, 5])
