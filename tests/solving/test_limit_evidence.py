"""`limited` stands on a pose that was found without limits; other misses only name the joints at their limits."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np
import pytest

import poise
from poise import Kind, Place, Position, Range, Status
from poise.solving import diagnosis
from tests.strategies import rng_of, straight_chain, unit_quaternions


def five_axes():
    return poise.Skeleton.build(
        ["j1", "j2", "j3", "j4", "j5", "tool"], range(-1, 5), [Kind.HINGE] * 5 + [Kind.FIXED],
        offsets=[(0, 0, 0.1), (0, 0, 0.1), (0, 0, 0.25), (0, 0, 0.25), (0, 0, 0.1), (0, 0, 0)],
        axes=[(0, 0, 1), (0, 1, 0), (0, 1, 0), (0, 1, 0), (0, 0, 1), (0, 0, 0)],
        limits=[Range(-2.6, 2.6), Range(-1.7, 1.7), Range(-2.2, 2.2), Range(-1.9, 1.9), Range(-3, 3), None],
    )  # fmt: skip


def six_axes():
    return poise.Skeleton.build(
        ["j1", "j2", "j3", "j4", "j5", "j6", "tool"], range(-1, 6), [Kind.HINGE] * 6 + [Kind.FIXED],
        offsets=[(0, 0, 0.1), (0, 0, 0.1), (0, 0, 0.4), (0, 0, 0.2), (0, 0, 0.2), (0, 0, 0.05), (0, 0, 0.1)],
        axes=[(0, 0, 1), (0, 1, 0), (0, 1, 0), (0, 0, 1), (0, 1, 0), (0, 0, 1), (0, 0, 0)],
        limits=[Range(-2.5, 2.5), Range(-1.5, 1.5), Range(-2, 2), Range(-2, 2), Range(-1.5, 1.5), Range(-2, 2), None],
    )  # fmt: skip


@cache
def made(make):
    return make()


def requested(skeleton, count, stretch=1.0):
    rng = rng_of(21)
    q = rng.uniform(*skeleton.value_ranges.T, (count, skeleton.nq))
    points = poise.Pose(skeleton, q).world_of("tool").positions
    return poise.solve(
        poise.Pose(skeleton, skeleton.rest_q), Place("tool", points * stretch, unit_quaternions(rng, count))
    )


@pytest.mark.parametrize(("make", "stretch"), [(five_axes, 1.0), (six_axes, 1.0), (six_axes, 1.3)])
def test_a_search_from_64_starts_without_limits_never_contradicts_limited(make, stretch):
    skeleton = made(make)
    result = requested(skeleton, 100, stretch)
    free = skeleton.with_limits({"*": None})
    goal = result.goals[0]
    without = poise.solve(poise.Pose(free, free.rest_q), goal, prefer="closest", seeds=64)
    assert not ((result.codes == Status.limited) & ~without.reached).any()
    if make is five_axes:
        assert (result.codes == Status.over_constrained).all()
    else:
        assert (result.codes == Status.limited).any() or stretch > 1
        assert (result.codes == Status.stalled).any()


def test_a_miss_at_a_limit_that_is_not_the_reason_names_the_joint():
    result = requested(made(five_axes), 40)
    at_limits = [i for i in range(40) if " at its " in result.message(i)]
    assert at_limits
    for i in at_limits:
        assert result.message(i).startswith("over-constrained: ")
        named = [name for name in result.problem.skeleton.names if f"{name} at its " in result.message(i)]
        ranges, q = result.problem.skeleton.value_ranges, result.q[i]
        for name in named:
            column = result.problem.skeleton.q_slice(name).start
            assert np.abs(ranges[column] - q[column]).min() < 1e-6


def test_a_target_that_only_a_limit_keeps_away_is_limited():
    skeleton = straight_chain(2, kind=1, axes=[(0, 0, 1)] * 2, limits=[Range(-0.2, 0.2), Range(0, 1)])
    free = skeleton.with_limits({"*": None})
    beyond = poise.Pose(free, [0.2, 1.3]).world["tip"].positions
    result = poise.solve(poise.Pose(skeleton, skeleton.rest_q), Position("tip", beyond))
    assert result.status is Status.limited
    assert "limited: a pose without limits meets the target, none was found within them; " in result.message()
    assert "j1 at its highest, 1 rad" in result.message()


def test_a_pose_that_is_found_without_limits_and_keeps_them_is_distinguished():
    skeleton = straight_chain(2, kind=1, axes=[(0, 0, 1)] * 2, limits=[Range(-3, 3), Range(-0.1, 2)])
    target = poise.Pose(skeleton, [0.5, 1.5]).world["tip"].positions
    for bent, legal in (([0.2, 1.0], True), ([1.5, -0.1], False)):
        problem = poise.solve(poise.Pose(skeleton, bent), Position("tip", target)).problem
        tolerance, work = problem.complete_tolerance(None, None), np.array([1000])
        found = diagnosis.search_without_limits(problem, np.array([bent]), target[None], tolerance, work)
        assert found.met_without_limits[0]
        assert found.met_within_limits[0] == legal


def test_only_rows_that_are_read_are_searched_for(monkeypatch):
    observed = []
    search = diagnosis.search_without_limits

    def counted(problem, q, *rest):
        observed.append(len(q))
        return search(problem, q, *rest)

    monkeypatch.setattr("poise.solving.diagnosis.search_without_limits", counted)
    result = requested(made(five_axes), 60)
    assert not result.reached.any()
    assert not observed
    first = result.message(3)
    assert sum(observed) <= 1
    codes = result.codes
    assert sum(observed) > 20
    assert result.message(3) == first
    assert first.startswith("over-constrained") == (codes[3] == Status.over_constrained)


def test_the_search_takes_fewer_iterations_than_the_solve(monkeypatch):
    spent = []
    solve = diagnosis.solve_and_measure

    def counted(problem, targets, *rest):
        found = solve(problem, targets, *rest)
        spent.append(int(found.answer.iterations.sum()))
        return found

    monkeypatch.setattr(diagnosis, "solve_and_measure", counted)
    for solver in ("levenberg_marquardt", "ccd", poise.LevenbergMarquardt(iterations=8, restarts=2)):
        spent.clear()
        skeleton = six_axes()
        rng = rng_of(3)
        points = poise.Pose(skeleton, rng.uniform(*skeleton.value_ranges.T, (80, 6))).world_of("tool").positions
        goal = Place("tool", points * 1.2, unit_quaternions(rng, 80))
        result = poise.solve(poise.Pose(skeleton, skeleton.rest_q), goal, solver=solver)
        missed = ~result.reached
        assert result.codes[missed].all()
        assert sum(spent) <= 2 * int(result.iterations[missed].sum())


@pytest.mark.parametrize("make", [five_axes, six_axes])
def test_a_status_hangs_on_its_own_row_only(make):
    skeleton = made(make)
    rest = poise.Pose(skeleton, skeleton.rest_q)
    many = requested(skeleton, 40)
    rows = many.goals[0].rows()
    for i in (0, 7, 39):
        one = poise.solve(rest, many.goals[0].with_target(rows[i]))
        assert int(one.codes) == many.codes[i]
        assert one.message() == many.message(i)
    threads = poise.solve(rest, many.goals[0], threads=2)
    np.testing.assert_array_equal(threads.codes, many.codes)
    back = poise.solve(rest, many.goals[0].with_target(rows[::-1]))
    np.testing.assert_array_equal(back.codes[::-1], many.codes)
    fresh = poise.solve(rest, many.goals[0])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fresh)).codes, many.codes)  # noqa: S301


def test_limits_of_a_figure_are_the_reason_where_its_free_joints_reach():
    rig = poise.load(poise.sample("humanoid"))
    knee = rig.skeleton.with_limits({"LeftLeg": Range.degrees(0, 60, axis=(1, 0, 0))})
    hip = rig.rest.world["LeftUpLeg"].positions
    result = poise.solve(
        poise.Pose(knee, knee.rest_q), Position("LeftFoot", hip - np.array([0, 0.3, 0]), root="LeftUpLeg")
    )
    assert result.status is Status.limited
    assert "LeftLeg at its highest, 1.047 rad (60 deg)" in result.message()
