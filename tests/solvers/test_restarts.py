"""Restarts never come to an end of their starts, and who hurries gets the first that arrives."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import poise
from poise.kernels import arm_race
from poise.kernels.arm_lm import apply_seed
from poise.kernels.lanes import SCALAR
from poise.kernels.layout import ARM_CANDIDATE_COUNT, ARM_SETTINGS, ARM_WEIGHTS
from poise.problem.arm_packing import find_arm
from poise.problem.problem import Problem
from poise.solvers.base.random_starts import extend_table
from tests.kernels.kernel_entries import compiled
from tests.strategies import generic_arm, rng_of, straight_chain

TABLE, GROUP = 64, 16


@compiled
def starts_of(seeds, poses, target, settings, numbers, out):
    for i in range(len(numbers)):
        apply_seed(SCALAR, seeds, poses, target, settings, out[i], 0, numbers[i])


def restarts(count):
    """Where an arm of three links starts again, and the costs of its seeds."""
    rng, settings = rng_of(1), np.zeros(ARM_SETTINGS)
    seeds, poses, target = rng.random((TABLE, 3)), rng.normal(size=(TABLE, 7)), np.array([0.3, 0.1, 0, 1, 0, 0, 0])
    settings[ARM_CANDIDATE_COUNT], settings[ARM_WEIGHTS] = GROUP, 1.0
    out = np.zeros((count, 3))
    starts_of(seeds, poses.T.ravel(), target, settings, np.arange(count), out)
    return out, seeds, np.linalg.norm(poses[:, :3] - target[:3], axis=1)


def test_every_seed_is_taken_once_and_then_they_are_mixed():
    found, seeds, _ = restarts(40 * TABLE)
    assert {row.tobytes() for row in found[:TABLE]} == {row.tobytes() for row in seeds}
    assert len({row.tobytes() for row in found}) == len(found)
    assert np.isin(found, seeds).all()


def test_the_best_of_each_group_comes_first():
    found, seeds, costs = restarts(TABLE)
    groups = TABLE // GROUP
    for number, start in enumerate(found):
        group, rank = slice(number % groups * GROUP, (number % groups + 1) * GROUP), number // groups
        best = np.argsort(costs[group], kind="stable")[rank]
        np.testing.assert_array_equal(start, seeds[group][best])


def test_the_tips_of_seeds_are_where_forward_kinematics_puts_them():
    skeleton = generic_arm()
    arm = find_arm(Problem(poise.Pose(skeleton, skeleton.rest_q), [poise.Place("tool", [0, 0, 0], [1, 0, 0, 0])]))
    places = arm.seed_tips.reshape(7, -1).T
    world = poise.Pose(skeleton, arm.seeds).world["tool"]
    unit = np.linalg.norm(world.positions[0]) / np.linalg.norm(places[0, :3])
    np.testing.assert_allclose(unit * places[:, :3], world.positions, atol=1e-12)
    same = np.sign((places[:, 3:] * world.rotations).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(same * places[:, 3:], world.rotations, atol=1e-12)


@compiled
def may_begin(number, oldest, winner, settling, last):
    state = np.zeros(arm_race.RACE_SIZE)
    arm_race.init_race(state)
    state[arm_race.RACE_NEXT_ATTEMPT], state[arm_race.RACE_OLDEST_ATTEMPT], state[arm_race.RACE_WINNING_ATTEMPT] = (
        number,
        oldest,
        winner,
    )
    return arm_race.can_start(state, settling, last)


@pytest.mark.parametrize(
    ("number", "oldest", "winner", "settling", "last", "begins"),
    [
        (3, 0, arm_race.NO_WINNER, 9, 9, True),
        (9, 8, arm_race.NO_WINNER, 20, 9, True),
        (10, 8, arm_race.NO_WINNER, 20, 9, False),  # there is no such attempt
        (3, 0, 2, 9, 9, False),  # an earlier one has arrived
        (
            arm_race.RACE_RING_SIZE,
            0,
            arm_race.NO_WINNER,
            99,
            99,
            False,
        ),  # the oldest would be overwritten before it is counted
        (arm_race.RACE_RING_SIZE, 1, arm_race.NO_WINNER, 99, 99, True),
        (9, 8, arm_race.NO_WINNER, 9, 9, False),  # the last one starts from the best of all before it
        (9, 9, arm_race.NO_WINNER, 9, 9, True),
    ],
)
def test_when_an_attempt_may_begin(number, oldest, winner, settling, last, begins):
    assert may_begin(number, oldest, winner, settling, last) == begins


def test_mixed_seeds_do_not_repeat():
    table = rng_of(2).random((32, 5))
    rows = extend_table(table, 32 * 32)
    np.testing.assert_array_equal(rows[:32], table)
    assert len({row.tobytes() for row in rows}) == len(rows)


@pytest.mark.parametrize("limit", [1.5, 2.0])
def test_every_corner_of_the_limits_is_found(limit):
    skeleton = generic_arm(limit)
    corners = np.array(list(itertools.product((-limit, limit), repeat=6)))
    at = poise.Pose(skeleton, corners).world_of("tool")
    goal = poise.Place("tool", at.positions, at.rotations)
    assert poise.solve(poise.Pose(skeleton, skeleton.rest_q), goal).reached.all()


def test_only_seeds_of_bounded_joints_stand_at_ends():
    limits = {"j0": poise.Range(-1, 0.5), "j1": None, "j2": poise.Range(0.2, np.inf)}
    skeleton = generic_arm().with_limits(limits)
    problem = Problem(poise.Pose(skeleton, skeleton.rest_q), [poise.Place("tool", [0, 0, 0], [1, 0, 0, 0])])
    arm = find_arm(problem)
    assert np.isfinite(arm.seeds).all()
    assert len({row.tobytes() for row in arm.seeds}) == len(arm.seeds)
    ends = ((arm.seeds == -1.0) | (arm.seeds == 0.5))[:, 0]
    assert not ends[: 21 * GROUP].any(), "the first restarts are for poses from anywhere"
    assert 0.1 < ends.mean() < 0.5
    assert len(np.unique(arm.seeds[:, 1])) == len(arm.seeds)


def test_seeds_of_joints_without_an_end_go_once_around():
    limits = {
        "j0": poise.Range(-0.5, np.inf),
        "j1": poise.Range(-np.inf, 0.5),
        "j2": None,
        "j3": poise.Range(7, np.inf),
    }
    skeleton = generic_arm().with_limits(limits)
    seeds = find_arm(Problem(poise.Pose(skeleton, skeleton.rest_q), [poise.Position("tool", [0, 0, 0])])).seeds
    for column, (low, high) in enumerate(
        [(-0.5, 2 * np.pi - 0.5), (0.5 - 2 * np.pi, 0.5), (-np.pi, np.pi), (7, 7 + 2 * np.pi)]
    ):
        np.testing.assert_allclose([seeds[:, column].min(), seeds[:, column].max()], [low, high], atol=0.1)


def test_an_arm_with_a_geared_hinge_is_no_row_of_plain_hinges():
    """A joint that follows a knob at half its angle: a whole turn of the knob is half a turn of the joint."""
    skeleton = poise.Skeleton.build(
        ["knob", "a", "b", "c", "tip"], [-1, -1, 1, 2, 3], [1, 1, 1, 1, 0], offsets=[(0, 0, 0), *[(1, 0, 0)] * 4],
        axes=[(0, 0, 1)] * 4 + [(0, 0, 0)], couplings=[None, None, poise.Coupling(0, 0.5, 0.0), None, None],
    )  # fmt: skip
    start = poise.Pose(skeleton, [7.0, 0.1, 0.2])
    goal = poise.Position("tip", poise.Pose(skeleton, rng_of(1).uniform(-2, 2, size=(20, 3))).world["tip"].positions)
    assert find_arm(Problem(start, [goal])) is None
    assert poise.solve(start, goal).reached.all()


@pytest.mark.parametrize("goal", ["places", "points"])
def test_in_a_hurry_a_single_target_is_met_by_the_first_arrival(goal):
    skeleton, rng = generic_arm(), rng_of(3)
    start = poise.Pose(skeleton, np.full(6, 0.2))
    world = start.with_q(rng.uniform(-2, 2, (40, 6))).world["tool"]
    made = {
        "places": poise.Place("tool", world.positions, world.rotations),
        "points": poise.Position("tool", world.positions),
    }[goal]
    quick = poise.LevenbergMarquardt(race=True)
    together = poise.solve(start, made, solver=quick)
    np.testing.assert_array_equal(together.q, poise.solve(start, made).q)
    reach = poise.prepare(start, made.with_target(made.rows()[0]), solver=quick)
    alone = [reach(row) for row in made.rows()]
    assert all(one.reached for one in alone)
    assert [one.q.tolist() for one in alone] == [reach(row).q.tolist() for row in made.rows()]
    assert sum(int(one.iterations) for one in alone) < together.iterations.sum()
    assert sum(one.q.tolist() != many.tolist() for one, many in zip(alone, together.q, strict=True)) > 0


def test_without_a_hurry_a_single_target_is_answered_as_in_a_batch():
    start = poise.Pose(generic_arm(), np.full(6, 0.2))
    world = start.with_q(rng_of(3).uniform(-2, 2, (40, 6))).world["tool"]
    goal = poise.Place("tool", world.positions, world.rotations)
    together = poise.solve(start, goal, solver=poise.LevenbergMarquardt())
    reach = poise.prepare(start, goal.with_target(goal.rows()[0]), solver=poise.LevenbergMarquardt())
    np.testing.assert_array_equal([reach(row).q for row in goal.rows()], together.q)


def test_a_single_target_that_cannot_be_met_is_answered_as_in_a_batch():
    """What settles at last starts from the best pose of all attempts before it, also where they run side by side."""
    start = poise.Pose(generic_arm(limit=1.0), np.full(6, 0.1))
    world = poise.Pose(generic_arm(), rng_of(5).uniform(-2.8, 2.8, (2, 6))).world["tool"]
    goal = poise.Place("tool", world.positions, world.rotations)
    solver = poise.LevenbergMarquardt(iterations=4, restarts=1)
    together = poise.solve(start, goal, solver=solver)
    assert not together.reached.all()
    reach = poise.prepare(start, goal.with_target(goal.rows()[0]), solver=solver)
    np.testing.assert_array_equal([reach(row).q for row in goal.rows()], together.q)


def test_a_start_that_meets_its_target_stays_also_in_a_hurry():
    start = poise.Pose(generic_arm(), np.full(6, 0.2))
    there = start.world["tool"]
    goal = poise.Place("tool", there.positions, there.rotations)
    found = poise.solve(start, goal, solver=poise.LevenbergMarquardt(race=True))
    assert found.reached
    assert found.iterations == 0
    np.testing.assert_array_equal(found.q, start.q)


@pytest.mark.parametrize("value", ["no", 1, None])
def test_who_hurries_says_so_by_a_truth_value(value):
    with pytest.raises(poise.InputError, match="race must be True or False"):
        poise.LevenbergMarquardt(race=value)


def test_what_cannot_be_met_does_not_keep_those_after_it_from_being_tried():
    limit = poise.Range(-1.0, 2.0)
    skeleton = straight_chain(4, kind=1, axes=np.eye(3)[[0, 2, 0, 2]], limits=[limit] * 4)
    start = poise.Pose(skeleton, np.full(4, 0.2))
    ends, middles = rng_of(4).normal(size=(2, 8, 3))
    goals = [poise.Position("tip", ends), poise.Position(skeleton.names[2], middles)]
    solver = poise.LevenbergMarquardt(iterations=4, restarts=4)
    together = poise.solve(start, goals, solver=solver)
    alone = [poise.solve(start, [g.with_target(g.rows()[i]) for g in goals], solver=solver) for i in range(8)]
    assert not together.reached.any()
    np.testing.assert_array_equal(together.q, [each.q for each in alone])
