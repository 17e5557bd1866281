"""Heels: when they may be lifted, and the least that a leg needs."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings

from poise import Terrain
from poise.ground.contact.contacts import Contacts
from poise.ground.contact.plants import find_plants
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import FOOT, HIP
from poise.ground.legs.feet import place_feet
from poise.ground.legs.heels import heel_room, lifted, needed_lift
from poise.maths import rotations
from tests.ground.feet import SOLES, feet_of, standing
from tests.strategies import rng_of, seeds, unit_quaternions

MOST = np.radians(20.0)


def rolling(start, stop, frames=120, fps=120.0):
    """Feet that only their balls hold up from frame `start` until `stop`: the room of the left one (F,)."""
    motion = standing(frames, fps=fps)
    feet = feet_of(motion)
    feet.free[start:stop, 0] = True
    return heel_room(motion, feet)


class TestRoom:
    def test_none_before_the_heel_is_free_and_none_of_feet_that_never_are(self):
        room = rolling(40, 80)
        assert not room[:40, 0].any()
        assert not room[:, 1].any()

    def test_it_opens_within_0_15_s_and_closes_as_long_after_the_ball_has_left(self):
        room = rolling(40, 80)[:, 0]
        np.testing.assert_allclose(room[58:80], MOST, atol=1e-12)
        assert (np.diff(room[38:59]) >= 0).all()
        assert (np.diff(room[79:]) <= 0).all()
        assert room[90] > 0.01
        np.testing.assert_allclose(room[98:], 0.0, atol=1e-12)
        assert np.abs(np.diff(room)).max() < np.radians(2.0)

    def test_a_ball_that_stands_for_a_moment_gives_little_room(self):
        room = rolling(40, 44)[:, 0]
        assert 0.0 < room.max() < np.radians(3.0)

    def test_a_clip_that_begins_on_the_balls_opens_from_its_start(self):
        room = rolling(0, 120)[:, 0]
        assert room[0] == 0.0
        np.testing.assert_allclose(room[20:], MOST, atol=1e-12)

    def test_one_frame(self):
        assert not rolling(0, 1, frames=1).any()


class TestLifted:
    def test_about_the_ball_and_the_heel_goes_up(self):
        motion = standing(3)
        feet = feet_of(motion)
        up = lifted(feet, np.full((3, 2), 0.3))
        heel = up.ankles + rotations.rotate(up.turns, np.broadcast_to(SOLES.heel, up.ankles.shape))
        ball = up.ankles + rotations.rotate(up.turns, np.broadcast_to(SOLES.ball, up.ankles.shape))
        np.testing.assert_allclose(ball, feet.pivots, atol=1e-12)
        np.testing.assert_allclose(heel[..., 2], 0.2 * np.sin(0.3), atol=1e-12)

    def test_by_nothing_is_the_same(self):
        feet = feet_of(standing(2))
        same = lifted(feet, np.zeros((2, 2)))
        np.testing.assert_allclose(same.ankles, feet.ankles, atol=1e-15)
        np.testing.assert_allclose(same.turns, feet.turns, atol=1e-15)


class TestNeeded:
    def hips(self, feet, over):
        """Hips (F, L, 3) that are so far over the ankles."""
        return feet.ankles + np.asarray(over)[..., None] * [0.0, 0.0, 1.0]

    def test_none_where_the_leg_reaches(self):
        feet = feet_of(standing(3))
        room = np.full((3, 2), MOST)
        assert not needed_lift(feet, self.hips(feet, np.full((3, 2), 0.8)), np.full((3, 2), 0.8001), room).any()
        np.testing.assert_allclose(
            needed_lift(feet, self.hips(feet, np.full((3, 2), 0.8)), np.full((3, 2), 0.8), room), 0.0, atol=1e-7
        )

    @settings(max_examples=15)
    @given(seeds)
    def test_the_least_against_a_scan(self, seed):
        rng = rng_of(seed)
        motion = standing()
        yaw = rotations.about(np.array([0.0, 0.0, 1.0]), rng.uniform(-3, 3))
        motion.turns[:, :, FOOT] = rotations.multiply(
            yaw, rotations.about(np.array([1.0, 0.0, 0.0]), rng.uniform(0, 1))
        )
        feet = feet_of(motion)
        hips = self.hips(feet, np.full((1, 2), 0.8)) + 0.1 * rng.normal(size=(1, 2, 3))
        distance = np.linalg.norm(hips - feet.ankles, axis=-1)
        longest, room = distance + rng.uniform(-0.05, 0.02, (1, 2)), rng.uniform(0.0, MOST, (1, 2))
        found = needed_lift(feet, hips, longest, room)
        for leg in range(2):
            angles = np.linspace(0.0, room[0, leg], 101)
            ankles = np.stack([lifted(feet, np.full((1, 2), angle)).ankles[0, leg] for angle in angles])
            chords = np.linalg.norm(hips[0, leg] - ankles, axis=-1)
            fits = chords <= longest[0, leg]
            first = fits.argmax() if fits.any() else chords.argmin()  # out of reach: as near as it comes
            assert angles[max(first - 1, 0)] - 1e-9 <= found[0, leg] <= angles[min(first + 1, 100)] + 1e-9

    def test_no_further_than_its_room(self):
        feet = feet_of(standing())
        lift = needed_lift(feet, self.hips(feet, np.full((1, 2), 2.0)), np.full((1, 2), 0.8), np.array([[0.1, 0.0]]))
        np.testing.assert_allclose(lift, [[0.1, 0.0]], atol=1e-12)

    def test_a_foot_of_no_length_cannot_lift_its_heel(self):
        feet = feet_of(standing())
        point = dataclasses.replace(feet, pivots=feet.ankles)
        lift = needed_lift(point, self.hips(feet, np.full((1, 2), 2.0)), np.full((1, 2), 0.8), np.full((1, 2), MOST))
        assert np.isfinite(lift).all()

    @pytest.mark.parametrize("seed", range(3))
    def test_the_leg_then_reaches_exactly(self, seed):
        rng = rng_of(seed)
        motion = standing(20)
        motion.turns[:, :, FOOT] = rotations.slerp(
            np.broadcast_to(rotations.IDENTITY, (20, 2, 4)), unit_quaternions(rng, 20, 2), 0.1
        )
        feet = feet_of(motion)
        hips = motion.places[:, :, HIP] + 0.02 * rng.normal(size=(20, 2, 3))
        longest = np.linalg.norm(hips - feet.ankles, axis=-1) - rng.uniform(0.0, 0.02, (20, 2))
        lift = needed_lift(feet, hips, longest, np.full((20, 2), 1.0))
        chords = np.linalg.norm(hips - lifted(feet, lift).ankles, axis=-1)
        assert (lift < 1.0).all()
        np.testing.assert_allclose(chords, longest, atol=1e-12)


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
