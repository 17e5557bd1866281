"""The ends of stances: how long a foot is held, how far its leg reaches, and risers in front of it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import poise
from poise import Terrain
from poise.ground.contact.contacts import Contacts
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import HIP
from poise.ground.legs.feet import held_longer
from poise.ground.legs.legs import soft_chords
from poise.ground.legs.pelvis import kept_share
from poise.ground.legs.risers import before_risers
from poise.io import samples
from tests.ground.feet import SOLES, feet_of, footing_of, standing
from tests.ground.motions import moved, path, two_legs

FLAT = Footing(Terrain.flat(up="z"), two_legs())
EASY, MOST = 0.7, 0.78


def riser(place, height):
    return footing_of(lambda x, y: height * (y < place) + 0.0 * x)


class TestHeldLonger:
    def held(self, footing=FLAT, motion=None, start=40, end=80):
        """Frames at 250 a second in which the left foot, which stands from `start` up to `end`, is held besides."""
        motion = standing(120, fps=250.0) if motion is None else motion
        stands = np.zeros((120, 2), dtype=bool)
        stands[start:end, 0] = True
        contacts = Contacts(("left", "right"), motion.times, stands, stands.copy())
        longer = held_longer(motion, SOLES, contacts, footing, 0.01)
        assert not (contacts.heel & ~longer.heel).any()
        assert not longer.ball[:, 1].any()
        return np.flatnonzero(longer.heel[:, 0] & ~stands[:, 0]), np.flatnonzero(longer.ball[:, 0] & ~stands[:, 0])

    def test_after_its_contact_and_not_before(self):
        for found in self.held():
            assert found.tolist() == [80, 81]

    def test_not_where_it_stands_again_too_soon(self):
        motion = standing(120, fps=250.0)
        stands = np.ones((120, 2), dtype=bool)
        stands[60:64] = False
        contacts = Contacts(("left", "right"), motion.times, stands, stands.copy())
        assert not held_longer(motion, SOLES, contacts, FLAT, 0.01).heel[60:64].any()

    @pytest.mark.parametrize(("speed", "frames"), [(2.0, [80, 81]), (5.0, [80]), (20.0, [])])
    def test_not_a_point_that_has_long_left(self, speed, frames):
        away = path(120, z=np.maximum(np.arange(120) - 79, 0) * speed / 250.0)
        for found in self.held(motion=moved(away, path(120), fps=250.0)):
            assert found.tolist() == frames

    def test_not_in_front_of_a_riser(self):
        for place, frames in ((-0.3, []), (-0.4, [80, 81])):  # the ball is at -0.15, facing -y
            for found in self.held(riser(place, 0.15)):
                assert found.tolist() == frames


@pytest.mark.parametrize(("place", "height", "found"), [(-0.3, 0.15, True), (-0.3, 0.09, False), (-0.4, 0.15, False)])
def test_a_riser_is_high_and_near_and_in_front(place, height, found):
    ball, across = np.array([[0.1, -0.15, 0.0]]), np.array([[1.0, 0.0, 0.0]])
    assert before_risers(ball, across, riser(place, height)).tolist() == [found]
    assert not before_risers(ball, -across, riser(place, height)).any()


def requested_chords(requested):
    """What becomes of distances (F,) from hip to ankle [m]."""
    motion = standing(len(requested))
    feet = feet_of(motion)
    hips = motion.places[:, :, HIP]
    down = np.stack([0.0 * requested, 0.0 * requested, -requested], axis=-1)
    feet = dataclasses.replace(feet, ankles=hips + down[:, None])
    limits = (np.full(hips.shape[:2], size) for size in (EASY, MOST))
    return np.minimum(soft_chords(feet, hips, *limits), requested[:, None])[:, 0]


class TestSoftChords:
    def test_as_requested_up_to_where_it_begins_and_never_above_the_most(self):
        requested = np.linspace(0.5, 1.5, 1001)
        chord = requested_chords(requested)
        np.testing.assert_allclose(chord[requested <= EASY], requested[requested <= EASY], atol=1e-15)
        assert chord.max() <= MOST
        assert (np.diff(chord) >= 0.0).all()

    def test_speed_and_its_change_are_continuous(self):
        requested = EASY + np.linspace(-0.002, 0.002, 401)
        steps = np.diff(requested_chords(requested)) / np.diff(requested)
        np.testing.assert_allclose(steps, 1.0, atol=1e-3)
        assert np.abs(np.diff(steps)).max() < 1e-5  # 1e-4 where only the speed is continuous


@pytest.mark.parametrize(
    ("tilt", "uneven", "kept"), [(0, 0, 1), (2.5, 0, 0.5), (0, 0.025, 0.5), (5, 0, 0), (0, 0.1, 0)]
)
def test_straight_legs_stay_as_straight_on_level_ground_only(tilt, uneven, kept):
    assert kept_share(np.radians(tilt), uneven) == pytest.approx(kept, abs=1e-12)


@pytest.mark.parametrize("name", ["humanoid.glb", "humanoid.bvh"])
def test_no_joint_of_the_sample_pops_where_its_feet_are_locked(name):
    rig = poise.load(samples.path(name))
    report = poise.lock_feet(rig.clips[0], rig=rig).report
    assert report.ok
    assert (report.jumps.after <= report.jumps.bound).all()
