"""Settling: what becomes of pelvis, legs and toes once feet are down."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import poise
from poise import Terrain
from poise.ground.figure.figure import figure_of
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import ANKLE, FOOT, HIP, KNEE, TOES, motion_of
from poise.ground.legs.write_back import moved_poses
from poise.io import samples
from poise.maths import rotations
from tests.ground.feet import SOLES, footing_of, standing
from tests.ground.leg_problems import crouching, list_contacts, measure_ankle_moves, measure_chords, place, pose, settle
from tests.ground.motions import load, two_legs

FLAT = Footing(Terrain.flat(up="z"), two_legs())
RATES = [24.0, 60.0, 240.0]


def measure_turns(turned):
    """Measure by how much (F, L, 4) parts of legs turn [rad]."""
    return np.linalg.norm(rotations.as_vector(turned.turns), axis=-1)


def shift(motion, up, legs=(True, False)):
    """Place feet that are higher by `up` (F,) [m]."""
    return place(motion, np.asarray(up)[:, None, None] * np.array(legs)[:, None] * [0.0, 0.0, 1.0])


def make_bump(frames, size):
    """Make a smooth way (F,) up and down, over all frames."""
    return size * (0.5 - 0.5 * np.cos(np.linspace(0.0, 2.0 * np.pi, frames)))


class TestStill:
    @pytest.mark.parametrize("fps", RATES)
    @pytest.mark.parametrize("lower", [0.0, 0.001, 0.05, 0.4])
    def test_who_stands_on_its_own_floor_stays(self, fps, lower):
        motion = crouching(30, fps=fps, lower=lower) if lower else standing(30, fps=fps)
        turned = settle(motion, FLAT)
        np.testing.assert_allclose(turned.up, 0.0, atol=1e-6 if lower else 1e-4)  # straight legs keep 0.9999 of a leg
        np.testing.assert_allclose(measure_ankle_moves(motion, turned), 0.0, atol=1e-6 if lower else 1e-4)
        assert measure_turns(turned).max() < (1e-5 if lower else 0.03)

    @pytest.mark.parametrize("frames", [1, 2, 3])
    def test_clips_of_few_frames(self, frames):
        motion = crouching(frames)
        turned = settle(motion, FLAT)
        np.testing.assert_allclose(turned.up, 0.0, atol=1e-9)
        assert measure_turns(turned).max() < 1e-6

    def test_feet_without_toes(self):
        turned = settle(crouching(20, toes=False), FLAT)
        assert measure_turns(turned).max() < 1e-5

    def test_times_that_repeat(self):
        motion = dataclasses.replace(crouching(4), times=np.zeros(4))
        turned = settle(motion, FLAT)
        assert np.isfinite(turned.turns).all()
        np.testing.assert_allclose(turned.up, 0.0, atol=1e-6)

    def test_a_shin_of_no_length(self):
        motion = crouching(10)
        places = motion.places.copy()
        places[:, :, KNEE] = places[:, :, ANKLE]
        turned = settle(dataclasses.replace(motion, places=places), FLAT)
        assert np.isfinite(turned.turns).all()
        assert np.isfinite(turned.up).all()


class TestStances:
    @pytest.mark.parametrize("fps", RATES)
    def test_feet_that_stand_are_where_they_were_put(self, fps):
        motion = crouching(40, fps=fps)
        feet = shift(motion, np.linspace(0.0, 0.1, 40))
        turned = settle(motion, FLAT, feet=feet, contacts=list_contacts(motion))
        ball = turned.ankles + rotations.rotate(turned.turns[:, :, FOOT], np.broadcast_to(SOLES.ball, (40, 2, 3)))
        np.testing.assert_allclose(ball, feet.pivots, atol=1e-6)

    def test_a_pelvis_sinks_for_a_foot_that_is_too_low(self):
        motion = crouching(60, lower=0.02)
        feet = shift(motion, np.full(60, -0.1))
        deep = footing_of(lambda x, _: np.where(x > 0.0, -0.1, 0.0))
        turned = settle(motion, deep, feet=feet)
        assert (turned.up < -0.05).all()
        assert (measure_chords(motion, turned) <= 0.8 * 0.985 + 0.001).all()

    @pytest.mark.parametrize("fps", RATES)
    def test_it_sinks_smoothly(self, fps):
        frames = round(1.5 * fps)
        motion = crouching(frames, fps=fps, lower=0.02)
        low = np.where(np.arange(frames) / fps < 0.7, 0.0, -0.1)
        contacts = list_contacts(motion)
        at = np.flatnonzero(np.diff(low))[0]
        contacts.heel[at - round(0.3 * fps) : at + 1, 0] = contacts.ball[at - round(0.3 * fps) : at + 1, 0] = False
        down = np.interp(np.arange(frames) / fps, [0.4, 0.7], [0.0, -0.1])
        ground = footing_of(lambda x, _: np.full_like(x, -0.1))
        turned = settle(motion, ground, feet=shift(motion, down), contacts=contacts)
        assert turned.up[-1] < -0.05
        assert np.abs(np.diff(turned.up, n=2)).max() * fps**2 < 25.0 * max(
            1.0, fps / 60.0
        )  # m/s^2: targets have a kink, which finer frames see

    @pytest.mark.parametrize("tilt", [0.0, 0.2])
    def test_in_many_frames_it_keeps_its_height_on_level_ground(self, tilt):
        ground = footing_of(lambda x, _: tilt * x)
        taus = []
        for fps in (24.0, 30.0, 120.0, 240.0):
            motion = crouching(10, fps=fps)
            feet = place(motion, np.zeros((10, 2, 3)))
            feet = dataclasses.replace(feet, tilt=rotations.about(np.array([0.0, 1.0, 0.0]), np.full((10, 2), -tilt)))
            taus.append(pose(motion, ground, feet=feet).pelvis_tau)
        np.testing.assert_allclose(taus, 0.1 if tilt else [0.04, 0.04, 0.02, 0.02], rtol=1e-9)

    def test_with_stretch_it_sinks_less_and_legs_grow(self):
        motion = crouching(40, lower=0.02)
        feet = shift(motion, np.full(40, -0.1))
        deep = footing_of(lambda x, _: np.where(x > 0.0, -0.1, 0.0))
        plain, longer = (settle(motion, deep, feet=feet, stretch=stretch) for stretch in (0.0, 0.03))
        assert (longer.up > plain.up + 0.01).all()
        assert longer.lengths.max() <= 1.03 + 1e-9
        assert longer.lengths.max() > 1.0


class TestSwings:
    def settle_bump(self, size, fps=60.0, ground=FLAT, frames=40):
        """Settle a left foot that is carried up and down again by a size [m] in the air."""
        motion = crouching(frames, fps=fps)
        stands = np.ones((frames, 2), dtype=np.bool_)
        stands[1:-1, 0] = False
        feet = shift(motion, make_bump(frames, size))
        contacts = list_contacts(motion, heel=stands, ball=stands)
        return motion, feet, settle(motion, ground, feet=feet, contacts=contacts)

    @pytest.mark.parametrize("size", [-0.03, -0.2])
    def test_soles_are_kept_out_of_the_ground(self, size):
        motion, _, turned = self.settle_bump(size)
        foot = rotations.multiply(turned.turns[:, :, FOOT], motion.turns[:, :, FOOT])
        for point in (SOLES.heel, SOLES.ball):
            height = (turned.ankles + rotations.rotate(foot, np.broadcast_to(point, (40, 2, 3))))[..., 2]
            assert height.min() > -0.001

    def test_a_leg_does_not_fold_up(self):
        motion, feet, turned = self.settle_bump(0.7)
        asked = np.linalg.norm(feet.ankles - motion.places[:, :, HIP], axis=-1)
        assert asked.min() < 0.15
        assert measure_chords(motion, turned).min() > 0.25 * 0.8 - 0.002

    @pytest.mark.parametrize("fps", RATES)
    def test_a_small_way_is_left_nearly_as_it_is_asked(self, fps):
        frames = round(fps)
        _, feet, turned = self.settle_bump(0.01, fps, frames=frames)
        assert np.abs(turned.ankles - feet.ankles).max() < 0.01

    def test_the_other_leg_stays(self):
        motion, _, turned = self.settle_bump(0.1)
        np.testing.assert_allclose(measure_ankle_moves(motion, turned)[:, 1], 0.0, atol=1e-4)


class TestToes:
    @pytest.mark.parametrize("height", [0.01, 0.02, 0.04])
    def test_they_bend_out_of_the_ground(self, height):
        motion = crouching(20)
        rising = footing_of(lambda x, y: height * (y < -0.18) + 0.0 * x)
        turned = settle(motion, rising)
        ends = motion.places[:, :, 3] + rotations.rotate(
            turned.turns[:, :, TOES], np.broadcast_to(SOLES.tip, (20, 2, 3))
        )
        assert (rising.heights(ends) - ends[..., 2]).max() < 0.003
        np.testing.assert_allclose(measure_ankle_moves(motion, turned), 0.0, atol=0.002)

    def test_by_60_degrees_at_most(self):
        turned = settle(crouching(20), footing_of(lambda x, y: 0.5 * (y < -0.17) + 0.0 * x))
        assert measure_turns(turned)[..., TOES].max() < np.radians(75.0)

    def test_where_nothing_is_in_their_way_they_stay(self):
        turned = settle(crouching(20), footing_of(lambda x, y: 0.02 * (y < -0.4) + 0.0 * x))
        assert measure_turns(turned)[..., TOES].max() < 1e-5


def cut_walk(rig, *, rest, start=0):
    """Return 20 frames of a rig's clip, which do not close, behind its rest pose or not."""
    walk = rig.clips[0]
    q, translations = walk.poses.q[start : start + 20], walk.poses.translations
    translations = None if translations is None else translations[start : start + 20]
    if rest:
        q = np.concatenate([rig.rest.q[None], q])
        if translations is not None:
            own = rig.skeleton.A[:, :3] if rig.rest.translations is None else rig.rest.translations
            translations = np.concatenate([own[None], translations])
    return poise.Clip.at_rate(poise.Pose(walk.skeleton, q, translations), 30.0)


