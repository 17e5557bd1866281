"""Whole figures that crouch, and rigs that are built a little wrong: knees, trunks and roots as people have them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import poise
from poise.io import samples
from poise.maths import rotations
from poise.solvers.natural.limbs import find_limbs, shows_its_side
from poise.solvers.natural.natural import find_limb_columns
from poise.solvers.natural.surroundings import measure_radius, place_capsules
from tests.model.transformed_rigs import in_another_guise

FORWARD, UP, LEFT = np.eye(3)[[2, 1, 0]]  # of the sample figure
FIGURE = poise.load(samples.path("humanoid.glb"))
FEET = ("LeftFoot", "RightFoot")


def built(moved=None, *, under=False):
    """The sample with joints in other places at rest (name -> shift), perhaps under one more ball on the floor."""
    s, points = FIGURE.skeleton, FIGURE.rest.world.positions.copy()
    for name, shift in (moved or {}).items():
        points[s.index(name)] += shift
    names, parents = list(s.names), s.parents.tolist()
    kinds = [poise.Kind.FIXED if kind == poise.Kind.FIXED else poise.Kind.BALL for kind in s.kinds]
    if under:
        names, kinds, points = ["floor", *names], [poise.Kind.BALL, *kinds], np.concatenate([[[0.0] * 3], points])
        parents = [-1, *(parent + 1 for parent in parents)]
    offsets = [points[row] - (points[parent] if parent >= 0 else 0.0) for row, parent in enumerate(parents)]
    skeleton = poise.Skeleton.build(names, parents, kinds, offsets=np.array(offsets), up="y")
    return poise.Pose(skeleton, skeleton.rest_q)


def knees(amount):
    """Shifts of both knees."""
    return {"LeftLeg": np.asarray(amount), "RightLeg": np.asarray(amount) * [-1, 1, 1]}


def bulge(pose, first, middle, tip):
    """How the middle joint stands off the line from the first to the tip (..., 3)."""
    a, b, c = (pose.world[name].positions for name in (first, middle, tip))
    along = (c - a) / np.linalg.norm(c - a, axis=-1, keepdims=True)
    return (b - a) - along * ((b - a) * along).sum(axis=-1, keepdims=True)


def astray(pose, side):
    """How far a knee points from straight ahead, seen from above [degrees]."""
    out = bulge(pose, f"{side}UpLeg", f"{side}Leg", f"{side}Foot")
    return np.degrees(np.arctan2(np.abs(out @ LEFT), out @ FORWARD))


def trunk(pose):
    """The direction from the hips to the shoulders."""
    a, b = (
        (pose.world[f"Left{name}"].positions + pose.world[f"Right{name}"].positions) / 2 for name in ("UpLeg", "Arm")
    )
    return (b - a) / np.linalg.norm(b - a)


def squat(start, depth=0.3):
    """Both feet held, the hips lower."""
    down = start.world["Hips"].positions - depth * UP
    return poise.solve(start, [*(poise.Pin(foot) for foot in FEET), poise.Position("Hips", down)], free_root=True)


class TestTheFloor:
    beside = FIGURE.rest.world["LeftFoot"].positions + 0.17 * LEFT

    def goals(self, *shifts):
        places = np.array([self.beside + np.asarray(shift) for shift in shifts])
        return [*(poise.Pin(foot) for foot in FEET), poise.Position("LeftHand", places)]

    def test_a_hand_beside_the_foot_bends_the_trunk_ahead_and_not_aside(self):
        result = poise.solve(FIGURE.rest, self.goals([0, 0, 0]), free_root=True)
        assert result.reached.all()
        assert result.natural
        found = trunk(result.pose[0])
        assert found @ FORWARD > 0.8
        assert abs(found @ LEFT) < np.sin(np.radians(20))
        for side in ("Left", "Right"):
            assert bulge(result.pose[0], f"{side}UpLeg", f"{side}Leg", f"{side}Foot") @ FORWARD > 0.1
            assert astray(result.pose[0], side) < 20

    def test_hips_go_down_and_back(self):
        hips, before = (
            pose.world["Hips"].positions
            for pose in (poise.solve(FIGURE.rest, self.goals([0, 0, 0]), free_root=True).pose[0], FIGURE.rest)
        )
        assert (before - hips) @ UP > 0.25
        assert (before - hips) @ FORWARD > 0.05

    def test_one_is_as_many(self):
        shifts = np.random.default_rng(5).uniform(-0.1, 0.5, (40, 3))
        many = poise.solve(FIGURE.rest, self.goals(*shifts), free_root=True)
        assert many.reached.all()
        for k in range(0, 40, 7):
            one = poise.solve(FIGURE.rest, self.goals(shifts[k]), free_root=True)
            assert one.q[0].tobytes() == many.q[k].tobytes()

    def test_targets_that_rise_leave_the_pose_where_it_was(self):
        """From the floor to above the hips the pose goes without a leap."""
        shifts = np.linspace(0.0, 0.9, 181)[:, None] * UP + 0.35 * LEFT
        poses = poise.solve(FIGURE.rest, self.goals(*shifts), free_root=True).pose
        steps = np.linalg.norm(np.diff(poses.world["Neck"].positions, axis=0), axis=1)
        assert steps.max() < 0.03

    @pytest.mark.parametrize("both", [False, True])
    def test_in_another_guise(self, both):
        skeleton = in_another_guise(FIGURE, up="z", scale=100.0)
        start = poise.Pose(skeleton, skeleton.rest_q)
        sides = ("Left", "Right") if both else ("Left",)
        goals = [*(poise.Pin(foot) for foot in FEET)]
        for side in sides:
            foot = start.world[f"{side}Foot"].positions
            goals.append(poise.Position(f"{side}Hand", foot + 17.0 * (1 if side == "Left" else -1) * np.eye(3)[0]))
        result = poise.solve(start, goals, free_root=True)
        assert result.reached
        plain = [poise.Pin(foot) for foot in FEET]
        for side in sides:
            foot = FIGURE.rest.world[f"{side}Foot"].positions
            plain.append(poise.Position(f"{side}Hand", foot + 0.17 * (1 if side == "Left" else -1) * LEFT))
        ahead = trunk(poise.solve(FIGURE.rest, plain, free_root=True).pose)
        assert ahead @ FORWARD > 0.75
        np.testing.assert_allclose(trunk(result.pose), ahead[[0, 2, 1]] * [1, -1, 1], atol=1e-3)


class TestHigh:
    """What is high is reached by an arm that is stretched and a trunk that leans; crouching would take it away."""

    shoulder = FIGURE.rest.world["LeftArm"].positions
    arm = float(np.linalg.norm(shoulder - FIGURE.rest.world["LeftHand"].positions))

    def reached(self, *ways, hands=("LeftHand",)):
        """Feet held and hands brought so many arm's lengths from the left shoulder."""
        places = self.shoulder + self.arm * np.array(ways)
        goals = [*(poise.Pin(foot) for foot in FEET), *(poise.Position(hand, places) for hand in hands)]
        return poise.solve(FIGURE.rest, goals, free_root=True)

    @pytest.mark.parametrize("way", [[0.1, 1.05, 0.1], [0.0, 0.8, 0.72], [-0.4, 0.98, 0.0]])
    def test_no_body_crouches(self, way):
        result = self.reached(way)
        assert result.reached.all()
        pose = result.pose[0]
        assert (FIGURE.rest.world["Hips"].positions - pose.world["Hips"].positions) @ UP < 0.03
        for side in ("Left", "Right"):
            assert np.linalg.norm(bulge(pose, f"{side}UpLeg", f"{side}Leg", f"{side}Foot")) < 0.14
        collar = pose.local["LeftShoulder"].rotations @ FIGURE.rest.local["LeftShoulder"].rotations
        assert abs(collar) > np.cos(np.radians(8))

    @pytest.mark.parametrize(("hands", "most"), [(("LeftHand",), 0.03), (("LeftHand", "RightHand"), 0.03)])
    def test_a_target_that_goes_away_does_not_make_it_leap(self, hands, most):
        """Out of the arm's reach, then down in front: from standing into a crouch."""
        away = np.linspace([0.0, 0.3, 0.8], [0.0, 0.3, 1.2], 121)
        down = np.linspace([0.0, 0.3, 1.2], [0.0, -1.2, 1.0], 241)
        poses = self.reached(*away, *down, hands=hands).pose
        for joint in ("Neck", "Hips"):
            assert np.linalg.norm(np.diff(poses.world[joint].positions, axis=0), axis=1).max() < most


