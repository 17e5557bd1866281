"""More asked for than the joints have: the answer says so, and weights decide what is kept."""

from __future__ import annotations

import math

import numpy as np
import pytest

import poise
from poise import Position, Status
from poise.problem.problem import Problem, Tolerance
from poise.solving import diagnosis
from tests.solving.test_solve import rest

FEW = np.array([0.3, -0.6, 0.8, 0.5, -0.4])  # five hinges, near which a tip is asked for


def requested(**more):
    s = poise.Skeleton.build(
        [*(f"j{i}" for i in range(5)), "tip"], range(-1, 5), [poise.Kind.HINGE] * 5 + [poise.Kind.FIXED],
        offsets=[(0, 0, 0), *[(0.3, 0.1 * i, 0.05) for i in range(5)]],
        axes=[*np.eye(3)[[2, 1, 1, 0, 1]], (0, 0, 0)],
    )  # fmt: skip
    there = poise.Pose(s, FEW).world["tip"]
    return rest(s), poise.Place("tip", there.positions + np.array([0.03, -0.02, 0.05]), there.rotations, **more)


def test_a_place_of_five_hinges():
    result = poise.solve(*requested())
    assert result.status is Status.over_constrained
    assert "the goal asks for 6 degrees of freedom, and the joints have 5: perhaps no pose meets it" in result.message()
    assert "rotation_weight=0.01 puts the position first" in result.message()


@pytest.mark.parametrize(
    ("name", "share"), [("levenberg_marquardt", 0.01), ("damped_least_squares", 0.1), ("ccd", 0.5)]
)
def test_a_small_weight_of_the_rotation_gives_the_position(name, share):
    start, even = requested()
    _, first = requested(rotation_weight=0.01)
    found, better = poise.solve(start, even), poise.solve(start, first, solver=name)
    assert found.errors[0] > 2e-3
    assert better.errors[0] < share * found.errors[0]
    assert better.errors[1] < 0.2
    assert "rotation_weight" not in better.message()


def test_it_is_what_two_goals_with_those_weights_give():
    start, first = requested(rotation_weight=0.01)
    apart = [Position("tip", first.position), poise.Orientation("tip", first.rotation, weight=0.01)]
    one, two = poise.solve(start, first), poise.solve(start, apart)
    assert two.status is Status.over_constrained
    assert "the goals ask for 6 degrees of freedom, and the joints have 5: perhaps no pose meets them" in two.message()
    np.testing.assert_allclose(one.errors, two.errors, atol=1e-6)


def test_a_scale_of_both_changes_nothing():
    start, once = requested(rotation_weight=0.1)
    _, twice = requested(rotation_weight=0.1, weight=2.0)
    np.testing.assert_array_equal(poise.solve(start, once).q, poise.solve(start, twice).q)


def test_one_and_many_and_prepared():
    start, first = requested(rotation_weight=0.01)
    many = poise.solve(start, first.with_target(first.rows()[None].repeat(9, axis=0)))
    one, reach = poise.solve(start, first), poise.prepare(start, first)
    for other in (many.q[0], many.q[8], reach(first.rows()).q):
        np.testing.assert_array_equal(other, one.q)
    assert (many.codes == Status.over_constrained).all()


def test_a_target_that_five_hinges_meet_is_reached():
    start, _ = requested()
    there = poise.Pose(start.skeleton, FEW).world["tip"]
    assert poise.solve(start, poise.Place("tip", there.positions, there.rotations)).reached


def test_too_few_iterations_are_still_reported_to_be_that():
    start, goal = requested()
    found = poise.solve(start, goal, solver=poise.LevenbergMarquardt(iterations=1, restarts=0))
    assert found.status is Status.stalled


def test_a_planar_arm_with_a_target_outside_its_plane():
    s = poise.Skeleton.build("abc", [-1, 0, 1], [1, 1, 0], offsets=[(0, 0, 0), (1, 0, 0), (1, 0, 0)],
                             axes=[(0, 0, 1)] * 3)  # fmt: skip
    found = poise.solve(poise.Pose(s, [0.3, 0.9]), Position("c", [0.9, 0.7, 0.4]))
    assert found.status is Status.over_constrained
    np.testing.assert_allclose(found.errors, 0.4, atol=1e-6)


@pytest.mark.parametrize("weight", [0, -1, math.nan, math.inf, "1", True])
def test_weights_that_cannot_be_used(weight):
    with pytest.raises(poise.InputError, match="the weight of the rotation of 'tip'"):
        poise.Place("tip", [0, 0, 0], [1, 0, 0, 0], rotation_weight=weight)


@pytest.mark.parametrize("unit", [1e-7, 1.0, 1e7])
def test_neither_units_nor_weights_decide(unit):
    s = poise.Skeleton.build(
        ["rail", "a", "b", "c", "tip"], range(-1, 4), [poise.Kind.SLIDE, *[poise.Kind.HINGE] * 3, poise.Kind.FIXED],
        offsets=np.array([(0, 0, 0), (0.4, 0, 0.1), (0.5, 0, 0), (0.4, 0.1, 0), (0.3, 0, 0)]) * unit,
        axes=[(1, 0, 0), (0, 0, 1), (0, 1, 0), (0, 0, 1), (0, 0, 0)],
    )  # fmt: skip
    there = poise.Pose(s, [0.1 * unit, 0.5, -0.4, 0.7]).world["tip"]
    turn = poise.Pose(s, [0.1 * unit, 0.6, -0.5, 0.7]).world["tip"].rotations
    for weight in (1.0, 1e-6):
        goal = poise.Place("tip", there.positions, turn, rotation_weight=weight)
        found = poise.solve(rest(s), goal, tolerance=1e-6 * unit)
        assert found.status is Status.over_constrained, (weight, found.message())


def test_what_is_missed_by_rounding_alone_asks_for_nothing_more():
    s = poise.Skeleton.build("abc", [-1, 0, 1], [1, 1, 0], offsets=[(0, 0, 0), (1, 0, 0), (1, 0, 0)],
                             axes=[(0, 0, 1)] * 3)  # fmt: skip
    there = poise.Pose(s, [0.7, 0.9]).world["c"].positions
    for name in ("two_bone", "levenberg_marquardt"):
        found = poise.solve(poise.Pose(s, [0.3, 0.5]), Position("c", there), solver=name, tolerance=0)
        assert found.status in (Status.reached, Status.stalled)
    both = poise.solve(poise.Pose(s, [0.3, 0.5]), Position("c", [there, [0.9, 0.7, 0.4]]), tolerance=0)
    assert both.codes[0] in (Status.reached, Status.stalled)
    assert both.codes[1] == Status.over_constrained


def test_joints_as_many_as_are_requested_are_never_too_few():
    """Nearly stretched, no joint alone brings the tip nearer to where it should be, halfway back; together they do."""
    s = poise.Skeleton.build(
        "abct", range(-1, 3), [1, 1, 1, 0], offsets=[(0, 0, 0), (0, 0, 0), (1, 0, 0), (1, 0, 0)],
        axes=[(0, 1, 0), (0, 0, 1), (0, 0, 1), (0, 0, 0)],
    )  # fmt: skip
    problem = Problem(rest(s), (Position("t", [1, 0, 0]),))
    q, targets = np.array([[0.0, -0.0005, 0.001]]), np.array([[1.0, 0.0, 0.0]])
    assert diagnosis.measure_local_optimality(problem, q, targets).is_stationary[0]
    assert diagnosis.find_status(problem, q, targets, Tolerance(1e-3, 1e-3))[0] == Status.stalled
