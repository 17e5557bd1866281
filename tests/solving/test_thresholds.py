"""Every threshold of the judge, of legality and of reach is where it is said to be: to a thousandth of itself."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

import poise
from poise import EulerBox, Near, Orientation, Place, Position, Range, SwingTwist
from poise.model.limit_bounds import clamp_rotations, describe_active_limits, pack_limit
from poise.problem.feasibility import find_unreachable
from poise.problem.problem import Problem, Tolerance
from poise.solving import diagnosis
from tests.strategies import straight_chain

BELOW, ABOVE = 1 - 1e-3, 1 + 1e-3
X, Y, Z = np.eye(3)


def rest(skeleton):
    return poise.Pose(skeleton, skeleton.rest_q)


def turn(axis, angle):
    """The rotation (4,) about an axis, exact for the smallest angles."""
    return np.array([math.cos(0.5 * angle), *(math.sin(0.5 * angle) * np.asarray(axis))])


# --- legal -----------------------------------------------------------------------------------------------------------

BALLS = {
    "a hinge of a ball": Range(-0.5, 0.0, axis=(1, 0, 0)),
    "a twist": SwingTwist((1, 0, 0), swing=1.0, twist=(-0.5, 0.0)),
    "a box": EulerBox("XYZ", x=(-0.5, 0.0), y=(-0.5, 0.5), z=(-0.5, 0.5)),
}


def legal_within(skeleton, column, made, most):
    """A configuration that is `most` outside, times something, is left alone or moved."""
    for share, stays in ((BELOW, True), (ABOVE, False)):
        q = np.array(skeleton.rest_q)
        q[column] = made(most * share)
        found, moved = skeleton.legal(q)
        assert (moved == ()) == np.array_equal(found, q) == stays


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("kind", [1, 2])
def test_values_are_legal_to_a_billionth(kind, sign):
    limit = Range(-0.5, 0.0) if sign > 0 else Range(0.0, 0.5)
    skeleton = straight_chain(1, kind=kind, axes=[Z], limits=[limit])
    legal_within(skeleton, 0, lambda off: sign * off, 1e-9)


@pytest.mark.parametrize("limit", BALLS)
def test_rotations_are_legal_to_a_billionth(limit):
    legal_within(straight_chain(1, limits=[BALLS[limit]]), slice(0, 4), lambda off: turn(X, off), 1e-9)


@pytest.mark.parametrize("limit", ["hinge", *BALLS])
def test_a_start_is_left_alone_to_half_of_that(limit):
    if limit == "hinge":
        skeleton = straight_chain(1, kind=1, axes=[Z], limits=[Range(-0.5, 0.0)])
    else:
        skeleton = straight_chain(1, limits=[BALLS[limit]])
    for share, stands in ((BELOW, True), (ABOVE, False)):
        off = 0.5e-9 * share
        assert diagnosis.can_start(skeleton, np.array([off]) if limit == "hinge" else turn(X, off)) == stands


def test_rotations_are_of_unit_length_to_a_billionth_of_a_thousandth():
    skeleton = straight_chain(1)
    for share, stays in ((BELOW, True), (ABOVE, False)):
        for sign in (1, -1):
            q = np.array([math.sqrt(1 + sign * 1e-12 * share), 0.0, 0.0, 0.0])
            assert diagnosis.can_start(skeleton, q) == stays
            assert np.array_equal(poise.Pose(skeleton, q).q, q) == stays


@pytest.mark.parametrize("limit", ["a twist", "a box"])
def test_what_was_moved_inside_stays_where_it_is(limit):
    row = pack_limit(BALLS[limit])
    for share, stays in ((BELOW, True), (ABOVE, False)):
        q = turn(X, 1e-12 * share)[None]
        assert np.array_equal(clamp_rotations(row, q), q) == stays


def test_a_swing_that_was_moved_inside_stays_where_it_is():
    row = pack_limit(SwingTwist((0, 0, 1), swing=1e-3, twist=(-0.5, 0.5)))
    for share, stays in ((BELOW, True), (ABOVE, False)):
        q = turn(X, 1e-3 + 1e-12 * share)[None]
        assert np.array_equal(clamp_rotations(row, q), q) == stays


def test_an_axis_across_another_is_not_along_it():
    SwingTwist((0, 0, 1), swing=((-0.5, 0.4), 0.6), across=(1e-9 * ABOVE, 0, 1))
    with pytest.raises(poise.InputError, match="is along the twist axis"):
        SwingTwist((0, 0, 1), swing=((-0.5, 0.4), 0.6), across=(1e-9 * BELOW, 0, 1)).swing_axes  # noqa: B018


@pytest.mark.parametrize("limit", ["a twist", "a box"])
def test_the_end_that_a_rotation_stands_at_is_reported(limit):
    for share, message in ((BELOW, True), (ABOVE, False)):
        assert bool(describe_active_limits(BALLS[limit], turn(X, -1e-6 * share))) == message


def test_the_edge_of_the_cone_that_a_rotation_stands_at_is_reported():
    cone = SwingTwist((0, 0, 1), swing=1.0, twist=(-0.5, 0.5))
    for share, message in ((BELOW, True), (ABOVE, False)):
        assert ("the edge of its cone" in describe_active_limits(cone, turn(X, 1.0 - 1e-6 * share))) == message


# --- reached ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tolerance", [1.0, 1e-3])
def test_what_is_a_billionth_beyond_a_tolerance_is_rounding(tolerance):
    skeleton = straight_chain(2)
    problem = Problem(rest(skeleton), (Place("tip", [0, 1, 0], [1, 0, 0, 0]),))
    for column in range(2):
        for share, met in ((BELOW, True), (ABOVE, False)):
            errors = np.zeros((1, 2))
            errors[0, column] = tolerance * (1 + 1e-9 * share)
            assert problem.is_met(errors, Tolerance(tolerance, tolerance))[0] == met


def test_default_tolerances():
    figure, robot = straight_chain(3, length=0.5), straight_chain(3, kind=1, axes=[Z] * 3)
    assert poise.solve(rest(figure), Position("tip", [1, 0, 0])).tolerance == pytest.approx(1.5e-4, rel=1e-12)
    assert poise.solve(rest(figure), Position("tip", [1, 0, 0])).angle_tolerance == 1e-4
    assert poise.solve(rest(robot), Position("tip", [1, 0, 0])).tolerance == 1e-6
    assert poise.solve(rest(robot), Position("tip", [1, 0, 0])).angle_tolerance == 1e-6
    point = straight_chain(1, length=0.0)
    assert poise.solve(rest(point), Orientation("tip", [1, 0, 0, 0], root="j0")).tolerance == 1e-6


# --- out of reach ----------------------------------------------------------------------------------------------------


def two_bones(first, second, kind):
    return poise.Skeleton.build(
        ["a", "b", "tip"], [-1, 0, 1], [kind, kind, 0], offsets=[(0, 0, 0), (0, first, 0), (0, second, 0)],
        axes=[(0, 0, 1), (0, 0, 1), (0, 0, 0)],
    )  # fmt: skip


@pytest.mark.parametrize("kind", [1, 3])
@pytest.mark.parametrize("size", [1.0, 3.7, 1e-3])
@pytest.mark.parametrize(("length", "sign"), [(3.0, 1), (1.0, -1)])
def test_out_of_reach_is_a_tolerance_beyond_the_longest_and_inside_the_shortest(kind, size, length, sign):
    problem = Problem(rest(two_bones(2 * size, size, kind)), (Position("tip", [0, 1, 0]),))
    tolerance = Tolerance(1e-3 * size, 1e-3)
    for share, beyond in ((BELOW, 0), (ABOVE, 1)):
        target = size * (length + sign * 1e-3 * share) * np.array([[0.6, 0.8, 0.0]])
        assert find_unreachable(problem, target, tolerance)[0] == beyond


def test_a_reach_is_a_sum_of_lengths_to_rounding():
    longest = Problem(rest(two_bones(2.0, 1.0, 1)), (Position("tip", [0, 1, 0]),))
    _, most, _ = longest.plan.term_reaches[0]
    assert (most * longest.plan.kernel_unit_in_world / 3.0 - 1.0) / 1e-12 == pytest.approx(1.0, abs=1e-3)


# --- limited ---------------------------------------------------------------------------------------------------------


def planar(n, high):
    """Hinges about z in a row along x, each with the same highest angle."""
    return straight_chain(n, kind=1, axes=[Z] * n, limits=[Range(-1.0, high)] * n, direction=X)


def standing(skeleton, goals, targets, q):
    problem = Problem(rest(skeleton), goals)
    return diagnosis.measure_local_optimality(problem, np.array([q]), np.array([targets]))


@pytest.mark.parametrize("is_alone", [True, False])  # a lone position is tried exactly, others are to first order
@pytest.mark.parametrize("high", [0.0, 0.7, 4.0])
def test_a_value_stands_at_its_limit_to_a_billionth_of_it(is_alone, high):
    skeleton = planar(1, high)
    others = () if is_alone else (Near(rest(skeleton)),)
    target = 3.0 * np.array([math.cos(high + 1.0), math.sin(high + 1.0), 0.0])
    for share, at in ((BELOW, True), (ABOVE, False)):
        q = [high - 1e-9 * max(1.0, high) * share]
        stands = standing(skeleton, (Position("tip", target), *others), target, q)
        assert stands.is_blocking[0].any() == at


def test_a_joint_that_alone_gains_a_thousandth_helps():
    skeleton = planar(1, 3.0)
    for share, helps in ((BELOW, False), (ABOVE, True)):
        error = 1.0 / (1.0 - 1e-3 * share)  # of a point at 2, whose nearest point of the circle is 1 away
        angle = math.acos((5.0 - error**2) / 4.0)
        target = 2.0 * np.array([math.cos(angle), math.sin(angle), 0.0])
        assert standing(skeleton, (Position("tip", target),), target, [0.0]).is_stationary[0] != helps


def test_a_joint_that_gains_a_thousandth_to_first_order_helps():
    skeleton = planar(1, 3.0)
    for share, helps in ((BELOW, False), (ABOVE, True)):
        along = math.sqrt(2e-3 * share)  # the part of the error that the joint's motion points along
        target = X + 0.5 * np.array([math.sqrt(1.0 - along**2), along, 0.0])
        goals = Position("tip", target), Near(rest(skeleton))
        assert standing(skeleton, goals, target, [0.0]).is_stationary[0] != helps


def test_a_joint_at_its_limit_blocks_where_it_would_gain_a_thousandth():
    """The first of two joints would gain a third more than the second, which gains just that."""
    skeleton = planar(2, 0.0)
    for share, blocks in ((BELOW, False), (ABOVE, True)):
        error = 1.0 / (1.0 - 1e-3 * share)
        angle = math.acos((5.0 - error**2) / 4.0)
        target = X + 2.0 * np.array([math.cos(angle), math.sin(angle), 0.0])
        found = standing(skeleton, (Position("tip", target),), target, [0.0, 0.0])
        assert found.is_stationary[0]
        assert found.is_blocking[0].tolist() == [True, blocks]


def test_a_ball_is_kept_back_where_its_limit_takes_a_thousandth_of_a_step():
    row = pack_limit(BALLS["a box"])
    for share, kept in ((BELOW, False), (ABOVE, True)):
        into = math.sqrt(1e-3 * share)  # the part of a step that leads out of the box, which is lost
        push = np.array([[into, math.sqrt(1.0 - into**2), 0.0]])
        assert diagnosis._find_open_direction(row, np.array([[1.0, 0.0, 0.0, 0.0]]), push)[1][0] == kept


def test_two_joints_that_do_the_same_to_a_millionth_are_not_independent():
    """The tip of two equal links, the second bent by b, has two ways to go, b / 2 apart: sizes 1 to tan(b / 4)."""
    problem = Problem(rest(planar(2, 3.0)), (Position("tip", [5.0, 0.0, 0.0]),))
    for share, apart in ((BELOW, False), (ABOVE, True)):
        q = np.array([[0.0, 4 * math.atan(1e-6 * share)]])
        assert diagnosis._measure_rank(problem, q, np.array([[5.0, 0.0, 0.0]]))[1][0] == apart


def _boxed(target):
    """Whether no joint can come nearer, for a ball that its box keeps from turning about z any further."""
    box = EulerBox("XYZ", x=(-0.5, 0.5), y=(-0.5, 0.5), z=(-0.5, 0.0))
    skeleton = straight_chain(1, limits=[box], direction=X)
    return standing(skeleton, (Position("tip", target),), target, [1.0, 0.0, 0.0, 0.0]).is_stationary[0]


def test_a_ball_whose_limit_leaves_it_a_thousandth_of_the_gain_helps():
    for share, helps in ((BELOW, False), (ABOVE, True)):
        open_ = math.sqrt(2e-3 * share)  # the part of the error along which the ball may still turn
        rest_ = math.sqrt(0.5 * (1.0 - open_**2))
        target = X + 0.5 * np.array([rest_, rest_, -open_])
        assert _boxed(target) != helps


def test_a_ball_that_its_limit_leaves_a_thousandth_of_a_step_may_turn():
    """In a corner of its box, with a bone almost along the one axis that it may still turn about."""
    box = EulerBox("XYZ", x=(-0.5, 0.5), y=(0.0, 0.5), z=(-0.5, 0.0))
    row, start = pack_limit(box), np.array([[1.0, 0.0, 0.0, 0.0]])

    def left(slant):  # of a step as long as one, towards a target away from the tip by y + z
        way, _ = diagnosis._find_open_direction(row, start, np.array([[slant, -math.cos(slant), math.cos(slant)]]))
        return float(np.linalg.norm(way))

    for share, turns in ((BELOW, False), (ABOVE, True)):
        slant = brentq(lambda x, most=1e-3 * share: left(x) - most, 1e-4, 1e-2, xtol=1e-12)
        bone = np.array([math.cos(slant), math.sin(slant), 0.0])
        skeleton = straight_chain(1, limits=[box], direction=bone)
        target = bone + np.array([0.0, 0.5, 0.5])
        assert standing(skeleton, (Position("tip", target),), target, start[0]).is_stationary[0] != turns