def test_knees_that_are_hinges_bend_as_other_knees_do():
    s = FIGURE.skeleton
    kinds = [
        poise.Kind.HINGE if name.endswith("Leg") and "Up" not in name else kind
        for name, kind in zip(s.names, s.kinds, strict=True)
    ]
    axes = [(1.0, 0.0, 0.0) if kind == poise.Kind.HINGE else (0.0, 0.0, 0.0) for kind in kinds]
    skeleton = poise.Skeleton.build(
        s.names, s.parents, kinds, offsets=s.A[:, :3], rotations=s.A[:, 3:], axes=axes, up="y"
    )
    (leg,) = (limb for limb in find_limbs(skeleton) if skeleton.names[limb.tip] == "LeftFoot")
    hip, knee = skeleton.q_slice("LeftUpLeg"), skeleton.q_slice("LeftLeg")
    assert find_limb_columns(skeleton, leg).tolist() == [*range(hip.start, hip.stop), knee.start]
    result = squat(poise.Pose(skeleton, skeleton.rest_q))
    assert result.reached
    assert result.natural
    np.testing.assert_allclose(trunk(result.pose), trunk(FIGURE.rest), atol=0.2)


def test_a_joint_that_alone_turns_for_its_orientation():
    wanted = [0.9, 0.0, 0.1, 0.3]
    result = poise.solve(FIGURE.rest, poise.Orientation("LeftArm", wanted, root="LeftArm"))
    assert result.reached
    assert result.joints == ("LeftArm",)