def sink_first(clip, rig, depth):
    """Lower the first pose of a clip by `depth` [m]."""
    down = np.where(np.arange(len(clip))[:, None] == 0, [0.0, 0.0, -depth], 0.0)
    return poise.Clip(clip.times, moved_poses(clip.poses, figure_of(clip, rig=rig), down))


class TestHeels:
    """The left foot stands on a step behind the other, for a third of the time on its ball."""

    FREE = slice(40, 80)

    @staticmethod
    def settle_on_step(height, fps=120.0, *, stands=False):
        """Settle two legs. Returns the places of the left foot and the turns of both, and what became of them."""
        motion = crouching(120, fps=fps, lower=0.02)
        heel = np.ones((120, 2), dtype=bool)
        heel[TestHeels.FREE, 0] = stands
        contacts = list_contacts(motion, heel=heel)
        feet = place(motion, np.broadcast_to([[0.0, 0.25, height], [0.0, 0.0, 0.0]], (120, 2, 3)))
        feet = dataclasses.replace(feet, free=contacts.ball & ~contacts.heel)
        turned = settle(motion, FLAT, feet=feet, contacts=contacts)
        return feet, turned, np.degrees(measure_turns(turned)[:, :, FOOT])

    def test_a_free_heel_of_a_leg_that_folds_goes_up(self):
        feet, turned, angles = self.settle_on_step(0.3)
        assert 15.0 < angles[:, 0].max() < 30.0
        assert angles[self.FREE.start + 6 : self.FREE.stop - 6, 0].min() > 5.0
        np.testing.assert_allclose(np.delete(angles[:, 0], np.r_[self.FREE]), 0.0, atol=1e-6)
        np.testing.assert_allclose(angles[:, 1], 0.0, atol=1e-6)
        ball = turned.ankles[:, 0] + rotations.rotate(turned.turns[:, 0, FOOT], feet.pivots[:, 0] - feet.ankles[:, 0])
        np.testing.assert_allclose(ball, feet.pivots[:, 0], atol=1e-6)

    @pytest.mark.parametrize(("height", "stands"), [(0.3, True), (0.1, False)])
    def test_one_that_stands_stays_and_so_does_that_of_a_leg_that_folds_less(self, height, stands):
        _, _, angles = self.settle_on_step(height, stands=stands)
        np.testing.assert_allclose(angles, 0.0, atol=1e-6)

    @pytest.mark.parametrize("fps", [30.0, 60.0, 120.0])
    def test_it_goes_up_smoothly(self, fps):
        _, turned, angles = self.settle_on_step(0.3, fps)
        assert angles[:, 0].max() > 10.0
        assert np.linalg.norm(np.diff(turned.ankles[:, 0], n=2, axis=0), axis=-1).max() < 0.0055


