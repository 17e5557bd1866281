"""fit(): from joint positions back to rotations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings

import poise
from poise import Range
from poise.io import samples
from poise.maths import rotations
from poise.solving.fit import find_best_rotations, is_independent_pair
from tests.reference.slow_pace import rotation_angle
from tests.strategies import random_q, random_skeleton, rng_of, seeds, straight_chain, unit_quaternions

HUMAN = [
    "Hips", "LeftUpLeg", "RightUpLeg", "Spine", "LeftLeg", "RightLeg", "Spine1", "LeftFoot", "RightFoot", "LeftToeBase",
    "RightToeBase", "Neck1", "Head", "LeftShoulder", "RightShoulder", "LeftArm", "RightArm", "LeftForeArm",
    "RightForeArm", "LeftHand", "RightHand",
]  # fmt: skip


def largest_step(poses):
    """The largest angle that any joint turns from one frame to the next."""
    turns = poses.q[:, poses.skeleton.quaternion_columns]
    return float(rotation_angle(turns[:-1], turns[1:]).max())


def size_of(skeleton):
    return float(np.ptp(poise.Pose(skeleton, skeleton.rest_q).world.positions, axis=0).max())


def lengths(poses):
    """Bone lengths (frames, bones)."""
    at, parents = poses.world.positions, poses.skeleton.parents
    rows = np.flatnonzero(parents >= 0)
    return np.linalg.norm(at[..., rows, :] - at[..., parents[rows], :], axis=-1)


@pytest.fixture(scope="module")
def walk():
    return poise.load(samples.path("humanoid.bvh")).clips[0]


@pytest.fixture(scope="module")
def cmu(data):
    return poise.load(data / "bvh" / "cmu_12_01_walk.bvh").clips[0]


def every_sixth(clip):
    return clip.poses[::6], clip.fps / 6


class TestRoundTrip:
    @pytest.mark.parametrize("file", ["cmu_12_01_walk", "jesse_dance_rokoko", "mocapbank"])
    def test_real_motion(self, data, file):
        clip = poise.load(data / "bvh" / f"{file}.bvh").clips[0]
        wanted = clip.poses.world.positions
        fitted = poise.fit(clip.skeleton, wanted, fps=clip.fps, name=clip.name)
        size = size_of(clip.skeleton)
        assert np.abs(fitted.poses.world.positions - wanted).max() < 1e-9 * size
        assert fitted.residuals.max() < 1e-9 * size
        still = lengths(poise.Pose(clip.skeleton, clip.skeleton.rest_q))
        np.testing.assert_allclose(lengths(fitted.poses), np.tile(still, (len(clip), 1)), atol=1e-12 * size)
        assert largest_step(fitted.poses) < 1.5 * largest_step(clip.poses)
        assert fitted.fps == pytest.approx(clip.fps)

    def test_a_root_that_is_a_ball_moves_by_translation(self):
        rig = poise.load(samples.path("humanoid.glb"))
        poses = rig.clips[0].poses
        fitted = poise.fit(rig.skeleton, poses.world.positions)
        assert fitted.residuals.max() < 1e-4
        at_hips = rig.skeleton.index("Hips")
        np.testing.assert_allclose(fitted.poses.world.positions[:, at_hips], poses.world.positions[:, at_hips])

    def test_an_arm_alone_hangs_on_what_holds_it(self, walk):
        """Of a limb that is seen by itself the topmost joint moves within the frame of its parent, which stays."""
        base, limb = walk.poses[7], ["LeftArm", "LeftForeArm", "LeftHand"]
        wanted = np.stack([walk.poses.world[joint].positions for joint in limb], axis=1)
        fitted = poise.fit(base, wanted, joints=limb)
        found = np.stack([fitted.poses.world[joint].positions for joint in limb], axis=1)
        assert np.abs(found - wanted).max() < 1e-9 * size_of(walk.skeleton)
        still = fitted.poses.world["LeftShoulder"]
        np.testing.assert_array_equal(
            still.affine, np.broadcast_to(base.world["LeftShoulder"].affine, still.affine.shape)
        )

    @given(seed=seeds)
    @settings(max_examples=30)
    def test_any_tree_of_balls(self, seed):
        """Random rests, offsets, mirrored and scaled joints: with every joint given, every position is met."""
        rng = rng_of(seed)
        s = random_skeleton(rng, 9, kinds=(3,))
        s = poise.Skeleton.build(
            s.names, [-1, *np.maximum(s.parents[1:], 0)], s.kinds, offsets=s.A[:, :3], rotations=s.A[:, 3:],
            scales=np.diagonal(s.B[:, :, :3], axis1=1, axis2=2),
        )  # fmt: skip
        base = poise.Pose(s, random_q(rng, s))
        wanted = poise.Pose(s, random_q(rng, s, 5)).world.positions + rng.normal(size=3)
        fitted = poise.fit(base, wanted, refine=False)
        np.testing.assert_allclose(fitted.poses.world.positions, wanted, atol=1e-9)


class TestTwist:
    def test_one_direction_turns_by_the_shortest_arc(self):
        chain = straight_chain(1)
        towards = np.array([[0.0, 0, 0], [1, 1, 0]])
        q = poise.fit(chain, towards[None]).poses.q[0]
        np.testing.assert_allclose(q, rotations.about(np.array([0.0, 0.0, -1.0]), math.pi / 4), atol=1e-12)

    def test_it_changes_as_little_as_can_be_through_the_opposite_of_rest(self):
        """The shortest arc from rest spins there; what is carried along does not."""
        chain = straight_chain(1)
        angle = np.linspace(0, 2 * np.pi, 400)
        tip = np.stack([np.sin(angle), np.cos(angle), 5e-3 * np.ones(400)], axis=1)
        tip /= np.linalg.norm(tip, axis=1, keepdims=True)
        wanted = np.stack([np.zeros((400, 3)), tip], axis=1)
        fitted = poise.fit(chain, wanted, fps=60, twist_half_life=1e6)
        assert largest_step(fitted.poses) < 1.01 * 2 * np.pi / 399
        arcs = rotations.rotation_between([0, 1, 0], tip)
        assert rotation_angle(arcs[:-1], arcs[1:]).max() > 1

    def test_what_was_carried_along_goes_back_to_none(self):
        chain = straight_chain(1)
        turn = np.linspace(0, 2 * np.pi, 100)  # around a cone: this leaves a twist behind
        cone = np.stack([np.sin(turn), np.ones(100), np.cos(turn)], axis=1)
        tip = np.concatenate([cone, np.tile(cone[-1:], (300, 1))])
        fitted = poise.fit(chain, np.stack([0 * tip, tip], axis=1), fps=100, twist_half_life=0.2)
        free = rotations.rotation_between([0, 1, 0], tip)
        off = rotation_angle(fitted.poses.q, free)
        assert off[99] > 0.1
        assert off[-1] < 1e-3 * off[99]

    def test_a_hinge_below_tells_the_twist(self):
        axis = (1.0, 0.0, 0.0)
        leg = poise.Skeleton.build(
            ["hip", "knee", "foot"], range(-1, 2), [3, 1, 0], offsets=[(0, 0, 0), (0, -1, 0), (0, -1, 0)],
            axes=[(0, 0, 0), axis, (0, 0, 0)], limits=[None, Range(0, 2.5), None],
        )  # fmt: skip
        time = np.linspace(0, 1, 50)
        hip = rotations.multiply(
            rotations.about(np.array([0.0, 0.0, 1.0]), 0.6 * time), rotations.about(np.array([0.0, 1.0, 0.0]), time)
        )
        source = poise.Pose(leg, np.concatenate([hip, (0.5 + time)[:, None]], axis=1))
        fitted = poise.fit(leg, source.world.positions)
        assert fitted.residuals.max() < 1e-12
        assert rotation_angle(fitted.poses.q[:, :4], hip).max() < 1e-6
        np.testing.assert_allclose(fitted.poses.q[:, 4], 0.5 + time, atol=1e-9)

    def test_a_hinge_that_bends_backwards_tells_the_same_twist(self):
        leg = poise.Skeleton.build(
            ["hip", "knee", "foot"], range(-1, 2), [3, 1, 0], offsets=[(0, 0, 0), (0, -1, 0), (0, -1, 0)],
            axes=[(0, 0, 0), (1, 0, 0), (0, 0, 0)], limits=[None, Range(-2.5, 2.5), None],
        )  # fmt: skip
        time = np.linspace(0, 1, 50)
        hip = rotations.about(np.array([0.0, 1.0, 0.0]), 0.4 * time)
        source = poise.Pose(leg, np.concatenate([hip, (-0.5 - time)[:, None]], axis=1))
        fitted = poise.fit(leg, source.world.positions)
        assert fitted.residuals.max() < 1e-12
        assert rotation_angle(fitted.poses.q[:, :4], hip).max() < 1e-6
        np.testing.assert_allclose(fitted.poses.q[:, 4], -0.5 - time, atol=1e-9)

    @pytest.mark.parametrize(("apart", "loose"), [(0.05, False), (0.15, True), (-0.15, True), (-0.05, False)])
    @pytest.mark.parametrize("still", [0.4, 1.5, 2.6])
    def test_two_directions_that_turn_against_each_other_hang_on_no_rigid_body(self, still, apart, loose):
        def pair(angle):
            return np.array([[2.0, 0.0, 0.0], [math.cos(angle), math.sin(angle), 0.0]])

        assert is_independent_pair(pair(still), pair(still + apart)[None]) == loose
        assert not is_independent_pair(pair(still)[[0, 1, 1]], pair(still + apart)[None, [0, 1, 1]])

    def test_limits_are_kept(self):
        chain = straight_chain(3).with_limits({"j1": Range(-0.3, 0.3, axis=(0, 0, 1))})
        wanted = poise.Pose(straight_chain(3), random_q(rng_of(1), chain, 8)).world.positions
        fitted = poise.fit(chain, wanted)
        assert chain.legal(fitted.poses.q)[1] == ()

    @given(seed=seeds)
    def test_the_best_rotation_of_several_is_exact_and_proper(self, seed):
        rng = rng_of(seed)
        rests, turns = rng.normal(size=(3, 3)), unit_quaternions(rng, 4)
        found, sure = find_best_rotations(rests, rotations.rotate(turns[:, None], rests))
        assert rotation_angle(found, turns).max() < 1e-6
        assert (sure == 1).all()
        aims = rng.normal(size=(1, 3, 3))  # whatever they are, no rotation comes nearer

        def left(turns):
            return ((rotations.rotate(turns[:, None], rests) - aims) ** 2).sum(axis=(1, 2))

        assert (left(find_best_rotations(rests, aims)[0]) <= left(unit_quaternions(rng, 200)) + 1e-9).all()

    @pytest.mark.parametrize(("spread", "wanted"), [(0.0, 0.0), (0.04, 0.0), (0.15, 0.5), (0.3, 1.0), (1.0, 1.0)])
    def test_aims_that_lie_nearly_in_a_line_leave_the_twist_open(self, spread, wanted):
        """`spread`: how far apart the aims lie about their common line, next to the vectors at rest."""
        around = np.arange(3) * 2 * math.pi / 3
        rests = np.stack([np.ones(3), 0.4 * np.cos(around), 0.4 * np.sin(around)], axis=1)
        sure = find_best_rotations(rests, (rests * [1.0, spread, spread])[None])[1]
        np.testing.assert_allclose(sure, wanted, atol=1e-9)


class TestInput:
    def test_some_joints_of_other_lengths(self, cmu):
        """What motion models return: fewer joints, and bones of their own lengths."""
        poses, fps = every_sixth(cmu)
        s = cmu.skeleton
        stretch = rng_of(1).uniform(0.93, 1.07, size=(len(s), 1))
        other = poise.Skeleton.build(s.names, s.parents, s.kinds, offsets=s.A[:, :3] * stretch)
        wanted = np.stack([poses.world[joint].positions for joint in HUMAN], axis=1)
        closed = poise.fit(other, wanted, joints=HUMAN, fps=fps, refine=False)
        refined = poise.fit(other, wanted, joints=HUMAN, fps=fps)
        assert (refined.residuals**2).sum() < 0.6 * (closed.residuals**2).sum()
        assert refined.residuals.max() < 0.02 * size_of(s)
        assert largest_step(refined.poses) < 1.5 * largest_step(poses)
        still = lengths(poise.Pose(other, other.rest_q))
        np.testing.assert_allclose(lengths(refined.poses), np.tile(still, (len(poses), 1)), atol=1e-9)
        assert "left on average" in refined.message()

    def test_joints_that_were_not_visible(self, walk):
        wanted, names = walk.poses.world.positions, walk.skeleton.names
        lost = wanted.copy()
        lost[3:6, names.index("RightHand")] = np.nan
        lost[0, names.index("LeftFoot")] = np.nan
        lost[:, names.index("Spine1" if "Spine1" in names else "Chest")] = np.nan
        fitted = poise.fit(walk.skeleton, lost, fps=walk.fps)
        assert "left on average" in fitted.message()
        np.testing.assert_array_equal(np.isnan(fitted.residuals), np.isnan(lost[..., 0]))
        assert np.nanmean(fitted.residuals) < 0.02 * size_of(walk.skeleton)
        for joint in ("RightHand", "LeftFoot"):
            row = names.index(joint)
            off = np.linalg.norm(fitted.poses.world.positions[:, row] - wanted[:, row], axis=-1)
            assert off.max() < 0.05 * size_of(walk.skeleton)
        assert np.isfinite(fitted.poses.q).all()

    def test_joints_on_top_of_each_other(self):
        chain = straight_chain(3)
        fitted = poise.fit(chain, np.zeros((4, 4, 3)))
        assert np.isfinite(fitted.poses.q).all()

    def test_what_does_not_fit_is_reported(self, walk):
        s, n = walk.skeleton, len(walk.skeleton)
        at = walk.poses.world.positions
        with pytest.raises(poise.InputError, match=rf"shape \(frames, {n}, 3\), not \(2, 3\)"):
            poise.fit(s, np.zeros((2, 3)))
        with pytest.raises(poise.InputError, match="NaN where a joint was not seen"):
            poise.fit(s, np.full((2, n, 3), np.inf))
        with pytest.raises(poise.InputError, match="no joint has a position"):
            poise.fit(s, np.full((2, n, 3), np.nan))
        with pytest.raises(poise.InputError, match="'RightHand' is not below 'LeftHand'"):
            poise.fit(s, at[:, :2], joints=["LeftHand", "RightHand"])
        with pytest.raises(poise.InputError, match="given twice: LeftHand"):
            poise.fit(s, at[:, :2], joints=["LeftHand", "LeftHand"])
        with pytest.raises(poise.UnknownNameError, match="no joint 'Tail'"):
            poise.fit(s, at[:, :1], joints=["Tail"])
        with pytest.raises(poise.InputError, match="single pose"):
            poise.fit(walk.poses, at)
        with pytest.raises(poise.InputError, match="fps"):
            poise.fit(s, at, fps=0)
