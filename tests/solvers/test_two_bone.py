"""two_bone: the closed form for limbs of two bones, its options, and its edges."""

from __future__ import annotations

import math
from fnmatch import fnmatch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import poise
from poise import Place, Position, Range, Status, TwoBone
from poise.maths import rotations
from tests.kernels.kernel_entries import entered
from tests.strategies import rng_of, seeds, straight_chain, unit_quaternions

KNEE = (0.0, -1.0, 0.1)
OUT = np.array([0.7, 0.5, 0.3])


def rest(skeleton):
    return poise.Pose(skeleton, skeleton.rest_q)


def leg(thigh=KNEE, shin=(0.0, -0.9, -0.15), knee=None, **more):
    """Hip, knee, foot and toe, all balls; slightly bent."""
    s = poise.Skeleton.build(["hip", "knee", "foot", "toe"], range(-1, 3), [3, 3, 3, 0],
        offsets=[(0.3, 2, 0.1), thigh, shin, (0, 0, 0.2)], **more)  # fmt: skip
    return rest(s.with_limits({"knee": knee}) if knee else s)


def solved(start, target, joint="foot", root=None, tolerance=1e-9, **options):
    return poise.solve(start, Position(joint, target, root=root), solver=TwoBone(**options), tolerance=tolerance)


def bones(pose, names=("hip", "knee", "foot")):
    """Hip, knee and foot in the world."""
    return [pose.world[name].positions for name in names]


def in_reach(rng, pose, share=(0.2, 0.95)):
    hip, knee, foot = bones(pose)
    low, high = abs(length(knee - hip) - length(foot - knee)), length(knee - hip) + length(foot - knee)
    away = rng.normal(size=3)
    return hip + away / length(away) * (low + (high - low) * rng.uniform(*share))


def length(v):
    return float(np.linalg.norm(v))


def unit(v):
    return v / length(v)


def across(v, a):
    return v - (v @ a) * a


def turn_left(a, b):
    """Angle between two rotations."""
    left = rotations.multiply(a, rotations.inverse(b))
    return 2 * math.atan2(length(left[1:]), abs(left[0]))