class TestReferencePose:
    """Captured clips often begin with one frame of a reference pose."""

    @pytest.mark.parametrize("name", ["humanoid.glb", "humanoid.bvh"])
    @pytest.mark.parametrize("slope", [None, 10.0])
    def test_it_keeps_its_pose(self, name, slope):
        rig = load(samples.path(name))
        clip = cut_walk(rig, rest=True)
        planted = (
            poise.lock_feet(clip, rig=rig) if slope is None else poise.plant_feet(clip, Terrain.slope(slope), rig=rig)
        )
        for leg in figure_of(clip, rig=rig).legs:
            for joint in filter(None, (leg.upper, leg.lower, leg.foot, leg.toes)):
                part = clip.skeleton.q_slice(joint)
                np.testing.assert_allclose(planted.poses.q[0, part], clip.poses.q[0, part], atol=1e-9)

    @pytest.mark.parametrize("name", ["humanoid.glb", "humanoid.bvh"])
    def test_frames_after_it_are_as_without_it(self, name):
        rig = load(samples.path(name))
        planted = [poise.lock_feet(cut_walk(rig, rest=rest), rig=rig) for rest in (True, False)]
        places = [motion_of(clip, clip.figure).places for clip in planted]
        np.testing.assert_allclose(places[0][1:], places[1], atol=0.003)

    @pytest.mark.parametrize("start", [0, 4, 20])
    def test_its_place_does_not_matter(self, start):
        """Frames of zeros put the hips at the origin, and legs of a reference pose below the floor."""
        rig = load(samples.path("humanoid.bvh"))
        clip = cut_walk(rig, rest=True, start=start)
        planted = [
            poise.plant_feet(sink_first(clip, rig, depth), Terrain.slope(10.0), rig=rig) for depth in (0.0, 0.3, 1.0)
        ]
        places = [motion_of(clip, clip.figure).places for clip in planted]
        for moved in places[1:]:
            np.testing.assert_allclose(moved[1:], places[0][1:], atol=1e-6)

    def test_behind_the_clip_it_counts_in_no_measure(self):
        rig = load(samples.path("humanoid.bvh"))
        clip = sink_first(cut_walk(rig, rest=True), rig, 1.0)
        last = poise.Clip(clip.times, clip.poses[np.roll(np.arange(len(clip)), -1)])
        planted = poise.plant_feet(last, Terrain.slope(10.0), rig=rig)
        assert planted.kept[-1].all()
        assert planted.report.after.penetration < 1.0


def test_nan_is_refused_before_anything_is_solved():
    clip = load(samples.path("humanoid.glb")).clips[0]
    q = clip.poses.q.copy()
    q[5, 10] = np.nan
    with pytest.raises(poise.InputError):
        poise.lock_feet(poise.Clip(clip.times, clip.poses.with_q(q)))
