"""The contract of goals: what holds for every goal in the folder."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import poise
from poise.cli.goal_options import GOAL_HELP, format_goal_kind
from poise.problem import goals
from poise.problem.dof_layout import LENGTH_KINDS, MEASURE_KINDS, TARGET_SIZES
from poise.problem.goal_errors import compute_world_errors
from poise.solvers.base import interface as handles
from poise.solvers.base.option_parsing import list_parameters
from tests.contracts.cases import goal_for, limb, posed, rest
from tests.strategies import rng_of

pytestmark = pytest.mark.parametrize("kind", goals.GOAL_CLASSES, ids=lambda kind: kind.__name__)
SOLVER = "levenberg_marquardt"


def case(kind):
    """The rest pose of a limb, a pose in which it is bent, and a goal that the bent one meets or nearly meets."""
    s = limb()
    bent = posed(s, 3, 0.5)
    return rest(s), bent, goal_for(kind, rest(s), bent)


def batch_of(goal, k):
    """The targets (k, width) of goals like this one, each a little elsewhere."""
    rows = goal.rows() + 0.1 * rng_of(2).normal(size=(k, goal.width))
    return goal.with_target(goal.parse(rows)).rows()


def test_it_is_found_where_people_look(kind):
    assert kind.__name__ in handles.GOAL_NAMES
    assert format_goal_kind(kind) in GOAL_HELP


def test_what_it_takes_and_measures_is_written_down(kind):
    _, _, goal = case(kind)
    for parameter in list_parameters(kind):
        assert parameter.description or parameter.name == "joint", f"the docstring of {kind.__name__}: {parameter.name}"
    if goal.measures:
        assert "Error" in kind.__doc__


def test_rows_are_what_it_measures(kind):
    _, _, goal = case(kind)
    assert goal.rows().shape == (*goal.shape, goal.width)
    assert set(goal.measures) <= set(MEASURE_KINDS)
    if goal.width:
        assert goal.width == sum(TARGET_SIZES[MEASURE_KINDS[measure]] for measure in goal.measures)


def test_rows_come_back_bit_for_bit(kind):
    start, bent, goal = case(kind)
    if not goal.width:
        for ask in (goal.parse, goal.with_target):
            with pytest.raises(poise.InputError, match="no target"):
                ask(np.zeros(3))
        return
    goal = again(kind, start, bent, weight=2.5)
    rows = batch_of(goal, 4)
    for some in (goal.rows(), rows, rows.reshape(2, 2, -1)):
        np.testing.assert_array_equal(goal.parse(some), some)
        other = goal.with_target(some)
        np.testing.assert_array_equal(other.rows(), some)
        assert other.shape == some.shape[:-1]
        for parameter in list_parameters(kind):
            if parameter.name == "joint" or not parameter.is_required:
                assert getattr(other, parameter.name) == getattr(goal, parameter.name)


def test_it_is_a_frozen_value(kind):
    _, _, goal = case(kind)
    with pytest.raises(FrozenInstanceError):
        goal.weight = 2.0
    if goal.width:
        given = np.array(goal.rows())
        kept = goal.with_target(given)
        given += 1.0
        np.testing.assert_array_equal(kept.rows(), goal.rows())


def test_it_survives_pickling(kind):
    start, bent, _ = case(kind)
    goal = again(kind, start, bent, weight=2.5)
    same = pickle.loads(pickle.dumps(goal))  # noqa: S301
    for parameter in list_parameters(kind):
        mine, theirs = getattr(same, parameter.name), getattr(goal, parameter.name)
        if isinstance(mine, tuple):
            assert mine == theirs
        else:
            np.testing.assert_array_equal(getattr(mine, "q", mine), getattr(theirs, "q", theirs))
    np.testing.assert_array_equal(same.rows(), goal.rows())


def test_scale_that_is_not_quite_uniform_is_made_up_for(kind):
    """Exported animation carries scale noise: the kernels' aim is then a little off, the answer is not."""
    start, _, goal = case(kind)
    scales = 1 + 3e-4 * rng_of(5).uniform(-1, 1, size=(3, 3))
    noisy = poise.Pose(start.skeleton, start.q, scales=scales)
    met = poise.solve(noisy, goal, solver=SOLVER, tolerance=1e-6, angle_tolerance=1e-6)
    assert met.problem.plan.is_sheared
    assert met.reached


