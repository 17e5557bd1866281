"""The general-tree kernels against slow loops, finite differences and dense linear algebra."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from poise.kernels import tree_lm as tree_many
from poise.kernels.problem_arrays import TreeArrays, TreeProblems
from poise.model.limit_bounds import pack_limit
from poise.model.limits import SwingTwist
from tests.kernels.tree_cases import (
    LANE_COUNTS,
    PLAIN,
    WIDTH,
    arm,
    assert_met,
    lanes_after,
    needs_eight_lanes,
    same_configuration,
    settings,
    solve,
    way_to,
    work_of,
)
from tests.reference.kernel_tree import (
    BALL,
    DIRECTION,
    HINGE,
    MOVE,
    POLE,
    POSITION,
    ROTATION,
    SLIDE,
    random_tree,
    random_u,
    turn,
    wxyz,
)

pytestmark = pytest.mark.long

ROOT = Path(__file__).parent.parent.parent
SEEDS = range(int(os.environ.get("POISE_TREES", "12")))


# --- kinematics --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_nodes_stand_where_a_slow_loop_puts_them(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, k=WIDTH if seed % 2 else 1)  # frames of each problem, or shared ones
    us = random_u(rng, tree, WIDTH, 2.0)
    lanes = lanes_after(tree, tree.targets_at(us), us)
    for k, u in enumerate(us):
        for i, (at, rotation, _) in enumerate(tree.place(u, k)):
            np.testing.assert_allclose(lanes.positions[i, :, k], at, atol=1e-13)
            np.testing.assert_allclose(turn(lanes.rotations[i, :, k]).as_matrix(), rotation.as_matrix(), atol=1e-13)


@pytest.mark.parametrize("seed", SEEDS)
def test_residuals_and_rows_are_those_of_finite_differences(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n=12, terms=5)
    us = random_u(rng, tree, WIDTH, 2.0)
    targets = tree.targets_at(random_u(rng, tree, WIDTH, 2.0))
    lanes = lanes_after(tree, targets, us)
    for k, u in enumerate(us):
        np.testing.assert_allclose(lanes.e[:, k], tree.left(u, targets[k]) * tree.weights(), atol=1e-12)
        want = tree.jacobian(u, targets[k]) * tree.weights()[:, None]
        for d, (first, last) in enumerate(tree.row_ranges):
            np.testing.assert_allclose(lanes.J[d, first:last, k], want[first:last, d], atol=2e-9)
            want[first:last, d] = 0.0
        assert not want.any()  # no dof moves rows outside its range


# --- the step ----------------------------------------------------------------------------------------------------


def dense_step(tree, u, target, near=None, pull=0.0):
    """Where one damped step leads, by dense algebra; a dof at a limit that e pushes it against does not move."""
    e, J = tree.left(u, target) * tree.weights(), tree.jacobian(u, target) * tree.weights()[:, None]
    ease = np.diag(tree.dofs[:, 3])
    b = np.zeros(len(tree.dofs))
    if near is not None:
        b = np.minimum(pull * near[1], 1.0) * way_to(tree, u, near[0])
    for d, (low, high, number, _) in enumerate(tree.dofs):
        if number >= 0 and (
            (u[int(number)] <= low and J[:, d] @ e < 0) or (u[int(number)] >= high and J[:, d] @ e > 0)
        ):
            J[:, d] = 0.0
    damping = 0.03 * (e @ e) + 1e-8
    step = ease @ J.T @ np.linalg.solve(J @ ease @ J.T + damping * np.eye(len(e)), e - J @ b) + b
    for _, motion, _, dof in tree.nodes.tolist():
        if motion == BALL:  # the kernel turns by 2 atan(|delta| / 2), the exponential by |delta|
            length = np.linalg.norm(step[dof : dof + 3])
            step[dof : dof + 3] *= 2 * np.arctan(length / 2) / length if length > 0 else 1.0
    out = tree.moved(u, step)
    for low, high, number, _ in tree.dofs:
        if number >= 0:
            out[int(number)] = np.clip(out[int(number)], low, high)
    return out


@pytest.mark.parametrize("pull", [0.0, 0.3])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_step_is_the_damped_least_squares_step(seed, pull):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n=12, terms=4)
    tree.dofs[:, 3] = np.repeat(rng.uniform(0.05, 1, size=len(tree.dofs)), 1) * (rng.random(len(tree.dofs)) < 0.5)
    tree.dofs[tree.dofs[:, 3] == 0, 3] = 1.0
    u, aim, near_u = random_u(rng, tree, 3, 1.0)
    near = near_u, rng.choice([0.0, 0.5, 1.0, 5.0], size=len(tree.dofs))
    for _, motion, at, dof in tree.nodes.tolist():
        if motion in (BALL, MOVE):
            near[1][dof : dof + 3] = near[1][dof]  # a joint has one strength
        if motion == BALL:
            near_u[at : at + 4] *= rng.choice([-1, 1])  # the same rotation
    target = tree.targets_at(aim[None])
    _, _, _, trace = solve(tree, target, u[None], settings(9, pull=pull), near=near, traced=2)
    e = tree.left(u, target[0]) * tree.weights()
    np.testing.assert_allclose(trace[0], [e @ e, *u], atol=1e-12)
    same_configuration(tree, trace[1, 1:], dense_step(tree, u, target[0], near if pull else None, pull), 1e-7)


@pytest.mark.parametrize("seed", SEEDS)
def test_dofs_at_a_limit_are_frozen_and_the_rest_takes_over(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n=12, terms=3, kinds=(HINGE, SLIDE, HINGE, BALL))
    u, aim = random_u(rng, tree, 2, 0.6)
    numbers = tree.dofs[:, 2].astype(int)
    for d, number in enumerate(numbers):
        if number >= 0:
            tree.dofs[d, :2] = u[number] - rng.choice([0.0, 1.0]), u[number] + rng.choice([0.0, 1.0])
    target = tree.targets_at(aim[None])
    found, _, _, trace = solve(tree, target, u[None], traced=2)
    same_configuration(tree, trace[1, 1:], dense_step(tree, u, target[0]), 1e-7)
    limited = numbers >= 0
    assert (found[0, numbers[limited]] >= tree.dofs[limited, 0]).all()
    assert (found[0, numbers[limited]] <= tree.dofs[limited, 1]).all()


# --- solving -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_targets_within_reach_are_met(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n=12, terms=4, k=20 if seed % 2 else 1)
    aims = random_u(rng, tree, 20, 1.0)
    starts = np.array([tree.moved(u, rng.uniform(-0.3, 0.3, size=len(tree.dofs))) for u in aims])
    targets = tree.targets_at(aims)
    options = settings(restarts=8, polish=10)
    for kernel in list_widths():
        u, errors, counts, _ = solve(
            tree, targets, starts, options, seeds=rng.random((8, len(tree.dofs))), kernel=kernel
        )
        assert_met(tree, u, targets)
        assert (errors < 1e-12).all()
        assert counts[:, 2].all()


def test_limits_hold_in_every_attempt():
    rng = np.random.default_rng(0)
    tree = random_tree(rng, n=8, terms=2, kinds=(HINGE, SLIDE), couple=False)
    tree.dofs[:, :2] = [-0.4, 0.7]
    targets = tree.targets_at(random_u(rng, tree, 40, 1.5))  # many of them out of reach within the limits
    u, _, counts, trace = solve(
        tree, targets, np.zeros((1, tree.nu)), settings(20, 5, 10), seeds=rng.random((5, tree.nu)), traced=100
    )
    assert (counts[:, 2] == 0).any()
    assert counts[0, 1] > 1
    for rows in (u, trace[: counts[0, :2].sum(), 1:]):
        assert np.isfinite(rows).all()
        assert ((rows >= -0.4) & (rows <= 0.7)).all()


def test_a_start_that_meets_its_goals_comes_back_bit_for_bit():
    rng = np.random.default_rng(1)
    tree = random_tree(rng)
    starts = random_u(rng, tree, 11)
    u, _, counts, _ = solve(tree, tree.targets_at(starts), starts, settings(restarts=3, polish=3))
    assert (u == starts).all()
    assert (counts == [0, 1, 1]).all()


@pytest.mark.parametrize("distance", [3.1, 3.5, 5, 7, 20, 100])
def test_a_target_out_of_reach_gives_the_nearest_point(distance):
    """Three links of length 1. Plain damped steps would swing about the nearest point for ever: a polish must not."""
    rng = np.random.default_rng(9)
    tree = arm([BALL, BALL, BALL], POSITION)
    ways = rng.normal(size=(20, 3))
    targets = distance * ways / np.linalg.norm(ways, axis=1, keepdims=True)
    start = np.tile([1.0, 0, 0, 0], 3)[None]
    _, errors, counts, _ = solve(tree, targets, start, settings(20, 2, 40), seeds=rng.random((2, 9)))
    assert not counts[:, 2].any()
    np.testing.assert_allclose(np.sqrt(errors), distance - 3, rtol=1e-5)


@pytest.mark.parametrize("short", [0.0, 1e-14, 1e-9, 1e-4])
def test_half_a_turn_is_met(short):
    """Where sin(angle) is zero; `short` of it by so many radians."""
    angle = np.pi - short
    start = np.tile([1.0, 0, 0, 0], 2)[None]
    axes = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.6, 0, 0.8]])
    half_turns = np.array([[np.cos(angle / 2), *np.sin(angle / 2) * a] for a in axes])
    tree = arm([BALL, BALL], ROTATION)
    u, _, counts, _ = solve(tree, half_turns, start)
    assert_met(tree, u, half_turns, 1e-8)
    assert counts[:, 2].all()
    tree = arm([BALL, BALL], DIRECTION)
    directions = np.array([[np.cos(angle), np.sin(angle), 0.0], [np.cos(angle), 0.0, -np.sin(angle)]])
    u, _, counts, _ = solve(tree, directions, start)
    assert_met(tree, u, directions, 1e-8)
    assert counts[:, 2].all()


def test_opposite_directions_are_left_by_a_turn_across():
    """In all octants: the perpendicular has no singular direction."""
    rng = np.random.default_rng(2)
    tree = arm([BALL], DIRECTION)
    ways = np.concatenate([rng.normal(size=(50, 3)), np.eye(3), -np.eye(3)])
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    for way in ways:
        tree.effectors[0, :3] = way
        u, _, counts, _ = solve(tree, -way[None], np.array([[1.0, 0, 0, 0]]), settings(15))
        assert counts[0, 2] == 1
        np.testing.assert_allclose(turn(u[0]).apply(way), -way, atol=1e-8)


# --- one problem does not depend on the others -------------------------------------------------------------------


@pytest.mark.parametrize("lanes", LANE_COUNTS)
def test_answers_do_not_depend_on_the_batch(lanes):
    rng = np.random.default_rng(26)  # an aim, a rotation and a pole
    tree = random_tree(rng, n=9, terms=3, kinds=(HINGE, SLIDE, BALL))
    hinged = tree.dofs[:, 2] >= 0
    tree.dofs[hinged, :2] = [-1.0, 1.0]
    starts, targets = random_u(rng, tree, 1, 0.5), tree.targets_at(random_u(rng, tree, 1000, 1.3))
    numbers = tree.dofs[hinged, 2].astype(int)
    starts[:, numbers] = rng.choice([-1.0, 1.0], size=len(numbers))  # where the past could tell what is frozen
    near = random_u(rng, tree, 1)[0], np.ones(len(tree.dofs))
    seeds, kernel = rng.random((3, len(tree.dofs))), getattr(tree_many, f"solve{lanes}")
    for pull in (0.0, 0.3):
        options = settings(15, 2, 4, pull)
        u, errors, counts, _ = solve(tree, targets, starts, options, seeds=seeds, kernel=kernel, near=near)
        assert 0 < counts[:, 2].sum() < 1000
        for size in (1, 7, 8, 9, 1000):
            chosen = rng.permutation(1000)[:size]
            some = solve(tree, targets[chosen], starts, options, seeds=seeds, kernel=kernel, near=near)
            for got, want in zip(some, (u, errors, counts), strict=False):
                assert (got == want[chosen]).all()


@pytest.mark.parametrize("lanes", LANE_COUNTS)
@pytest.mark.parametrize("pull", [0.0, 0.3])
def test_plain_trees_are_answered_as_those_whose_limits_bind_nothing(lanes, pull):
    rng = np.random.default_rng(18)
    tree = random_tree(rng, n=9, terms=3, kinds=(HINGE, SLIDE, BALL))
    assert {POSITION, ROTATION, POLE} == set(tree.terms[:, 0].tolist())
    starts, targets = random_u(rng, tree, 1, 0.5), tree.targets_at(random_u(rng, tree, 50, 1.3))
    near, seeds = (random_u(rng, tree, 1)[0], np.ones(len(tree.dofs))), rng.random((3, len(tree.dofs)))
    narrow = np.array([pack_limit(SwingTwist((1, 0, 0), 0.2, (-0.2, 0.2)))] * len(tree.nodes))
    given = [
        solve(
            tree, targets, starts, settings(15, 2, 4, pull), near=near, seeds=seeds, limits=limits,
            kernel=getattr(tree_many, f"{name}{lanes}"), traced=5,
        )
        for name, limits in (
            ("plain", PLAIN), ("solve", 0.0 * narrow), ("solve", narrow * (tree.nodes[:, 1:2] == BALL))
        )
    ]  # fmt: skip
    for without, empty, bound in zip(*given, strict=True):
        np.testing.assert_array_equal(without, empty)
        assert not np.array_equal(without, bound)


def test_the_nearest_pose_does_not_depend_on_the_lane():
    """Where a target is out of reach, the best pose that was seen is kept, in each lane its own."""
    rng = np.random.default_rng(12)
    tree = arm([HINGE, BALL, HINGE], POSITION)
    targets, start = 4.0 * rng.normal(size=(8, 3)) + 6.0, random_u(rng, tree, 1, 0.4)
    options, seeds = settings(8, 1, 6), rng.random((1, len(tree.dofs)))
    together = solve(tree, targets, start, options, seeds=seeds)
    assert not together[2][:, 2].any()
    for k in range(8):
        alone = solve(tree, targets[k : k + 1], start, options, seeds=seeds)
        for one, many in zip(alone[:3], together[:3], strict=True):
            np.testing.assert_array_equal(one[0], many[k])


def plain_cases():
    """Answers of small problems, for each kernel there is: run compiled and uncompiled."""
    out = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        tree = random_tree(rng, n=6, terms=2)
        aims = random_u(rng, tree, 5, 1.0)
        starts = np.array([tree.moved(u, rng.uniform(-0.2, 0.2, size=len(tree.dofs))) for u in aims])
        near = aims[0], np.ones(len(tree.dofs))
        targets, seeds = tree.targets_at(aims), rng.random((2, len(tree.dofs)))
        for options in (settings(12, 1, 2), settings(12, 1, 2, 0.3)):
            answers = [
                solve(tree, targets, starts, options, near=near, seeds=seeds, kernel=kernel, traced=3)
                for kernel in kernels()
            ]
            out.append([[part.tolist() for part in answer] for answer in answers])
    return out


def kernels():
    is_plain = os.environ.get("POISE_KERNELS") == "plain"
    return [*list_widths(), solve_one_by_one] if is_plain else list_widths()


def list_widths():
    """The kernel in each width that runs here."""
    return [tree_many.solve4, tree_many.solve8][: WIDTH // 4]


def solve_one_by_one(
    nodes, frames, dofs, terms, effectors, paths, row_ranges, targets, starts, draws, near_u, near_on, limits, options,
    work, first, end, u, errors, counts, trace, *_world_targets,
):  # fmt: skip
    """The kernel on plain numbers, with the arguments of the others."""
    from poise.kernels.lanes import SCALAR

    tree = TreeArrays(nodes, dofs, terms, effectors, paths, row_ranges, near_u, near_on)
    problems = TreeProblems(frames, targets, starts, draws, options, u, errors, counts)
    tree_many.solve_lanes(SCALAR, tree, problems, limits, work, first, end, trace)


def test_lanes_and_plain_numbers_agree():
    code = "import json; from tests.kernels.test_tree_kernels import plain_cases; print(json.dumps(plain_cases()))"
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT,
        env=os.environ | {"POISE_KERNELS": "plain"},
    )  # fmt: skip
    for fast, plain in zip(plain_cases(), json.loads(done.stdout), strict=True):
        assert len(plain) == len(list_widths()) + 1
        for answer in [*fast[1:], *plain]:
            for got, want in zip(answer, fast[0], strict=True):
                np.testing.assert_allclose(got, want, atol=1e-9)


@needs_eight_lanes
def test_each_width_uses_its_own_share_of_the_memory():
    rng = np.random.default_rng(0)
    tree = random_tree(rng, n=6, terms=2)
    used = []
    for kernel in (tree_many.solve4, tree_many.solve8):
        work = work_of(tree)
        u = random_u(rng, tree, 8)
        solve(tree, tree.targets_at(u), u, kernel=kernel, work=work)
        used.append(np.count_nonzero(~np.isnan(work)))
    assert 0 < 2 * used[0] == used[1]


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
def test_what_is_not_a_number_ends_and_stays_in_its_lane(bad):
    rng = np.random.default_rng(4)
    tree = random_tree(rng)
    aims = random_u(rng, tree, 10, 0.6)
    targets, start, seeds = tree.targets_at(aims), random_u(rng, tree, 1, 0.5), rng.random((2, len(tree.dofs)))
    good = solve(tree, targets, start, settings(20, 2, 3), seeds=seeds)
    targets[3] = bad
    with np.errstate(over="ignore", invalid="ignore"):  # eight lanes without AVX-512 are plain Python, which warns
        u, errors, counts, _ = solve(tree, targets, start, settings(20, 2, 3), seeds=seeds)
    others = np.arange(10) != 3
    for got, want in zip((u, errors, counts), good, strict=False):
        assert (got[others] == want[others]).all()
    assert counts[3].tolist()[1:] == [4, 0]
    assert errors[3] == 1e300
    assert (u[3] == start[0]).all()


# --- starting again ----------------------------------------------------------------------------------------------


def test_attempts_start_where_the_seeds_say():
    tree = arm([HINGE, SLIDE, BALL, MOVE, HINGE], POSITION)
    tree.dofs[0, :2] = [-0.5, 1.5]
    rng = np.random.default_rng(5)
    start, seeds = random_u(rng, tree, 1, 0.3), rng.random((20, len(tree.dofs)))
    _, _, counts, trace = solve(tree, np.full((1, 3), 50.0), start, settings(1, 12), seeds=seeds, traced=40)
    assert counts[0].tolist() == [13, 13, 0]
    for a in range(1, 13):
        s, want = seeds[a - 1], start[0].copy()
        want[0] = -0.5 + 2 * s[0]
        share = min(0.25 * a, 2.0)
        ball = type(turn(want[2:6])).from_rotvec((2 * s[2:5] - 1) * share)
        want[2:6] = wxyz(ball * turn(want[2:6]))
        want[9] += (2 * s[8] - 1) * np.pi
        same_configuration(tree, trace[2 * a, 1:], want, 1e-14)  # each tries twice: the start and one step