@pytest.mark.parametrize("depth", [0.1, 0.3])
def test_limits_that_a_squat_comes_up_against_do_not_throw_the_torso_over(data, depth):
    """Of all poses that keep the limits and meet the goals that with upright hips: most of them lean by 60 degrees."""
    rest = poise.load(data / "asf" / "02.asf").rest
    leg = np.linalg.norm(rest.world["leftUpperLeg"].positions - rest.world["leftFoot"].positions)
    down = rest.world["hips"].positions - depth * leg * UP
    result = poise.solve(
        rest, [*(poise.Pin(f"{s}Foot") for s in ("left", "right")), poise.Position("hips", down)], free_root=True
    )
    assert result.reached
    assert result.natural
    assert result.violation <= 1e-9
    turned = rotations.multiply(result.pose.world["hips"].rotations, rotations.inverse(rest.world["hips"].rotations))
    assert abs(turned[0]) > np.cos(np.radians(5))


class TestRigsThatAreBuiltBent:
    @pytest.mark.parametrize("amount", [[0, 0, -0.03], [-0.012, 0, -0.03]])
    def test_knees_that_are_built_backward_bend_forward(self, amount):
        start = built(knees(amount))
        lifted = start.world["LeftFoot"].positions + np.array([[0, 0.2, 0.1], [0.1, 0.3, 0.2], [0, 0.1, -0.1]])
        result = poise.solve(start, poise.Position("LeftFoot", lifted, root="LeftUpLeg"))
        assert result.reached.all()
        assert result.natural
        assert (bulge(result.pose, "LeftUpLeg", "LeftLeg", "LeftFoot") @ FORWARD > 0).all()

    def test_knees_that_are_built_aside_follow_the_feet(self):
        result = squat(built(knees([0.025, 0, 0.0])))
        assert result.reached
        for side in ("Left", "Right"):
            assert astray(result.pose, side) < 20

    def test_a_rest_that_agrees_stays_with_two_bone(self):
        start = built(knees([0, 0, 0.02]))
        assert not poise.solve(start, poise.Position("LeftFoot", [0.1, 0.3, 0.2], root="LeftUpLeg")).natural
        assert all(shows_its_side(start.skeleton, limb) for limb in find_limbs(start.skeleton) if limb.kind == "leg")


