"""Errors measured in world maps by a kernel, against those of NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import poise
from poise import Within, rotations
from poise.extend import Kind
from poise.problem.goal_errors import compute_world_errors
from poise.problem.problem import Problem
from tests.problem.test_goal_ranges import TURNS
from tests.problem.test_goal_relative import KINDS, relative_goal
from tests.strategies import random_q, random_skeleton, rng_of, seeds, straight_chain

COUNT = 11  # poses: more than the lanes of a kernel, and no multiple


def random_pose(rng, shape=()):
    """Poses of one skeleton with translations and scales of their own, or none."""
    skeleton = random_skeleton(rng, 8)
    q = np.array([random_q(rng, skeleton) for _ in range(int(np.prod(shape)) or 1)]).reshape(*shape, skeleton.nq)
    translations = scales = None
    if rng.random() < 0.6:
        translations = rng.normal(size=(*shape, 8, 3))
    if rng.random() < 0.6:
        scales = np.repeat(rng.uniform(0.5, 2.0, (*shape, 8, 1)), 3, axis=-1)
    return poise.Pose(skeleton, q, translations, scales)


def random_goals(rng, pose):
    """A goal of each kind: relative, in a range, a limb's side."""
    names = list(pose.skeleton.names)
    goals = []
    for kind in KINDS:
        joint, reference = rng.choice(names, 2, replace=False)
        goal = relative_goal(kind, pose, str(joint), str(reference))
        target = goal.rows() + rng.normal(scale=0.1, size=goal.rows().shape)
        goals.append(goal.with_target(target if goal.width != 7 else (target[:3], rotations.unit(target[3:]))))
    for turn in TURNS.values():
        joint, reference = map(str, rng.choice(names, 2, replace=False))
        box = [sorted(rng.normal(scale=0.2, size=2).tolist()) for _ in range(3)]
        within = Within(*map(tuple, box), turn=turn, axes=str(rng.choice(["target", "joint"])))
        at, rotation = rng.normal(size=3), rotations.unit(rng.normal(size=4))
        fields = {"within": within, "relative_to": reference if rng.random() < 0.5 else None}
        goals.append(poise.Place(joint, at, rotation, **fields))
    return goals


@pytest.mark.long
@given(seeds)
@settings(max_examples=60)
def test_the_kernel_measures_what_world_transforms_say(seed):
    rng = rng_of(seed)
    start = random_pose(rng)
    for goal in random_goals(rng, start):
        problem = Problem(start, (goal,))
        if problem.error_paths is not None:
            continue
        q = np.array([random_q(rng, start.skeleton) for _ in range(COUNT)])
        targets = np.repeat(goal.rows()[None], COUNT, axis=0)
        errors = problem.compute_errors(q, targets)
        expected = compute_world_errors(problem.make_pose(q), (goal,), targets)
        np.testing.assert_allclose(errors, expected, rtol=1e-9, atol=1e-9)
        for i in (0, 7, COUNT - 1):
            assert problem.compute_errors(q[i : i + 1], targets[:1]).tobytes() == errors[i : i + 1].tobytes()


@given(seeds)
def test_each_start_is_measured_with_its_own_lengths(seed):
    rng = rng_of(seed)
    starts = random_pose(rng, (COUNT,))
    goal = poise.Place(starts.skeleton.names[-1], rng.normal(size=3), rotations.unit(rng.normal(size=4)))
    problem = Problem(starts, (goal,))
    targets = np.repeat(goal.rows()[None], COUNT, axis=0)
    errors = problem.compute_errors(starts.q.copy(), targets)
    for i in range(COUNT):
        alone = Problem(starts[i], (goal,))
        assert alone.compute_errors(starts.q[i : i + 1].copy(), targets[:1]).tobytes() == errors[i : i + 1].tobytes()


def test_sheared_rotations_are_left_to_numpy():
    skeleton = straight_chain(3)
    turn = np.array([0.9, 0.3, 0.2, 0.1]) / np.linalg.norm([0.9, 0.3, 0.2, 0.1])
    q = np.tile(skeleton.rest_q, (3, 1))
    q[1, skeleton.q_slice("j1")] = q[1, skeleton.q_slice("j2")] = turn
    scales = np.ones((4, 3))
    scales[0] = 1.0, 3.0, 0.5
    start = poise.Pose(skeleton, skeleton.rest_q, scales=scales)
    goal = poise.Place("tip", [0.3, 1.0, 0.2], [1.0, 0, 0, 0])
    problem, targets = Problem(start, (goal,)), np.repeat(goal.rows()[None], 3, axis=0)
    errors = problem.compute_errors(q, targets)
    expected = compute_world_errors(problem.make_pose(q), (goal,), targets)
    np.testing.assert_allclose(errors, expected, rtol=1e-12)
    assert (errors >= 0.0).all()
    for i in range(3):
        assert problem.compute_errors(q[i : i + 1], targets[:1]).tobytes() == errors[i : i + 1].tobytes()


@pytest.mark.parametrize("count", [2, 5])
def test_poses_and_starts_of_other_counts_raise(count):
    skeleton = straight_chain(2, kind=Kind.BALL)
    starts = poise.Pose(skeleton, np.tile(skeleton.rest_q, (3, 1)), translations=np.ones((3, 3, 3)))
    goal = poise.Position("tip", [0.0, 1.0, 0.0])
    with pytest.raises(ValueError, match="broadcast"):
        Problem(starts, (goal,)).compute_errors(np.tile(skeleton.rest_q, (count, 1)), np.zeros((count, 3)))
