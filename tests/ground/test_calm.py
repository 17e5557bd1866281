"""Calm: how knees come smoothly to their bend; and clear: how swinging feet go around the edges of steps."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from poise import Terrain
from poise.ground.contact.contacts import Contacts
from poise.ground.contact.soles import find_soles
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import ANKLE, FOOT, HIP, KNEE
from poise.ground.legs.calm import ROOM, calm_chords, pops
from poise.ground.legs.clear import cleared, lifted_as_a_whole
from poise.ground.legs.feet import floor_level, held_longer
from poise.ground.legs.legs import bend_axes, bend_legs, places_of
from poise.ground.legs.pelvis import leg_lengths
from poise.ground.legs.swing import between_of
from poise.maths import rotations
from tests.ground.feet import SOLES, feet_of, footing_of, standing
from tests.ground.motions import moved, path, two_legs

FPS, FRAMES, POP = 120.0, 120, 60
FLAT = Footing(Terrain.flat(up="z"), two_legs())


def dipped(depth):
    """A leg that is straight but for one frame, in which its hip is lower by `depth` [m]; what becomes of it."""
    motion = standing(FRAMES, fps=FPS)
    up = np.zeros(FRAMES)
    up[POP] = -depth
    hips = motion.places[:, :, HIP] + up[:, None, None] * [0.0, 0.0, 1.0]
    most = np.full((*up.shape, 2), 0.9)
    return motion, bend_legs(motion, bend_axes(motion, SOLES), feet_of(motion), up, hips, most, 0.0)


class TestCalm:
    def test_what_does_not_pop_is_left_alone(self):
        motion, turned = dipped(0.0)
        assert not pops(motion, turned).any()

    def test_a_straight_leg_whose_hip_is_lower_in_one_frame(self):
        motion, turned = dipped(0.003)
        found = pops(motion, turned)
        assert np.flatnonzero(found[:, 0]).tolist() == [POP - 1, POP, POP + 1]
        knees = places_of(motion, turned)[:, :, 1]
        assert found[POP, 0] == pytest.approx(2000.0 * abs(knees[POP, 0] - knees[0, 0]).max() - ROOM, rel=0.05)

    @pytest.mark.parametrize("seconds", [0.02, 0.05])
    def test_its_chords_are_shorter_around_that_frame_alone(self, seconds):
        motion, turned = dipped(0.003)
        popping = pops(motion, turned) > 0.0
        stands = np.ones(popping.shape, dtype=np.bool_)
        chords = calm_chords(motion, turned, stands, popping, seconds)
        thigh, shin, _ = leg_lengths(motion)
        whole = (thigh + shin)[0, 0]
        around = np.abs(np.arange(FRAMES) - POP) / FPS
        assert np.isinf(chords[around > 0.22]).all()
        assert (chords[around < 0.5 * seconds, 0] < whole - 1e-4).all()
        assert chords.min() >= whole - 0.008 - 1e-9  # 3 mm of the dip and what is allowed besides

    def test_knees_of_bent_legs_are_where_forward_kinematics_says(self):
        motion, turned = dipped(0.02)
        thigh = np.linalg.norm(places_of(motion, turned)[:, :, 1] - motion.places[:, :, HIP], axis=-1)[0]
        np.testing.assert_allclose(thigh, np.linalg.norm(motion.places[0, :, KNEE] - motion.places[0, :, HIP], axis=-1))


class TestCleared:
    def swing(self, ground, start=0.1, ahead=0.9):
        """A foot that stands for 0.2 s, goes ahead 1 cm over the floor, and stands again; where its ankle comes."""
        time = np.arange(FRAMES) / FPS
        share = np.clip((time - 0.2) / 0.6, 0.0, 1.0)
        way = path(FRAMES, y=start - ahead * share, z=0.01 * np.sin(np.pi * share))
        motion = moved(way, way, fps=FPS)
        stands = np.repeat(((share <= 0.0) | (share >= 1.0))[:, None], 2, axis=1)
        turns, tilt = motion.turns[:, :, FOOT], np.broadcast_to(rotations.IDENTITY, (FRAMES, 2, 4))
        ankles = motion.places[:, :, ANKLE]
        between = between_of(motion.times, stands)
        return ankles, cleared(motion, ankles, turns, tilt, SOLES, between, stands, footing_of(ground)), stands

    def test_over_flat_ground_it_stays(self):
        ankles, found, _ = self.swing(lambda x, _: 0.0 * x)
        assert found is ankles

    def test_a_foot_that_stands_stays(self):
        ankles, found, stands = self.swing(lambda x, y: 0.1 * ((y < -0.2) & (y > -0.4)) + 0.0 * x)
        np.testing.assert_allclose(found[stands], ankles[stands])

    @pytest.mark.parametrize(("gap", "most"), [(0.02, 60.0), (0.03, 13.0), (0.04, 13.0), (0.1, 13.0)])
    def test_up_a_riser_that_is_right_in_front_it_is_held_back_first(self, gap, most):
        """It goes at 1.5 m/s at once: a riser 2 cm in front of the toes leaves 13 ms, too few to hold it back."""
        ankles, found, _ = self.swing(lambda x, y: 0.1 * ((y < -0.1 - gap) & (y > -0.5)) + 0.0 * x)
        back = (found - ankles)[..., 1]
        assert back.max() <= 0.15
        assert back.min() >= -1e-9
        changes = 1000 * np.linalg.norm(np.diff(found, n=2, axis=0), axis=-1)
        assert changes.max() <= most  # lifted without that: 66, 56 and 41

    def test_soles_are_out_of_the_ground(self):
        ground = footing_of(lambda x, y: 0.1 * ((y < -0.15) & (y > -0.5)) + 0.0 * x)
        _, found, stands = self.swing(lambda x, y: 0.1 * ((y < -0.15) & (y > -0.5)) + 0.0 * x)
        for sole in (SOLES.heel[0], SOLES.ball[0]):
            assert (ground.heights(found + sole) - (found + sole)[..., 2])[~stands].max() <= 1e-9


def test_heel_and_ball_both_stand_where_the_one_takes_over():
    motion = standing(60, fps=250.0)
    heel, ball = np.zeros((2, 60, 2), dtype=bool)
    heel[:30, 0], ball[34:, 0] = True, True  # held 8 ms longer, the heel stands until the ball does
    away = moved(path(60, x=np.where(np.arange(60) < 30, 0.0, 1.0)), path(60), fps=250.0)  # nothing is held longer
    ball[30:, 0] = True
    found = held_longer(away, SOLES, Contacts(("left", "right"), motion.times, heel, ball), FLAT, 0.01)
    assert np.flatnonzero(found.heel[:, 0] & found.ball[:, 0]).tolist() == [29]


def test_heel_ball_and_tip_of_a_foot_without_toes_are_in_a_line():
    motion = standing(40, toes=False)
    turns = motion.turns.copy()
    turns[:, :, FOOT] = rotations.about(np.array([1.0, 0.0, 0.0]), np.linspace(-0.1, 0.15, 40))[:, None]
    soles = find_soles(dataclasses.replace(motion, turns=turns))
    first, second = soles.ball - soles.heel, soles.tip - soles.ball
    np.testing.assert_allclose(np.cross(first, second), 0.0, atol=1e-12)


def test_the_floor_of_a_figure_that_never_stands_is_at_zero():
    motion, none = standing(10, offset=(0.0, 0.0, -0.4)), np.zeros((10, 2), dtype=bool)
    assert floor_level(motion, SOLES, Contacts(("left", "right"), motion.times, none, none)) == 0.0


@pytest.mark.parametrize(("height", "up"), [(-0.4, 0.4), (0.1, 0.0)])
def test_a_figure_in_the_ground_goes_up_as_a_whole(height, up):
    motion = standing(10, offset=(0.0, 0.0, height))
    turns = motion.turns[:, :, FOOT]
    level = np.broadcast_to(rotations.IDENTITY, turns.shape)
    found = lifted_as_a_whole(motion, motion.places[:, :, ANKLE], turns, level, SOLES, FLAT)
    np.testing.assert_allclose(found, up, atol=1e-9)
