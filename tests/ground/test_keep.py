"""Keep: locked feet are never worse than those of the source, and swinging feet give way where a joint would pop."""

from __future__ import annotations

import dataclasses
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from poise import Clip, Terrain, lock_feet, plant_feet
from poise.ground.contact.cyclic import Repeats
from poise.ground.figure.motion import ANKLE, HIP, motion_of, rows_of, with_rows
from poise.ground.legs import reach
from poise.ground.legs.legs import Turned, places_of
from poise.io import samples
from poise.maths import rotations
from tests.ground.clips import clip_of
from tests.ground.motions import load

SAMPLES = Path(samples.__file__).parent
POPPED = ("knight runs", "knight walks otherwise", "fox walks", "robot runs")  # each did when its feet were locked


@cache
def locked(data, name):
    rig, clip = clip_of(data, name)
    return lock_feet(clip, rig=rig)


@pytest.mark.parametrize("name", POPPED)
class TestLocked:
    def test_nothing_pops(self, data, name):
        report = locked(data, name).report
        assert report.ok, [str(worse) for worse in report.worse]
        assert (report.jumps.after <= report.jumps.bound).all()

    @pytest.mark.usefixtures("not_spread")
    def test_it_is_reported_in_how_many_frames_a_leg_is_nearer_to_its_source(self, data, name):
        planted = locked.__wrapped__(data, name)
        assert planted.report.ok
        assert planted.kept.any()
        message = [note for note in planted.notes if note.startswith("nearer to the source")]
        assert len(message) == 1
        for leg, frames in zip(planted.contacts.legs, planted.kept.sum(axis=0), strict=True):
            assert (f"{leg} in {frames} frame" in message[0]) == bool(frames)

    @pytest.mark.parametrize("spread", [True, False])
    def test_contacts_given_back_give_the_same(self, data, name, spread, request):
        if not spread:
            request.getfixturevalue("not_spread")
        planted = locked.__wrapped__(data, name)
        again = lock_feet(planted.source, contacts=planted.contacts, soles=planted.soles)
        np.testing.assert_array_equal(again.poses.q, planted.poses.q)
        np.testing.assert_array_equal(again.kept, planted.kept)


@pytest.mark.parametrize("name", ["knight runs", "fox walks", "robot runs"])
def test_where_pops_are_spread_all_feet_stand_in_all_their_contacts(data, name):
    assert not locked(data, name).kept.any()


def test_a_clip_that_does_not_pop_is_kept_nowhere(data):
    planted = locked(data, "walk_mass")
    assert not planted.kept.any()
    assert not any("nearer" in note for note in planted.notes)


@pytest.mark.parametrize("name", ["dash_root.001", "air_jump_root.001"])
class TestNeverStanding:
    """Its ankles come to 0.25 m below the place of its root: there is no floor at 0 to lift them over."""

    def test_locked_it_is_its_source(self, data, name):
        rig = load(data / "glb/mannequiny_gdquest.glb")
        planted = lock_feet(rig.clip(name), rig=rig)
        assert not planted.contacts.any.any()
        np.testing.assert_allclose(planted.poses.q, planted.source.poses.q, atol=1e-9)

    def test_on_flat_ground_it_is_lifted_as_a_whole_where_it_would_be_in_it(self, data, name):
        rig = load(data / "glb/mannequiny_gdquest.glb")
        planted = plant_feet(rig.clip(name), Terrain.flat(), rig=rig)
        before, after = (motion_of(clip, planted.figure).places for clip in (planted.source, planted))
        ways = (after - before)[..., [HIP, ANKLE], 2]
        assert ways.max() > 0.3
        assert np.ptp(ways, axis=(1, 2)).max() < 0.15  # m; its legs stay about as long
        assert planted.report.ok


# Down stairs (-1) and up: joints popped by 33 to 160 mm per frame^2 beyond their bounds once.
STEPPED = [("asf/02_01.amc", -1), ("asf/02_01.amc", 1), ("bvh/cmu_12_01_walk.bvh", -1)]


