"""Feet on the ground: real clips on five kinds of ground, and changes without an effect."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from poise import Clip, Terrain, plant_feet
from poise.ground.contact.contacts import Contacts
from poise.ground.figure.figure import figure_of
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import ANKLE, FOOT, TOES, motion_of
from poise.ground.report.edit_measures import changes_of
from poise.ground.report.measures import measures_of, paths_of
from poise.maths import rotations
from poise.maths.frame_masks import measure_time_from
from tests.ground.clips import IN_PLACE, STANDING, TRAVELLING, clip_of, ground_of
from tests.ground.labelled_contacts import LABELS

GROUNDS = ("flat", "slope", "slope down", "stairs", "noise")
SKATE, DEEPEST, PLANTED = 0.5, 5.0, 3.0  # [cm/s], [mm], [mm]: the largest allowed values
HAND_SKATE = 1.2  # [cm/s] in contacts by hand: a ball that rolls up by 2 cm before it leaves is let go sooner
DEEPEST_ON_DRAWN_STAIRS = 25.0  # [mm] drawn steps go over three treads in a fifth of a second, and touch an edge


def planted_on(data, name, kind):
    rig, clip = clip_of(data, name)
    figure = figure_of(clip, rig=rig)
    return plant_feet(clip, ground_of(kind, figure.up), rig=rig)


def measured(planted, contacts=None):
    motion, footing = motion_of(planted, planted.figure), Footing(planted.terrain, planted.figure)
    paths = paths_of(motion, planted.soles, footing, planted.contacts.ball)
    return measures_of(paths, contacts or planted.contacts, motion)


def inner(hand):
    """Contacts by hand without their last 0.08 s, in which feet begin to leave: edges agree within so much.

    A foot that is held while its source already leaves makes the knee hitch.
    """
    ends = {name: measure_time_from(hand.times, ~getattr(hand, name))[1] > 0.08 for name in ("heel", "ball")}
    return dataclasses.replace(hand, **{name: getattr(hand, name) & late for name, late in ends.items()}, fine=None)


def distance(a: Clip, b: Clip, metre: float) -> float:
    """How far [m] any joint of one clip is from that of the other."""
    return float(np.linalg.norm(a.poses.world.positions - b.poses.world.positions, axis=-1).max()) / metre


def turn(a: Clip, b: Clip) -> float:
    """How far [deg] any joint of one clip is turned from that of the other."""
    between = rotations.multiply(rotations.inverse(a.poses.world.rotations), b.poses.world.rotations)
    return float(np.degrees(np.linalg.norm(rotations.as_vector(between), axis=-1)).max())


def off_path(fine: Clip, coarse: Clip) -> float:
    """How far [m] an ankle of the coarse clip is from the way of the fine one within a coarse frame of that time.

    Contacts may begin a frame earlier or later, so that the same way is gone a little earlier or later.
    """
    a, b = (motion_of(clip, fine.figure).places[:, :, ANKLE] for clip in (fine, coarse))
    step = float(np.median(np.diff(coarse.times)))
    worst = 0.0
    for time, places in zip(coarse.times, b, strict=True):
        near = np.flatnonzero(np.abs(fine.times - time) <= step + 1e-6)
        start, along = a[near[:-1]], a[near[1:]] - a[near[:-1]]
        square = np.maximum((along**2).sum(axis=-1), 1e-18)
        share = np.clip(((places - start) * along).sum(axis=-1) / square, 0.0, 1.0)
        gap = np.linalg.norm(start + share[..., None] * along - places, axis=-1)
        worst = max(worst, float(gap.min(axis=0).max()))
    return worst


class TestTravelling:
    @pytest.mark.parametrize("kind", GROUNDS)
    @pytest.mark.parametrize("name", TRAVELLING)
    def test_feet_stand(self, data, name, kind):
        planted = planted_on(data, name, kind)
        hand = inner(Contacts.from_intervals(LABELS[name], planted.contacts.legs, planted.times))
        found, by_hand = planted.report.after, measured(planted, hand)
        assert found.skate <= SKATE
        assert by_hand.skate <= HAND_SKATE
        assert found.penetration <= (12.0 if (name, kind) == ("run_mass", "stairs") else DEEPEST + 0.1)
        assert max(found.slip, found.lift) <= PLANTED
        assert found.backward.max() <= 0.01

    @pytest.mark.parametrize("name", TRAVELLING)
    def test_on_flat_ground_no_joint_is_rushed(self, data, name):
        planted = planted_on(data, name, "flat")
        cuts = [1] if name == "cmu_12_01_walk" else []  # frame 0 is a T-pose
        changes = changes_of(planted.travelled, planted, planted.figure, cuts)
        legs = [n for n in changes.joints if any(part in n for part in ("Leg", "Foot", "Toe", "Tibia", "Talus"))]
        rest = [i for i, n in enumerate(changes.joints) if n not in legs]
        assert changes.acceleration_ratios.max() <= 2.0
        assert changes.acceleration_ratios[rest].max() <= 1.5
        assert changes.stretch <= 1e-12


@pytest.mark.parametrize("kind", GROUNDS)
@pytest.mark.parametrize("name", IN_PLACE)
def test_clips_in_place_travel_and_stand(data, name, kind):
    planted = planted_on(data, name, kind)
    found = measured(planted)
    assert planted.velocity is not None
    assert found.contact.max() > 0.04
    assert found.penetration <= (DEEPEST_ON_DRAWN_STAIRS if kind == "stairs" else DEEPEST + 2.0)
    assert found.lift <= PLANTED
    assert found.backward.max() <= 0.01
    assert found.skate <= SKATE
    assert found.slip <= PLANTED
    assert not any("too short" in note for note in planted.notes) or (name, kind) == ("fox walks", "stairs")


class TestNothingNeeded:
    @pytest.mark.parametrize("name", STANDING)
    def test_who_stands_sits_or_lies_stays(self, data, name):
        planted = planted_on(data, name, "flat")
        assert distance(planted, planted.source, planted.figure.metre) <= 0.001
        assert turn(planted, planted.source) <= 0.1

    @pytest.mark.parametrize("name", TRAVELLING)
    def test_feet_that_stand_already_are_left_alone(self, data, name):
        first = planted_on(data, name, "flat")
        again = plant_feet(Clip(first.times, first.poses), first.terrain, contacts=first.contacts, soles=first.soles)
        assert distance(again, first, first.figure.metre) <= 0.001
        assert turn(again, first) <= 1.0  # toes, whose source is what was planted


class TestWhatMustNotMatter:
    @pytest.mark.parametrize("fps", [24, 30, 60])
    @pytest.mark.parametrize("name", ["cmu_12_01_walk", "walk_mass"])
    def test_the_frame_rate(self, data, name, fps):
        clip = clip_of(data, name)[1]
        clip = Clip(clip.times[1:] - clip.times[1], clip.poses[1:])  # without the T-pose: it would be blended in
        fine, coarse = (plant_feet(c, Terrain.flat(up="y")) for c in (clip, clip.resample(fps)))
        assert off_path(fine, coarse) <= 0.05  # a contact may begin a coarse frame later, and a swing is as smooth


def turned_toes(planted):
    """How far [deg] the toes of feet that stand are bent beyond their bend in the source (n,)."""
    bends = [
        rotations.multiply(rotations.inverse(turns[:, :, FOOT]), turns[:, :, TOES])
        for turns in (motion_of(clip, planted.figure).turns for clip in (planted, planted.travelled))
    ]
    more = rotations.multiply(bends[0], rotations.inverse(bends[1]))
    return np.degrees(np.linalg.norm(rotations.as_vector(more), axis=-1))[planted.contacts.any]


@pytest.mark.parametrize("name", ["run_mass", "cmu_12_01_walk"])
def test_toes_are_not_bent_up_risers_while_their_foot_stands(data, name):
    bent = turned_toes(planted_on(data, name, "stairs"))
    assert np.percentile(bent, 90) < 30.0
    assert bent.max() < 75.0


@pytest.mark.parametrize("rise", [0.15, -0.15])
def test_a_foot_that_is_longer_than_a_tread_is_level_on_it_and_what_hangs_is_not_off_the_ground(data, rise):
    rig, clip = clip_of(data, "knight walks")
    stairs = Terrain.stairs(rise, 0.30, direction=(0, 0, 1), up="y")
    planted = plant_feet(clip, stairs, rig=rig)
    assert planted.plants.hangs.any(axis=1).all()
    assert (planted.plants.hangs[:, 0] == (rise > 0)).all()
    motion = motion_of(planted, planted.figure)
    flat = planted.contacts.heel & planted.contacts.ball & ~planted.kept
    heel, ball, _ = np.moveaxis(planted.soles.points(motion)[flat], 1, 0)
    assert len(heel) > 5
    np.testing.assert_allclose(heel[:, 2], ball[:, 2], atol=0.01)
    report = planted.report
    assert not [worse for worse in report.worse if worse.measure in ("reach", "skate")]
    assert report.after.lift < 3.0