def test_what_carries_the_hips_stays_where_it_is():
    """A joint on the floor under everything, as in game rigs: hips that are brought somewhere go there themselves."""
    start = built(under=True)
    result = squat(start)
    assert result.reached
    assert "floor" not in result.joints
    np.testing.assert_allclose(trunk(result.pose), trunk(start), atol=1e-6)
    alone = poise.solve(start, poise.Position("Hips", [0.1, 0.8, -0.4]), free_root=True, natural=False)
    assert alone.joints == ("Hips",)
    np.testing.assert_allclose(trunk(alone.pose), trunk(start), atol=1e-6)


def test_knees_follow_feet_that_are_built_pointing_outward():
    """Toes that point a little outward at rest are how people stand; far outward, and the knees go along."""
    found = {}
    for out in (0.0, 0.02, 0.12):
        start = built({"LeftToe": np.array([out, 0, 0]), "RightToe": np.array([-out, 0, 0])})
        found[out] = astray(squat(start).pose, "Left")
    assert found[0.02] == pytest.approx(found[0.0], abs=0.5)
    assert found[0.12] > found[0.0] + 5


class TestLongUpperArms:
    """An elbow above both shoulder and hand is nobody's, least of all with the hand above the other shoulder."""

    def _straight_arm(self, share):
        """A figure whose left upper arm is a share of its arm, where that hangs, and the lengths of its bones."""
        world = FIGURE.rest.world
        shoulder, elbow, hand = (world[name].positions for name in ("LeftArm", "LeftForeArm", "LeftHand"))
        start, arm = (
            built({"LeftForeArm": shoulder + share * (hand - shoulder) - elbow}),
            np.linalg.norm(hand - shoulder),
        )
        return start, shoulder, share * float(arm), (1.0 - share) * float(arm)

    @pytest.mark.parametrize("share", [0.45, 0.65])
    def test_no_elbow_is_higher_than_it_has_to_be(self, share):
        start, shoulder, upper, lower = self._straight_arm(share)
        ways = np.random.default_rng(3).normal(size=(2000, 3)) * 0.5 + [-0.3, 0.8, 0.0]
        ways /= np.linalg.norm(ways, axis=1)[:, None]
        sizes = np.random.default_rng(4).uniform(0.4, 0.99, 2000) * (upper + lower)
        rise = ways @ UP
        ahead = (upper**2 - lower**2 + sizes**2) / (2 * sizes)
        lowest = ahead * rise - np.sqrt(np.maximum(upper**2 - ahead**2, 0.0) * (1.0 - rise**2))
        possible = (lowest < np.maximum(sizes * rise, 0.0)) & (ways @ FORWARD > -0.05)  # not behind the head
        assert possible.mean() > 0.4
        hands = shoulder + ways * sizes[:, None]
        result = poise.solve(start, poise.Position("LeftHand", hands, root="LeftArm"))
        assert result.natural
        assert result.reached.all()
        high = result.pose.world["LeftForeArm"].positions @ UP
        raised = (high > np.maximum(shoulder @ UP, hands @ UP) + 1e-9) & possible
        assert raised.mean() < 0.05
        for row in np.flatnonzero(raised):  # a lower elbow would have the forearm in the head or the neck
            assert self._measure_gap(result.pose[row]) < 1e-4

    def _measure_gap(self, pose):
        """How far the forearm is from the nearest capsule of the body, less what both take up or the wrist leaves."""
        elbow, wrist = (pose.world[name].positions for name in ("LeftForeArm", "LeftHand"))
        points = elbow + np.linspace(0.0, 1.0, 2001)[:, None] * (wrist - elbow)
        gaps = []
        for capsule in place_capsules(pose)[0]:
            start, way = capsule[:3], capsule[3:6] - capsule[:3]
            share = np.clip((points - start) @ way / (way @ way), 0.0, 1.0)
            apart = np.linalg.norm(points - start - share[:, None] * way, axis=1)
            gaps.append(apart.min() - min(capsule[6] + measure_radius(pose.skeleton, "arm"), apart[-1]))
        return min(gaps)


