"""Clear: how swinging feet go around the edges of steps; and where feet of figures that never stand come."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from poise import Terrain
from poise.ground.contact.contacts import Contacts
from poise.ground.contact.plants import find_plants
from poise.ground.contact.soles import find_soles
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import ANKLE, FOOT
from poise.ground.legs.clear import clear_ground, lift_whole
from poise.ground.legs.feet import floor_level, join_rolls, place_feet
from poise.ground.legs.swing import between_of
from poise.maths import rotations
from tests.ground.feet import SOLES, footing_of, standing
from tests.ground.motions import moved, path, two_legs

FPS, FRAMES = 120.0, 120
FLAT = Footing(Terrain.flat(up="z"), two_legs())


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
        return ankles, clear_ground(motion, ankles, turns, tilt, SOLES, between, stands, footing_of(ground)), stands

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


@pytest.mark.parametrize("first", ["heel", "ball"])
def test_heel_and_ball_both_stand_where_the_one_takes_over(first):
    before, after = np.zeros((2, 60, 2), dtype=bool)
    before[:30, 0], after[30:, 0] = True, True
    heel, ball = (before, after) if first == "heel" else (after, before)
    found = join_rolls(Contacts(("left", "right"), np.arange(60) / 250.0, heel, ball))
    assert np.flatnonzero(found.heel[:, 0] & found.ball[:, 0]).tolist() == [29]
    assert not (found.heel | found.ball)[:, 1].any()


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


@pytest.mark.parametrize(
    ("heights", "level"),
    [
        ([0.0] * 4 + [0.01, 0.02, 0.03, 0.04, 0.05, 0.06], 0.0),  # drawn onto a floor, and above it
        ([0.0] * 4 + [0.2] * 6, 0.0),  # and onto a step
        (np.linspace(0.0, 0.02, 10), 0.01),  # a floor that drifts
    ],
)
def test_the_floor_is_where_feet_stand_longest_and_lowest(heights, level):
    motion, on = moved(path(10, z=heights), path(10)), np.repeat([[True, False]], 10, axis=0)
    found = floor_level(motion, SOLES, Contacts(("left", "right"), motion.times, on, on))
    assert found == pytest.approx(level, abs=1e-9)


@pytest.mark.parametrize(("height", "up"), [(-0.4, 0.4), (0.1, 0.0)])
def test_a_figure_in_the_ground_goes_up_as_a_whole(height, up):
    motion = standing(10, offset=(0.0, 0.0, height))
    turns = motion.turns[:, :, FOOT]
    level = np.broadcast_to(rotations.IDENTITY, turns.shape)
    found = lift_whole(motion, motion.places[:, :, ANKLE], turns, level, SOLES, FLAT)
    np.testing.assert_allclose(found, up, atol=1e-9)


@pytest.mark.parametrize(("pitch", "left"), [(2.0, 0.0), (4.0, 0.0), (10.0, 0.03)])
def test_a_heel_is_not_in_the_ground_while_its_ball_stands(pitch, left):
    motion = standing(5)
    turns = motion.turns.copy()
    down = rotations.about(np.array([-1.0, 0.0, 0.0]), np.array(np.radians(pitch)))
    turns[:, :, FOOT] = rotations.multiply(down, turns[:, :, FOOT])
    motion = dataclasses.replace(motion, turns=turns)
    on = np.ones((5, 2), dtype=np.bool_)
    contacts, ground = Contacts(("left", "right"), motion.times, ~on, on), Footing(Terrain.flat(up="z"), motion.figure)
    plants = find_plants(motion, SOLES, contacts, ground, np.radians(40.0), 0.15)
    feet = place_feet(motion, SOLES, contacts, plants, ground)
    heel = feet.ankles + rotations.rotate(feet.turns, np.broadcast_to(SOLES.heel, feet.ankles.shape))
    deep = 0.2 * np.sin(np.radians(pitch))
    assert deep > 0.005
    # one that came down deep in the ground stays there: it would leap out
    assert -heel[..., 2].min() == pytest.approx(deep if left else 0.0, abs=1e-3)
