"""A Pole takes the chain of the goal at its tip: it moves no joint besides, and the elbow comes to its side."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import poise
from poise import Pin, Place, Pole, Position
from poise.io import samples
from tests.strategies import straight_chain

RIG = poise.load(samples.path("humanoid.bvh"))
REST = RIG.rest
LIMBS = {
    f"{side}{tip}": (f"{side}{first}", f"{side}{middle}")
    for side in ("Left", "Right")
    for first, middle, tip in (("Arm", "ForeArm", "Hand"), ("UpLeg", "Leg", "Foot"))
}
FOLLOW_POLES = (
    "auto", "two_bone", "levenberg_marquardt", "damped_least_squares", "pseudo_inverse", "selectively_damped",
    "jacobian_transpose",
)  # fmt: skip
CLEAR = 0.1  # [deg] how far the elbow may be off the pole


def limb_targets(rng, rest, first, middle, tip, count):
    """Targets (count, 3) of a limb's tip within its reach, and poles (count, 3) around its first joint."""
    a, b, c = (np.asarray(rest.world[name].positions) for name in (first, middle, tip))
    upper, lower = np.linalg.norm(b - a), np.linalg.norm(c - b)
    ways = rng.normal(size=(count, 3))
    near, far = abs(upper - lower) + 0.1 * (upper + lower), 0.95 * (upper + lower)
    reach = rng.uniform(max(near, 0.4 * (upper + lower)), far, (count, 1))
    return a + reach * ways / np.linalg.norm(ways, axis=1, keepdims=True), a + rng.normal(size=(count, 3)) * far


def degrees_off(pose, limb, poles):
    """Angles [deg] between the way to the middle joint and the way to the pole, seen along first joint - tip."""
    first, middle, tip = (np.asarray(pose.world[name].positions) for name in limb)
    line = (tip - first) / np.linalg.norm(tip - first, axis=-1, keepdims=True)
    bend, side = (v - line * (v * line).sum(-1, keepdims=True) for v in (middle - first, poles - first))
    across = np.linalg.norm(np.cross(bend, side), axis=-1)
    return np.degrees(np.arctan2(across, (bend * side).sum(-1)))


def joints_that_moved(before, after):
    """Names of joints whose numbers differ in any pose of a batch."""
    skeleton = before.skeleton
    turned = np.abs(after.flat_q - before.q).max(axis=0) > 1e-12
    return {name for name in skeleton.names if turned[skeleton.q_slice(name)].any()}


@functools.cache
def task(tip, count=6, seed=11):
    first, middle = LIMBS[tip]
    return (first, middle, tip), *limb_targets(np.random.default_rng(seed), REST, first, middle, tip, count)


@pytest.mark.parametrize("solver", FOLLOW_POLES)
@pytest.mark.parametrize("tip", ["LeftHand", "RightFoot"])
def test_the_collar_bone_stays_where_the_chain_begins_at_the_upper_arm(solver, tip):
    limb, targets, poles = task(tip)
    goals = [Position(tip, targets, root=limb[0]), Pole(limb[1], poles, tip=tip)]
    result = poise.solve(REST, goals, solver=solver)
    assert result.reached.all()
    assert joints_that_moved(REST, result.pose) <= set(limb[:2])
    assert degrees_off(result.pose, limb, poles).max() < CLEAR


@pytest.mark.parametrize("tip", LIMBS)
def test_natural_poses_meet_a_pole_with_hardly_a_move_of_the_collar_bone(tip):
    limb, targets, poles = task(tip)
    result = poise.solve(REST, [Position(tip, targets), Pole(limb[1], poles, tip=tip)])
    assert result.reached.all()
    assert result.natural or tip.endswith("Foot")  # a leg's default chain is a limb of two bones
    collar = tip.replace("Hand", "Shoulder")
    assert joints_that_moved(REST, result.pose) <= {*limb[:2], collar}
    if collar != tip:  # it joins from 0.85 arm lengths on
        turn = result.q[:, REST.skeleton.q_slice(collar)] @ REST.q[REST.skeleton.q_slice(collar)]
        assert np.degrees(2.0 * np.arccos(np.abs(turn).min().clip(0.0, 1.0))) < 15.0
    assert degrees_off(result.pose, limb, poles).max() < CLEAR


