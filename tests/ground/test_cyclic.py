"""Loops: a cyclic clip in place can be repeated after planting; and contacts given back unedited change nothing."""

from __future__ import annotations

import dataclasses
import json
from functools import cache

import numpy as np
import pytest

from poise import Clip, InputError, Terrain, lock_feet, plant_feet
from poise.ground.contact.contact_files import load_contacts, save_contacts
from poise.ground.contact.contacts import Contacts
from poise.ground.contact.cyclic import Repeats, closes, repeats_of
from poise.ground.contact.plants import Plants, Stances
from poise.ground.figure.figure import figure_of
from poise.ground.figure.motion import Motion, motion_of
from poise.maths import rotations
from tests.ground.clips import clip_of, ground_of

LOOPS = ("knight walks", "knight walks on", "knight runs", "robot walks", "fox walks", "fox runs", "man walks")
GIVEN = ("knight walks", "robot walks", "fox walks", "cmu_12_01_walk")


@cache
def planted_on(data, name, kind, in_place="travel"):
    rig, clip = slow_clip(data, name)
    return plant_feet(clip, ground_of(kind, figure_of(clip, rig=rig).up), rig=rig, in_place=in_place)


def slow_clip(data, name):
    """The clip of a short name; captured ones at 30 frames a second."""
    rig, clip = clip_of(data, name)
    return rig, clip if len(clip) < 100 else clip.resample(30.0)


def gap(clip, metre, along=0.0):
    """How far the last pose is from the first, moved along [file units]: [m] and [deg], the most of all joints."""
    places, turns = clip.poses.world.positions, clip.poses.world.rotations
    apart = np.linalg.norm(places[-1] - places[0] - along, axis=-1) / metre
    between = rotations.as_vector(rotations.multiply(rotations.inverse(turns[0]), turns[-1]))
    return apart.max(), np.degrees(np.linalg.norm(between, axis=-1).max())


def same(a, b):
    """How far apart joints of two clips are, the most [file units]."""
    return np.linalg.norm(a.poses.world.positions - b.poses.world.positions, axis=-1).max()


class TestEndsMeet:
    @pytest.mark.parametrize("name", LOOPS)
    def test_kept_in_place(self, data, name):
        planted = planted_on(data, name, "flat", "keep")
        assert planted.velocity is not None
        assert planted.contacts.any.any()
        apart, turned = gap(planted, planted.figure.metre)
        assert apart <= 0.001
        assert turned <= 0.1

    @pytest.mark.parametrize("name", LOOPS)
    def test_travelling_beside_the_path(self, data, name):
        planted = planted_on(data, name, "flat")
        way = planted.travelled.poses.world.positions - planted.source.poses.world.positions
        apart, turned = gap(planted, planted.figure.metre, way[-1] - way[0])
        assert np.linalg.norm(way[-1]) > 0.5 * planted.figure.metre
        assert apart <= 0.001
        assert turned <= 0.1

    @pytest.mark.parametrize("name", ["knight walks", "fox walks"])
    @pytest.mark.parametrize("hurry", [0.75, 0.5])
    def test_of_quick_clips(self, data, name, hurry):
        rig, clip = clip_of(data, name)
        locked = lock_feet(Clip(clip.times * hurry, clip.poses, clip.name), rig=rig)
        assert locked.velocity is not None
        apart, turned = gap(locked, locked.figure.metre)
        assert apart <= 0.001
        assert turned <= 0.1

    @pytest.mark.parametrize("name", ["knight walks", "robot walks"])
    def test_with_soles_of_another_clip(self, data, name):
        rig, clip = clip_of(data, name)
        locked = lock_feet(clip, rig=rig, soles=planted_on(data, name, "flat").soles)
        assert gap(locked, locked.figure.metre)[0] <= 0.001

    def test_with_contacts_by_hand(self, data):
        rig, clip = clip_of(data, "knight walks")
        first = planted_on(data, "knight walks", "flat")
        end = first.times[-1]
        steps = {"left": {"ball": [(0.0, 0.2), (end - 0.2, end)]}, "right": {"ball": [(0.45, 0.8)]}}
        contacts = Contacts.from_intervals(steps, first.contacts.legs, first.times)
        locked = lock_feet(clip, rig=rig, contacts=contacts)
        assert gap(locked, locked.figure.metre)[0] <= 0.001
        assert len(locked.plants.rise) == 3


