"""The step rules of the Jacobian methods in the kernel, against slow references of one step."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from poise.kernels import jacobian_methods as tree_steps
from poise.kernels.lanes import SCALAR
from poise.kernels.layout import (
    LIMIT_ROW,
    RULE_ADAPTIVE_TRANSPOSE,
    RULE_DAMPED,
    RULE_OPTIMAL_TRANSPOSE,
    RULE_PSEUDO_INVERSE,
    RULE_SELECTIVELY_DAMPED,
)
from poise.kernels.symmetric_matrices import diagonalise
from poise.model.limit_bounds import pack_limit
from poise.model.limits import SwingTwist
from tests.kernels.kernel_entries import compiled
from tests.kernels.tree_cases import PLAIN, arm, get_kernel, same_configuration, work_of
from tests.reference import jacobian_steps
from tests.reference.kernel_tree import BALL, FIXED, HINGE, MOVE, POLE, POSITION, ROTATION, SLIDE, random_tree, random_u

ROOT = Path(__file__).parent.parent.parent
SEEDS = range(6)
LARGE = 1e6
RULES = {
    "transpose": (RULE_OPTIMAL_TRANSPOSE, 0.0, 0.0),
    "pseudo-inverse": (RULE_PSEUDO_INVERSE, 0.05, 0.0),
    "damped, constant": (RULE_DAMPED, 0.02, 0.0),
    "damped, by the error": (RULE_DAMPED, 1e-8, 0.04),
    "selective": (RULE_SELECTIVELY_DAMPED, 0.5, 0.0),
}


def settings(rule, *, numeric=False, iterations=1, restarts=0, patience=np.inf, bend=0.0, max_turn=LARGE):
    number, first, second = rule
    max_turn = (
        first if number == RULE_SELECTIVELY_DAMPED else max_turn
    )  # one angle caps each direction and, as solvers have it, all
    return np.array([number, numeric, iterations, restarts, patience, bend, max_turn, first, second])


def solve(tree, targets, starts, options, *, clamps=None, limits=None, kernel=None):
    """(u, errors, counts, trace) of the kernel for targets (k, width) from starts (1|k, nu)."""
    k, nd, m = len(targets), len(tree.dofs), 3 * len(tree.terms)
    u, errors, counts = np.full((k, tree.nu), np.nan), np.full(k, np.nan), np.zeros((k, 3), dtype=np.int64)
    trace = np.full((int(options[2] + options[3]) + 2, tree.nu + 1), np.nan)
    memory = np.full(tree_steps.compute_scratch_size(nd, tree.nu, m) + 8, np.nan)  # what it holds must not matter
    first = -memory.ctypes.data // 8 % 8
    limits = np.zeros((len(tree.nodes), LIMIT_ROW)) if limits is None else limits
    kernel = kernel or get_kernel(tree_steps, "plain" if limits is PLAIN else "solve")
    kernel(
        tree.nodes, tree.frames, tree.dofs, tree.terms, tree.effectors, tree.paths, tree.row_ranges, targets, starts,
        np.random.default_rng(7).random((16, nd)), np.zeros(tree.nu), np.zeros(nd),
        *(() if limits is PLAIN else (limits,)),
        np.full(len(tree.terms), LARGE) if clamps is None else clamps, options, work_of(tree),
        memory[first : len(memory) - 8 + first], 0, k, u, errors, counts, trace,
    )  # fmt: skip
    return u, errors, counts, trace


def reference_step(name, jacobian, e):
    number, first, second = RULES[name]
    if number == RULE_OPTIMAL_TRANSPOSE:
        return jacobian_steps.transpose(jacobian, e)
    if number == RULE_PSEUDO_INVERSE:
        return jacobian_steps.pseudo_inverse(jacobian, e, first)
    if number == RULE_DAMPED:
        return jacobian_steps.damped(jacobian, e, first + second * (e @ e))
    return jacobian_steps.selective(jacobian, e, first)


def taken(tree, u, step):
    """The configuration after a step, which turns a ball by 2 atan(|step| / 2)."""
    step = step.copy()
    for _, motion, _, dof in tree.nodes.tolist():
        if motion == BALL:
            size = np.linalg.norm(step[dof : dof + 3])
            step[dof : dof + 3] *= 2 * np.arctan(size / 2) / size if size else 1.0
    return tree.moved(u, step)


def problem(seed, *, terms=3, size=0.4, kinds=(FIXED, HINGE, SLIDE, BALL, MOVE)):
    """A random tree, a configuration of it, and what it is to reach from there."""
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n=9, terms=terms, kinds=kinds)
    u, other = random_u(rng, tree, 1), random_u(rng, tree, 1, size)
    return tree, u, tree.targets_at(other)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_step_is_what_its_formula_says(name, seed):
    # balls that turn one rotation have equal singular values: their vectors, and so the selective step, are not unique
    kinds = (FIXED, HINGE, SLIDE) if name == "selective" else (FIXED, HINGE, SLIDE, BALL, MOVE)
    tree, u, targets = problem(seed, kinds=kinds)
    weights = tree.weights()
    want = reference_step(
        name, tree.jacobian(u[0], targets[0]) * weights[:, None], tree.left(u[0], targets[0]) * weights
    )
    _, _, counts, trace = solve(tree, targets, u, settings(RULES[name]))
    assert counts[0, 0] == 1
    same_configuration(tree, trace[1, 1:], taken(tree, u[0], want), atol=3e-6 * (1 + np.abs(want).max()))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_numeric_jacobian_is_that_of_the_residual(seed):
    tree, u, targets = problem(seed)
    J = np.zeros((3 * len(tree.terms), len(tree.dofs)))
    for d, step in enumerate(np.eye(len(tree.dofs)) * 1e-5):
        ahead, behind = (tree.left(tree.moved(u[0], by), targets[0]) for by in (step, -step))
        J[:, d] = (behind - ahead) / 2e-5
    e, weights = tree.left(u[0], targets[0]), tree.weights()
    want = jacobian_steps.damped(J * weights[:, None], e * weights, 0.02)
    _, _, _, trace = solve(tree, targets, u, settings(RULES["damped, constant"], numeric=True))
    same_configuration(tree, trace[1, 1:], taken(tree, u[0], want), atol=1e-6)


@pytest.mark.parametrize("name", RULES)
def test_numeric_and_analytic_jacobians_take_points_the_same_way(name):
    rng = np.random.default_rng(3)
    tree = arm([HINGE, BALL, MOVE, BALL], POSITION)
    u = random_u(rng, tree, 8)
    targets = tree.targets_at(random_u(rng, tree, 8))
    same = [solve(tree, targets, u, settings(RULES[name], numeric=numeric))[3][1, 1:] for numeric in (False, True)]
    np.testing.assert_allclose(same[0], same[1], atol=1e-8)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_adaptive_rule_never_keeps_a_rise(seed):
    tree, u, targets = problem(seed)
    _, errors, _, trace = solve(tree, targets, u, settings((RULE_ADAPTIVE_TRANSPOSE, 0.02, 7.0), iterations=60))
    kept = trace[:61, 0]
    assert (np.diff(kept) <= 0).all()
    assert errors[0] == kept.min() < kept[0]
    undone = np.flatnonzero(np.diff(kept) == 0)
    assert undone.size > 3  # the factor grows until a step goes too far
    np.testing.assert_array_equal(trace[undone, 1:], trace[undone + 1, 1:])


def test_the_adaptive_factor_grows_by_seven_and_shrinks_by_seven():
    """A slide along its axis: J is 1, so that what is left changes by 1 less the factor at every step."""
    tree = arm([SLIDE], POSITION)
    _, _, _, trace = solve(
        tree, np.array([[1.0, 0, 1]]), np.zeros((1, 1)), settings((RULE_ADAPTIVE_TRANSPOSE, 0.02, 7.0), iterations=5)
    )
    left = 1 - trace[:6, 1]
    np.testing.assert_allclose(left[1:3], [0.98, 0.98 * 0.86], rtol=1e-12)
    np.testing.assert_allclose(left[3], left[2] * (1 - 0.98), rtol=1e-10)
    assert left[4] == left[3]  # 1 - 6.86 went too far
    np.testing.assert_allclose(left[5], left[4] * 0.02, rtol=1e-9)


@pytest.mark.parametrize("name", RULES)
def test_dofs_that_a_limit_holds_take_no_part(name):
    tree, u, targets = problem(4)
    weights = tree.weights()
    J, e = tree.jacobian(u[0], targets[0]) * weights[:, None], tree.left(u[0], targets[0]) * weights
    held = [d for d, (_, _, number, _) in enumerate(tree.dofs) if number >= 0 and J[:, d] @ e > 0][:2]
    assert held
    for d in held:
        tree.dofs[d, 1] = u[0, int(tree.dofs[d, 2])]
    J[:, held] = 0
    _, _, _, trace = solve(tree, targets, u, settings(RULES[name]))
    same_configuration(tree, trace[1, 1:], taken(tree, u[0], reference_step(name, J, e)), atol=1e-5)


@pytest.mark.parametrize("name", RULES)
def test_a_clamped_step_looks_at_a_part_of_each_error(name):
    tree, u, targets = problem(2)
    weights, clamps = tree.weights(), np.array([0.05, 1e9, 0.1])
    J, e = tree.jacobian(u[0], targets[0]) * weights[:, None], tree.left(u[0], targets[0]) * weights
    full = e @ e
    for t, most in enumerate(clamps):
        length = np.linalg.norm(e[3 * t : 3 * t + 3])
        e[3 * t : 3 * t + 3] *= min(1.0, most / length)
    want = jacobian_steps.damped(J, e, 1e-8 + 0.04 * full) if "by the error" in name else reference_step(name, J, e)
    _, _, _, trace = solve(tree, targets, u, settings(RULES[name]), clamps=clamps)
    same_configuration(tree, trace[1, 1:], taken(tree, u[0], want), atol=1e-5)


def test_no_joint_turns_by_more_than_requested():
    tree, u, targets = problem(1, size=1.5)
    free = jacobian_steps.shortened(
        reference_step("pseudo-inverse", tree.jacobian(u[0], targets[0]) * tree.weights()[:, None],
                       tree.left(u[0], targets[0]) * tree.weights()), 0.1,
    )  # fmt: skip
    _, _, _, trace = solve(tree, targets, u, settings(RULES["pseudo-inverse"], max_turn=0.1))
    assert np.abs(free).max() == pytest.approx(0.1)
    same_configuration(tree, trace[1, 1:], taken(tree, u[0], free), atol=1e-6)


@pytest.mark.parametrize("rule", [(RULE_ADAPTIVE_TRANSPOSE, 0.02, 7.0), *RULES.values()])
def test_a_problem_has_the_same_bits_in_any_lane_and_company(rule):
    tree, u, _ = problem(5, terms=2)
    targets = tree.targets_at(random_u(np.random.default_rng(1), tree, 21, 0.6))
    options = settings(rule, iterations=40, restarts=2, patience=5, bend=0.03, max_turn=1.0)
    together = solve(tree, targets, u, options)
    for k in (0, 7, 8, 20):
        alone = solve(tree, targets[k : k + 1], u, options)
        for a, b in zip(together[:3], alone[:3], strict=True):
            np.testing.assert_array_equal(a[k], b[0])


@pytest.mark.parametrize("rule", [(RULE_ADAPTIVE_TRANSPOSE, 0.02, 7.0), *RULES.values()])
def test_plain_trees_are_answered_as_those_whose_limits_bind_nothing(rule):
    rng = np.random.default_rng(18)
    tree = random_tree(rng, n=9, terms=3, kinds=(HINGE, SLIDE, BALL))
    assert {POSITION, ROTATION, POLE} == set(tree.terms[:, 0].tolist())
    starts, targets = random_u(rng, tree, 1, 0.5), tree.targets_at(random_u(rng, tree, 20, 1.3))
    narrow = np.array([pack_limit(SwingTwist((1, 0, 0), 0.2, (-0.2, 0.2)))] * len(tree.nodes))
    given = [
        solve(tree, targets, starts, settings(rule, iterations=9, restarts=2, patience=3, bend=0.1), limits=limits)
        for limits in (PLAIN, 0.0 * narrow, narrow * (tree.nodes[:, 1:2] == BALL))
    ]
    for without, empty, bound in zip(*given, strict=True):
        np.testing.assert_array_equal(without, empty)
        assert not np.array_equal(without, bound)


def test_what_is_not_a_number_leaves_the_start():
    tree = arm([BALL, BALL], POSITION)
    u = random_u(np.random.default_rng(0), tree, 1)
    got, errors, counts, _ = solve(
        tree,
        np.array([[np.nan, 0, 0]]),
        u,
        settings(RULES["selective"], iterations=9, restarts=2, patience=2, bend=0.1),
    )
    np.testing.assert_array_equal(got, u)
    assert errors[0] == 1e300
    assert counts[0, 2] == 0


def test_the_best_pose_found_is_the_answer():
    """The target is out of reach and the pseudo-inverse shakes."""
    tree = arm([HINGE, BALL, BALL], POSITION)
    u = random_u(np.random.default_rng(0), tree, 1)
    got, errors, _, trace = solve(tree, np.array([[0, 5.0, 1]]), u, settings(RULES["pseudo-inverse"], iterations=50))
    best = np.nanargmin(trace[:, 0])
    assert 0 < best < 50
    assert errors[0] == trace[best, 0]
    np.testing.assert_array_equal(got[0], trace[best, 1:])


def test_every_problem_of_a_batch_is_answered():
    """Twenty targets in eight lanes, some out of reach: who has settled takes the next one, and none is left out."""
    tree = arm([HINGE, HINGE], POSITION)
    ways = np.random.default_rng(1).normal(size=(20, 3)) * [1.0, 1.0, 0.0]
    targets = ways / np.linalg.norm(ways, axis=1, keepdims=True) * np.where(np.arange(20) % 3, 5.0, 1.2)[:, None]
    options = settings(RULES["damped, constant"], iterations=9, restarts=1, patience=3)
    u, errors, counts, _ = solve(tree, targets, np.zeros((1, 2)), options)
    assert np.isfinite(u).all()
    assert np.isfinite(errors).all()
    assert (counts[:, 0] > 0).all()


# --- eigenvalues -------------------------------------------------------------------------------------------------


@compiled
def eigen_of(matrix, vectors, values):
    diagonalise(SCALAR, matrix, vectors, values)


@pytest.mark.parametrize("rank", [0, 1, 2, 5, 30])
@pytest.mark.parametrize("m", [3, 6, 30])
def test_eigenvalues_are_those_of_lapack(m, rank):
    J = np.random.default_rng(m).normal(size=(m, rank))
    A = J @ J.T
    vectors, values = np.full((m, m), np.nan), np.full(m, np.nan)
    eigen_of(A.copy(), vectors, values)
    np.testing.assert_allclose(np.sort(values), np.linalg.eigvalsh(A).clip(0), atol=1e-13 * max(1, np.trace(A)))
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(m), atol=1e-12)
    np.testing.assert_allclose(vectors.T @ np.diag(values) @ vectors, A, atol=1e-12 * max(1, np.trace(A)))


def test_equal_eigenvalues_and_extreme_sizes():
    for size in (1e-150, 1.0, 1e150):
        A = size * np.array([[2.0, 1, 1], [1, 2, 1], [1, 1, 2]])
        vectors, values = np.zeros((3, 3)), np.zeros(3)
        eigen_of(A.copy(), vectors, values)
        np.testing.assert_allclose(np.sort(values), size * np.array([1, 1, 4]), rtol=1e-13)
        np.testing.assert_allclose(vectors.T @ np.diag(values) @ vectors, A, rtol=1e-13)


# --- the same source, uncompiled ---------------------------------------------------------------------------------


def both_ways():
    tree, u, _ = problem(2, terms=2)
    targets = tree.targets_at(random_u(np.random.default_rng(8), tree, 3, 0.5))
    return [
        solve(tree, targets, u, settings(rule, numeric=numeric, iterations=3, bend=0.03))[0].tolist()
        for rule in [(RULE_ADAPTIVE_TRANSPOSE, 0.02, 7.0), *RULES.values()] for numeric in (False, True)
    ]  # fmt: skip


@pytest.mark.long
def test_uncompiled_agrees():
    done = subprocess.run(
        [sys.executable, "-c", "import json, tests.solvers.test_jacobian_steps as t; print(json.dumps(t.both_ways()))"],
        env=os.environ | {"POISE_KERNELS": "plain"}, check=True, capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    np.testing.assert_allclose(both_ways(), json.loads(done.stdout), atol=1e-9)