class TestOzzEdgeCases:
    """The twelve cases by which ozz-animation tests its two-bone job, as they are named there."""

    def test_job_validity(self):
        start = leg()
        with pytest.raises(poise.UnsupportedError, match="bends two joints; the chain to 'knee' has 1: hip"):
            solved(start, [0, 0, 0], joint="knee")
        for wrong in ({"weight": 1.5}, {"soft": 1.0}, {"swivel": math.inf}, {"pole": (1, 2)}, {"bend": "up"}):
            with pytest.raises(poise.InputError):
                TwoBone(**wrong)

    def test_start_joint_correction(self):
        for turn in (unit_quaternions(rng_of(i)) for i in range(5)):  # whatever stands above the first joint
            s = poise.Skeleton.build(["root", "hip", "knee", "foot"], range(-1, 3), [0, 3, 3, 3],
                offsets=[(1, 2, 3), (0, 0, 0), KNEE, (0, -1, 0)], rotations=[turn, *[(1, 0, 0, 0)] * 3])  # fmt: skip
            assert solved(rest(s), rest(s).world["hip"].positions + OUT).errors[0] < 1e-14
            own = rest(s).replace({"hip": turn})
            assert solved(own, rest(s).world["hip"].positions + OUT).errors[0] < 1e-14

    @pytest.mark.parametrize("pole", [(0, 0, 9), (0, 0, -9), (9, 1, 0), (-3, 2, 1)])
    def test_pole(self, pole):
        result = solved(leg(), [0.5, 0.8, 0.4], pole=pole)
        hip, knee, foot = bones(result.pose)
        a = unit(foot - hip)
        assert result.reached
        assert unit(across(knee - hip, a)) @ unit(across(pole - hip, a)) == pytest.approx(1, abs=1e-12)

    def test_zero_scale(self):
        s = leg().skeleton
        flat = poise.Pose(s, s.rest_q, scales=np.zeros((4, 3)))
        with pytest.raises(poise.UnsupportedError, match="zero"):
            solved(flat, [1, 1, 0])

    def test_soften(self):
        start = leg()
        hip, *_ = bones(start)
        reach = length(KNEE) + length((0.0, -0.9, -0.15))
        for distance in np.linspace(0.5, 1.5, 21) * reach:
            got = length(bones(solved(start, hip + distance * unit(np.array([1, -2, 1])), soft=0.2).pose)[2] - hip)
            a, s = 0.8 * reach, 0.2 * reach
            wanted = distance if distance <= a else a + s * (1 - math.exp(-(distance - a) / s))
            assert got == pytest.approx(wanted, abs=1e-12)

    @pytest.mark.parametrize("swivel", [0.5, -2.0, math.pi, 7.0])
    def test_twist(self, swivel):
        start, target = leg(), np.array([0.6, 0.9, 0.7])
        plain, twisted = (bones(solved(start, target, swivel=angle).pose) for angle in (0.0, swivel))
        a = unit(target - plain[0])
        expected = rotations.rotate(rotations.about(a, swivel), plain[1] - plain[0])
        np.testing.assert_allclose(twisted[1] - twisted[0], expected, atol=1e-12)
        np.testing.assert_allclose(twisted[2], target, atol=1e-12)

    @pytest.mark.parametrize("knee", [None, Range.degrees(-170, 170, axis=(1, 0, 0)), Range(0, 2, axis=(1, 0, 0))])
    def test_weight(self, knee):
        start, target = leg(knee=knee), [0.8, 1.2, 0.4]
        whole = solved(start, target).pose
        np.testing.assert_allclose(solved(start, target, weight=0).pose.q, start.q, atol=1e-15)
        half = solved(start, target, weight=0.5)
        assert not half.reached
        assert half.violation <= 1e-9
        for joint in ("hip", "knee"):
            where = start.skeleton.q_slice(joint)
            gone = turn_left(half.pose.q[where], start.q[where])
            assert gone == pytest.approx(turn_left(whole.q[where], start.q[where]) / 2, abs=1e-12)

    def test_pole_target_alignment(self):
        start, target = leg(), np.array([0.6, 0.9, 0.7])
        hip = bones(start)[0]
        plain = solved(start, target).pose.q
        for pole in (target, hip, 2 * target - hip, 2 * hip - target):  # says nothing: the pose decides
            np.testing.assert_allclose(solved(start, target, pole=pole).pose.q, plain, atol=1e-12)

    @pytest.mark.parametrize("axis", [(1, 0, 0), (-1, 0, 0), (1, 0.2, -0.1), (0, 0, 1)])
    def test_mid_axis(self, axis):
        start = leg(knee=Range.degrees(-170, 170, axis=axis))
        hip, *_ = bones(start)
        result = solved(start, hip + OUT)
        assert result.reached
        q = result.pose.q[start.skeleton.q_slice("knee")]
        assert length(np.cross(q[1:], axis)) < 1e-15

    @pytest.mark.parametrize("shin", [(0, -1, 0), (0, 0.4, 0)])
    @pytest.mark.parametrize("distance", [-2.5, -1.0, 1.0, 1.7, 2.5])
    def test_aligned_joints_and_target(self, shin, distance):
        start = leg((0, -1, 0), shin)
        hip = bones(start)[0]
        result = solved(start, hip + np.array([0, distance, 0]))
        reach = 1 + length(shin), 1 - length(shin)
        assert np.isfinite(result.pose.q).all()
        assert result.errors[0] == pytest.approx(max(abs(distance) - reach[0], 0, reach[1] - abs(distance)), abs=1e-12)

    @pytest.mark.parametrize("off", [0.0, 1e-300, 1e-12])
    @pytest.mark.parametrize("shin", [(0.0, -1.0, 0.1), (0.0, -0.5, 0.0)])
    def test_zero_length_start_target(self, off, shin):
        start = leg(shin=shin)
        hip = bones(start)[0]
        result = solved(start, hip + np.array([off, 0, 0]))
        assert np.isfinite(result.pose.q).all()
        folded = abs(length(KNEE) - length(shin))
        assert result.errors[0] == pytest.approx(
            folded, abs=1e-7
        )  # where it is zero, a square root of rounding is left
        assert result.status is (Status.reached if folded < 1e-9 else Status.out_of_reach)

    @pytest.mark.parametrize(
        ("thigh", "shin"), [((0, 0, 0), (0, -1, 0)), ((0, -1, 0), (0, 0, 0)), ((0,) * 3, (0,) * 3)]
    )
    def test_zero_length_chain(self, thigh, shin):
        start = leg(thigh, shin)
        hip = bones(start)[0]
        result = solved(start, hip + np.array([2, 0, 0]))
        assert np.isfinite(result.pose.q).all()
        assert result.status is Status.out_of_reach
        assert result.errors[0] == pytest.approx(2 - length(thigh) - length(shin), abs=1e-12)


