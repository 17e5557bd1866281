"""Pulls: how far a goal may take hips and other limbs along."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.cli.goal_options import parse_goal
from poise.errors import InputError, UnsupportedError
from poise.solving.pulls import _find_pulls

FEET = [poise.Pin("LeftFoot"), poise.Pin("RightFoot")]


@pytest.fixture(scope="module")
def rig():
    return poise.load(poise.sample("humanoid"))


def reach_down(rig, pull: float = 1.0, *, joint: str = "LeftHand") -> poise.Position:
    return poise.Position(joint, np.add(rig.rest.world["LeftFoot"].positions, [0.1, 0.0, 0.2]), pull=pull)


def hang_arms(rig) -> poise.Pose:
    world = rig.rest.world
    sides = ("Left", "Right")
    hands = [poise.Position(f"{side}Hand", world[f"{side}Arm"].positions - [0.0, 0.53, 0.0]) for side in sides]
    return poise.solve(rig.rest, hands).pose


def solve_feet(rig, *goals: poise.Goal, natural: bool | None = None) -> poise.Result:
    return poise.solve(rig.rest, [*FEET, *goals], free_root=True, natural=natural)


def move_apart(first: poise.Result, second: poise.Result) -> float:
    return float(np.linalg.norm(first.pose.world.positions - second.pose.world.positions, axis=-1).max())


@pytest.mark.parametrize("natural", [None, False])
def test_without_a_pull_only_the_limb_moves(rig, natural):
    result = solve_feet(rig, reach_down(rig, 0.0), natural=natural)
    moved = {name for name in rig.skeleton.names if not np.array_equal(
        result.pose.q[result.pose.skeleton.q_slice(name)], poise.solve(
            rig.rest, FEET, free_root=True).pose.q[result.pose.skeleton.q_slice(name)])}  # fmt: skip
    assert moved <= {*rig.skeleton.chain(None, "LeftHand"), "LeftHand"}
    assert not result.reached
    assert result.status == poise.Status.held_back
    assert "pull=" in result.message()


@pytest.mark.parametrize("natural", [None, False])
def test_a_full_pull_changes_no_bit(rig, natural):
    plain = solve_feet(rig, poise.Position("LeftHand", reach_down(rig).target), natural=natural)
    assert np.array_equal(plain.pose.q, solve_feet(rig, reach_down(rig, 1.0), natural=natural).pose.q)


@pytest.mark.parametrize("natural", [None, False])
def test_hips_come_by_the_share_of_the_pull(rig, natural):
    hips = [solve_feet(rig, reach_down(rig, pull), natural=natural).pose.world["Hips"].positions
            for pull in (0.0, 0.25, 0.5, 1.0)]  # fmt: skip
    way = hips[-1] - hips[0]
    assert np.linalg.norm(way) > 0.1
    for share, place in zip((0.25, 0.5), hips[1:3], strict=True):
        assert np.allclose(place, hips[0] + share * way, atol=2e-3)


@pytest.mark.parametrize("natural", [None, False])
@pytest.mark.parametrize(("first", "second"), [(0.0, 1e-6), (0.4, 0.4 + 1e-6), (1.0 - 1e-6, 1.0)])
def test_poses_are_continuous_in_the_pull(rig, natural, first, second):
    poses = [solve_feet(rig, reach_down(rig, pull), natural=natural) for pull in (first, second)]
    assert move_apart(*poses) < 1e-4


@pytest.mark.parametrize("natural", [None, False])
def test_poses_are_continuous_where_pulls_change_their_order(rig, natural):
    other = np.add(rig.rest.world["RightHand"].positions, [-0.1, 0.3, 0.3])

    def solve_both(left: float, right: float) -> poise.Result:
        return solve_feet(rig, reach_down(rig, left), poise.Position("RightHand", other, pull=right), natural=natural)

    equal = solve_both(0.5, 0.5)
    for step in (1e-5, -1e-5):
        assert move_apart(equal, solve_both(0.5 + step, 0.5 - step)) < 5e-4


def test_goals_of_full_pull_are_met(rig):
    hips = poise.Position("Hips", rig.rest.world["Hips"].positions - [0.0, 0.15, 0.0])
    result = solve_feet(rig, hips, reach_down(rig, 0.5))
    missed = result.errors > np.array([1e-4])
    assert missed.sum() == 1
    assert result.errors[-1] > 0.01


def test_a_limb_goes_with_a_body_that_others_move(rig):
    place = np.add(rig.rest.world["LeftHand"].positions, [-0.15, -0.2, 0.1])
    hips = poise.Position("Hips", rig.rest.world["Hips"].positions - [0.0, 0.1, 0.0])
    result = solve_feet(rig, hips, poise.Position("LeftHand", place, pull=0.0))
    assert result.reached


def test_a_pin_of_no_pull_lets_the_hips_go(rig):
    up = poise.Position("Hips", np.add(rig.rest.world["Hips"].positions, [0.0, 0.3, 0.0]))
    loose = [poise.Pin(f"{side}Foot", rotation=False, pull=0.0) for side in ("Left", "Right")]
    result = poise.solve(rig.rest, [*loose, up], free_root=True)
    assert np.allclose(result.pose.world["Hips"].positions, up.target, atol=1e-3)
    assert result.pose.world["LeftFoot"].positions[1] > rig.rest.world["LeftFoot"].positions[1] + 0.2


def test_a_pole_goes_with_its_limb(rig):
    elbow = np.add(rig.rest.world["LeftForeArm"].positions, [0.0, 0.0, -0.3])
    pole = poise.Pole("LeftForeArm", elbow, tip="LeftHand", root="LeftArm")
    goals = (*FEET, reach_down(rig, 0.0), pole)
    start = poise.Pose(rig.skeleton.with_free_root(), rig.skeleton.with_free_root().rest_q)
    pulled = poise.Position("LeftHand", goals[2].target, root="Hips", pull=0.0)
    problem = poise.extend.Problem(start, (*FEET, pulled, pole), True)
    assert _find_pulls(problem) == (1.0, 1.0, 0.0, 0.0)


def test_a_goal_of_its_own_limb_pulls_nothing(rig):
    target = np.add(rig.rest.world["LeftHand"].positions, [0.4, 0.0, 0.0])
    plain = poise.solve(rig.rest, poise.Position("LeftHand", target))
    assert np.array_equal(plain.pose.q, poise.solve(rig.rest, poise.Position("LeftHand", target, pull=0.2)).pose.q)


def test_a_start_that_meets_its_goals_stays(rig):
    goal = poise.Position("LeftHand", rig.rest.world["LeftHand"].positions, pull=0.3)
    result = solve_feet(rig, goal)
    assert np.array_equal(result.pose.world.positions, rig.rest.world.positions)


def test_a_batch_has_the_bits_of_single_calls(rig):
    goal = reach_down(rig, 0.4)
    targets = goal.target + np.linspace(0.0, 0.4, 4)[:, None] * [0.0, 1.0, 0.0]
    batch = solve_feet(rig, goal.with_target(targets))
    for i, target in enumerate(targets):
        assert np.array_equal(batch.pose.q[i], solve_feet(rig, goal.with_target(target)).pose.q)


def test_a_prepared_solve_has_the_pull(rig):
    goal = reach_down(rig, 0.4)
    prepared = poise.prepare(rig.rest, [*FEET, goal], free_root=True)
    assert np.array_equal(prepared(goal.target).pose.q, solve_feet(rig, goal).pose.q)


def test_a_tracker_does_not_give_way_step_by_step(rig):
    goal = reach_down(rig, 0.4)
    tracker = poise.Tracker(rig.rest, [*FEET, goal], free_root=True)
    places = [tracker(goal.target, 1.0 / 60.0).pose.world["Hips"].positions for _ in range(6)]
    assert np.allclose(places[0], places[-1], atol=1e-3)


@pytest.mark.parametrize("budget", [{}, {"iterations": 100}, {"microseconds": 1e5}])
def test_a_tracker_by_the_engine_follows_as_far_as_a_solve(rig, budget):
    start, goal = hang_arms(rig), reach_down(rig, 0.5)
    tracker = poise.Tracker(start, [*FEET, goal], free_root=True, natural=False, **budget)
    alone = poise.solve(start, [*FEET, goal], free_root=True, natural=False).pose.world["Hips"].positions
    hips = tracker(goal.target).pose.world["Hips"].positions
    assert rig.rest.world["Hips"].positions[1] - hips[1] > 0.1
    assert np.allclose(hips, alone, atol=1e-2)


def test_an_optional_goal_pulls_too(rig):
    goal = reach_down(rig, 0.5)
    plain = solve_feet(rig, goal)
    result = solve_feet(rig, poise.Position("LeftHand", goal.target, pull=0.5, optional=True))
    assert result.reached
    assert np.allclose(result.pose.world["Hips"].positions, plain.pose.world["Hips"].positions, atol=1e-2)
    assert rig.rest.world["Hips"].positions[1] - result.pose.world["Hips"].positions[1] > 0.1


def test_near_leaves_pulled_hips_where_they_are(rig):
    start = hang_arms(rig)
    heights = [
        poise.solve(start, [*FEET, reach_down(rig, pull), poise.Near(start)], free_root=True)
        .pose.world["Hips"].positions[1]
        for pull in (0.0, 0.5, 1.0)
    ]  # fmt: skip
    assert abs(heights[1] - (heights[0] + heights[2]) / 2) < 0.25 * (heights[0] - heights[2])


@pytest.mark.parametrize("pull", [-0.1, 1.5, float("nan"), "much", None, True])
def test_other_pulls_are_refused(pull):
    for make in (lambda: poise.Position("Hand", [0, 0, 0], pull=pull), lambda: poise.Pin("Hand", pull=pull),
                 lambda: poise.Place("Hand", [0, 0, 0], [1, 0, 0, 0], pull=pull),
                 lambda: poise.Orientation("Hand", [1, 0, 0, 0], pull=pull)):  # fmt: skip
        with pytest.raises(InputError, match="pull of 'Hand'"):
            make()


def test_pulls_are_for_first_poses(rig):
    with pytest.raises(UnsupportedError, match="pulls below 1"):
        poise.solve(rig.rest, [*FEET, reach_down(rig, 0.5)], free_root=True, prefer="closest")


def test_pulls_are_read_from_the_command_line(rig):
    goal = parse_goal("position LeftHand 0.1 0.2 0.3 pull=0.25", rig.rest)
    assert goal.pull == 0.25
    assert parse_goal("pin LeftFoot pull=0.5", rig.rest).pull == 0.5
