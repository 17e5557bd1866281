"""Release: a foot that its leg can hold only where another leg folds up is let go; given contacts are held as given."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import poise
from poise.ground.contact.contacts import Contacts
from poise.ground.legs.release import overstretched, released
from poise.io import samples
from tests.ground.feet import SOLES, feet_of, footing_of, standing
from tests.ground.motions import load

FRAMES, FPS = 120, 100.0
STANDS = np.ones((FRAMES, 2), dtype=bool)
CLIP, STEEP = load(samples.path("humanoid.glb")).clips[0], poise.Terrain.stairs(0.3, 0.3)


def over(height, stands=STANDS):
    """Where a foot is held too long while the left foot is higher than the right one by so much [m]; legs are 0.8 m."""
    motion = standing(FRAMES, fps=FPS)
    feet, rise = feet_of(motion), np.zeros((FRAMES, 2))
    rise[:, 0] = height
    up = rise[..., None] * [0.0, 0.0, 1.0]
    feet = dataclasses.replace(feet, ankles=feet.ankles + up, pivots=feet.pivots + up, rise=rise)
    return overstretched(motion, SOLES, feet, stands, footing_of(lambda x, _: np.where(x > 0.0, height, 0.0)))


class TestOverstretched:
    def test_on_its_own_ground_no_foot_is(self):
        assert not over(0.0).any()

    @pytest.mark.parametrize(("height", "lower"), [(0.1, False), (0.56, False), (0.6, True), (0.7, True)])
    def test_the_lower_one_where_the_leg_of_the_higher_one_would_fold_up(self, height, lower):
        # The pelvis must be 0.78 m over the lower ankle; over the higher one it must stay a quarter of the 0.8 m.
        found = over(height)
        assert (found[:, 1] == lower).all()
        assert not found[:, 0].any()

    def test_nor_a_foot_in_the_air(self):
        stands = STANDS.copy()
        stands[60:, 1] = False
        found = over(0.6, stands)
        assert found[:60, 1].all()
        assert not found[60:, 1].any()

    def test_a_foot_in_the_air_is_let_down_before_one_that_stands_is_let_go(self):
        stands = STANDS & [False, True]
        motion = standing(FRAMES, fps=FPS)
        feet = feet_of(motion)
        up = np.array([[0.6, 0.0]] * FRAMES)[..., None] * [0.0, 0.0, 1.0]
        feet = dataclasses.replace(feet, ankles=feet.ankles + up, pivots=feet.pivots + up)
        far_down = footing_of(lambda x, _: np.where(x > 0.0, -1.0, 0.0))
        right_below = footing_of(lambda x, _: np.where(x > 0.0, 0.58, 0.0))
        assert not overstretched(motion, SOLES, feet, stands, far_down).any()
        assert overstretched(motion, SOLES, feet, stands, right_below)[:, 1].all()


def left_of(bad, start=20, end=60):
    """The frames in which a foot that stands from `start` up to `end` still does without `bad` ones."""
    stands, too_long = np.zeros((FRAMES, 1), dtype=bool), np.zeros((FRAMES, 1), dtype=bool)
    stands[start:end] = True
    too_long[list(bad)] = True
    contacts = released(Contacts(("left",), np.arange(FRAMES) / FPS, stands, stands.copy()), too_long)
    np.testing.assert_array_equal(contacts.heel, contacts.ball)
    return np.flatnonzero(contacts.any).tolist()


class TestReleased:
    def test_a_stance_ends_before_the_first_bad_frame_near_its_end(self):
        assert left_of([50, 55]) == list(range(20, 50))

    def test_and_begins_after_the_last_one_near_its_start(self):
        assert left_of([20, 24]) == list(range(25, 60))

    def test_what_is_bad_far_from_both_ends_is_held(self):
        assert left_of([40, 80], 10, 111) == list(range(10, 111))

    def test_something_is_left_where_all_is_bad(self):
        assert left_of(range(20, 60)) == [38, 39, 40, 41]

    def test_the_ends_of_the_clip_are_no_ends_of_stances(self):
        assert left_of(range(110, 120), 80, 120) == list(range(80, 120))
        assert left_of(range(10), 0, 40) == list(range(40))

    def test_other_frames_do_not_matter(self):
        assert left_of([5, 70]) == list(range(20, 60))


class TestPlanted:
    def test_a_walk_up_steep_stairs_lets_feet_go_and_says_so(self):
        planted = poise.plant_feet(CLIP, STEEP)
        assert any("was let go" in note for note in planted.notes)
        found = poise.lock_feet(CLIP).contacts
        assert (found.any & ~planted.contacts.any).any()
        assert not (planted.contacts.any & ~found.any).any()

    @pytest.mark.usefixtures("not_spread")
    def test_no_knee_leaps_as_far_as_where_all_feet_are_held(self):
        found = poise.lock_feet(CLIP).contacts
        steep = poise.Terrain.stairs(0.35, 0.35)
        let_go = poise.plant_feet(CLIP, steep)
        held = poise.plant_feet(CLIP, steep, contacts=found)
        assert any("was let go" in note for note in let_go.notes)
        assert not any("was let go" in note for note in held.notes)
        beyond = [(p.report.jumps.after - p.report.jumps.bound).max() for p in (let_go, held)]
        assert beyond[0] < 0.0 < 0.85 * beyond[1]  # 2.6 mm within the bound, and 2.9 mm beyond it

    def test_contacts_given_back_are_held_as_they_are(self):
        once = poise.plant_feet(CLIP, STEEP)
        again = poise.plant_feet(CLIP, STEEP, contacts=once.contacts)
        np.testing.assert_array_equal(again.contacts.any, once.contacts.any)
        np.testing.assert_array_equal(again.poses.q, once.poses.q)

    def test_on_gentle_ground_nothing_is_let_go(self):
        planted = poise.plant_feet(CLIP, poise.Terrain.slope(10))
        assert not any("was let go" in note for note in planted.notes)