class TestSwivel:
    @given(seeds)
    @settings(max_examples=60)
    def test_the_law_of_cosines_holds(self, seed):
        rng = rng_of(seed)
        start = leg(rng.normal(size=3), rng.normal(size=3))
        target = in_reach(rng, start)
        result = solved(start, target)
        hip, knee, foot = bones(result.pose)
        l1, l2, d = length(knee - hip), length(foot - knee), length(target - hip)
        assert result.errors[0] < 1e-10
        assert unit(knee - hip) @ unit(target - hip) == pytest.approx((l1**2 + d**2 - l2**2) / (2 * l1 * d), abs=1e-9)

    @given(seeds, st.sampled_from(["thigh", "both"]))
    @settings(max_examples=60)
    def test_no_other_knee_on_the_circle_is_nearer(self, seed, bend):
        rng = rng_of(seed)
        start = leg(rng.normal(size=3), rng.normal(size=3)).replace({"hip": unit_quaternions(rng)})
        target = in_reach(rng, start, (0.1, 0.9))
        hip, knee, foot = bones(start)
        thigh, shin = unit(knee - hip), unit(foot - knee)
        hip, knee, foot = bones(solved(start, target, bend=bend).pose)
        circle = rotations.rotate(rotations.about(unit(foot - hip), np.linspace(0, 2 * np.pi, 721)), knee - hip)

        def likeness(v):
            return v @ thigh + (((foot - hip) - v) @ shin if bend == "both" else 0.0)

        assert likeness(knee - hip) >= likeness(circle).max() - 1e-12

    @given(seeds)
    @settings(max_examples=40)
    def test_no_other_swivel_turns_the_first_joint_less(self, seed):
        rng = rng_of(seed)
        start = leg(rng.normal(size=3), rng.normal(size=3)).replace({"hip": unit_quaternions(rng)})
        result = solved(start, in_reach(rng, start, (0.1, 0.9)))
        hip, _, foot = bones(result.pose)
        swivels = rotations.about(unit(foot - hip), np.linspace(0, 2 * np.pi, 721))  # the hip's frame is the world's
        others = rotations.multiply(swivels, np.broadcast_to(result.pose.q[:4], swivels.shape))
        assert abs(result.pose.q[:4] @ start.q[:4]) >= np.abs(others @ start.q[:4]).max() - 1e-12

    @given(seeds)
    @settings(max_examples=40)
    def test_the_axis_keeps_its_direction_as_far_as_it_can(self, seed):
        rng = rng_of(seed)
        start = leg(knee=Range(-3, 3, axis=(1, 0, 0)))
        result = solved(start, in_reach(rng, start), bend="axis")
        hip, _, foot = bones(result.pose)
        before, after = (
            rotations.rotate(p.world["knee"].rotations, np.array([1.0, 0, 0])) for p in (start, result.pose)
        )
        circle = rotations.rotate(rotations.about(unit(foot - hip), np.linspace(0, 2 * np.pi, 721)), after)
        assert after @ before >= (circle @ before).max() - 1e-12

    @pytest.mark.parametrize("bent", [0.0, 5e-4])
    def test_a_straight_arm_is_aimed_without_a_twist(self, bent):
        s = poise.Skeleton.build("abc", range(-1, 2), [3, 3, 3], offsets=[(0, 0, 0), (1, 0, 0), (1, bent, 0)])
        for target in ([0, 0, 1.5], [0, 1.2, 0.3], [-1.2, 0.1, 0.9]):
            result = solved(rest(s), target, joint="c")
            assert result.reached
            q = result.pose.q[:4]
            assert abs(q[1]) < 1e-12  # of the upper bone about itself

    @pytest.mark.parametrize("bent", [0.0, 1e-12, 5e-4, 2e-3])
    def test_a_nearly_straight_leg_reaches_exactly(self, bent):
        start = leg((0, -1, 0), (0, -math.cos(bent), math.sin(bent)))
        for seed in range(20):
            assert solved(start, in_reach(rng_of(seed), start)).errors[0] < 1e-12

    def test_following_a_path_does_not_jump(self):
        pose = leg(knee=Range.degrees(0, 160, axis=(1, 0, 0)))
        hip = bones(pose)[0]
        for i, t in enumerate(np.linspace(0, 4 * np.pi, 400)):  # in, out, beyond the reach; each starts from the last
            target = hip + (1.4 + 0.7 * math.sin(1.5 * t)) * unit(np.array([0.4 * math.sin(t), -1, 0.5 * math.cos(t)]))
            then = solved(pose, target, tolerance=1e-6, soft=0.1).pose
            assert i == 0 or turn_left(then.q[:4], pose.q[:4]) < 0.15
            pose = then


