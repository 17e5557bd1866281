"""Hands, elbows, knees and hips on the ground: what bears stays, and a body that lies goes with its ground."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import poise
from poise import Clip, Terrain
from poise.ground.bearing.lying import lean_on, lowness
from poise.ground.bearing.parts import bearing_of, part_places
from poise.ground.figure.figure import figure_of
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import motion_of
from poise.maths import rotations
from tests.ground.clips import clip_of
from tests.ground.quadrupeds import on_all_fours, skeleton

HELD = ("left hand", "right hand", "left knee", "right knee")
GROUNDS = {
    "flat": Terrain.flat(0.3, up="z"),
    "slope up": Terrain.slope(20.0, up="z"),
    "slope down": Terrain.slope(-20.0, up="z"),
    "slope across": Terrain.slope(15.0, direction=(1.0, 0.0, 0.0), up="z"),
}


def planted(clip, ground):
    return poise.plant_feet(clip, ground, up="z", metre=1.0)


def places(clip, whole):
    """Where the parts of a result are."""
    motion = motion_of(clip, whole.figure)
    return part_places(clip, motion, whole.bearing.arms)[1]


HOP = 0.12 * np.sin(np.pi * np.clip((np.arange(240) - 110) / 15, 0.0, 1.0))
"""Heights of a hop from frame 110 to 125 [m]."""


def raised(heights, fps=60.0, sway=0.0):
    """A clip on hands and knees of which each frame is so much higher [m]."""
    clip = on_all_fours(frames=len(heights), fps=fps, sway=sway)
    q = clip.poses.q.copy()
    q[:, clip.skeleton.q_slice("hips").start + 2] += heights
    return Clip(clip.times, poise.Pose(clip.skeleton, q), "raised")


def bearing_in(clip):
    """The support contacts of a clip whose feet are not held."""
    motion = motion_of(clip, figure_of(clip, up="z", metre=1.0))
    return bearing_of(clip, motion, np.zeros((len(motion), 2), bool), 0.0)


class TestParts:
    def test_hands_and_knees_bear_and_elbows_do_not(self):
        bearing = planted(on_all_fours(), GROUNDS["flat"]).bearing
        assert {part for part, on in zip(bearing.parts, bearing.on.T, strict=True) if on.all()} == set(HELD)
        assert not bearing.on[:, bearing.columns("left elbow", "right elbow", "hips")].any()

    def test_who_walks_stands_on_feet_alone(self, data):
        rig, clip = clip_of(data, "cmu_12_01_walk")
        assert poise.lock_feet(clip, rig=rig).bearing is None

    def test_arms_of_who_lies_touch_the_ground_but_do_not_bear(self, data):
        rig, clip = clip_of(data, "knight lies")
        bearing = poise.plant_feet(clip, Terrain.flat(), rig=rig).bearing
        assert bearing.touches.any()
        assert not bearing.on.any()

    def test_a_part_that_is_quick_does_not_bear(self):
        clip = on_all_fours(sway=0.25, fps=240.0, frames=240)
        figure = figure_of(clip, up="z", metre=1.0)
        motion = motion_of(clip, figure)
        bearing = bearing_of(clip, motion, np.zeros((len(motion), 2), bool), 0.0)
        assert bearing is None or not bearing.on[:, bearing.columns("left knee")].all()

    def test_a_knee_bears_from_where_it_has_come_down(self, data):
        """A knee of a crouch bore while it still fell: 7 cm over the ground, where it was held at once."""
        rig = poise.load(data / "bvh/mocapbank.bvh")
        bearing = poise.lock_feet(rig.clips[0], rig=rig).bearing
        (knee,) = bearing.columns("right knee")
        frames = np.flatnonzero(bearing.on[:, knee])
        assert len(frames) > 100
        assert (bearing.heights[frames[[0, -1]], knee] < bearing.heights[frames, knee].mean() + 0.02).all()

    @pytest.mark.parametrize("higher", [-0.03, 0.02, 0.03])
    def test_parts_that_hop_to_ground_of_another_height_bear_there_too(self, higher):
        bearing = bearing_in(raised(np.where(np.arange(240) < 118, 0.0, higher) + HOP))
        on = bearing.on[:, bearing.columns(*HELD)]
        assert on[:100].all()
        assert not on[114:120].any()
        assert on[140:].all()

    def test_a_hop_to_higher_ground_ends_in_hands_that_stay(self):
        clip = raised(np.where(np.arange(240) < 118, 0.0, 0.03) + HOP, sway=0.03)
        hand = planted(clip, Terrain.flat(0.0, up="z")).poses.world["leftHand"].positions
        assert np.ptp(hand[140:], axis=0).max() < 0.002

    def test_parts_keep_bearing_where_their_ground_rises(self):
        """Hands and knees on a floor 2 cm higher for the last 40 % of a contact."""
        bearing = bearing_in(raised(0.02 * np.clip((np.arange(240) - 144) / 12, 0.0, 1.0)))
        assert bearing.on[:, bearing.columns(*HELD)].all()

    def test_no_contact_comes_out_shorter_than_a_tenth_of_a_second(self):
        """A contact of 0.15 s whose ends are 2 cm over its middle of 0.08 s."""
        heights = np.repeat([0.065, 0.055, 0.035, 0.055, 0.065], [100, 8, 19, 8, 105])
        bearing = bearing_in(raised(heights, fps=240.0))
        knees = bearing.columns("left knee", "right knee")
        assert bearing.touches[110, knees].all()
        assert not bearing.on[:, knees].any()

    def test_a_single_pose_has_parts_too(self):
        clip = on_all_fours()
        once = Clip(clip.times[:1], clip.poses[:1], clip.name)
        assert planted(once, GROUNDS["slope up"]).bearing.on.any()

    def test_its_places_count_from_the_floor_of_the_clip(self):
        bearing = planted(on_all_fours(), GROUNDS["flat"]).bearing
        np.testing.assert_allclose(bearing.heights, bearing.places[..., 2] - bearing.floor)

    def test_who_has_no_arms_kneels_all_the_same(self):
        clip = on_all_fours()
        names = {name: f"bone {i}" for i, name in enumerate(clip.skeleton.names) if "Arm" in name or "Hand" in name}
        nameless = poise.Skeleton.build(
            [names.get(name, name) for name in clip.skeleton.names], clip.skeleton.parents, clip.skeleton.kinds,
            offsets=clip.skeleton.A[:, :3],
        )  # fmt: skip
        whole = planted(Clip(clip.times, poise.Pose(nameless, clip.poses.q), "armless"), GROUNDS["slope up"])
        knees = whole.bearing.columns("left knee", "right knee")
        assert whole.bearing.arms == ()
        assert np.ptp(places(whole, whole)[:, knees], axis=0).max() < 0.008

    def test_frames_at_one_time_are_no_trouble(self):
        clip = on_all_fours(frames=3)
        whole = planted(Clip(np.zeros(3), clip.poses, "still"), GROUNDS["slope up"])
        assert np.isfinite(whole.poses.q).all()


class TestHeld:
    @pytest.mark.parametrize("ground", GROUNDS)
    def test_what_bears_stays_on_its_ground(self, ground):
        whole = planted(on_all_fours(), GROUNDS[ground])
        columns = whole.bearing.columns(*HELD)
        here = places(whole, whole)[:, columns]
        before = places(whole.source, whole)[:, columns]
        slid = np.ptp(here, axis=0).max(axis=-1)
        assert slid[:2].max() < 0.002  # hands
        assert slid[2:].max() < 0.008  # both knees hang from one pelvis, which the ground may ask to turn
        assert np.ptp(before, axis=0).max() > 0.05
        clear = here[..., 2] - Footing(whole.terrain, whole.figure).heights(here)
        np.testing.assert_allclose(clear, whole.bearing.least[:, columns], atol=0.008)

    def test_so_it_does_where_feet_are_locked(self):
        whole = poise.lock_feet(on_all_fours(), up="z", metre=1.0)
        columns = whole.bearing.columns(*HELD)
        assert np.ptp(places(whole, whole)[:, columns], axis=0).max() < 0.002

    def test_bones_keep_their_lengths(self):
        whole = planted(on_all_fours(), GROUNDS["slope up"])
        assert whole.poses.translations is None

    def test_hands_lie_on_the_slope(self):
        whole = planted(on_all_fours(), GROUNDS["slope across"])
        before, after = (clip.poses.world["leftHand"].rotations for clip in (whole.source, whole))
        turn = rotations.multiply(after, rotations.inverse(before))
        np.testing.assert_allclose(
            rotations.rotate(turn, np.array([0.0, 0.0, 1.0]))[:, 0], -np.sin(np.radians(15.0)), atol=0.02
        )

    def test_nothing_moves_where_nothing_has_to(self):
        still = on_all_fours(sway=0.0)
        whole = planted(still, Terrain.flat(up="z"))
        away = whole.poses.world.positions - still.poses.world.positions
        assert np.abs(away).max() < 1e-6

    def test_the_same_bits_again(self):
        first, second = (planted(on_all_fours(), GROUNDS["slope up"]) for _ in range(2))
        np.testing.assert_array_equal(first.poses.q, second.poses.q)
        given = poise.plant_feet(
            first.source, GROUNDS["slope up"], up="z", metre=1.0, contacts=first.contacts, soles=first.soles
        )
        np.testing.assert_array_equal(given.poses.q, first.poses.q)


class TestFeetOnly:
    def test_then_nothing_else_is_looked_at(self):
        whole = poise.plant_feet(on_all_fours(), GROUNDS["slope up"], up="z", metre=1.0, feet_only=True)
        assert whole.bearing is None
        assert not any("beside feet" in note for note in whole.notes)

    def test_else_a_note_says_what_is_on_the_ground(self):
        notes = planted(on_all_fours(), GROUNDS["slope up"]).notes
        assert any(note.startswith("on the ground beside feet: left hand in 120 frames") for note in notes)

    def test_a_body_that_some_limb_bears_is_not_reported_to_lie(self):
        crawls = planted(on_all_fours(), GROUNDS["flat"])
        assert crawls.bearing.lies.all()  # its hips are that low
        assert not any("the body" in note for note in crawls.notes)


class TestLying:
    def test_a_body_on_hands_and_knees_leans_with_a_slope(self):
        clip = on_all_fours()
        whole = planted(clip, GROUNDS["slope up"])
        before, after = (each.poses.world["hips"].rotations for each in (clip, whole))
        turn = rotations.as_vector(rotations.multiply(after, rotations.inverse(before)))
        np.testing.assert_allclose(np.degrees(np.linalg.norm(turn, axis=-1)), 20.0, atol=2.0)

    def test_a_body_that_stands_does_not(self):
        clip = on_all_fours(pitch=15.0)
        figure = figure_of(clip, up="z", metre=1.0)
        motion = motion_of(clip, figure)
        crawl = planted(on_all_fours(), GROUNDS["flat"]).bearing
        upright = dataclasses.replace(crawl, torso_level=np.zeros(len(motion)))
        assert lowness(upright, motion).max() < 0.05

    def test_the_plane_under_what_bears_is_found(self):
        clip = on_all_fours()
        whole = planted(clip, GROUNDS["slope up"])
        motion = motion_of(clip, whole.figure)
        lean = lean_on(whole.bearing, motion, np.ones(len(motion)), Footing(GROUNDS["slope up"], whole.figure))
        angle = np.degrees(np.linalg.norm(rotations.as_vector(lean.turn), axis=-1))
        assert (np.abs(angle - 20.0) < 2.0).all()


class TestReport:
    def test_hands_and_knees_are_measured(self):
        report = planted(on_all_fours(), GROUNDS["slope up"]).report
        before, after = report.parts
        assert before.skate > 5.0
        assert after.skate < 0.3
        assert before.deepest > 100.0
        assert after.deepest < 2.0
        assert "hands and knees, skate" in str(report)
        reported = report.as_object()["parts"]
        assert reported["skate"] == [before.skate, after.skate]
        assert reported["on_the_ground"]["left hand"] == 1.0
        assert {"left hand", "left elbow"} <= set(report.jumps.joints)

    def test_what_slides_is_reported_with_its_name(self):
        clip = on_all_fours()
        whole = planted(clip, Terrain.flat(up="z"))
        slid = dataclasses.replace(whole, poses=clip.poses)
        message = [str(worse) for worse in slid.report.worse]
        assert any(words.startswith("hands and knees slide by 1") and "most the" in words for words in message)

    def test_and_what_sinks(self):
        whole = planted(on_all_fours(), GROUNDS["slope up"])
        sunk = dataclasses.replace(whole, poses=whole.source.poses)
        assert any("lower over the ground than it rests" in str(worse) for worse in sunk.report.worse)

    def test_feet_alone_are_reported_as_before(self, data):
        rig, clip = clip_of(data, "cmu_12_01_walk")
        report = poise.lock_feet(clip, rig=rig).report
        assert report.parts is None
        assert report.as_object()["parts"] is None


def test_the_figure_of_these_tests_has_arms_and_legs():
    assert poise.find_roles(skeleton()).kind == "humanoid"


class TestOddClips:
    def test_no_stretch_goes_over_a_cut(self):
        clip = on_all_fours(sway=0.01)
        q = clip.poses.q.copy()
        start = clip.skeleton.q_slice("hips").start
        q[60:, start] += 2.0
        whole = planted(Clip(clip.times, poise.Pose(clip.skeleton, q), "cut"), Terrain.flat(up="z"))
        moved = whole.poses.world["hips"].positions - whole.source.poses.world["hips"].positions
        assert np.abs(moved).max() < 0.1
        assert not whole.bearing.on[60].any()

    @pytest.mark.parametrize("height", [-1.0, 1.0])
    def test_a_clip_on_another_floor(self, height):
        clip = on_all_fours()
        q = clip.poses.q.copy()
        q[:, clip.skeleton.q_slice("hips").start + 2] += height
        whole = planted(Clip(clip.times, poise.Pose(clip.skeleton, q), "raised"), Terrain.flat(up="z"))
        columns = whole.bearing.columns(*HELD)
        assert whole.bearing.on[:, columns].all()
        np.testing.assert_allclose(places(whole, whole)[..., columns, 2], whole.bearing.least[:, columns], atol=0.008)

    def test_a_loop_in_place_without_contacts(self, data):
        rig, clip = clip_of(data, "knight walks")
        found = poise.lock_feet(clip, rig=rig)
        none = dataclasses.replace(
            found.contacts, heel=np.zeros_like(found.contacts.heel), ball=np.zeros_like(found.contacts.ball), fine=None
        )
        assert np.isfinite(poise.lock_feet(clip, rig=rig, contacts=none).poses.q).all()

    def test_the_lean_turns_arms_and_legs_alike(self):
        clip = on_all_fours()
        whole = poise.plant_feet(clip, GROUNDS["slope up"], up="z", metre=1.0, legs=["left"])
        before, after = (each.poses.world["chest"].rotations for each in (clip, whole))
        turn = rotations.as_vector(rotations.multiply(after, rotations.inverse(before)))
        assert (np.degrees(np.linalg.norm(turn, axis=-1)) > 15.0).all()

    def test_legs_that_may_stretch(self):
        whole = poise.plant_feet(on_all_fours(), GROUNDS["slope up"], up="z", metre=1.0, stretch=0.02)
        columns = whole.bearing.columns(*HELD)
        assert np.ptp(places(whole, whole)[:, columns], axis=0).max() < 0.008
