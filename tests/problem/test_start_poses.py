"""A prepared problem from other starts: what was packed serves again, and gives the bits of packing anew."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.io import samples
from poise.problem.problem import Problem

GOALS = (poise.Position("LeftHand", [0.5, 1.2, 0.3]), poise.Position("RightHand", [-0.4, 1.3, 0.3], root="Spine"))
MOVING = ("LeftArm", "LeftForeArm", "Spine", "RightArm", "RightForeArm")


@pytest.fixture(scope="module")
def rest():
    return poise.load(samples.path("humanoid.glb")).rest


def turned(pose, names, seed):
    """The pose with some joints turned at random, inside their limits."""
    rng = np.random.default_rng(seed)
    values = {name: np.array([1.0, *rng.uniform(-0.3, 0.3, 3)]) for name in names}
    return pose.skeleton.legal(pose.replace(values).q)[0]


def at(problem, q):
    """The problem from another configuration."""
    return problem.with_start(problem.start.with_q(q))


def test_a_plan_serves_every_pose_whose_other_joints_keep_still(rest):
    problem = Problem(rest, GOALS)
    assert at(problem, turned(rest, MOVING, 1)).plan is problem.plan
    assert at(problem, turned(rest, ("Hips",), 1)).plan is problem.plan  # above everything: the base moves
    assert Problem(rest, GOALS).plan is problem.plan
    away = [goal.with_target([9, 9, 9]) for goal in GOALS]
    assert Problem(rest, tuple(away)).plan is problem.plan


def test_a_joint_that_keeps_still_between_base_and_goal_makes_another_plan(rest):
    goals = tuple(
        poise.Position(f"{side}Hand", [0.4, 1.2, 0.3], root=f"{side}Arm") for side in ("Left", "Right")
    )  # below the shoulders, which keep still
    problem = Problem(rest, goals)
    other = at(problem, turned(rest, ("LeftShoulder",), 1))
    assert other.plan is not problem.plan
    assert at(problem, rest.q).plan is problem.plan
    assert at(problem, turned(rest, MOVING[:2], 1)).plan is problem.plan


def test_a_root_that_moves_has_one_plan():
    goal = poise.Position("LeftHand", [0.5, 1.2, 0.3], root="Hips")
    figure = poise.load(samples.path("humanoid.bvh")).rest
    problem = Problem(figure, (goal,), free_root=True)
    q = figure.q.copy()
    q[:3] += 1.0
    assert at(problem, q).plan is problem.plan
    assert at(Problem(figure, (goal,)), q).plan is not problem.plan


def test_what_a_solver_does_to_the_bases_of_a_problem_stays_there():
    arm = poise.load(samples.path("arm.urdf")).rest
    goals = (poise.Position("tool", (0.3, 0.1, 0.4)),)
    spoilt = Problem(arm, goals)
    expected = spoilt.base_transforms.copy()
    spoilt.base_transforms[:] = 1e3
    np.testing.assert_array_equal(Problem(arm, goals).base_transforms, expected)


LOW_ROOTS = tuple(poise.Position(f"{side}Hand", [0.4, 1.2, 0.3], root=f"{side}Arm") for side in ("Left", "Right"))


@pytest.mark.parametrize("goals", [GOALS, LOW_ROOTS], ids=["from the hips", "from the shoulders"])
@pytest.mark.parametrize("names", [MOVING[:2], ("Hips",), ("LeftShoulder",)], ids=" ".join)
@pytest.mark.parametrize("has_translations", [False, True])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_other_values_give_the_bits_of_a_new_problem(rest, goals, names, has_translations, count):
    """Values of moving joints, of the base and of a joint that keeps still, of one start and of several."""
    own = rest.local_positions * 1.01 if has_translations else None
    start = poise.Pose(rest.skeleton, rest.q, translations=own)
    problem = Problem(start, goals)
    problem.compute_errors(start.q[None].copy(), np.zeros((1, 6)))  # what it knows may be shared
    problem.compute_kernel_targets(np.zeros((1, 6)))
    rows = np.array([turned(start, names, seed) for seed in range(max(count, 1))])
    q = rows if count else rows[0]
    translations = None if own is None else np.broadcast_to(own, (*q.shape[:-1], *own.shape))
    fresh = Problem(poise.Pose(rest.skeleton, q, translations=translations), goals)
    moved = problem.with_q(q.copy())
    targets = np.random.default_rng(4).normal(size=(len(rows), 6))
    np.testing.assert_array_equal(moved.plan.frames, fresh.plan.frames)
    np.testing.assert_array_equal(moved.start_u, fresh.start_u)
    np.testing.assert_array_equal(moved.compute_kernel_targets(targets), fresh.compute_kernel_targets(targets))
    np.testing.assert_array_equal(moved.compute_errors(rows, targets), fresh.compute_errors(rows, targets))