class TestKnee:
    @pytest.mark.long
    @given(seeds)
    @settings(max_examples=60)
    def test_a_hinge_bends_the_legal_way_only_and_stays_on_its_axis(self, seed):
        rng = rng_of(seed)
        axis = unit(np.array([1.0, 0, 0]) + 0.1 * rng.normal(size=3))
        low, high = np.sort(rng.uniform(-2.8, 2.8, size=2))
        start = leg(knee=Range(low, high, axis=axis))
        result = solved(start, bones(start)[0] + rng.normal(size=3))
        q = result.pose.q[start.skeleton.q_slice("knee")]
        assert length(np.cross(q[1:], axis)) < 1e-12
        assert result.violation <= 1e-9
        tips = poise.Pose(start.skeleton, np.stack([  # the best angle of the knee, by brute force
            np.concatenate([start.q[:4], rotations.about(axis, x), start.q[8:]]) for x in np.linspace(low, high, 2001)
        ])).world["foot"].positions  # fmt: skip
        hip = bones(start)[0]
        nearest = np.abs(np.sqrt(((tips - hip) ** 2).sum(axis=-1)) - length(result.goals[0].target - hip)).min()
        assert result.errors[0] <= nearest + 1e-12

    def test_it_bends_the_other_way_where_only_that_is_legal(self):
        for low, high, sign in ((0, 2.5, 1), (-2.5, 0, -1)):
            start = leg((0, -1, 0), (0, -1, 0), knee=Range(low, high, axis=(1, 0, 0)))
            for branch in ("nearest", "positive", "negative"):
                result = solved(start, [0.5, 1, 0.9], branch=branch)
                assert result.reached
                assert rotations.twist_angle(result.pose.q[4:8], np.array([1.0, 0, 0])) * sign > 0.1

    @pytest.mark.parametrize("kind", [poise.Kind.HINGE, poise.Kind.BALL])
    @pytest.mark.parametrize("limits", [(math.radians(100), math.radians(260)), (5.0, 8.0), (-math.inf, 1.0)])
    def test_ranges_across_half_a_turn_and_beyond_a_turn(self, kind, limits):
        axis = (1, 0, 0)
        s = poise.Skeleton.build(["hip", "knee", "foot"], range(-1, 2), [3, kind, 0], axes=[axis] * 3,
            offsets=[(0, 0, 0), (0, -1, 0), (0, -0.8, 0)],
            limits=[None, Range(*limits, axis=axis if kind == poise.Kind.BALL else None), None])  # fmt: skip
        high = limits[1]
        for angle in np.linspace(max(limits[0], high - 6), high, 7):
            turn = rotations.about(np.array(axis, dtype=float), angle) if kind == poise.Kind.BALL else [angle]
            target = rest(s).replace({"knee": turn}).world["foot"].positions
            result = solved(rest(s), rotations.rotate(unit_quaternions(rng_of(3)), target))
            assert result.errors[0] < 1e-7
            assert result.violation <= 1e-12

    def test_a_knee_at_its_limit_is_named(self):
        start = leg((0, -1, 0), (0, -1, 0), knee=Range.degrees(0, 60, axis=(1, 0, 0)))
        result = solved(start, bones(start)[0] + [0, -0.5, 0])
        assert result.status is Status.limited
        assert "knee at its highest" in result.message()

    def test_too_far_and_too_near_are_clamped_and_reported(self):
        start = leg((0, -1, 0), (0, -0.4, 0))
        hip = bones(start)[0]
        for distance, words in (
            (3, "1.6 beyond the longest reach of 1.4"),
            (0.1, "0.5 inside the shortest reach of 0.6"),
        ):
            result = solved(start, hip + np.array([distance, 0, 0]))
            assert result.status is Status.out_of_reach
            assert words in result.message()


