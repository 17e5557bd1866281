"""The roll of a hand: shared between wrist, forearm and upper arm, and no hand moves for it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import poise
from poise.maths import rotations
from poise.problem.problem import Problem
from poise.solvers.natural.stages import find_stages
from tests.model.roll_bone_figures import FIGURE, figure_with_rolls, rest_of
from tests.model.transformed_rigs import UPS

FIGURES = {
    "plain": {},
    "other rest": {"seed": 5, "scale": 100.0, "up": "z"},
    "roll bone": {"forearm": (0.5,)},
    "roll bones": {"upper_arm": (0.4, 0.8), "forearm": (0.25, 0.75), "seed": 6},
    "leaves": {"leaves": (0.3, 0.8), "seed": 7},
    "askew": {"forearm": (0.5,), "aside": 0.02, "scale": 0.01},
}
SKELETONS = {name: figure_with_rolls(**options) for name, options in FIGURES.items()}
TURNS = (45.0, 80.0, 120.0, 170.0)


def list_shares(turn, wrist_share=0.5):
    """What wrist, forearm and upper arm take of a turn, in degrees."""
    wrist = np.clip(wrist_share * turn, -45.0, 45.0)
    upper = np.sign(turn) * max(abs(turn) - 90.0, 0.0) / 2.0
    return wrist, turn - wrist - upper, upper


class Arm:
    """An arm whose hand is at a place, and is to be turned about its forearm."""

    def __init__(self, skeleton, side="Left", up="y", way=(0.1, -0.2, 0.6)):
        self.skeleton, self.side, self.start = skeleton, side, rest_of(skeleton)
        self.upper, self.elbow, self.hand = f"{side}Arm", f"{side}ForeArm", f"{side}Hand"
        world = self.start.world
        shoulder = world[self.upper].positions
        self.length = float(np.linalg.norm(world[self.hand].positions - shoulder))
        mirror = np.array([1.0 if side == "Left" else -1.0, 1.0, 1.0])
        self.target = shoulder + rotations.rotate(UPS[up], mirror * way) * self.length
        self.base = poise.solve(self.start, poise.Position(self.hand, self.target)).pose
        self.line = self.find_line(self.base)

    def find_line(self, pose):
        way = pose.world[self.hand].positions - pose.world[self.elbow].positions
        return way / np.linalg.norm(way)

    def place(self, turn):
        """The goal of the hand turned by an angle in degrees, or by several."""
        about = rotations.about(self.line, np.radians(turn))
        return poise.Place(self.hand, self.target, rotations.multiply(about, self.base.world[self.hand].rotations))

    def measure(self, pose, joint):
        """By what a joint is turned about its bone against the pose before, in degrees, and off that line."""
        columns = self.skeleton.q_slice(joint)
        turn = rotations.multiply(rotations.inverse(self.base.q[columns]), pose.q[..., columns])
        vector = np.degrees(rotations.as_vector(turn))
        world = self.base.world
        end = self.hand if joint != self.upper and "ArmRoll" not in joint.replace("ForeArm", "") else self.elbow
        start = self.elbow if joint == self.hand else joint
        line = world[end].positions - world[start].positions
        line = rotations.rotate(rotations.inverse(world[joint].rotations), line / np.linalg.norm(line))
        angle = vector @ line
        return angle, np.linalg.norm(vector - angle[..., None] * line, axis=-1)


def arm_of(name, **options):
    return Arm(SKELETONS[name], up=FIGURES[name].get("up", "y"), **options)


class TestShares:
    @pytest.mark.parametrize("turn", [*TURNS, *[-turn for turn in TURNS]])
    @pytest.mark.parametrize("side", ["Left", "Right"])
    @pytest.mark.parametrize("name", ["plain", "other rest", "leaves"])
    def test_wrist_forearm_and_upper_arm_share_a_turn(self, name, side, turn):
        arm = arm_of(name, side=side)
        result = poise.solve(arm.start, arm.place(turn))
        assert result.reached
        wrist, forearm, upper = list_shares(turn)
        angle, off = arm.measure(result.pose, arm.hand)
        assert (angle, off) == (pytest.approx(wrist, abs=1e-9), pytest.approx(0.0, abs=1e-9))
        angle, off = arm.measure(result.pose, arm.upper)
        assert (angle, off) == (pytest.approx(upper, abs=1e-9), pytest.approx(0.0, abs=1e-9))
        world, before = (pose.world[arm.elbow].rotations for pose in (result.pose, arm.base))
        rolled = rotations.multiply(world, rotations.inverse(before))  # the forearm goes with the upper arm
        assert np.degrees(rotations.twist_angle(rolled, arm.line)) == pytest.approx(forearm + upper, abs=1e-9)
        assert abs(wrist) <= 45.0

    @pytest.mark.parametrize("turn", TURNS)
    @pytest.mark.parametrize("name", SKELETONS)
    def test_hand_and_elbow_stay_where_they_are(self, name, turn):
        arm = arm_of(name)
        goal = arm.place(turn)
        result = poise.solve(arm.start, goal)
        world, bits = result.pose.world, 1e-12 * arm.length
        assert np.abs(world[arm.hand].positions - arm.target).max() < 1e-12 + bits
        wanted = np.array(goal.rotation)
        assert np.abs(world[arm.hand].rotations * np.sign(wanted @ world[arm.hand].rotations) - wanted).max() < 1e-12
        assert np.abs(world[arm.elbow].positions - arm.base.world[arm.elbow].positions).max() < 1e-12 + bits

    @pytest.mark.parametrize("turn", [*TURNS, -100.0])
    def test_roll_bones_take_their_part_along_the_line(self, turn):
        arm = arm_of("roll bones")
        pose = poise.solve(arm.start, arm.place(turn)).pose
        wrist, forearm, upper = list_shares(turn, 0.25)
        expected = {
            "ForeArmRoll0": forearm / 3, "ForeArmRoll1": 2 * forearm / 3, "Hand": wrist,
            "ArmRoll0": upper / 2, "ArmRoll1": upper / 2, "Arm": 0.0,
        }  # fmt: skip
        for name, share in expected.items():
            angle, off = arm.measure(pose, f"Left{name}")
            assert (angle, off) == (pytest.approx(share, abs=1e-9), pytest.approx(0.0, abs=1e-9)), name

    def test_leaves_take_the_wrist_s_part_where_they_stand(self):
        arm = arm_of("leaves")
        for turn in TURNS:
            pose = poise.solve(arm.start, arm.place(turn)).pose
            for number, fraction in enumerate((0.3, 0.8)):
                angle, off = arm.measure(pose, f"LeftForeArmTwist{number}")
                assert angle == pytest.approx(fraction * list_shares(turn)[0], abs=1e-9)
                assert off == pytest.approx(0.0, abs=1e-9)

    def test_sides_mirror_each_other(self):
        left, right = (Arm(SKELETONS["roll bone"], side) for side in ("Left", "Right"))
        for turn in TURNS:
            poses = poise.solve(left.start, left.place(turn)).pose, poise.solve(right.start, right.place(-turn)).pose
            for part in ("Arm", "ForeArm", "ForeArmRoll0", "Hand"):
                w, x, y, z = poses[0].q[left.skeleton.q_slice(f"Left{part}")]
                mirrored = np.array([w, x, -y, -z])
                own = poses[1].q[right.skeleton.q_slice(f"Right{part}")]
                assert abs(own @ mirrored) == pytest.approx(1.0, abs=1e-12)

    def test_one_row_of_a_batch_is_the_same_alone(self):
        for name in SKELETONS:
            arm = arm_of(name)
            turns = np.linspace(-175.0, 175.0, 15)
            together = poise.solve(arm.start, arm.place(turns))
            alone = np.array([poise.solve(arm.start, arm.place(turn)).q for turn in turns])
            assert np.array_equal(together.q, alone)

    def test_other_verbs_say_the_same(self):
        arm = arm_of("roll bone")
        goal, expected = arm.place(120.0), poise.solve(arm.start, arm.place(120.0)).q
        assert np.array_equal(poise.prepare(arm.start, arm.place(0.0))(goal).q, expected)
        tracker = poise.Tracker(arm.start, arm.place(0.0))
        assert np.allclose(tracker(goal, dt=1 / 60).pose.q, expected, atol=1e-9)

    def test_poses_with_translations_of_their_own(self):
        walk = poise.load(poise.sample("humanoid.glb")).clips[0].poses[3]
        skeleton = walk.skeleton.with_limits(dict.fromkeys(("LeftForeArm", "RightForeArm"), None))
        start = poise.Pose(skeleton, walk.q, walk.translations * 1.02)
        hand = start.world["LeftHand"]
        way = hand.positions - start.world["LeftForeArm"].positions
        wanted = rotations.multiply(rotations.about(way / np.linalg.norm(way), np.radians(120.0)), hand.rotations)
        result = poise.solve(start, poise.Place("LeftHand", hand.positions + 1e-3, wanted))
        world = result.pose.world["LeftHand"]
        assert result.reached
        assert np.abs(world.positions - hand.positions - 1e-3).max() < 1e-9
        assert np.degrees(2 * np.arccos(abs(result.q[skeleton.q_slice("LeftHand")][0]))) < 60.0


class TestContinuity:
    @pytest.mark.parametrize("name", SKELETONS)
    def test_a_turn_that_goes_on_is_followed(self, name):
        arm = arm_of(name)
        turns = np.linspace(-179.0, 179.0, 359)
        q = poise.solve(arm.start, arm.place(turns)).q
        steps = np.abs(np.diff(q.reshape(len(turns), -1, 4), axis=0)).sum(axis=-1)
        assert np.degrees(steps.max()) < 1.5  # a turn of one degree changes a quaternion by half of that

    @pytest.mark.parametrize("name", ["plain", "roll bone"])
    def test_a_tracker_follows_beyond_half_a_turn_and_back(self, name):
        arm = arm_of(name)
        tracker = poise.Tracker(arm.start, arm.place(0.0))
        turns = np.concatenate([np.arange(0.0, 220.0, 2.0), np.arange(220.0, -2.0, -2.0)])
        poses = [tracker(arm.place(turn), dt=1 / 60).pose.q for turn in turns]
        steps = np.abs(np.diff(np.array(poses).reshape(len(turns), -1, 4), axis=0)).sum(axis=-1)
        assert np.degrees(steps.max()) < 4.0
        assert np.allclose(poses[-1], arm.base.q, atol=1e-6)

    @given(st.floats(-170.0, 170.0), st.floats(-170.0, 170.0))
    def test_the_way_there_does_not_count(self, first, second):
        arm = arm_of("roll bone")
        if abs(second - first) > 179.0:
            return
        there = poise.solve(arm.start, arm.place(first)).pose
        onward, direct = (poise.solve(start, arm.place(second)).q.reshape(-1, 4) for start in (there, arm.start))
        assert np.abs((onward * direct).sum(axis=-1)).min() > 1.0 - 1e-9  # or met at the start

    def test_a_start_that_is_there_stays(self):
        arm = arm_of("plain")
        wrist = rotations.about(np.array([1.0, 0.0, 0.0]), 1.4)
        start = arm.base.replace({arm.hand: wrist})
        world = start.world[arm.hand]
        result = poise.solve(start, poise.Place(arm.hand, world.positions, world.rotations))
        assert np.array_equal(result.q, start.q)

    def test_a_wrist_that_is_turned_further_comes_no_further(self):
        arm = arm_of("plain")
        for own in (-70.0, 70.0):
            start = arm.base.replace({arm.hand: rotations.about(np.array([1.0, 0.0, 0.0]), np.radians(own))})
            for turn in (-100.0, -20.0, 20.0, 100.0):
                result = poise.solve(start, arm.place(own + turn))
                assert abs(arm.measure(result.pose, arm.hand)[0]) <= 70.0 + 1e-6


class TestWhereNothingIsShared:
    def find_rolls(self, skeleton, *goals):
        start = rest_of(skeleton)
        place = poise.Place("LeftHand", start.world["LeftHand"].positions, (1, 0, 0, 0))
        return [stage.roll for stage in find_stages(Problem(start, goals or (place,))) if stage.roll is not None]

    def test_limits_of_elbow_or_wrist_forbid_it(self):
        skeleton = SKELETONS["plain"]
        assert len(self.find_rolls(skeleton)) == 1
        box = poise.EulerBox("XYZ")
        for joint in ("LeftForeArm", "LeftHand"):
            assert not self.find_rolls(skeleton.with_limits({joint: box}))
        (roll,) = self.find_rolls(skeleton.with_limits({"LeftArm": box}))
        assert not roll.arm[2]
        limited = skeleton.with_limits({"LeftArm": box})
        arm = Arm(limited)
        pose = poise.solve(arm.start, arm.place(120.0)).pose
        assert arm.measure(pose, arm.hand)[0] == pytest.approx(45.0, abs=0.5)

    def test_goals_without_a_rotation_and_held_joints_are_left_alone(self):
        skeleton = SKELETONS["plain"]
        place = poise.Place("LeftHand", (0.4, 1.2, 0.3), (1, 0, 0, 0))
        assert not self.find_rolls(skeleton, poise.Position("LeftHand", (0.4, 1.2, 0.3)))
        assert not self.find_rolls(skeleton, poise.Place("LeftFoot", (0.1, 0.2, 0.3), (1, 0, 0, 0)))
        assert not self.find_rolls(skeleton, place, poise.Near(rest_of(skeleton), joints={"LeftHand": 1.0}))

    def test_an_elbow_that_is_a_hinge_swivels_instead(self):
        skeleton = FIGURE.skeleton
        arm = Arm(skeleton)
        for turn in (-80.0, -50.0, 40.0, 80.0):
            result = poise.solve(arm.start, arm.place(turn))
            wrist, _ = arm.measure(result.pose, arm.hand)
            assert result.reached
            assert abs(wrist) <= 46.0
            assert not skeleton.legal(result.q)[1]
            moved = result.pose.world[arm.elbow].positions - arm.base.world[arm.elbow].positions
            assert (np.linalg.norm(moved) > 1e-3) == (abs(turn) > 45.0)


def test_the_rounding_of_a_file_in_single_precision_is_no_shear():
    """A character of kaykit has frames that are rotations but for 1.3e-6."""
    skeleton = SKELETONS["plain"]
    after = skeleton.B.copy()
    after[skeleton.index("LeftForeArm"), 0, 1] += 2e-6
    rounded = Arm(dataclasses.replace(skeleton, B=after))
    stages = find_stages(Problem(rounded.start, (rounded.place(80.0),), free_root=False))
    assert any(stage.roll is not None for stage in stages)
