"""Free limbs and heads: what no goal speaks of keeps its direction in the world, as far as people can."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import poise
from poise.io import samples
from poise.maths import rotations
from poise.model.skeleton import Skeleton
from poise.problem.problem import Problem
from poise.solvers.natural.free_limbs import find_parts, keep_directions
from tests.model.transformed_rigs import in_another_guise

FORWARD, UP, LEFT = np.eye(3)[[2, 1, 0]]  # of the sample figure
FIGURE = poise.load(samples.path("humanoid.glb"))
POINTS = FIGURE.rest.world.positions
ARMS = {side: POINTS[FIGURE.skeleton.index(f"{side}Arm")] for side in ("Left", "Right")}
HANGING = poise.solve(
    FIGURE.rest, [poise.Position(f"{side}Hand", at - 0.5 * UP) for side, at in ARMS.items()]
).pose  # fmt: skip
FEET = [poise.Pin("LeftFoot"), poise.Pin("RightFoot")]
FLOOR = FIGURE.rest.world["LeftFoot"].positions + 0.1 * LEFT + 0.2 * FORWARD


def turn_hips(start, turns, *goals, **options):
    """The figure with its hips turned in the world by rotations (..., 4)."""
    hips = start.world["Hips"]
    place = poise.Place("Hips", np.broadcast_to(hips.positions, (*turns.shape[:-1], 3)), turn_by(turns, hips.rotations))
    return poise.solve(start, [place, *goals], free_root=True, **options)


def turn_by(turns, own):
    return rotations.multiply(turns, np.broadcast_to(own, turns.shape))


def degrees_between(a, b):
    """Angles between vectors (..., 3)."""
    sine = np.linalg.norm(np.cross(a, b), axis=-1)
    return np.degrees(np.arctan2(sine, (a * b).sum(axis=-1)))


def bone(pose, first, end):
    return pose.world[end].positions - pose.world[first].positions


def gaze(pose, joint="Head"):
    """Where a joint looks that looks ahead at rest."""
    own = FIGURE.rest.world[joint].rotations
    return rotations.rotate(pose.world[joint].rotations, rotations.rotate(rotations.inverse(own), FORWARD))


class TestArms:
    @pytest.mark.parametrize("degrees", [10, 45, 80, 110])
    def test_an_arm_that_hung_hangs_over_a_bow(self, degrees):
        bowed = turn_hips(HANGING, rotations.about(LEFT, np.radians(degrees))).pose
        for side in ARMS:
            before, after = (bone(pose, f"{side}Arm", f"{side}Hand") for pose in (HANGING, bowed))
            assert degrees_between(before, after) < 25
        carried = turn_hips(HANGING, rotations.about(LEFT, np.radians(degrees)), natural=False).pose
        assert degrees_between(bone(carried, "LeftArm", "LeftHand"), -UP) > degrees - 5

    def test_a_hand_on_the_floor_leaves_the_other_arm_hanging(self):
        result = poise.solve(HANGING, [*FEET, poise.Position("LeftHand", FLOOR)], free_root=True)
        assert result.reached
        assert degrees_between(bone(result.pose, "RightArm", "RightHand"), -UP) < 25

    def test_one_held_out_stays_out(self):
        """Arms level aside, as the figure is built, and the trunk leaned to one side and ahead."""
        for axis in (FORWARD, -FORWARD, LEFT):
            leaned = turn_hips(FIGURE.rest, rotations.about(axis, 0.6)).pose
            assert degrees_between(bone(leaned, "LeftArm", "LeftHand"), bone(FIGURE.rest, "LeftArm", "LeftHand")) < 1

    def test_elbow_and_hand_go_along(self):
        bowed = turn_hips(HANGING, rotations.about(LEFT, 1.0)).pose
        for joint in ("LeftForeArm", "LeftHand"):
            columns = bowed.skeleton.q_slice(joint)
            np.testing.assert_array_equal(bowed.q[columns], HANGING.on(bowed.skeleton).q[columns])

    def test_an_arm_stays_out_of_the_trunk(self):
        """Leaned far aside, the lower arm would hang through the hips; it ends where arms adduct no further."""
        for degrees in (70, -70):
            lean = rotations.about(FORWARD, np.radians(degrees))
            leaned = turn_hips(HANGING, lean).pose
            for side, outward in (("Left", LEFT), ("Right", -LEFT)):
                own = rotations.rotate(rotations.inverse(lean), bone(leaned, f"{side}Arm", f"{side}ForeArm"))
                centre = degrees_between(own, FORWARD + outward)
                assert centre < np.degrees(np.arccos(-np.sin(np.radians(30)) / np.sqrt(2))) + 1e-6


class TestHeads:
    @pytest.mark.parametrize("degrees", [5, 20, 35])
    def test_a_head_goes_on_looking_ahead(self, degrees):
        bowed = turn_hips(HANGING, rotations.about(LEFT, np.radians(degrees))).pose
        assert degrees_between(gaze(bowed), FORWARD) < 1e-6
        assert degrees_between(gaze(bowed, "Neck"), FORWARD) == pytest.approx(degrees / 2)  # neck and head share it

    def test_not_further_than_necks_bend(self):
        for axis in (LEFT, -LEFT, FORWARD):
            bowed = turn_hips(HANGING, rotations.about(axis, np.radians(100))).pose
            own = rotations.multiply(rotations.inverse(bowed.world["Chest"].rotations), bowed.world["Head"].rotations)
            assert np.degrees(np.linalg.norm(rotations.as_vector(own))) == pytest.approx(45, abs=0.5)


class TestLegs:
    def test_a_free_leg_hangs_beside_the_one_that_stands(self):
        tilted = turn_hips(FIGURE.rest, rotations.about(LEFT, 0.5), poise.Pin("LeftFoot")).pose
        before, after = (bone(pose, "RightUpLeg", "RightFoot") for pose in (FIGURE.rest, tilted))
        assert degrees_between(before, after) < 1

    def test_hips_end_where_those_of_people_do(self):
        """Leaned back, a hip extends by 30 degrees."""
        tilted = turn_hips(FIGURE.rest, rotations.about(LEFT, np.radians(-70))).pose
        down = rotations.rotate(rotations.about(LEFT, np.radians(-70)), -UP)
        assert degrees_between(bone(tilted, "RightUpLeg", "RightLeg"), down) == pytest.approx(30, abs=3)


def test_a_turn_about_the_vertical_stays_with_the_body():
    turned = turn_hips(HANGING, rotations.about(UP, 1.2)).pose
    own = np.arange(7, turned.skeleton.nq)  # all but the hips
    np.testing.assert_allclose(turned.q[own], HANGING.on(turned.skeleton).q[own], rtol=0, atol=1e-7)
    both = rotations.multiply(rotations.about(LEFT, 0.4), rotations.about(UP, 1.2))
    np.testing.assert_allclose(
        gaze(turn_hips(HANGING, both).pose), rotations.rotate(rotations.about(UP, 1.2), FORWARD), atol=1e-6
    )


def test_what_goals_speak_of_is_left_alone():
    tilt = rotations.about(LEFT, 0.7)
    hips = turn_hips(HANGING, tilt).pose
    for goal, joint in (
        (poise.Direction("LeftHand", FORWARD, root="LeftForeArm"), "LeftArm"),
        (poise.Near(HANGING, joints=["LeftArm"]), "LeftArm"),
        (poise.LookAt("Head", 5 * UP), "Neck"),
    ):
        result = turn_hips(HANGING, tilt, goal)
        columns = hips.skeleton.q_slice(joint)
        assert result.natural
        assert np.abs(result.pose.q[columns] - hips.q[columns]).max() > 0.01
        if joint == "LeftArm":
            np.testing.assert_array_equal(result.pose.q[columns], HANGING.on(hips.skeleton).q[columns])
    other = hips.skeleton.q_slice("RightArm")
    np.testing.assert_allclose(
        turn_hips(HANGING, tilt, poise.Direction("LeftHand", FORWARD, root="LeftArm")).pose.q[other],
        hips.q[other],
        atol=1e-7,
    )


def test_limits_are_kept():
    limited = HANGING.skeleton.with_limits(
        {"LeftArm": poise.SwingTwist([1, 0, 0], 1.2), "Neck": poise.SwingTwist([0, 1, 0], 0.1)}
    )
    start = poise.Pose(limited, limited.legal(HANGING.q)[0])
    result = turn_hips(start, rotations.about(LEFT, np.linspace(0, 3, 12)))
    assert np.all(result.violation <= 1e-9)


@settings(max_examples=15, deadline=None)
@given(axis=st.tuples(*[st.floats(-1, 1)] * 3).filter(lambda v: np.linalg.norm(v) > 0.1), yaw=st.floats(-3, 3))
def test_it_is_continuous_in_the_pose_of_the_body(axis, yaw):
    """From upright to upside down and on, in steps of a tenth of a degree: no arm, leg or head leaps."""
    axis = np.array(axis) / np.linalg.norm(axis)
    way = rotations.about(axis, np.radians(np.arange(0, 360, 0.1)))
    pose = turn_hips(HANGING, rotations.multiply(way, rotations.about(UP, np.array(yaw)))).pose
    for joint in ("LeftArm", "RightArm", "Head", "LeftUpLeg"):
        own = pose.world[joint].rotations
        steps = rotations.as_vector(rotations.multiply(own[1:], rotations.inverse(own[:-1])))
        assert np.degrees(np.linalg.norm(steps, axis=-1)).max() < 2


def test_single_calls_and_batches_give_the_same_bits():
    turns = rotations.about(np.array([0.6, 0.0, 0.8]), np.linspace(-3, 3, 19))
    batch = turn_hips(HANGING, turns)
    singles = [turn_hips(HANGING, turn).pose.q for turn in turns]
    np.testing.assert_array_equal(batch.pose.q, singles)


class TestFramesInARow:
    def test_a_tracker_comes_back_to_its_first_pose(self):
        """Hips that tilt round in a circle: directions are those of the first pose, not of the frame before."""
        hips = HANGING.world["Hips"]
        tracker = poise.Tracker(HANGING, poise.Place("Hips", hips.positions, hips.rotations), free_root=True)
        for angle in np.linspace(0, 6 * np.pi, 90):
            tilt = rotations.about(np.array([np.cos(angle), 0.0, np.sin(angle)]), np.array(0.5))
            shown = tracker((hips.positions, rotations.multiply(tilt, hips.rotations)), 1 / 30).pose
            assert degrees_between(gaze(shown), FORWARD) < 1e-4
        end = tracker((hips.positions, hips.rotations), 1 / 30).pose
        np.testing.assert_allclose(end.world.positions, HANGING.world.positions, atol=1e-3)

    def test_baked_frames_keep_the_directions_of_the_clip(self):
        """Hips that tilt; beside a jump that is spread, frames begin a little off."""
        free = HANGING.on(HANGING.skeleton.with_free_root())
        still = poise.Clip.at_rate(poise.Pose(free.skeleton, np.tile(free.q, (40, 1))), 30, "still")
        hips, turns = free.world["Hips"], rotations.about(LEFT, 0.6 * np.abs(np.sin(np.linspace(0, 6, 40))))
        place = poise.Place("Hips", np.tile(hips.positions, (40, 1)), turn_by(turns, hips.rotations))
        out = poise.Position("LeftHand", np.tile(HANGING.world["LeftHand"].positions + 0.3 * FORWARD, (40, 1)))
        for continuous in (True, False):
            poses = poise.bake(still, [place, out], free_root=True, continuous=continuous).poses
            off = degrees_between(bone(poses, "RightArm", "RightHand"), -UP)
            assert off.max() < 5
            assert np.median(off) < 1e-3

    def test_a_frame_solved_again_has_its_own_frame_of_the_clip(self):
        """A start that is an answer already: directions are those of the origin."""
        tilted, origin = (
            turn_hips(HANGING, rotations.about(LEFT, 0.5)).pose,
            HANGING.on(FIGURE.skeleton.with_free_root()),
        )
        hips = origin.world["Hips"]
        place = poise.Place("Hips", hips.positions, turn_by(rotations.about(LEFT, np.array(0.9)), hips.rotations))
        problem = Problem(tilted, (place,), free_root=True).with_origin(origin)
        q = poise.solve(tilted, place, free_root=True).pose.flat_q
        held = poise.Pose(tilted.skeleton, keep_directions(problem, q)[0])
        for side in ARMS:
            assert degrees_between(bone(held, f"{side}Arm", f"{side}Hand"), -UP) < 1e-3


@pytest.mark.parametrize("guise", [{"scale": 100.0}, {"up": "z"}, {"seed": 8}])
def test_rolled_bones_other_units_and_axes(guise):
    skeleton = in_another_guise(FIGURE, **guise)
    names = dict(zip(FIGURE.skeleton.names, skeleton.names, strict=True))
    parts = [_describe(one) for one in (FIGURE.skeleton, skeleton)]
    assert [{**part, "joints": [names[name] for name in part["joints"]]} for part in parts[0]] == parts[1]


def _describe(skeleton: Skeleton):
    """The joints and ranges of all parts; a range is the same in every frame."""
    return [
        {"joints": [skeleton.names[row] for row in part.joints], "ends": part.numbers[9:].tolist()}
        for part in find_parts(skeleton)
    ]


def test_figures_without_a_neck_and_robots():
    assert len(find_parts(FIGURE.skeleton)) == 5
    assert find_parts(poise.load(samples.path("arm.urdf")).skeleton) == ()