class TestTip:
    @given(seeds)
    @settings(max_examples=30)
    def test_it_keeps_its_world_rotation(self, seed):
        rng = rng_of(seed)
        start = leg(scales=[[-2.0] * 3, [0.5] * 3, [1] * 3, [1] * 3]).replace({"foot": unit_quaternions(rng)})
        result = solved(start, in_reach(rng, start), keep_tip=True)
        assert result.reached
        before, after = (pose.world["foot"].rotations for pose in (start, result.pose))
        assert turn_left(before, after) < 1e-12

    @given(seeds)
    @settings(max_examples=30)
    def test_a_place_turns_it(self, seed):
        rng = rng_of(seed)
        start = leg(knee=Range(0, 3, axis=(1, 0, 0))).replace(
            {"foot": unit_quaternions(rng), "hip": unit_quaternions(rng)}
        )
        goal = Place("foot", in_reach(rng, start, (0.4, 0.9)), unit_quaternions(rng))
        result = poise.solve(start, goal, solver=TwoBone(), tolerance=1e-9, angle_tolerance=1e-9)
        assert result.reached
        assert result.joint_updates == 3

    def test_a_place_that_its_joint_alone_turns_for_has_no_limb(self):
        rest = poise.load(poise.sample("humanoid")).rest
        hand = rest.world["LeftHand"].positions
        for root in ("LeftHand", "leftHand"):  # the second is its role
            goal = Place("LeftHand", hand, unit_quaternions(rng_of(3)), root=root)
            with pytest.raises(poise.UnsupportedError, match="bends two joints; the chain to 'LeftHand' has none"):
                poise.solve(rest, goal, solver="two_bone")
            assert poise.solve(rest, goal).reached
            assert poise.solve(rest, goal, natural=False).reached

    def test_a_tip_that_cannot_turn_is_refused(self):
        with pytest.raises(poise.UnsupportedError, match="'foot' is not"):
            solved(rest(leg().skeleton.with_limits({"foot": Range(0, 1, axis=(1, 0, 0))})), [0, 0, 0], keep_tip=True)