class TestWhatIsKept:
    @pytest.mark.parametrize("name", ["knight walks", "fox walks"])
    def test_frames_and_path_are_those_of_the_clip(self, data, name):
        planted = planted_on(data, name, "stairs")
        assert len(planted) == len(planted.source) == len(planted.contacts.times)
        np.testing.assert_array_equal(planted.times, planted.source.times)
        np.testing.assert_allclose(planted.contacts.times, planted.times, atol=1e-12)
        at_once = (planted.travelled.poses[:1].world.positions, planted.source.poses[:1].world.positions)
        np.testing.assert_allclose(*at_once, atol=1e-9 * planted.figure.metre)

    @pytest.mark.parametrize("name", ["knight walks", "fox walks"])
    def test_plants_are_within_the_clip(self, data, name):
        planted = planted_on(data, name, "stairs")
        stances, stands = planted.plants.stances, np.flatnonzero(planted.contacts.any.any(axis=1))
        assert stances.start.min() == stands[0]
        assert stances.end.max() == stands[-1] + 1 <= len(clip_of(data, name)[1])

    def test_only_its_own_ground_counts(self, data):
        """A plate under the repeat before alone is under no foot; one under the clip alone is under all."""
        rig, clip = clip_of(data, "knight walks")
        first = planted_on(data, "knight walks", "flat")
        way = (first.travelled.poses.world.positions - first.source.poses.world.positions)[-1, -1]
        here, behind = (
            Terrain.heightmap(np.zeros((2, 2)), size=1.2 * np.linalg.norm(way), origin=place, unit=1.0)
            for place in (0.8 * way, -0.5 * way)
        )
        assert plant_feet(clip, here, rig=rig).notes[:1] == first.notes[:1]  # no word of the ground's edge
        with pytest.raises(InputError, match="none of the 2 places"):
            plant_feet(clip, behind, rig=rig)

    @pytest.mark.parametrize("name", LOOPS)
    def test_first_and_last_frame_stand_alike(self, data, name):
        contacts = planted_on(data, name, "flat").contacts
        np.testing.assert_array_equal(contacts.heel[0], contacts.heel[-1])
        np.testing.assert_array_equal(contacts.ball[0], contacts.ball[-1])


class TestCloses:
    def motion(self, data):
        rig, clip = clip_of(data, "knight walks")
        return motion_of(clip, figure_of(clip, rig=rig))

    def test_a_cycle(self, data):
        assert closes(self.motion(data))

    @pytest.mark.parametrize(("apart", "answer"), [(0.0009, True), (0.0011, False)])
    @pytest.mark.parametrize("place", [0, 4])
    def test_places_within_a_millimetre(self, data, apart, answer, place):
        motion = self.motion(data)
        places = motion.places.copy()
        places[-1, 1, place] = places[0, 1, place] + [0.0, apart, 0.0]
        assert closes(dataclasses.replace(motion, places=places)) == answer

    @pytest.mark.parametrize(("angle", "answer"), [(0.09, True), (0.11, False)])
    def test_turns_within_a_tenth_of_a_degree(self, data, angle, answer):
        motion = self.motion(data)
        turns = motion.turns.copy()
        turn = rotations.about(np.array([0.0, 0.0, 1.0]), np.radians(angle))
        turns[-1, 0, 2] = -rotations.multiply(turn, turns[0, 0, 2])
        assert closes(dataclasses.replace(motion, turns=turns)) == answer

    def test_who_does_not_walk_in_place_is_not_repeated(self, data):
        planted = planted_on(data, "knight stands", "flat")
        assert planted.velocity is None
        assert len(planted.contacts.times) == len(planted)


class TestRepeats:
    def motion(self, figure):
        rows = np.arange(4.0)
        places = np.broadcast_to(rows[:, None, None, None], (4, 2, 5, 3)).copy()
        return Motion(figure, 1.0 + np.array([0.0, 0.1, 0.2, 0.4]), places, np.ones((4, 2, 4, 4)))

    def test_neighbours_share_a_frame_and_the_middle_is_the_clip(self):
        motion, repeats = self.motion(None), Repeats(4, 2)
        long = repeats.of_motion(motion)
        assert long.places[:, 0, 0, 0].tolist() == [0, 1, 2, 0, 1, 2, 0, 1, 2, 3, 1, 2, 3, 1, 2, 3]
        assert np.diff(long.times) == pytest.approx([0.1, 0.1, 0.2] * 5)
        np.testing.assert_array_equal(long.times[repeats.middle], motion.times)
        np.testing.assert_array_equal(repeats.take_middle(long).places, motion.places)

    def test_finer_ones_have_the_same_middle(self):
        motion, repeats = self.motion(None), Repeats(4, 1)
        fine = repeats.of_motion(motion).finer(3)
        assert len(repeats.finer(3).rows) == len(fine)
        assert fine.times[repeats.finer(3).middle] == pytest.approx(motion.finer(3).times)

    def test_no_loop_is_its_own_middle(self):
        motion, repeats = self.motion(None), Repeats(4)
        assert repeats.of_motion(motion) is motion
        assert repeats.take_middle(motion) is motion
        assert motion.times[repeats.middle].tolist() == motion.times.tolist()

    @pytest.mark.parametrize(("length", "around"), [(0.36, 3), (0.99, 2), (1.0, 1), (3.0, 1), (0.0, 0)])
    def test_a_second_on_either_side(self, length, around):
        motion = dataclasses.replace(self.motion(None), times=np.linspace(0.0, length, 4))
        assert repeats_of(motion) == Repeats(4, around)

    def test_plants_of_the_middle(self):
        """Frames 3 to 6 of 10 are kept: what ends before or starts after is left out."""
        start, end = np.array([0, 2, 4, 5, 7]), np.array([3, 4, 5, 9, 9])
        five = np.arange(5.0)
        rows = {f.name: five for f in dataclasses.fields(Plants) if f.name != "stances"}
        plants = Repeats(4, 1).plants(Plants(Stances(np.arange(5), start, end, start > 2), **rows))
        assert plants.stances.leg.tolist() == plants.rise.tolist() == [1, 2, 3]
        assert plants.stances.start.tolist() == [0, 1, 2]
        assert plants.stances.end.tolist() == [1, 2, 4]