def test_four_limbs_at_once_with_the_root_fixed_and_free():
    goals, tasks = [], [task(tip, seed=seed) for seed, tip in enumerate(LIMBS)]
    for (_, middle, tip), targets, poles in tasks:
        goals += [Position(tip, targets), Pole(middle, poles, tip=tip)]
    for free in (False, True):
        result = poise.solve(REST, goals, free_root=free)
        assert result.natural
        assert result.reached.all()
        for limb, _, poles in tasks:
            assert degrees_off(result.pose, limb, poles).max() < CLEAR
    assert not {"LeftShoulder", "RightShoulder"} & joints_that_moved(REST, poise.solve(REST, goals).pose)


def test_other_limbs_keep_their_natural_poses():
    """The right arm has no pole: it stands as it does where the left one has none, either."""
    (limb, targets, poles), (_, others, _) = task("LeftHand"), task("RightHand")
    hands = [Position("LeftHand", targets), Position("RightHand", others)]
    without = poise.solve(REST, hands)
    with_pole = poise.solve(REST, [*hands, Pole(limb[1], poles, tip="LeftHand")])
    right = np.r_[tuple(RIG.skeleton.q_slice(name) for name in ("RightShoulder", "RightArm", "RightForeArm"))]
    np.testing.assert_array_equal(with_pole.q[:, right], without.q[:, right])
    assert degrees_off(with_pole.pose, limb, poles).max() < CLEAR


@pytest.mark.parametrize("kind", [Place, Pin])
@pytest.mark.parametrize("root", ["LeftArm", None])
def test_a_place_and_a_pin_of_the_tip(kind, root):
    limb, targets, poles = task("LeftHand", 1)
    start = poise.solve(REST, Position("LeftHand", targets[0], root="LeftArm")).pose
    place = start.world["LeftHand"]
    wanted = Pin("LeftHand", root=root) if kind is Pin else Place("LeftHand", targets[0], place.rotations, root=root)
    result = poise.solve(start, [wanted, Pole(limb[1], poles[0], tip="LeftHand")])
    assert result.reached
    assert joints_that_moved(start, result.pose) <= {"LeftArm", "LeftForeArm", "LeftHand"}
    assert degrees_off(result.pose, limb, poles[0]) < CLEAR


def test_prepared_tracked_and_baked_alike():
    limb, targets, poles = task("LeftHand")
    goals = [Position("LeftHand", targets[0]), Pole(limb[1], poles[0], tip="LeftHand")]
    go, follow = poise.prepare(REST, goals), poise.Tracker(REST, goals)
    for target, pole in zip(targets, poles, strict=True):
        for result in (go([target, pole]), follow([target, pole])):
            assert result.reached
            assert joints_that_moved(REST, result.pose) <= set(limb[:2])
            assert degrees_off(result.pose, limb, pole) < CLEAR
    still = poise.Clip.at_rate(poise.Pose(RIG.skeleton, np.tile(REST.q, (len(targets), 1))), 30, "still")
    baked = poise.bake(still, [Position("LeftHand", targets), Pole(limb[1], poles, tip="LeftHand")])
    assert joints_that_moved(REST, baked.poses) <= set(limb[:2])
    assert degrees_off(baked.poses, limb, poles).max() < CLEAR


def test_a_limb_with_limits_follows_its_pole():
    """Shoulder and elbow have limits: the engine bends the arm, the collar bone stays."""
    limits = {
        "LeftArm": poise.SwingTwist((1, 0, 0), swing=2.5, twist=(-3.0, 3.0)),
        "LeftForeArm": poise.SwingTwist((1, 0, 0), swing=2.6, twist=(-0.4, 0.4)),
    }
    rig = RIG.with_skeleton(RIG.skeleton.with_limits(limits))
    limb, targets, poles = task("LeftHand", 12)
    result = poise.solve(rig.rest, [Position("LeftHand", targets), Pole(limb[1], poles, tip="LeftHand")])
    reached = result.reached
    assert reached.sum() >= 9
    assert degrees_off(result.pose[reached], limb, poles[reached]).max() < CLEAR