class TestPlanar:
    """Two hinges: the textbook's arm."""

    @staticmethod
    def arm(limits=(None, None), kind=1, axes=((0, 0, 1), (0, 0, 1))):
        return rest(straight_chain(2, kind=kind, axes=list(axes), limits=list(limits), direction=(1.0, 0.0, 0.0)))

    def test_the_textbook(self):
        start, (x, y) = self.arm(), (0.9, 1.1)
        elbow = math.acos((x * x + y * y - 2) / 2)
        shoulder = math.atan2(y, x) - math.atan2(math.sin(elbow), 1 + math.cos(elbow))
        for branch, sign in (("positive", 1), ("negative", -1)):
            result = solved(start, [x, y], joint="tip", branch=branch)
            other = 2 * math.atan2(y, x) - shoulder
            np.testing.assert_allclose(result.pose.q, [shoulder if sign > 0 else other, sign * elbow], atol=1e-12)
            assert result.reached

    def test_the_branch_nearest_to_the_start(self):
        for elbow in (0.4, -0.4):
            start = poise.Pose(self.arm().skeleton, [0.3, elbow])
            assert solved(start, [0.9, 1.1], joint="tip").pose.q[1] * elbow > 0

    @given(seeds)
    @settings(max_examples=60)
    def test_no_legal_angles_are_nearer(self, seed):
        rng = rng_of(seed)
        ranges = [Range(*np.sort(rng.uniform(-3, 3, size=2))) for _ in range(2)]
        start = self.arm(ranges, axes=((0, 0, 1), (0, 0, rng.choice([-1.0, 1.0]))))
        target = np.append(rng.uniform(-2, 2, size=2), 0.0)
        result = solved(start, target, joint="tip")
        grid = np.stack(np.meshgrid(*[np.linspace(r.low, r.high, 61) for r in ranges]), axis=-1).reshape(-1, 2)
        tips = poise.Pose(start.skeleton, grid).world_of("tip").positions
        assert result.violation <= 1e-12
        assert result.errors[0] <= np.sqrt(((tips - target) ** 2).sum(axis=-1)).min() + 1e-12

    @given(seeds)
    @settings(max_examples=30)
    def test_balls_made_hinges_and_any_plane(self, seed):
        rng = rng_of(seed)
        axis = unit(rng.normal(size=3))
        s = straight_chain(2, direction=tuple(rng.normal(size=3))).with_limits({"j*": Range(-3, 3, axis=axis)})
        turns = {name: rotations.about(axis, rng.uniform(-2.9, 2.9)) for name in ("j0", "j1")}
        target = rest(s).replace(turns).world["tip"].positions
        result = solved(rest(s), target, joint="tip")
        assert result.errors[0] < 1e-7
        assert result.violation <= 1e-12

    def test_soft_reach_and_weight(self):
        start = poise.Pose(self.arm().skeleton, [0.2, 0.5])
        far = solved(start, [0, 3], joint="tip", soft=0.1).pose.world["tip"].positions
        np.testing.assert_allclose(far, [0, 1.8 + 0.2 * (1 - math.exp(-1.2 / 0.2)), 0], atol=1e-12)
        whole = solved(start, [0.5, 1], joint="tip").pose.q
        np.testing.assert_allclose(
            solved(start, [0.5, 1], joint="tip", weight=0.25).pose.q, 0.75 * start.q + 0.25 * whole
        )

    def test_what_means_nothing_in_a_plane_is_refused(self):
        with pytest.raises(poise.UnsupportedError, match="pole"):
            solved(self.arm(), [1, 1], joint="tip", pole=(0, 0, 1))
        with pytest.raises(poise.UnsupportedError, match="parallel axes"):
            solved(self.arm(axes=((0, 0, 1), (0, 1, 0))), [1, 1], joint="tip")