class TestArmsThatAreBuiltBent:
    """Their rest pose says where they bend, and two_bone bends them: but no elbow goes above both shoulder and hand."""

    start = built({"LeftForeArm": [0.0, 0.0, -0.08]})
    tip, elbow = "LeftHand", "LeftForeArm"

    def places(self, count=500):
        world = self.start.world
        shoulder = world["LeftArm"].positions
        ways = np.random.default_rng(5).normal(size=(count, 3))
        sizes = np.random.default_rng(6).uniform(0.4, 0.9, (count, 1)) * np.linalg.norm(
            world[self.tip].positions - shoulder
        )
        return shoulder, shoulder + sizes * ways / np.linalg.norm(ways, axis=1, keepdims=True)

    def high(self, pose, hands):
        shoulder = self.start.world["LeftArm"].positions
        return pose.world[self.elbow].positions @ UP - np.maximum(shoulder @ UP, hands @ UP)

    def solve(self, hands, **how):
        return poise.solve(self.start, poise.Position(self.tip, hands, root="LeftArm"), **how)

    def test_only_elbows_that_are_too_high_are_turned(self):
        _, hands = self.places()
        found, plain = self.solve(hands), self.solve(hands, natural=False)
        assert found.natural
        assert found.solver == plain.solver == "two_bone"
        assert found.reached.all()
        raised = self.high(plain.pose, hands) > 0.0
        assert 20 < raised.sum() < 400
        assert (self.high(found.pose, hands) <= 1e-9).all()
        low = self.high(plain.pose, hands) < -0.02
        np.testing.assert_array_equal(found.q[low], plain.q[low])

    def test_nothing_leaps_where_an_elbow_is_turned_down_first(self):
        shoulder, _ = self.places()
        t = np.linspace(0.0, 1.0, 2001)[:, None]
        hands = shoulder + 0.3 * (t * np.array([-0.3, 0.5, 0.3]) + (1 - t) * np.array([0.3, -0.4, 0.6]))
        found, plain = self.solve(hands), self.solve(hands, natural=False)
        assert 0 < (found.q != plain.q).any(axis=1).sum() < len(hands)
        steps = np.linalg.norm(np.diff(found.pose.world[self.elbow].positions, axis=0), axis=1)
        assert steps.max() < 5 * np.median(steps)

    def test_a_start_that_is_there_stays_however_high_its_elbow_is(self):
        _, hands = self.places()
        plain, found = self.solve(hands, natural=False), self.solve(hands)
        for start in (plain, found):
            again = poise.solve(start.pose, poise.Position(self.tip, hands, root="LeftArm"))
            np.testing.assert_array_equal(again.q, start.q)
            assert not again.iterations.any()

    def test_one_at_a_time_it_is_the_same(self):
        _, hands = self.places(40)
        found = self.solve(hands)
        prepared = poise.prepare(self.start, poise.Position(self.tip, hands[0], root="LeftArm"))
        for hand, q in zip(hands, found.q, strict=True):
            np.testing.assert_array_equal(self.solve(hand).q, q)
            np.testing.assert_array_equal(prepared(hand).q, q)


