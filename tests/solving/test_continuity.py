"""Baked clips without leaps: no joint turns by far more than the clip and the target do."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import poise
from poise import InputError, Near, Position
from poise.io import samples
from poise.maths import rotations
from poise.model.skeleton import Kind
from tests.contracts.clips import stretched, swung, walk
from tests.strategies import straight_chain

BEYOND = ((-3.0, 1.0, 0.0), (0.0, 5.0, 0.0), (0.0, 1.0, -3.0))  # points out of reach of the sample figure's hand
SOLVERS = ("auto", "levenberg_marquardt", "fabrik", "ccd")


def turns(poses, joints):
    """How far (frames - 1, joints) each joint turns between frames [deg]; by its rotation in its parent."""
    s, found = poses.skeleton, []
    for name in joints:
        numbers = poses.q[:, s.q_slice(name)]
        if s.kinds[s.index(name)] < Kind.BALL:
            found.append(np.abs(np.diff(numbers[:, 0])))
        else:
            quats = numbers[:, -4:]
            w = rotations.multiply(rotations.inverse(quats[:-1]), quats[1:])
            found.append(2 * np.arctan2(np.linalg.norm(w[:, 1:], axis=-1), np.abs(w[:, 0])))
    return np.degrees(np.array(found).T)


def target_turns(clip, joints, target):
    """How far (frames - 1,) a point turns about the first of the joints, in the frame that carries it [deg]."""
    s, world = clip.skeleton, clip.poses.world
    row = s.index(joints[0])
    way = target - world.positions[:, row]
    way = rotations.rotate(rotations.inverse(world.rotations[:, s.parents[row]]), way)
    way /= np.linalg.norm(way, axis=-1, keepdims=True)
    across, along = np.linalg.norm(np.cross(way[:-1], way[1:]), axis=-1), (way[:-1] * way[1:]).sum(-1)
    return np.degrees(np.arctan2(across, along))


def leap(clip, baked, target):
    """The most that a joint turns beyond 1.5 times the clip's own and the target's turn [deg]."""
    joints = baked.result.joints
    own, requested = turns(clip.poses, joints), target_turns(clip, joints, target)
    return float((turns(baked.poses, joints) - 1.5 * own - requested[:, None]).max())


@cache
def loaded():
    return poise.load(samples.path("humanoid.bvh")).clips[0]


class TestBeyondReach:
    @pytest.mark.parametrize("solver", SOLVERS)
    @pytest.mark.parametrize("point", BEYOND)
    def test_no_joint_leaps(self, point, solver):
        clip, goal = loaded(), Position("LeftHand", point)
        baked = poise.bake(clip, goal, solver=solver)
        assert not baked.result.reached.any()
        assert leap(clip, baked, np.array(point)) < 2.0

    def test_that_alone_frames_do_leap(self):
        clip, point = loaded(), np.array(BEYOND[0])
        alone = poise.bake(clip, Position("LeftHand", point), solver="fabrik", continuous=False)
        assert leap(clip, alone, point) > 100.0

    @pytest.mark.parametrize("solver", SOLVERS)
    def test_a_target_is_missed_by_hardly_more(self, solver):
        clip, goal = loaded(), Position("LeftHand", BEYOND[2])
        alone, whole = (poise.bake(clip, goal, solver=solver, continuous=each).result for each in (False, True))
        length = whole.problem.plan.max_reach
        assert (whole.errors <= alone.errors + 0.011 * length).all()

    def test_lengths_that_differ_from_frame_to_frame(self):
        clip, point = stretched(np.linspace(0.8, 1.3, 31)), np.array(BEYOND[0])
        baked = poise.bake(clip, Position("LeftHand", point), solver="fabrik")
        np.testing.assert_array_equal(baked.poses.translations, clip.poses.translations)
        assert leap(clip, baked, point) < 2.0


class TestWhatStays:
    def test_frames_without_leaps(self):
        """Bit for bit what each frame alone gives."""
        clip = loaded()
        hand = clip.poses.world["LeftHand"].positions + np.array([0.01, 0.01, 0.0])
        for root in (None, "LeftArm"):
            goal = Position("LeftHand", hand, root=root)
            alone, whole = (poise.bake(clip, goal, natural=False, continuous=each).result for each in (False, True))
            for what in ("q", "errors", "iterations", "joint_updates", "codes", "reached"):
                np.testing.assert_array_equal(getattr(whole, what), getattr(alone, what))

    def test_what_met_its_goals(self):
        """Frames that meet them keep their pose, although those beside them are drawn away."""
        clip = loaded()
        hand = clip.poses.world["LeftHand"].positions.copy()
        hand[10:20] = BEYOND[0]
        baked = poise.bake(clip, Position("LeftHand", hand))
        still = np.r_[:10, 20:31]
        np.testing.assert_array_equal(baked.poses.q[still], clip.poses.q[still])
        assert baked.result.reached[still].all()
        assert not baked.result.reached[10:20].any()

    def test_what_was_reached_is(self):
        clip = loaded()
        hand = clip.poses.world["LeftHand"].positions
        shoulder = clip.poses.world["LeftArm"].positions
        target = shoulder + (hand - shoulder) * (1.0 + 0.5 * np.sin(np.linspace(0, 6, len(hand))))[:, None]
        alone, whole = (
            poise.bake(clip, Position("LeftHand", target), continuous=each, natural=False).result
            for each in (False, True)
        )
        assert (whole.q != alone.q).any()
        np.testing.assert_array_equal(whole.reached, alone.reached)
        np.testing.assert_array_equal(whole.reached, whole.problem.is_met(whole.errors, whole.tolerances))
        np.testing.assert_allclose(
            np.linalg.norm(whole.pose.world["LeftHand"].positions - target, axis=-1), whole.errors[:, 0], atol=1e-12
        )
        assert str(whole).startswith(f"{whole.reached.sum()} of {len(target)} reached")

    def test_numbers_of_joints_that_do_not_move(self):
        clip = loaded()
        baked = poise.bake(clip, Position("LeftHand", BEYOND[1]))
        still = np.ones(clip.skeleton.nq, dtype=bool)
        for joint in baked.result.joints:
            still[clip.skeleton.q_slice(joint)] = False
        np.testing.assert_array_equal(baked.poses.q[:, still], clip.poses.q[:, still])
        assert baked.result.violation <= 1e-9

    def test_threads(self):
        clip, goal = loaded(), Position("LeftHand", BEYOND[0])
        one, two = (poise.bake(clip, goal, threads=threads).poses.q for threads in (1, 2))
        np.testing.assert_array_equal(one, two)

    @pytest.mark.parametrize("frames", [0, 1, 2])
    def test_few_frames(self, frames):
        clip = poise.Clip(loaded().times[:frames], loaded().poses[:frames])
        assert len(poise.bake(clip, Position("LeftHand", BEYOND[0]))) == frames


class TestOtherRigs:
    @pytest.mark.parametrize(
        ("solver", "most"), [("levenberg_marquardt", 20.0), ("damped_least_squares", 20.0), ("fabrik", 60.0)]
    )
    def test_a_robot_arm(self, solver, most):
        clip, goal = swung(), Position("tool", (3.0, 4.0, 2.0))
        alone, whole = (poise.bake(clip, goal, solver=solver, continuous=each) for each in (False, True))
        joints = whole.result.joints
        assert not whole.result.reached.any()
        assert turns(whole.poses, joints).max() < min(most, turns(alone.poses, joints).max() + 1e-9)

    @pytest.mark.parametrize("suffix", [".bvh", ".glb"])
    def test_a_free_root(self, suffix):
        """A hand that is three metres away: the whole figure goes there."""
        clip, goal = walk(suffix), Position("LeftHand", BEYOND[0], root="Hips")
        alone, whole, natural = (
            poise.bake(clip, goal, free_root=True, **options)
            for options in ({"natural": False, "continuous": False}, {"natural": False}, {})
        )
        assert whole.result.reached.all()
        assert natural.result.reached.all()
        assert turns(alone.poses, whole.result.joints).max() > 15.0
        assert turns(whole.poses, whole.result.joints).max() < 10.0
        assert turns(natural.poses, whole.result.joints).max() < 10.0

    def test_near_the_poses_of_the_clip(self):
        clip = loaded()
        goals = [Position("LeftHand", (0.3, 1.3, 0.4), root="Spine"), Near(clip.poses)]
        baked = poise.bake(clip, goals)
        assert baked.result.reached.all()
        assert turns(baked.poses, baked.result.joints).max() < 10.0

    def test_a_chain_of_fixed_joints(self):
        s = straight_chain(2)
        clip = poise.Clip(np.arange(3.0), poise.Pose(s, np.tile(s.rest_q, (3, 1))))
        assert len(poise.bake(clip, Position("tip", (9.0, 0.0, 0.0)))) == 3


def test_it_is_true_or_false():
    with pytest.raises(InputError, match="continuous"):
        poise.bake(loaded(), Position("LeftHand", BEYOND[0]), continuous="yes")


class TestPathsAroundTheBody:
    """A hand goes round the body, and behind the back and on. Each pose is solved from the one before."""

    WAVES = np.linspace(0.0, 2.0 * np.pi, 180)
    AROUND = np.stack([0.2 + 0.75 * np.cos(WAVES), 0.0 * WAVES, 0.1 + 0.75 * np.sin(WAVES)], axis=-1)
    BEHIND = np.stack([-0.3 + 0.55 * np.cos(WAVES), 0.0 * WAVES - 0.2, -0.3 + 0.15 * np.sin(WAVES)], axis=-1)

    @staticmethod
    def list_places(steps):
        """Places of the left hand from steps out, up and ahead, in lengths of the arm."""
        rest = figure().rest
        shoulder, elbow, hand = (rest.world[f"Left{part}"].positions for part in ("Arm", "ForeArm", "Hand"))
        arm = float(np.linalg.norm(elbow - shoulder) + np.linalg.norm(hand - elbow))
        return shoulder + arm * steps

    @pytest.mark.parametrize("steps", [AROUND, BEHIND], ids=["around", "behind"])
    @pytest.mark.parametrize("how", ["solve", "Tracker", "bake"])
    def test_the_elbow_does_not_leap(self, how, steps):
        rest, places = figure().rest, self.list_places(steps)
        if how == "Tracker":
            tracker = poise.Tracker(rest, Position("LeftHand", places[0]))
            q = [tracker(place, dt=1.0 / 60.0).pose.q for place in places]
        elif how == "bake":
            still = poise.Clip.at_rate(poise.Pose(rest.skeleton, np.tile(rest.q, (len(places), 1))), 60.0, "still")
            q = poise.bake(still, Position("LeftHand", places)).poses.q
        else:
            pose, q = rest, []
            for place in places:
                pose = poise.solve(pose, Position("LeftHand", place)).pose
                q.append(pose.q)
        world = poise.Pose(rest.skeleton, np.array(q)).world
        assert np.abs(world["LeftHand"].positions - places).max() < 2e-3
        change = np.linalg.norm(np.diff(world["LeftForeArm"].positions, 2, axis=0), axis=-1)
        assert change[3:].max() < 0.010  # [m] a frame; elbows that leap go 0.1 to 0.4


@cache
def figure():
    return poise.load(samples.path("humanoid.glb"))
