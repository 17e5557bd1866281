"""Natural poses: knees forward, elbows back, quiet collar bones, and never a goal that is lost for them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import poise
from poise.errors import UnsupportedError
from poise.io import samples
from poise.kernels.posture import compute_poles as poles_kernel
from poise.maths import rotations
from poise.problem.problem import Problem
from poise.solvers.natural.limbs import find_limbs
from poise.solvers.natural.stages import find_stages
from poise.solvers.natural.surroundings import NOTHING_AROUND
from tests.model.transformed_rigs import in_another_guise

FORWARD, UP, LEFT = np.eye(3)[[2, 1, 0]]  # of the sample figure
FIGURE = poise.load(samples.path("humanoid.glb"))
NO_LEAN = np.array([[1.0, 0.0, 0.0, 0.0]])
HAND = "LeftHand"


def bulge(pose, first, middle, tip):
    """How the middle joint stands off the line from the first to the tip (..., 3)."""
    a, b, c = (pose.world[name].positions for name in (first, middle, tip))
    along = (c - a) / np.linalg.norm(c - a, axis=-1, keepdims=True)
    return (b - a) - along * ((b - a) * along).sum(axis=-1, keepdims=True)


def turned(result, joint):
    """By what angle a ball was turned from rest [rad]."""
    s = result.pose.skeleton
    w = result.q[..., s.q_slice(joint).start]
    return 2 * np.arccos(np.clip(np.abs(w), 0, 1))


def reaches(count, rng, share=(0.4, 0.95)):
    """Places in front of the body and beside it that the left arm alone can reach."""
    world = FIGURE.rest.world
    shoulder, elbow, hand = (world[name].positions for name in ("LeftArm", "LeftForeArm", HAND))
    length = np.linalg.norm(elbow - shoulder) + np.linalg.norm(hand - elbow)
    ways = rng.normal(size=(count, 3)) * [0.7, 0.7, 0.3] + 0.9 * FORWARD + 0.3 * LEFT
    ways /= np.linalg.norm(ways, axis=1)[:, None]
    return shoulder + ways * length * rng.uniform(*share, (count, 1))


class TestArms:
    goal = poise.Position(HAND, reaches(300, np.random.default_rng(0)), root="LeftShoulder")

    def test_the_collar_bone_rests_while_the_arm_can_reach(self):
        result = poise.solve(FIGURE.rest, self.goal)
        assert result.natural
        assert result.reached.all()
        assert np.degrees(turned(result, "LeftShoulder")).max() < 2  # up to 0.95 of the arm's length
        near = poise.Position(HAND, reaches(300, np.random.default_rng(1), (0.4, 0.85)), root="LeftShoulder")
        assert np.degrees(turned(poise.solve(FIGURE.rest, near), "LeftShoulder")).max() < 1e-6
        engine = poise.solve(FIGURE.rest, self.goal, natural=False)
        assert not engine.natural
        assert np.degrees(np.median(turned(engine, "LeftShoulder"))) > 5

    def test_elbows_point_back_down_or_outward(self):
        result = poise.solve(FIGURE.rest, self.goal)
        out = bulge(result.pose, "LeftArm", "LeftForeArm", HAND)
        low = result.pose.world["LeftForeArm"].positions[:, 1] < np.maximum(
            result.pose.world["LeftArm"].positions[:, 1], result.pose.world[HAND].positions[:, 1]
        )
        assert ((out @ UP < 0.0) | low).all()

    def test_the_collar_bone_helps_where_the_arm_is_too_short(self):
        target = FIGURE.rest.world["LeftArm"].positions + 0.985 * self._length() * FORWARD + 0.06 * FORWARD
        result = poise.solve(FIGURE.rest, poise.Position(HAND, target, root="LeftShoulder"))
        assert result.reached
        assert result.natural
        assert np.degrees(turned(result, "LeftShoulder")) > 1

    def test_beyond_all_reach_the_arm_is_a_line_with_the_twist_it_has_within(self):
        free = poise.load(samples.path("humanoid.glb")).skeleton.with_limits(dict.fromkeys(FIGURE.skeleton.names))
        start = poise.Pose(free, FIGURE.rest.q)
        collar = FIGURE.rest.world["LeftShoulder"].positions
        goal = poise.Position(HAND, collar + np.array([3.0, 2.0, 3.0]), root="LeftShoulder")
        result = poise.solve(start, goal)
        line = poise.solve(start, goal, solver="fabrik")
        assert result.status == poise.Status.out_of_reach
        assert np.linalg.norm(bulge(result.pose, "LeftArm", "LeftForeArm", HAND)) < 1e-3
        np.testing.assert_allclose(result.errors, line.errors, rtol=0, atol=0.02 * self._length())
        assert np.degrees(turned(result, "LeftShoulder")) < 35
        shoulder, way = FIGURE.rest.world["LeftArm"].positions, result.pose.world["LeftArm"].positions
        way = collar + np.array([3.0, 2.0, 3.0]) - way
        near = poise.Position(HAND, shoulder + 0.84 * self._length() * way / np.linalg.norm(way), root="LeftShoulder")
        within = poise.solve(start, near)
        assert within.reached
        for joint in ("LeftArm", "LeftForeArm"):  # it has the twist that it has within reach
            turn = rotations.multiply(
                rotations.inverse(within.pose.world[joint].rotations), result.pose.world[joint].rotations
            )
            assert np.degrees(2 * np.arccos(min(abs(turn[0]), 1.0))) < 40

    @staticmethod
    def _length():
        world = FIGURE.rest.world
        a, b, c = (world[name].positions for name in ("LeftArm", "LeftForeArm", HAND))
        return np.linalg.norm(b - a) + np.linalg.norm(c - b)


class TestLegs:
    def test_a_raised_foot_brings_the_knee_forward(self):
        straight = poise.load(samples.path("humanoid.bvh"))
        joints = poise.find_roles(straight).joints
        leg = [joints[f"left{part}"] for part in ("UpperLeg", "LowerLeg", "Foot")]
        at = straight.rest.world[leg[2]].positions
        size = np.linalg.norm(straight.rest.world[leg[0]].positions - at)
        lifted = at + size * np.array([[0, 0.3, 0.2], [0.1, 0.4, 0.3], [0, 0.3, -0.2], [0.3, 0.2, 0]])
        result = poise.solve(straight.rest, poise.Position(leg[2], lifted))
        assert result.reached.all()
        assert (bulge(result.pose, *leg) @ FORWARD > 0).all()

    def _pose_leg(self, ways):
        """Poses of the straight figure whose left foot is some ways (k, 3) from its hip, in leg lengths."""
        straight = poise.load(samples.path("humanoid.bvh"))
        joints = poise.find_roles(straight).joints
        leg = [joints[f"left{part}"] for part in ("UpperLeg", "LowerLeg", "Foot")]
        hip, _, foot = (straight.rest.world[joint].positions for joint in leg)
        goals = poise.Pin(joints["hips"]), poise.Position(leg[2], hip + np.linalg.norm(foot - hip) * ways)
        result = poise.solve(straight.rest, goals, free_root=True)
        assert result.natural
        assert result.reached.all()
        return result.pose, leg

    def test_a_leg_ahead_or_behind_bends_in_the_upright_plane_through_hip_and_foot(self):
        ways = np.array([[0.4, -0.3, 0.6], [0.3, -0.2, 0.5], [0.4, -0.1, -0.5]])
        pose, leg = self._pose_leg(ways)
        out = bulge(pose, *leg)
        out /= np.linalg.norm(out, axis=1)[:, None]
        aside = np.cross(ways, UP) / np.linalg.norm(np.cross(ways, UP), axis=1)[:, None]
        assert np.abs((out * aside).sum(axis=1)).max() < 0.15  # sine of the angle to the plane
        np.testing.assert_array_equal(np.sign(out @ UP), [1, 1, -1])

    @pytest.mark.parametrize("ahead", [0.5, -0.5])
    def test_no_knee_leaps_where_a_foot_passes_the_middle_of_its_leg(self, ahead):
        aside = np.linspace(-0.5, 0.5, 201)
        pose, leg = self._pose_leg(np.stack([aside, np.full(201, -0.3), np.full(201, ahead)], axis=1))
        knees, feet = (pose.world[joint].positions for joint in leg[1:])
        steps = [np.linalg.norm(np.diff(points, axis=0), axis=1) for points in (knees, feet)]
        assert (steps[0] < 3 * steps[1]).all()

    def test_a_start_that_is_bent_keeps_its_side(self):
        """A frame of a clip whose foot is moved a little: the knee stays where the actor had it."""
        leg, out = ("LeftUpLeg", "LeftLeg", "LeftFoot"), poise.TwoBone(pole=(9.0, 0.5, 0.0))
        foot = FIGURE.rest.world["LeftFoot"].positions
        hips = poise.Position("Hips", FIGURE.rest.world["Hips"].positions)
        lifted = poise.Position("LeftFoot", foot + 0.3 * UP, root="LeftUpLeg")
        aside = poise.solve(FIGURE.rest, lifted, solver=out).pose
        further = poise.Position("LeftFoot", foot + 0.32 * UP + 0.02 * FORWARD)
        result = poise.solve(aside, [hips, further], free_root=True)
        assert result.reached
        assert result.natural
        before, after = (bulge(pose, *leg) for pose in (aside, result.pose))
        assert before @ after > 0.97 * np.linalg.norm(before) * np.linalg.norm(after)


class TestWholeFigures:
    def test_six_things_bring_the_whole_figure(self):
        """Hips, head, hands and feet of a crouch that turns: all met, the trunk shares the way to the head."""
        free = FIGURE.skeleton.with_free_root()
        rest = FIGURE.rest.on(free)
        aim = poise.solve(rest, [poise.LookAt("Head", [2, 1.2, 1]), *squat(0.25)], free_root=True)
        world = aim.pose.world
        goals = [poise.Place("Hips", world["Hips"].positions, world["Hips"].rotations)]
        goals += [poise.Position(name, world[name].positions) for name in ("Head", HAND, "RightHand", *FEET)]
        result = poise.solve(FIGURE.rest, goals, free_root=True)
        assert result.reached
        assert result.natural
        assert "Spine" in result.joints

    def test_hips_with_a_target_do_not_turn_for_the_head(self):
        rest = FIGURE.rest.on(FIGURE.skeleton.with_free_root())
        hips = poise.Position("Hips", rest.world["Hips"].positions - 0.1 * UP)
        head = poise.Position("Head", rest.world["Head"].positions - 0.15 * UP + 0.1 * (LEFT + FORWARD))
        result = poise.solve(rest, [hips, head], free_root=True)
        assert result.reached
        np.testing.assert_allclose(result.pose.world["Hips"].rotations, rest.world["Hips"].rotations, atol=1e-9)

    def test_the_trunk_moves_for_hands_only_where_poses_are_natural(self):
        hand = poise.Position(HAND, FIGURE.rest.world[HAND].positions + 0.1 * UP)

        def moved(*goals: poise.Goal, **options: Any) -> tuple[str, ...]:
            return poise.solve(FIGURE.rest, [hand, *goals], free_root=True, **options).joints

        few = moved(natural=False)
        assert "Spine" not in few
        assert moved(prefer="closest", seeds=1) == few
        assert moved(poise.Near(FIGURE.rest)) == few
        assert "Spine" in moved()

    def test_a_squat_keeps_the_torso_upright_and_knees_over_the_feet(self):
        result = poise.solve(FIGURE.rest, squat(0.3), free_root=True)
        assert result.reached
        trunk = result.pose.world["Neck"].positions - result.pose.world["Hips"].positions
        before = FIGURE.rest.world["Neck"].positions - FIGURE.rest.world["Hips"].positions
        np.testing.assert_allclose(trunk, before, atol=1e-6)
        for side in ("Left", "Right"):
            out = bulge(result.pose, f"{side}UpLeg", f"{side}Leg", f"{side}Foot")
            level = out - UP * (out @ UP)
            assert level @ FORWARD > np.cos(np.radians(20)) * np.linalg.norm(level)

    def test_a_hand_to_the_floor_bends_knees_and_trunk(self):
        """The root has no goal of its own: it goes down and back, above the feet, and the trunk leans."""
        world = FIGURE.rest.world
        floor = world["LeftFoot"].positions + 0.2 * FORWARD + 0.1 * LEFT
        goals = [*(poise.Pin(foot) for foot in FEET), poise.Position(HAND, floor)]
        result = poise.solve(FIGURE.rest, goals, free_root=True)
        assert result.reached
        after = result.pose.world
        hips = after["Hips"].positions
        feet = np.mean([world[foot].positions for foot in FEET], axis=0)
        assert hips @ UP > feet @ UP + 0.3
        assert abs((hips - feet) @ FORWARD) < 0.35
        assert after["Head"].positions @ UP > hips @ UP - 0.2
        for side in ("Left", "Right"):
            assert bulge(result.pose, f"{side}UpLeg", f"{side}Leg", f"{side}Foot") @ FORWARD > 0.1

    def test_feet_that_step_away_take_the_root_along(self):
        step = 0.6 * FORWARD
        goals = [poise.Position(foot, FIGURE.rest.world[foot].positions + step) for foot in FEET]
        result = poise.solve(FIGURE.rest, goals, free_root=True)
        assert result.reached
        moved = result.pose.world["Hips"].positions - FIGURE.rest.world["Hips"].positions
        assert 0.05 < moved @ FORWARD < 0.61
        assert abs(moved @ LEFT) < 0.05

    def test_clips_with_translations_frame_by_frame(self):
        walk = FIGURE
        clip = walk.clips[0]
        joints = poise.find_roles(walk).joints
        goal = poise.Position(
            joints["leftHand"], clip.poses.world[joints["head"]].positions + np.array([0.1, -0.1, 0.25])
        )
        whole = poise.solve(clip.poses, goal)
        for k in (0, 1, len(clip) - 1):
            one = poise.solve(clip.poses[k], goal.with_target(goal.target[k]))
            assert one.q.tobytes() == whole.q[k].tobytes()


FEET = ("LeftFoot", "RightFoot")


def squat(depth):
    """Both feet where they are, the hips lower."""
    hips = FIGURE.rest.world["Hips"].positions - [0, depth, 0]
    return [*(poise.Pin(foot) for foot in FEET), poise.Position("Hips", hips)]


def test_behind_the_natural_pose_a_tracker_has_the_iterations_of_a_frame():
    """Out of reach, where the engine alone would try hundreds."""
    far = FIGURE.rest.world[HAND].positions + 8.0 * LEFT
    follow = poise.Tracker(FIGURE.rest, poise.Position(HAND, far), iterations=1)
    result = follow(far)
    assert result.natural
    assert result.iterations <= 2  # and one for the natural pose


class TestWhatItLeavesAlone:
    goal = poise.Position(HAND, [0.35, 1.2, 0.35], root="LeftShoulder")

    def test_a_start_that_meets_its_goals(self):
        first = poise.solve(FIGURE.rest, self.goal).pose
        again = poise.solve(first, self.goal)
        assert again.q.tobytes() == first.q.tobytes()
        assert int(again.iterations) == 0

    def test_limits(self):
        """Joints that have limits are bent by the engine, towards the same side, inside them."""
        tight = poise.load(samples.path("humanoid.glb"))
        limits = {
            "LeftArm": poise.SwingTwist((1, 0, 0), swing=1.2, twist=(-0.6, 0.6)),
            "LeftForeArm": poise.SwingTwist((1, 0, 0), swing=2.4, twist=(-0.3, 0.3)),
        }
        skeleton = tight.skeleton.with_limits(limits)
        start = poise.Pose(skeleton, skeleton.rest_q)
        targets = reaches(100, np.random.default_rng(4), (0.6, 0.9))
        found, engine = (
            poise.solve(start, poise.Position(HAND, targets, root="LeftShoulder"), natural=natural)
            for natural in (None, False)
        )
        assert found.natural
        assert found.violation <= 1e-9
        assert found.reached.sum() >= engine.reached.sum()

    def test_what_somebody_else_says(self):
        """A Pole replaces the side of its elbow, Near that of the joints that it names."""
        pole = poise.Pole("LeftForeArm", [0.3, 9.0, 0.3], root="LeftArm", tip=HAND)
        up = poise.solve(FIGURE.rest, [self.goal, pole])
        assert up.reached
        assert up.pose.world["LeftForeArm"].positions[1] > 1.3
        for joints in (None, ["LeftArm"]):
            near = poise.Near(FIGURE.rest, joints=joints)
            problem = poise.prepare(FIGURE.rest, [self.goal, near]).problem
            assert not any(stage.bends for stage in find_stages(problem))

    def test_robots_named_solvers_and_other_modes(self):
        arm = poise.load(samples.path("arm.urdf"))
        assert not poise.solve(arm.rest, poise.Position("tool", [0.3, 0.2, 0.4])).natural
        assert not poise.solve(FIGURE.rest, self.goal, solver="levenberg_marquardt").natural
        assert not poise.solve(FIGURE.rest, self.goal, prefer="closest", seeds=4).natural
        assert not poise.solve(FIGURE.rest, poise.Position("LeftFoot", [0.1, 0.3, 0.2], root="LeftUpLeg")).natural

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            ({"solver": "ccd"}, "not with the solver 'ccd'"),
            ({"prefer": "closest"}, "not with prefer='closest'"),
        ],
    )
    def test_where_it_cannot_be_had(self, options, sentence):
        with pytest.raises(UnsupportedError, match=sentence):
            poise.solve(FIGURE.rest, self.goal, natural=True, **options)

    def test_where_there_is_no_figure(self):
        arm = poise.load(samples.path("arm.urdf"))
        with pytest.raises(UnsupportedError, match="this is a robot"):
            poise.solve(arm.rest, poise.Position("tool", [0.3, 0.2, 0.4]), natural=True)
        with pytest.raises(poise.InputError, match="natural"):
            poise.solve(FIGURE.rest, self.goal, natural="yes")


def test_all_that_solve_take_it():
    goal = poise.Position(HAND, [0.35, 1.2, 0.35], root="LeftShoulder")
    result = poise.solve(FIGURE.rest, goal)
    assert "natural" in str(result)
    reach = poise.prepare(FIGURE.rest, goal)
    assert reach(goal.target).q.tobytes() == result.q.tobytes()
    assert not poise.prepare(FIGURE.rest, goal, natural=False)(goal.target).natural
    follow = poise.Tracker(FIGURE.rest, goal)
    shown = follow(goal.target)
    assert shown.natural
    assert shown.reached
    assert np.degrees(turned(shown, "LeftShoulder")) < 1e-6
    clip = FIGURE
    joints = poise.find_roles(clip).joints
    over = poise.Position(joints["leftHand"], clip.rest.world[joints["leftHand"]].positions + 0.2 * UP + 0.2 * FORWARD)
    assert poise.bake(clip.clips[0], over).result.natural
    assert not poise.bake(clip.clips[0], over, natural=False).result.natural


@pytest.mark.parametrize("guise", [{"scale": 100.0}, {"up": "z"}, {"seed": 8}])
def test_however_bones_are_rolled(guise):
    """Rolled bones, other units and axes: the same places of all joints."""
    skeleton = in_another_guise(FIGURE, **guise)
    other = SimpleNamespace(skeleton=skeleton, rest=poise.Pose(skeleton, skeleton.rest_q))
    names = dict(zip(FIGURE.skeleton.names, skeleton.names, strict=True))
    inverse = _to_other(other, names)
    goal = poise.Position(HAND, reaches(20, np.random.default_rng(3)), root="LeftShoulder")
    own = poise.solve(FIGURE.rest, goal)
    theirs = poise.solve(other.rest, poise.Position(names[HAND], inverse(goal.target), root=names["LeftShoulder"]))
    assert theirs.natural
    elbow = inverse(own.pose.world["LeftForeArm"].positions)
    size = np.linalg.norm(inverse(UP) - inverse(0 * UP))
    np.testing.assert_allclose(theirs.pose.world[names["LeftForeArm"]].positions, elbow, rtol=0, atol=2e-4 * size)


def _to_other(other, names):
    """The similarity that takes points of the figure to those of its copy."""
    rows = [FIGURE.skeleton.index(name) for name in names]
    a = FIGURE.rest.world.positions[rows]
    b = other.rest.world.positions[[other.skeleton.index(name) for name in names.values()]]
    ca, cb = a.mean(axis=0), b.mean(axis=0)
    u, _, vt = np.linalg.svd((a - ca).T @ (b - cb))
    turn = u @ np.diag([1, 1, np.sign(np.linalg.det(u @ vt))]) @ vt
    gain = np.trace(turn.T @ ((a - ca).T @ (b - cb))) / ((a - ca) ** 2).sum()
    return lambda points: (np.asarray(points) - ca) @ turn * gain + cb


class TestHinges:
    """Elbows that ranges make hinges."""

    goal = poise.Position("LeftHand", FIGURE.rest.world["LeftArm"].positions + np.array([0.1, -0.2, 0.3]))

    @pytest.mark.parametrize(
        ("limits", "closed"),
        [({"LeftForeArm": poise.Range(-2.6, 0.0, axis=(0, 1, 0))}, True), ({"LeftForeArm": None}, True),
         ({"LeftForeArm": poise.SwingTwist((1, 0, 0))}, False), ({"LeftArm": poise.SwingTwist((1, 0, 0))}, False)],
    )  # fmt: skip
    def test_the_closed_form_knows_them(self, limits, closed):
        start = poise.Pose(FIGURE.skeleton.with_limits(limits), FIGURE.rest.q)
        stages = find_stages(Problem(start, (self.goal,)))
        assert [stage.bends.closed for stage in stages if stage.bends] == [closed]

    def test_they_keep_their_axis_and_their_range(self):
        axis, reach = np.array([0.0, 1.0, 0.0]), np.linspace(0.05, 0.6, 12)[:, None]
        elbow = {"LeftForeArm": poise.Range(-2.6, 0.0, axis=axis)}
        start = poise.Pose(FIGURE.skeleton.with_limits(elbow), FIGURE.rest.q)
        targets = start.world["LeftArm"].positions + reach * [0.3, -0.4, 0.8]
        found = poise.solve(start, poise.Position("LeftHand", targets), natural=True)
        row = start.skeleton.index("LeftForeArm")
        own = rotations.as_vector(found.pose.q[:, start.skeleton.q_start[row] :][:, :4])
        np.testing.assert_allclose(np.cross(own, axis), 0.0, atol=1e-9)
        assert ((own @ axis > -2.6 - 1e-9) & (own @ axis < 1e-9)).all()


class TestPoles:
    """kernels/posture.py at its edges."""

    limb = next(limb for limb in find_limbs(FIGURE.skeleton) if limb.kind == "arm")

    def side(self, target, pose=FIGURE.rest):
        rows = [self.limb.carrier, self.limb.first, self.limb.middle, self.limb.tip]
        maps = np.ascontiguousarray(pose.world.matrices[rows][:, :3].reshape(1, -1))
        out = np.empty((1, 3))
        row = np.array(target, dtype=float).reshape(1, -1)
        poles_kernel(
            maps, np.arange(4), self.limb.numbers, row, NO_LEAN, NOTHING_AROUND.capsules, NOTHING_AROUND.floors, out
        )
        return out[0] - pose.world.positions[self.limb.first]

    @pytest.mark.parametrize("far", [1e-12, 1e-3, 1.0, 1e6])
    @settings(deadline=None, max_examples=30)
    @given(way=st.tuples(*[st.floats(-1, 1)] * 3))
    def test_any_target_has_a_pole(self, way, far):
        found = self.side(FIGURE.rest.world.positions[self.limb.first] + far * np.array(way))
        assert np.isfinite(found).all()

    def test_a_target_on_the_first_joint(self):
        assert np.isfinite(self.side(FIGURE.rest.world.positions[self.limb.first])).all()

    def test_the_side_goes_with_the_body(self):
        """Turned as a whole, the figure bends as before, turned."""
        turn = np.array([0.8, 0.0, 0.6, 0.0])
        free = FIGURE.rest.on(FIGURE.skeleton.with_free_root())
        hips = free.world["Hips"]
        there = poise.solve(
            free, poise.Place("Hips", hips.positions, rotations.multiply(turn, hips.rotations)), free_root=True
        ).pose
        first, ahead = FIGURE.rest.world.positions[self.limb.first], np.array([0.2, -0.2, 0.3])
        row = there.skeleton.index(FIGURE.skeleton.names[self.limb.first])
        before = self.side(first + ahead)
        rows = [there.skeleton.index(FIGURE.skeleton.names[i]) for i in self.limb[1:5]]
        maps = np.ascontiguousarray(there.world.matrices[rows][:, :3].reshape(1, -1))
        target, out = there.world.positions[row] + rotations.rotate(turn, ahead), np.empty((1, 3))
        poles_kernel(
            maps,
            np.arange(4),
            self.limb.numbers,
            target.reshape(1, 3).copy(),
            NO_LEAN,
            NOTHING_AROUND.capsules,
            NOTHING_AROUND.floors,
            out,
        )
        np.testing.assert_allclose(out[0] - there.world.positions[row], rotations.rotate(turn, before), atol=1e-3)