@pytest.mark.parametrize("pole", [UP, -UP, FORWARD, -FORWARD])
def test_an_arm_that_is_stretched_out_and_helped_by_the_collar_bone_is_not_twisted(pole):
    """Where its elbow pointed before it was straight says how it is twisted, whatever side its own would be."""
    free = FIGURE.skeleton.with_limits(dict.fromkeys(FIGURE.skeleton.names))
    rest, world = poise.Pose(free, FIGURE.rest.q), FIGURE.rest.world
    shoulder, elbow, hand = (world[name].positions for name in ("LeftArm", "LeftForeArm", "LeftHand"))
    length = np.linalg.norm(elbow - shoulder) + np.linalg.norm(hand - elbow)
    way = length * (0.6 * LEFT + FORWARD - 0.3 * UP) / np.linalg.norm(0.6 * LEFT + FORWARD - 0.3 * UP)
    bent = [
        poise.Position("LeftHand", shoulder + 0.98 * way, root="LeftArm"),
        poise.Pole("LeftForeArm", shoulder + 0.5 * way + length * pole, root="LeftArm", tip="LeftHand"),
    ]
    start = poise.solve(rest, bent).pose
    result = poise.solve(start, poise.Position("LeftHand", shoulder + 1.02 * way, root="LeftShoulder"))
    assert result.natural
    assert result.reached
    at = free.q_slice("LeftArm")
    assert np.degrees(2 * np.arccos(abs(start.q[at] @ result.q[at]))) < 30


@pytest.mark.parametrize("shift", [(0.0, 0.0, -0.03), (0.01, 0.0, -0.02)], ids=["back", "back and out"])
@pytest.mark.parametrize("step", [(0.05, 0.35, 0.3), (0.0, 0.1, 0.3)], ids=["high", "ahead"])
@pytest.mark.parametrize("free_root", [False, True])
def test_feet_keep_to_the_side_of_knees_that_are_built_backward(shift, step, free_root):
    """A leg whose knee is built a little backward bends forward, and does not turn its foot round for that."""
    pose = built(knees(shift))
    foot = poise.Position("LeftFoot", pose.world["LeftFoot"].positions + step, root=None if free_root else "LeftUpLeg")
    goals = [poise.Pin("RightFoot"), foot] if free_root else foot
    result = poise.solve(pose, goals, free_root=free_root)
    assert result.reached
    knee, ankle, toes = (result.pose.world[name].positions for name in ("LeftLeg", "LeftFoot", "LeftToe"))
    bend, shin = bulge(result.pose, "LeftUpLeg", "LeftLeg", "LeftFoot"), ankle - knee
    assert bend @ FORWARD > 0.8 * np.linalg.norm(bend)
    across = np.cross(bend, shin)
    turn = np.arctan2((toes - ankle) @ across, (toes - ankle) @ np.cross(shin, across) / np.linalg.norm(shin))
    assert abs(np.degrees(turn)) < 15.0


def test_feet_keep_to_the_side_of_knees_whose_frames_are_turned_after_their_motion():
    """Joints and motions are those of the rig without B, which the children's A undo."""
    pose = built(knees((0, 0, -0.03)))
    skeleton, half_turn = pose.skeleton, np.diag([-1.0, -1.0, 1.0])
    A, B = skeleton.A.copy(), skeleton.B.copy()
    for name in ("LeftLeg", "RightLeg"):
        row = skeleton.index(name)
        B[row, :, :3] = half_turn
        for child in np.flatnonzero(skeleton.parents == row):
            A[child, :3] = half_turn @ A[child, :3]
            A[child, 3:] = rotations.multiply(rotations.from_matrix(half_turn), A[child, 3:])
    turned_skeleton = dataclasses.replace(skeleton, A=A, B=B)
    turned = poise.Pose(turned_skeleton, turned_skeleton.rest_q)
    np.testing.assert_allclose(turned.world.positions, pose.world.positions, atol=1e-12)
    lifted = pose.world["LeftFoot"].positions + np.array([0.05, 0.35, 0.3])
    plain, solved = (
        poise.solve(each, poise.Position("LeftFoot", lifted, root="LeftUpLeg")).pose.world for each in (pose, turned)
    )
    np.testing.assert_allclose(solved.positions, plain.positions, atol=1e-6)


