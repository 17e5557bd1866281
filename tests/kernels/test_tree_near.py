"""The preferred configuration of the general-tree kernels: it decides where the goals leave a choice, never else."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from tests.kernels.tree_cases import assert_met, same_configuration, settings, solve, way_to
from tests.reference.kernel_tree import BALL, HINGE, MOVE, SLIDE, random_tree, random_u

pytestmark = pytest.mark.long


def redundant(rng, kinds):
    tree = random_tree(rng, n=9, terms=1, kinds=kinds, couple=False, measured=3)
    start, near_u = random_u(rng, tree, 2, 0.5)
    return tree, start[None], near_u, tree.targets_at(random_u(rng, tree, 10, 0.7))


@pytest.mark.parametrize("kinds", [(HINGE,), (BALL,), (HINGE, SLIDE, BALL, MOVE)])
@pytest.mark.long
def test_of_all_that_meets_the_goals_the_nearest_is_found(kinds):
    """There, no step that the goals allow leads nearer: the way to it is a combination of the rows of J."""
    rng, farthest = np.random.default_rng(6), 0.0
    for _ in range(4):
        tree, start, near_u, targets = redundant(rng, kinds)
        on = np.ones(len(tree.dofs))
        on[: tree.nodes[1, 3]] = 0.0  # the first joint does not care
        u, _, counts, _ = solve(tree, targets, start, settings(300, pull=0.5), near=(near_u, on))
        assert counts[:, 2].all()
        assert_met(tree, u, targets)
        for row, target in zip(u, targets, strict=True):
            J, way = tree.jacobian(row, target), on * way_to(tree, row, near_u)
            rest = way - J.T @ np.linalg.lstsq(J.T, way, rcond=None)[0]
            assert np.abs(rest).max() < 2e-6
            farthest = max(farthest, np.abs(way).max())
    assert farthest > 0.1  # not all of them could simply have what they prefer


def test_limits_hold_where_the_preferred_configuration_is_beyond_them():
    """The conditions of Karush, Kuhn and Tucker: what the goals do not forbid, a limit that pushes back does."""
    rng = np.random.default_rng(5)
    for _ in range(4):
        tree, start, _, _ = redundant(rng, (HINGE,))
        tree.dofs[:, :2] = [-0.5, 0.5]
        tree.dofs[:, 3] = rng.uniform(0.5, 1.0, size=len(tree.dofs))  # nearest means: in the metric of the ease
        near_u = rng.uniform(-0.8, 0.8, size=tree.nu)
        targets = tree.targets_at(rng.uniform(-0.5, 0.5, size=(10, tree.nu)))
        start, near = np.clip(start, -0.5, 0.5), (near_u, np.ones(tree.nu))
        u, _, counts, _ = solve(tree, targets, start, settings(300, pull=0.5), near=near)
        assert counts[:, 2].all()
        assert (np.abs(u) == 0.5).any()
        for row, target in zip(u, targets, strict=True):
            low, high = row == -0.5, row == 0.5
            pushes = np.concatenate([tree.jacobian(row, target).T, np.diag(1.0 * high - low)[:, low | high]], axis=1)
            least = np.array([-np.inf] * 3 + [0.0] * int((low | high).sum()))
            fit = lsq_linear(pushes, (near_u - row) / tree.dofs[:, 3], bounds=(least, np.inf), tol=1e-13)
            assert np.abs(fit.fun).max() < 2e-6


@pytest.mark.parametrize("iterations", [12, 40])
def test_a_preference_never_costs_a_goal(iterations):
    rng = np.random.default_rng(7)
    for _ in range(6):
        tree, start, near_u, targets = redundant(rng, (HINGE, SLIDE, BALL))
        hinged = tree.dofs[:, 2] >= 0
        tree.dofs[hinged, :2] = [-1.2, 1.2]
        near = near_u, np.full(len(tree.dofs), 3.0)
        without = solve(tree, targets, start, settings(iterations))[2][:, 2]
        u, _, counts, _ = solve(tree, targets, start, settings(iterations, pull=0.3), near=near)
        assert (counts[:, 2] >= without).all()
        for k in np.flatnonzero(counts[:, 2]):
            assert np.abs(tree.left(u[k], targets[k])).max() < 1e-6


def test_without_goals_the_preferred_configuration_is_taken():
    rng = np.random.default_rng(8)
    tree = random_tree(rng, n=6, terms=0, kinds=(HINGE, SLIDE, BALL, MOVE), couple=False)
    start, near_u = random_u(rng, tree, 2)
    near = near_u, np.ones(len(tree.dofs))
    u, errors, counts, _ = solve(tree, np.zeros((1, 0)), start[None], settings(100, pull=0.5), near=near)
    same_configuration(tree, u[0], near_u, 1e-6)
    assert errors[0] == 0.0
    assert counts[0, 2] == 1