class TestPlanted:
    @pytest.mark.parametrize(("file", "way"), STEPPED)
    def test_walks_on_stairs_do_not_pop(self, data, file, way):
        rig = load(data / file)
        clip = rig.clips[0]
        hips = clip.poses.world.positions[:, 0]
        along = (hips[-1] - hips[0]) * way * [1.0, 0.0, 1.0]
        planted = plant_feet(clip, Terrain.stairs(0.15, 0.3, direction=along), rig=rig)
        jumps = planted.report.jumps
        assert (jumps.after <= jumps.bound).all()
        assert planted.report.after.skate <= 0.01

    def test_a_foot_held_back_at_a_riser_catches_up_over_its_swing(self):
        planted = plant_feet(load(SAMPLES / "humanoid.glb").clips[0], Terrain.stairs(0.15, 0.3))
        jumps = planted.report.jumps
        assert (jumps.after <= jumps.bound).all()  # 53 mm over where it had to catch up in two frames

    @pytest.mark.usefixtures("not_spread")
    def test_feet_that_stand_stay(self, data):
        """Only legs in the air give way: with the pelvis where it was, all that stands is where it was planted."""
        rig, clip = clip_of(data, "knight runs")
        planted = plant_feet(clip, Terrain.stairs(0.15, 0.3), rig=rig)
        assert planted.kept.any()
        assert not (planted.kept & planted.contacts.any).any()


class TestStretches:
    """Only frames near to what pops are worked out anew: as if all had been."""

    def test_calmer_knees_are_the_same(self, data, monkeypatch):
        clip = load(data / "bvh/jesse_dance_rokoko.bvh").clips[0].resample(60.0)
        q, parts = clip.poses.q, []
        clip = Clip.at_rate(clip.poses.with_q(np.concatenate([q, q[:300]])), 60.0)  # a knee pops beside its seam
        part = reach.Reaching.part
        monkeypatch.setattr(reach.Reaching, "part", lambda task, felt: parts.append(felt.mean()) or part(task, felt))
        near = plant_feet(clip, Terrain.flat()).poses
        assert 0.0 < max(parts) < 0.9
        monkeypatch.setattr(reach, "_FELT", 1e9)
        np.testing.assert_array_equal(plant_feet(clip, Terrain.flat()).poses.q, near.q)

    def test_what_is_not_nearer_to_its_source_stays_bit_for_bit(self):
        values = Turned(*(np.arange(4.0).reshape(4, *[1] * axes) for axes in (0, 3, 2, 1, 1)))
        frames, kept = np.array([False, True, True, True]), np.array([False, False, True, False])
        rows = rows_of(values, frames)
        assert rows.up.tolist() == [1.0, 2.0, 3.0]
        joined = with_rows(values, frames, dataclasses.replace(rows, ankles=rows.ankles + 10.0), kept)
        assert joined.ankles.ravel().tolist() == [0.0, 1.0, 12.0, 3.0]
        assert values.ankles.ravel().tolist() == [0.0, 1.0, 2.0, 3.0]


def test_places_of_a_figure_that_is_only_raised(data):
    clip = clip_of(data, "walk_mass")[1]
    motion = motion_of(clip, locked(data, "walk_mass").figure)
    still = np.broadcast_to(rotations.IDENTITY, motion.turns.shape)
    frames, legs = motion.places.shape[:2]
    up = np.linspace(0.0, 1.0, frames)
    ankles = motion.places[:, :, ANKLE] + up[:, None, None] * [0.0, 0.0, 1.0]
    places = places_of(motion, Turned(up, still, ankles, np.zeros((frames, legs)), np.ones((frames, legs))))
    expected = motion.places[:, :, [0, 1, 2, 4]] + up[:, None, None, None] * [0.0, 0.0, 1.0]
    np.testing.assert_allclose(places, expected, atol=1e-12)


def test_rows_of_a_loop_are_the_same_in_all_repeats():
    rows = np.array([[True], [False], [False], [False]])
    np.testing.assert_array_equal(Repeats(4, 1).spread(rows)[:, 0], np.tile([True, False, False], 4)[:10])
    np.testing.assert_array_equal(Repeats(4).spread(rows), rows)
