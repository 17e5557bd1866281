"""Goals that one pose meets are never said to contradict each other, whatever the skeleton; others are measured."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import poise
from poise import Direction, Orientation, Place, Position
from poise.problem.feasibility import find_conflicts, number_conflicts
from poise.problem.problem import Problem, Tolerance
from tests.strategies import random_q, random_skeleton, rng_of, seeds, straight_chain

TIGHT = Tolerance(1e-9, 1e-9)


@settings(max_examples=40)
@given(seed=seeds)
def test_what_one_pose_meets_is_no_contradiction(seed):
    rng = rng_of(seed)
    skeleton = random_skeleton(rng, scale=bool(rng.integers(2)))
    poses = [poise.Pose(skeleton, random_q(rng, skeleton)) for _ in range(2)]
    goals = []
    for joint in rng.choice(skeleton.names, size=3):
        at = poses[0].world[str(joint)]
        offset, axis = rng.normal(size=3), np.eye(3)[rng.integers(3)]
        point = at.affine[:, 3] + at.affine[:, :3] @ offset
        turned = poise.rotations.rotate(at.rotations, axis)
        goals.append([
            Position(str(joint), point, offset=offset), Place(str(joint), at.positions, at.rotations),
            Orientation(str(joint), at.rotations), Direction(str(joint), turned, axis=axis),
        ][rng.integers(4)])  # fmt: skip
    try:
        problem = Problem(poses[0], tuple(goals))
        targets = problem.build_target_rows([goal.rows() for goal in goals], ())
        loose = Tolerance(1e-6 * max(problem.plan.kernel_unit_in_world, 1.0), 1e-6)
        found = number_conflicts(problem, poses[1].q[None], targets, loose)
    except poise.UnsupportedError:
        return  # a scale of zero
    still = [name for name in skeleton.names if name not in problem.joints]
    columns = np.concatenate([np.arange(skeleton.nq)[skeleton.q_slice(name)] for name in still] or [[]]).astype(int)
    moving = np.concatenate([np.arange(skeleton.nq)[skeleton.q_slice(name)] for name in problem.joints] or [[]]).astype(
        int
    )
    if set(columns) - set(moving):  # joints that stand still elsewhere make another problem of it
        return
    assert found[0] == 0


@pytest.mark.parametrize("over", [-1e-6, 1e-6])
def test_the_bound_is_exact(over):
    chain = straight_chain(4)
    goals = (Position("j1", [0, 1, 0]), Position("tip", [3 + over, 1, 0]))
    problem = Problem(poise.Pose(chain, chain.rest_q), goals)
    targets = problem.build_target_rows([goal.rows() for goal in goals], ())
    assert bool(number_conflicts(problem, chain.rest_q[None], targets, TIGHT)[0]) == (over > 0)
    far = next(found for found in find_conflicts(problem, chain.rest_q[None], targets, TIGHT) if found.kind == "far")
    assert far.possible_difference[0] == pytest.approx(3.0, abs=1e-9)