@pytest.mark.parametrize("weight", [0.0, -1.0, np.inf, np.nan, "much"])
def test_a_weight_is_above_zero(kind, weight):
    start, bent, _ = case(kind)
    with pytest.raises(poise.InputError, match="weight"):
        again(kind, start, bent, weight=weight)


def again(kind, start, bent, **changes):
    """The goal once more, some of its arguments changed."""
    goal = goal_for(kind, start, bent)
    taken = {p.name: getattr(goal, p.name) for p in list_parameters(kind)} | changes
    first = [taken.pop(p.name) for p in list_parameters(kind) if p.is_required]
    return kind(*first, **taken)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_target_that_is_no_number_is_refused(kind, bad):
    _, _, goal = case(kind)
    if goal.width:
        rows = np.array(goal.rows())
        for column in range(goal.width):
            wrong = rows.copy()
            wrong[column] = bad
            with pytest.raises(poise.InputError, match=goal.joint):
                goal.with_target(wrong)


def test_a_joint_that_does_not_exist_is_named(kind):
    start, bent, goal = case(kind)
    if not hasattr(goal, "joint"):
        return
    with pytest.raises(poise.UnknownNameError, match="wrist"):
        poise.solve(start, again(kind, start, bent, joint="wrist"), solver=SOLVER)


def test_it_is_met_and_its_errors_are_those_of_forward_kinematics(kind):
    start, _, goal = case(kind)
    result = poise.solve(start, goal, solver=SOLVER, tolerance=1e-6, angle_tolerance=1e-6)
    assert result.reached
    assert result.errors.shape == (len(goal.measures),)
    for pose in (start, result.pose):
        requested = poise.solve(pose, goal, solver=poise.LevenbergMarquardt(iterations=0, restarts=0))
        plain = compute_world_errors(poise.Pose(pose.skeleton, requested.pose.q[None]), (goal,), requested.targets)[0]
        np.testing.assert_allclose(requested.errors, plain, rtol=1e-6, atol=1e-9)
    lengths = [MEASURE_KINDS[measure] in LENGTH_KINDS for measure in goal.measures]
    np.testing.assert_array_equal(np.isfinite(result.position_errors).any(), any(lengths))


def test_where_it_is_met_nothing_moves(kind):
    start, _, goal = case(kind)
    there = poise.solve(start, goal, solver=SOLVER, tolerance=1e-6, angle_tolerance=1e-6).pose
    result = poise.solve(there, goal, solver=SOLVER)
    assert result.reached
    if goal.measures:
        np.testing.assert_array_equal(result.pose.q, there.q)
        assert result.iterations == 0


def test_prepared_and_followed_it_is_the_same(kind):
    start, _, goal = case(kind)
    if not goal.width:
        return
    reach, follow = poise.prepare(start, goal, solver=SOLVER), poise.Tracker(start, goal, solver=SOLVER)
    for row in (*batch_of(goal, 3), goal.rows()):
        plain = poise.solve(start, goal.with_target(row), solver=SOLVER)
        np.testing.assert_array_equal(reach(row).pose.q, plain.pose.q)
        assert np.isfinite(follow(row).errors).all()


def test_what_cannot_be_met_is_reported_in_a_sentence(kind):
    start, _, goal = case(kind)
    if not goal.width:
        return
    far = goal.with_target(np.asarray(goal.rows()) * 100.0)
    result = poise.solve(start, far, solver=SOLVER)
    assert np.isfinite(result.pose.q).all()
    assert result.message()
    assert "\n" not in str(result)
    if "position" in goal.measures:
        assert result.status is poise.Status.out_of_reach


def test_beside_another_goal(kind):
    """A position of the elbow and this goal: both measured, in order."""
    start, bent, goal = case(kind)
    elbow = poise.Position("lower", bent.world["lower"].positions)
    result = poise.solve(start, [elbow, goal], solver=SOLVER)
    assert result.errors.shape == (1 + len(goal.measures),)
    assert result.errors[0] == pytest.approx(np.linalg.norm(result.pose.world["lower"].positions - elbow.target))