class TestGivenBack:
    @pytest.mark.parametrize("name", GIVEN)
    def test_directly_gives_the_same_bits(self, data, name):
        rig, clip = slow_clip(data, name)
        first = planted_on(data, name, "stairs")
        again = plant_feet(clip, first.terrain, rig=rig, contacts=first.contacts)
        np.testing.assert_array_equal(again.poses.q, first.poses.q)
        np.testing.assert_array_equal(again.poses.local_positions, first.poses.local_positions)
        assert again.contacts.intervals() == first.contacts.intervals()

    @pytest.mark.parametrize("name", GIVEN)
    def test_by_way_of_intervals(self, data, name):
        rig, clip = slow_clip(data, name)
        first = planted_on(data, name, "stairs")
        intervals = json.loads(json.dumps(first.contacts.intervals()))
        contacts = Contacts.from_intervals(intervals, first.contacts.legs, clip.times)
        again = plant_feet(clip, first.terrain, rig=rig, contacts=contacts)
        assert same(again, first) <= 0.001 * first.figure.metre

    @pytest.mark.parametrize("name", GIVEN)
    def test_by_way_of_a_file(self, data, name, tmp_path):
        rig, clip = slow_clip(data, name)
        first = planted_on(data, name, "stairs")
        save_contacts(first.contacts, tmp_path / "steps.json", clip.name)
        contacts = load_contacts(tmp_path / "steps.json", clip.name, first.contacts.legs, clip.times)
        again = plant_feet(clip, first.terrain, rig=rig, contacts=contacts)
        assert same(again, first) <= 0.001 * first.figure.metre

    def test_edited_ones_have_the_last_word(self, data):
        rig, clip = clip_of(data, "knight walks")
        found = planted_on(data, "knight walks", "flat").contacts
        edited = dataclasses.replace(found, heel=np.zeros_like(found.heel))
        assert not any(points["heel"] for points in edited.intervals().values())
        again = plant_feet(clip, Terrain.flat(up="y"), rig=rig, contacts=edited)
        assert not again.contacts.heel.any()
        np.testing.assert_array_equal(again.contacts.ball, found.ball)


class TestFine:
    times = np.arange(30) / 30

    def given(self, *pairs):
        return Contacts.from_intervals({"left": {"heel": pairs}}, ("left",), self.times)

    def test_edges_lie_between_frames(self):
        start, end = self.given((0.21, 0.61)).intervals()["left"]["heel"][0]
        assert start == pytest.approx(0.21, abs=1 / 120)
        assert end == pytest.approx(0.61, abs=1 / 120)

    def test_a_step_between_two_frames_is_both_shown_and_known(self):
        contacts = self.given((0.21, 0.225))
        assert np.flatnonzero(contacts.heel[:, 0]).tolist() == [7]
        assert contacts.intervals()["left"]["heel"][0] == pytest.approx((0.21, 0.225), abs=0.01)
        again = Contacts.from_intervals(contacts.intervals(), contacts.legs, contacts.times)
        assert again.intervals() == contacts.intervals()

    def test_up_to_a_frame_beside_the_clip(self):
        assert self.given((0.9, 0.99)).heel[-1, 0]

    @pytest.mark.parametrize(
        "edit",
        [
            {"heel": np.ones((30, 1), bool)},
            {"ball": np.ones((30, 1), bool)},
            {"times": times + 0.5},
            {"times": times[:20], "heel": np.ones((20, 1), bool), "ball": np.ones((20, 1), bool)},
        ],
    )
    def test_what_was_edited_is_what_frames_say(self, edit):
        edited = dataclasses.replace(self.given((0.21, 0.61)), **edit)
        plain = Contacts(edited.legs, edited.times, edited.heel, edited.ball)
        assert edited.intervals() == plain.intervals()

    def test_edited_in_place_too(self):
        contacts = self.given((0.21, 0.61))
        contacts.heel[20] = True
        assert len(contacts.intervals()["left"]["heel"]) == 2
