"""Optional goals: met where that costs the others nothing, as nearly as can be where it does, and never counted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

import poise
from poise import samples
from tests.strategies import generic_arm, random_q, rng_of, seeds

FIGURE = poise.load(samples.path("humanoid.glb"))
WORLD = FIGURE.rest.world
TURN = (1.0, 0.0, 0.0, 0.0)
LEFT = poise.Position("LeftHand", np.add(WORLD["LeftHand"].positions, [-0.25, -0.1, 0.3]), root="Spine")
FAR = poise.Position("RightHand", np.add(WORLD["RightHand"].positions, [0.2, 0.6, 1.5]), root="Spine", optional=True)
NEAR = FAR.with_target(np.add(WORLD["RightHand"].positions, [0.2, 0.1, 0.25]))


def counted(goal):
    return replace(goal, optional=False)


def test_what_can_be_met_is_met():
    """All goals together: the bits are those without the word."""
    result = poise.solve(FIGURE.rest, [LEFT, NEAR])
    assert result.reached
    assert (result.position_errors <= result.tolerance).all()
    np.testing.assert_array_equal(result.q, poise.solve(FIGURE.rest, [LEFT, counted(NEAR)]).q)


def test_the_others_are_met_and_it_comes_as_near_as_that_lets_it():
    result = poise.solve(FIGURE.rest, [LEFT, FAR])
    assert result.reached
    assert result.position_errors[0] <= result.tolerance
    alone = poise.solve(FIGURE.rest, LEFT)
    assert np.linalg.norm(FAR.target - alone.pose.world["RightHand"].positions) > result.position_errors[1] + 0.3
    assert not poise.solve(FIGURE.rest, [LEFT, counted(FAR)]).reached
    assert "optional goals" in result.message()
    assert "optional goals" not in alone.message()


@given(seeds)
@settings(max_examples=15, deadline=None)
def test_no_pose_nearby_that_meets_the_others_comes_nearer(seed):
    """The point of an arm is held and its rotation is wished for: turned aside and brought back, it is no better."""
    rng, s = rng_of(seed), generic_arm()
    start, there, wish = (poise.Pose(s, s.legal(random_q(rng, s))[0]) for _ in range(3))
    point = poise.Position("tool", there.world["tool"].positions)
    turn = poise.Orientation("tool", wish.world["tool"].rotations, optional=True)
    result = poise.solve(start, [point, turn])
    assert result.reached
    left = result.angle_errors[1]
    for _ in range(5):
        aside = start.with_q(s.legal(result.q + 0.02 * rng.normal(size=s.nq))[0])
        other = poise.solve(aside, point, solver=poise.LevenbergMarquardt(restarts=0))
        if other.reached:
            turned = poise.solve(other.pose, [point, turn], solver=poise.LevenbergMarquardt(iterations=0, restarts=0))
            assert turned.angle_errors[1] >= left - 2e-3


def test_what_has_to_be_met_is_reported_where_it_is_missed():
    """The optional goal neither is named as the reason nor makes the other one worse."""
    beyond = LEFT.with_target(np.add(WORLD["LeftHand"].positions, [3.0, 0.0, 0.0]))
    result, alone = (poise.solve(FIGURE.rest, goals) for goals in ([beyond, FAR], [beyond]))
    assert result.status is poise.Status.out_of_reach
    assert result.position_errors[0] <= alone.position_errors[0] + 1e-6
    assert "'LeftHand'" not in result.message()  # as for the one goal that counts
    assert result.message().startswith("out of reach: the target is")


def test_a_batch_has_the_bits_of_its_parts():
    aims = FAR.target + np.random.default_rng(4).normal(size=(6, 3)) * 0.6
    many = poise.solve(FIGURE.rest, [LEFT, FAR.with_target(aims)])
    assert many.reached.all()
    for i, aim in enumerate(aims):
        one = poise.solve(FIGURE.rest, [LEFT, FAR.with_target(aim)])
        np.testing.assert_array_equal(many.q[i], one.q)
    prepared = poise.prepare(FIGURE.rest, [LEFT, FAR])
    np.testing.assert_array_equal(prepared([LEFT.target, aims[2]]).q, many.q[2])


@pytest.mark.parametrize("solver", ["levenberg_marquardt", "ccd", "fabrik", "damped_least_squares"])
def test_whatever_the_solver(solver):
    """Of one joint where that is all that a solver takes."""
    s = poise.Skeleton.build("abcd", [-1, 0, 1, 2], [3, 3, 3, 0], offsets=[(0, 0, 0), (0, 1, 0), (0, 1, 0), (0, 1, 0)])
    start = poise.Pose(s, s.rest_q)
    wish = poise.Direction("d", [0.1, 1, 0.3], axis=(0, 1, 0), optional=True)
    wish = poise.Position("c", [4, 0, 0], optional=True) if solver == "fabrik" else wish
    result = poise.solve(start, [poise.Position("d", [2.9, 0.1, 0.1]), wish], solver=solver)
    assert result.reached
    assert result.errors[0] <= result.tolerance < result.errors[1]


def test_a_start_that_meets_what_counts_still_goes_for_the_rest():
    start = poise.solve(FIGURE.rest, LEFT).pose
    result = poise.solve(start, [LEFT, NEAR])
    assert (result.position_errors <= result.tolerance).all()


def test_nothing_but_wishes():
    result = poise.solve(FIGURE.rest, FAR)
    assert result.reached
    assert result.status is poise.Status.reached
    assert result.position_errors[0] > result.tolerance
    assert result.position_errors[0] == pytest.approx(poise.solve(FIGURE.rest, counted(FAR)).position_errors[0])


def test_a_tracker_counts_only_the_others():
    follow = poise.Tracker(FIGURE.rest, [LEFT, FAR])
    for step in np.linspace(0, 1, 8):
        shown = follow([LEFT.target * step + WORLD["LeftHand"].positions * (1 - step), FAR.target])
    assert shown.reached
    assert shown.position_errors[1] > shown.tolerance


def test_it_goes_along_with_a_goal():
    """Copies for other targets keep the word; what is no truth value is refused."""
    for make in (
        lambda **more: poise.Position("a", [1, 2, 3], **more),
        lambda **more: poise.Orientation("a", TURN, **more),
        lambda **more: poise.Place("a", [1, 2, 3], TURN, **more),
        lambda **more: poise.Direction("a", [1, 2, 3], **more),
        lambda **more: poise.Aim("a", [1, 2, 3], **more),
        lambda **more: poise.LookAt("a", [1, 2, 3], **more),
        lambda **more: poise.Pole("a", [1, 2, 3], **more),
        lambda **more: poise.Pin("a", **more),
    ):
        assert make().optional is False
        goal = make(optional=np.True_)
        assert goal.optional is True
        assert replace(goal, weight=2.0).optional
        if goal.width:
            assert goal.with_target(goal.rows() if goal.width != 4 else TURN).optional
        with pytest.raises(poise.InputError, match="optional"):
            make(optional="yes")


def test_other_ways_of_preferring_are_refused():
    for prefer in ("closest", "all"):
        with pytest.raises(poise.UnsupportedError, match="optional"):
            poise.solve(FIGURE.rest, [LEFT, FAR], prefer=prefer)


def test_a_trace_ends_with_the_answer():
    result = poise.solve(FIGURE.rest, [LEFT, FAR], trace=True)
    np.testing.assert_array_equal(result.trace.q[-1], result.q)


class TestWhereMoreIsInTheWay:
    """What a review of the first version found."""

    def test_a_wish_counts_where_the_required_goal_is_out_of_reach(self):
        """Two arms that share no joint: the reachable wish is met, whatever becomes of the other."""
        wish = np.add(WORLD["RightArm"].positions, [-0.25, -0.2, 0.25])
        goals = [
            poise.Position("LeftHand", WORLD["LeftHand"].positions, root="LeftArm"),
            poise.Position("RightHand", wish, root="RightArm", optional=True),
        ]
        ways = np.random.default_rng(0).normal(size=(40, 3))
        far = WORLD["LeftArm"].positions + 2.0 * ways / np.linalg.norm(ways, axis=1)[:, None]
        result = poise.solve(FIGURE.rest, [goals[0].with_target(far), goals[1]])
        alone = poise.solve(FIGURE.rest, goals[0].with_target(far))
        assert not result.reached.any()
        np.testing.assert_allclose(result.position_errors[:, 0], alone.position_errors[:, 0], atol=1e-6)
        assert (result.position_errors[:, 1] <= 2 * result.tolerance).all()

    def test_clips_with_translations_and_targets_out_of_reach(self):
        """Starts with places of their own, of which some miss what is required."""
        starts = FIGURE.clips[0].poses[:3]
        far = np.array([[9.0, 9, 9], [0.3, 1.3, 0.4], [8.0, 0, 0]])
        goals = [poise.Position("LeftHand", far, root="Spine"), FAR]
        many = poise.solve(starts, goals)
        assert many.reached.tolist() == [False, True, False]
        for i in range(3):
            one = poise.solve(starts[i], [goals[0].with_target(far[i]), FAR])
            np.testing.assert_array_equal(many.q[i], one.q)
        assert poise.bake(FIGURE.clips[0], [LEFT, FAR]).result.position_errors.shape[1] == 2

    @pytest.mark.parametrize("joints", [None, ["Spine"]])
    def test_near_comes_after_wishes(self, joints):
        without = poise.solve(FIGURE.rest, [LEFT, FAR], natural=False)
        near = poise.Near(FIGURE.rest, joints=joints)
        found = poise.solve(FIGURE.rest, [LEFT, FAR, near], natural=False)
        assert found.reached
        assert found.position_errors[1] <= without.position_errors[1] + 0.02

    def test_prepare_refuses_what_solve_does(self):
        with pytest.raises(poise.UnsupportedError, match="optional"):
            poise.prepare(FIGURE.rest, [LEFT, FAR], prefer="closest")

    def test_where_all_are_optional_the_words_say_so(self):
        assert poise.solve(FIGURE.rest, FAR).message().startswith("reached: every goal is optional, ")