def test_feet_stay_in_front_while_a_knee_that_is_built_backward_opens():
    """Starts of a clip: the knee is bent to its wrong side a little more, and less, than it was built with."""
    pose = built(knees((0, 0, -0.03)))
    column = int(pose.skeleton.q_start[pose.skeleton.index("LeftLeg")])
    angles = np.radians(np.linspace(6.0, -8.0, 57))
    q = np.tile(pose.q, (len(angles), 1))
    turns = rotations.from_vector(angles[:, None] * [1.0, 0.0, 0.0])
    q[:, column : column + 4] = rotations.multiply(q[:, column : column + 4], turns)
    lifted = pose.world["LeftFoot"].positions + np.array([0.05, 0.35, 0.3])
    solved = poise.solve(poise.Pose(pose.skeleton, q), poise.Position("LeftFoot", lifted, root="LeftUpLeg")).pose.world
    toes = (solved["LeftToe"].positions - solved["LeftFoot"].positions)[:, 2]
    assert toes.min() > 0.05
    assert np.abs(np.diff(toes)).max() < 0.01


@pytest.mark.parametrize("height", [-0.4, 0.6])
@pytest.mark.parametrize("share", [0.97, 0.93])
def test_a_nearly_straight_arm_does_not_flip_its_elbow_along_a_path(height, share):
    """A hand goes round the figure at almost the length of its arm, each pose from the one before."""
    shoulder, elbow, hand = (FIGURE.rest.world[f"Left{part}"].positions for part in ("Arm", "ForeArm", "Hand"))
    length = np.linalg.norm(elbow - shoulder) + np.linalg.norm(hand - elbow)
    turn = np.linspace(0.0, 2.0 * np.pi, 180)
    size = 1.0 if height < 0.0 else 0.75
    steps = np.stack([0.2 + size * np.cos(turn), 0.1 + size * np.sin(turn), np.full(180, height)], axis=-1)
    pose, elbows = FIGURE.rest, []
    for place in shoulder + share * length * steps @ [LEFT, FORWARD, UP]:
        pose = poise.solve(pose, poise.Position("LeftHand", place)).pose
        elbows.append(pose.world["LeftForeArm"].positions)
    changes = np.linalg.norm(np.diff(elbows, 2, axis=0), axis=-1)[3:]
    assert changes.max() < 0.02  # [m] a frame


def test_rows_of_which_some_tilt_the_pelvis_have_the_bits_that_they_have_alone():
    """Feet near where they stand tilt nothing, those far from there do. The hips' numbers are odd ones."""
    start = built({"LeftUpLeg": np.array([0.0131, 0.003, 0.0017]), "RightUpLeg": np.array([-0.0113, 0.0013, 0.0011])})
    tips = (*FEET, "LeftHand", "RightHand")
    shifts = 0.1 * np.random.default_rng(0).normal(size=(len(tips), 60, 3))
    places = {tip: start.world[tip].positions + shift for tip, shift in zip(tips, shifts, strict=True)}
    batch = poise.solve(start, [poise.Position(*each) for each in places.items()], free_root=True)
    for i in range(60):
        alone = poise.solve(start, [poise.Position(tip, place[i]) for tip, place in places.items()], free_root=True)
        np.testing.assert_array_equal(alone.q, batch.q[i])


def test_rows_of_which_some_bow_have_the_bits_that_they_have_alone(data):
    """Hips are placed above pinned feet; the trunk bows about them towards hands that are far, below odd frames."""
    figure = poise.load(data / "glb/knight_kaykit.glb")
    start, joints = figure.rest, figure.roles.joints
    leg = np.linalg.norm(start.world[joints["leftUpperLeg"]].positions - start.world[joints["leftFoot"]].positions)
    random = np.random.default_rng(0)
    shifts = {"leftHand": random.uniform(-0.5, 0.5, (33, 3)), "hips": random.uniform(-0.2, 0.05, (33, 3))}
    places = {joints[role]: start.world[joints[role]].positions + leg * shift for role, shift in shifts.items()}
    feet = [poise.Pin(joints[f"{side}Foot"]) for side in ("left", "right")]
    batch = poise.solve(start, feet + [poise.Position(*each) for each in places.items()], free_root=True)
    for i in range(33):
        goals = feet + [poise.Position(tip, place[i]) for tip, place in places.items()]
        np.testing.assert_array_equal(poise.solve(start, goals, free_root=True).q, batch.q[i])