class TestWhichLimb:
    def rows(self, *goals, pole="LeftForeArm", **ends):
        side = Pole(pole, [0, 0, 1], **ends)
        problem = poise.solve(REST, [*goals, side]).problem
        measure = next(m for m in problem.measures if m.goal_index == len(goals))
        names = RIG.skeleton.names
        return [names[row] for row in (*measure.limb_rows, measure.row)], problem.joints

    def test_alone_it_moves_its_limb_and_no_collar_bone(self):
        limb, joints = self.rows(tip="LeftHand")
        assert limb == ["LeftArm", "LeftForeArm", "LeftHand"]
        assert joints == ("LeftArm", "LeftForeArm")

    def test_its_line_begins_at_the_upper_arm_whatever_moves_above(self):
        limb, joints = self.rows(Position("LeftHand", [0.4, 1.2, 0.3], root="Spine"), tip="LeftHand")
        assert limb == ["LeftArm", "LeftForeArm", "LeftHand"]
        assert joints[0] == "Spine"

    def test_a_root_of_its_own_counts(self):
        limb, joints = self.rows(
            Position("LeftHand", [0.4, 1.2, 0.3], root="LeftArm"), tip="LeftHand", root="LeftShoulder"
        )
        assert limb == ["LeftShoulder", "LeftForeArm", "LeftHand"]
        assert joints == ("LeftShoulder", "LeftArm", "LeftForeArm")

    def test_a_hand_that_turns_by_itself_adds_no_joint_above(self):
        hand = Position("LeftHand", [0.4, 1.2, 0.3], root="LeftArm")
        turned = poise.Orientation("LeftHand", [1.0, 0, 0, 0], root="LeftHand")
        assert self.rows(hand, turned, tip="LeftHand")[1] == ("LeftArm", "LeftForeArm", "LeftHand")

    def test_a_goal_below_the_tip_shares_its_chain(self):
        end = RIG.skeleton.names[RIG.skeleton.children[RIG.skeleton.index("LeftHand")][0]]
        limb, joints = self.rows(Position(end, [0.4, 1.2, 0.3], root="LeftArm"), tip="LeftHand")
        assert limb == ["LeftArm", "LeftForeArm", "LeftHand"]
        assert joints == ("LeftArm", "LeftForeArm", "LeftHand")

    def test_a_chain_that_begins_at_the_elbow_has_no_side(self):
        goals = [
            Position("LeftHand", [0.4, 1.2, 0.3], root="LeftForeArm"),
            Pole("LeftForeArm", [0, 0, 1], tip="LeftHand"),
        ]
        with pytest.raises(poise.InputError, match="is not between the first joint, 'LeftForeArm'"):
            poise.solve(REST, goals)

    def test_a_chain_without_roles_begins_where_its_goal_does(self):
        skeleton = straight_chain(4)
        start = poise.Pose(skeleton, skeleton.rest_q)
        goals = [Position("tip", [0.7, 2.2, 0.1], root="j1"), Pole("j2", [1.0, 1.0, 1.0], tip="tip")]
        result = poise.solve(start, goals)
        assert result.reached
        assert result.joints == ("j1", "j2", "j3")
        assert degrees_off(result.pose, ("j1", "j2", "tip"), goals[1].target) < CLEAR

    def test_a_pole_that_counts_keeps_the_chain_of_an_optional_goal(self):
        skeleton = straight_chain(4)
        start = poise.Pose(skeleton, skeleton.rest_q).replace({"j2": [0.9, 0.2, 0.1, 0.3]})
        goals = [Position("tip", [9.0, 9.0, 0.1], root="j1", optional=True), Pole("j2", [1.0, 1.0, 1.0], tip="tip")]
        result = poise.solve(start, goals)
        np.testing.assert_array_equal(result.pose.q[skeleton.q_slice("j0")], start.q[skeleton.q_slice("j0")])
        assert degrees_off(result.pose, ("j1", "j2", "tip"), goals[1].target) < CLEAR


def test_two_bone_with_the_elbow_named_turns_the_upper_arm():
    limb, targets, poles = task("LeftHand")
    goals = [Position("LeftHand", targets), Pole(limb[1], poles, tip="LeftHand")]
    result = poise.solve(REST, goals, solver=poise.TwoBone(mid="LeftForeArm"))
    assert result.reached.all()
    assert joints_that_moved(REST, result.pose) <= set(limb[:2])


@pytest.mark.parametrize("row", [-1, 10**6])
def test_a_row_of_the_chain_elsewhere_is_named(row):
    rig = poise.load(samples.path("humanoid.glb"))
    with pytest.raises(poise.InputError, match=f"row {row} does not"):
        Pole("LeftForeArm", [0, 0, 1]).limb(rig.skeleton, [row])
