"""What lies beyond the reach of a chain that may turn anyhow: CCD stretches towards it, without twist."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import poise
from poise.io import samples

FIGURE = poise.load(samples.path("humanoid.glb"))
FREE = FIGURE.skeleton.with_limits(dict.fromkeys(FIGURE.skeleton.names))
ARM = ("LeftShoulder", "LeftArm", "LeftForeArm", "LeftHand")


def targets(factor, count=40):
    """Places all around the collar bone, and how far the arm and it reach."""
    points = np.array([FIGURE.rest.world[name].positions for name in ARM])
    reach = np.linalg.norm(np.diff(points, axis=0), axis=1).sum()
    ways = np.random.default_rng(2).normal(size=(count, 3))
    return points[0] + factor * reach * ways / np.linalg.norm(ways, axis=1)[:, None], reach


def twists(q, skeleton):
    """By how much each joint of the arm was turned about its own bone [degrees]."""
    found = []
    for name, below in itertools.pairwise(ARM):
        bone = skeleton.A[skeleton.index(below), :3]
        turn = q[..., skeleton.q_slice(name)]
        along = turn[..., 1:] @ (bone / np.linalg.norm(bone))
        found.append(2 * np.arctan2(np.abs(along), np.abs(turn[..., 0])))
    return np.degrees(found)


@pytest.mark.parametrize("factor", [1.01, 1.5, 10.0])
def test_the_least_error_without_twist(factor):
    start, (points, reach) = poise.Pose(FREE, FREE.rest_q), targets(factor)
    result = poise.solve(start, poise.Position(ARM[-1], points, root=ARM[0]), solver="ccd")
    np.testing.assert_allclose(result.errors[:, 0], (factor - 1) * reach, rtol=0, atol=1e-6 * reach)
    assert twists(result.q, FREE).max() < 5


def test_near_and_far_in_one_batch_are_as_alone():
    start, (far, _), (near, _) = poise.Pose(FREE, FREE.rest_q), targets(1.5, 4), targets(0.8, 4)
    both = np.concatenate([near, far])[[0, 4, 1, 5, 2, 6, 3, 7]]
    many = poise.solve(start, poise.Position(ARM[-1], both, root=ARM[0]), solver="ccd")
    assert many.reached.tolist() == [True, False] * 4
    for k in range(8):
        one = poise.solve(start, poise.Position(ARM[-1], both[k], root=ARM[0]), solver="ccd")
        assert one.q.tobytes() == many.q[k].tobytes()


def test_a_trace_ends_at_the_answer():
    start, (far, _) = poise.Pose(FREE, FREE.rest_q), targets(1.5, 1)
    goal = poise.Position(ARM[-1], far[0], root=ARM[0])
    traced, plain = (poise.solve(start, goal, solver="ccd", trace=trace) for trace in (True, False))
    assert traced.q.tobytes() == plain.q.tobytes()


def test_what_somebody_asks_of_the_sweeps_is_left_to_them():
    start, (far, _) = poise.Pose(FREE, FREE.rest_q), targets(1.5, 4)
    goal = poise.Position(ARM[-1], far, root=ARM[0])
    stiff = poise.solve(start, goal, solver=poise.CCD(stiffness={"LeftShoulder": 50.0}))
    loose = poise.solve(start, goal, solver="ccd")
    w = slice(FREE.q_slice("LeftShoulder").start, FREE.q_slice("LeftShoulder").start + 1)
    assert (np.abs(stiff.q[:, w]) > np.abs(loose.q[:, w])).all()
    assert (poise.solve(start, goal, solver=poise.CCD(order="tip-first", bend=0, finish=False)).iterations > 1).all()