class TestLimbs:
    def test_joints_between_are_held(self):
        s = poise.Skeleton.build(["hip", "twist", "knee", "twist2", "foot"], range(-1, 4), [3] * 5,
            offsets=[(0, 0, 0), (0, -0.5, 0), (0, -0.5, 0.1), (0, -0.4, 0), (0, -0.5, -0.1)])  # fmt: skip
        turns = {name: unit_quaternions(rng_of(7)) for name in ("twist", "twist2")}
        start = rest(s).replace(turns)
        with pytest.raises(poise.UnsupportedError, match="has 4: hip, twist, knee, twist2; name the upper one"):
            solved(start, [0.3, -0.9, 0.4])
        bent = start.replace({"hip": unit_quaternions(rng_of(8)), "knee": unit_quaternions(rng_of(9))})
        result = solved(start, bent.world["foot"].positions, mid="knee")
        assert result.reached
        for name in turns:
            np.testing.assert_array_equal(result.pose.q[s.q_slice(name)], start.q[s.q_slice(name)])
        with pytest.raises(poise.UnsupportedError, match="cannot bend 'hip'"):
            solved(start, [0, 0, 0], mid="hip")

    def test_what_does_not_fit_is_refused_in_one_sentence(self):
        with pytest.raises(poise.UnsupportedError, match="'hip'"):
            solved(rest(leg().skeleton.with_limits({"hip": Range(0, 1, axis=(1, 0, 0))})), [0, 0, 0])
        with pytest.raises(poise.UnsupportedError, match="slide"):
            solved(rest(straight_chain(2, kind=2, axes=[(0, 1, 0)] * 2)), [0, 0, 0], joint="tip")
        with pytest.raises(poise.UnsupportedError, match="'foot' has an offset"):
            poise.solve(leg(), Position("foot", [0, 0, 0], offset=(0, 0, 1)), solver="two_bone")
        with pytest.raises(poise.UnsupportedError, match="one goal at a time; got 2"):
            poise.solve(leg(), [Position("foot", [0, 0, 0])] * 2, solver="two_bone")

    def test_a_free_hip_turns(self):
        s = poise.Skeleton.build("abc", range(-1, 2), [4, 3, 0], offsets=[(0, 0, 0), (0, 1, 0), (0, 1, 0.1)])
        start = rest(s).replace({"a": [1, 2, 3, *unit_quaternions(rng_of(2))]})
        result = solved(start, [2, 2.5, 3.5], joint="c", root="a")
        assert result.reached
        np.testing.assert_array_equal(result.pose.q[:3], [1, 2, 3])

    @given(seeds)
    @settings(max_examples=30)
    def test_mirrored_and_scaled_parents(self, seed):
        rng = rng_of(seed)
        scales = rng.choice([-2.0, -1.0, 0.5, 1.0, 3.0], size=(5, 1)) * np.ones(3)
        s = poise.Skeleton.build(["root", "hip", "knee", "foot", "toe"], range(-1, 4), [0, 3, 3, 3, 0],
            offsets=rng.normal(size=(5, 3)), rotations=unit_quaternions(rng, 5), scales=scales)  # fmt: skip
        s = s.with_limits({"knee": Range(-2, 3, axis=(1, 0.3, 0))})
        start = rest(s)
        knee = start.replace({"knee": rotations.about(unit(np.array([1, 0.3, 0])), 1.0)})
        target = rotations.rotate(unit_quaternions(rng), bones(knee)[2] - bones(knee)[0]) + bones(knee)[0]
        for options in ({}, {"pole": rng.normal(size=3)}, {"bend": "both", "keep_tip": True}):
            assert solved(start, target, **options).errors[0] < 1e-9

    def test_scale_that_is_nearly_uniform_is_solved_through(self):
        s = leg().skeleton
        scales = 1 + 3e-4 * rng_of(5).uniform(-1, 1, size=(4, 3))
        start = poise.Pose(s, s.rest_q, scales=scales)
        result = solved(start, in_reach(rng_of(1), start, (0.5, 0.8)), tolerance=1e-7)
        assert result.problem.plan.is_sheared
        assert result.reached


