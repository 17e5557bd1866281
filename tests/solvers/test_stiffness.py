"""Stiff joints: the engine's steps are the least ones in a metric of the user's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings

import poise
from poise import CCD, LevenbergMarquardt, samples
from tests.strategies import generic_arm, random_q, rng_of, seeds

FIGURE = poise.load(samples.path("humanoid.glb"))
HAND = poise.Position("LeftHand", np.add(FIGURE.rest.world["LeftHand"].positions, [-0.2, 0.15, 0.25]), root="Spine")


def turns(result, joints):
    """By what angles balls turned from rest [rad]."""
    s, rest = result.pose.skeleton, result.pose.skeleton.rest_q
    dots = [abs(float(result.q[s.q_slice(name)] @ rest[s.q_slice(name)])) for name in joints]
    return 2 * np.arccos(np.minimum(dots, 1.0))


@given(seeds)
@settings(max_examples=25, deadline=None)
def test_a_step_is_the_least_in_the_metric_of_the_stiffness(seed):
    """dq = W J^T (J W J^T)^-1 e for a small e, J by the skeleton's own Jacobian."""
    rng = rng_of(seed)
    s = generic_arm()
    start = poise.Pose(s, random_q(rng, s))
    tip = s.names[-1]
    J = start.jacobian(tip)[:3]
    assume(np.linalg.svd(J, compute_uv=False)[-1] > 0.1)  # near a singular pose, damping counts
    mu = {name: float(rng.choice([0.0, 1.0, 4.0, 20.0])) for name in s.names[1:]}
    aside = 1e-4 * rng.normal(size=3)
    goal = poise.Position(tip, start.world[tip].positions + aside)
    solver = LevenbergMarquardt(iterations=1, restarts=0, stiffness=mu)
    found = poise.solve(start, goal, solver=solver, tolerance=1e-12).q - start.q
    W = np.diag([1 / (1 + mu.get(name, 0.0)) for name in s.names if s.q_slice(name).stop > s.q_slice(name).start])
    wanted = W @ J.T @ np.linalg.solve(J @ W @ J.T, aside)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=0.03 * np.abs(wanted).max())


def test_a_stiffer_joint_turns_less_and_the_goal_is_met():
    before = np.inf
    for mu in (0.0, 2.0, 8.0, 50.0):
        result = poise.solve(FIGURE.rest, HAND, solver=LevenbergMarquardt(stiffness={"LeftShoulder": mu}))
        assert result.reached
        (turned,) = turns(result, ["LeftShoulder"])
        assert turned < before
        before = turned
    assert before < 0.05


@pytest.mark.parametrize("solver", [LevenbergMarquardt, CCD])
def test_roles_and_globs_name_joints(solver):
    by_name = solver(stiffness={"LeftArm": 5.0, "LeftForeArm": 5.0, "Spine": 3.0})
    otherwise = solver(stiffness={"Left*Arm": 5.0, "spine": 3.0})
    one, other = (poise.solve(FIGURE.rest, HAND, solver=each).q for each in (by_name, otherwise))
    np.testing.assert_array_equal(one, other)
    assert (one != poise.solve(FIGURE.rest, HAND, solver=solver()).q).any()


def test_what_is_named_later_counts():
    twice = LevenbergMarquardt(stiffness={"*": 7.0, "LeftArm": 0.0})
    each = LevenbergMarquardt(stiffness={name: 7.0 for name in FIGURE.skeleton.names if name != "LeftArm"})
    np.testing.assert_array_equal(*(poise.solve(FIGURE.rest, HAND, solver=one).q for one in (twice, each)))


@pytest.mark.parametrize("nothing", [0.0, {}, {"LeftArm": 0.0}])
def test_no_stiffness_changes_no_bit(nothing):
    one, other = (
        poise.solve(FIGURE.rest, HAND, solver=each).q
        for each in (LevenbergMarquardt(), LevenbergMarquardt(stiffness=nothing))
    )
    np.testing.assert_array_equal(one, other)


def test_a_batch_has_the_bits_of_its_parts():
    solver = LevenbergMarquardt(stiffness={"Spine": 10.0, "*Shoulder": 2.0})
    targets = HAND.target + 0.1 * np.random.default_rng(2).normal(size=(9, 3))
    many = poise.solve(FIGURE.rest, HAND.with_target(targets), solver=solver)
    for i, target in enumerate(targets):
        one = poise.solve(FIGURE.rest, HAND.with_target(target), solver=solver)
        np.testing.assert_array_equal(many.q[i], one.q)


@pytest.mark.parametrize("solver", [LevenbergMarquardt, CCD])
def test_what_cannot_be_used_is_reported(solver):
    for wrong in (-1.0, np.nan, {"LeftArm": -1}, {3: 1.0}, (("LeftArm", 1.0, 2),), "LeftArm"):
        with pytest.raises(poise.InputError, match="stiffness"):
            solver(stiffness=wrong)
    for unknown in ("NoSuchJoint", "Nothing*"):
        with pytest.raises(poise.UnknownNameError, match="LeftForeArm"):
            poise.solve(FIGURE.rest, HAND, solver=solver(stiffness={unknown: 1.0}))


def test_an_unknown_name_is_reported_even_out_of_reach():
    far = HAND.with_target([9.0, 9.0, 9.0])
    with pytest.raises(poise.UnknownNameError, match="LeftForeArm"):
        poise.solve(FIGURE.rest, far, solver=LevenbergMarquardt(stiffness={"NoSuchJoint": 1.0}))
