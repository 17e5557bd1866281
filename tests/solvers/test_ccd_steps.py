"""The steps of CCD for a single joint: the exact minimiser of the error of all goals together."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from poise.kernels.ccd_goals import compute_ball_rotation, compute_weighted_hinge_angle
from poise.kernels.ccd_position import halve_rotation
from poise.kernels.chain_kinematics import EffectorTarget, GoalWeights
from poise.kernels.vec_quat import Quat, Vec
from poise.maths import rotations
from tests.kernels.kernel_entries import compiled, entered
from tests.strategies import rng_of, seeds, unit_quaternions


@compiled
def compiled_ball_turn(now, wanted, weights, ease, davenport):
    """`compute_ball_rotation` for Python: it is a part of kernels, which only kernels may call."""
    return compute_ball_rotation(now, wanted, weights, ease, davenport)


def aims(rng, kinds):
    """A random aim and target, as the kernels have them, and the weights of what is asked for."""
    made = []
    for _ in range(2):
        axis = rng.normal(size=3)
        made.append(
            EffectorTarget(Vec(*rng.normal(size=3)), Quat(*unit_quaternions(rng)), Vec(*(axis / np.linalg.norm(axis))))
        )
    return *made, GoalWeights(*(rng.uniform(0.2, 2) if kind in kinds else 0.0 for kind in "prd"))


def error(q, now, wanted, weights):
    """The error of kernels/chain_kinematics.py after a turn q of everything about the joint, by its definition."""
    turn = Rotation.from_quat(q, scalar_first=True)
    way = np.sum((turn.apply(now.point) - wanted.point) ** 2, axis=-1)
    was, goal = (Rotation.from_quat(aim.rotation, scalar_first=True) for aim in (now, wanted))
    left = (goal * (turn * was).inv()).magnitude()
    across = np.sum((turn.apply(now.direction) - wanted.direction) ** 2, axis=-1)
    return weights.point * way + weights.rotation * (2 * np.sin(left / 2)) ** 2 + weights.direction * across


KINDS = st.sampled_from(["p", "r", "d", "pr", "pd", "rd", "prd"])


@given(seeds, KINDS)
def test_the_hinge_step_is_the_minimiser_of_all_goals_inside_its_range(seed, kinds):
    rng = rng_of(seed)
    now, wanted, weights = aims(rng, kinds)
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    low, high = np.sort(rng.uniform(-5, 5, size=2))
    value = rng.uniform(low, high)
    best = entered(compute_weighted_hinge_angle)(Vec(*axis), value, low, high, 1.0, math.inf, now, wanted, weights)
    angles = np.linspace(low, high, 3000)
    errors = error(rotations.about(axis, angles - value), now, wanted, weights)
    assert low <= best <= high
    assert error(rotations.about(axis, np.array(best - value)), now, wanted, weights) <= errors.min() + 1e-9


def best_turn(now, wanted, weights, ease=1.0):
    return np.array(compiled_ball_turn(now, wanted, weights, ease, np.empty((2, 4, 4))))


@given(seeds, KINDS)
def test_the_ball_step_is_the_least_squares_rotation(seed, kinds):
    """As scipy finds it by SVD: a rotation counts as its three columns, each with half its weight."""
    now, wanted, weights = aims(rng_of(seed), kinds)
    assume(len(kinds) > 1 or kinds == "r")  # of a single vector many rotations are best
    was, goal = (Rotation.from_quat(aim.rotation, scalar_first=True).as_matrix().T for aim in (now, wanted))
    tips = np.array([now.point, now.direction, *was]), np.array([wanted.point, wanted.direction, *goal])
    shares = [weights.point, weights.direction, *[weights.rotation / 2] * 3]
    best, _ = Rotation.align_vectors(tips[1], tips[0], weights=shares)
    theirs = best.as_quat(scalar_first=True)
    ours = best_turn(now, wanted, weights)
    assert error(ours, now, wanted, weights) <= error(theirs, now, wanted, weights) * (1 + 1e-12) + 1e-12
    assert abs(ours @ ours - 1) < 1e-14


def test_where_many_rotations_are_best_the_smallest_is_taken():
    still = Quat(1.0, 0.0, 0.0, 0.0)
    now, wanted = (EffectorTarget(Vec(*v), still, Vec(*v)) for v in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    turn = best_turn(now, wanted, GoalWeights(1.0, 0.0, 1.0))
    np.testing.assert_allclose(turn, [math.sqrt(0.5), 0, 0, math.sqrt(0.5)], atol=1e-12)
    opposite = EffectorTarget(Vec(-1.0, 0.0, 0.0), still, Vec(-1.0, 0.0, 0.0))
    turn = best_turn(now, opposite, GoalWeights(1.0, 0.0, 1.0))
    np.testing.assert_allclose(rotations.rotate(turn, np.array([1.0, 0, 0])), [-1, 0, 0], atol=1e-12)
    still_met = best_turn(now, now, GoalWeights(1.0, 0.0, 1.0))
    np.testing.assert_allclose(still_met, [1, 0, 0, 0], atol=1e-12)


@given(seeds)
def test_half_a_turn_done_twice_is_the_turn_by_the_shorter_way(seed):
    q = unit_quaternions(rng_of(seed))
    done = np.array(entered(halve_rotation)(Quat(*q)))
    assert done[0] >= math.sqrt(0.5) - 1e-12
    np.testing.assert_allclose(rotations.multiply(done, done), q * (1.0 if q[0] >= 0.0 else -1.0), atol=1e-9)


def test_a_stiff_hinge_goes_half_of_a_quarter_turn():
    """A stiffness of one wishes to stay as strongly as the goal wishes a quarter turn."""
    still, z = Quat(1.0, 0.0, 0.0, 0.0), Vec(0.0, 0.0, 1.0)
    now, wanted = (EffectorTarget(Vec(*v), still, Vec(*v)) for v in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    for ease, expected in ((1.0, 90.0), (0.5, 45.0), (0.25, math.degrees(math.atan(1 / 3)))):
        angle = entered(compute_weighted_hinge_angle)(
            z, 0.0, -4.0, 4.0, ease, math.inf, now, wanted, GoalWeights(1.0, 0.0, 0.0)
        )
        assert math.isclose(math.degrees(angle), expected, rel_tol=1e-12)
