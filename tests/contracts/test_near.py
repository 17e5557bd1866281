"""Near with a batch of poses: each problem stays near its own, and gives the bits that it gives alone."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import poise
from poise import InputError, Near, Place, Position, samples
from poise.solving import batch as running
from tests.contracts.clips import FRAMES, grown, stretched, walk
from tests.contracts.problems import legal_poses, rest
from tests.strategies import figure, straight_chain

ROWS = np.array([0, 7, 13, 30])


def wanted_at(clip, rows):
    """Places for a hand beside those of the clip, within reach of the spine."""
    aside = np.array([0.05, -0.04, 0.08]) * np.ptp(clip.poses[0].world.positions[:, 1])
    return Position("LeftHand", clip.poses.world["LeftHand"].positions[rows] + aside, root="Spine")


def requested(clip, rows, joints=None):
    return [wanted_at(clip, rows), Near(clip.poses[rows].with_q(np.flip(clip.poses.q, 0)[rows]), joints=joints)]


CLIPS = {"numbers": walk, "lengths of its own": lambda: stretched((1.0, 1.1)), "sheared": lambda: grown(0.01)}


@pytest.mark.parametrize("joints", [None, {"Spine": 2.0, "LeftArm": 0.5}])
@pytest.mark.parametrize("clip", CLIPS)
class TestFrames:
    def test_each_alone(self, clip, joints):
        clip = CLIPS[clip]()
        whole = poise.bake(clip, requested(clip, slice(None), joints), continuous=False).result
        assert whole.shape == (FRAMES,)
        assert whole.reached.all()
        for row in ROWS:
            one = poise.solve(clip.poses[row], requested(clip, row, joints))
            np.testing.assert_array_equal(one.q, whole.q[row])
            assert one.message() == whole.message(row)

    def test_in_any_order_and_with_any_threads(self, clip, joints, monkeypatch):
        clip = CLIPS[clip]()
        whole = poise.bake(clip, requested(clip, slice(None), joints), continuous=False).result
        monkeypatch.setattr(running, "_MAX_PART_TARGETS", 8)
        some = poise.solve(clip.poses[ROWS[::-1]], requested(clip, ROWS[::-1], joints), threads=2)
        np.testing.assert_array_equal(some.q, whole.q[ROWS[::-1]])


def free_figure(count):
    s = figure(free=True)
    feet = poise.Pose(s, legal_poses(s, count, share=0.3)).world["r_foot"]
    return s, Place("r_foot", feet.positions, feet.rotations), poise.Pose(s, legal_poses(s, count, share=0.2))


def test_a_free_root_goes_by_the_translations_of_its_pose():
    """Poses that say their translations beside q: with a free root, that is where Near wants the root to be."""
    rig = poise.load(samples.path("humanoid.glb"))
    poses = rig.clips[0].poses[ROWS]
    moved = np.array(poses.translations)
    moved[:, 0] += [0.0, 0.0, 5.0]
    starts = poise.Pose(poses.skeleton, poses.q, moved)
    hand = np.add(starts.world["LeftHand"].positions, [0.0, 0.1, 0.1])
    many = poise.solve(starts, [Position("LeftHand", hand, root="Hips"), Near(starts)], free_root=True)
    for i in range(len(ROWS)):
        goals = [Position("LeftHand", hand[i], root="Hips"), Near(starts[i])]
        np.testing.assert_array_equal(many.q[i], poise.solve(starts[i], goals, free_root=True).q)


class TestOneStart:
    @pytest.mark.parametrize("how", [{}, {"prefer": "closest", "seeds": 8}])
    def test_each_alone(self, how, monkeypatch):
        s, goal, poses = free_figure(12)
        monkeypatch.setattr(running, "_MAX_PART_TARGETS", 5)
        monkeypatch.setattr(running, "_TIMED_TARGETS", 3)
        monkeypatch.setattr(running, "MIN_THREADED_WORK_S", 0.0)
        whole = poise.solve(rest(s), [goal, Near(poses)], free_root=True, threads=2, **how)
        assert whole.reached.all()
        for row in range(12):
            one = goal.with_target(goal.rows()[row])
            alone = poise.solve(rest(s), [one, Near(poses[row])], free_root=True, **how)
            np.testing.assert_array_equal(alone.q, whole.q[row])

    def test_one_target_for_all(self):
        s, goal, poses = free_figure(6)
        one = goal.with_target(goal.rows()[0])
        whole = poise.solve(rest(s), [one, Near(poses)], free_root=True)
        assert whole.shape == (6,)
        assert len(np.unique(whole.q, axis=0)) == 6
        np.testing.assert_array_equal(whole.q[2], poise.solve(rest(s), [one, Near(poses[2])], free_root=True).q)

    def test_axes_that_go_together(self):
        s, goal, poses = free_figure(6)
        targets = goal.with_target(goal.rows().reshape(2, 3, 7))
        one, other = Near(poses[:3], joints=["r_foot", "l_foot"]), Near(rest(s).with_q(poses.q[3:5, None]), weight=0.5)
        whole = poise.solve(rest(s), [targets, other, one], free_root=True)
        assert whole.shape == (2, 3)
        alone = [goal.with_target(goal.rows()[5]), Near(poses[4], weight=0.5), Near(poses[2], joints=one.joints)]
        np.testing.assert_array_equal(whole.q[1, 2], poise.solve(rest(s), alone, free_root=True).q)

    def test_prepared(self):
        s, goal, poses = free_figure(6)
        reach = poise.prepare(rest(s), [goal, Near(poses)], free_root=True)
        for call in (reach, copy.deepcopy(reach)):
            whole = call(goal.rows())
            np.testing.assert_array_equal(whole.q, poise.solve(rest(s), [goal, Near(poses)], free_root=True).q)
        shared = reach(goal.rows()[1])
        alone = poise.solve(rest(s), [goal.with_target(goal.rows()[1]), Near(poses[4])], free_root=True)
        np.testing.assert_array_equal(shared.q[4], alone.q)
        started = reach(goal.rows()[1], poses.q[0])
        alone = poise.solve(poses[0], [goal.with_target(goal.rows()[1]), Near(poses[4])], free_root=True)
        np.testing.assert_array_equal(started.q[4], alone.q)

    def test_an_empty_batch(self):
        s, goal, poses = free_figure(2)
        assert poise.solve(rest(s), [goal.with_target(goal.rows()[:0]), Near(poses[:0])]).shape == (0,)


class TestWhatDoesNotFit:
    @staticmethod
    def chain(count):
        s = straight_chain(3)
        return s, poise.Pose(s, np.tile(s.rest_q, (count, 1)))

    def test_targets(self):
        s, poses = self.chain(3)
        goal = Position("tip", np.ones((2, 3)))
        words = (
            r"^a batch of \(\) start poses and a batch of \(3,\) poses that Near prefers does not go with targets of"
        )
        with pytest.raises(InputError, match=words):
            poise.solve(rest(s), [goal, Near(poses)])
        with pytest.raises(InputError, match=r"^targets of shape \(2,\) do not go together, nor"):
            poise.prepare(rest(s), [goal, Near(poses)])(goal.rows())

    def test_each_other(self):
        s, poses = self.chain(3)
        words = r"^the poses of Near goals are batches of different shapes: \(3,\), \(2,\)$"
        with pytest.raises(InputError, match=words):
            poise.solve(rest(s), [Position("tip", (1, 1, 1)), Near(poses), Near(poses[:2])])

    def test_frames(self):
        _, poses = self.chain(3)
        clip = poise.Clip(np.arange(3.0), poses)
        with pytest.raises(InputError, match=r"has 3 frames; .* this Near has poses of shape \(2,\)$"):
            poise.bake(clip, [Position("tip", (1, 1, 1)), Near(poses[:2])])

    def test_a_tracker(self):
        s, poses = self.chain(3)
        with pytest.raises(
            InputError, match=r"^a tracker solves one frame at a time: give Near a single pose.*\(3,\)$"
        ):
            poise.Tracker(rest(s), [Position("tip", (1, 1, 1)), Near(poses)])