class TestNumbers:
    @given(seeds, st.integers(-30, 30))
    @settings(max_examples=30)
    def test_units_of_powers_of_two_give_the_same_bits(self, seed, power):
        rng = rng_of(seed)
        offsets, target, pole = rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=3)

        def q(unit_):
            s = poise.Skeleton.build(["hip", "knee", "foot"], range(-1, 2), [3] * 3, offsets=offsets * unit_)
            s = s.with_limits({"knee": Range(-1, 2, axis=(1, 0, 0))}) if seed % 2 else s
            return solved(rest(s), target * unit_, tolerance=1e-9 * unit_, pole=pole * unit_, soft=0.1).pose.q

        np.testing.assert_array_equal(q(2.0**power), q(1.0))

    @given(seeds, st.integers(1, 40))
    @settings(max_examples=20)
    def test_a_batch_gives_the_bits_of_single_solves(self, seed, count):
        rng = rng_of(seed)
        start = leg(knee=Range(0, 2.5, axis=(1, 0, 0)) if seed % 2 else None)
        targets = bones(start)[0] + rng.normal(size=(count, 3))
        whole = solved(start, targets, soft=0.1, pole=(0, 0, 3))
        for i in rng.integers(0, count, size=3):
            one = solved(start, targets[i], soft=0.1, pole=(0, 0, 3))
            np.testing.assert_array_equal(one.pose.q, whole.pose.q[i])
            assert one.status == whole.status[i]

    @given(seeds)
    @settings(max_examples=30)
    def test_a_start_that_meets_its_target_stays(self, seed):
        start = leg().replace({"hip": unit_quaternions(rng_of(seed)), "knee": unit_quaternions(rng_of(seed + 1))})
        result = solved(start, bones(start)[2])
        assert result.iterations == 0
        np.testing.assert_array_equal(result.pose.q, start.q)
        swivelled = solved(start, bones(start)[2], swivel=0.3)
        assert swivelled.iterations == 1
        assert swivelled.reached

    @given(st.floats(0, 3), st.floats(0, 0.5), st.floats(0.01, 0.5))
    def test_soft_reach_is_smooth_grows_and_never_overshoots(self, distance, more, share):
        from poise.kernels.two_bone import soften_distance

        d, e = entered(soften_distance)(distance, 1.0, share), entered(soften_distance)(distance + more, 1.0, share)
        assert d <= distance
        assert d <= 1.0
        assert 0 <= e - d <= more + 1e-15
        edge, h = 1.0 - share, 1e-6
        assert entered(soften_distance)(edge + h, 1.0, share) - entered(soften_distance)(
            edge, 1.0, share
        ) == pytest.approx(h, rel=1e-3 / share * 0.1)


RIGS = [
    ("glb/mixamo_human_makehuman.glb", "*LeftArm", "*LeftHand"),
    ("glb/mixamo_human_makehuman.glb", "*LeftUpLeg", "*LeftFoot"),
    ("glb/knight_kaykit.glb", "upperarm.l", "wrist.l"),
    ("bvh/cmu_12_01_walk.bvh", "LeftUpLeg", "LeftFoot"),
]


@pytest.mark.parametrize(("file", "root", "tip"), RIGS)
@pytest.mark.parametrize("options", [{}, {"bend": "both"}, {"pole": (0.0, 0.5, 100.0)}, {"keep_tip": True}])
def test_limbs_of_real_rigs(data, file, root, tip, options):
    rig = poise.load(data / file)
    root, tip = (
        next(n for n in rig.skeleton.names if n.lower() == name.lower() or fnmatch(n, name)) for name in (root, tip)
    )
    rng, start = rng_of(1), rig.rest
    first, middle = rig.skeleton.chain(root, tip)[0], rig.skeleton[tip].parent
    posed = start.replace({middle: unit_quaternions(rng)})
    targets = np.stack([
        rotations.rotate(unit_quaternions(rng), posed.world[tip].positions - posed.world[first].positions)
        for _ in range(20)
    ]) + start.world[first].positions  # fmt: skip
    result = poise.solve(start, Position(tip, targets, root=root), solver=TwoBone(**options))
    assert result.reached.all()
    assert result.errors.max() <= result.tolerance * (1.0 if result.problem.plan.is_sheared else 1e-5)


def test_a_trace_has_the_start_and_the_answer():
    start = leg()
    result = poise.solve(start, Position("foot", start.world["foot"].positions * 0.8), solver="two_bone", trace=True)
    np.testing.assert_array_equal(result.trace.q, [start.q, result.q])
    assert result.trace.errors[0] > 0
    assert result.trace.errors[1] == result.errors[0]
