"""What the tests of the general-tree kernels share: running them, a simple arm, and comparing configurations."""

from __future__ import annotations

import numpy as np
import pytest

from poise.kernels import lane_workspace
from poise.kernels import tree_lm as tree_many
from poise.kernels.lanes import LANES4, LANES8
from poise.kernels.layout import LIMIT_ROW
from poise.maths.arrays import find_simd_width
from poise.solvers.base.lm_engine import NO_WORLD_TARGETS
from tests.reference.kernel_tree import BALL, FIXED, HINGE, MOVE, PLAIN_TARGET, ROTATION, SLIDE, KernelTree, turn, wxyz
from tests.workload import amount

#: Problems side by side in the widest kernels that run here: eight lanes are minutes of compiling for a processor of
#: level v3, for which the library has no code with them.
WIDTH = amount(find_simd_width(), 8)
NO_EIGHT_LANES = "this processor has four lanes; eight are minutes of compiling: scripts/test --long, or POISE_LONG=1"
needs_eight_lanes = pytest.mark.skipif(WIDTH < 8, reason=NO_EIGHT_LANES)
LANE_COUNTS = [4, pytest.param(8, marks=needs_eight_lanes)]  # of a parametrised test
PLAIN = "no limits, and no term that looks or points"  # for kernels without code for these


def get_kernel(module, name):
    """The widest kernel of this name that runs here."""
    return getattr(module, f"{name}{WIDTH}")


def settings(iterations=40, restarts=0, polish=0, pull=0.0):
    return np.array([0.03, 1e-8, iterations, restarts, polish, pull])


def work_of(tree):
    size = lane_workspace.compute_workspace_size(
        len(tree.nodes), len(tree.dofs), tree.nu, 3 * len(tree.terms), tree.width
    )
    memory = np.full(size + 8, np.nan)  # what it holds must not matter
    first = -memory.ctypes.data // 8 % 8
    return memory[first : first + size]


def solve(tree, targets, starts, options=None, *, near=None, seeds=None, limits=None, traced=0, kernel=None, work=None):
    """(u, errors, counts, trace) of the kernel for targets (k, width) from starts (1|k, nu)."""
    k, nd = len(targets), len(tree.dofs)
    near_u, near_on = near if near is not None else (np.zeros(tree.nu), np.zeros(nd))
    u, errors, counts = np.full((k, tree.nu), np.nan), np.full(k, np.nan), np.zeros((k, 3), dtype=np.int64)
    trace = np.full((traced, tree.nu + 1), np.nan)
    limits = np.zeros((len(tree.nodes), LIMIT_ROW)) if limits is None else limits
    (kernel or get_kernel(tree_many, "solve"))(
        tree.nodes, tree.frames, tree.dofs, tree.terms, tree.effectors, tree.paths, tree.row_ranges, targets, starts,
        np.zeros((0, nd)) if seeds is None else seeds, near_u, near_on, *(() if limits is PLAIN else (limits,)),
        settings() if options is None else options, work_of(tree) if work is None else work, 0, k, u, errors, counts,
        trace, *NO_WORLD_TARGETS,
    )  # fmt: skip
    return u, errors, counts, trace


def lanes_after(tree, targets, us):
    """The work memory after WIDTH configurations `us` have been judged, before any of them moved for good."""
    work = work_of(tree)
    solve(tree, targets, us, settings(iterations=0), work=work)
    sizes = len(tree.nodes), len(tree.dofs), tree.nu, 3 * len(tree.terms), tree.width
    return lane_workspace.make_views({4: LANES4, 8: LANES8}[WIDTH], work, *sizes)[1]


def assert_met(tree, u, targets, tolerance=1e-6):
    for k, (row, target) in enumerate(zip(u, targets, strict=True)):
        assert np.abs(tree.left(row, target, k)).max(initial=0.0) < tolerance


def arm(kinds, term, length=1.0, tolerance=1e-9):
    """Nodes in a line along x, one unit apart, all turned as the base is; a term at the tip."""
    sizes = {HINGE: (1, 1), SLIDE: (1, 1), BALL: (4, 3), MOVE: (3, 3), FIXED: (0, 0)}
    nodes, at, dof = [], 0, 0
    for i, kind in enumerate(kinds):
        nodes.append((i - 1, kind, at, dof))
        at, dof = at + sizes[kind][0], dof + sizes[kind][1]
    frames = np.zeros((1, len(kinds), 9))
    frames[0, 1:, 0], frames[0, :, 3], frames[0, :, 7] = length, 1.0, 1.0
    dofs = np.tile([-np.inf, np.inf, -1.0, 1.0], (dof, 1))
    for _, kind, first, d in nodes:
        if kind in (HINGE, SLIDE):
            dofs[d, 2] = first
    terms = np.array([[term, len(kinds) - 1, 0, 0, 0, len(kinds), 0, 0, 0, 0, *PLAIN_TARGET]])
    effectors = np.array([[length, 0, 0, 1, 0, 0, 0, 1, tolerance**2, 0, 0, 0, 0, 0, 0]])
    ranges = np.tile([0, 3], (dof, 1))
    return KernelTree(
        np.array(nodes), frames, dofs, terms, effectors, np.arange(len(kinds)), ranges, at, 4 if term == ROTATION else 3
    )


def way_to(tree, u, near_u):
    """(nd,) the step from u to a preferred configuration, balls by twice the vector part of the quaternion."""
    way = np.zeros(len(tree.dofs))
    for d, (_, _, number, _) in enumerate(tree.dofs):
        if number >= 0:
            way[d] = near_u[int(number)] - u[int(number)]
    for _, motion, at, dof in tree.nodes.tolist():
        if motion == BALL:
            q = wxyz(turn(near_u[at : at + 4]) * turn(u[at : at + 4]).inv())
            way[dof : dof + 3] = 2 * q[1:] * (-1 if q[0] < 0 else 1)
        elif motion == MOVE:
            way[dof : dof + 3] = near_u[at : at + 3] - u[at : at + 3]
    return way


def same_configuration(tree, a, b, atol):
    a, b = a.copy(), b.copy()
    for _, motion, at, _ in tree.nodes.tolist():
        if motion == BALL and a[at : at + 4] @ b[at : at + 4] < 0:
            b[at : at + 4] *= -1
    np.testing.assert_allclose(a, b, atol=atol)
